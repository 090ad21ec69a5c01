"""Writes to objects that existed before the region, replayed once behind the graph."""

from __future__ import annotations

import contextlib
import types
from collections import deque
from typing import Any

from framejit.core.errors import Retrace, Unsupported
from framejit.core.heap import MISSING, Heap
from framejit.core.path import Path
from framejit.core.trace import Trace
from framejit.core.value import Const, Ref, Value
from framejit.lower import sets
from framejit.lower.materialize import CONTENTS, DICT_FIELD, Materializer
from framejit.lower.pack import Instruction
from framejit.objects import generator
from framejit.objects.dict_ import user_keys
from framejit.objects.iterator import STATE
from framejit.objects.members import Members
from framejit.objects.rebuild import ADVANCERS, WRITERS, Spare
from framejit.objects.sameness import APART

ITEMS, APPENDED = Heap.ITEMS, Heap.APPENDED


def empty_slot(member: Any, instance: Any) -> None:
    """Empty a slot; one that the region filled first may have been empty before."""
    with contextlib.suppress(AttributeError):
        member.__delete__(instance)


class Effects:
    """The effects of one region: values are made by the materializer, the writes follow all of them."""

    def __init__(self, materializer: Materializer):
        self.m = materializer
        self.heap = materializer.heap
        self.code: list[Instruction] = []

    def add(self, op: str, *operands: Any) -> None:
        """Emit an instruction."""
        self.code.append(Instruction(op, operands))

    def call(self, function: Any, *args: int) -> None:
        """Call a constant for its effect."""
        self.add("CALL_EFFECT", self.m.const(function), args, ())

    def emit(self) -> None:
        """The writes to all real objects, in the order in which each was first written; between those to iterators and to generators."""
        advanced = [ref for ref, _ in self.heap.dirty() if ref.cls in ADVANCERS]
        for ref in advanced:
            if ref.cls not in generator.KINDS:
                self._advance(ref)
        self._others()
        for ref in sorted((ref for ref in advanced if ref.cls in generator.KINDS), key=self._last_write):
            self._advance(ref)

    def _last_write(self, ref: Ref) -> int:
        """When a generator came to where it is: what only its frame held dies as it moves on, behind all that was done before."""
        table, log = self.heap.fields_of(ref), self.heap.trail.log
        return next((index for index in range(len(log) - 1, -1, -1) if log[index][0] is table), 0)

    def _others(self) -> None:
        for ref, fields in list(self.heap.dirty()):
            if ref.cls in ADVANCERS:
                fields = [field for field in fields if type(field) is tuple and field[0] == "attribute"]
            if ITEMS in fields:
                self._items(ref)
                fields = [field for field in fields if field not in (ITEMS, APPENDED, STATE) and not _is_key(field)]
            for field in fields:
                self._field(ref, field, self.heap.get(ref, field))

    def _advance(self, ref: Ref) -> None:
        """Bring an iterator to its new place, before anything else changes: what it iterates may become longer or shorter."""
        before, now = self.heap.initial.get(ref, {}), self.heap.fields_of(ref)
        found = ADVANCERS[ref.cls](lambda name: _present(before.get(_field_of(name))), lambda name: _present(now.get(_field_of(name))))
        if found is not None:
            m, (function, values) = self.m, found
            self.call(function, m.value(ref), *(m.spare(one.value) if isinstance(one, Spare) else m.value(one) for one in values))

    def _field(self, ref: Ref, field: Any, value: Any) -> None:
        initial = self.heap.initial_of(ref, field)
        if value is initial:
            return
        m = self.m
        if type(field) is tuple and field[0] == "call":
            self.call(field[1])
        elif type(field) is tuple and field[0] == "attribute":  # of a class or function
            kind: Any = type if ref.cls is type else object
            more = [] if value is MISSING else [m.value(value)]
            self.call(kind.__setattr__ if more else kind.__delattr__, m.value(ref), m.const(field[1]), *more)
        elif type(field) is tuple and field in WRITERS:
            function, values = WRITERS[field](value)
            self.call(function, m.value(ref), *(m.value(each) for each in values))
        elif _is_key(field):
            self._key(ref, field[1], value, initial)
        elif isinstance(field, types.MemberDescriptorType):
            if value is MISSING:
                self.call(empty_slot, m.const(field), m.value(ref))
            else:
                self.call(field.__set__, m.value(ref), m.value(value))
        elif isinstance(field, str):
            if value is MISSING:
                self.add("DEL_ATTR", m.value(ref), m.packer.const(field))
            else:
                self.add("STORE_INSTANCE_DICT", m.value(ref), m.packer.const(field), m.value(value))
        elif field == CONTENTS:
            self.add("STORE_CELL", m.value(ref), -1 if value is MISSING else m.value(value))
        elif field == APPENDED:
            for item in value:
                self.add("LIST_APPEND", m.value(ref), m.value(item))
        elif field == DICT_FIELD:
            self.add("STORE_ATTR", m.value(ref), m.packer.const("__dict__"), m.value(value))
        else:
            raise NotImplementedError(f"effect on field {field} of a {ref.cls.__qualname__}")

    def _key(self, ref: Ref, key: Any, value: Any, initial: Any) -> None:
        register, name = self.m.value(ref), self.m.value(key if isinstance(key, Value) else Const(key))
        if value is not MISSING:
            self.add("DICT_SET", register, name, self.m.value(value))
        elif initial is not MISSING:
            self.add("DICT_DEL", register, name)

    def _items(self, ref: Ref) -> None:
        initial, current = self.heap.initial_of(ref, ITEMS), self.heap.get(ref, ITEMS)
        try:
            self._changed_items(ref, initial, current)
        except Unsupported as stop:  # only user code can tell the keys before from those after: what made the last of them breaks
            steps = [key.step for name in (*(initial or ()), *current) for key in user_keys(name)]
            raise (Retrace(("break", max(steps))) if steps else stop) from None

    def _changed_items(self, ref: Ref, initial: Any, current: Any) -> None:
        if issubclass(ref.cls, dict):
            self._dict(self.m.value(ref), initial or {}, current)
        elif issubclass(ref.cls, (set, frozenset)):
            self._set(self.m.value(ref), initial, current)
        elif issubclass(ref.cls, list):
            self._list(self.m.value(ref), initial, current)
        elif issubclass(ref.cls, deque):
            if self.heap.get(ref, STATE) is self.heap.initial_of(ref, STATE):  # its iterators live on
                for place, item in enumerate(current):
                    if item is not initial[place]:
                        self.call(deque.__setitem__, self.m.value(ref), self.m.const(place), self.m.value(item))
            elif not _extends(initial, current):
                self.call(deque.clear, self.m.value(ref))
                self.call(deque.extend, self.m.value(ref), self.m.tuple_of(current))
            elif len(current) > len(initial):
                self.call(deque.extend, self.m.value(ref), self.m.tuple_of(current[len(initial) :]))
        else:
            raise NotImplementedError(f"effect on the items of a {ref.cls.__qualname__}")

    def _list(self, register: int, initial: Any, current: tuple[Value, ...]) -> None:
        if initial is not None and _extends(initial, current):
            for item in current[len(initial) :]:
                self.add("LIST_APPEND", register, self.m.value(item))
        else:
            self.add("LIST_ASSIGN", register, tuple(self.m.value(item) for item in current))

    def _dict(self, register: int, initial: dict[Any, Any], current: dict[Any, Any]) -> None:
        m = self.m
        kept = [key for key in initial if key in current]
        if list(current)[: len(kept)] != kept:
            self.add("DICT_CLEAR", register)
            kept, initial = [], {}
        for key, (name, _) in initial.items():
            if key not in current:
                self.add("DICT_DEL", register, m.key(key, name))
        for key, (name, value) in current.items():
            if key not in initial or initial[key][1] is not value:
                self.add("DICT_SET", register, m.key(key, name), m.value(value))

    def _set(self, register: int, initial: Members, current: Members) -> None:
        changes = current.history(initial)
        if changes is not None and all(state.is_replayable() for state in changes):
            sets.change(self.m, register, changes, self.call)
            return
        for key, (name, _) in initial.items():
            if key not in current:
                self.call(set.discard, register, self.m.key(key, name))
        for key, (name, _) in current.items():
            if key not in initial:
                self.add("SET_ADD", register, self.m.key(key, name))


