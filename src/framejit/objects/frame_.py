"""Frames as sys._getframe gives them: their globals, code and line can be read in the capture; anything else breaks there."""

from __future__ import annotations

import sys
import types
from typing import Any

from framejit.core.services import Services
from framejit.core.value import NONE, Const, Ref, Value
from framejit.core.where import Where
from framejit.objects.model import model
from framejit.objects.object_ import ObjectModel
from framejit.reasons import R
from framejit.rules.registry import handler

# The frame and its number from the outermost; the step at which it was asked for.
FRAME, DEPTH, STEP = ("frame",), ("depth",), ("step",)


def _frame(s: Services, depth: int) -> Value:
    return s.heap.new(types.FrameType, {DEPTH: depth, FRAME: s.frames[depth], STEP: s.steps})  # type: ignore[attr-defined]


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
        if not isinstance(v, Ref) or v.path is not None:
            return None
        depth, frame, running = s.heap.get(v, DEPTH), s.heap.get(v, FRAME), s.frames  # type: ignore[attr-defined]
        if depth >= len(running) or running[depth] is not frame:
            return s.unsupported(R.FRAME_INSPECTION, v, "of a function that has returned")
        if name == "f_globals":
            return frame.globals
        if name == "f_builtins":
            return frame.builtins
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
    return s.state["handled"]  # type: ignore[attr-defined]


@handler(sys.gettrace)
def gettrace(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Frames that are traced are not captured."""
    return NONE
