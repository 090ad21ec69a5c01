"""How objects that the capture made die, where `__del__` or a weak reference's callback waits for it: one by one, as CPython counts.

Where an instruction dropped something that leads to such an object, and nothing else does, the objects that nothing leads to are told
apart: those in a cycle, and what these hold, live on until CPython's collector finds them; the others die now. The one that the rest
hangs on dies first: its `__del__` is called, its weak references are cleared, their callbacks called, and then it lets go of what it
holds, in CPython's order. Where that order is not known, or C code may hold what the capture does not see, CPython does the instruction.
"""

from __future__ import annotations

import _weakrefset
import weakref
from collections.abc import Container, Iterable, Iterator, Sequence
from types import AsyncGeneratorType, CoroutineType, FrameType, GeneratorType, NoneType, TracebackType
from typing import Any

from framejit.core.classes import LATER, NAMESPACE
from framejit.core.errors import Raised, Retrace, Unsupported
from framejit.core.heap import MISSING, Heap
from framejit.core.services import Services
from framejit.core.value import NONE, NULL, TRUE, Const, Lazy, Pack, Ref, Value
from framejit.objects import reach
from framejit.objects.function import CODE
from framejit.objects.generator import FRAME
from framejit.objects.object_ import DICT_FIELD
from framejit.reasons import R

CALLBACK, DEAD = ("callback",), ("dead",)
WATCHED = "waited for"  # in the cache of the trace: reference with a callback -> its referent; object with `__del__` -> itself
REFERENCES = "weak references"  # (REFERENCES, referent) -> the references of the capture, in the order of CPython's list
UNDEAD = "unreachable cycles"  # what only the collector finds: it is made at the exit
UNSURE = "when an object dies"
GENERATORS = (GeneratorType, CoroutineType, AsyncGeneratorType)
OBJECTS = frozenset((Ref, Pack))
MANY = 200  # objects in unreachable cycles: the collector has come by then


def references(s: Services, of: Value) -> tuple[Ref, ...]:
    """The weak references to an object that the capture made, dead ones included, in the order of CPython's list."""
    return references_in(s.trace.cache, of)


def references_in(cache: dict[Any, Any], of: Value) -> tuple[Ref, ...]:
    """The same, from the cache of the trace."""
    found: tuple[Ref, ...] = cache.get((REFERENCES, _name(of)), ())
    return found


def refer(s: Services, ref: Ref, of: Value, place: int) -> None:
    """Enter a new weak reference in the list of its referent."""
    cache, known = s.trace.cache, references(s, of)
    s.trace.trail.put(cache, (REFERENCES, _name(of)), (*known[:place], ref, *known[place:]))
    s.trace.trail.put(cache, REFERENCES, True)


def _name(of: Value) -> Any:
    return id(of.obj) if isinstance(of, Const) else of


def watch(s: Services, ref: Ref, of: Value) -> None:
    """From now on it is looked for whether the referent dies: the reference has a callback."""
    before = s.trace.cache.get(WATCHED) or {}
    s.trace.trail.put(s.trace.cache, WATCHED, {**before, ref: of})
    if not before:
        s.drops.begin(s)  # type: ignore[attr-defined]


def watch_end(s: Services, made: Ref) -> None:
    """A new object of a class with `__del__`, which is called when nothing holds the object any more."""
    if not isinstance(s.special(made, "__del__"), Pack):
        s.unsupported(R.OPAQUE_CALL, made, "its instances have a finalizer")
    s.trace.trail.put(s.trace.cache, reach.KEEP, True)
    watch(s, made, made)


def _forget(s: Services, refs: Iterable[Ref]) -> None:
    gone = set(refs)
    s.trace.trail.put(s.trace.cache, WATCHED, {ref: of for ref, of in s.trace.cache[WATCHED].items() if ref not in gone})


# -- what was dropped -----------------------------------------------------------------------------------------------------


