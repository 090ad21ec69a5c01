"""Tuples of classes whose objects have attributes of their own: given, and made in the region."""

from __future__ import annotations

import collections
import copy

import torch

import framejit
from support import Counter, check


class Pair(tuple):
    kept = None

    def total(self):
        if self.kept is None:
            self.kept = sum(self)
        return self.kept


class Made(tuple):
    def __new__(cls, *items, scale=1):
        self = super().__new__(cls, items)
        self.scale = scale
        return self

    def __init__(self, *items, scale=1):
        self.size = len(items)


class Point(collections.namedtuple("Point", "x y")):
    def moved(self, by):
        found = self._replace(x=self.x + by)
        found.origin = self
        return found


def marked(*items):
    made = Pair(items)
    made.mark = [1]
    return made


@check(lambda: (torch.ones(2), Pair((1, 2))), lambda: (torch.ones(2), marked(3, 4)), calls=3, graphs=2, breaks=0)
def test_given(x, pair):
    x = x + pair.total()
    pair.other = x
    pair.mark = [*getattr(pair, "mark", ()), 5]
    return x, pair.kept, pair.total(), vars(pair), len(pair), list(pair), pair[0], pair == (1, 2), pair


@check(calls=3, graphs=1, breaks=0)
def test_made(x):
    pair, made = Pair((1, x)), Made(1, 2, scale=x)
    pair.kept = made.size
    made.pair = pair
    return x * pair.total() + made.scale, pair, made, vars(made), pair.__dict__ is vars(pair), made + (3,), made[1:]


@check(lambda: (torch.ones(2), Point(1, torch.ones(2))))
def test_named(x, point):
    moved = point.moved(2)
    a, b = moved
    return x * a + b + moved.x, moved, moved.origin is point, point._asdict(), isinstance(moved, tuple), repr(moved.x)


@check(lambda: (torch.ones(2, 3), Pair((0, 1)), Pair((ValueError, KeyError))))
def test_where_c_code_takes_tuples(x, dims, kinds):
    def collects(*args, **names):
        return args, names

    try:
        raise KeyError("key")
    except kinds as error:
        text = "%s and %s" % dims + str(error)
    match dims:
        case (first, second):
            found = first, second
    args, _ = collects(*dims, *Pair("ab"))
    table = {dims: 1, Pair("ab"): 2}
    return x.sum(dims) + torch.zeros(Pair((1,))), text, found, args, type(args), table[0, 1], table["a", "b"], (0, 1) in {dims}, hash(dims) == hash((0, 1))


@check(lambda: (torch.ones(2), marked(1)))
def test_compared_and_combined(x, pair):
    other = Pair((1,))
    seen = [pair == other, pair is other, pair < (2,), pair + other, pair * 2, other in [pair], pair in (other,), {other: 3}[pair]]
    seen += [sorted([Pair((2,)), pair])[0] is pair, isinstance(pair, Pair), bool(Pair()), pair.index(1), tuple(pair), tuple(other)]
    return x + len(seen), seen, [*reversed(pair)], dict([Pair(("k", "v"))]), *pair


def cyclic(x):
    items = []
    pair = Pair((items, x))
    items.append(pair)
    pair.itself = pair
    return x + 1, pair


def test_cycles_and_identity():
    framejit.reset()
    counter = Counter()
    _, pair = framejit.compile(cyclic, backend=counter)(torch.ones(2))
    assert type(pair) is Pair and pair[0][0] is pair and pair.itself is pair and list(vars(pair)) == ["itself"] and counter.graphs == 1


@check(lambda: (torch.ones(2), marked(1)), breaks=1, graphs=2)
def test_over_a_break(x, pair):
    made = Made(1, x)
    made.late = pair
    x = x + made.size
    framejit.graph_break()
    made.later = pair.mark
    return x * len(made), made, made.late is pair, vars(made)


@check(lambda: (torch.ones(2), marked(1)), breaks=0)
def test_copies(x, pair):
    twin = copy.copy(pair)
    return x + 1, twin, twin is pair, twin.mark is pair.mark
