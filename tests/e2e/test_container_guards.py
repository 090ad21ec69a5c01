"""Containers that change between calls: every call gives eager's result, and calls that look alike share a region."""

from __future__ import annotations

import collections.abc
import copy
import enum
import functools
from collections import Counter as Tally
from collections import OrderedDict, defaultdict, namedtuple

import pytest
import torch

import framejit
from support import Counter
from symbolic import describe

Point = namedtuple("Point", "x y")
X = torch.ones(2)


class Mode(enum.Enum):
    A = 1
    B = 2


class Box:
    def __init__(self, **fields):
        self.__dict__.update(fields)


def get_key(x, d):
    return x + 1, d.get("a"), "b" in d


def all_keys(x, d):
    return x + 1, list(d), list(d.values()), len(d)


def truth(x, d):
    return x + 1, "full" if d else "empty"


def item(x, items):
    return x + 1, items[0], items[-1]


def appended(x, items):
    items.append("new")
    return x + 1, None


def appended_and_counted(x, items):
    items.append("new")
    return x + 1, len(items)


def stored(x, d):
    d["k"] = 1
    d["z"] = d.get("z", 0)
    return x + 1, None


def deleted(x, d):
    if "a" in d:
        del d["a"]
    return x + 1, d


def member(x, s):
    return x + 1, "a" in s, sorted(s)


def unpacked(x, p):
    a, b = p
    return x + 1, a, b, type(p)


def typed(x, v):
    return x + 1, type(v), isinstance(v, int), v == 1, repr(v)


def moded(x, m):
    return x + 1, m is Mode.A, m.name


def aliased(x, pair):
    one, two = pair
    one.append(1)
    return x + 1, len(two), one is two


def attribute(x, box):
    box.seen = hasattr(box, "extra")
    return x + 1, getattr(box, "extra", None), vars(box)


def called(x, f):
    return x + 1, f(3)


def defaulted(x, d):
    d["m"].append(1)
    return x + 1, d["m"]


def ordered(x, d):
    return x + 1, list(d.items())


def tallied(x, c):
    c["a"] += 1
    return x + 1, c["zz"]


def scale(v, by=1):
    return v * by


def reordered(*keys):
    found = OrderedDict(a=1, b=2)
    for key in keys:
        found.move_to_end(key)
    return found


def shared():
    one = [0]
    return [one, one]


CASES = [
    (get_key, 4, [{"a": 1}, {"a": 1, "c": 2}, {"a": 2}, {}, {"b": 1}, {"a": 1}]),
    (all_keys, 4, [{"a": 1}, {"a": 1}, {"b": 1}, {"a": 1, "b": 2}, {"b": 2, "a": 1}]),
    (truth, 3, [{}, {1: 1}, {1: 1, 2: 2}, {}]),
    (item, 3, [[1, 2], [1, 2], [1, 5, 2], ["a"]]),
    (appended, 1, [[], [1], [1, 2]]),
    (appended_and_counted, 3, [[], [1], [1, 2], [4]]),
    (stored, 4, [{}, {"k": 5}, {"z": 3}, {"q": 1}]),
    (deleted, 3, [{"a": 1}, {}, {"b": 1, "a": 2}, {"a": 1}]),
    (member, 3, [{"a"}, {"b"}, {"a", "b"}, {"a"}]),
    (unpacked, 4, [(1, "b"), [1, "b"], Point(1, "b"), (1, "b")]),
    (typed, 7, [1, 1.0, True, "1", None, 0.0, -0.0, 1]),
    (moded, 2, [Mode.A, Mode.B, Mode.A]),
    (aliased, 2, [shared(), [[0], [0]], shared()]),
    (attribute, 3, [Box(a=1), Box(extra=2), Box(a=1, extra=3), Box(a=1)]),
    (called, 4, [functools.partial(scale, by=2), functools.partial(scale, by=3), scale, functools.partial(scale, by=2)]),
    (defaulted, 3, [defaultdict(list), defaultdict(list, m=[0]), defaultdict(list)]),
    (ordered, 3, [reordered(), reordered("a"), reordered("a", "b"), reordered()]),
    (tallied, 3, [Tally("a"), Tally("b"), Tally("aa"), Tally("a")]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_container_guards(case):
    function, most, arguments = case
    framejit.reset()
    counter = Counter()
    compiled = framejit.compile(function, backend=counter)
    with framejit.config.patch(strict=True):
        for argument in arguments:
            mine, theirs = copy.deepcopy(argument), copy.deepcopy(argument)
            expected, found = function(X, mine), compiled(X, theirs)
            assert describe((found[1:], theirs)) == describe((expected[1:], mine)), argument
    assert 1 <= counter.graphs <= most and counter.runs == len(arguments)


class View(collections.abc.Sequence):
    """Iterated by the generator of collections.abc, which waits in a `try` when it is dropped."""

    def __init__(self, items):
        self.items = items

    def __getitem__(self, index):
        return self.items[index]

    def __len__(self):
        return len(self.items)


def test_a_generator_dropped_in_a_harmless_try_is_no_break():
    def function(x, view):
        for _, item in zip("ab", view):
            x = x + item
        return x

    framejit.reset()
    counter = Counter()
    breaks: list[object] = []
    unsubscribe = framejit.events.subscribe(breaks.append, framejit.events.Break)
    try:
        found = framejit.compile(function, backend=counter)(X, View([1, 2, 3]))
    finally:
        unsubscribe()
    assert torch.equal(found, function(X, View([1, 2, 3]))) and counter.graphs == counter.runs == 1 and not breaks
