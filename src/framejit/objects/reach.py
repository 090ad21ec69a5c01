"""What lives: the values that the frames of a capture lead to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from framejit.core.classes import BASES, LATER, META, NAMESPACE
from framejit.core.heap import MISSING, Heap
from framejit.core.lifetime import ending
from framejit.core.path import CALLED, FRAME_SLOTS, HANDLED, Path
from framejit.core.path import REFERENT as PATH_REFERENT
from framejit.core.services import Services
from framejit.core.value import Const, Lazy, Pack, Ref, Value
from framejit.objects import generator, later

REFERENT = ("referent",)  # of a weak reference, which holds nothing
ARTIFICIAL = frozenset({REFERENT, ("of exception",), later.ARGUMENTS})  # the second: the exception of a traceback; no references in CPython
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
        if any(type(real) is kind for kind in generator.KINDS):  # a class may not want to be hashed
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


def lost(s: Services, among: list[Watched]) -> int:
    """Of how many of them the instruction that was just done may have taken the last reference."""
    known: dict[int, bool] = {}
    missing = [one for one in among if not _is_held(s, one, known)]
    if not missing:
        return 0
    if too_long(s):
        return 1
    reals = {id(getattr(value, "real", None)) for value in reached(s).values()}
    gone = {id(one.value.real): one for one in missing if id(one.value.real) not in reals}
    return sum(not one.ends <= reals and not ends(s, one.value) <= reals for one in gone.values())


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
    if s.heap.get(one.owner, generator.RUNNING) or not in_frame(one.owner.path):
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
    for holding in interp.held:
        found += holding
    for frame in interp.frames:
        found += [frame.func, *frame.slots, *frame.stack, *frame.kept]
        found += [value for value in (frame.extra, frame.names, frame.generator) if value is not None]
    return found


def reached(s: Services, until: set[int] | None = None) -> dict[int, Value]:
    """All values that the frames, and the written parts of real objects, lead to, by identity; no more once all of `until` are found."""
    heap, forced = s.heap, s.forced  # type: ignore[attr-defined]
    found: dict[int, Value] = {}
    missing = set() if until is None else set(until)
    if until is not None and not until:
        return found
    for start in (values, _elsewhere, _behind_constants):
        waiting: list[Any] = [*start(s)]
        for value in waiting:  # which grows meanwhile
            if isinstance(value, Lazy):
                value = forced.get(value, value)
            if type(value) is Const or id(value) in found:
                continue
            found[id(value)] = value
            if id(value) in missing:
                missing.discard(id(value))
                if not missing:
                    return found
            if isinstance(value, Pack):
                waiting += value.items
            elif isinstance(value, Ref):
                waiting += contents(heap, value)
    return found


def _elsewhere(s: Services) -> Iterator[Value]:
    """What is held outside of the frames: by real objects, by the classes and wrappers of the capture."""
    heap = s.heap
    for ref in heap.fields:
        if ref.path is not None and not in_frame(ref.path):
            yield from contents(heap, ref)
    for _, _, args, names in s.trace.wrappers.values():
        yield from (*args, *names.values())
    for recipe in s.trace.classes.values():
        yield recipe.ref


def _behind_constants(s: Services) -> Iterator[Value]:
    """Real objects found through what the frames hold and the walk does not look into: constants, inputs that nobody asked about."""
    held = {path for value in values(s) if (path := getattr(value, "path", None)) is not None}
    written = {ref.path for ref, fields in s.heap.written.items() if fields}
    for ref in s.heap.fields:
        path = ref.path
        while path is not None and path not in held:
            path = path.parent
            if path in written:
                path = None
        if path is not None:
            yield ref


def in_doubt(s: Services, found: dict[int, Value]) -> set[int]:
    """What real objects hold of which it is not known whether they live: those of the frames that are not found there any more."""
    waiting: list[Value] = [ref for ref in s.heap.fields if ref.path is not None and in_frame(ref.path) and id(ref) not in found]
    seen: set[int] = set()
    for value in waiting:  # which grows meanwhile
        if isinstance(value, (Ref, Pack)) and id(value) not in seen and id(value) not in found:
            seen.add(id(value))
            waiting += value.items if isinstance(value, Pack) else contents(s.heap, value)
    return seen


def _of_class(fields: dict[Any, Any]) -> list[Value]:
    """What a captured class holds: what was written to it last."""
    present: dict[str, Value] = {key.obj: value for key, value in fields[NAMESPACE]}
    found: list[Value] = []
    for function, _, *args in fields[LATER]:
        if function is type.__setattr__:
            present[args[0].obj] = args[1]
        elif function is type.__delattr__:
            present.pop(args[0].obj, None)
        else:
            found += parts(tuple(args))
    return [*found, *present.values(), *parts(fields[BASES]), *parts(fields[META])]


def in_frame(path: Path) -> bool:
    """Whether the object was found in the frames, which may let go of it."""
    while path.parent is not None:
        path = path.parent
    return path.kind in FRAME_SLOTS or path.kind == HANDLED


def is_held_elsewhere(s: Services, path: Path) -> bool:
    """Whether what was found outside of the frames is there still: the region writes to nothing that leads to it."""
    written = {ref.path for ref, fields in s.heap.written.items() if fields}
    step: Path | None = path
    while step is not None:
        if (step in written and step is not path) or step.kind in (CALLED, PATH_REFERENT):
            return False
        step = step.parent
    return not in_frame(path)


def contents(heap: Heap, ref: Ref) -> list[Value]:
    """What the object holds as far as it is known; once its items are known, they alone are true."""
    fields = heap.fields_of(ref)
    if NAMESPACE in fields:
        return _of_class(fields)
    found: list[Value] = []
    for name, field in fields.items():
        if name not in ARTIFICIAL and not (type(name) is tuple and name[0] in ("k", "appended") and heap.ITEMS in fields):
            _collect(field, found)
            if type(name) is tuple and name[0] == "k" and isinstance(name[1], Value) and field is not MISSING:
                found.append(name[1])
    return found


def parts(field: Any) -> list[Value]:
    """The values inside one field of the heap."""
    found: list[Value] = []
    _collect(field, found)
    return found


def _collect(field: Any, found: list[Value]) -> None:
    if isinstance(field, Value):
        found.append(field)
    elif isinstance(field, (tuple, dict)):
        for item in field.values() if isinstance(field, dict) else field:
            if isinstance(item, Value):
                found.append(item)
            else:
                _collect(item, found)
    elif field is not MISSING and hasattr(field, "slots") and hasattr(field, "stack"):  # the frame of a generator
        found += (*field.slots, *field.stack)
