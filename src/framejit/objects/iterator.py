"""Iterators of C types: virtual objects of their real class, advanced by tables, and rebuilt where one survives the region.

A row is `advance(s, ref)`: the next value, or None at the end.
"""

from __future__ import annotations

import functools
import sys
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

from framejit import _C
from framejit.core.errors import Raised
from framejit.core.heap import MISSING, Heap
from framejit.core.path import BINARY, CALLED, ITEM, LEN, Called
from framejit.core.services import Services
from framejit.core.value import NONE, TRUE, Const, Number, Pack, Ref, Value
from framejit.objects import dict_, list_, reach, set_, tuple_
from framejit.objects.dict_ import BACKWARD, FORWARD, OrderedIterator
from framejit.objects.exact import HEAP_TYPE, ExactModel
from framejit.objects.fold import constant
from framejit.objects.model import ByType, model
from framejit.objects.protocol import HINTED, next_or_none
from framejit.objects.rebuild import OUT_OF_STEP, REBUILDERS, Field, Rebuild
from framejit.reasons import R

Advance = Callable[[Services, Ref], "Value | None"]

ROWS: dict[type, Advance] = {}
OPENED = ("opened",)  # of an iterator that was there before the region: its other fields are known
BUILT_IN = (list, tuple, str, bytes, bytearray, range, set, frozenset, dict, deque)
OPENERS: list[Callable[[Services, Ref], None]] = []  # what reads such a one


class IteratorModel(ByType, ExactModel):
    """All C iterators."""

    __slots__ = ()

    def iter(self, s: Services, v: Value) -> Value:
        return v

    def advance(self, s: Services, v: Value) -> Value | None:
        """The next value, None at the end."""
        if not isinstance(v, Ref):
            return s.unsupported(R.UNKNOWN_ITERATOR, v)
        return ROWS[v.cls](s, v)

    def next(self, s: Services, v: Value) -> Value:
        found = self.advance(s, v)
        return s.raise_error(StopIteration) if found is None else found

    def hash_key(self, s: Services, v: Value) -> Any:
        return v


def iterator(kind: type, rebuild_: Rebuild) -> Callable[[Advance], Advance]:
    """Register the row of an iterator type."""

    def register(advance: Advance) -> Advance:
        model(kind)(IteratorModel)
        ROWS[kind] = advance
        REBUILDERS[kind] = rebuild_
        return advance

    return register


def field(s: Services, ref: Ref, name: str) -> Any:
    """A field of an iterator; None if it was never written or is empty again."""
    if ref.path is not None and s.heap.get(ref, OPENED) is None:
        OPENERS[0](s, ref)
    found = s.heap.get(ref, (name,))
    return None if found is MISSING else found


def put(s: Services, ref: Ref, name: str, value: Any) -> None:
    """Write a field of an iterator; None empties it."""
    if value is NONE and ref.path is not None and reach.ends(s, ref):
        s.unsupported(R.OPAQUE_OPERATION, ref, "a finalizer may run when its end is reached")
    s.heap.set(ref, (name,), MISSING if value is None else value)


def number(s: Services, ref: Ref, name: str) -> int:
    """A field that holds a Python int as a constant."""
    found: int = s.constant(field(s, ref, name))
    return found


# -- over sequences ---------------------------------------------------------------------------------------------------


def own(real: Any, name: str) -> Any:
    """What the built-in type of a container has under a name, called; the methods of subclasses are the program's."""
    return getattr(next((cls for cls in type(real).__mro__ if cls in BUILT_IN), type(real)), name)(real)


def _forward(real: Any) -> Any:
    return own(real, "__iter__") if isinstance(real, BUILT_IN) else iter(real)


def _backward(real: Any) -> Any:
    return own(real, "__reversed__") if isinstance(real, (list, deque)) else reversed(real)


class _Itself:
    """Hands an iterator on to C code, which so does not ask the program's own `__iter__` again."""

    __slots__ = ("iterator",)

    def __init__(self, iterator: Any):
        self.iterator = iterator

    def __iter__(self) -> Any:
        return self.iterator


