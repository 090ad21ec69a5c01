"""Structural pattern matching: what the MATCH instructions ask."""

from __future__ import annotations

from typing import Any

from framejit.core.heap import MISSING
from framejit.core.services import Services
from framejit.core.value import NONE, Const, Pack, Value
from framejit.objects.dict_ import hash_key
from framejit.objects.exact import type_name
from framejit.objects.type_ import is_instance

SEQUENCE, MAPPING = 1 << 5, 1 << 6
MATCH_SELF = 1 << 22


def is_sequence(s: Services, subject: Value) -> bool:
    """Whether a sequence pattern may match."""
    return bool(s.force(subject).cls.__flags__ & SEQUENCE)


def is_mapping(s: Services, subject: Value) -> bool:
    """Whether a mapping pattern may match."""
    return bool(s.force(subject).cls.__flags__ & MAPPING)


def keys(s: Services, subject: Value, names: Value) -> Value:
    """The values of a mapping under these keys, or None."""
    found = []
    absent = Const(MISSING)
    get = s.getattr(subject, "get")
    seen: set[Any] = set()
    for key in s.unpack(names):
        name = hash_key(s, key)
        if name in seen:
            s.raise_error(ValueError, f"mapping pattern checks duplicate key ({s.constant(s.repr(key))})")
        seen.add(name)
        item = s.call(get, [key, absent])
        if s.is_same(item, absent):
            return NONE
        found.append(item)
    return Pack(tuple, tuple(found))


def class_(s: Services, subject: Value, cls: Value, count: int, names: Value) -> Value:
    """The attributes that a class pattern looks at, or None."""
    cls = s.force(cls)
    if not isinstance(cls, Const) or not issubclass(type(cls.obj), type):
        s.raise_error(TypeError, "called match pattern must be a type")
    if not is_instance(s, subject, cls):
        return NONE
    kind = s.constant(cls)
    attributes: list[Value] = []
    wanted: list[Any] = []
    if count:
        wanted, itself = _positional(s, cls, kind, count)
        if itself:
            attributes.append(subject)
    seen: set[Any] = set()
    for name in (*wanted, *s.constant(names)):
        if not isinstance(name, str):
            s.raise_error(TypeError, f"__match_args__ elements must be strings (got {type_name(type(name))})")
        if name in seen:
            s.raise_error(TypeError, f"{kind.__name__}() got multiple sub-patterns for attribute {name!r}")
        seen.add(name)
        found = s.call(Const(getattr), [subject, Const(name), Const(MISSING)])
        if s.is_same(found, Const(MISSING)):
            return NONE
        attributes.append(found)
    return Pack(tuple, tuple(attributes))


def _positional(s: Services, cls: Value, kind: type, count: int) -> tuple[list[Any], bool]:
    """The names that the positional patterns stand for, or that the only one stands for the subject itself."""
    listed = s.force(s.call(Const(getattr), [cls, Const("__match_args__"), Const(MISSING)]))
    missing = isinstance(listed, Const) and listed.obj is MISSING
    if not missing and listed.cls is not tuple:
        s.raise_error(TypeError, f"{kind.__name__}.__match_args__ must be a tuple (got {type_name(listed.cls)})")
    itself = missing and bool(kind.__flags__ & MATCH_SELF)
    names = [] if missing else s.unpack(listed)
    accepted = 1 if itself else len(names)
    if count > accepted:
        s.raise_error(TypeError, f"{kind.__name__}() accepts {accepted} positional sub-pattern{'s' * (accepted != 1)} ({count} given)")
    return [s.constant(name) for name in names[:count]], itself
