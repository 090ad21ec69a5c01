"""Functions, cells and bound methods."""

from __future__ import annotations

import types
from collections.abc import Sequence
from types import CodeType
from typing import Any, NamedTuple

from framejit import interop
from framejit.core.heap import MISSING
from framejit.core.path import (
    ATTR,
    BUILTINS,
    CALLED,
    CELL,
    CLOSURE,
    DICT_ITEM,
    FRAME_SLOTS,
    FUNC_FIELD,
    ITEM,
    METHOD_FUNC,
    METHOD_SELF,
    Path,
)
from framejit.core.services import Services
from framejit.core.value import FALSE, NONE, NULL, Const, Pack, Ref, Value, bool_const
from framejit.objects.dict_ import lookup, realize_dict
from framejit.objects.model import ByType, Model, by_type, model
from framejit.objects.object_ import path_of
from framejit.reasons import R

CONTENTS = ("contents",)
CODE, GLOBALS, DEFAULTS, KWDEFAULTS, CLOSURE_FIELD, ANNOTATIONS, NAME, QUALNAME = (
    ("code",), ("globals",), ("defaults",), ("kwdefaults",), ("closure",), ("annotations",), ("name",), ("qualname",),
)  # fmt: skip
FIELDS = {
    "__name__": NAME, "__qualname__": QUALNAME, "__defaults__": DEFAULTS, "__kwdefaults__": KWDEFAULTS,
    "__annotations__": ANNOTATIONS,
}  # fmt: skip


class Parts(NamedTuple):
    """What a call needs of a function."""

    code: CodeType
    globals: Ref
    builtins: Ref
    function: Const | Ref

    def default(self, s: Services, place: int) -> Value | None:
        """The default of a positional parameter."""
        first = self.code.co_argcount
        if isinstance(self.function, Ref) and self.function.path is None:
            pack = s.heap.get(self.function, DEFAULTS)
            if pack is NONE:
                return None
            items = s.unpack(pack)
            offset = place - (first - len(items))
            return items[offset] if offset >= 0 else None
        real, path = _real(s, self.function)
        defaults = real.__defaults__
        field = path.to(FUNC_FIELD, 2)
        if defaults is None:
            s.guard(field, "IS", None)
            return None
        s.guard(field, "TYPE", tuple)
        s.guard(field, "LEN", len(defaults))
        offset = place - (first - len(defaults))
        return s.input(field.to(ITEM, offset), defaults[offset]) if offset >= 0 else None

    def keyword_default(self, s: Services, name: str) -> Value | None:
        """The default of a keyword-only parameter."""
        if isinstance(self.function, Ref) and self.function.path is None:
            table = s.heap.get(self.function, KWDEFAULTS)
            if table is NONE:
                return None
            found = lookup(s, s.force(table), name)  # type: ignore[arg-type]
            return None if found is MISSING else found
        real, path = _real(s, self.function)
        defaults = real.__kwdefaults__
        field = path.to(FUNC_FIELD, 3)
        if defaults is None:
            s.guard(field, "IS", None)
            return None
        s.guard(field, "TYPE", dict)
        if name not in defaults:
            s.guard(field, "DICT_MISSING", name)
            return None
        return s.input(field.to(DICT_ITEM, name), defaults[name])


def _real(s: Services, function: Const | Ref) -> tuple[Any, Path]:
    path = path_of(s, function)
    assert path is not None
    return (function.obj if isinstance(function, Const) else function.real), path


def builtins_of(s: Services, globals_: Ref) -> Ref:
    """The builtins of code with these globals; a namespace born in the capture may name others."""
    usual: Ref = s.frames[0].builtins  # type: ignore[attr-defined]
    if globals_.path is not None:
        return usual
    found = lookup(s, globals_, "__builtins__")
    found = NONE if found is MISSING else s.force(found)
    return found if isinstance(found, Ref) and issubclass(found.cls, dict) else usual