def itself(source: Any) -> Any:
    """An iterator in a form that C code may make an iterator of."""
    return _Itself(source) if type(source).__flags__ & HEAP_TYPE else source


def at(real: Any, index: int) -> Any:
    """An iterator of `real` that stands at `index`."""
    found = _forward(real)
    found.__setstate__(index)
    return found


def reversed_at(real: Any, index: int) -> Any:
    """A reversed iterator of a list, or of a sequence by its protocol, whose next item is at `index`."""
    if isinstance(real, list):
        found: Any = _backward(real)
        found.__setstate__(index)
        return found
    found = reversed(())
    if index >= 0:
        _C.set_iterator_fields(found, (index, real))
    return found


def exhausted(make: Callable[[Any], Any], empty: Any) -> Any:
    """An iterator at its end that holds nothing any more."""
    found = make(empty)
    next(found, None)
    return found


def _exhausted_list() -> Any:
    return exhausted(iter, [])


def _exhausted_reversed() -> Any:
    return exhausted(reversed, [])


def _sequence_rebuild(finished: Any, function: Any = at) -> Rebuild:
    def rebuild_(get: Field) -> tuple[Any, list[Value]]:
        return (finished, []) if get("source") is NONE else (function, [get("source"), get("index")])

    return rebuild_


def _sequence_advance(read: Callable[[Services, Value], Any], keeps: bool = False) -> Advance:
    """`keeps`: also at the end it knows its sequence."""

    def advance(s: Services, ref: Ref) -> Value | None:
        source = field(s, ref, "source")
        if source is NONE:
            return None
        index = field(s, ref, "index")
        if isinstance(index, Number):
            return _at_any_place(s, ref, source, index, keeps)
        place = index.obj
        content = read(s, source)
        if place >= len(content):
            if not keeps:
                put(s, ref, "source", NONE)
            return None
        put(s, ref, "index", Const(place + 1))
        item = content[place]
        return item if isinstance(item, Value) else s.wrap(item)

    return advance


MOST_TURNS = 8  # items that a region takes of an iterator whose place changes from call to call


def _at_any_place(s: Services, ref: Ref, source: Any, index: Number, keeps: bool) -> Value | None:
    """The item at a place that is a number of the program, of a range or of a real list or tuple that is as it was."""
    turns = field(s, ref, "turns") or 0
    if turns == MOST_TURNS or isinstance(source, Ref) and (source.cls is not list or s.heap.is_written(source)):
        s.unsupported(R.UNKNOWN_ITERATOR, ref, "its place changes from call to call")
    length = s.wrap(len(source.obj)) if isinstance(source, Const) else _real_length(source)
    if not s.truth(s.compare("<", index, length)):
        if not keeps:
            put(s, ref, "source", NONE)
        return None
    put(s, ref, "turns", turns + 1)
    put(s, ref, "index", s.binary("+", index, Const(1)))
    if isinstance(source, Const):
        return s.binary("+", Const(source.obj.start), s.binary("*", index, Const(source.obj.step)))
    real = source.real[index.hint] if isinstance(source, Ref) else source.items[index.hint].real
    return s.input(source.path.to(BINARY, ("[]", index.path)), real)


def _real_length(source: Any) -> Value:
    if isinstance(source, Pack):
        return Const(len(source.items))
    return Number(int, source.path.to(LEN), len(source.real))


def _backwards_advance(read: Callable[[Services, Value], Any]) -> Advance:
    def advance(s: Services, ref: Ref) -> Value | None:
        source = field(s, ref, "source")
        place = number(s, ref, "index")
        if source is NONE:
            return None
        content = read(s, source)
        if not 0 <= place < len(content):
            put(s, ref, "source", NONE)
            return None
        put(s, ref, "index", Const(place - 1))
        return content[place]

    return advance


def _list_items(s: Services, v: Value) -> tuple[Value, ...]:
    return list_.items(s, v)


