"""The runtime side of `typing`: its forms and aliases that exist are constants, and so is what they give when subscripted by constants.

Subscription goes through caches of `typing`, which give the same object again: it is done for real while capturing. What involves
type variables or classes that the captured code made is left to the Python of `typing` itself.
"""

from __future__ import annotations

import types
import typing
from typing import Any

from framejit.core.errors import Raised
from framejit.core.path import Path
from framejit.core.services import Pending, Services
from framejit.core.value import Const, Pack, Ref, Value, bool_const
from framejit.objects.by_parts import by_parts
from framejit.objects.members import trusted
from framejit.objects.model import model
from framejit.objects.object_ import ObjectModel
from framejit.objects.sameness import BY_VALUE
from framejit.reasons import R
from framejit.rules.registry import HANDLERS, Handler

FINAL: type = typing._Final
ALIASES = (types.GenericAlias, types.UnionType)
CHANGING = (typing.ForwardRef,)  # they remember what they were found to refer to


def alias_parts(real: Any) -> Any:
    """What an alias of a class, or a union, is made of."""
    return real.__args__ if type(real) is types.UnionType else (real.__origin__, real.__args__, real.__unpacked__)


BY_VALUE.update(ALIASES)


@model(FINAL, *ALIASES)
class TypingModel(ObjectModel):
    """Special forms, aliases and type variables: constants, unless they were made in the captured code."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        if issubclass(type(real), CHANGING):
            return super().realize(s, path, real)
        if type(real) in ALIASES:
            return by_parts(s, path, real, alias_parts)
        s.guard(path, "IS", real)
        return Const(real, path)

    def binary(self, s: Services, symbol: str, left: Value, right: Value, reflected: bool) -> Value | None:
        given = [_parameter(s, left), _parameter(s, right)]
        if symbol == "|" and not any(item is NotImplemented for item in given):
            try:
                return Const(given[0] | given[1])
            except TypeError:
                return None
        return super().binary(s, symbol, left, right, reflected)

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        other = s.force(other)
        if symbol not in ("==", "!=") or v.cls not in ALIASES:
            return super().compare(s, symbol, v, other)
        if other.cls is not v.cls:
            return None
        if not isinstance(v, Const) or not isinstance(other, Const):
            return s.unsupported(R.OPAQUE_OPERATION, v, "__eq__")
        parts = [[s.wrap(alias.obj.__args__), *_origin(alias.obj)] for alias in (v, other)]
        if v.cls is types.UnionType:
            parts = [[s.call(Const(frozenset), args)] for args in parts]
        same = all(s.truth(s.compare("==", one, two)) for one, two in reversed(list(zip(*parts, strict=True))))
        return bool_const(same is (symbol == "=="))

    def call(self, s: Services, v: Value, args: Any, kwargs: dict[str, Value]) -> Value | Pending:
        if not isinstance(v, Const) or type(v.obj) is not types.GenericAlias:
            return super().call(s, v, args, kwargs)
        made = s.call(s.wrap(v.obj.__origin__), args, kwargs)
        try:
            s.setattr(made, "__orig_class__", v)
        except Raised as raised:
            if not issubclass(s.exception_type(raised.value), (AttributeError, TypeError)):
                raise
        return made


def _origin(alias: Any) -> list[Value]:
    """What `list[int]` is made of beside its arguments: the class, and whether it is unpacked."""
    return [Const(alias.__unpacked__), Const(alias.__origin__)] if type(alias) is types.GenericAlias else []


def _parameter(s: Services, value: Value) -> Any:
    """The real object for a parameter; NotImplemented where there is none yet, or user code would hash it."""
    value = s.force(value)
    if isinstance(value, Const):
        obj = value.obj
        if issubclass(type(obj), type) and obj in s.trace.classes:
            return NotImplemented
        return obj if trusted(obj) or issubclass(type(obj), (FINAL, *ALIASES)) else NotImplemented
    if isinstance(value, (Pack, Ref)) and value.cls in (tuple, list):
        items = [_parameter(s, item) for item in s.unpack(value)]
        if any(item is NotImplemented for item in items):
            return NotImplemented
        return tuple(items) if value.cls is tuple else items
    return NotImplemented


def _subscription(function: Any) -> Handler:
    def subscribe(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Any:
        given = [_parameter(s, arg) for arg in args]
        if kwargs or any(item is NotImplemented for item in given):
            return NotImplemented
        try:
            return Const(function(*given))
        except (TypeError, SyntaxError) as error:  # of text that is no expression
            return s.raise_real(error)

    return subscribe


def _register() -> None:
    for cls in vars(typing).values():
        if isinstance(cls, type) and cls.__module__ == "typing":
            found = vars(cls).get("__getitem__") if issubclass(cls, FINAL) else vars(cls).get("__class_getitem__")
            function = found.__func__ if isinstance(found, classmethod) else found
            if isinstance(function, types.FunctionType):
                HANDLERS[function] = _subscription(function)


_register()
