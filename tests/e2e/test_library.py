"""The programs of the object and library tests, compiled around a tensor operator: one graph, no break, eager's results."""

from __future__ import annotations

import copy
import importlib

import pytest
import torch

import framejit
from support import Counter
from symbolic import describe

MODULES = ("objects.test_sequences", "objects.test_mappings", "objects.test_iterators", "objects.test_subclasses", "rules.test_builtins", "rules.test_stdlib")
PROGRAMS = [program for name in MODULES for program in importlib.import_module(name).PROGRAMS]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0].__name__)
def test_library(program):
    function, *args = program
    framejit.reset()
    counter = Counter()
    breaks: list[object] = []

    def wrapped(x, *args):
        y = x + 1
        return function(*args), y

    unsubscribe = framejit.events.subscribe(breaks.append, framejit.events.Break)
    try:
        compiled = framejit.compile(wrapped, backend=counter)
        with framejit.config.patch(strict=True):
            for _ in range(2):
                mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
                expected = wrapped(torch.ones(2), *mine)[0]
                found = compiled(torch.ones(2), *theirs)[0]
                assert describe((found, theirs)) == describe((expected, mine))
    finally:
        unsubscribe()
    assert not breaks and (counter.graphs, counter.runs) == (1, 2)