ListIterator: type = type(iter([]))
TupleIterator: type = type(iter(()))
ListReverseIterator: type = type(reversed([]))
iterator(ListIterator, _sequence_rebuild(_exhausted_list))(_sequence_advance(_list_items))
iterator(TupleIterator, _sequence_rebuild(functools.partial(exhausted, iter, ())))(_sequence_advance(tuple_.items))
iterator(ListReverseIterator, _sequence_rebuild(_exhausted_reversed, reversed_at))(_backwards_advance(_list_items))


def over_sequence(empty: Any, read: Callable[[Services, Value], Any], keeps: bool = False) -> None:
    """Register the iterators of a type, of which this is an empty one: they go by index through what `read` gives."""
    iterator(type(iter(empty)), _sequence_rebuild(functools.partial(exhausted, iter, empty)))(_sequence_advance(read, keeps))


for _sample in ("", "é", b"", range(0), range(1 << 70, 1 << 71)):
    if type(iter(_sample)) not in ROWS:
        over_sequence(_sample[:0] if type(iter(_sample[:0])) is type(iter(_sample)) else _sample, constant, isinstance(_sample, range))


class _Sequence:
    def __getitem__(self, index: int) -> int:
        raise IndexError


SequenceIterator = type(iter(_Sequence()))
HINTED.update({SequenceIterator, reversed})


@iterator(SequenceIterator, lambda get: (at, [get("sequence"), get("index")]))
def _by_getitem(s: Services, ref: Ref) -> Value | None:
    source = field(s, ref, "sequence")
    if source is NONE:
        return None
    place = number(s, ref, "index")
    if place == sys.maxsize:
        s.raise_error(OverflowError, "iter index too large")
    found = quietly(s, lambda: s.getitem(source, Const(place)), (IndexError, StopIteration))
    put(s, ref, "index", Const(place + 1)) if found is not None else put(s, ref, "sequence", NONE)
    return found


def quietly(s: Services, action: Callable[[], Value], kinds: tuple[type[BaseException], ...]) -> Value | None:
    """What the action gives; None if the program raised one of these exceptions in it."""
    try:
        return action()
    except Raised as raised:
        if not issubclass(s.exception_type(raised.value), kinds):
            raise
        return None


@iterator(reversed, lambda get: (reversed_at, [get("source"), get("index")]))
def _reversed(s: Services, ref: Ref) -> Value | None:
    place = number(s, ref, "index")
    if place < 0:
        return None
    found = quietly(s, lambda: s.getitem(field(s, ref, "source"), Const(place)), (IndexError, StopIteration))
    put(s, ref, "index", Const(place - 1 if found is not None else -1))
    return found


CallableIterator = type(iter(int, 0))


def _until_rebuild(get: Field) -> tuple[Any, list[Value]]:
    if get("function") is NONE:
        return (functools.partial(exhausted, _called_until), [Const(0)])
    return (iter, [get("function"), get("sentinel")])


def _called_until(sentinel: Any) -> Any:
    return iter(int, sentinel)


@iterator(CallableIterator, _until_rebuild)
def _until(s: Services, ref: Ref) -> Value | None:
    function = field(s, ref, "function")
    if function is NONE:
        return None
    found = quietly(s, lambda: s.call(function), (StopIteration,))
    if field(s, ref, "function") is NONE:  # the call came to the end of this iterator
        return None
    if found is None or s.truth(s.compare("==", found, field(s, ref, "sentinel"))):
        put(s, ref, "function", NONE)
        return None
    return found


# -- over dicts, sets, deques ------------------------------------------------------------------------------------------


def advanced(real: Any, steps: int) -> Any:
    """An iterator of `real` after some steps."""
    found = _forward(real)
    for _ in range(steps):
        next(found)
    return found


def _dict_iterator(real: Any, what: str, steps: int) -> Any:
    return advanced(getattr(dict, what)({} if real is None else real), steps)


def _dict_reversed(real: Any, what: str, steps: int) -> Any:
    return advanced(reversed(getattr(dict, what)({} if real is None else real)), steps)


