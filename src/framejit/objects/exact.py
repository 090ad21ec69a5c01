"""The base of models of built-in types: what such a type does not implement raises CPython's TypeError."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from framejit.core.services import Pending, Services
from framejit.core.value import Value
from framejit.objects.model import Model

HEAP_TYPE, IMMUTABLE_TYPE = 1 << 9, 1 << 8


def type_name(cls: type) -> str:
    """The name of a type in CPython's error messages: types written in C are named with their module."""
    in_c = not cls.__flags__ & HEAP_TYPE or cls.__flags__ & IMMUTABLE_TYPE
    return f"{cls.__module__}.{cls.__name__}" if in_c and cls.__module__ != "builtins" else cls.__name__


def defines(cls: type, name: str) -> bool:
    """Whether the class or a base has the attribute; a metaclass is not asked."""
    return any(name in vars(base) for base in cls.__mro__)


class ExactModel(Model):
    """A built-in type whose missing slots are known to be missing."""

    __slots__ = ()

    def getitem(self, s: Services, v: Value, key: Value) -> Value:
        return s.raise_error(TypeError, f"'{type_name(v.cls)}' object is not subscriptable")

    def setitem(self, s: Services, v: Value, key: Value, new: Value) -> None:
        s.raise_error(TypeError, f"'{type_name(v.cls)}' object does not support item assignment")

    def delitem(self, s: Services, v: Value, key: Value) -> None:
        s.raise_error(TypeError, f"'{type_name(v.cls)}' object doesn't support item deletion")

    def contains(self, s: Services, v: Value, item: Value) -> Value | None:
        if type(self).iter is ExactModel.iter:
            return s.raise_error(TypeError, f"argument of type '{type_name(v.cls)}' is not iterable")
        return None

    def iter(self, s: Services, v: Value) -> Value:
        return s.raise_error(TypeError, f"'{type_name(v.cls)}' object is not iterable")

    def next(self, s: Services, v: Value) -> Value:
        return s.raise_error(TypeError, f"'{type_name(v.cls)}' object is not an iterator")

    def unary(self, s: Services, symbol: str, v: Value) -> Value:
        return s.raise_error(TypeError, f"bad operand type for unary {symbol}: '{type_name(v.cls)}'")

    def hash_key(self, s: Services, v: Value) -> Any:
        return s.raise_error(TypeError, f"unhashable type: '{type_name(v.cls)}'")

    def call(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | Pending:
        return s.raise_error(TypeError, f"'{type_name(v.cls)}' object is not callable")
