"""What stands for captured values in real objects: in the namespaces of stand-in classes and inside descriptors."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from framejit.core.services import Services
from framejit.core.value import Const, Ref, Value
from framejit.objects import function
from framejit.objects.exact import defines
from framejit.objects.object_ import PLAIN, StandIn
from framejit.objects.type_ import HEAP_TYPE

RAW = (*PLAIN, types.FunctionType, property, staticmethod, classmethod)
HOOKS = ("__get__", "__set__", "__delete__", "__set_name__")


def stand_in(s: Services, value: Value) -> Any:
    """A real object that stands for a value; constants stand for themselves unless user code is asked when they are found in a class."""
    value = s.force(value)
    if isinstance(value, Const):
        return value.obj if issubclass(type(value.obj), RAW) or not _has_hooks(value.cls) else StandIn(value)
    if isinstance(value, Ref) and value.cls is types.FunctionType:
        real = _function(s, value) if value.path is None else value.real
        s.trace.remember(real, value)
        return real
    return StandIn(value)


def _has_hooks(cls: type) -> bool:
    return bool(cls.__flags__ & HEAP_TYPE) and any(defines(cls, name) for name in HOOKS)


def _function(s: Services, ref: Ref) -> Any:
    code, globals_ = s.heap.get(ref, function.CODE), s.heap.get(ref, function.GLOBALS)
    cells = tuple(types.CellType() for _ in code.co_freevars)
    made = types.FunctionType(code, globals_.real or {}, s.constant(s.heap.get(ref, function.NAME)), None, cells)
    made.__qualname__ = s.constant(s.heap.get(ref, function.QUALNAME))
    return made


def made_of(s: Services, real: Any, function: Callable[..., Any], args: tuple[Value, ...], names: dict[str, Value] | None = None) -> Const:
    """A constant that was made of stand-ins: the exit makes another one of what they stand for."""
    found = Const(real)
    s.trace.trail.put(s.trace.wrappers, id(real), (found, function, args, names or {}))
    return found
