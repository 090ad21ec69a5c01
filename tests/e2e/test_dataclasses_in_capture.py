"""Dataclasses defined in captured code."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from support import check


@check()
def test_a_plain_dataclass(x):
    @dataclass
    class Point:
        a: int
        b: int = 2

        def total(self):
            return self.a + self.b

    point = Point(x)
    return point.total(), repr(Point(1)), Point(1) == Point(1, 2), Point(1) == Point(3), Point.__doc__, Point.__match_args__


@check()
def test_frozen_ordered_with_factories_and_inheritance(x):
    @dataclass(frozen=True, order=True)
    class Base:
        a: int
        items: list = field(default_factory=list, compare=False)

    @dataclass(frozen=True, order=True)
    class More(Base):
        c: float = field(default=1.5, repr=False)

    one, two = More(1), More(2, [3])
    try:
        one.a = 5
    except dataclasses.FrozenInstanceError as error:
        text = str(error)
    facts = (one < two, sorted([two, one])[0] is one, hash(one) == hash(More(1)), repr(two), text, one.items is not two.items)
    return x + one.c, facts, [f.name for f in dataclasses.fields(More)]


@check()
def test_replace_asdict_and_fields(x):
    @dataclass
    class Inner:
        v: int

    @dataclass
    class Outer:
        inner: Inner
        k: int = field(default=3, metadata={"unit": "m"}, kw_only=True)

        def __post_init__(self):
            self.seen = self.k

    outer = Outer(Inner(1), k=4)
    changed = dataclasses.replace(outer, k=5)
    facts = (dataclasses.asdict(changed), dataclasses.astuple(outer), changed.seen, dataclasses.is_dataclass(Outer))
    return x + changed.k, facts, [(f.name, dict(f.metadata)) for f in dataclasses.fields(outer)]


@check()
def test_make_dataclass(x):
    C = dataclasses.make_dataclass("C", [("a", int), ("b", int, field(default=2))], namespace={"twice": lambda self: self.a * 2})
    return x + C(1).twice(), repr(C(1)), C.__name__


@check()
def test_initvar_and_classvar(x):
    @dataclass
    class C:
        a: int
        start: dataclasses.InitVar[int] = 7

        def __post_init__(self, start):
            self.end = self.a + start

    return x + C(1).end, [f.name for f in dataclasses.fields(C)]


@check()
def test_slots_of_a_dataclass(x):
    @dataclass(slots=True)
    class C:
        a: int
        b: int = 2

    made = C(x)
    return made.a + made.b, C.__slots__, hasattr(made, "__dict__")
