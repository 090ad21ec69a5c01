"""The trail and the heap: all state of a capture that an undone instruction must give back."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import CellType, MemberDescriptorType
from typing import Any

from framejit.core.errors import Unsupported
from framejit.core.lifetime import ending
from framejit.core.value import Ref
from framejit.reasons import R

LONGEST = 4096  # items
MOST_KEPT = 1 << 25  # items of all states of containers that a capture keeps: some hundred megabytes
NAMESPACE_OF: Any = vars(type)["__dict__"].__get__
MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING"})()


class Trail:
    """A journal of writes to dicts and of undo actions; `mark()` and `rollback(mark)`."""

    __slots__ = ("log",)

    def __init__(self) -> None:
        self.log: list[tuple[Any, Any, Any]] = []

    def mark(self) -> int:
        """The present end of the journal."""
        return len(self.log)

    def put(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        """Write `table[key] = value` so that it can be undone."""
        self.log.append((table, key, table.get(key, MISSING)))
        table[key] = value

    def on_undo(self, action: Callable[[], None]) -> None:
        """Have `action` called when the journal is rolled back past this point."""
        self.log.append((None, action, None))

    def rollback(self, mark: int) -> None:
        """Undo everything since `mark`, last first."""
        log = self.log
        while len(log) > mark:
            table, key, old = log.pop()
            if table is None:
                key()
            elif old is MISSING:
                table.pop(key, None)
            else:
                table[key] = old


class Heap:
    """Fields of every `Ref`: `fields[ref][key]` now, `initial[ref][key]` as first read from the real object.

    Field keys are: an attribute name (str) for entries of the instance dict, a member descriptor for slots, and for the
    storage of built-in types the constants below. A value MISSING means known to be absent.
    """

    __slots__ = ("trail", "fields", "initial", "written", "reads", "given", "kept")

    ITEMS = ("items",)  # list: tuple of Values; dict, set: dict of key -> (key Value, Value)
    APPENDED = ("appended",)  # list of which only the end was touched: values appended to the unread base

    def __init__(self, trail: Trail):
        self.trail = trail
        self.fields: dict[Ref, dict[Any, Any]] = {}
        self.initial: dict[Ref, dict[Any, Any]] = {}
        self.written: dict[Ref, dict[Any, frozenset[int]]] = {}  # ref -> fields in order of first write -> what must not be dropped
        self.reads: dict[tuple[Ref, Any], Any] = {}
        self.kept = 0
        self.given: dict[int, Callable[[Heap], bool]] = {}  # by identity, what runs no Python code any more when it dies, if this says so

    def new(self, cls: type, fields: dict[Any, Any] | None = None) -> Ref:
        """A virtual object with these fields."""
        ref = Ref(cls)
        self.trail.put(self.fields, ref, dict(fields) if fields else {})
        return ref

    def _table(self, tables: dict[Ref, dict[Any, Any]], ref: Ref) -> dict[Any, Any]:
        found = tables.get(ref)
        if found is None:
            found = {}
            self.trail.put(tables, ref, found)
        return found

    def get(self, ref: Ref, field: Any) -> Any:
        """The field's present value, or None when it was neither read nor written yet."""
        table = self.fields.get(ref)
        return None if table is None else table.get(field)

    def load(self, ref: Ref, field: Any, value: Any) -> Any:
        """Remember what the real object holds in a field (a read, not an effect)."""
        self.trail.put(self._table(self.initial, ref), field, value)
        self.trail.put(self._table(self.fields, ref), field, value)
        return value

    def set(self, ref: Ref, field: Any, value: Any, held: Any = None) -> None:
        """Write a field: an effect if the object is real; the new value may hold another, `held`.

        Unsupported where a very long container grows: each state of it is kept.
        """
        if field is self.ITEMS or field is self.APPENDED:
            before = self.get(ref, field)
            if before is not None:
                self.kept += len(value)
                if LONGEST <= len(before) < len(value) or self.kept > MOST_KEPT:
                    raise Unsupported(R.CODE_TOO_LARGE, ref, "a container that grows very long, or changes very often")
        if ref.path is not None:
            writes = self._table(self.written, ref)
            if field not in writes:
                self.trail.put(writes, field, _endings(self._replaced(ref, field)))
            dropped = writes[field] and writes[field] - _endings(getattr(part, "real", None) for part in _values((value, held)))
            if dropped and not all(one in self.given and self.given[one](self) for one in dropped):
                raise Unsupported(R.OPAQUE_OPERATION, ref, "a finalizer may run when an item is dropped")
        self.trail.put(self._table(self.fields, ref), field, value)

    def _replaced(self, ref: Ref, field: Any) -> Iterable[Any]:
        """The real objects that the first write to a field takes out of a real object."""
        found = self.initial_of(ref, field)
        real: Any = ref.real
        if found is not None:
            return (value.real for value in _values(found) if getattr(value, "path", None) is not None and hasattr(value, "real"))
        if type(real) is CellType:
            return gc.get_referents(real)
        if issubclass(type(real), dict) and type(field) is tuple:
            of_key = field[0] == "k" and not isinstance(field[1], Ref)
            return dict.values(real) if field is self.ITEMS else [dict.get(real, field[1])] if of_key else ()
        if type(field) is MemberDescriptorType:
            return _slot(field, real)
        if type(field) is tuple and field[0] == "attribute" and issubclass(type(real), type):
            namespace = NAMESPACE_OF(real)
            return (namespace[field[1]],) if field[1] in namespace else ()
        kind = next((kind for kind in (list, set) if field is self.ITEMS and issubclass(type(real), kind)), None)
        return () if kind is None else kind.__iter__(real)

    @contextmanager
    def watched(self) -> Iterator[dict[tuple[Ref, Any], Any]]:
        """Collect the fields that are asked for meanwhile, with their values at the end."""
        kind, before = type(self), self.reads
        reads: dict[tuple[Ref, Any], Any] = {}
        self.reads, self.__class__ = reads, WatchedHeap
        try:
            yield reads
        finally:
            self.reads, self.__class__ = before, kind
            for ref, field in reads:
                reads[ref, field] = before[ref, field] = self.get(ref, field)

    def tables(self) -> frozenset[int]:
        """The identities of all field tables at present, for `acted`."""
        return frozenset(id(table) for table in self.fields.values())

    def acted(self, mark: int, tables: frozenset[int]) -> bool:
        """Whether objects that had these field tables at `mark` were written since; what was only read does not count."""
        log, initial = self.trail.log, {id(table) for table in self.initial.values()}
        loaded = {index + 1 for index in range(mark, len(log)) if id(log[index][0]) in initial}
        changing = tables | {id(table) for table in self.written.values()}
        return any(id(log[index][0]) in changing and index not in loaded for index in range(mark, len(log)))

    def fields_of(self, ref: Ref) -> dict[Any, Any]:
        """All fields known of an object."""
        return self.fields.get(ref) or {}

    def initial_of(self, ref: Ref, field: Any) -> Any:
        """What the real object held in a field before the region, None if never read."""
        table = self.initial.get(ref)
        return None if table is None else table.get(field)

    def is_written(self, ref: Ref) -> bool:
        """Whether the region writes to the object, which is real."""
        return bool(self.written.get(ref))

    def dirty(self) -> Iterator[tuple[Ref, list[Any]]]:
        """Real objects with written fields, in order of their first write."""
        for ref, writes in self.written.items():
            if not ref.virtual:
                yield ref, list(writes)


def _slot(member: MemberDescriptorType, instance: Any) -> tuple[Any, ...]:
    """What a slot of an object holds, if anything."""
    try:
        return (member.__get__(instance),)
    except AttributeError:
        return ()


def _endings(objects: Iterable[Any]) -> frozenset[int]:
    """What may run Python code when these objects die."""
    return frozenset(one for real in objects for one in ending(real))


def _values(field: Any) -> Iterator[Any]:
    """The values inside a field."""
    if isinstance(field, tuple):
        for item in field:
            yield from _values(item)
    elif isinstance(field, dict):
        for item in field.values():
            yield from _values(item)
    else:
        yield field


class WatchedHeap(Heap):
    """A heap that notes what is read."""

    __slots__ = ()

    def get(self, ref: Ref, field: Any) -> Any:
        """The field's present value, noted as read."""
        self.reads[ref, field] = None
        return super().get(ref, field)