def _check_size(s: Services, ref: Ref, present: Any, before: Any, text: str) -> None:
    """A changed container: RuntimeError if its size differs, else the order must be what it was.

    A real iterator takes its steps before the container changes, so it must not have seen any of that.
    """
    if ref.path is not None and list(present) != list(before):
        s.unsupported(R.UNKNOWN_ITERATOR, ref, "a container that changes while it is iterated")
    if len(present) != len(before):
        put(s, ref, "index", Const(-1))
        s.raise_error(RuntimeError, text)
    if list(present) != list(before):
        if text.startswith("OrderedDict"):
            s.raise_error(RuntimeError, text)
        s.unsupported(R.UNKNOWN_ITERATOR, ref, "other keys while iterating")
    put(s, ref, "seen", present)


def _follow(s: Services, ref: Ref, source: Ref, entries: dict[Any, Any]) -> None:
    """Note what the iterator will meet in a dict that changed, but not its size: entries that came back stand at the end."""
    known = field(s, ref, "removals") or 0
    removed = dict_.removals(s, source)
    put(s, ref, "removals", len(removed))
    put(s, ref, "seen", entries)
    names, place = list(entries), number(s, ref, "index")
    gone = set(removed[known:])
    order = field(s, ref, "order")
    if not gone or order is None:
        return
    if len(removed) + len(names) > SMALLEST_TABLE:
        s.unsupported(R.UNKNOWN_ITERATOR, ref, "a dict that may be laid out anew while it is iterated")
    met = [name for name in order[:place] if name not in gone]
    put(s, ref, "order", (*order[:place], *names[len(met) :]))


SMALLEST_TABLE = 5  # entries of the smallest dict


def _dict_advance(backward: bool | None) -> Advance:
    def advance(s: Services, ref: Ref) -> Value | None:
        backwards = field(s, ref, "backwards").obj if backward is None else backward
        source, place = field(s, ref, "source"), number(s, ref, "index")
        if source is NONE:
            return None
        entries, seen = dict_.full(s, source), field(s, ref, "seen")
        if place < 0:
            s.raise_error(RuntimeError, "dictionary changed size during iteration")
        if place >= len(seen) and issubclass(source.cls, OrderedDict):
            return None  # it looks ahead, and does not notice what happens behind the last key
        if entries is not seen:
            changed = "OrderedDict mutated" if issubclass(source.cls, OrderedDict) else "dictionary changed size"
            if ref.path is not None or len(entries) != len(seen) or backwards or issubclass(source.cls, OrderedDict):
                _check_size(s, ref, entries, seen, f"{changed} during iteration")
            else:
                _follow(s, ref, source, entries)
        order = field(s, ref, "order")
        if place >= len(entries):
            put(s, ref, "source", NONE)
            if order is not None and len(order) > place:
                s.raise_error(RuntimeError, "dictionary keys changed during iteration")
            return None
        if order is None:
            put(s, ref, "removals", len(dict_.removals(s, source)))
            order = tuple(entries)[::-1] if backwards else tuple(entries)
            put(s, ref, "order", order)
        put(s, ref, "index", Const(place + 1))
        key, value = entries[order[place]]
        what = field(s, ref, "what").obj
        return key if what == "keys" else value if what == "values" else Pack(tuple, (key, value))

    return advance


def _dict_rebuild(function: Any) -> Rebuild:
    def rebuild_(get: Field) -> tuple[Any, list[Value]]:
        if get("source") is NONE:
            return (function, [NONE, get("what"), Const(0)])
        return (function, [get("source"), get("what"), get("index")])

    return rebuild_


for _kind in FORWARD.values():
    iterator(_kind, _dict_rebuild(_dict_iterator))(_dict_advance(False))
for _kind in BACKWARD.values():
    iterator(_kind, _dict_rebuild(_dict_reversed))(_dict_advance(True))


def ordered(real: Any, what: str, backwards: bool) -> Any:
    """An iterator over an OrderedDict."""
    view = getattr(OrderedDict, what)(real)
    return reversed(view) if backwards else iter(view)


