"""Context variables: read with a guard, set and reset in the capture, written to the real context at the exit."""

from __future__ import annotations

import contextvars
from typing import Any

from framejit.core.heap import MISSING
from framejit.core.services import Services
from framejit.core.value import NONE, Const, Ref, Value
from framejit.objects.method import method
from framejit.objects.model import model
from framejit.objects.object_ import ObjectModel
from framejit.objects.rebuild import WRITERS
from framejit.reasons import R

# Of the object that stands for a variable: what it holds, MISSING for nothing. Of a token: what it was made by.
VALUE = ("context value",)
VARIABLE, OLD, USED, STEP = ("variable",), ("old",), ("used",), ("step",)
WRITERS[VALUE] = lambda value: (contextvars.ContextVar.set, [value])


class HoldsValue:
    """Predicate: the context variable has this very value now."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __call__(self, variable: Any) -> bool:
        return variable.get(MISSING) is self.value

    def __repr__(self) -> str:
        return f"holds {self.value!r}"


def _variable(s: Services, variable: Value) -> Ref:
    """The object that stands for a variable that exists; its present value is loaded."""
    v = s.force(variable)
    if not isinstance(v, Const):
        return s.unsupported(R.OPAQUE_CALL, v, "a variable that is not known")
    path = v.path or s.trace.roots.const(v.obj)
    ref = s.trace.cache.get((VALUE, v.obj))
    if ref is None:
        ref = Ref(contextvars.ContextVar, path, v.obj)
        s.trace.trail.put(s.trace.cache, (VALUE, v.obj), ref)
        found = v.obj.get(MISSING)
        s.guard(path, "PY", HoldsValue(found))
        s.heap.load(ref, VALUE, MISSING if found is MISSING else s.input(s.trace.roots.const(found), found))
    return ref


@method(contextvars.ContextVar.get, "default= /")
def get(s: Services, self: Value, default: Value | None) -> Value:
    ref = _variable(s, self)
    held = s.heap.get(ref, VALUE)
    if held is not MISSING:
        return held
    if default is not None:
        return default
    try:
        own = contextvars.Context().run(ref.real.get)  # the variable's own default
    except LookupError:
        return s.raise_error(LookupError, self)
    return s.input(s.trace.roots.const(own), own)


@method(contextvars.ContextVar.set, "value /")
def set_(s: Services, self: Value, value: Value) -> Value:
    ref = _variable(s, self)
    token = s.heap.new(contextvars.Token, {
        VARIABLE: s.force(self), OLD: s.heap.get(ref, VALUE), USED: False, STEP: s.steps,  # type: ignore[attr-defined]
    })  # fmt: skip
    s.heap.set(ref, VALUE, value)
    return token


@method(contextvars.ContextVar.reset, "token /")
def reset(s: Services, self: Value, token: Value) -> Value:
    ref, token = _variable(s, self), s.force(token)
    if not isinstance(token, Ref) or token.cls is not contextvars.Token or not token.virtual:
        return s.unsupported(R.OPAQUE_CALL, contextvars.ContextVar.reset, "a token that exists")
    if s.heap.get(token, USED) or not s.is_same(s.heap.get(token, VARIABLE), self):
        return s.unsupported(R.OPAQUE_CALL, contextvars.ContextVar.reset, "a token that does not fit")
    old = s.heap.get(token, OLD)
    if old is MISSING and s.heap.initial_of(ref, VALUE) is not MISSING:
        return s.unsupported(R.OPAQUE_CALL, contextvars.ContextVar.reset, "to no value")
    s.heap.set(token, USED, True)
    s.heap.set(ref, VALUE, old)
    return NONE


@model(contextvars.Token)
class TokenModel(ObjectModel):
    """Tokens of the capture tell their variable and old value."""

    __slots__ = ()

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        if not isinstance(v, Ref) or not v.virtual or name not in ("var", "old_value"):
            return None
        part = s.heap.get(v, VARIABLE if name == "var" else OLD)
        return Const(contextvars.Token.MISSING) if part is MISSING else part
