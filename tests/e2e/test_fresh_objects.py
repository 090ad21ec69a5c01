"""Objects that a program makes anew for each call: a region captured for one takes the next one of its kind."""

from __future__ import annotations

import abc
import array
import collections
import contextlib
import contextvars
import copy
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import gc
import inspect
import io
import itertools
import logging
import operator
import pathlib
import queue
import random
import re
import string
import struct
import threading
import types
import typing
import uuid
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

import framejit
from framejit import events
from framejit.reasons import R
from support import Counter, same

Shape = tuple[Callable[[int], Any], Callable[[torch.Tensor, Any], Any]]
SHAPES: dict[str, Shape] = {}
CALLS = 7


def shape(name: str, make: Callable[[int], Any], use: Callable[[torch.Tensor, Any], Any]) -> None:
    SHAPES[name] = make, use


class Thing:
    def __init__(self, scale=2):
        self.scale = scale
        self.function = lambda v: v * 3

    def times(self, v):
        return v * self.scale


class Hashed:
    def __init__(self, name="a"):
        self.name = name

    def __hash__(self):
        return hash(self.name)

    def __eq__(self, other):
        return isinstance(other, Hashed) and self.name == other.name


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: int = 1
    b: float = 2.0


class Slotted:
    __slots__ = ("a", "__weakref__")

    def __init__(self):
        self.a = 2


class Pair(NamedTuple):
    a: Any
    b: Any


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.full((3,), 2.0))

    def forward(self, x):
        return F.relu(x * self.scale)


def local_class():
    class Local:
        a = 2

        def times(self, v):
            return v * self.a

    return Local


def local_dataclass():
    @dataclasses.dataclass
    class Local:
        a: int = 2

    return Local


def closure(i):
    factor = 2.0

    def inner(v):
        return v * factor

    return inner


def wrapped():
    @functools.wraps(Thing.times)
    def inner(*args):
        return Thing.times(*args)

    return inner


def key_of(make):
    def of(i):
        key = make()
        return {key: 2.0}

    return of


def members_of(make):
    return lambda i: {make()}


def first_value(x, d):
    total = x
    for key in d:
        total = total * d[key]
    return total