def _ordered(real: Any, what: str, backwards: bool, steps: int) -> Any:
    return advanced(ordered(real, what, backwards), steps)


@iterator(OrderedIterator, lambda get: (_ordered, [get("source"), get("what"), get("backwards"), get("index")]))
def _ordered_next(s: Services, ref: Ref) -> Value | None:
    return _dict_advance(None)(s, ref)


def _is_out_of_step(heap: Heap, ref: Ref) -> bool:
    """Whether an iterator has not seen yet what became of its dict or set, or has met entries that are gone."""
    source, seen, order = (heap.get(ref, (name,)) for name in ("source", "seen", "order"))
    if not isinstance(source, Ref) or seen is None:
        return False
    present = list(heap.get(source, Heap.ITEMS) or ())
    if heap.get(ref, ("index",)).obj < 0 or present != list(seen):
        return True
    if ref.cls in BACKWARD.values() or heap.get(ref, ("backwards",)) is TRUE:
        present.reverse()
    return issubclass(source.cls, dict) and order is not None and list(order) != present


OUT_OF_STEP.update(dict.fromkeys((*FORWARD.values(), *BACKWARD.values(), OrderedIterator, type(iter(set()))), _is_out_of_step))


def _set_rebuild(get: Field) -> tuple[Any, list[Value]]:
    if get("source") is NONE:
        return functools.partial(exhausted, iter, frozenset()), []
    return advanced, [get("source"), get("index")]


@iterator(type(iter(set())), _set_rebuild)
def _set_next(s: Services, ref: Ref) -> Value | None:
    source, place = field(s, ref, "source"), number(s, ref, "index")
    order = field(s, ref, "order")
    if source is NONE:
        return None
    if place < 0 or (isinstance(source, Ref) and (entries := set_.members(s, source)) is not field(s, ref, "seen")):
        if ref.path is not None:
            s.unsupported(R.UNKNOWN_ITERATOR, ref, "a container that changes while it is iterated")
        if place < 0 or len(entries) != len(order):
            put(s, ref, "index", Const(-1))
            s.raise_error(RuntimeError, "Set changed size during iteration")
        if list(entries) != list(field(s, ref, "seen")):
            s.unsupported(R.UNKNOWN_ITERATOR, ref, "other members while iterating")
        put(s, ref, "seen", entries)
    if place >= len(order):
        put(s, ref, "source", NONE)
        return None
    put(s, ref, "index", Const(place + 1))
    return order[place]


STATE = ("state",)  # of a deque: another constant after each change of its length or order


def deque_content(s: Services, v: Value) -> tuple[Value, ...]:
    """The items of a deque; a real one is read, and its length guarded, at the first need."""
    assert isinstance(v, Ref)
    found = s.heap.get(v, Heap.ITEMS)
    if found is None and v.path is not None:
        real = tuple(deque.__iter__(v.real))
        content = v.path.to(CALLED, Called(contents, (), f"tuple({v.path})"))
        if s.is_dynamic(content.to(LEN), len(real)):  # type: ignore[attr-defined]
            s.unsupported(R.OPAQUE_OPERATION, v, "its length changes from call to call")
        s.guard(content, "LEN", len(real))
        found = s.heap.load(v, Heap.ITEMS, tuple(s.input(content.to(ITEM, i), item) for i, item in enumerate(real)))
    return found or ()


def contents(real: Any) -> tuple[Any, ...]:
    """The items of a real deque."""
    return tuple(deque.__iter__(real))


def _deque_advance(backwards: bool) -> Advance:
    def advance(s: Services, ref: Ref) -> Value | None:
        source, place = field(s, ref, "source"), number(s, ref, "index")
        content = deque_content(s, source)
        if s.heap.get(source, STATE) is not field(s, ref, "seen"):
            put(s, ref, "index", Const(1 << 62))
            s.raise_error(RuntimeError, "deque mutated during iteration")
        if place >= len(content):
            return None
        put(s, ref, "index", Const(place + 1))
        return content[-1 - place] if backwards else content[place]

    return advance


