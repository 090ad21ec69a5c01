"""Exceptions inside the captured program: handlers by the exception table, as CPython finds them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from framejit.core.errors import Raised, Uncaught, Unsupported
from framejit.core.value import Const, Value
from framejit.interp.frame import Frame
from framejit.objects import reach
from framejit.objects.exception import grow, keep_locals, note_caught
from framejit.objects.object_ import note_look_up
from framejit.reasons import R

if TYPE_CHECKING:
    from framejit.interp.machine import Interpreter


def unwind(interp: Interpreter, exception: Value, base: int) -> None:
    """Go on in the innermost handler above `base`; past it, raise to the loop that waits there.

    An exception that no frame of the region handles ends the region where it was raised: CPython raises it there. Above a
    `base`, built-in code waits that may handle it (`getattr` with a default, `next`).
    """
    frames = interp.frames
    if not base and not any(_handler(frame) for frame in frames):
        interp.look_up_at_once()
        raise Uncaught(R.UNCAUGHT_EXCEPTION, exception)
    if any(reach.ends(interp, value) for value in _dropped(interp, base) if interp.forced.get(value, value) is not exception):  # type: ignore
        raise Unsupported(R.UNCAUGHT_EXCEPTION, exception)
    callee: Frame | None = None
    while len(frames) > base:
        frame = frames[-1]
        entry = _handler(frame)
        if entry is not None:
            place = _raised_at(frame)
            del frame.stack[entry.depth :]
            if entry.lasti:
                frame.stack.append(place)
            frame.stack.append(exception)
            note_caught(interp, frame, exception)
            frame.index = frame.code.by_pc[entry.target]
            return
        place = _raised_at(frame)
        again = frame.instr.op == "RERAISE" and isinstance(place, Const)
        frame.left_at = 2 * place.obj if again else frame.raising_place(callee)  # type: ignore[attr-defined]
        callee = frames.pop()
        interp.reach_caller(callee, returns=False)
        note_caught(interp, frame, exception)
        keep_locals(interp, frame)
        grow(interp, exception, frame)
        if frame.asked is not None:
            note_look_up(interp, exception, *frame.asked[:2])
        if frame.generator is not None:
            interp.heap.set(frame.generator, ("frame",), None)
            interp.heap.set(frame.generator, ("done",), True)
            break
    raise Raised(exception)


def _dropped(interp: Interpreter, base: int) -> Iterator[Value]:
    """What the frames let go of on the way to the handler: asked before the first of them ends, which cannot be undone."""
    frames = interp.frames
    for place in range(len(frames) - 1, base - 1, -1):
        frame = frames[place]
        entry = _handler(frame)
        if entry is not None:
            yield from frame.stack[entry.depth :]
            return
        if frame.generator is not None and frame.generator.path is not None:
            return  # what a given one holds is watched
        yield from frame.stack
        if place <= len(interp.waiting):  # a real frame
            yield from frame.slots
        if frame.generator is not None:
            return


def _raised_at(frame: Frame) -> Value:
    """Where the frame says that it raises: an exception raised again after a clean-up is still raised at its old place."""
    ins = frame.instr
    return frame.stack[-1 - ins.arg] if ins.op == "RERAISE" and ins.arg else Const(ins.own_pc // 2)


def _handler(frame: Frame):
    row = frame.instr.handler
    return None if row < 0 else frame.code.exception_table[row]
