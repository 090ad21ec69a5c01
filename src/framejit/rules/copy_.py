"""Copies: `copy.copy` and `copy.deepcopy` are captured as the Python they are; what they ask of C types stands in lib/copy_.py."""

from __future__ import annotations

import copy
import copyreg
import types
from typing import Any

from framejit.core.services import Services
from framejit.core.value import Const, Pack, Value
from framejit.lib import copy_ as lib
from framejit.objects import dates
from framejit.objects.fold import run, unwrap
from framejit.objects.model import model_of
from framejit.reasons import R
from framejit.rules.builtins_ import takes
from framejit.rules.registry import handler, pure
from framejit.rules.stdlib import in_python

_kind: type
DEEPCOPY = types.FunctionType(copy.deepcopy.__code__, vars(copy), "deepcopy", copy.deepcopy.__defaults__)

pure((lib.unpicklable,))


for _target, _body in lib.BODIES:
    in_python(_target, _body)


def _new(kind: type) -> None:
    @handler(kind.__new__)
    def make(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        """The type's own `__new__`: an instance of the class that comes first."""
        cls = s.constant(args[0]) if args else None
        if cls is kind:
            return s.call(Const(kind), args[1:], kwargs)
        made = model_of(cls).new(s, cls, args[1:], kwargs) if isinstance(cls, type) and issubclass(cls, kind) else None
        return s.unsupported(R.OPAQUE_CALL, kind, "__new__") if made is None else made


def _plain(kind: Any) -> None:
    @takes(kind.__getnewargs__, "self /")
    def arguments(s: Services, self: Value) -> Value:
        v = s.force(self)
        if kind is tuple:
            return Pack(tuple, (s.call(Const(tuple), [Pack(tuple, tuple(s.unpack(v)))]),))
        v = unwrap(s, v)
        if kind in (str, bytes) and isinstance(v, Const):
            return run(s, kind.__getnewargs__, v.obj)  # a copy
        return Pack(tuple, (s.getattr(v, "real"), s.getattr(v, "imag")) if kind is complex else (s.call(Const(kind), [v]),))


for _kind in (int, float, str, bytes, complex, *dates.KINDS):
    _new(_kind)
for _kind in (int, float, str, bytes, complex, tuple):
    _plain(_kind)


@handler(copy.deepcopy)
def deepcopy(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The Python code, as one operation: what cannot be captured within ends the region in front of the whole copy."""
    return s.call(Const(DEEPCOPY), args, kwargs)


@takes(lib.slot_names, "cls")
def slot_names(s: Services, cls: Value) -> Value:
    real = s.constant(cls)
    if any(base in s.trace.classes for base in real.__mro__):
        return NotImplemented  # its slots are values of the capture
    for base in real.__mro__:
        if "__slots__" in vars(base):
            s.type_lookup(base, "__slots__")
    return s.wrap(lib.slot_names(real))


@takes(copyreg._slotnames, "cls")  # type: ignore[attr-defined]
def cached_slot_names(s: Services, cls: Value) -> Value:
    return slot_names(s, cls)