def _reversed_advanced(real: Any, steps: int) -> Any:
    return advanced(_backward(real), steps)


_DEQUE: deque[Any] = deque()
def _is_deque_out_of_step(heap: Heap, ref: Ref) -> bool:
    return bool(heap.get(heap.get(ref, ("source",)), STATE) is not heap.get(ref, ("seen",)))


DequeIterator, DequeReverseIterator = type(iter(_DEQUE)), type(reversed(_DEQUE))
iterator(DequeIterator, lambda get: (advanced, [get("source"), get("index")]))(_deque_advance(False))
iterator(DequeReverseIterator, lambda get: (_reversed_advanced, [get("source"), get("index")]))(_deque_advance(True))
OUT_OF_STEP.update({DequeIterator: _is_deque_out_of_step, DequeReverseIterator: _is_deque_out_of_step})


# -- enumerate, zip, map, filter ----------------------------------------------------------------------------------------


def make_enumerate(source: Any, index: int) -> Any:
    """An enumerate whose next index is this."""
    return enumerate(itself(source), index)


@iterator(enumerate, lambda get: (make_enumerate, [get("source"), get("index")]))
def _enumerate(s: Services, ref: Ref) -> Value | None:
    item = next_or_none(s, field(s, ref, "source"))
    if item is None:
        return None
    place = field(s, ref, "index")
    put(s, ref, "index", s.binary("+", place, Const(1)))
    return Pack(tuple, (place, item))


def make_zip(strict: bool, *sources: Any) -> Any:
    """A zip of iterators."""
    return zip(*(itself(source) for source in sources), strict=strict)


@iterator(zip, lambda get: (make_zip, [get("strict"), *get("sources").items]))
def _zip(s: Services, ref: Ref) -> Value | None:
    sources = field(s, ref, "sources").items
    strict = field(s, ref, "strict").obj
    items: list[Value] = []
    for place, source in enumerate(sources):
        item = next_or_none(s, source)
        if item is None:
            if strict:
                _check_strict(s, sources, place)
            return None
        items.append(item)
    return Pack(tuple, tuple(items)) if sources else None


def _check_strict(s: Services, sources: tuple[Value, ...], place: int) -> None:
    many = "argument 1" if place == 1 else f"arguments 1-{place}"
    if place:
        s.raise_error(ValueError, f"zip() argument {place + 1} is shorter than {many}")
    for later in range(1, len(sources)):
        if next_or_none(s, sources[later]) is not None:
            many = "argument 1" if later == 1 else f"arguments 1-{later}"
            s.raise_error(ValueError, f"zip() argument {later + 1} is longer than {many}")


def make_map(function: Any, *sources: Any) -> Any:
    """A map over iterators."""
    return map(function, *(itself(source) for source in sources))


@iterator(map, lambda get: (make_map, [get("function"), *get("sources").items]))
def _map(s: Services, ref: Ref) -> Value | None:
    items: list[Value] = []
    for source in field(s, ref, "sources").items:
        item = next_or_none(s, source)
        if item is None:
            return None
        items.append(item)
    return s.call(field(s, ref, "function"), items)


def make_filter(function: Any, source: Any) -> Any:
    """A filter over an iterator."""
    return filter(function, itself(source))


@iterator(filter, lambda get: (make_filter, [get("function"), get("source")]))
def _filter(s: Services, ref: Ref) -> Value | None:
    function, source = field(s, ref, "function"), field(s, ref, "source")
    plain = s.force(function)
    by_truth = isinstance(plain, Const) and plain.obj in (None, bool)
    while (item := next_or_none(s, source)) is not None:
        if s.truth(item if by_truth else s.call(function, [item])):
            return item
    return None


__all__ = [
    "BACKWARD", "FORWARD", "OPENED", "OPENERS", "ROWS", "CallableIterator", "OrderedIterator", "advanced", "field", "iterator", "ordered",
    "put",
]  # fmt: skip