class Drops:
    """What the frames and the heap let go of: all that can have died, so that nobody walks the heap where nothing was dropped."""

    __slots__ = ("holding", "seen", "dropped", "hidden", "born")

    def __init__(self) -> None:
        self.holding: dict[int, Value] = {}  # what the frames held when it was looked last
        self.seen = 0  # end of the part of the trail that was looked at
        self.dropped: dict[int, Value] = {}
        self.hidden: dict[int, Value] = {}  # of these, what was dropped while C code ran
        self.born: dict[int, Value] = {}  # what was made

    def begin(self, s: Services) -> None:
        """A first object is waited for: C code may hold what was dropped before."""
        self.holding, self.seen = dict(_by_id(s, reach.values(s))), len(s.trace.trail.log)
        self.dropped, self.hidden = dict(_by_id(s, s.heap.fields if is_hidden(s) else ())), {}

    def note(self, s: Services, hidden: bool) -> None:
        """Find out what was dropped since the last time."""
        log, new = s.trace.trail.log, dict(_by_id(s, reach.values(s)))
        before = self.holding
        dropped = {key: before[key] for key in before.keys() - new.keys()}
        if len(log) > self.seen:
            dropped.update(_by_id(s, _written_over(s, log[self.seen :])))
            self.born.update(_by_id(s, (key for table, key, _ in log[self.seen :] if table is s.heap.fields)))
        self.holding, self.seen = new, len(log)
        self.dropped.update(dropped)
        if hidden:
            self.hidden.update(dropped)
            self.hidden.update(self.born)

    def clear(self) -> None:
        """It was looked what became of them."""
        self.dropped.clear()
        self.hidden.clear()
        self.born.clear()


def _by_id(s: Services, values: Iterable[Value]) -> Iterator[tuple[int, Value]]:
    forced = s.forced  # type: ignore[attr-defined]
    for value in values:
        kind = type(value)
        if kind is Lazy:
            value = forced.get(value, value)
            kind = type(value)
        if kind in OBJECTS:
            yield id(value), value


def _written_over(s: Services, log: Iterable[tuple[Any, Any, Any]]) -> Iterator[Value]:
    """What these entries of the trail took out of the heap."""
    heap, others = s.heap, (s.trace.cache, s.forced, None)  # type: ignore[attr-defined]
    for table, key, old in log:
        if table is heap.fields or old is MISSING or old is None or any(table is other for other in others):
            continue
        elif type(old) is dict:
            now = table.get(key)
            now = now if type(now) is dict else {}
            for name, item in old.items():
                if now.get(name) is not item:
                    yield from reach.parts(item)
        elif type(old) is tuple:
            now = table.get(key)
            kept = {*map(id, now)} if type(now) is tuple else set()
            for item in old:
                if id(item) not in kept:
                    yield from reach.parts(item)
            if key is LATER:  # entries of the namespace of a class
                yield from reach.parts(table[NAMESPACE])
        else:
            yield from reach.parts(old)


def _below(s: Services, starts: Iterable[Value], held: Container[int]) -> set[int]:
    """These objects and what they lead to, where nothing else is known to hold it."""
    seen: set[int] = set()
    waiting = [*starts]
    for value in waiting:  # which grows meanwhile
        if type(value) not in OBJECTS or id(value) in seen or id(value) in held:
            continue
        seen.add(id(value))
        waiting += contents(s, value)
    return seen