def parts(s: Services, function: Const | Ref) -> Parts:
    """The code and namespaces of a function, guarded."""
    builtins = s.frames[0].builtins  # type: ignore[attr-defined]
    if isinstance(function, Ref) and function.path is None:
        globals_ = s.heap.get(function, GLOBALS)
        return Parts(s.heap.get(function, CODE), globals_, builtins_of(s, globals_), function)
    real, path = _real(s, function)
    code = real.__code__
    s.guard(path, "FUNC_CODE", code)
    globals_path = s.trace.roots.globals_of(real, path)
    return Parts(code, realize_dict(s, globals_path, real.__globals__), builtins, function)


def qualified_name(s: Services, function: Value) -> Value:
    """The name of a function as error messages give it."""
    if isinstance(function, Ref) and function.path is None:
        return s.heap.get(function, QUALNAME)
    assert isinstance(function, (Const, Ref))
    real, path = _real(s, function)
    return s.input(path.to(ATTR, "__qualname__"), real.__qualname__)


def is_left_alone(function: Const | Ref, code: CodeType) -> bool:
    """Whether the user asked for this function not to be captured."""
    real = function.obj if isinstance(function, Const) else function.real
    return real is not None and interop.disabled(real) is not None


def closure(s: Services, function: Value) -> list[Value]:
    """The cells of a function."""
    if isinstance(function, Ref) and function.path is None:
        return list(s.heap.get(function, CLOSURE_FIELD))
    assert isinstance(function, (Const, Ref))
    real, path = _real(s, function)
    return [s.input(path.to(CLOSURE, index), cell) for index, cell in enumerate(real.__closure__ or ())]


def cell_get(s: Services, cell: Ref) -> Any:
    """The content of a cell, MISSING if empty."""
    content = s.heap.get(cell, CONTENTS)
    if content is None:
        assert cell.path is not None
        try:
            real = cell.real.cell_contents
        except ValueError:
            s.guard(cell.path, "CELL_EMPTY")
            return s.heap.load(cell, CONTENTS, MISSING)
        content = s.heap.load(cell, CONTENTS, s.input(cell.path.to(CELL), real))
    return content


def make(s: Services, frame: Any, code: CodeType, flags: int, attributes: list[Value]) -> Ref:
    """A function made by MAKE_FUNCTION."""
    ref = s.heap.new(types.FunctionType, {
        CODE: code, GLOBALS: frame.globals, DEFAULTS: NONE, KWDEFAULTS: NONE, CLOSURE_FIELD: (), ANNOTATIONS: NONE,
        NAME: Const(code.co_name), QUALNAME: Const(code.co_qualname), ("dict",): s.heap.new(dict, {s.heap.ITEMS: {}}),
    })  # fmt: skip
    for flag in (8, 4, 2, 1):
        if flags & flag:
            set_part(s, ref, flag, attributes.pop())
    return ref


def set_part(s: Services, function: Value, flag: int, attribute: Value) -> None:
    """One attribute that MAKE_FUNCTION or SET_FUNCTION_ATTRIBUTE sets."""
    field = {1: DEFAULTS, 2: KWDEFAULTS, 4: ANNOTATIONS, 8: CLOSURE_FIELD}[flag]
    assert isinstance(function, Ref)
    s.heap.set(function, field, tuple(s.unpack(attribute)) if flag == 8 else attribute)


TEXTS = ("__name__", "__qualname__", "__doc__", "__module__")
FIELDS_IN_C = (types.GetSetDescriptorType, types.MemberDescriptorType)
WRITTEN = "written functions"  # in the cache of the trace: id of a function that exists -> the object that its effects belong to


def _written(s: Services, function: Value) -> Ref | None:
    real, _ = _real(s, function)  # type: ignore[arg-type]
    found: Ref | None = s.trace.cache.get(WRITTEN, {}).get(id(real))
    return found


def name_written(s: Services, function: Value, name: str) -> Any:
    """The name that a function has by the captured program, MISSING for one that exists and keeps its name."""
    if isinstance(function, Ref) and function.path is None:
        return s.heap.get(function, FIELDS[name])
    ref = _written(s, function)
    found = None if ref is None else s.heap.get(ref, ("attribute", name))
    return MISSING if found is None else found


