"""inspect.signature of functions and methods that are known."""

from __future__ import annotations

import inspect
import operator
import sys
import types
from collections.abc import Collection
from typing import Any

from framejit.core.path import DICT, DICT_ITEM, FUNC_FIELD, FUNC_FIELDS, Path
from framejit.core.services import Services
from framejit.core.value import Const, Pack, Ref, Value
from framejit.objects.object_ import path_of
from framejit.rules.registry import handler


class SignatureIs:
    """A guard: what the signature of a function is made of, beside its code."""

    __slots__ = ("defaults", "keywords", "notes")

    def __init__(self, function: types.FunctionType):
        self.defaults, self.keywords = function.__defaults__, dict(function.__kwdefaults__ or {})
        self.notes = dict(function.__annotations__)

    def __call__(self, function: types.FunctionType) -> bool:
        own, defaults = function.__dict__, function.__defaults__
        if own and ("__wrapped__" in own or "__signature__" in own):
            return False
        if defaults is not self.defaults and not _are_same(defaults or (), self.defaults or ()):
            return False
        return _has_same(function.__kwdefaults__ or {}, self.keywords) and _has_same(function.__annotations__, self.notes)


def _has_same(found: dict[str, Any], kept: dict[str, Any]) -> bool:
    return len(found) == len(kept) and (not found or (_are_same(found, kept) and _are_same(found.values(), kept.values())))


def _are_same(found: Collection[Any], kept: Collection[Any]) -> bool:
    """Whether these are the same objects, or equal numbers and texts: a function that is made anew has others."""
    if len(found) != len(kept):
        return False
    return all(map(operator.is_, found, kept)) or all(map(_is_same, found, kept))


def _is_same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and type(one) in (int, str) and one == other)


def _guard_parts(s: Services, path: Path, function: types.FunctionType) -> None:
    """Guard what the signature of this very function is made of, beside its code."""
    for name in ("__wrapped__", "__signature__"):
        s.guard(path.to(DICT), "DICT_MISSING", name)
    s.guard(path.to(FUNC_FIELD, FUNC_FIELDS.index("__defaults__")), "IS", function.__defaults__)
    for field, table in (("__kwdefaults__", function.__kwdefaults__), ("__annotations__", function.__annotations__)):
        place = path.to(FUNC_FIELD, FUNC_FIELDS.index(field))
        if table is None:
            s.guard(place, "IS", None)
            continue
        s.guard(place, "DICT_KEYS", tuple(table))
        for name, value in table.items():
            s.guard(place.to(DICT_ITEM, name), "EQ" if type(value) in (int, str) else "IS", value)


@handler(inspect.signature)
def signature(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The signature of a function that exists is a constant, guarded."""
    value = s.force(args[0])
    bound = isinstance(value, Pack) and value.cls is types.MethodType
    function = s.force(value.items[0]) if isinstance(value, Pack) else value
    real = function.obj if isinstance(function, Const) else function.real if isinstance(function, Ref) else None
    if len(args) != 1 or kwargs or type(real) is not types.FunctionType:
        return NotImplemented
    path = s.trace.roots.const(real) if isinstance(function, Const) else path_of(s, function)
    if path is None or hasattr(real, "__wrapped__") or hasattr(real, "__signature__"):
        return NotImplemented
    s.guard(path, "FUNC_CODE", real.__code__)
    if (signature, path) not in s.trace.cache:
        s.trace.cache[signature, path] = True
        _guard_parts(s, path, real) if isinstance(function, Const) else s.guard(path, "PY", SignatureIs(real))
    found = inspect.signature(real)
    if bound:
        found = found.replace(parameters=list(found.parameters.values())[1:])
    return Const(found)


@handler(inspect.Signature.parameters.fget)  # type: ignore[attr-defined]
def parameters(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The parameters of a constant."""
    found = s.force(args[0])
    return s.wrap(dict(found.obj.parameters)) if isinstance(found, Const) else NotImplemented


class LimitIs:
    """A guard: the recursion limit."""

    __slots__ = ("limit",)

    def __init__(self, limit: int):
        self.limit = limit

    def __call__(self, function: Any) -> bool:
        return bool(function() == self.limit)


@handler(sys.getrecursionlimit)
def recursion_limit(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The present limit, guarded."""
    limit = sys.getrecursionlimit()
    s.guard(s.trace.roots.const(sys.getrecursionlimit), "PY", LimitIs(limit))
    return Const(limit)
