"""Slices and ranges."""

from __future__ import annotations

from typing import Any

from framejit.core.path import MEMBER, Path
from framejit.core.services import Services
from framejit.core.value import NONE, Const, Pack, Value, bool_const
from framejit.objects.exact import ExactModel, type_name
from framejit.objects.fold import COMPARED, ConstantModel, constant, is_inert, run, unwrap
from framejit.objects.method import method
from framejit.objects.model import model
from framejit.objects.number import is_symbolic
from framejit.reasons import R

PARTS = ("start", "stop", "step")


def slice_parts(s: Services, v: Value) -> tuple[Value, Value, Value]:
    """(start, stop, step) of a slice."""
    v = s.force(v)
    if isinstance(v, Const):
        return s.wrap(v.obj.start), s.wrap(v.obj.stop), s.wrap(v.obj.step)
    assert isinstance(v, Pack)
    return v.items[0], v.items[1], v.items[2]


def real_slice(s: Services, v: Value) -> slice:
    """The slice with constant bounds; __index__ of its parts is applied."""
    message = "slice indices must be integers or None or have an __index__ method"
    return slice(*[None if s.force(part).cls is type(None) else index(s, part, message) for part in slice_parts(s, v)])


def index(s: Services, v: Value, message: str = "") -> int:
    """The int that a value means as an index (numbers of the program are specialised)."""
    v = s.force(v)
    v = unwrap(s, v) if issubclass(v.cls, int) else v
    if isinstance(v, Const) and issubclass(type(v.obj), int):
        return int.__index__(v.obj)
    if is_symbolic(v) and issubclass(v.cls, int):
        return int(s.constant(v))
    if s.special(v, "__index__") is None:
        return s.raise_error(TypeError, message or f"'{type_name(v.cls)}' object cannot be interpreted as an integer")
    found = s.force(s.call_method(v, "__index__"))
    if not issubclass(found.cls, int):
        s.raise_error(TypeError, f"__index__ returned non-int (type {type_name(found.cls)})")
    return int.__index__(constant(s, found))


@model(slice)
class SliceModel(ExactModel):
    """Slices: Pack(slice, (start, stop, step))."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        s.guard(path, "TYPE", slice)
        items = tuple(s.input(path.to(MEMBER, vars(slice)[part]), getattr(real, part)) for part in PARTS)
        return Pack(slice, items, path)

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        return slice_parts(s, v)[PARTS.index(name)] if name in PARTS else None

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        other = s.force(other)
        if other.cls is not slice:
            return None
        left, right = (Pack(tuple, slice_parts(s, part)) for part in (v, other))
        return s.compare(symbol, left, right)


@method(slice.indices, "length /")
def slice_indices(s: Services, self: Value, length: Value) -> Value:
    return run(s, real_slice(s, self).indices, index(s, length))


@model(range)
class RangeModel(ConstantModel):
    """Ranges: constants; a real one is guarded by its three numbers."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        s.guard(path, "TYPE", range)
        for part in PARTS:
            s.guard(path.to(MEMBER, vars(range)[part]), "EQ", getattr(real, part))
        return Const(real, path)

    def len(self, s: Services, v: Value) -> Value | None:
        return run(s, len, s.constant(v))

    def truth(self, s: Services, v: Value) -> bool | None:
        return bool(s.constant(v))

    def getitem(self, s: Services, v: Value, key: Value) -> Value:
        key = s.force(key)
        if key.cls is slice:
            return run(s, s.constant(v).__getitem__, real_slice(s, key))
        message = f"range indices must be integers or slices, not {type_name(key.cls)}"
        return run(s, s.constant(v).__getitem__, index(s, key, message))

    def contains(self, s: Services, v: Value, item: Value) -> Value | None:
        item = s.force(item)
        if is_symbolic(item) or (isinstance(item, Const) and is_inert(item.obj, COMPARED)):
            return bool_const(s.constant(item) in s.constant(v))
        return None

    def iter(self, s: Services, v: Value) -> Value:
        real = s.constant(v)
        return s.heap.new(type(iter(range(0))), {("source",): Const(real), ("index",): Const(0)})

    def binary(self, s: Services, symbol: str, left: Value, right: Value, reflected: bool) -> Value | None:
        return None


def make_range(s: Services, args: list[Value]) -> Value:
    """range(stop) or range(start, stop[, step])."""
    if not 1 <= len(args) <= 3:
        return run(s, range, *[0] * len(args))
    return run(s, range, *[index(s, arg) for arg in args])


def make_slice(s: Services, args: list[Value]) -> Value:
    """slice(stop) or slice(start, stop[, step])."""
    if not 1 <= len(args) <= 3:
        s.unsupported(R.OPAQUE_CALL, slice, "arguments")
    if len(args) == 1:
        return Pack(slice, (NONE, args[0], NONE))
    return Pack(slice, (args[0], args[1], args[2] if len(args) > 2 else NONE))


@method(range.index, "value /")
def range_index(s: Services, self: Value, value: Value) -> Value:
    return run(s, s.constant(self).index, _sought(s, value))


@method(range.count, "value /")
def range_count(s: Services, self: Value, value: Value) -> Value:
    return run(s, s.constant(self).count, _sought(s, value))


def _sought(s: Services, value: Value) -> Any:
    found = s.constant(value)
    return found if is_inert(found, COMPARED) else s.unsupported(R.OPAQUE_OPERATION, value, "comparison by user code")
