"""`__get__` of functions and of the descriptors written in C, called by name."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from framejit.core.services import Pending, Services
from framejit.core.value import NONE, Const, Pack, Value
from framejit.objects.exact import type_name
from framejit.objects.model import model_of
from framejit.objects.object_ import bind, get_descriptor, stood_for
from framejit.reasons import R
from framejit.rules.registry import handler

BOUND = {
    types.FunctionType: types.MethodType, types.MethodDescriptorType: types.BuiltinMethodType,
    types.WrapperDescriptorType: types.MethodWrapperType,
}  # fmt: skip
FUNCTIONS = tuple(BOUND)


FIELDS = (types.MemberDescriptorType, types.GetSetDescriptorType)


def _field(s: Services, found: Any, instance: Value) -> Value | Pending:
    name, owner = found.__name__, found.__objclass__
    if not issubclass(instance.cls, owner):
        text = f"descriptor '{name}' for '{owner.__name__}' objects doesn't apply to a '{type_name(instance.cls)}' object"
        return s.raise_error(TypeError, text)
    if isinstance(instance, Const) and issubclass(type(instance.obj), type) and owner is type:
        known = model_of(instance.cls).attribute(s, instance, name, found)
        return s.wrap(found.__get__(instance.obj)) if known is None else known
    return get_descriptor(s, instance, name, found)


def _get(kind: type) -> Callable[[Services, list[Value], dict[str, Value]], Value | Pending]:
    def get(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value | Pending:
        """`descriptor.__get__(instance, owner=None)`."""
        if not 2 <= len(args) <= 3 or kwargs:
            return s.unsupported(R.OPAQUE_CALL, kind.__get__, "arguments")  # type: ignore[attr-defined]
        self, instance, owner = s.force(args[0]), s.force(args[1]), s.force(args[2]) if len(args) > 2 else NONE
        nobody = isinstance(instance, Const) and instance.obj is None
        if kind in FUNCTIONS:
            cls = BOUND[kind]
            of_class = getattr(self.obj, "__objclass__", object) if isinstance(self, Const) else object
            if not nobody and of_class not in instance.cls.__mro__:
                names = f"'{self.obj.__name__}' for '{type_name(of_class)}' objects"  # type: ignore[attr-defined]
                return s.raise_error(TypeError, f"descriptor {names} doesn't apply to a '{type_name(instance.cls)}' object")
            return self if nobody and not (isinstance(owner, Const) and owner.obj is type(None)) else Pack(cls, (self, instance))
        if not isinstance(self, Const):
            return s.unsupported(R.OPAQUE_CALL, kind.__get__, "of an object")  # type: ignore[attr-defined]
        if kind in FIELDS:
            return self if nobody and not (isinstance(owner, Const) and owner.obj is type(None)) else _field(s, self.obj, instance)
        if kind is staticmethod:
            return stood_for(s, self.obj.__func__)
        if nobody and kind is property:
            return self
        of = owner.obj if isinstance(owner, Const) and issubclass(type(owner.obj), type) else None
        if kind is property and self.obj.fget is None:
            return s.unsupported(R.OPAQUE_CALL, property.__get__, "without a getter")
        return bind(s, s.trace.roots.const(self.obj), self.obj, instance, of)

    return get


_kind: type
for _kind in (*FUNCTIONS, *FIELDS, staticmethod, classmethod, property):
    handler(_kind.__get__)(_get(_kind))  # type: ignore[attr-defined]