shape("dict of object()", key_of(object), first_value)
shape("dict of instances", key_of(Thing), first_value)
shape("dict of slotted", key_of(Slotted), first_value)
shape("dict of hashed", key_of(Hashed), first_value)
shape("dict of frozen dataclasses", key_of(Frozen), first_value)
shape("dict of functions", key_of(lambda: lambda v: v), first_value)
shape("dict of partials", key_of(lambda: functools.partial(torch.add, 1)), first_value)
shape("dict of methods", key_of(lambda: Thing().times), first_value)
shape("dict of modules", key_of(Net), first_value)
shape("dict of tensors", key_of(lambda: torch.ones(1)), first_value)
shape("dict of parameters", key_of(lambda: nn.Parameter(torch.ones(1))), lambda x, d: x * sum(d.values()))
shape("dict of tuples", key_of(lambda: (1, object())), first_value)
shape("dict of frozensets", key_of(lambda: frozenset({1, 2})), first_value)
shape("dict of weakrefs", key_of(lambda: weakref.ref(Thing)), first_value)
shape("dict of classes", key_of(local_class), first_value)
shape("dict of exceptions", key_of(lambda: ValueError(1)), first_value)
shape("dict of paths", key_of(lambda: pathlib.PurePosixPath("a/b")), first_value)
shape("dict of fractions", key_of(lambda: fractions.Fraction(1, 3)), first_value)
shape("dict of decimals", key_of(lambda: decimal.Decimal("1.5")), first_value)
shape("dict of dates", key_of(lambda: datetime.date(2020, 1, 1)), first_value)
shape("dict of uuids", key_of(lambda: uuid.UUID(int=5)), first_value)
shape("dict of patterns", key_of(lambda: re.compile("ab+")), first_value)
shape("dict of dtypes", key_of(lambda: torch.float32), first_value)
shape("dict of devices", key_of(lambda: torch.device("cpu")), first_value)
shape("dict of ranges", key_of(lambda: range(3)), first_value)
shape("dict of numpy scalars", key_of(lambda: np.float64(1.5)), first_value)
shape("dict of namedtuples", key_of(lambda: Pair(1, object())), first_value)
shape("defaultdict of objects", lambda i: collections.defaultdict(list, {Thing(): [1.0]}), lambda x, d: x + sum(v[0] for v in d.values()))
shape("OrderedDict of objects", lambda i: collections.OrderedDict({Thing(): 1.0, Thing(): 2.0}), first_value)
shape("Counter of objects", lambda i: collections.Counter([Slotted(), Slotted()]), first_value)
shape("two objects", lambda i: {object(): 1.0, object(): 2.0}, first_value)
shape("objects and strings", lambda i: {"a": 1.0, object(): 2.0}, lambda x, d: x * d["a"] + len(d))
shape("look-up of an object", lambda i: (lambda k: ({k: 2.0}, k))(Thing()), lambda x, p: x * p[0][p[1]])
shape("look-up of object()", lambda i: (lambda k: ({k: 2.0}, k))(object()), lambda x, p: x * p[0][p[1]])
shape("look-up of a hashed", lambda i: {Hashed("k"): 2.0}, lambda x, d: x * d[Hashed("k")])
shape("look-up of a class", lambda i: (lambda k: ({k: 2.0}, k))(local_class()), lambda x, p: x * p[0][p[1]])
shape("look-up of a function", lambda i: (lambda k: ({k: 2.0}, k))(lambda v: v), lambda x, p: x * p[0][p[1]])
shape("look-up of a tensor", lambda i: (lambda k: ({k: 2.0}, k))(torch.ones(1)), lambda x, p: x * p[0][p[1]])
shape("absent object", lambda i: ({Thing(): 1.0}, Thing()), lambda x, p: x * p[0].get(p[1], 3.0))
shape("set of object()", members_of(object), lambda x, s: x + len(s))
shape("set of instances", members_of(Thing), lambda x, s: sum((t.times(x) for t in s), x))
shape("membership of object()", lambda i: (lambda k: ({k}, k))(object()), lambda x, p: x + (p[1] in p[0]))
shape("membership of instances", lambda i: (lambda k: ({k, Thing()}, k))(Thing()), lambda x, p: x + (p[1] in p[0]))
shape("frozenset of object()", lambda i: frozenset({object()}), lambda x, s: x + len(s))
shape("weak key dictionary", lambda i: (lambda k: (weakref.WeakKeyDictionary({k: 2.0}), k))(Thing()), lambda x, p: x * p[0][p[1]])
shape("weak value dictionary", lambda i: (lambda k: (weakref.WeakValueDictionary({"a": k}), k))(Thing()), lambda x, p: p[0]["a"].times(x))
shape("weak set", lambda i: (lambda k: (weakref.WeakSet([k]), k))(Thing()), lambda x, p: x + (p[1] in p[0]))
shape("list of object()", lambda i: [object(), object()], lambda x, p: x + len(p))
shape("memo by id", lambda i: (lambda k: ({id(k): 2.0}, k))(Thing()), lambda x, p: x * p[0].get(id(p[1]), 3.0))
shape("set that grows", lambda i: {Thing()}, lambda x, s: (s.add(Thing()), s.add(1), x + len(s))[2])
shape("set of tensors", lambda i: {torch.ones(3), torch.ones(3)}, lambda x, s: sum(s, x))
shape("set of a function", lambda i: {lambda v: v + 1}, lambda x, s: sum(f(x) for f in s))
# callables
shape("itemgetter", lambda i: operator.itemgetter(0), lambda x, k: k(x) + x)
shape("itemgetter of several", lambda i: operator.itemgetter(0, 2), lambda x, k: k(x)[1] + x)
shape("itemgetter of a slice", lambda i: operator.itemgetter(slice(0, 2)), lambda x, k: k(x) * 2)
shape("itemgetter of a string", lambda i: operator.itemgetter("a"), lambda x, k: x * k({"a": 2}))
shape("attrgetter", lambda i: operator.attrgetter("scale"), lambda x, k: x * k(Thing()))
shape("attrgetter of dots", lambda i: operator.attrgetter("a.scale", "b"), lambda x, k: x * k(Pair(Thing(), 1))[0])
shape("methodcaller", lambda i: operator.methodcaller("mul", 2), lambda x, k: k(x))
shape("methodcaller with keywords", lambda i: operator.methodcaller("add", 1, alpha=2), lambda x, k: k(x))
shape("methodcaller with a tensor", lambda i: operator.methodcaller("add", torch.ones(3)), lambda x, k: k(x))
shape("sort by an itemgetter", lambda i: operator.itemgetter(1), lambda x, k: x * sorted([(1, 5), (2, 3)], key=k)[0][0])
shape("equal itemgetters", lambda i: operator.itemgetter(0), lambda x, k: x + (k == operator.itemgetter(0)))
shape("partial", lambda i: functools.partial(torch.add, alpha=2), lambda x, k: k(x, x))
shape("partial of a lambda", lambda i: functools.partial(lambda a, b: a * b, 3), lambda x, k: k(x))
shape("partial of a method", lambda i: functools.partial(Thing().times), lambda x, k: k(x))
shape("partial of a class", lambda i: functools.partial(Thing, 3), lambda x, k: k().times(x))
shape("partial of a partial", lambda i: functools.partial(functools.partial(torch.add, alpha=2), torch.ones(3)), lambda x, k: k(x))
shape("partialmethod", lambda i: functools.partialmethod(Thing.times), lambda x, k: k.func(Thing(), x))
shape("lambda", lambda i: lambda v: v + 1, lambda x, k: k(x))
shape("closure", closure, lambda x, k: k(x))
shape("wrapped function", lambda i: wrapped(), lambda x, k: k(Thing(), x))
shape("function with defaults", lambda i: lambda v, w=3: v * w, lambda x, k: k(x))
shape("bound method", lambda i: Thing().times, lambda x, k: k(x))
shape("function of an instance", lambda i: Thing(), lambda x, k: k.function(x))
shape("lru_cache", lambda i: functools.lru_cache(lambda v: v * 2), lambda x, k: x * k(3))
shape("lru_cache of size 2", lambda i: functools.lru_cache(maxsize=2)(lambda v: v * 2), lambda x, k: x * k(3))
shape("cached_property", lambda i: type("P", (), {"a": functools.cached_property(lambda s: 2)})(), lambda x, k: x * k.__dict__.get("a", 1))
shape("cmp_to_key", lambda i: functools.cmp_to_key(lambda a, b: b - a), lambda x, k: x * sorted([1, 3, 2], key=k)[0])
shape("singledispatch", lambda i: functools.singledispatch(lambda v: v * 2), lambda x, k: k(x))
shape("property", lambda i: property(lambda s: 2), lambda x, k: x * k.fget(1))
shape("staticmethod", lambda i: staticmethod(lambda v: v * 2), lambda x, k: k(x))
shape("classmethod", lambda i: classmethod(lambda c, v: v * 2), lambda x, k: k.__func__(None, x))
shape("method of a C object", lambda i: [1, 2].index, lambda x, k: x * k(2))
shape("method of a dict", lambda i: {"a": 2}.get, lambda x, k: x * k("a"))
shape("method of a string", lambda i: "ab".join, lambda x, k: x * len(k(["a", "b"])))
shape("method of a tensor", lambda i: torch.ones(3).add, lambda x, k: k(x))
shape("vectorize", lambda i: types.SimpleNamespace(f=lambda v: v * 2), lambda x, k: k.f(x))
# immutable values
shape("pattern", lambda i: re.compile("a(b+)", re.I), lambda x, k: x * len(k.match("abb").group(1)))
shape("match", lambda i: re.match("a(b+)", "abb"), lambda x, k: x * len(k.group(1)))
shape("slice", lambda i: slice(0, 2), lambda x, k: x[k] * 2)
shape("slices of other ends", lambda i: slice(0, 1 + i % 2), lambda x, k: x[k] * 2)
shape("range", lambda i: range(3), lambda x, k: x * len(k) + sum(k))
shape("date", lambda i: datetime.date(2020, 1, 2), lambda x, k: x * k.day)
shape("datetime", lambda i: datetime.datetime(2020, 1, 2), lambda x, k: x * k.day)
shape("timedelta", lambda i: datetime.timedelta(days=2), lambda x, k: x * k.days)
shape("timezone", lambda i: datetime.timezone(datetime.timedelta(hours=1)), lambda x, k: x * (k == datetime.timezone.utc))
shape("datetime in a zone", lambda i: datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc), lambda x, k: x * k.day)
shape("pure path", lambda i: pathlib.PurePosixPath("a/b"), lambda x, k: x * len(k.parts))
shape("path", lambda i: pathlib.Path("a/b.txt"), lambda x, k: x * len(k.suffix))
shape("path put together", lambda i: pathlib.Path("a"), lambda x, k: x * len(str(k / "b")))
shape("uuid", lambda i: uuid.UUID(int=5), lambda x, k: x * k.int)
shape("decimal", lambda i: decimal.Decimal("1.5"), lambda x, k: x * float(k))
shape("decimals added", lambda i: decimal.Decimal("1.5"), lambda x, k: x * float(k + 1))
shape("fraction", lambda i: fractions.Fraction(1, 4), lambda x, k: x * float(k))
shape("fractions added", lambda i: fractions.Fraction(1, 4), lambda x, k: x * float(k + 1))
shape("complex", lambda i: complex(1, 2), lambda x, k: x * k)
shape("bytes", lambda i: bytes([1, 2]), lambda x, k: x * len(k))
shape("frozenset", lambda i: frozenset({1, 2}), lambda x, k: x * len(k))
shape("namedtuple", lambda i: Pair(1, Thing()), lambda x, k: k.b.times(x))
shape("frozen dataclass", lambda i: Frozen(), lambda x, k: x * k.b)
shape("enum member", lambda i: enum.Enum("E", "A B").A, lambda x, k: x * k.value)
shape("template", lambda i: string.Template("$a"), lambda x, k: x * len(k.template))
shape("Struct", lambda i: struct.Struct("<i"), lambda x, k: x * k.size)
shape("signature", lambda i: inspect.signature(lambda a, b: 1), lambda x, k: x * len(k.parameters))
shape("generic alias", lambda i: list[int], lambda x, k: x * len(k.__args__))
shape("union", lambda i: int | None, lambda x, k: x * len(k.__args__))
shape("typing alias", lambda i: typing.Optional[int], lambda x, k: x * len(k.__args__))
shape("type variable", lambda i: typing.TypeVar("T"), lambda x, k: x * len(k.__name__))
shape("mapping proxy", lambda i: types.MappingProxyType({"a": 2}), lambda x, k: x * k["a"])
shape("code object", lambda i: compile("1", "a", "eval"), lambda x, k: x * len(k.co_name))
shape("cell", lambda i: types.CellType(2), lambda x, k: x * k.cell_contents)
shape("ellipsis tuple", lambda i: (..., 0), lambda x, k: x[k] + x)
# sentinels
shape("sentinel", lambda i: object(), lambda x, k: x + 1 if k is None else x * 2)
shape("compared sentinel", lambda i: object(), lambda x, k: x + (k == 1))
shape("hashed sentinel", lambda i: object(), lambda x, k: x * ({k: 2}[k]))
# classes
shape("class", lambda i: local_class(), lambda x, k: k().times(x))
shape("class attribute", lambda i: local_class(), lambda x, k: x * k.a)
shape("instance of a class", lambda i: local_class()(), lambda x, k: k.times(x))
shape("isinstance of a class", lambda i: local_class(), lambda x, k: x * isinstance(x, k))
shape("dataclass", lambda i: local_dataclass(), lambda x, k: x * k(3).a)
shape("instance of a dataclass", lambda i: local_dataclass()(3), lambda x, k: x * k.a)
shape("made dataclass", lambda i: dataclasses.make_dataclass("D", ["a"])(2), lambda x, k: x * k.a)
shape("made namedtuple", lambda i: collections.namedtuple("N", "a b")(2, 3), lambda x, k: x * k.a)
shape("made type", lambda i: type("E", (), {"f": lambda s, v: v * 2})(), lambda x, k: k.f(x))
shape("made enum", lambda i: enum.IntEnum("E", "A B"), lambda x, k: x * k.B)
shape("made module class", lambda i: type("M", (nn.Module,), {"forward": lambda s, v: v * 2})(), lambda x, k: k(x))
shape("made abstract class", lambda i: abc.ABCMeta("A", (), {"f": lambda s, v: v * 2})(), lambda x, k: k.f(x))
shape("made exception class", lambda i: type("E", (ValueError,), {}), lambda x, k: x * issubclass(k, ValueError))
# objects of torch
shape("Linear", lambda i: (torch.manual_seed(0), nn.Linear(3, 3))[1], lambda x, k: k(x))
shape("Sequential", lambda i: (torch.manual_seed(0), nn.Sequential(nn.Linear(3, 3), nn.ReLU()))[1], lambda x, k: k(x))
shape("own module", lambda i: Net(), lambda x, k: k(x))
shape("ModuleList", lambda i: nn.ModuleList([Net(), Net()]), lambda x, k: k[1](k[0](x)))
shape("ModuleDict", lambda i: nn.ModuleDict({"a": Net()}), lambda x, k: k["a"](x))
shape("parameters", lambda i: Net(), lambda x, k: x * sum(p.sum() for p in k.parameters()))
shape("state_dict", lambda i: Net().state_dict(), lambda x, k: x * k["scale"])
shape("optimizer", lambda i: torch.optim.SGD([nn.Parameter(torch.ones(2))], lr=0.1), lambda x, k: x * k.param_groups[0]["lr"])
shape("Parameter", lambda i: nn.Parameter(torch.ones(3)), lambda x, k: x * k)
shape("device", lambda i: torch.device("cpu"), lambda x, k: x.to(k) * 2)
shape("dtype", lambda i: torch.float64, lambda x, k: x.to(k) * 2)
shape("Size", lambda i: torch.Size([3, 2]), lambda x, k: x.new_zeros(k) + 1)
shape("Generator", lambda i: torch.Generator().manual_seed(5), lambda x, k: torch.rand(3, generator=k) + x)
shape("no_grad", lambda i: torch.no_grad(), lambda x, k: _within(k, x))
shape("finfo", lambda i: torch.finfo(torch.float32), lambda x, k: x * k.eps)
shape("autocast", lambda i: torch.autocast("cpu", enabled=False), lambda x, k: _within(k, x))
shape("torch function wrapper", lambda i: torch.nn.utils.parametrize, lambda x, k: x * 2)
shape("distribution", lambda i: torch.distributions.Normal(torch.zeros(3), torch.ones(3)), lambda x, k: k.log_prob(x))
# numpy
shape("numpy array", lambda i: np.ones(3, dtype=np.float32), lambda x, k: x + torch.from_numpy(k))
shape("numpy scalar", lambda i: np.float32(1.5), lambda x, k: x * float(k))
shape("numpy scalar of an operator", lambda i: np.float64(1.5), lambda x, k: x * k)
shape("numpy int", lambda i: np.int64(2), lambda x, k: x[: int(k)])
shape("numpy dtype", lambda i: np.dtype("float32"), lambda x, k: x * (k == np.float32))
shape("numpy generator", lambda i: np.random.default_rng(3), lambda x, k: x * 2)
shape("shape of a numpy array", lambda i: np.ones((2, 3)), lambda x, k: x * k.shape[0])
# mutable objects
shape("instance", lambda i: Thing(), lambda x, k: k.times(x))
shape("slotted", lambda i: Slotted(), lambda x, k: x * k.a)
shape("SimpleNamespace", lambda i: types.SimpleNamespace(a=2), lambda x, k: x * k.a)
shape("deque", lambda i: collections.deque([1, 2]), lambda x, k: x * k[0])
shape("deque of object()", lambda i: collections.deque([object()]), lambda x, k: x * len(k))
shape("ChainMap", lambda i: collections.ChainMap({"a": 2}, {}), lambda x, k: x * k["a"])
shape("random.Random", lambda i: random.Random(3), lambda x, k: x * k.random())
shape("iterator", lambda i: iter([1, 2]), lambda x, k: x * next(k))
shape("generator", lambda i: (v * 2 for v in [1, 2]), lambda x, k: x * next(k))
shape("count", lambda i: itertools.count(3), lambda x, k: x * next(k))
shape("chain", lambda i: itertools.chain([1], [2]), lambda x, k: x * next(k))
shape("map", lambda i: map(lambda v: v * 2, [1, 2]), lambda x, k: x * next(k))
shape("zip", lambda i: zip([1, 2], [3, 4]), lambda x, k: x * next(k)[1])
shape("exception", lambda i: ValueError(2), lambda x, k: x * k.args[0])
shape("weakref", lambda i: weakref.ref(Thing), lambda x, k: x * (k() is Thing))
shape("dead weakref", lambda i: weakref.ref(Thing()), lambda x, k: x * (k() is None))
shape("lock", lambda i: threading.Lock(), lambda x, k: _within(k, x))
shape("RLock", lambda i: threading.RLock(), lambda x, k: _within(k, x))
shape("Event", lambda i: threading.Event(), lambda x, k: x * k.is_set())
shape("thread local", lambda i: threading.local(), lambda x, k: x * hasattr(k, "a"))
shape("queue", lambda i: queue.Queue(), lambda x, k: x * k.maxsize)
shape("context variable", lambda i: contextvars.ContextVar("v", default=2), lambda x, k: x * k.get())
shape("context", lambda i: contextvars.Context(), lambda x, k: x * len(k))
shape("nullcontext", lambda i: contextlib.nullcontext(2), lambda x, k: _within(k, x))
shape("ExitStack", lambda i: contextlib.ExitStack(), lambda x, k: _within(k, x))
shape("context manager", lambda i: contextlib.contextmanager(lambda: iter([1]))(), lambda x, k: x * 2)
shape("suppress", lambda i: contextlib.suppress(ValueError), lambda x, k: _within(k, x))
shape("logger", lambda i: logging.Logger("a"), lambda x, k: x * len(k.name))
shape("module object", lambda i: types.ModuleType("m"), lambda x, k: x * len(k.__name__))
shape("bytearray", lambda i: bytearray(b"abc"), lambda x, k: x * len(k))
shape("StringIO", lambda i: io.StringIO("abc"), lambda x, k: x * len(k.getvalue()))
shape("array", lambda i: array.array("i", [1, 2]), lambda x, k: x * k[1])
shape("memoryview", lambda i: memoryview(b"abc"), lambda x, k: x * len(k))
shape("copied object", lambda i: copy.copy(Thing()), lambda x, k: k.times(x))
shape("super object", lambda i: super(Net, Net()), lambda x, k: x * (k.__self_class__ is Net))


