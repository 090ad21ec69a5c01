"""Iterators that were there before the region: read in parts when they are first asked, and advanced behind it.

A row says what is read of one (`parts`, a function of the real iterator that changes nothing), how the fields of its virtual
twin follow from that (`load`), and what brings the real one to where the twin stands in the end (`advance`).
"""

from __future__ import annotations

import gc
import itertools
import operator
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from framejit import _C
from framejit.config import config
from framejit.core.path import CALLED, ITEM, Called, Path
from framejit.core.services import Services
from framejit.core.value import FALSE, NONE, Const, Number, Pack, Ref, Value
from framejit.objects import dict_, iterator, reach, set_
from framejit.objects.members import each
from framejit.objects.rebuild import ADVANCERS, Field
from framejit.reasons import R

Parts = Callable[[Any], "tuple[Any, ...] | None"]
Advance = Callable[[Field, Field], "tuple[Any, list[Value]] | None"]
Fields = dict[Any, Any]


class Given(NamedTuple):
    """What is known of one type of iterators."""

    parts: Parts
    load: Callable[[Reader], Fields]
    advance: Advance | None


class Reader:
    """The parts of one real iterator, and where the program finds them."""

    __slots__ = ("s", "ref", "path", "parts")

    def __init__(self, s: Services, ref: Ref, path: Path, parts: tuple[Any, ...]):
        self.s, self.ref, self.path, self.parts = s, ref, path, parts

    def value(self, place: int) -> Value:
        """The object in this place; None in its place is NONE itself."""
        return self.at(self.path.to(ITEM, place), self.parts[place])

    def at(self, path: Path, real: Any) -> Value:
        """The object found at a path."""
        if real is None:
            self.s.guard(path, "IS", None)
            return NONE
        return self.s.input(path, real)

    def values(self, place: int) -> Value:
        """The tuple in this place, item by item."""
        path, items = self.path.to(ITEM, place), self.parts[place]
        self.s.guard(path, "LEN", len(items))
        return Pack(tuple, tuple(self.at(path.to(ITEM, i), item) for i, item in enumerate(items)))

    def constant(self, place: int) -> Const:
        """A number, None, or a tuple of them; unsupported where it was seen to change between captures."""
        found = self.number(place, False)
        assert isinstance(found, Const)
        return found

    def number(self, place: int, may_change: bool) -> Value:
        """The same, or a number of the program where it was seen to change."""
        s, path, found = self.s, self.path.to(ITEM, place), self.parts[place]
        if type(found) is int and s.is_dynamic(path, found):  # type: ignore[attr-defined]
            if not may_change:
                s.unsupported(R.UNKNOWN_ITERATOR, self.ref, "its place changes from call to call")
            s.guard(path, "TYPE", int)
            return Number(int, path, found)
        s.guard(path, "EQ", found)
        return Const(found)

    def counted(self, place: int) -> Value:
        """A number that changes from call to call: one of the program from the start, unless each call may bring another object."""
        s, path = self.s, self.path.to(ITEM, place)
        assert self.ref.path is not None
        if reach.in_frame(self.ref.path) or config.specialize_int or ("static", str(path)) in s.decisions:  # type: ignore[attr-defined]
            return self.value(place)
        s.guard(path, "TYPE", int)
        return Number(int, path, self.parts[place])

    def of_sequence(self, name: str, may_change: Callable[[Value], bool]) -> Fields:
        """What an iterator goes through by index, under this name, and the index."""
        source = self.s.force(self.value(0))
        return {name: source, "index": Const(0) if source is NONE else self.number(1, may_change(source))}


GIVEN: dict[type, Given] = {}


def given(kind: type, parts: Parts, advance: Advance | None = None) -> Callable[[Callable[[Reader], Fields]], None]:
    """Register the row of a type."""

    def register(load: Callable[[Reader], Fields]) -> None:
        GIVEN[kind] = Given(parts, load, advance)
        if advance is not None:
            ADVANCERS[kind] = advance

    return register


