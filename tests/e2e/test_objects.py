"""Classes, attributes, descriptors, generators and functions in one graph."""

import collections
import dataclasses
import enum
import functools
from typing import NamedTuple

import torch

import framejit
from support import check


class Point:
    count = 0

    def __init__(self, a, b=1):
        self.a, self.b = a, b

    @property
    def total(self):
        return self.a + self.b

    @total.setter
    def total(self, value):
        self.a = value - self.b

    @classmethod
    def make(cls, a):
        return cls(a, 2)

    @staticmethod
    def twice(v):
        return v * 2

    def __add__(self, other):
        return Point(self.a + other.a, self.b + other.b)

    def __radd__(self, other):
        return Point(self.a + other, self.b)

    def __eq__(self, other):
        return isinstance(other, Point) and self.a == other.a

    def __len__(self):
        return 3

    def __getitem__(self, key):
        return (self.a, self.b)[key]

    def __call__(self, x):
        return x + self.a

    def __contains__(self, item):
        return item == self.a


class Point3(Point):
    def __init__(self, a, b, c):
        super().__init__(a, b)
        self.c = c

    def __getattr__(self, name):
        if name == "virtual":
            return 42
        raise AttributeError(name)

    @property
    def total(self):
        return super().total + self.c


@check()
def test_instances(x):
    p = Point(2)
    p.total = 7
    q = Point.make(3) + p
    return x + p.total + q.a, p == q, len(p), p[1], (5 + p).a, Point.twice(4), p(x), 6 in p


@check()
def test_inheritance_and_getattr(x):
    p = Point3(1, 2, 3)
    try:
        p.nothing
    except AttributeError:
        missing = True
    return x + p.total + p.virtual, missing, hasattr(p, "a"), hasattr(p, "zz"), getattr(p, "zz", 9), isinstance(p, Point)


@check(lambda: (torch.ones(2), Point(1)))
def test_argument_object_is_mutated(x, p):
    p.a = x + p.b
    p.extra = [1]
    del p.b
    return x * 2


@check()
def test_returned_object(x):
    p = Point3(x + 1, 2, [x])
    p.me = p
    return p.a * 2, p.c, p.me is p


@dataclasses.dataclass
class Config:
    size: int = 2
    names: list = dataclasses.field(default_factory=list)
    scale: float = 1.5


class Pair(NamedTuple):
    left: object
    right: int = 3


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@check()
def test_dataclass_named_tuple_enum(x):
    config = Config(names=["a"])
    config.names.append("b")
    pair = Pair(x + config.size)
    color = Color(2)
    return pair, pair._replace(right=4).right, color is Color.BLUE, color.name, config.scale * 2, config == Config(2, ["a", "b"])


def numbers(n):
    received = []
    for i in range(n):
        got = yield i * 2
        received.append(got)
    return received


def delegate(n):
    result = yield from numbers(n)
    yield result


@check()
def test_generators(x):
    total = 0
    for value in numbers(3):
        total += value
    generator = numbers(2)
    first = next(generator)
    second = generator.send("s")
    return x + total + first + second, list(delegate(2)), [i for i, _ in zip(numbers(5), range(2))]


@check()
def test_functools(x):
    add = functools.partial(lambda a, b, c=0: a + b + c, 1, c=2)
    return x + add(3), functools.reduce(lambda a, b: a * b, [1, 2, 3]), list(map(lambda v: v + 1, [1, 2]))


@check()
def test_collections(x):
    table = collections.OrderedDict(a=1, b=2)
    table.move_to_end("a")
    default = collections.defaultdict(list)
    default["k"].append(1)
    queue = collections.deque([1, 2], maxlen=2)
    queue.append(3)
    return x + len(table), list(table), dict(default), list(queue), collections.Counter("aab")["a"]


class Descriptor:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner):
        return self if instance is None else getattr(instance, self.name, 10)

    def __set__(self, instance, value):
        setattr(instance, self.name, value * 2)


class Described:
    field = Descriptor()
    __slots__ = ("_field", "plain")


@check()
def test_descriptors_and_slots(x):
    d = Described()
    before = d.field
    d.field = 4
    d.plain = before + d.field
    return x + d.plain


class Cached:
    calls = 0

    def __init__(self):
        self.hits = 0

    @functools.cached_property
    def value(self):
        self.hits += 1
        return 5


@check(lambda: (torch.ones(2), Cached()))
def test_cached_property(x, c):
    return x + c.value + c.value, c.hits


@check()
def test_builtins(x):
    items = [3, 1, 2]
    return (
        x + max(items), sorted(items, key=lambda v: -v), list(reversed(items)), list(enumerate(items, 1)), any(items), all([]),
        sum(items), min(4, 2), abs(-3), divmod(7, 2), list(zip(items, "abc")), tuple(filter(None, [0, 1])), round(2.6), str(3), int("4"),
    )  # fmt: skip


@check(lambda: (torch.ones(2), [1], [1]), breaks=0)
def test_identity_of_arguments(x, a, b):
    return x + 1 if a is b else x - 1


asked = []


class Watched:
    k = 2

    def __getattribute__(self, name):
        asked.append(name)
        return super().__getattribute__(name)

    def __getattr__(self, name):
        asked.append(("missing", name))
        raise AttributeError(name)

    def method(self, n):
        framejit.graph_break()
        return self.k + n


def hand(value):
    return value


def ends_with(watched):
    held = watched
    framejit.graph_break()
    return [held, held]


@check(lambda: (torch.ones(2), Watched()), graphs=4, breaks=6)
def test_objects_are_asked_for_nothing_that_the_program_does_not_ask(x, watched):
    asked.clear()
    y = x + hand(watched).k
    framejit.graph_break()
    table = {"w": watched, "m": [watched]}
    framejit.graph_break()
    held = ends_with(watched)
    y = y * held[0].method(2)
    for attempt in (lambda: next(watched), lambda: watched(1), lambda: watched.nothing, lambda: memoryview(watched), lambda: watched + 1, lambda: {watched: 1}[2]):
        try:
            attempt()
        except (TypeError, AttributeError, KeyError) as error:
            y = y + len(error.args)
    return y, list(asked), len(table)
