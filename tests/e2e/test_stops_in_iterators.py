"""A StopIteration that a function raises while an iterator in C calls it is the end of that iterator."""

from __future__ import annotations

import functools
import itertools

import pytest
import torch

import framejit
from support import same


def stops(value=None):
    return next(iter([]))


def odd(value):
    return stops() if value % 2 == 0 else value


ITERATORS = {
    "map": lambda: map(odd, [1, 2, 3]),
    "filter": lambda: filter(odd, [1, 2, 3]),
    "filterfalse": lambda: itertools.filterfalse(lambda value: odd(value) > 2, [1, 2, 3]),
    "starmap": lambda: itertools.starmap(odd, [(1,), (2,), (3,)]),
    "takewhile": lambda: itertools.takewhile(odd, [1, 2, 3]),
    "dropwhile": lambda: itertools.dropwhile(lambda value: odd(value) < 5, [1, 2, 3]),
    "accumulate": lambda: itertools.accumulate([1, 2, 3], lambda total, value: odd(value)),
    "until": lambda: iter(stops, 5),
    "zip": lambda: zip(map(odd, [1, 2, 3]), [1, 2, 3]),
    "zip_longest": lambda: itertools.zip_longest(map(odd, [1, 2, 3]), [1, 2, 3]),
    "enumerate": lambda: enumerate(map(odd, [1, 2, 3])),
    "chain": lambda: itertools.chain(map(odd, [1, 2, 3]), [9]),
    "chain of an iterable": lambda: itertools.chain.from_iterable(map(lambda value: [odd(value)], [1, 2, 3])),
    "groupby": lambda: ((key, len(list(group))) for key, group in itertools.groupby([1, 2, 3], odd)),
    "islice": lambda: itertools.islice(map(odd, [1, 2, 3]), 5),
    "pairwise": lambda: itertools.pairwise(map(odd, [1, 3, 2])),
    "cycle": lambda: itertools.islice(itertools.cycle(map(odd, [1, 3, 2])), 5),
    "compress": lambda: itertools.compress(map(odd, [1, 2, 3]), [1, 1, 1]),
    "tee": lambda: itertools.tee(map(odd, [1, 2, 3]))[1],
}


def delegated(it):
    return (yield from it)


def everything(x, make):
    found = []
    for use in (
        list, lambda it: sum(1 for _ in it), sum, lambda it: sorted(it, key=str), lambda it: [next(it, "end") for _ in range(4)],
        lambda it: [*it], dict.fromkeys, lambda it: ",".join(map(str, it)), lambda it: 77 in it, lambda it: list(delegated(it)),
        lambda it: functools.reduce(lambda a, b: (a, b), it, 0), lambda it: max(it, key=str, default=0),
    ):  # fmt: skip
        try:
            found.append(use(make()))
        except (TypeError, StopIteration, RuntimeError) as error:
            found.append((type(error).__name__, str(error)))
    return x + 1, found


@pytest.mark.parametrize("name", ITERATORS)
def test_the_iterator_ends(name):
    framejit.reset()
    with framejit.config.patch(strict=True):
        compiled = framejit.compile(everything, backend="eager")
        for _ in range(2):
            same(compiled(torch.ones(2), ITERATORS[name]), everything(torch.ones(2), ITERATORS[name]))