class Ruins:
    """The objects of the capture that nothing leads to: those that were just dropped, and the cycles."""

    def __init__(self, s: Services, found: dict[int, Value], dropped: Iterable[Value]):
        self.found = found
        self.values: dict[int, Value] = {}
        self.parts_of: dict[int, list[int]] = {}
        dropped = [value for value in dropped if self._is_lost(value)]
        waiting: list[Value] = [ref for ref in s.heap.fields if self._is_lost(ref)]
        waiting += dropped
        while waiting:
            value = waiting.pop()
            if id(value) not in self.parts_of:
                parts = [part for part in contents(s, value) if self._is_lost(part)]
                self.values[id(value)] = value
                self.parts_of[id(value)] = [*map(id, parts)]
                waiting += parts
        self.undead = self._left(self.parts_of)
        self.dead = self.below(*map(id, dropped)) - self.undead  # others have died before
        held = {part for value in self.dead for part in self.parts_of[value]}
        self.roots = [value for value in self.parts_of if value in self.dead and value not in held]

    def _is_lost(self, value: Value) -> bool:
        return type(value) in OBJECTS and value.path is None and id(value) not in self.found  # type: ignore[attr-defined]

    def _left(self, among: Iterable[int]) -> set[int]:
        """What is part of a cycle or held by one: all that is left when what nothing holds is taken away again and again."""
        holders = dict.fromkeys(among, 0)
        for parts in self.parts_of.values():
            for part in parts:
                holders[part] += 1
        waiting = [value for value, count in holders.items() if not count]
        while waiting:
            value = waiting.pop()
            for part in self.parts_of[value]:
                holders[part] -= 1
                if not holders[part]:
                    waiting.append(part)
        return {value for value, count in holders.items() if count}

    def below(self, *values: int) -> set[int]:
        """The objects and all that they hold."""
        seen, waiting = {*values}, [*values]
        while waiting:
            for part in self.parts_of.get(waiting.pop(), ()):
                if part not in seen:
                    seen.add(part)
                    waiting.append(part)
        return seen


def contents(s: Services, value: Value) -> list[Value]:
    """What an object of the capture holds, in the order in which CPython lets go of it as far as that is known."""
    forced = s.forced  # type: ignore[attr-defined]
    if isinstance(value, Pack):
        found: Sequence[Value] = value.items[::-1] if value.cls is tuple else value.items
    else:
        found = reach.contents(s.heap, value)  # type: ignore[arg-type]
        if issubclass(value.cls, list):
            items = s.heap.get(value, Heap.ITEMS) or ()  # type: ignore[arg-type]
            own = {*map(id, items)}
            found = [*reversed(items), *(part for part in found if id(part) not in own)]
    return [forced.get(part, part) if type(part) is Lazy else part for part in found if type(part) is not Const]


def _is_ordered(value: Value) -> bool:
    """Whether it is known in which order an object lets go of its parts."""
    return value.cls in ((tuple,) if isinstance(value, Pack) else (list, dict, TracebackType))


# -- deaths ---------------------------------------------------------------------------------------------------------------


def is_hidden(s: Services) -> bool:
    """Whether C code runs, or Python code that stands for it: it may hold what the capture does not see."""
    interp: Any = s
    return interp.hidden > 0 or any(frame.is_ours for frame in interp.frames[interp.floor :])


def settle(s: Services, step: int, more: Sequence[Value] = ()) -> None:
    """Have what the present instruction dropped die, and its callbacks called; `more` was dropped too."""
    try:
        _settle(s, more)
    except Unsupported:
        if s.dying:  # type: ignore[attr-defined]
            raise
        raise Retrace(("break", step)) from None


def _unsure(s: Services, value: Value | None = None) -> None:
    s.unsupported(R.OPAQUE_OPERATION, value, UNSURE)


def _settle(s: Services, more: Iterable[Value]) -> None:
    drops: Drops = s.drops  # type: ignore[attr-defined]
    if not s.trace.cache[WATCHED]:
        return
    hidden = is_hidden(s)
    drops.note(s, hidden)
    if hidden:
        return
    dropped = [*drops.dropped.values(), *more]
    born, early = [*drops.born.values()], [*drops.hidden.values()]
    drops.clear()
    if dropped or born:
        _look_after(s, dropped, born, early)


