"""All binary operators on pairs of values of different types: results, and errors that name the program's own types."""

from __future__ import annotations

import collections
import enum
import fractions
import operator

import pytest
import torch

import framejit


class Int(int):
    pass


class Float(float):
    pass


class Text(str):
    pass


class Bytes(bytes):
    pass


class Table(dict):
    pass


class Row(tuple):
    pass


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Reflects:
    def __radd__(self, other):
        return "reflected"

    __rsub__ = __rmul__ = __rtruediv__ = __rmod__ = __rpow__ = __rand__ = __ror__ = __rlshift__ = __rmatmul__ = __radd__

    def __lt__(self, other):
        return "less"


class InPlace:
    def __iadd__(self, other):
        return "in place"

    __isub__ = __imul__ = __itruediv__ = __imod__ = __ipow__ = __iand__ = __ior__ = __ilshift__ = __imatmul__ = __iadd__


Pair = collections.namedtuple("Pair", "first second")
OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.and_, operator.or_, operator.xor,
    operator.lshift, operator.rshift, operator.matmul, operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
    divmod, pow, operator.contains, operator.getitem, operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.imod,
    operator.iand, operator.ior, operator.ilshift, operator.imatmul, operator.ipow,
]  # fmt: skip
PAIRS = [
    (3, 2.5), (3, float("nan")), (3, 1j), (3, int), (int, None), (int, str), (int | str, 3), (int, "q"), (list[int], 3), (range(3), 2),
    ("%s", Int(2)), (Text("%d"), 2), (Bytes(b"k"), 2), (3, b"%s"), (Level.LOW, 2), (Access.READ, Access.WRITE), (Color.RED, 1),
    (Float(1.5), 2), (Pair(1, 2), (3,)), (Row((1,)), (2,)), (fractions.Fraction(1, 2), 2.5), (Reflects(), 2), (InPlace(), 1),
    (Table(a=1), 3), (None, None), (NotImplemented, 1), (10**20, 2.5), (True, 1j), (slice(1), slice(2)), (len, len), (object, int),
]  # fmt: skip


def applied(left, right):
    found = []
    for function in OPERATORS:
        try:
            found.append(function(left, right))
        except Exception as error:
            found.append((type(error), str(error)))
    return found


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("place", range(len(PAIRS)))
def test_pairs(place):
    for left, right in (PAIRS[place], PAIRS[place][::-1]):
        framejit.reset()
        compiled = framejit.compile(lambda x, left, right: (applied(left, right), x + 1), backend="eager")
        found, expected = compiled(torch.ones(2), left, right)[0], applied(left, right)
        assert [(type(item), str(item)) for item in found] == [(type(item), str(item)) for item in expected], (left, right)
