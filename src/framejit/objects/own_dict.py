"""The dict of a class itself, without what the class inherits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from framejit.core.heap import MISSING
from framejit.core.services import Services
from framejit.core.value import Const, Value
from framejit.objects.object_ import HEAP_TYPE, IMMUTABLE_TYPE, OVERRIDES, stood_for, type_lookup

NOTHING = object()


class OwnNames:
    """A guard: the class dict has these names."""

    __slots__ = ("names",)

    def __init__(self, names: tuple[str, ...]):
        self.names = names

    def __call__(self, cls: type) -> bool:
        return tuple(cls.__dict__) == self.names


class NotOwn:
    """A guard: the class dict lacks the name."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __call__(self, cls: type) -> bool:
        return self.name not in cls.__dict__


def _may_change(s: Services, cls: type) -> bool:
    return bool(cls.__flags__ & HEAP_TYPE) and not cls.__flags__ & IMMUTABLE_TYPE and cls not in s.trace.classes


def own_attribute(s: Services, v: Const, name: str) -> Value | None:
    """What the dict of the class itself holds, None where it holds nothing."""
    written = (s.trace.cache.get(OVERRIDES) or {}).get((v.obj, name))
    if written is not None:
        return None if written is MISSING else stood_for(s, written)
    found = vars(v.obj).get(name, NOTHING)
    if found is NOTHING:
        if _may_change(s, v.obj):
            s.guard(v.path or s.trace.roots.const(v.obj), "PY", NotOwn(name))
        return None
    type_lookup(s, v.obj, name)
    return stood_for(s, found)


def names_of(s: Services, cls: type) -> tuple[str, ...]:
    """The names in the dict of a class, in order."""
    names = tuple(vars(cls))
    if _may_change(s, cls):
        s.guard(s.trace.roots.const(cls), "PY", OwnNames(names))
    written = {name: found for (owner, name), found in (s.trace.cache.get(OVERRIDES) or {}).items() if owner is cls}
    kept = [name for name in names if written.get(name) is not MISSING]
    return (*kept, *(name for name, found in written.items() if found is not MISSING and name not in names))


def own_names(s: Services, v: Const) -> Iterator[tuple[str, Value]]:
    """Names and values of the dict of a class, in order."""
    for name in names_of(s, v.obj):
        found = own_attribute(s, v, name)
        assert found is not None
        yield name, found


def class_dict(cls: type) -> Any:
    """The proxy of the dict of a class."""
    return type.__dict__["__dict__"].__get__(cls)