def _within(manager, x):
    with manager:
        return x * 2


def by_argument(make, use):
    return use, lambda i, x: (x, make(i))


def over_a_break(make, use):
    def function(i, x):
        value = make(0 * i)
        y = x + 1
        framejit.graph_break()
        return use(y, value)

    return function, lambda i, x: (0, x)


WAYS = {"argument": by_argument, "break": over_a_break}

# A class is asked for itself: a region for one does not fit the next one, and after some of them CPython runs the place.
OF_CLASSES = frozenset({
    "dict of classes", "look-up of a class", "memo by id", "property", "classmethod", "cached_property", "enum member", "type variable",
    "code object", "class", "class attribute", "instance of a class", "isinstance of a class", "dataclass", "instance of a dataclass",
    "made dataclass", "made namedtuple", "made type", "made enum", "made module class", "made abstract class", "made exception class",
    "context variable", "module object",
})  # fmt: skip


def captures(name, way, calls):
    """How many regions each call had captured, with its result compared."""
    framejit.reset()
    function, args = WAYS[way](*SHAPES[name])
    compiled, started, found = framejit.compile(function, backend="eager"), [], []
    unsubscribe = events.subscribe(started.append, events.CaptureStart)
    try:
        for i in range(calls):
            torch.manual_seed(0)
            expected = function(*args(i, torch.arange(3.0)))
            torch.manual_seed(0)
            before = len(started)
            same(compiled(*args(i, torch.arange(3.0))), expected)
            found.append(len(started) - before)
    finally:
        unsubscribe()
    return found


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [name for name in SHAPES if name not in OF_CLASSES])
def test_objects_made_anew_are_captured_twice(name, way):
    found = captures(name, way, 6)
    assert not any(found[3:]), found


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", sorted(OF_CLASSES))
def test_places_of_classes_made_anew_are_given_up(name, way):
    found = captures(name, way, 40)  # first that of the whole, then those of the functions that it calls
    assert not any(found[36:]), found


