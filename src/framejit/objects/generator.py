"""Generators and coroutines whose bodies are captured."""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable
from typing import Any

from framejit.core.heap import MISSING, Heap
from framejit.core.services import Services
from framejit.core.value import NONE, NULL, Const, Ref, Value, bool_const
from framejit.objects import function
from framejit.objects.model import ByType, model
from framejit.reasons import R

FRAME, DONE, FUNCTION, MADE = ("frame",), ("done",), ("function",), ("made",)
RUNNING = ("running",)
CO_COROUTINE, CO_ASYNC_GENERATOR = 0x80, 0x200
NAMES = ("__name__", "__qualname__")
KINDS: dict[type, str] = {types.GeneratorType: "generator", types.CoroutineType: "coroutine", types.AsyncGeneratorType: "async generator"}
SEEN = ("seen",)  # of one of these: its frame was asked for, which shows where it stands
OPENERS: list[Callable[[Services, Ref], bool]] = []  # what reads such a one
HANDLED = ("handled",)  # the exception that the body was handling at its yield, if any


def new(s: Services, frame: Any, code: types.CodeType) -> Ref:
    """The generator that a call of a generator function gives: its frame waits behind the prologue."""
    flags = code.co_flags
    kinds = {CO_COROUTINE: types.CoroutineType, CO_ASYNC_GENERATOR: types.AsyncGeneratorType}
    kind: type = kinds.get(flags & (CO_COROUTINE | CO_ASYNC_GENERATOR), types.GeneratorType)
    ref = s.heap.new(kind, {FRAME: frame, DONE: False, FUNCTION: frame.func, MADE: s.steps})  # type: ignore[attr-defined]
    s.trace.cache.setdefault("generators", []).append(ref)
    frame.generator = ref
    for name in NAMES:
        s.trace.trail.put(s.heap.fields[ref], (name,), function.name_written(s, frame.func, name))
    while (ins := frame.instr).op != "RETURN_GENERATOR":
        if ins.op == "COPY_FREE_VARS":
            frame.slots[-ins.value :] = function.closure(s, frame.func)
        elif ins.op == "MAKE_CELL":
            value = frame.slots[ins.value]
            frame.slots[ins.value] = s.heap.new(types.CellType, {function.CONTENTS: MISSING if value is NULL else value})
        frame.index += 1
    return ref


def cleans_up(cls: type, frame: Any) -> bool:
    """Whether something happens when a generator dies that was not finished: its body waits in a `try` or `with`.

    A coroutine that was never awaited warns.
    """
    ins = frame.instr
    if ins.op == "RETURN_GENERATOR":
        return cls is types.CoroutineType
    row = frame.code.instructions[frame.index - 1].handler
    if row < 0:
        return False
    place = frame.code.by_pc[frame.code.exception_table[row].target]
    if frame.code.instructions[place].op == "STOPITERATION_ERROR":  # since 3.12 around every body
        return False
    return not _lets_exit_through(frame, place)


def _lets_exit_through(frame: Any, place: int) -> bool:
    """Whether a handler only asks for built-in exceptions other than GeneratorExit, and raises it again."""
    instructions = frame.code.instructions
    if instructions[place].op != "PUSH_EXC_INFO":
        return False
    place += 1
    while instructions[place].op == "LOAD_GLOBAL":
        name = instructions[place].value
        kind = getattr(builtins, name, None)
        if not isinstance(kind, type) or not issubclass(kind, Exception) or name in (frame.globals.real or {}):
            return False
        if [ins.op for ins in instructions[place + 1 : place + 3]] != ["CHECK_EXC_MATCH", "POP_JUMP_IF_FALSE"]:
            return False
        place = instructions[place + 2].jump
    return bool(instructions[place].op == "RERAISE")


def is_symbolic(s: Services, value: Value) -> bool:
    """Whether the value is a generator of the capture, or one given whose frame can be read."""
    if not isinstance(value, Ref) or value.cls not in KINDS or s.heap.get(value, SEEN):
        return False
    if s.heap.get(value, DONE) is not None:
        return True
    return value.path is not None and OPENERS[0](s, value)