def open_(s: Services, ref: Ref) -> None:
    """Read the state of a real iterator."""
    row = GIVEN.get(ref.cls)
    parts = None if row is None else row.parts(ref.real)
    if row is None or parts is None:
        s.unsupported(R.UNKNOWN_ITERATOR, ref)
    assert ref.path is not None
    path = ref.path.to(CALLED, Called(row.parts, (), f"parts({ref.path})"))
    s.guard(path, "TYPE", tuple)
    fields = row.load(Reader(s, ref, path, parts))
    s.heap.load(ref, iterator.OPENED, True)
    for name, value in fields.items():
        if value is not None:
            s.heap.load(ref, (name,), value)


iterator.OPENERS.append(open_)


def moved(before: Field, now: Field, *names: str) -> bool:
    """Whether one of these fields has changed."""
    return any(before(name) is not now(name) for name in names)


# -- over sequences ---------------------------------------------------------------------------------------------------


def _sequence_parts(real: Any) -> tuple[Any, ...]:
    """The sequence, None at the end, and the index."""
    reduced = real.__reduce__()
    return (reduced[1][0], reduced[2]) if len(reduced) == 3 else (None, 0)


def _set_place(name: str) -> Advance:
    def advance(before: Field, now: Field) -> tuple[Any, list[Value]] | None:
        if not moved(before, now, name, "index"):
            return None
        return _C.set_place, [now("index"), Const(now(name) is NONE)]

    return advance


def _sequence(kind: Any, name: str = "source") -> None:
    @given(kind, _sequence_parts, _set_place(name))
    def load(reader: Reader) -> Fields:
        return reader.of_sequence(name, _has_places)


def _has_places(source: Value) -> bool:
    """Whether items can be found in a real list or tuple at a place that is a number of the program."""
    return getattr(source, "path", None) is not None and (isinstance(source, Ref) and source.cls is list or isinstance(source, Pack))


_sample: Any
for _sample in ([], (), "", "Ā", b""):
    _sequence(type(iter(_sample)))
_sequence(iterator.SequenceIterator, "sequence")
_sequence(iterator.ListReverseIterator)


def _reversed_parts(real: Any) -> tuple[Any, ...]:
    reduced = real.__reduce__()
    return (reduced[1][0], reduced[2]) if len(reduced) == 3 else ((), -1)


def _set_reversed(before: Field, now: Field) -> tuple[Any, list[Value]] | None:
    return (_C.set_place, [now("index"), Const(now("index").obj < 0)]) if moved(before, now, "index") else None


@given(reversed, _reversed_parts, _set_reversed)
def _(reader: Reader) -> Fields:
    return reader.of_sequence("source", lambda _: False)


def _range_parts(real: Any) -> tuple[Any, ...]:
    _, (numbers,), *index = real.__reduce__()
    return (numbers.start, numbers.stop, numbers.step), (index[0] if index else None) or 0


def go_to(real: Any, place: int) -> None:
    """Advance an iterator over a range."""
    deque(itertools.islice(real, place - _range_parts(real)[1]), 0)


for _range in (range(0), range(1 << 70, 1 << 71)):

    @given(type(iter(_range)), _range_parts, lambda before, now: (go_to, [now("index")]) if moved(before, now, "index") else None)
    def _(reader: Reader) -> Fields:
        numbers = reader.constant(0).obj
        return {"source": Const(range(*numbers)), "index": reader.number(1, True)}


def _until_parts(real: Any) -> tuple[Any, ...]:
    args = real.__reduce__()[1]
    return args if len(args) == 2 else (None, None)


@given(iterator.CallableIterator, _until_parts, lambda before, now: (_C.end_until, []) if moved(before, now, "function") else None)
def _(reader: Reader) -> Fields:
    return {"function": reader.value(0), "sentinel": reader.value(1)}


