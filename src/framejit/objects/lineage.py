"""Facts about classes that the program may change: what they descend from, in which order, and their names."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from framejit.core.path import ATTR, Path
from framejit.core.services import Services
from framejit.core.value import Const, Value
from framejit.objects.exact import HEAP_TYPE, IMMUTABLE_TYPE

NAMES = ("__name__", "__qualname__")


def may_change(cls: type) -> bool:
    """Whether the bases, the attributes and the names of a class can be replaced."""
    return bool(cls.__flags__ & HEAP_TYPE) and not cls.__flags__ & IMMUTABLE_TYPE


def is_descendant(s: Services, cls: type, base: type) -> bool:
    """Whether the class stands behind the other in its MRO, guarded; hooks of metaclasses are not asked."""
    if cls is base:
        return True
    found = base in cls.__mro__
    if may_change(cls) and (may_change(base) or issubclass(base, BaseException)):
        s.trace.guard_descent(cls, base, found, s.where())  # type: ignore[attr-defined]
    return found


def order(s: Services, cls: type) -> tuple[type, ...]:
    """The whole MRO of a class, guarded."""
    if may_change(cls):
        for place, base in enumerate(cls.__mro__[1:], 1):
            s.trace.guard_descent(cls, base, place, s.where())  # type: ignore[attr-defined]
    return cls.__mro__


def note_kind(s: Services, path: Path, obj: Any) -> None:
    """Guard the class of a constant, its metaclass if it is a class, where another one can be put in its place."""
    kind = type(obj)
    if (may_change(kind) or kind is ModuleType) and not (issubclass(kind, type) and obj in s.trace.classes):
        s.guard(path, "TYPE", kind)


def class_of(s: Services, v: Value) -> Const:
    """The class of a value as a value."""
    note_kind(s, s.trace.roots.const(v.cls), v.cls)
    return Const(v.cls)


def note_getset(s: Services, cls: type, name: str) -> None:
    """Guard what a getset of `type` reads of a class."""
    if name in NAMES:
        note_name(s, cls, name)
    elif name in ("__bases__", "__mro__", "__base__"):
        order(s, cls)
    elif name != "__flags__":
        s.type_lookup(cls, name)


def note_name(s: Services, cls: Any, name: str) -> None:
    """Guard the name of a class that the region reads, unless code of its metaclass says it."""
    if may_change(cls) and cls not in s.trace.classes:
        own = s.type_lookup(type(cls), "__getattribute__") is type.__getattribute__ and s.type_lookup(type(cls), name) is vars(type)[name]
        if own:
            s.guard(s.trace.roots.const(cls).to(ATTR, name), "EQ", getattr(cls, name))


def note_text(s: Services, cls: type) -> None:
    """Guard what a class is shown by: its module and name."""
    note_getset(s, cls, "__module__")
    note_name(s, cls, "__qualname__")
