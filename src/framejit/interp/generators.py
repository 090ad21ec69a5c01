"""Symbolic generators: a suspended frame in the heap, resumed inside one instruction."""

from __future__ import annotations

from types import AsyncGeneratorType
from typing import TYPE_CHECKING

from framejit.bytecode.decode import decode
from framejit.core.errors import Raised
from framejit.core.heap import MISSING
from framejit.core.value import NONE, Const, Ref, Value
from framejit.interp.frame import Frame
from framejit.interp.unwind import unwind
from framejit.objects import exception
from framejit.objects.dict_ import realize_dict
from framejit.objects.generator import HANDLED, KINDS
from framejit.reasons import R

if TYPE_CHECKING:
    from framejit.interp.machine import Interpreter

FRAME, DONE, RUNNING, TURNS = ("frame",), ("done",), ("running",), ("turns",)
MOST_TURNS = 8  # how often a region resumes a given generator where other regions found it in other states


def waiting_frame(interp: Interpreter, ref: Ref, function: Const, pc: int, slots: list[Value]) -> Frame:
    """The frame of a real generator of this function, which waits in front of `pc` with these slots."""
    body, path = function.obj, function.path
    assert path is not None
    code = decode(body.__code__)
    namespace = realize_dict(interp, interp.trace.roots.globals_of(body, path), body.__globals__)
    frame = Frame(code, body.__code__, function, slots[: code.nlocalsplus], namespace, interp.frames[0].builtins)
    frame.stack = slots[code.nlocalsplus :]
    frame.index = code.by_pc[pc]
    if code.instructions[frame.index - 1].op == "RETURN_GENERATOR":  # not started
        frame.index -= 1
    frame.generator = ref
    return frame


def _count_turn(interp: Interpreter, ref: Ref) -> None:
    """A loop over a given generator is unrolled; where it is found in more and more states, by some turns at a time."""
    turns = interp.heap.get(ref, TURNS) or 0
    if turns >= MOST_TURNS and interp.start.variants > 1:
        interp.unsupported(R.UNKNOWN_ITERATOR, ref, "its place changes from call to call")
    interp.trace.trail.put(interp.heap.fields[ref], TURNS, turns + 1)


def resume(interp: Interpreter, ref: Ref, sent: Value, thrown: Value | None = None, past_send: bool = False) -> Value | None:
    """Run the body to its next yield; None when it returned. With `past_send`, what it waited for has ended: it goes on behind that."""
    heap = interp.heap
    frame: Frame | None = heap.get(ref, FRAME)
    kind = KINDS[ref.cls]
    if heap.get(ref, RUNNING):
        interp.raise_error(ValueError, f"{kind} already executing")
    if frame is None:
        if kind == "coroutine":
            interp.raise_error(RuntimeError, "cannot reuse already awaited coroutine")
        if thrown is not None:
            exception.grow(interp, thrown)
            raise Raised(thrown)
        interp.returned = NONE
        return None
    if ref.path is not None:
        _count_turn(interp, ref)
    slots, stack, index = list(frame.slots), list(frame.stack), frame.index

    def restore() -> None:
        frame.slots[:], frame.stack[:], frame.index = slots, stack, index

    interp.trace.trail.on_undo(restore)
    handled = interp.state["handled"]
    heap.set(ref, RUNNING, True)
    frame.inherited = handled
    if len(interp.frames) > 190:
        interp.unsupported(R.INLINE_TOO_DEEP)
    depth = len(interp.frames)
    interp.frames.append(frame)
    interp.note_handlers(frame)
    own = heap.get(ref, HANDLED)
    if own is not None and own is not MISSING:
        interp.trace.trail.put(interp.state, "handled", own)
    if frame.instr.op == "RETURN_GENERATOR":  # not started: CPython resumes behind it
        frame.index += 1
    if past_send:
        assert frame.code.instructions[frame.index - 2].op == "SEND"
        frame.stack.pop()
        frame.index = frame.code.instructions[frame.index - 2].jump
    frame.stack.append(sent)
    base, interp.base = interp.base, depth
    stopped: Value | None = None
    stops = (StopIteration, StopAsyncIteration) if ref.cls is AsyncGeneratorType else StopIteration
    try:
        if thrown is not None:
            frame.stack.pop()
            frame.index -= 1  # CPython raises at the yield
            exception.grow(interp, thrown)
            unwind(interp, thrown, depth)
        interp.run_nested(depth)
    except Raised as raised:
        if not issubclass(interp.exception_type(raised.value), stops):
            raise
        stopped = raised.value
    finally:
        interp.base = base
        interp.trace.trail.put(interp.state, "handled", handled)
        heap.set(ref, RUNNING, False)
    if stopped is not None:
        stopped = exception.passed_on(interp, stopped)
        exception.raise_from(interp, RuntimeError, f"{kind} raised {interp.exception_type(stopped).__name__}", stopped)
    if heap.get(ref, DONE):
        return None
    return interp.returned