def _look_after(s: Services, released: list[Value], born: list[Value], early: list[Value]) -> None:
    """Of what was released or only made, find what has died; `early` is what went while C code ran, nobody knows when."""
    dropped = [*released, *born]
    watched: dict[Ref, Value] = s.trace.cache[WATCHED]
    asked = {id(of) for of in watched.values()} & _below(s, dropped, s.drops.holding)  # type: ignore[attr-defined]
    if not asked:
        return
    if reach.too_long(s):
        _unsure(s)
    found = reach.reached(s, asked)
    asked.difference_update(found)
    if not asked:
        return
    if any(id(of) in asked and id(ref) in found and _may_be_gone(s, of) for ref, of in watched.items()):
        _unsure(s)
    doubtful = reach.in_doubt(s, found)
    if any(id(of) in asked and (id(of) in doubtful or id(ref) in doubtful) for ref, of in watched.items() if of.path is None):  # type: ignore[attr-defined]
        _unsure(s)
    ruins = Ruins(s, found, dropped)
    if len(ruins.undead) > MANY:
        _unsure(s)
    lost = asked & ruins.dead
    waiting = [ref for ref, of in watched.items() if id(of) in lost]
    gone = [ref for ref in waiting if not any(id(ref) in some for some in (found, ruins.undead, ruins.dead))]
    if gone:
        _forget(s, gone)
    lost = {id(watched[ref]) for ref in waiting if ref not in set(gone)}
    if not lost:
        return
    told = lost | {id(ref) for ref in waiting} | _referred(s, ruins)
    if not told.isdisjoint(ruins.below(*(ruins.dead & {id(value) for value in early}))):
        _unsure(s)
    starts = {*ruins.roots, *map(id, released)} & ruins.dead  # what the instruction let go of, one after the other
    roots = [root for root in starts if not told.isdisjoint(ruins.below(root))]
    if len(roots) != 1 or not _is_last_act(s, ruins.values[roots[0]]):
        _unsure(s)
    _die(s, ruins, ruins.values[roots[0]], told)
    _settle(s, ())


def _referred(s: Services, ruins: Ruins) -> set[int]:
    """Of what has died, the objects that have weak references: callbacks may ask them."""
    return {
        value for value in ruins.dead
        if any(s.heap.get(ref, DEAD) is None for ref in references(s, ruins.values[value]))
    }  # fmt: skip


def _is_last_act(s: Services, root: Value) -> bool:
    """Whether the present instruction has changed nothing since it let go of the object: its callbacks would see that."""
    log, tables = s.trace.trail.log, s.heap.tables()
    last = len(log)
    for index in range(s.mark, len(log)):  # type: ignore[attr-defined]
        table, _, old = log[index]
        if id(table) in tables and _holds(old, root):
            last = index
    return not any(id(table) in tables for table, _, _ in log[last + 1 :])


def _holds(field: Any, value: Value) -> bool:
    return any(part is value or (isinstance(part, Pack) and any(item is value for item in part.items)) for part in reach.parts(field))


def _may_be_gone(s: Services, of: Value) -> bool:
    """Whether a real object may have lost its last owner: CPython counts."""
    return getattr(of, "path", None) is not None and not isinstance(of, Const) and may_have_died(s, getattr(of, "real", None))


def may_have_died(s: Services, real: Any) -> bool:
    """Whether the region may have dropped a real object, or what held it."""
    dropped = s.trace.flags.get("dropped") or any(s.heap.dirty())
    return bool(dropped) and not any(getattr(value, "real", None) is real for value in reach.values(s))


def _die(s: Services, ruins: Ruins, value: Value, told: set[int]) -> None:
    """One object dies: its weak references are cleared, then it lets go of what it holds."""
    if isinstance(value, Ref) and value in s.trace.cache[WATCHED] and s.trace.cache[WATCHED][value] is value:
        _finalize(s, value)
        return
    held: list[Any] = s.held  # type: ignore[attr-defined]
    parts = [part for part in contents(s, value) if id(part) in ruins.dead]
    telling = [part for part in parts if not told.isdisjoint(ruins.below(id(part)))]
    if (len(telling) > 1 and not _is_ordered(value)) or (telling and (_acts(s, value) or _has_many(s, ruins, value, told))):
        _unsure(s, value)
    holding = list(parts)
    held.append(holding)
    s.dying += 1  # type: ignore[attr-defined]
    try:
        _call_back(s, value)
        for part in telling:
            _drop(holding, part)
            _settle(s, (part,))
    finally:
        s.dying -= 1  # type: ignore[attr-defined]
    held.pop()


