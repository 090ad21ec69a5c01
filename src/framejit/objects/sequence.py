"""What lists, tuples and deques share: indexing, slicing, searching and comparing tuples of values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from framejit.core.services import Services
from framejit.core.value import FALSE, TRUE, Const, Value, bool_const
from framejit.objects.exact import type_name
from framejit.objects.fold import COMPARED, COMPARISONS, is_plain
from framejit.objects.sameness import same_or_equal
from framejit.objects.slice_ import index, real_slice

Items = tuple[Value, ...]


def position(s: Services, items: Sequence[Any], key: Value, kind: str, what: str = "index") -> int:
    """The place in `items` that an index means, or the IndexError or TypeError of CPython."""
    place = index(s, key, f"{kind} indices must be integers or slices, not {type_name(s.force(key).cls)}")
    if place < 0:
        place += len(items)
    if not 0 <= place < len(items):
        s.raise_error(IndexError, f"{kind} {what} out of range")
    return place


def select(s: Services, items: Items, key: Value) -> Items:
    """`items[key]` for a slice."""
    bounds = real_slice(s, key)
    if bounds.step == 0:
        s.raise_error(ValueError, "slice step cannot be zero")
    return items[bounds]


def live(read: Callable[[], Items]) -> Iterator[Value]:
    """The items of a sequence that comparisons may change, each read when the one before it is done with."""
    place = 0
    while place < len(content := read()):
        yield content[place]
        place += 1


def contains(s: Services, items: Iterable[Value], item: Value) -> Value:
    """Whether some item is or equals `item`."""
    return bool_const(any(same_or_equal(s, candidate, item) for candidate in items))


def find(s: Services, items: Items, item: Value, start: Value | None, stop: Value | None, message: str) -> Value:
    """The first place of `item` between start and stop; ValueError where there is none."""
    bounds = slice(None if start is None else index(s, start), None if stop is None else index(s, stop)).indices(len(items))
    for place in range(bounds[0], bounds[1]):
        if same_or_equal(s, items[place], item):
            return Const(place)
    return s.raise_error(ValueError, message)


def count(s: Services, items: Iterable[Value], item: Value) -> Value:
    """How many items are or equal `item`."""
    return Const(sum(same_or_equal(s, candidate, item) for candidate in items))


def compare(s: Services, symbol: str, left: Items, right: Items) -> Value:
    """Lexicographic comparison, as CPython's list_richcompare does it."""
    if len(left) != len(right) and symbol in ("==", "!="):
        return bool_const(symbol == "!=")
    return compare_live(s, symbol, lambda: left, lambda: right)


def compare_live(s: Services, symbol: str, left: Callable[[], Items], right: Callable[[], Items]) -> Value:
    """The same of sequences that the comparison of their items may change."""
    place = 0
    while place < len(left()) and place < len(right()):
        if not same_or_equal(s, left()[place], right()[place]):
            break
        place += 1
    one, other = left(), right()
    if place >= len(one) or place >= len(other):
        return bool_const(COMPARISONS[symbol](len(one), len(other)))
    if symbol in ("==", "!="):
        return TRUE if symbol == "!=" else FALSE
    return s.compare(symbol, one[place], other[place])


def repeat(s: Services, items: Items, count: Value) -> Items | None:
    """`items * count`; None where `count` is not an integer."""
    found = times(s, count)
    return None if found is None else items * found.obj


def times(s: Services, count: Value) -> Const | None:
    """How often a sequence is repeated; None where `count` is not an integer."""
    count = s.force(count)
    if not issubclass(count.cls, int) and s.special(count, "__index__") is None:
        return None
    return Const(index(s, count))


def cannot_concatenate(s: Services, kind: str, other: Value) -> None:
    """Raise CPython's TypeError."""
    s.raise_error(TypeError, f'can only concatenate {kind} (not "{type_name(other.cls)}") to {kind}')


class Ordered:
    """A sort key that compares as the program compares."""

    __slots__ = ("s", "value")

    def __init__(self, s: Services, value: Value):
        self.s, self.value = s, value

    def __lt__(self, other: Ordered) -> bool:
        return self.s.truth(self.s.compare("<", self.value, other.value))


def ordered(s: Services, items: Sequence[Value], key: Value | None, reverse: bool) -> Items:
    """The items sorted by CPython's own algorithm: the same comparisons in the same order."""
    places = list(range(len(items)))
    sort(s, items, places, key, reverse)
    return tuple(items[place] for place in places)


def sort(s: Services, items: Sequence[Value], order: list[int], key: Value | None, reverse: bool) -> None:
    """Sort the places of the items; where a comparison raises, they are left as CPython leaves the items."""
    if key is not None and s.force(key).cls is type(None):
        key = None
    keys = list(items) if key is None else [s.call(key, [item]) for item in items]
    if all(is_plain(s, value, COMPARED) for value in keys):
        reals = [s.constant(value) for value in keys]
        try:
            order.sort(key=reals.__getitem__, reverse=reverse)
        except TypeError as error:
            s.raise_error(TypeError, *error.args)
    else:
        order.sort(key=lambda place: Ordered(s, keys[place]), reverse=reverse)
