"""Between symbolic values and Python objects: which values are constants, and values of objects made in the capture."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from framejit import dynamic
from framejit.core.services import Services
from framejit.core.value import FALSE, NONE, TRUE, Const, Lazy, Node, Number, Pack, Ref, Value
from framejit.objects.members import FROZEN, Members, frozen, listed, twin_of
from framejit.reasons import R

# Types whose objects are known by a private copy (replica.py), and what copies one; of such an object: its copy.
REPLICAS: dict[type, Callable[[Any], Any]] = {}
REPLICA = ("replica",)
# Per type with a buffer: what stands for such an object of the capture in functions that read it and do not keep it.
CONTENTS: dict[type, Callable[[Services, Ref], Any]] = {}
AGGREGATES = (tuple, frozenset)
TUPLE = ("tuple",)  # of an object of a subclass of tuple that may have attributes of its own: its items, as a plain tuple
HEAP_TYPE = 1 << 9


def tuple_items(s: Services, v: Value) -> tuple[Value, ...] | None:
    """The items of a tuple that is not a constant; None for other values."""
    if isinstance(v, Pack):
        return v.items if issubclass(v.cls, tuple) else None
    found: Pack | None = s.heap.get(v, TUPLE) if isinstance(v, Ref) else None
    return None if found is None else found.items


def alternatives(s: Services, kind: Value) -> tuple[Value, ...] | None:
    """The items of what is a tuple of classes, a constant such as () too; None for other values."""
    if isinstance(kind, Const) and issubclass(type(kind.obj), tuple):
        return tuple(map(Const, tuple.__iter__(kind.obj)))
    return tuple_items(s, kind)


def new_tuple(s: Services, cls: type, items: tuple[Value, ...]) -> Value:
    """A tuple of this class."""
    return s.heap.new(cls, {TUPLE: Pack(tuple, items)}) if cls.__dictoffset__ else Pack(cls, items)


def constant(s: Services, value: Value) -> Any:
    """The Python object the value certainly is; a number is specialised to its present value."""
    value = s.force(value)
    if isinstance(value, Const):
        return value.obj
    if isinstance(value, Number):
        foresee(s, value)
        s.guard(value.path, "EQ", value.hint)
        return value.hint
    if isinstance(value, Pack):
        if value.cls is slice:
            return slice(*(constant(s, item) for item in value.items))
        members = s.trace.cache.get((FROZEN, value)) if value.cls is frozenset else None
        if members is not None and twin_of(s, members) is not None:
            return members.twin()
        if members is not None and len(members) > 1 and not members.ordered:
            return s.unsupported(R.UNKNOWN_ITERATOR, value, "the order of a set of objects")
        if value.cls in AGGREGATES:
            return value.cls(constant(s, item) for item in value.items)
    content = tuple_items(s, value)
    if content is not None:
        items = [constant(s, item) for item in content]
        plain = value.cls.__flags__ & HEAP_TYPE  # other types, such as torch.Size, check their items
        return tuple.__new__(value.cls, items) if plain else value.cls(items)
    return s.unsupported(R.OPAQUE_OPERATION, value, "a constant is needed here")


def content(s: Services, value: Value) -> Any:
    """As `constant`, for functions that read buffers and do not keep them."""
    v = s.force(value)
    read = CONTENTS.get(v.cls) if isinstance(v, Ref) else None
    return constant(s, v) if read is None else read(s, v)  # type: ignore[arg-type]


def foresee(s: Services, number: Number) -> None:
    """In front of a guard on a number: one that was drawn at random is not to be guarded once it was seen to differ."""
    if number.path.is_drawn() and dynamic.should_be_dynamic(s.start.code, s.start.pc, number.path, number.hint):  # type: ignore[attr-defined]
        s.unsupported(R.RANDOM_STATE, number, "what goes on depends on it")


def is_constant(s: Services, value: Value) -> bool:
    """Whether the value is a constant already."""
    if isinstance(value, Lazy):
        value = s.force(value)
    if isinstance(value, Const):
        return True
    items = value.items if isinstance(value, Pack) and (value.cls is slice or value.cls in AGGREGATES) else tuple_items(s, value)
    return items is not None and all(is_constant(s, item) for item in items)


def wrap(s: Services, obj: Any) -> Value:
    """The value of an object that the capture computed: aggregates are taken apart, lists and dicts become new objects."""
    if obj is None:
        return NONE
    if obj is True:
        return TRUE
    if obj is False:
        return FALSE
    if issubclass(type(obj), Value):
        return obj
    kind = type(obj)
    if kind is slice:
        return Pack(slice, (wrap(s, obj.start), wrap(s, obj.stop), wrap(s, obj.step)))
    if kind is frozenset:
        entries = {item: (wrap(s, item), TRUE) for item in obj}
        return frozen(s, frozenset, Members(entries, None, real=obj))
    if issubclass(type(obj), tuple):
        return new_tuple(s, kind, tuple(wrap(s, item) for item in tuple.__iter__(obj)))
    if kind is list:
        return s.heap.new(list, {s.heap.ITEMS: tuple(wrap(s, item) for item in obj)})
    if kind is dict:
        return s.heap.new(dict, {s.heap.ITEMS: {key: (wrap(s, key), wrap(s, item)) for key, item in obj.items()}})
    if kind is set:
        entries = {item: (wrap(s, item), TRUE) for item in obj}
        return s.heap.new(set, {s.heap.ITEMS: Members(entries, set, (listed(entries),))})
    if kind is types.MethodType:
        return Pack(types.MethodType, (Const(obj.__func__), wrap(s, obj.__self__)))
    if kind in REPLICAS:
        return s.heap.new(kind, {REPLICA: REPLICAS[kind](obj)})
    return Const(obj)


def identity(value: Value) -> Any:
    """What decides `is` for a forced value: the object of a constant, else the value itself."""
    if isinstance(value, Const):
        return ("const", id(value.obj))
    return value


__all__ = ["Node", "Ref", "constant", "identity", "is_constant", "wrap"]