def _finalize(s: Services, value: Ref) -> None:
    """`__del__` is called, once, and the object dies unless something holds it now."""
    _forget(s, [value])
    s.held.append([value])  # type: ignore[attr-defined]
    s.dying += 1  # type: ignore[attr-defined]
    try:
        bound = s.special(value, "__del__")
        assert isinstance(bound, Pack)
        _run(s, *bound.items)
    finally:
        s.dying -= 1  # type: ignore[attr-defined]
    s.held.pop()  # type: ignore[attr-defined]
    if living(s, {id(value)}):
        _unsure(s, value)  # the real one would not know that it was finalized
    s.dying += 1  # type: ignore[attr-defined]
    try:
        _settle(s, (value,))
    finally:
        s.dying -= 1  # type: ignore[attr-defined]


def _has_many(s: Services, ruins: Ruins, value: Value, told: set[int]) -> bool:
    """Whether several attributes lead there: they are let go of in the order in which instances of the class got them first."""
    names = s.heap.get(value, DICT_FIELD) if isinstance(value, Ref) else None
    parts = contents(s, names) if isinstance(names, Ref) else ()
    return sum(id(part) in ruins.dead and not told.isdisjoint(ruins.below(id(part))) for part in parts) > 1


def _acts(s: Services, value: Value) -> bool:
    """Whether the object does something when it dies: a suspended generator leaves its blocks."""
    frame = s.heap.get(value, FRAME) if isinstance(value, Ref) and value.cls in GENERATORS else None
    return frame is not None and bool(frame.code.exception_table)


def _drop(holding: list[Value], part: Value) -> None:
    place = next(place for place, one in enumerate(holding) if one is part)
    del holding[place]


def _call_back(s: Services, value: Value) -> None:
    refs = [ref for ref in references(s, value) if s.heap.get(ref, DEAD) is None]
    if not refs:
        return
    waiting = [(ref, s.heap.get(ref, CALLBACK)) for ref in refs if s.force(s.heap.get(ref, CALLBACK)).cls is not NoneType]
    found = living(s, {id(ref) for ref, _ in waiting})
    for ref in refs:
        s.heap.set(ref, DEAD, TRUE)
        s.heap.set(ref, CALLBACK, NONE)
    _forget(s, refs)
    waiting = [pair for pair in waiting if id(pair[0]) in found]
    holding = [value for pair in waiting for value in pair]
    s.held.append(holding)  # type: ignore[attr-defined]
    for ref, callback in waiting:
        _run(s, callback, ref)
    s.held.pop()  # type: ignore[attr-defined]
    _settle(s, ())


def _run(s: Services, callback: Value, *args: Value) -> None:
    """Call a callback or `__del__` as CPython does where an object dies; what it raises would only be printed."""
    interp: Any = s
    hidden, floor = interp.hidden, interp.floor
    interp.hidden, interp.floor = 1, len(interp.frames)
    try:
        pending = s.tail_call(callback, args)
        interp.hidden = -1  # no C code waits for this frame
        s.finish(pending)
    except Raised as raised:
        s.unsupported(R.OUTPUT, raised.value, "a callback raises")
    finally:
        interp.hidden, interp.floor = hidden, floor


