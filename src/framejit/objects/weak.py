"""Weak references to objects that live."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from framejit.core.path import Path
from framejit.core.services import Pending, Services
from framejit.core.value import NONE, Const, Value
from framejit.objects.model import Model, model
from framejit.reasons import R


@model(weakref.ReferenceType)
class WeakReferenceModel(Model):
    """A reference is known by identity, and so is what it refers to: the region dies with it."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        if type(real) is not weakref.ReferenceType:
            return s.unsupported(R.UNKNOWN_TYPE, real)
        s.guard(path, "IS", real)
        return Const(real, path)

    def truth(self, s: Services, v: Value) -> bool | None:
        return True

    def call(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | Pending:
        referent = s.constant(v)()
        return NONE if referent is None else s.input(s.trace.roots.const(referent), referent)

    def hash_key(self, s: Services, v: Value) -> Any:
        return s.unsupported(R.OPAQUE_OPERATION, v, "hash")
