"""Users' subclasses of built-in types and classes that act like these: eager against symbolic."""

from __future__ import annotations

import collections
import enum
import functools
import json
import operator
import statistics
import textwrap
import typing
from fractions import Fraction

import pytest

from symbolic import check, outcome


class Whole(int):
    def __add__(self, other):
        return Whole(int(self) + int(other) + 100)

    def twice(self):
        return self * 2


class Text(str):
    def shout(self):
        return self.upper() + "!"


class Pairing(tuple):
    def __new__(cls, *items):
        return super().__new__(cls, items)

    def first(self):
        return self[0]


class Noted(collections.OrderedDict):
    def __setitem__(self, key, value):
        super().__setitem__(key, ("set", value))


class Upper(dict):
    def __getitem__(self, key):
        return super().__getitem__(key.upper())

    def __contains__(self, key):
        return super().__contains__(key.upper())


class Odd(set):
    def add(self, item):
        if item % 2:
            super().add(item)


class Point(typing.NamedTuple):
    a: int
    b: str = "q"

    def both(self):
        return self.a, self.b


class Access(enum.Flag):
    READ = 1
    WRITE = 2
    RUN = 4


@functools.total_ordering
class Rank:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return self.value == other.value

    def __lt__(self, other):
        return self.value < other.value


class Vector:
    def __init__(self, *parts):
        self.parts = parts

    def __add__(self, other):
        return Vector(*(a + b for a, b in zip(self.parts, other.parts)))

    def __matmul__(self, other):
        return sum(a * b for a, b in zip(self.parts, other.parts))

    def __iter__(self):
        return iter(self.parts)

    def __getitem__(self, index):
        return self.parts[index]

    def __len__(self):
        return len(self.parts)

    def __eq__(self, other):
        return self.parts == other.parts

    def __hash__(self):
        return hash(self.parts)

    def __repr__(self):
        return f"Vector{self.parts}"

    def __neg__(self):
        return Vector(*map(operator.neg, self))

    def __format__(self, spec):
        return "|".join(format(part, spec) for part in self.parts)

    @classmethod
    def zero(cls, size):
        return cls(*[0] * size)

    @functools.cached_property
    def norm(self):
        return sum(part * part for part in self.parts)


def wholes(n):
    i = Whole(5)
    return (
        i + 1, type(i + 1).__name__, i * 2, i.twice(), i == 5, {5: 1}[i], [1, 2, 3][Whole(1)], range(i), "x" * Whole(2), f"{i}", f"{i:04d}", int(i), i < 6,
        sorted([Whole(3), Whole(1)]), bool(Whole(0)), isinstance(i, int), -i, i,
    )  # fmt: skip


def texts(n):
    s = Text("ab")
    return s.shout(), s + "c", len(s), s[0], f"{s:>4}", str(s), repr(s), hash(s) == hash("ab"), s.upper(), s in "cab", ",".join([s, s]), s == "ab", {"ab": 1}[s], s


def pairings(p):
    t = Pairing(1, 2)
    return t.first(), t + (3,), len(t), isinstance(t, tuple), t == (1, 2), t[::-1], [*t], p.first(), p, t, hash(t) == hash((1, 2))


def mappings(d):
    o, u = Noted(a=1), Upper(A=1)
    o["b"] = 2
    o.update(c=3)
    found = list(o.items()), o.setdefault("d", 5), o["d"], o.pop("a"), dict.__getitem__(o, "b")
    u["B"] = 2
    d["X"] = u["b"]
    return found, u["a"], "a" in u, u.get("a"), u, outcome(lambda: u["zz"]), d["x"], "q" in d, len(d), {**u}


def members(s):
    o = Odd()
    o.add(1)
    o.add(2)
    s.add(4)
    s.add(7)
    return o, o | {8}, len(o), 1 in o, sorted(s), o == {1}


def points(n):
    p = Point(1)
    return p, p.both(), p._replace(b="z"), p == (1, "q"), p[0], Point._fields, hash(p) == hash((1, "q")), [*p], p._asdict(), repr(p), p.a


def flags(a):
    both = Access.READ | Access.WRITE
    return both, Access.READ in both, both & Access.WRITE, ~Access.READ, bool(Access.READ & Access.WRITE), list(both), Access(3), a is Access.RUN, a | both


def ranks(n):
    return Rank(1) <= Rank(2), Rank(1) > Rank(2), Rank(3) >= Rank(3), max(Rank(1), Rank(5)).value, sorted([Rank(3), Rank(1)])[0].value


def vectors(n):
    v, w = Vector(1, 2), Vector(3, 4)
    a, b = v
    return (
        (v + w).parts, v @ w, list(v), v[0], len(v), v == Vector(1, 2), {v: 1}[Vector(1, 2)], repr(v), 2 in v, (-v).parts, f"{v:03d}", Vector.zero(2).parts, v.norm,
        v.norm, vars(v), [*v, *w], max(v), sum(v), dict(zip("ab", v)), sorted(w, reverse=True), any(v), a, b, list(reversed(v)), list(enumerate(w, 1)),
    )  # fmt: skip


def user_containers(n):
    d, items = collections.UserDict(a=1), collections.UserList([1, 2])
    d["b"] = 2
    items.append(3)
    return dict(d), d.get("zz"), len(d), "a" in d, list(items), items + [4], items[1:], items == [1, 2, 3], d | {"c": 3}


def pure_libraries(n):
    third = Fraction(1, 3)
    return (
        textwrap.wrap("the quick brown fox jumps over the lazy dog", 12), statistics.mean([1, 2, 3, 4]), statistics.median([3, 1, 2]), third + 1, third * third,
        third < 1, str(third), float(third), json.loads('{"a": [1, 2.5, "x"]}'), json.dumps({"a": [1, {"b": None}], "c": 1.5}), json.dumps([1], indent=1),
    )  # fmt: skip


PROGRAMS = [
    (wholes, 1), (texts, 1), (pairings, Pairing(7, 8)), (mappings, Upper(Q=1)), (members, Odd([3])), (points, 1), (flags, Access.RUN), (ranks, 1), (vectors, 1),
    (user_containers, 1), (pure_libraries, 1),
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0].__name__)
def test_subclasses(program):
    check(*program)
