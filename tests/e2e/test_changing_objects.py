"""Objects that are others at each call: one region serves them all."""

from __future__ import annotations

import functools
import itertools
import types
import weakref

import pytest
import torch

import framejit
from support import Counter, same


class Scaled:
    def __init__(self, factor):
        self.factor = factor
        self.apply = lambda value: value * factor


def adds_one(value):
    return value + 1


def made():
    return types.FunctionType(adds_one.__code__, globals(), "adds_one")  # by its name a function of this module


def calls(x, function):
    return function(x)


def calls_what_is_held(x, held):
    return held.apply(x), held.factor


def maps(x, functions):
    return list(map(functions[0], [x, x * 2]))


def behind_a_call(x, number):
    function = lambda value: value * number  # noqa: E731
    x = x + 1
    says_nothing()
    return function(x)


def says_nothing():
    print(end="")


def groups(x, items):
    found = itertools.groupby(items, key=lambda item: item > 2)
    x = x + 1
    says_nothing()
    return [(key, list(group)) for key, group in found], x * 2


def marks(x, mark):
    return x + 1 if mark is None else {mark: x * 2}[mark]


def marks_behind_a_call(x, items):
    end = object()
    it = iter(items)
    x = x * 2
    says_nothing()
    return next(it, end) is end, x + 1


OBJECTS = {
    "a lambda": (calls, lambda: lambda value: value + 1),
    "a function of a module": (calls, made),
    "a partial": (calls, lambda: functools.partial(lambda a, b: a * b, 3)),
    "a lambda of an instance": (calls_what_is_held, lambda: Scaled(2)),
    "a lambda in a list": (maps, lambda: [lambda value: value + 1]),
    "a lambda behind a call": (behind_a_call, lambda: 3),
    "a lambda in an iterator": (groups, lambda: [1, 2, 3]),
    "a mark": (marks, object),
    "a mark behind a call": (marks_behind_a_call, list),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_others_each_time(name):
    function, make = OBJECTS[name]
    framejit.reset()
    counter = Counter()
    compiled = framejit.compile(function, backend=counter)
    x, graphs = torch.arange(3.0), []
    for _ in range(5):
        given = make()
        same(compiled(x, given), function(x, given))
        graphs.append(counter.graphs)
    assert graphs[1] == graphs[-1] > 0, graphs


def test_functions_of_one_code_in_turn():
    framejit.reset()
    counter = Counter()
    compiled = framejit.compile(calls, backend=counter)
    x = torch.arange(3.0)
    pair = [lambda value, n=n: value * n for n in (2, 3)]
    for _ in range(3):
        for function in (*pair, torch.nn.functional.relu, torch.nn.functional.gelu):
            assert torch.equal(compiled(x, function), function(x))
    assert counter.graphs <= 5


def test_no_object_is_kept():
    framejit.reset()
    compiled = framejit.compile(calls, backend="eager")
    seen = []
    for _ in range(3):
        function = made()
        seen.append(weakref.ref(function))
        compiled(torch.ones(2), function)
        del function
    assert [one() for one in seen] == [None] * 3