# -- over dicts and sets ----------------------------------------------------------------------------------------------


def step(real: Any, steps: int, ended: bool) -> None:
    """Advance an iterator that runs no Python code, and let it find its end."""
    deque(itertools.islice(real, steps), 0)
    if ended:
        next(real, None)


def _taken(before: Field, now: Field) -> Const:
    return Const(now("index").obj - before("index").obj)


def _steps(before: Field, now: Field) -> tuple[Any, list[Value]] | None:
    if not moved(before, now, "source", "index"):
        return None
    return step, [_taken(before, now), Const(now("source") is NONE)]


def _dict_parts(kind: type) -> Parts:
    backwards = kind in iterator.BACKWARD.values()
    what = next(name for table in (iterator.FORWARD, iterator.BACKWARD) for name, one in table.items() if one is kind)
    of: Callable[[Any], Any] = {"keys": dict.keys, "values": dict.values, "items": dict.items}[what]

    def parts(real: Any) -> tuple[Any, ...] | None:
        """The dict, None at the end, and how many items were taken; None where the dict has changed since."""
        source = next(iter(gc.get_referents(real)), None)
        if not isinstance(source, dict):
            return None, 0
        left = _left(real)
        entries = list(reversed(of(source)) if backwards else of(source))
        if left is None or len(left) > len(entries) or not _same_items(left, entries[len(entries) - len(left) :], what == "items"):
            return None
        return source, len(entries) - len(left)

    return parts


def _left(real: Any) -> list[Any] | None:
    """What is still to come; None where the container has changed in size."""
    try:
        left: list[Any] = real.__reduce__()[1][0]
    except RuntimeError:
        return None
    return left if operator.length_hint(real) == len(left) else None


def _same_items(some: list[Any], other: list[Any], pairs: bool) -> bool:
    if pairs:
        return all(a is c and b is d for (a, b), (c, d) in zip(some, other))
    return all(a is b for a, b in zip(some, other))


for _what, _kind in (*iterator.FORWARD.items(), *iterator.BACKWARD.items()):

    @given(_kind, _dict_parts(_kind), _steps)
    def _(reader: Reader, what: str = _what) -> Fields:
        s, source = reader.s, reader.s.force(reader.value(0))
        if source is NONE:
            return {"source": source, "index": Const(0), "what": Const(what)}
        assert isinstance(source, Ref)
        _as_before(reader, source)
        place = reader.constant(1)
        fields: Fields = {"source": source, "index": place, "what": Const(what)}
        entries = dict_.full(s, source)
        if place.obj > 0:  # it has noted the order at its first step
            order = tuple(entries)[::-1] if reader.ref.cls in iterator.BACKWARD.values() else tuple(entries)
            fields |= {"order": order, "removals": len(dict_.removals(s, source))}
        return {**fields, "seen": entries}


def _as_before(reader: Reader, source: Value) -> None:
    """The iterator has not seen what the region did to its container before it was first asked."""
    if isinstance(source, Ref) and reader.s.heap.is_written(source):
        reader.s.unsupported(R.UNKNOWN_ITERATOR, reader.ref, "a container that changes while it is iterated")


def _set_parts(real: Any) -> tuple[Any, ...] | None:
    source = next(iter(gc.get_referents(real)), None)
    if not isinstance(source, (set, frozenset)):
        return None, 0
    left, entries = _left(real), list(each(source))
    if left is None or not _same_items(left, entries[len(entries) - len(left) :], False):
        return None
    return source, len(entries) - len(left)


@given(type(iter(set())), _set_parts, _steps)
def _(reader: Reader) -> Fields:
    s, source = reader.s, reader.s.force(reader.value(0))
    if source is NONE:
        return {"source": source, "index": Const(0)}
    _as_before(reader, source)
    place = reader.constant(1)
    entries = set_.members(s, source)
    return {"source": source, "index": place, "order": set_.real_order(s, source, entries), "seen": entries}


