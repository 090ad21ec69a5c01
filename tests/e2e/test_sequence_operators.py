"""`+` and `*` of built-in sequences beside everything else: numeric methods first, then sequences, with CPython's errors."""

from __future__ import annotations

import collections
import copy
import operator

import pytest
import torch

import framejit


class Index:
    def __init__(self, number):
        self.number = number

    def __index__(self):
        return self.number


class Reflected(Index):
    def __rmul__(self, other):
        return "rmul"

    def __radd__(self, other):
        return "radd"

    def __iter__(self):
        return iter([1])


class RefusesMul(list):
    def __mul__(self, other):
        return NotImplemented


class RefusesRmul(list):
    def __rmul__(self, other):
        return NotImplemented


class RefusesAdd(list):
    def __add__(self, other):
        return NotImplemented


class List(list):
    pass


class Text(str):
    def __add__(self, other):
        return "added"


class Deque(collections.deque):
    pass


VALUES = [
    "a", [1], (2,), b"q", range(2), {}, None, 2, 2.5, True, Index(2), Index("x"), Reflected(2), RefusesMul([1]), RefusesRmul([1]), RefusesAdd([1]),
    List([1]), Text("k"), collections.deque([1]), Deque([1]), torch.tensor(2), torch.ones(2, dtype=torch.float64),
]  # fmt: skip
OPERATORS = [operator.add, operator.mul, operator.iadd, operator.imul]


def applied(left, right):
    found = []
    for function in OPERATORS:
        for one, other in ((left, right), (right, left)):
            try:
                found.append(function(copy.copy(one), other))
            except TypeError as error:
                found.append(str(error))
    return found


@pytest.mark.parametrize("place", range(len(VALUES)))
def test_pairs(place):
    left = VALUES[place]
    for right in VALUES[place:]:
        if {type(left), type(right)} <= {torch.Tensor, float}:
            continue
        framejit.reset()
        compiled = framejit.compile(lambda x: (applied(left, right), x + 1), backend="eager")
        expected = applied(copy.deepcopy(left), copy.deepcopy(right))
        found = compiled(torch.ones(2))[0]
        assert [(type(item), str(item)) for item in found] == [(type(item), str(item)) for item in expected], (left, right)


def test_methods_called_by_name_refuse_what_is_no_integer():
    def named(x):
        found = []
        for sequence in ("ab", b"q", [1], (2,)):
            for name in ("__mul__", "__rmul__"):
                try:
                    found.append(getattr(sequence, name)("x"))
                except TypeError as error:
                    found.append(str(error))
        return found, x + 1

    framejit.reset()
    assert framejit.compile(named, backend="eager", fullgraph=True)(torch.ones(2))[0] == named(torch.ones(2))[0]