def test_regions_of_classes_that_are_used_again_are_no_reason_to_give_up():
    framejit.reset()
    counter = Counter()
    compiled = framejit.compile(lambda x, k: k.times(x), backend=counter)
    for _ in range(10):
        instance = local_class()()
        for _ in range(3):
            assert torch.equal(compiled(torch.ones(2), instance), torch.full((2,), 2.0))
        del instance
        gc.collect()
    assert counter.graphs == 10


def test_after_four_regions_that_died_unused_cpython_runs_the_place():
    framejit.reset()
    counter, fallbacks = Counter(), []
    compiled = framejit.compile(lambda x, k: k.times(x), backend=counter)
    unsubscribe = events.subscribe(fallbacks.append, events.Fallback)
    for _ in range(8):
        assert torch.equal(compiled(torch.ones(2), local_class()()), torch.full((2,), 2.0))
        gc.collect()
    unsubscribe()
    assert counter.graphs == 8 and [(one.code.co_name, one.reason) for one in fallbacks] == [("<lambda>", R.RECOMPILE_LIMIT)]
    assert torch.equal(compiled(torch.ones(2), local_class()()), torch.full((2,), 2.0)) and counter.graphs == 8  # nor `times`


A, B = Thing(), Thing()
ZONE = datetime.timezone(datetime.timedelta(hours=1))
IDENTITIES = {
    "look-up": (lambda x, d, k: x * d.get(k, 3.0), [({A: 1.0}, B), ({A: 1.0}, A), ({B: 1.0}, B), ({B: 1.0}, A)]),
    "dict of two": (lambda x, a, b: x * len({a: 1, b: 2}), [(A, B), (A, A), (B, A)]),
    "set of two": (lambda x, a, b: x * len({a, b}), [(A, B), (A, A), (B, A)]),
    "set operations": (lambda x, a, b: x * len({a} & {b}) + len({a} - {b}), [(A, B), (A, A), (B, A)]),
    "equal sets": (lambda x, a, b: x * ({a} == {b}) + {a}.isdisjoint([b]), [(A, B), (A, A), (B, A)]),
    "equal dicts": (lambda x, a, b: x * ({a: 1} == {b: 1}), [(A, B), (A, A), (B, A)]),
    "keys": (lambda x, a, b: x * len({a: 1}.keys() & {b: 1}.keys()), [(A, B), (A, A), (B, A)]),
    "items": (lambda x, a, b: x * len({a: 1}.items() | {b: 1}.items()), [(A, B), (A, A), (B, A)]),
    "update": (lambda x, a, b: x * len({a: 1} | {b: 1}), [(A, B), (A, A), (B, A)]),
    "tuples": (lambda x, a, b: x * len({(a, 1), (b, 1)}), [(A, B), (A, A), (B, A)]),
    "tensors": (lambda x, a, b: x * len({a: 1, b: 2}), (lambda p, q: [(p, q), (p, p), (q, p)])(torch.ones(1), torch.ones(1))),
    "a global": (lambda x, d, _: x * d.get(A, 3.0), [({B: 1.0}, 0), ({A: 1.0}, 0), ({B: 1.0}, 0), ({A: 1.0}, 0)]),
    "devices": (lambda x, a, b: x * (a is b), (lambda p, q: [(p, q), (p, p), (q, p)])(torch.device("cpu"), torch.device("cpu"))),
    "ranges": (lambda x, a, b: x * (a is b), (lambda p, q: [(p, q), (p, p), (q, p)])(range(999), range(999))),
    "dates": (lambda x, a, b: x * (a is b), (lambda p, q: [(p, q), (p, p)])(datetime.date(2020, 1, 1), datetime.date(2020, 1, 1))),
    "strings": (lambda x, a, b: x * (a is b), (lambda p, q: [(p, p), (p, q), (q, p)])("abc" * 3, "".join(["abc"] * 3))),
    "floats": (lambda x, a, b: x * (a is b), (lambda p, q: [(p, p), (p, q), (q, p)])(float("1.5"), float("1.5"))),
    "zones": (lambda x, a, b: x * (a is ZONE), [(ZONE, 0), (datetime.timezone(datetime.timedelta(hours=1)), 0), (ZONE, 0)]),
    "getters": (lambda x, a, b: x * (a is b) + (a == b), (lambda p, q: [(p, q), (p, p)])(operator.itemgetter(0), operator.itemgetter(0))),
    "limits": (lambda x, a, b: x * (a is b), (lambda p, q: [(p, q), (p, p)])(torch.finfo(torch.half), torch.finfo(torch.half))),
}