def _write_text(s: Services, function: Const | Ref, name: str, new: Value) -> bool:
    """A store to a function that exists: an effect, seen by later reads."""
    if name in ("__name__", "__qualname__") and not issubclass(new.cls, str):
        s.raise_error(TypeError, f"{name} must be set to a string object")
    ref = _written(s, function)
    if ref is None:
        real, path = _real(s, function)
        ref = Ref(types.FunctionType, path, real)
        s.trace.trail.put(s.trace.cache.setdefault(WRITTEN, {}), id(real), ref)
    s.heap.set(ref, ("attribute", name), new)
    return True


@model(types.FunctionType)
class FunctionModel(Model):
    """Functions: constants unless they are fresh closures, as those in locals and those that were seen to be others each time are."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        if ("<locals>" in real.__qualname__ and _is_local(path)) or s.is_another(path, real, real.__code__):  # type: ignore[attr-defined]
            return by_type(s, path, real)
        s.guard(path, "IS", real)
        return Const(real, path)

    def hash_key(self, s: Services, v: Value) -> Any:
        return v.obj if isinstance(v, Const) else v

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        if not isinstance(v, Ref) or v.path is not None:
            written = _written(s, v)
            given = None if written is None else s.heap.get(written, ("attribute", name))
            if given is not None:
                return given
            if name == "__code__":
                real, path = _real(s, v)  # type: ignore[arg-type]
                s.guard(path, "FUNC_CODE", real.__code__)
                return Const(real.__code__)
            return None
        field = {
            "__defaults__": DEFAULTS, "__kwdefaults__": KWDEFAULTS, "__name__": NAME, "__qualname__": QUALNAME,
        }.get(name)  # fmt: skip
        if field is not None:
            return s.heap.get(v, field)
        if name == "__code__":
            return Const(s.heap.get(v, CODE))
        if name == "__globals__":
            return s.heap.get(v, GLOBALS)
        if name in ("__doc__", "__module__") and (given := s.heap.get(v, (name,))) is not None:
            return given
        if name == "__doc__":
            consts = s.heap.get(v, CODE).co_consts
            return Const(consts[0] if consts and isinstance(consts[0], str) else None)
        if name == "__module__":
            found_module = lookup(s, s.heap.get(v, GLOBALS), "__name__")
            return NONE if found_module is MISSING else found_module
        if name == "__closure__":
            cells = s.heap.get(v, CLOSURE_FIELD)
            return Pack(tuple, tuple(cells)) if cells else NONE
        if name == "__annotations__":
            present = s.heap.get(v, ANNOTATIONS)
            if present is NONE or isinstance(present, Pack):
                pairs = s.unpack(present) if present is not NONE else []
                table = {s.constant(key): (key, item) for key, item in zip(pairs[::2], pairs[1::2], strict=True)}
                present = s.heap.new(dict, {s.heap.ITEMS: table})
                s.heap.set(v, ANNOTATIONS, present)
            return present
        return None

    def set_attribute(self, s: Services, v: Value, name: str, found: Any, new: Value | None) -> bool:
        field = FIELDS.get(name)
        if new is not None and not (isinstance(v, Ref) and v.path is None) and name in TEXTS:
            return _write_text(s, v, name, s.force(new))  # type: ignore[arg-type]
        if not isinstance(v, Ref) or v.path is not None or new is None:
            return False
        if field is not None:
            s.heap.set(v, field, new)
            return True
        if name in ("__doc__", "__module__"):
            s.heap.set(v, (name,), new)
            return True
        return False


def _is_local(path: Path) -> bool:
    """Whether a function found here is likely another one at each call: in a local, a cell, or a container in one."""
    root = path
    while root.parent is not None:
        root = root.parent
    if root.kind not in FRAME_SLOTS:
        return False
    step: Path | None = path
    while step is not None and step.parent is not None:
        if step.kind not in (CALLED, CELL, ITEM, METHOD_FUNC, FUNC_FIELD, CLOSURE):
            return False
        step = step.parent
    return True


@model(types.CellType)
class CellModel(ByType):
    """Cells: objects with one field."""

    __slots__ = ()

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        if name != "cell_contents" or not isinstance(v, Ref):
            return None
        content = cell_get(s, v)
        return s.raise_error(ValueError, "Cell is empty") if content is MISSING else content

    def set_attribute(self, s: Services, v: Value, name: str, found: Any, new: Value | None) -> bool:
        if name != "cell_contents" or not isinstance(v, Ref):
            return False
        s.heap.set(v, CONTENTS, MISSING if new is None else new)
        return True


@model(types.MethodType)
class MethodModel(Model):
    """Bound methods: (function, self)."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        s.guard(path, "TYPE", types.MethodType)
        parts = (s.input(path.to(METHOD_FUNC), real.__func__), s.input(path.to(METHOD_SELF), real.__self__))
        return Pack(types.MethodType, parts, path)

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        if isinstance(v, Pack) and name in ("__func__", "__self__"):
            return v.items[name == "__self__"]
        return None

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        return _compare_parts(s, symbol, v, other)

    def hash_key(self, s: Services, v: Value) -> Any:
        return _key_of_parts(s, v)