# -- enumerate, zip, map, filter --------------------------------------------------------------------------------------


def arguments(real: Any) -> tuple[Any, ...]:
    found: tuple[Any, ...] = real.__reduce__()[1]
    return found


def _enumerate_parts(real: Any) -> tuple[Any, ...] | None:
    source, index = real.__reduce__()[1]
    return (source, index) if index < 1 << 62 else None


@given(enumerate, _enumerate_parts,
       lambda before, now: (_C.set_place, [now("index"), FALSE]) if moved(before, now, "index") else None)  # fmt: skip
def _(reader: Reader) -> Fields:
    return {"source": reader.value(0), "index": reader.value(1)}


@given(zip, lambda real: (real.__reduce__()[1], len(real.__reduce__()) == 3))
def _(reader: Reader) -> Fields:
    return {"sources": reader.values(0), "strict": reader.constant(1)}


@given(map, lambda real: (real.__reduce__()[1][0], real.__reduce__()[1][1:]))
def _(reader: Reader) -> Fields:
    return {"function": reader.value(0), "sources": reader.values(1)}


def function_and_source(reader: Reader, function: int = 0, source: int = 1) -> Fields:
    """Both, from these places."""
    return {"function": reader.value(function), "source": reader.value(source)}


given(filter, arguments)(function_and_source)


# -- over deques and OrderedDicts -------------------------------------------------------------------------------------


def _deque_parts(real: Any) -> tuple[Any, ...] | None:
    """The deque and how many items were taken; None where it has changed since."""
    _, _, source, state, left = _C.iterator_fields(real)
    return (source, deque.__len__(source) - left) if state == _C.iterator_fields(source)[-1] else None


def _steps_on(before: Field, now: Field) -> tuple[Any, list[Value]] | None:
    return (step, [_taken(before, now), FALSE]) if moved(before, now, "index") else None


for _kind in (iterator.DequeIterator, iterator.DequeReverseIterator):

    @given(_kind, _deque_parts, _steps_on)
    def _(reader: Reader) -> Fields:
        source = reader.s.force(reader.value(0))
        assert isinstance(source, Ref)
        _as_before(reader, source)
        return {"source": source, "index": reader.constant(1), "seen": reader.s.heap.get(source, iterator.STATE)}


def _ordered_parts(real: Any) -> tuple[Any, ...] | None:
    """The dict, None at the end; how many items were taken, of what kind, and whether backwards. None where the dict has changed."""
    kind, source, _, _, following, _ = _C.iterator_fields(real)
    what = "items" if kind & 6 == 6 else "keys" if kind & 2 else "values"
    if source is _C.MISSING:
        return None, 0, what, bool(kind & 1)
    try:
        left = real.__reduce__()[1][0]
    except RuntimeError:
        return None
    entries = list(iterator.ordered(source, what, kind & 1))
    as_before = bool(left) is not (following is _C.MISSING) and _same_items(left, entries[len(entries) - len(left) :], what == "items")
    return (source, len(entries) - len(left), what, bool(kind & 1)) if as_before else None


@given(iterator.OrderedIterator, _ordered_parts, _steps_on)
def _(reader: Reader) -> Fields:
    s, source = reader.s, reader.s.force(reader.value(0))
    _as_before(reader, source)
    place, what, backwards = reader.constant(1), reader.constant(2), reader.constant(3)
    if source is NONE:
        return {"source": source, "index": place, "what": what, "backwards": backwards}
    assert isinstance(source, Ref)
    entries = dict_.full(s, source)
    order = {} if place.obj == 0 else {"order": tuple(entries)[::-1] if backwards.obj else tuple(entries)}
    return {"source": source, "index": place, "what": what, "backwards": backwards, "seen": entries, **order}


__all__ = ["Advance", "Fields", "Given", "Parts", "Reader", "arguments", "function_and_source", "given", "moved", "open_", "step"]
