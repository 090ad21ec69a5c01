"""Frames as sys._getframe gives them: namespaces, code and line can be read in the capture; anything else breaks there."""

from __future__ import annotations

import sys
import types
from typing import Any

from framejit import _C
from framejit.bytecode.versions import FRESH_LOCALS
from framejit.core.heap import MISSING
from framejit.core.services import Services
from framejit.core.value import NONE, Const, Null, Ref, Value
from framejit.core.where import Where
from framejit.objects import exception
from framejit.objects.dict_ import full
from framejit.objects.function import cell_get
from framejit.objects.model import model
from framejit.objects.object_ import ObjectModel
from framejit.reasons import R
from framejit.rules.registry import handler

# The frame and its number from the outermost; the step at which it was asked for.
FRAME, DEPTH, STEP = ("frame",), ("depth",), ("step",)
CHANGING = frozenset({"f_lineno", "f_lasti", "f_back"})  # while a frame runs
LOCALS = "locals of frames"  # (LOCALS, frame) -> its dict and the step that asked for it first, in the cache of the trace


LOOKS_AT_LOCALS = frozenset({"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe", "stack", "breakpoint", "set_trace"})


def looks_at_locals(code: types.CodeType) -> bool:
    """Whether the code may look at its own frame: locals that no instruction reads are asked for then."""
    return not LOOKS_AT_LOCALS.isdisjoint(code.co_names)


def looks_at_others(code: types.CodeType) -> bool:
    """Whether the code asks frames, those of tracebacks too, for their locals."""
    return "f_locals" in code.co_names


def _frame(s: Services, depth: int) -> Value:
    s.know_callers(depth)  # type: ignore[attr-defined]
    return s.heap.new(types.FrameType, {DEPTH: depth, FRAME: s.frames[depth], STEP: s.steps})  # type: ignore[attr-defined]


def bindings(s: Services, frame: Any) -> tuple[dict[str, Value], set[str]]:
    """The bound locals of a function's frame, contents of cells included, and the names of those that are not bound."""
    bound: dict[str, Value] = {}
    unbound: set[str] = set()
    for local, value in zip(frame.code.locals, frame.slots):
        if local.kind != "local" and type(value) is not Null:
            cell = s.force(value)
            if isinstance(cell, Ref) and cell.cls is types.CellType:
                value = cell_get(s, cell)
        if type(value) is Null or value is MISSING:
            unbound.add(local.name)
        else:
            bound[local.name] = value
    return bound, unbound


def locals_of(s: Services, frame: Any) -> Value:
    """The namespace of a class body; of a function a dict that `locals()` brings up to date, the same one each time before 3.13."""
    if frame.names is not None:
        return frame.names
    if frame.generator is not None and frame.generator.path is not None:
        s.unsupported(R.ATTRIBUTE_OF_OPAQUE, frame.generator, "its frame keeps the dict that locals() gives")
    bound, unbound = bindings(s, frame)
    known = s.trace.cache.get((LOCALS, frame))
    if known is None or FRESH_LOCALS:
        ref = s.heap.new(dict, {s.heap.ITEMS: {}})
        s.trace.trail.put(s.trace.cache, (LOCALS, frame), (ref, s.steps))  # type: ignore[attr-defined]
    else:
        ref = known[0]
    kept = {name: entry for name, entry in full(s, ref).items() if name not in unbound}
    s.heap.set(ref, s.heap.ITEMS, {**kept, **{name: (Const(name), value) for name, value in bound.items()}})
    return ref


@handler(sys._getframe)
def getframe(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A frame of the captured program."""
    up = s.constant(args[0]) if len(args) == 1 else 0
    depth = len(s.frames) - 1 - up if type(up) is int and up >= 0 else -1  # type: ignore[attr-defined]
    if kwargs or len(args) > 1 or depth < 0:
        return s.unsupported(R.FRAME_INSPECTION, sys._getframe)
    return _frame(s, depth)


@model(types.FrameType)
class FrameModel(ObjectModel):
    """Frame objects; those of the captured program know their namespace, code and line."""

    __slots__ = ()

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        path = getattr(v, "path", None)
        if path is not None and name == "f_locals":  # to ask for the dict is to write the variables to it
            return s.unsupported(R.FRAME_INSPECTION, v, name)
        if path is not None and name in CHANGING:  # it may be one that the region runs: a traceback has it
            if not _C.frame_ended(v.real):  # type: ignore[attr-defined]
                return s.unsupported(R.FRAME_INSPECTION, v, name)
            s.guard(path, "PY", _C.frame_ended)
        if not isinstance(v, Ref) or path is not None:
            return None
        depth, frame, running = s.heap.get(v, DEPTH), s.heap.get(v, FRAME), s.frames  # type: ignore[attr-defined]
        if depth >= len(running) or running[depth] is not frame:
            return s.unsupported(R.FRAME_INSPECTION, v, "of a function that has returned")
        if name == "f_globals":
            return frame.globals
        if name == "f_builtins":
            return frame.builtins
        if name == "f_locals" and depth >= len(s.waiting):  # type: ignore[attr-defined]
            return locals_of(s, frame)
        if name == "f_code":
            return Const(frame.real_code)
        if name == "f_lineno":
            return Const(Where(frame.real_code, frame.instr.own_pc).line)
        if name == "f_back" and depth > 0:
            return _frame(s, depth - 1)
        return s.unsupported(R.FRAME_INSPECTION, v, name)


@handler(sys.exception)
def handled(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The exception being handled."""
    if args or kwargs:
        return s.raise_error(TypeError, f"sys.exception() takes no arguments ({len(args)} given)")
    return exception.handled_here(s)


@handler(sys.gettrace)
def gettrace(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Frames that are traced are not captured."""
    return NONE