def leave(s: Services, frame: Any, step: int) -> None:
    """A frame ends: its locals are let go one after the other."""
    watched = s.trace.cache[WATCHED]
    if not watched or is_hidden(s):
        return
    slots, is_root = frame.slots, s.is_root(frame)  # type: ignore[attr-defined]
    refs = living(s, {*map(id, watched)}) if is_root else set()
    saved = list(slots)
    slots[:] = [NULL] * len(slots)
    left = [value for _, value in _by_id(s, saved)]
    asked = {id(of) for of in watched.values()} & _below(s, left, {key for key, _ in _by_id(s, reach.values(s))})
    if asked or is_root:
        found = reach.reached(s, None if is_root else asked)
        slots[:] = [value if is_root and getattr(value, "path", None) is not None else NULL for value in saved]
        kept = reach.reached(s, asked) if is_root else found  # what real objects hold is real when CPython lets go of these
        lost = any(id(of) in asked and id(of) not in kept and isinstance(of, Ref) and of.path is None for of in watched.values())
        if (lost and _cannot_tell(s, found, is_root)) or (is_root and _real_ones_end(s, found, lost, refs)):
            raise Retrace(("break", step))
        slots[:] = saved
        for index, value in enumerate(saved if lost else ()):
            if isinstance(value, (Ref, Pack)) and value.path is None:
                slots[index] = NULL
                settle(s, step, (value,))
        slots[:] = saved
        if lost and is_root:  # another frame may come with real ones in these slots, which die in between
            s.note_ends(frame)  # type: ignore[attr-defined]
    slots[:] = saved


def _cannot_tell(s: Services, found: dict[int, Value], is_root: bool) -> bool:
    """Whether something that exists may keep the locals: a frame, the traceback of an exception."""
    kinds = (FrameType, TracebackType, BaseException)
    shown = [value for value in found.values() if isinstance(value, Ref) and issubclass(value.cls, kinds)]
    return any(value.cls is FrameType or (is_root and value.path is not None) for value in shown)


def _real_ones_end(s: Services, found: dict[int, Value], lost: bool, refs: set[int]) -> bool:
    """Whether CPython, which lets go of real objects at the end of a real frame, has to see callbacks of these references by then."""
    if lost and s.watched:  # type: ignore[attr-defined]
        return True
    for ref, of in s.trace.cache[WATCHED].items():
        path = getattr(of, "path", None)
        if isinstance(of, Const) or path is None or not reach.in_frame(path) or id(ref) not in refs:
            continue
        if lost if id(ref) in found else not _only_removes(s, ref):
            return True
    return False


def _only_removes(s: Services, ref: Ref) -> bool:
    """Whether the callback is that of a weak container: it only takes the reference out of it."""
    callback = s.force(s.heap.get(ref, CALLBACK))
    code = s.heap.get(callback, CODE) if isinstance(callback, Ref) else None
    return code is not None and code.co_filename in (weakref.__file__, _weakrefset.__file__)


def living(s: Services, among: set[int]) -> set[int]:
    """Of these, what something leads to, or what only the collector finds."""
    found = reach.reached(s, among)
    left = among.difference(found)
    return among - (left - Ruins(s, found, ()).undead) if left else among


# -- what is asked --------------------------------------------------------------------------------------------------------


def is_alive(s: Services, of: Value) -> bool | None:
    """Whether something holds the object; None where only CPython knows."""
    if isinstance(of, Const):
        return True
    found = reach.reached(s, {id(of)})
    if id(of) in found:
        return True
    if getattr(of, "path", None) is not None:
        return None if may_have_died(s, getattr(of, "real", None)) else True
    if is_hidden(s) or not isinstance(of, (Ref, Pack)) or id(of) in reach.in_doubt(s, found):
        return None
    return id(of) in Ruins(s, found, (of,)).undead


def may_leave_cycles(s: Services) -> bool:
    """Whether somebody waits for the end of an object."""
    return REFERENCES in s.trace.cache or bool(s.trace.cache.get(WATCHED))


def note_cycles(s: Services) -> None:
    """At the end of a region: what only the collector finds is made real where `__del__` or a weak reference to it may be left."""
    ruins, cache = Ruins(s, reach.reached(s), ()), s.trace.cache
    if ruins.undead:
        asked = {id(key[1]) for key in cache if type(key) is tuple and key[0] == REFERENCES}
        asked |= {id(ref) for ref in cache.get(WATCHED, ())}
        cache[UNDEAD] = [ruins.values[value] for value in ruins.undead if not asked.isdisjoint(ruins.below(value))]
