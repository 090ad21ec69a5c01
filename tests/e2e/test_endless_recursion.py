"""Recursion without end meets the recursion limit also where every level breaks and its callees are captured again."""

from __future__ import annotations

import sys

import torch

import framejit


def deeper(x):
    print(end="")
    return deeper(x)


def caught(x):
    try:
        deeper(x)
    except RecursionError as error:
        return x + 1, type(error).__name__


def test_the_recursion_limit_holds():
    framejit.reset()
    compiled = framejit.compile(caught, backend="eager")
    before = sys.getrecursionlimit()
    for _ in range(2):
        y, name = compiled(torch.ones(2))
        assert name == "RecursionError" and torch.equal(y, torch.full((2,), 2.0))
    assert sys.getrecursionlimit() == before