def _field_of(name: Any) -> Any:
    return (name,) if isinstance(name, str) else name


def _present(found: Any) -> Any:
    return None if found is MISSING else found


def _is_key(field: Any) -> bool:
    return type(field) is tuple and field[0] == "k"


def _extends(initial: Any, current: Any) -> bool:
    """Whether the present items are the initial ones and more."""
    return len(current) >= len(initial) and all(a is b for a, b in zip(initial, current))


def told_apart(trace: Trace) -> list[tuple[int, tuple[Path, ...]]]:
    """Per class of which objects are told apart in containers: their number, and their paths."""
    tables = trace.cache.get(APART, {}).values()
    return [(len(table), tuple([value.path for value in table])) for table in tables if len(table) > 1]


def written_classes(heap: Heap) -> list[tuple[int, tuple[Path, ...]]]:
    """Per class of which objects are written: their number, and the paths of all known objects of the class, those first."""
    found: dict[type, dict[Path, None]] = {}
    for ref, _ in heap.dirty():
        found.setdefault(ref.cls, {})[ref.path] = None  # type: ignore[index]
    counts = {cls: len(paths) for cls, paths in found.items()}
    for ref in heap.fields:
        if ref.path is not None and ref.cls in found:
            found[ref.cls][ref.path] = None
    return [(counts[cls], tuple(paths)) for cls, paths in found.items() if len(paths) > 1]
