"""Named tuples, typed dicts and protocols defined in captured code."""

from __future__ import annotations

import collections
from typing import NamedTuple, Protocol, TypedDict, runtime_checkable

from support import check


@check()
def test_the_factory(x):
    Point = collections.namedtuple("Point", "a b", defaults=[5])
    point = Point(x)
    try:
        Point()
    except TypeError as error:
        text = str(error)
    facts = (point.b, Point._fields, repr(Point(1, 2)), Point(1)._asdict(), tuple(Point(1)._replace(b=3)), tuple(Point._make([7, 8])), Point.__doc__, text)
    return point.a + point.b, facts, Point(1, 2) == (1, 2), Point.a.__doc__, Point.__name__, Point.__new__.__defaults__


@check()
def test_the_class_form(x):
    class Point(NamedTuple):
        """A point."""

        a: int
        b: int = 2

        def total(self):
            return self.a + self.b

    a, b = Point(x)
    return Point(x).total(), b, Point._field_defaults, Point.__annotations__, Point.__doc__, repr(Point(1)), Point.__mro__[1] is tuple


@check()
def test_typed_dicts_and_protocols(x):
    class Options(TypedDict, total=False):
        size: int

    @runtime_checkable
    class Sized(Protocol):
        def size(self) -> int: ...

    class Has:
        def size(self):
            return 3

    options = Options(size=2)
    return x + options["size"], type(options) is dict, isinstance(Has(), Sized), isinstance(3, Sized), Options.__total__, sorted(Options.__optional_keys__)


def _made(x):
    Point = collections.namedtuple("Point", ["a", "b"])
    return Point, Point(1, x), x + 1


def test_an_escaping_namedtuple_is_a_real_one():
    import torch

    import framejit

    compiled = framejit.compile(_made, backend="eager")
    for _ in range(3):
        cls, point, y = compiled(torch.ones(2))
        assert type(point) is cls and point.a == 1 and point.b.tolist() == [1, 1] and cls._fields == ("a", "b")
        assert repr(cls(1, 2)) == "Point(a=1, b=2)" and cls(1, 2)._replace(a=3) == (3, 2) and cls._make([1, 2]).b == 2
