"""What lives: the values that the frames of a capture lead to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from framejit.core.heap import MISSING, Heap
from framejit.core.lifetime import ending
from framejit.core.path import CALLER_SLOT, HANDLED, SLOT, Path
from framejit.core.services import Services
from framejit.core.value import Const, Lazy, Pack, Ref, Value
from framejit.objects import generator

REFERENT = ("referent",)  # of a weak reference, which holds nothing
KEEP = "keep what is dead"  # in the cache of the trace: values that no code asks for again live on, as in CPython
CHECKS, MOST_CHECKS = "checks of who lives", 2_000_000


class Watched(NamedTuple):
    """A value of a real frame, and the objects that run Python code when they die: itself, or what it holds.

    Of the frame of a given generator, that generator, and how it is watched itself, if it is.
    """

    value: Lazy
    ends: frozenset[int]
    owner: Ref | None = None
    held_by: Any = None


def watched(values: Iterable[Value], owner: Ref | None = None, among: Iterable[Watched] = ()) -> list[Watched]:
    """Those of the values whose end CPython has to see at its place."""
    found = ((value, ending(value.real)) for value in values if type(value) is Lazy)
    holder = next((one for one in among if one.value.real is owner.real), None) if owner is not None else None
    return [Watched(value, ends, owner, holder) for value, ends in found if ends]


def ends(s: Services, value: Value) -> frozenset[int]:
    """The identities of what may run Python code when the value is dropped; a given generator stands for what it holds by now."""
    waiting, found, seen, heap = [value], set[int](), set[int](), s.heap
    while waiting:
        value = waiting.pop()
        real = getattr(value, "real", None)
        if type(real) in generator.KINDS:
            generator.is_symbolic(s, s.force(value))
        for one in () if real is None else ending(real) - seen:
            seen.add(one)
            if one in heap.given and heap.given[one](heap):
                frame = heap.get(s.trace.known[one], generator.FRAME)  # type: ignore[arg-type]
                waiting += [] if frame is None else [*frame.slots, *frame.stack]
            else:
                found.add(one)
    return frozenset(found)


def in_frames(s: Services, value: Value) -> bool:
    """Whether a frame holds the value itself, or the value is the exception that is being handled."""
    interp: Any = s
    handled, forced = interp.state["handled"], interp.forced
    if handled is value or any(value in frame.slots or value in frame.stack for frame in interp.frames):
        return True
    found = forced.get(value, value)  # some frames hold it as it was before it was asked for, some as it is since
    held = (part for frame in interp.frames for part in (*frame.slots, *frame.stack))
    return any(forced.get(part, part) is found for part in (handled, *held))


def lost(s: Services, among: list[Watched]) -> bool:
    """Whether the instruction that was just done may have taken the last reference to one of them."""
    known: dict[int, bool] = {}
    missing = [one for one in among if not _is_held(s, one, known)]
    if not missing:
        return False
    if too_long(s):
        return True
    reals = {id(getattr(value, "real", None)) for value in reached(s).values()}
    return any(id(one.value.real) not in reals and not one.ends <= reals and not ends(s, one.value) <= reals for one in missing)


def _is_held(s: Services, one: Watched, known: dict[int, bool]) -> bool:
    """Whether a frame, or that of a given generator which lives, certainly holds the value; or it is a generator that has ended."""
    place = id(one)
    if place in known:
        return known[place]
    known[place] = False  # what is only held by itself
    heap, value, owner = s.heap, one.value, one.owner
    found = s.forced.get(value, value)  # type: ignore[attr-defined]
    frame = None if owner is None else heap.get(owner, generator.FRAME)
    if id(value.real) in heap.given and heap.get(found, generator.FRAME) is None:
        held = True
    elif frame is not None and any(part in where for part in (value, found) for where in (frame.slots, frame.stack)):
        held = _lives(s, one, known)
    else:
        held = in_frames(s, value)
    known[place] = held
    return held


def _lives(s: Services, one: Watched, known: dict[int, bool]) -> bool:
    """Whether the given generator, in whose frame a watched value lies, is certainly alive."""
    assert one.owner is not None and one.owner.path is not None
    if s.heap.get(one.owner, generator.RUNNING) or not _in_frame(one.owner.path):
        return True
    return one.held_by is not None and _is_held(s, one.held_by, known)


def too_long(s: Services) -> bool:
    """Whether to find out once more who lives would take too long."""
    checks = s.trace.cache[CHECKS] = s.trace.cache.get(CHECKS, 0) + len(s.heap.fields)
    return bool(checks > MOST_CHECKS)


def values(s: Services) -> list[Value]:
    """What the frames hold, and what is on its way between them."""
    interp: Any = s
    found: list[Value] = [interp.state["handled"]]
    if len(interp.frames) <= interp.base:
        found.append(interp.returned)
    for frame in interp.frames:
        found += [frame.func, *frame.slots, *frame.stack]
        found += [value for value in (frame.extra, frame.names, frame.generator) if value is not None]
    return found


def reached(s: Services) -> dict[int, Value]:
    """All values that the frames, and the written parts of real objects, lead to, by identity."""
    heap, forced = s.heap, s.forced  # type: ignore[attr-defined]
    waiting: list[Any] = [*values(s)]
    for ref in heap.fields:
        if ref.path is not None and not _in_frame(ref.path):
            waiting += _contents(heap, ref)
    waiting += [recipe.ref for recipe in s.trace.classes.values()]
    for _, _, args, names in s.trace.wrappers.values():
        waiting += [*args, *names.values()]
    found: dict[int, Value] = {}
    while waiting:
        value = waiting.pop()
        if isinstance(value, Lazy):
            value = forced.get(value, value)
        if id(value) in found or isinstance(value, Const):
            continue
        found[id(value)] = value
        if isinstance(value, Pack):
            waiting += value.items
        elif isinstance(value, Ref):
            waiting += _contents(heap, value)
    return found


def _in_frame(path: Path) -> bool:
    """Whether the object was found in the frames, which may let go of it."""
    while path.parent is not None:
        path = path.parent
    return path.kind in (SLOT, CALLER_SLOT, HANDLED)


def _contents(heap: Heap, ref: Ref) -> Iterator[Value]:
    """What the object holds as far as it is known; once its items are known, they alone are true."""
    fields = heap.fields_of(ref)
    for name, field in fields.items():
        if name is not REFERENT and not (heap.ITEMS in fields and type(name) is tuple and name[0] in ("k", "appended")):
            yield from parts(field)


def parts(field: Any) -> Iterable[Value]:
    """The values inside one field of the heap."""
    if isinstance(field, Value):
        yield field
    elif isinstance(field, tuple):
        for item in field:
            yield from parts(item)
    elif isinstance(field, dict):
        for item in field.values():
            yield from parts(item)
    elif field is not MISSING and hasattr(field, "slots") and hasattr(field, "stack"):  # the frame of a generator
        yield from (*field.slots, *field.stack)