@pytest.mark.parametrize("first", [0, 1, 2])
@pytest.mark.parametrize("name", IDENTITIES)
def test_which_objects_are_the_same_may_change(name, first):
    function, rows = IDENTITIES[name]
    framejit.reset()
    compiled = framejit.compile(function, backend="eager")
    for row in (*rows[first:], *rows, *rows):
        same(compiled(torch.ones(2), *row), function(torch.ones(2), *row))


def test_functions_that_are_keys_are_told_apart():
    framejit.reset()
    fixed = lambda: 1  # noqa: E731
    function = lambda x, d: x * d.get(fixed, 3.0)  # noqa: E731
    compiled = framejit.compile(function, backend="eager")
    for key in (lambda: 2, lambda: 2, fixed, lambda: 2, types.FunctionType(fixed.__code__, globals()), fixed):
        same(compiled(torch.ones(2), {key: 1.0}), function(torch.ones(2), {key: 1.0}))


def test_many_objects_as_keys():
    framejit.reset()
    counter = Counter()
    function = lambda x, keys: x * len({key: 1 for key in keys})  # noqa: E731
    compiled = framejit.compile(function, backend=counter)
    for _ in range(3):
        things = [Thing() for _ in range(100)]
        same(compiled(torch.ones(2), things), function(torch.ones(2), things))
    assert counter.graphs == 1
    things[3] = things[70]
    same(compiled(torch.ones(2), things), function(torch.ones(2), things))


