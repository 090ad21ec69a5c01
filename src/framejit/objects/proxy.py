"""Weak proxies: every operation is one of the object that they stand for, or a ReferenceError once that is dead."""

from __future__ import annotations

import operator
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from framejit.core.services import Pending, Services
from framejit.core.value import NONE, Const, Node, Ref, Value
from framejit.objects import deaths
from framejit.objects.exact import type_name
from framejit.objects.model import ByType, model
from framejit.objects.object_ import MISSING, getattr_tail
from framejit.objects.reach import REFERENT
from framejit.objects.weak import CALLBACK, Corpse, enter, is_basic, referent
from framejit.reasons import R
from framejit.rules.registry import handler

KINDS = weakref.ProxyTypes
GONE = "weakly-referenced object no longer exists"


class CallableCorpse(Corpse):
    """What dead callable proxies stood for."""

    def __call__(self) -> None:
        pass


def make_dead(cls: Any) -> Any:
    """A real weak proxy for what is dead."""
    return weakref.proxy(Corpse() if cls is weakref.ProxyType else CallableCorpse())


def stands_for(s: Services, value: Value) -> Value:
    """The object behind a proxy, any other value as it is."""
    value = s.force(value)
    if value.cls not in KINDS:
        return value
    if not isinstance(value, Ref) or not value.virtual:
        return s.unsupported(R.OPAQUE_OPERATION, value, "a weak proxy that exists")
    found = referent(s, value)
    return s.raise_error(ReferenceError, GONE) if found is None else s.force(found)


@model(*KINDS)
class ProxyModel(ByType):
    """Proxies made in the capture; those that exist do not tell what they stand for."""

    __slots__ = ()

    def forward(self, s: Services, v: Value, name: str) -> Value | Pending:
        """Any attribute."""
        if isinstance(v, Ref) and not v.virtual:
            return s.unsupported(R.ATTRIBUTE_OF_OPAQUE, v, name)
        return getattr_tail(s, stands_for(s, v), name)

    def set_attribute(self, s: Services, v: Value, name: str, found: Any, new: Value | None) -> bool:
        of = stands_for(s, v)
        if new is None:
            s.delattr(of, name)
        else:
            s.setattr(of, name, new)
        return True

    def getitem(self, s: Services, v: Value, key: Value) -> Value:
        return s.getitem(stands_for(s, v), stands_for(s, key))

    def setitem(self, s: Services, v: Value, key: Value, new: Value) -> None:
        s.setitem(stands_for(s, v), key, new)

    def delitem(self, s: Services, v: Value, key: Value) -> None:
        s.delitem(stands_for(s, v), key)

    def len(self, s: Services, v: Value) -> Value | None:
        return s.len(stands_for(s, v))

    def truth(self, s: Services, v: Value) -> bool | None:
        return s.truth(stands_for(s, v))

    def contains(self, s: Services, v: Value, item: Value) -> Value | None:
        return s.contains(stands_for(s, v), item)

    def iter(self, s: Services, v: Value) -> Value:
        return s.iter(stands_for(s, v))

    def next(self, s: Services, v: Value) -> Value:
        of = stands_for(s, v)
        if s.type_lookup(of.cls, "__next__") in (MISSING, None):
            return s.raise_error(TypeError, f"Weakref proxy referenced a non-iterator '{type_name(of.cls)}' object")
        return s.next(of)

    def binary(self, s: Services, symbol: str, left: Value, right: Value, reflected: bool) -> Value | None:
        return s.binary(symbol, stands_for(s, left), stands_for(s, right))

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        return s.compare(symbol, stands_for(s, v), stands_for(s, other))

    def unary(self, s: Services, symbol: str, v: Value) -> Value:
        return s.unary(symbol, stands_for(s, v))

    def hash_key(self, s: Services, v: Value) -> Any:
        return s.raise_error(TypeError, f"unhashable type: '{type_name(v.cls)}'")

    def text(self, s: Services, v: Value, function: Callable[[Any], str]) -> Value:
        if function is not str:
            return s.unsupported(R.OPAQUE_OPERATION, v, "repr")
        return s.str(stands_for(s, v))

    def call(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | Pending:
        if v.cls is weakref.ProxyType:
            return s.raise_error(TypeError, f"'{type_name(v.cls)}' object is not callable")
        return s.call(stands_for(s, v), args, kwargs)


@handler(weakref.proxy)
def new_proxy(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A proxy; one without a callback is the same for all who ask."""
    if kwargs or not 1 <= len(args) <= 2:
        return s.unsupported(R.OPAQUE_CALL, weakref.proxy, "arguments")
    of, callback = s.force(args[0]), s.force(args[1]) if len(args) > 1 else NONE
    if not of.cls.__weakrefoffset__:
        return s.raise_error(TypeError, f"cannot create weak reference to '{type_name(of.cls)}' object")
    if isinstance(of, (Node, Const)):
        return s.unsupported(R.OPAQUE_CALL, weakref.proxy, "to such an object")
    is_plain = callback.cls is types.NoneType
    known = [one for one in deaths.references(s, of) if one.cls in KINDS and is_basic(s, one)]
    if is_plain and known:
        return known[0]
    real = getattr(of, "real", None)
    if real is not None and any(type(one) in KINDS for one in weakref.getweakrefs(real)):
        return s.unsupported(R.OPAQUE_CALL, weakref.proxy, "one exists")
    kind = weakref.ProxyType if s.type_lookup(of.cls, "__call__") is MISSING else weakref.CallableProxyType
    ref = s.heap.new(kind, {REFERENT: of, CALLBACK: callback})
    enter(s, ref, of, sum(is_basic(s, one) for one in deaths.references(s, of)[:2]))
    return ref


def _by_name(name: str, function: Any) -> None:
    """The special method of proxies, which C code looks up on their type, is a function of what they stand for."""
    for kind in KINDS:
        found = vars(kind).get(name)
        if found is not None:
            handler(found)(lambda s, args, kwargs: s.call(Const(function), [stands_for(s, arg) for arg in args], kwargs))


for _name, _function in (
    ("__index__", operator.index), ("__int__", int), ("__float__", float), ("__abs__", abs), ("__bytes__", bytes),
    ("__reversed__", reversed), ("__divmod__", divmod),
):  # fmt: skip
    _by_name(_name, _function)
