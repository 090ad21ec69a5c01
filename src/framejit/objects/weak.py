"""Weak references: those that exist, and those that the captured code makes to objects whose life it can follow."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from framejit.core.path import REFERENT, Path
from framejit.core.services import Pending, Services
from framejit.core.value import NONE, TRUE, Const, Ref, Value
from framejit.objects.exact import type_name
from framejit.objects.model import Model, model
from framejit.objects.rebuild import REBUILDERS
from framejit.reasons import R

TARGET = ("target",)
REBUILDERS[weakref.ReferenceType] = lambda get: (weakref.ref, [get(TARGET)])


@model(weakref.ReferenceType)
class WeakReferenceModel(Model):
    """References of the exact type, without a callback if they were made in the capture."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        if type(real) is not weakref.ReferenceType:
            return s.unsupported(R.UNKNOWN_TYPE, real)
        s.guard(path, "TYPE", weakref.ReferenceType)
        ref = Ref(weakref.ReferenceType, path, real)
        s.trace.remember(real, ref)
        return ref

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        if cls is not weakref.ReferenceType or kwargs or not 1 <= len(args) <= 2 or (len(args) == 2 and not s.is_same(args[1], NONE)):
            return None
        target = s.force(args[0])
        if not target.cls.__weakrefoffset__:
            return s.raise_error(TypeError, f"cannot create weak reference to '{type_name(target.cls)}' object")
        real = target.real if isinstance(target, Ref) else None
        if not isinstance(target, Ref) or (real is not None and any(map(_is_plain, weakref.getweakrefs(real)))):
            return None  # CPython may give a reference that exists
        made = s.trace.cache.get((TARGET, target))
        if made is None:
            made = s.heap.new(cls, {TARGET: target})
            s.trace.trail.put(s.trace.cache, (TARGET, target), made)
        return made

    def initialise(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> bool:
        return True

    def truth(self, s: Services, v: Value) -> bool | None:
        return True

    def call(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | Pending:
        if args or kwargs:
            return s.unsupported(R.OPAQUE_CALL, v, "arguments")
        referent = _referent(s, v)
        if not s.is_same(referent, NONE) and not _lives(s, referent):
            return s.unsupported(R.OPAQUE_CALL, v, "what it refers to may be gone by now")
        return referent

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        other = s.force(other)
        if symbol not in ("==", "!=") or not issubclass(other.cls, weakref.ReferenceType):
            return None
        if s.is_same(v, other):
            return TRUE if symbol == "==" else None
        one, another = self.call(s, v, (), {}), self.call(s, other, (), {})
        if s.is_same(one, NONE) or s.is_same(another, NONE):  # type: ignore[arg-type]
            return None
        return s.compare(symbol, one, another)  # type: ignore[arg-type]


def _referent(s: Services, v: Value) -> Value:
    assert isinstance(v, Ref)
    found = s.heap.get(v, TARGET)
    if found is None:
        assert v.path is not None
        found = s.heap.load(v, TARGET, s.input(v.path.to(REFERENT), v.real()))
    return s.force(found)


def _is_plain(reference: Any) -> bool:
    return type(reference) is weakref.ReferenceType and reference.__callback__ is None


def _lives(s: Services, referent: Value) -> bool:
    """Whether an object is alive if it was when the region began: it is in a local, or nothing that existed was dropped since."""
    held = [value for frame in s.frames for value in (*frame.slots, *frame.stack)]  # type: ignore[attr-defined]
    if referent in held:
        return True
    if isinstance(referent, Ref) and referent.path is None:
        return False
    if not s.trace.flags.get("dropped") and not any(s.heap.dirty()):
        return True
    real = referent.obj if isinstance(referent, Const) else getattr(referent, "real", None)
    return real is not None and any(real is getattr(value, "real", None) or real is getattr(value, "obj", None) for value in held)
