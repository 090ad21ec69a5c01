"""`pickle` and the `__reduce__` of iterators in captured code: the bytes and objects of C."""

from __future__ import annotations

import collections
import copy
import dataclasses
import enum
import functools
import itertools
import pickle
import sys

import pytest
import torch

import framejit
from support import check, program


class Color(enum.Enum):
    RED = 1
    BLUE = "x"


class Access(enum.Flag):
    READ = 1
    WRITE = 2
    RUN = 4


@dataclasses.dataclass
class Pair:
    first: int
    second: list


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __getstate__(self):
        return None, {"value": self.value}


class Reduced:
    def __init__(self, value):
        self.value = value

    def __reduce_ex__(self, protocol):
        return Reduced, (self.value + protocol,), {"value": protocol}


class Listed(list):
    pass


Named = collections.namedtuple("Named", "x y")


def made(index):
    shared = [1, 2]
    listed = Listed([1, 2])
    listed.extra = shared
    return [
        1, "abc", "é\n", b"abc", 1 << 100, -5, 3.25, 1j, None, True, ..., [1, 2, 3], {"a": [1, "b"], 3: (1.5, None, True)},
        (shared, shared), {1, 2, 3}, frozenset("ab"), Color.RED, [Color.RED, Color.BLUE, Color], Pair(1, [2]), Slotted(shared),
        Reduced(3), Named(1, 2), listed, collections.OrderedDict(a=1), collections.Counter("aab"), collections.deque([1, 2], 3),
        collections.defaultdict(list, a=[1]), range(3), slice(1, 2), len, made, int, type(None), functools.partial(int, base=2),
        iter([1, 2]), enumerate([1, 2], 3), itertools.count(3, 2), Access.READ | Access.RUN,
    ][index]  # fmt: skip


def through(x, index):
    found = []
    for protocol in range(6):
        data = pickle.dumps(made(index), protocol)
        found.append((data, pickle.loads(data)))
    return x + 1, found


def shown(value):
    if isinstance(value, (Slotted, Reduced)):
        return type(value).__name__, value.value
    if isinstance(value, collections.abc.Iterator):
        return type(value).__name__, list(itertools.islice(value, 5))
    return type(value).__name__, repr(value), getattr(value, "extra", None)


@pytest.mark.parametrize("index", range(38))
def test_pickles_are_those_of_c(index):
    framejit.reset()
    breaks = []
    unsubscribe = framejit.events.subscribe(breaks.append, framejit.events.Break)
    try:
        with framejit.config.patch(strict=True):
            captured = framejit.compile(through, backend="eager")(torch.ones(2), index)[1]
    finally:
        unsubscribe()
    eager = through(torch.ones(2), index)[1]
    assert [data for data, _ in captured] == [data for data, _ in eager]
    assert [shown(value) for _, value in captured] == [shown(value) for _, value in eager]
    assert not breaks


@check()
def test_sharing_and_cycles(x):
    shared = [x]
    shared.append(shared)
    one = pickle.loads(pickle.dumps((1, [2])))
    cycle = [1]
    cycle.append(cycle)
    loaded = pickle.loads(pickle.dumps(cycle))
    return x + 1, one, loaded is loaded[1], loaded[0], pickle.loads(pickle.dumps(Color.BLUE)) is Color.BLUE


class Fails:
    def __reduce__(self):
        raise ValueError("no")


def fails(x):
    y = x + 1
    try:
        pickle.dumps(Fails())
    except ValueError as error:
        said = str(error)
    return y * 2, said


@program("eager")
def test_errors_are_those_of_c(compiled):
    return compiled(fails)(torch.ones(2))


@check(lambda: (torch.ones(2), pickle.dumps([1, 2])), graphs=2, breaks=1)
def test_bytes_from_outside_are_left_to_c(x, data):
    y = x + 1
    return pickle.loads(data), y * 2


class Sequence:
    def __getitem__(self, index):
        if index > 4:
            raise IndexError
        return index


def iterators():
    table = {"a": 1, "b": 2, "c": 3}
    return [
        iter([1, 2, 3]), iter((1, 2, 3)), iter("abc"), iter("éà"), iter(b"abc"), iter(range(3)), iter(range(1 << 70, (1 << 70) + 3)),
        reversed([1, 2, 3]), iter(Sequence()), iter(table), iter(table.values()), iter(table.items()), reversed(table), iter({1, 2, 3}),
        enumerate([4, 5, 6], 3), zip([1, 2, 3], [3, 4, 5]), zip([1, 2], [3, 4], strict=True), map(len, ["a", "bb"]), filter(None, [0, 1]),
        itertools.count(3), itertools.count(3, 2),
    ]  # fmt: skip


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_iterators_are_reduced_and_copied(steps):
    @check()
    def reduced(x):
        seen = []
        for iterator in iterators():
            for _ in range(steps):
                next(iterator, None)
            function, args, *state = iterator.__reduce__()
            seen.append((function.__name__, len(args), state))
            seen.append(list(itertools.islice(copy.copy(iterator), 9)))
            seen.append(list(itertools.islice(iterator, 9)))
        return x + 1, seen

    reduced()


@check()
def test_states_of_iterators(x):
    seen = []
    for iterator in iterators()[:9]:
        for place in (1, -5, 100):
            iterator.__setstate__(place)
            seen.append(iterator.__reduce__()[2:])
        seen.append(list(iterator))
    far = iter(Sequence())
    far.__setstate__(sys.maxsize)
    try:
        next(far)
    except OverflowError as error:
        seen.append(str(error))
    return x + 1, seen
