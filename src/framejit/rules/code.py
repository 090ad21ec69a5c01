"""compile, eval and exec of constant source: compiled during the capture, run as frames of the captured program."""

from __future__ import annotations

import builtins
import opcode
import warnings
from types import CodeType
from typing import Any

from framejit.core.services import Services
from framejit.core.value import NONE, Const, Ref, Value
from framejit.objects import frame_
from framejit.objects.function import builtins_of
from framejit.reasons import R
from framejit.rules.registry import handler

FUTURES = 0x1FE0000  # the co_flags of __future__ statements
WRITES = frozenset(opcode.opmap[name] for name in ("STORE_NAME", "DELETE_NAME"))


def _source(s: Services, value: Value) -> Any:
    """The source or code object that a value certainly is."""
    value = s.force(value)
    if not isinstance(value, Const) or type(value.obj) not in (str, bytes, CodeType):
        return s.unsupported(R.FRAME_INSPECTION, value, "code that is not a constant")
    return value.obj


def _compiled(s: Services, source: Any, name: str, mode: str, flags: int = 0, inherit: bool = True, optimize: int = -1) -> CodeType:
    """The code object; what the compiler raises is raised in the program, and a warning ends the region."""
    if inherit:
        flags |= s.frames[-1].real_code.co_flags & FUTURES  # type: ignore[attr-defined]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            code = builtins.compile(source, name, mode, flags, True, optimize)
        except (SyntaxError, ValueError, TypeError, OverflowError) as error:
            if caught:
                s.unsupported(R.FRAME_INSPECTION, None, "the compiler warns")
            s.raise_real(error)
    if caught or not isinstance(code, CodeType):
        s.unsupported(R.FRAME_INSPECTION, None, "the compiler warns")
    return code


@handler(compile)
def compile_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`compile(source, filename, mode, flags=0, dont_inherit=False, optimize=-1)` of constants."""
    names = ("source", "filename", "mode", "flags", "dont_inherit", "optimize")
    given = {**dict(zip(names, args)), **kwargs}
    if len(args) > len(names) or set(given) - set(names) or not {"source", "filename", "mode"} <= set(given):
        return s.unsupported(R.FRAME_INSPECTION, compile, "arguments")
    source, name, mode = _source(s, given["source"]), s.constant(given["filename"]), s.constant(given["mode"])
    flags, optimize = s.constant(given.get("flags", Const(0))), s.constant(given.get("optimize", Const(-1)))
    alone = "dont_inherit" in given and s.truth(given["dont_inherit"])
    if type(source) is CodeType or type(name) is not str or type(mode) is not str or type(flags) is not int or flags & ~FUTURES:
        return s.unsupported(R.FRAME_INSPECTION, compile, "arguments")
    return Const(_compiled(s, source, name, mode, flags, not alone, optimize))


def _namespaces(s: Services, given: list[Value]) -> tuple[Ref, Value]:
    """Globals and locals of the code to run; without any, those of the running frame."""
    frame = s.frames[-1]  # type: ignore[attr-defined]
    globals_ = s.force(given[0]) if given else NONE
    names = s.force(given[1]) if len(given) > 1 else NONE
    if isinstance(globals_, Const) and globals_.obj is None:
        globals_ = frame.globals
        if isinstance(names, Const) and names.obj is None:
            names = _locals(s, frame)
    elif not isinstance(globals_, Ref) or globals_.cls is not dict:
        s.unsupported(R.FRAME_INSPECTION, globals_, "globals")
    if isinstance(names, Const) and names.obj is None:
        names = globals_
    if not isinstance(names, Ref) or names.cls is not dict:
        s.unsupported(R.FRAME_INSPECTION, names, "locals")
    key = Const("__builtins__")
    if not s.truth(s.contains(globals_, key)):
        s.setitem(globals_, key, frame.builtins)
    elif globals_ is not frame.globals and not _is_builtins(s, s.getitem(globals_, key)) and not _has_own(s, globals_):
        s.unsupported(R.FRAME_INSPECTION, globals_, "other builtins")
    return globals_, names


def _has_own(s: Services, globals_: Ref) -> bool:
    return builtins_of(s, globals_) is not s.frames[0].builtins  # type: ignore[attr-defined]


def _is_builtins(s: Services, value: Value) -> bool:
    value = s.force(value)
    return (isinstance(value, Const) and value.obj is builtins) or value is s.frames[0].builtins  # type: ignore[attr-defined]


def _locals(s: Services, frame: Any) -> Value:
    """A copy of the locals of a function for code that reads them."""
    if frame.names is not None:
        return frame.names
    bound, _ = frame_.bindings(s, frame)
    return s.heap.new(dict, {s.heap.ITEMS: {name: (Const(name), value) for name, value in bound.items()}})


def _writes_names(code: CodeType) -> bool:
    """Whether the code binds names where it runs."""
    return not code.co_flags & 1 and any(op in WRITES for op in code.co_code[::2])


def _run(s: Services, code: CodeType, given: list[Value]) -> Value:
    if code.co_freevars:
        s.unsupported(R.FRAME_INSPECTION, None, "code with free variables")
    own_names = given and not (isinstance(first := s.force(given[0]), Const) and first.obj is None)
    if not own_names and _writes_names(code):
        s.unsupported(R.FRAME_INSPECTION, None, "code that writes to the locals of a function")
    globals_, names = _namespaces(s, given)
    return s.run_code(code, globals_, names)


@handler(eval)
def eval_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`eval(source, globals=None, locals=None)`."""
    if kwargs or not 1 <= len(args) <= 3:
        return s.unsupported(R.FRAME_INSPECTION, eval, "arguments")
    source = _source(s, args[0])
    if type(source) is not CodeType:
        source = _compiled(s, source.lstrip(" \t") if type(source) is str else source.lstrip(b" \t"), "<string>", "eval")
    return _run(s, source, args[1:])


@handler(exec)
def exec_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`exec(source, globals=None, locals=None)`."""
    if kwargs or not 1 <= len(args) <= 3:
        return s.unsupported(R.FRAME_INSPECTION, exec, "arguments")
    source = _source(s, args[0])
    if type(source) is not CodeType:
        source = _compiled(s, source, "<string>", "exec")
    _run(s, source, args[1:])
    return NONE


@handler(globals)
def globals_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The namespace of the running function."""
    if args or kwargs:
        return s.raise_error(TypeError, f"globals() takes no arguments ({len(args)} given)")
    return s.frames[-1].globals  # type: ignore[attr-defined]