@pytest.mark.parametrize(
    "make", [lambda: operator.itemgetter(1, 2), lambda: operator.attrgetter("a.b"), lambda: operator.methodcaller("f", 1, a=2)]
)
def test_accessors_are_made_by_the_program(make):
    framejit.reset()

    def function(x):
        found = make()
        return found, copy.copy(found), found is make(), x + 1

    compiled = framejit.compile(function, backend="eager", fullgraph=True)
    one, two = compiled(torch.ones(2)), compiled(torch.ones(2))
    assert one[0] is not two[0] and one[0] is not one[1] and one[2] is False
    assert [repr(item) for item in one[:2]] == [repr(item) for item in function(torch.ones(2))[:2]]


@pytest.mark.parametrize(
    "make",
    [
        operator.itemgetter, operator.attrgetter, operator.methodcaller, lambda: operator.attrgetter(1), lambda: operator.methodcaller(1),
        lambda: operator.itemgetter(1, a=2), lambda: operator.itemgetter(0)(), lambda: operator.itemgetter(0)([1], [2]),
    ],
)  # fmt: skip
def test_accessors_that_are_refused(make):
    framejit.reset()

    def function(x):
        x = x + 1
        try:
            make()
        except TypeError as error:
            return str(error), x

    same(framejit.compile(function, backend="eager")(torch.ones(2)), function(torch.ones(2)))
