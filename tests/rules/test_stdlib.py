"""The standard library: eager against symbolic."""

from __future__ import annotations

import bisect
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import heapq
import math
import operator
import os
import re
import string
import typing

import pytest

from symbolic import check, outcome


@dataclasses.dataclass
class Config:
    width: int
    name: str = "n"
    tags: list = dataclasses.field(default_factory=list)

    @property
    def double(self):
        return self.width * 2


@dataclasses.dataclass(frozen=True, order=True)
class Version:
    major: int
    minor: int = 0


class Mode(enum.Enum):
    A = "a"
    B = "b"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


def scale(x, by=2, plus=0):
    return x * by + plus


@functools.lru_cache(maxsize=None)
def cached(n):
    return n + 1


def operators(a):
    return (
        operator.add(a, 1), operator.itemgetter(1)([1, 2]), operator.itemgetter(0, "k")({0: 1, "k": 2}), operator.attrgetter("real")(a),
        operator.methodcaller("upper")("x"), operator.methodcaller("split", sep=",")("a,b"), operator.getitem([1], 0), operator.not_(a), operator.is_(a, None),
        operator.contains([1], 1), operator.iadd([1], [2]), operator.index(a), operator.lt(1, 2), operator.truth([]), outcome(operator.add, 1, "x"), operator.neg(3),
        sorted({"b": 1, "a": 2}.items(), key=operator.itemgetter(1)),
    )  # fmt: skip


def mathematics(a):
    return (
        math.sqrt(a), math.floor(2.7), math.ceil(a / 3), math.prod([1, 2, a]), math.gcd(12, 18), math.log2(8), math.isnan(math.nan), math.pi, math.inf > 1,
        math.pow(2, 3), math.trunc(-2.5), math.isclose(0.1 + 0.2, 0.3), math.fsum([0.1] * 10), math.hypot(3, 4), math.dist((0, 0), (3, 4)), math.log(10, 10),
        outcome(math.sqrt, -1), outcome(math.log, 0), outcome(math.sqrt, "x"), math.comb(5, 2), math.copysign(1, -0.0), math.exp(0), math.modf(1.5), math.isqrt(17),
    )  # fmt: skip


def partials(p):
    q = functools.partial(scale, by=3)
    r = functools.partial(q, plus=1)
    return (
        p(2),
        q(2),
        r(2),
        r.keywords,
        r.func is scale,
        q.args,
        r,
        functools.partial(max, 5)(3),
        list(map(functools.partial(scale, 1), [2, 3])),
    )


def reductions(a):
    by_length = functools.cmp_to_key(lambda x, y: len(x) - len(y))
    return (
        functools.reduce(operator.add, a), functools.reduce(lambda x, y: x * y, a, 10), outcome(functools.reduce, operator.add, []), sorted(["ccc", "a", "bb"], key=by_length),
        cached(a[0]), cached(a[0]),
    )  # fmt: skip


def heaps(a):
    h = list(a)
    heapq.heapify(h)
    heapq.heappush(h, 0)
    first = heapq.heappop(h)
    b = [1, 3, 5]
    bisect.insort(b, 4)
    return (
        h,
        first,
        heapq.nsmallest(2, a),
        heapq.nlargest(2, a),
        bisect.bisect_left(b, 3),
        bisect.bisect(b, 3),
        b,
        heapq.heapreplace(h, 9),
        list(heapq.merge([1, 4], [2, 3])),
    )


def data_classes(c):
    d = dataclasses.replace(c, width=5)
    e = Config(1, tags=[2])
    c.width += 1
    return (
        d, e, d.double, dataclasses.asdict(e), [f.name for f in dataclasses.fields(c)], repr(e), e == Config(1, tags=[2]), Version(1) < Version(1, 2), Version(3, 1),
        {Version(1): "x"}[Version(1, 0)], outcome(lambda: setattr(Version(1), "major", 2))[1], dataclasses.is_dataclass(c), dataclasses.astuple(Version(2)),
    )  # fmt: skip


def enums(m):
    return (
        m is Mode.A, m.value, m.name, Mode("b"), Mode["A"], [x.name for x in Mode], {Mode.A: 1}[m], Level.HIGH > Level.LOW, Level.HIGH + 1, Level(1).name, m == Mode.B,
        isinstance(m, Mode), str(m), repr(m), len(Mode), m in (Mode.A, Mode.B), Level.LOW == 1, sorted([Level.HIGH, Level.LOW]),
    )  # fmt: skip


def copies(c):
    a = [1, [2], {"k": [3]}]
    shallow, deep = copy.copy(a), copy.deepcopy(a)
    a[1].append(9)
    twin = copy.deepcopy(c)
    twin.tags.append("t")
    shared = [a[1], a[1]]
    both = copy.deepcopy(shared)
    return a, shallow, deep, twin, copy.copy(c), both, both[0] is both[1], copy.copy({1}), copy.deepcopy((1, [2])), copy.copy("x")


def contexts(log):
    @contextlib.contextmanager
    def noted(name):
        log.append(f"enter {name}")
        try:
            yield name
        finally:
            log.append(f"exit {name}")

    with noted("a") as a, contextlib.suppress(KeyError):
        log.append(a)
        {}["x"]
    with contextlib.nullcontext(5) as five:
        log.append(five)
    with contextlib.ExitStack() as stack:
        stack.enter_context(noted("s"))
        stack.callback(log.append, "called")
    return log


def environment(n):
    return (
        os.environ.get("FRAMEJIT_NO_SUCH_VARIABLE", "none"),
        "PATH" in os.environ,
        os.path.join("a", "b"),
        typing.cast(int, n),
        os.path.basename("x/y.z"),
    )


def patterns(text):
    m = re.match(r"(\w+)-(\d+)", text)
    return (
        m.group(1),
        m[2],
        m.groups(),
        m.start(),
        re.sub("a", "b", text),
        re.findall(r"\d", text),
        bool(re.search("zz", text)),
        re.compile("x+").fullmatch("xx").span(),
        re.split("-", text),
    )


def templates(n):
    return string.ascii_lowercase[:3], string.Template("$a b").substitute(a=n), string.capwords("ab cd")


def tuples(n):
    Pair = collections.namedtuple
    return (
        Pair is collections.namedtuple,
        collections.Counter("aab").most_common(1),
        collections.OrderedDict.fromkeys("ab"),
        collections.abc.Mapping,
    )


PROGRAMS = [
    (operators, 3), (mathematics, 10), (partials, functools.partial(scale, plus=7)), (reductions, [1, 2, 3]), (heaps, [5, 2, 8, 1]), (data_classes, Config(4, tags=["q"])),
    (enums, Mode.A), (copies, Config(1)), (contexts, []), (environment, 3), (patterns, "abc-12"), (templates, 1), (tuples, 1),
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0].__name__)
def test_stdlib(program):
    check(*program)
