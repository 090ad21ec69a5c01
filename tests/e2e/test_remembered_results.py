"""Given `lru_cache` functions: what they remember counts, also where what they read has changed since."""

from __future__ import annotations

import functools

import pytest
import torch

import framejit
from support import Counter

STATE = {"offset": 5}
OFFSET = 5


class Model:
    def __init__(self, n):
        self.n = n

    @functools.lru_cache  # noqa: B019
    def scaled(self, k=2):
        return self.n * k


@functools.lru_cache
def of_global(a, b=1):
    return a + b + OFFSET


@functools.lru_cache(None)
def unbounded(*args, **kwargs):
    return args, tuple(kwargs.items()), STATE["offset"]


@functools.lru_cache(typed=True)
def typed(a):
    return a, OFFSET


@functools.lru_cache(maxsize=1)
def small(a):
    return a, OFFSET


@functools.lru_cache(maxsize=1)
def evicting(a):
    return a, STATE["offset"]


WRAPPERS = (of_global, unbounded, typed, small, evicting, Model.scaled)


def globals_read(x, model):
    return x + 1, [of_global(1), of_global(1, b=2), of_global(1), of_global(1.0), of_global(True)]


def all_forms(x, model):
    return x + 1, [unbounded(1), unbounded("a", z=3), unbounded(), unbounded(z=3), typed(1), typed(1.0), typed(True)]


def one_place(x, model):
    return x + 1, [small(1), small(2), small(1)]


def evicted(x, model):
    found = []
    for n, key in ((1, 1), (2, 2), (3, 1), (4, 1)):
        model.n = n
        STATE["offset"] = n
        found.append(evicting(key))
    return x + 1, found


def of_objects(x, model):
    model.n += 1
    first = model.scaled()
    model.n += 1
    return x + 1, [first, model.scaled(), model.scaled(3)]


@pytest.mark.parametrize("function", [globals_read, all_forms, one_place, evicted, of_objects], ids=lambda function: function.__name__)
def test_what_is_remembered_counts(function):
    global OFFSET
    counter = Counter()
    seen = []
    framejit.reset()
    for run in (function, framejit.compile(function, backend=counter)):
        for wrapper in WRAPPERS:
            wrapper.cache_clear()
        OFFSET = STATE["offset"] = 5
        model, found = Model(1), []
        for call in range(8):
            if call == 3:
                OFFSET = STATE["offset"] = 7
            if call == 5:
                of_global.cache_clear()
                unbounded.cache_clear()
            if call == 6:
                model = Model(4)
            found.append((run(torch.ones(2), model)[1], [tuple(wrapper.cache_info()) for wrapper in WRAPPERS]))
        seen.append(found)
    assert seen[1] == seen[0]
    assert counter.graphs >= 1


def test_pure_ones_stay_in_the_graph():
    framejit.reset()
    counter = Counter()

    @functools.lru_cache
    def pure(n, scale=2):
        return n * scale

    def function(x):
        return x * pure(3) + pure(4, scale=5)

    compiled = framejit.compile(function, backend=counter)
    breaks: list = []
    unsubscribe = framejit.events.subscribe(breaks.append, framejit.events.Break)
    for n in range(4):
        assert torch.equal(compiled(torch.full((2,), float(n))), function(torch.full((2,), float(n))))
    unsubscribe()
    assert counter.graphs == 1 and not breaks
    assert pure.cache_info().hits == 14
