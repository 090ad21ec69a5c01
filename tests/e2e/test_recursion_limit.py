"""Recursion that is deep but ends: the recursion limit is met where eager meets it, though a region runs many calls at once."""

from __future__ import annotations

import inspect
import sys

import pytest
import torch

import framejit


def down(x, number):
    return x + 1 if number <= 0 else down(x, number - 1)


def down_with_breaks(x, number):
    if number % 7 == 0:
        print(end="")
    return x + 1 if number <= 0 else down_with_breaks(x, number - 1)


def down_by_generators(x, number):
    def numbers(left):
        if left > 0:
            yield left
            yield from numbers(left - 1)

    return x + sum(numbers(number))


def outcome(function, number):
    try:
        return function(torch.ones(2), number).tolist()
    except RecursionError as error:
        return str(error)


@pytest.mark.parametrize("function", [down, down_with_breaks, down_by_generators])
def test_the_limit_is_met_at_the_same_depth(function):
    framejit.reset()
    compiled = framejit.compile(function, backend="eager")
    before, here = sys.getrecursionlimit(), len(inspect.stack())
    sys.setrecursionlimit(here + 300)
    try:
        for number in (5, 100, 240, 280, 285, 290, 292, 294, 295, 296, 297, 298, 299, 300, 310, 500):
            assert outcome(compiled, number) == outcome(function, number), number
    finally:
        sys.setrecursionlimit(before)
