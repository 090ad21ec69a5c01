"""Structural pattern matching: what the MATCH instructions ask."""

from __future__ import annotations

from framejit.core.heap import MISSING
from framejit.core.services import Services
from framejit.core.value import NONE, Const, Pack, Value
from framejit.objects.type_ import is_instance

SEQUENCE, MAPPING = 1 << 5, 1 << 6
SELF_MATCHING = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


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
    for key in s.unpack(names):
        item = s.call(get, [key, absent])
        if s.is_same(item, absent):
            return NONE
        found.append(item)
    return Pack(tuple, tuple(found))


def class_(s: Services, subject: Value, cls: Value, count: int, names: Value) -> Value:
    """The attributes that a class pattern looks at, or None."""
    if not is_instance(s, subject, cls):
        return NONE
    kind = s.constant(cls)
    attributes: list[Value] = []
    if count:
        listed = getattr(kind, "__match_args__", None)
        if listed is None:
            if count > 1 or not issubclass(kind, SELF_MATCHING):
                accepted = int(issubclass(kind, SELF_MATCHING))
                s.raise_error(TypeError, f"{kind.__name__}() accepts {accepted} positional sub-patterns ({count} given)")
            attributes.append(subject)
        else:
            names_of = s.constant(s.getattr(cls, "__match_args__"))
            if count > len(names_of):
                s.raise_error(TypeError, f"{kind.__name__}() accepts {len(names_of)} positional sub-patterns ({count} given)")
            for name in names_of[:count]:
                if not _append(s, subject, name, attributes):
                    return NONE
    for name in s.constant(names):
        if not _append(s, subject, name, attributes):
            return NONE
    return Pack(tuple, tuple(attributes))


def _append(s: Services, subject: Value, name: str, attributes: list[Value]) -> bool:
    found = s.call(Const(getattr), [subject, Const(name), Const(MISSING)])
    if s.is_same(found, Const(MISSING)):
        return False
    attributes.append(found)
    return True
