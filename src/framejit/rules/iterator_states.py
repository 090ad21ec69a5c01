"""`__reduce__` and `__setstate__` of iterators in C, which pickles and copies ask for."""

from __future__ import annotations

import types
from collections.abc import Callable
from itertools import count
from typing import Any

from framejit.core.services import Services
from framejit.core.value import NONE, TRUE, Const, Pack, Ref, Value, bool_const
from framejit.objects import given, given_itertools, iterator
from framejit.objects.iterator import field, put
from framejit.objects.protocol import next_or_none
from framejit.reasons import R
from framejit.rules.registry import HANDLERS, handler, pure

assert given and given_itertools  # imported for its rows
Reduce = Callable[[Services, Ref], "Value | None"]

# range and slice hold constants, the others are named by what they give.
pure((range.__reduce__, slice.__reduce__, type(Ellipsis).__reduce__, type(NotImplemented).__reduce__))


def _tuple(*items: Value) -> Value:
    return Pack(tuple, items)


def _reduced(kind: Any, reduce: Reduce) -> None:
    target = kind.__reduce__

    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        v = s.force(args[0])
        found = reduce(s, v) if len(args) == 1 and not kwargs and isinstance(v, Ref) else None
        return s.unsupported(R.OPAQUE_CALL, target) if found is None else found

    HANDLERS.setdefault(target, call)


def _set(kind: Any, first: int, name: str = "source") -> None:
    """`__setstate__` of an iterator over a sequence: the index is kept between `first` and the length (less one, backwards)."""
    target = kind.__setstate__

    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        v = s.force(args[0])
        if len(args) != 2 or kwargs or not isinstance(v, Ref):
            return s.unsupported(R.OPAQUE_CALL, target)
        place, source = s.constant(args[1]), field(s, v, name)
        if type(place) is not int:
            return s.unsupported(R.OPAQUE_CALL, target, "arguments")
        if source is not NONE:
            last = place if name == "sequence" else s.constant(s.len(source)) + first
            put(s, v, "index", Const(max(first, min(place, last))))
        return NONE

    HANDLERS.setdefault(target, call)


def _of_sequence(empty: Any, function: Any = iter) -> Reduce:
    def reduce(s: Services, ref: Ref) -> Value | None:
        source = field(s, ref, "source")
        if source is NONE:
            return None if empty is None else _tuple(Const(iter), _tuple(s.wrap(empty)))
        return _tuple(Const(function), _tuple(source), field(s, ref, "index"))

    return reduce


def iter_of_nothing(sample: Any) -> Any:
    """What an iterator at its end is made again of."""
    found = iter(sample[:0])
    next(found, None)
    return found.__reduce__()[1][0]


_sample: Any
for _sample in ([], (), "", "é", b""):
    _reduced(type(iter(_sample)), _of_sequence(iter_of_nothing(_sample)))
    _set(type(iter(_sample)), 0)
for _range in (range(0), range(1 << 70, 1 << 71)):
    _reduced(type(iter(_range)), _of_sequence(None))
    _set(type(iter(_range)), 0)
_reduced(iterator.ListReverseIterator, _of_sequence([], reversed))
_set(iterator.ListReverseIterator, -1)


def _remaining(s: Services, ref: Ref) -> Value | None:
    """What is still to come, without going there: as a list."""
    place = field(s, ref, "index")
    if place is None or place.obj < 0:
        return None
    twin = s.heap.new(ref.cls, dict(s.heap.fields_of(ref)))
    items = []
    while (item := next_or_none(s, twin)) is not None:
        items.append(item)
    return _tuple(Const(iter), _tuple(s.heap.new(list, {s.heap.ITEMS: tuple(items)})))


for _kind in (*iterator.FORWARD.values(), *iterator.BACKWARD.values(), iterator.OrderedIterator, type(iter(set()))):
    _reduced(_kind, _remaining)


def _until(s: Services, ref: Ref) -> Value | None:
    function = field(s, ref, "function")
    if function is NONE:
        return _tuple(Const(iter), _tuple(Const(())))
    return _tuple(Const(iter), _tuple(function, field(s, ref, "sentinel")))


def _by_getitem(s: Services, ref: Ref) -> Value | None:
    source = field(s, ref, "sequence")
    if source is NONE:
        return _tuple(Const(iter), _tuple(Const(())))
    return _tuple(Const(iter), _tuple(source), field(s, ref, "index"))


def _enumerate(s: Services, ref: Ref) -> Value | None:
    return _tuple(Const(enumerate), _tuple(field(s, ref, "source"), field(s, ref, "index")))


def _zip(s: Services, ref: Ref) -> Value | None:
    parts = Const(zip), field(s, ref, "sources")
    return _tuple(*parts, TRUE) if field(s, ref, "strict").obj else _tuple(*parts)


@handler(zip.__setstate__)  # type: ignore[attr-defined]
def zip_setstate(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Whether it is a strict one."""
    v = s.force(args[0])
    if len(args) != 2 or kwargs or not isinstance(v, Ref) or not v.virtual:
        return s.unsupported(R.OPAQUE_CALL, zip)
    put(s, v, "strict", bool_const(s.truth(args[1])))
    return NONE


def _map(s: Services, ref: Ref) -> Value | None:
    return _tuple(Const(map), _tuple(field(s, ref, "function"), *field(s, ref, "sources").items))


def _filter(s: Services, ref: Ref) -> Value | None:
    return _tuple(Const(filter), _tuple(field(s, ref, "function"), field(s, ref, "source")))


def _count(s: Services, ref: Ref) -> Value | None:
    value, step = s.force(field(s, ref, "value")), s.force(field(s, ref, "step"))
    if not all(isinstance(part, Const) and type(part.obj) is int for part in (value, step)):
        return None
    return _tuple(Const(count), _tuple(value) if step.obj == 1 else _tuple(value, step))  # type: ignore[attr-defined]


@handler(types.BuiltinFunctionType.__reduce__)
def function_reduce(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A function of a module is its name; a method is found in its object again."""
    v = s.force(args[0])
    if len(args) != 1 or kwargs:
        return s.unsupported(R.OPAQUE_CALL, types.BuiltinFunctionType.__reduce__)
    owner = s.force(s.getattr(v, "__self__"))
    name = s.getattr(v, "__name__")
    return name if owner.cls in (types.ModuleType, types.NoneType) else _tuple(Const(getattr), _tuple(owner, name))


_reduced(iterator.CallableIterator, _until)
_reduced(iterator.SequenceIterator, _by_getitem)
_set(iterator.SequenceIterator, 0, "sequence")
for _type, _function in ((enumerate, _enumerate), (zip, _zip), (map, _map), (filter, _filter), (count, _count)):
    _reduced(_type, _function)
