"""Generators and coroutines that were there before the region: read in parts when they are first asked, and advanced behind it.

The frame of a real one that waits becomes a frame of the capture, its slots inputs of the region; what the body does to them is
written back by the exit, which sets the real frame to where the captured one waits, or ends it.
"""

from __future__ import annotations

import functools
import types
from typing import Any

from framejit import _C
from framejit.bytecode.decode import decode
from framejit.bytecode.flow import analyze
from framejit.bytecode.instr import DecodeError
from framejit.core.heap import Heap
from framejit.core.path import CALLED, ITEM, Called
from framejit.core.services import Services
from framejit.core.value import NONE, NULL, Const, Ref, Value, bool_const
from framejit.objects import frame_, function, generator
from framejit.objects.async_generator import BUSY, CLOSED, HOOKED
from framejit.objects.rebuild import ADVANCERS, Field, Spare

PLACE = ("place",)
MOST = 32  # so many of them a region reads
EMPTY, KEPT = Const(_C.NULL), Const(_C.MISSING)


class Place:
    """Where a real generator waits: the instruction, and what its slots and stack hold."""

    __slots__ = ("index", "values")

    def __init__(self, frame: Any):
        self.index, self.values = frame.index, (*frame.slots, *frame.stack)


def open_(s: Services, ref: Ref) -> bool:
    """Read the state of a real generator; whether it can be captured."""
    parts = _C.generator_parts(ref.real)
    if parts is None or s.heap.get(ref, generator.SEEN) or len(s.heap.given) >= MOST or s.is_crowded():
        return False
    assert ref.path is not None
    path = ref.path.to(CALLED, Called(_C.generator_parts, (), f"parts({ref.path})"))
    dies_quietly = functools.partial(generator.has_no_clean_up, ref)
    if ref.cls is types.AsyncGeneratorType:
        hooked, closed, has_finalizer = flags = _C.asyncgen_flags(ref.real)
        s.guard(ref.path.to(CALLED, Called(_C.asyncgen_flags, (), f"flags({ref.path})")), "EQ", flags)
        s.heap.load(ref, HOOKED, bool(hooked))
        s.heap.load(ref, CLOSED, bool(closed))
        if has_finalizer:
            dies_quietly = functools.partial(_has_ended, ref)
    if len(parts) == 1:
        s.guard(path, "TYPE", tuple)
        s.guard(path.to(ITEM, 0), "IS", None)
        s.heap.load(ref, generator.FRAME, None)
        s.heap.load(ref, generator.DONE, True)
        return True
    place, body, *reals = parts
    where, func = path.to(ITEM, 1), Const(body)
    if function.is_left_alone(func, body.__code__) or not _is_decodable(body.__code__):
        return False
    s.guard(path, "TYPE", tuple)
    s.guard(path.to(ITEM, 0), "EQ", place)
    s.guard(where, "FUNC_CODE", body.__code__)
    slots = [NULL if real is _C.NULL else s.input(path.to(ITEM, 2 + i), real) for i, real in enumerate(reals)]
    frame = s.waiting_frame(ref, Const(body, where), place[0], slots)
    s.watch(slots, ref)
    for name, value in ((generator.FRAME, frame), (generator.DONE, False), (generator.FUNCTION, frame.func), (PLACE, Place(frame))):
        s.heap.load(ref, name, value)
    s.trace.trail.put(s.heap.given, id(ref.real), dies_quietly)
    return True


def _has_ended(ref: Ref, heap: Heap) -> bool:
    return heap.get(ref, generator.FRAME) is None


generator.OPENERS.append(open_)


def _is_decodable(code: types.CodeType) -> bool:
    try:
        decode(code)
    except DecodeError:
        return False
    return True


def _advance(before: Field, now: Field) -> tuple[Any, list[Value | Spare]] | None:
    """What brings the real generator to where the captured one waits."""
    place, frame = before(PLACE), now(generator.FRAME)
    if place is None:
        return None
    if frame is None:
        return _C.set_generator, [Const(-1), NONE]
    values = (*frame.slots, *frame.stack)
    if frame.index == place.index and len(values) == len(place.values) and all(a is b for a, b in zip(values, place.values)):
        return None
    live, count = analyze(frame.code).live[frame.index], len(frame.slots)
    everything = frame_.looks_at_locals(frame.real_code)
    slots: list[Value | Spare] = []
    for index, value in enumerate(values):
        if index < len(place.values) and value is place.values[index]:
            slots.append(KEPT)
        elif value is NULL:
            slots.append(EMPTY)
        else:
            slots.append(value if everything or index >= count or live >> index & 1 else Spare(value))
    return _C.set_generator, [Const(frame.instr.pc), now(generator.HANDLED) or NONE, *slots]


def go_on(real: Any, closed: bool, *state: Any) -> None:
    """Bring an asynchronous generator that was asked for items to where the captured one waits, if it has moved."""
    if state:
        _C.set_generator(real, *state)
    _C.set_asyncgen(real, closed)


def _advance_async(before: Field, now: Field) -> tuple[Any, list[Value | Spare]] | None:
    if now(BUSY) is None:
        return None
    _, state = _advance(before, now) or (None, [])
    return go_on, [bool_const(now(CLOSED)), *state]


ADVANCERS[types.AsyncGeneratorType] = _advance_async
for _kind in (types.GeneratorType, types.CoroutineType):
    ADVANCERS[_kind] = _advance
