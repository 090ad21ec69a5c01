"""inspect.signature of functions and methods that are known."""

from __future__ import annotations

import inspect
import operator
import sys
import types
from typing import Any

from framejit.core.services import Services
from framejit.core.value import Const, Pack, Ref, Value
from framejit.objects.object_ import path_of
from framejit.rules.registry import handler


class SignatureIs:
    """A guard: what the signature of a function is made of, beside its code."""

    __slots__ = ("parts",)

    def __init__(self, function: types.FunctionType):
        self.parts = self._parts(function)

    @staticmethod
    def _parts(function: types.FunctionType) -> list[Any]:
        marks = [name in vars(function) for name in ("__wrapped__", "__signature__")]
        given = [*(function.__kwdefaults__ or {}).items(), *function.__annotations__.items()]
        return [function.__defaults__, *marks, *(part for pair in given for part in pair)]

    def __call__(self, function: types.FunctionType) -> bool:
        parts = self._parts(function)
        return len(parts) == len(self.parts) and all(map(operator.is_, parts, self.parts))


@handler(inspect.signature)
def signature(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The signature of a function that exists is a constant, guarded."""
    value = s.force(args[0])
    bound = isinstance(value, Pack) and value.cls is types.MethodType
    function = s.force(value.items[0]) if isinstance(value, Pack) else value
    real = function.obj if isinstance(function, Const) else function.real if isinstance(function, Ref) else None
    if len(args) != 1 or kwargs or type(real) is not types.FunctionType:
        return NotImplemented
    path = path_of(s, function)
    if path is None or hasattr(real, "__wrapped__") or hasattr(real, "__signature__"):
        return NotImplemented
    s.guard(path, "FUNC_CODE", real.__code__)
    s.guard(path, "PY", SignatureIs(real))
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