def _key_of_parts(s: Services, v: Value) -> Any:
    """Function and object by their identities (and a Value, as the hash of it all is not known)."""
    if isinstance(v, Const):
        return v.obj
    parts = [s.force(item) for item in v.items]  # type: ignore[attr-defined]
    return (NULL, v.cls, *((Const, id(part.obj)) if isinstance(part, Const) else part for part in parts))


def _compare_parts(s: Services, symbol: str, v: Value, other: Value) -> Value | None:
    """Bound methods are equal if function and object are the same."""
    if symbol in ("==", "!=") and isinstance(v, Pack) and isinstance(other, Pack) and other.cls is v.cls:
        same = all(s.is_same(a, b) for a, b in zip(v.items, other.items, strict=True))
        return bool_const(same is (symbol == "=="))
    return None


@model(types.BuiltinFunctionType, types.MethodWrapperType)
class BuiltinModel(Model):
    """Functions in C are constants; their methods bound to an object are (descriptor, self)."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        receiver = real.__self__
        if receiver is not None and not isinstance(receiver, (types.ModuleType, type)):
            for base in type(receiver).__mro__:
                descriptor = base.__dict__.get(real.__name__)
                if type(descriptor) in (types.MethodDescriptorType, types.WrapperDescriptorType):
                    s.guard(path, "TYPE", type(real))
                    s.guard(path.to(ATTR, "__name__"), "EQ", real.__name__)
                    return Pack(type(real), (Const(descriptor), s.input(path.to(ATTR, "__self__"), receiver)), path)
        s.guard(path, "IS", real)
        return Const(real, path)

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        if not isinstance(v, Pack):
            return None
        if name == "__self__":
            return v.items[1]
        if name == "__module__" and v.cls is types.BuiltinMethodType:
            return NONE
        if name == "__objclass__" and v.cls is types.MethodWrapperType:
            return Const(s.constant(v.items[0]).__objclass__)
        return s.wrap(getattr(s.constant(v.items[0]), name)) if name in ("__name__", "__qualname__", "__doc__") else None

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        if symbol in ("==", "!=") and isinstance(v, Const) and isinstance(other, Const) and type(other.obj) is type(v.obj):
            receiver = getattr(v.obj, "__self__", None)
            if receiver is None or isinstance(receiver, (type, types.ModuleType)):
                return bool_const((v.obj == other.obj) is (symbol == "=="))
        return _compare_parts(s, symbol, v, other)

    def hash_key(self, s: Services, v: Value) -> Any:
        return _key_of_parts(s, v)


@model(
    types.CodeType, types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType,
    types.GetSetDescriptorType, types.MemberDescriptorType, property, staticmethod, classmethod,
)  # fmt: skip
class DescriptorModel(Model):
    """Code objects and descriptors are constants."""

    __slots__ = ()

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        if isinstance(v, Const) and v.cls is types.CodeType and type(found) in FIELDS_IN_C:  # which never change
            part = getattr(v.obj, name)
            return s.wrap(part) if type(part) in (int, str) else s.input(s.trace.roots.const(part), part)
        known = s.trace.wrappers.get(id(v.obj)) if isinstance(v, Const) and name == "__isabstractmethod__" else None
        if known is None:
            return None
        parts = (*known[2], *known[3].values())
        return bool_const(any(s.truth(s.call(Const(getattr), [part, Const(name), FALSE])) for part in parts))

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        s.guard(path, "IS", real)
        return Const(real, path)


__all__ = ["BUILTINS", "R", "Sequence"]