def has_no_clean_up(ref: Ref, heap: Heap) -> bool:
    """Whether a given generator that was opened can die by now without running code of its own."""
    frame = heap.get(ref, FRAME)
    return frame is None or not (heap.get(ref, RUNNING) or cleans_up(ref.cls, frame))


def awaits(s: Services, ref: Ref) -> bool:
    """Whether a coroutine of the capture is suspended in an `await`."""
    frame = s.heap.get(ref, FRAME)
    return frame is not None and frame.instr.op == "RESUME" and frame.instr.arg & 3 >= 2


@model(types.GeneratorType, types.CoroutineType)
class GeneratorModel(ByType):
    """Symbolic generators; real ones as far as their frames can be read."""

    __slots__ = ()

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        if not isinstance(v, Ref):
            return None
        if name in NAMES:
            return s.heap.get(v, ("attribute", name)) if v.path is not None else _name(s, v, name)
        what, opened = name.partition("_")[2], s.heap.get(v, DONE) is not None
        if what == "frame" and v.path is not None:
            return _frame_of_given(s, v, name)
        if not opened:
            return None
        frame, running = s.heap.get(v, FRAME), s.heap.get(v, RUNNING) is True
        if what == "code":
            body = s.heap.get(v, FUNCTION)
            return None if body is None else Const(code_of(s, body))
        if what == "running":
            return bool_const(running)
        if what == "suspended":
            return bool_const(frame is not None and frame.instr.op != "RETURN_GENERATOR" and not running)
        if what in ("yieldfrom", "await"):
            return NONE if running or not awaits(s, v) else frame.stack[-1]
        return NONE if what == "frame" and frame is None else None

    def set_attribute(self, s: Services, v: Value, name: str, found: Any, new: Value | None) -> bool:
        if name not in NAMES or not isinstance(v, Ref):
            return False
        if new is None or not issubclass(s.force(new).cls, str):
            s.raise_error(TypeError, f"{name} must be set to a string object")
        s.heap.set(v, (name,) if v.path is None else ("attribute", name), s.force(new))
        return True

    def iter(self, s: Services, v: Value) -> Value:
        if v.cls is not types.GeneratorType:
            return s.raise_error(TypeError, f"'{v.cls.__name__}' object is not iterable")
        return v

    def next(self, s: Services, v: Value) -> Value:
        return advance(s, v, NONE)


def _frame_of_given(s: Services, v: Ref, name: str) -> Value | None:
    """The frame of a given generator, which nobody may have in hand where the region advances it."""
    if s.heap.get(v, DONE) is None:
        s.heap.load(v, SEEN, True)
        return None
    return NONE if s.heap.get(v, FRAME) is None else s.unsupported(R.ATTRIBUTE_OF_OPAQUE, v, name)


def _name(s: Services, v: Ref, name: str) -> Value:
    """The name that the generator was given, or that its function had when it was made."""
    found, body = s.heap.get(v, (name,)), s.heap.get(v, FUNCTION)
    if found is not MISSING:
        return found
    if function.name_written(s, body, name) is not MISSING:
        return s.unsupported(R.ATTRIBUTE_OF_OPAQUE, v, name)
    return s.getattr(body, name)


def code_of(s: Services, body: Value) -> types.CodeType:
    """The code of the function of a generator."""
    if isinstance(body, Ref) and body.virtual:
        return s.heap.get(body, function.CODE)
    found: types.CodeType = (body.obj if isinstance(body, Const) else body.real).__code__  # type: ignore[attr-defined]
    return found


def advance(s: Services, v: Value, sent: Value) -> Value:
    """The next item of a symbolic generator, or a StopIteration with its return value."""
    if not is_symbolic(s, v):
        return s.unsupported(R.UNKNOWN_ITERATOR, v)
    assert isinstance(v, Ref)
    return finish(s, s.resume_generator(v, sent))


def finish(s: Services, item: Value | None) -> Value:
    """The item that a generator yielded, or a StopIteration with the value that it returned."""
    if item is None:
        value = s.returned  # type: ignore[attr-defined]
        s.raise_error(StopIteration, *([] if value is NONE or s.is_same(value, NONE) else [value]))
    return item
