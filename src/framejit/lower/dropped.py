"""What the writes of a region take out of objects that are there before it: in a later call other values, whose death may run code."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import CellType, MemberDescriptorType, TracebackType
from typing import Any

from framejit.core.heap import NAMESPACE_OF, Heap
from framejit.core.lifetime import is_quiet
from framejit.core.path import Path
from framejit.core.trace import Trace
from framejit.core.value import Const, Number, Ref, Value
from framejit.objects.reach import parts
from framejit.objects.rebuild import ADVANCERS

KNOWN = ("EQ", "IS", "TENSOR")  # what is asked so holds nothing that runs code
PLAIN = (int, float, bool, str, bytes, complex, type(None))  # nor do objects of these classes


def guard_dropped(trace: Trace) -> None:
    """Ask of each value that was dropped here without effect whether that is so: where it is not, CPython has to see its death."""
    known = {
        guard.path for guard in trace.guards.values()
        if guard.predicate in KNOWN or (guard.predicate == "TYPE" and any(guard.operand is cls for cls in PLAIN))
    }  # fmt: skip
    for path, real in list(_dropped(trace.heap)):
        if path not in known and type(real) is not TracebackType and is_quiet(real):
            trace.guard(path, "QUIET", is_quiet)
    for ref, fields in list(trace.heap.dirty()):
        for field in fields if issubclass(type(ref.real), type) else ():
            quiet = functools.partial(is_quiet_in_class, name=field[1]) if type(field) is tuple and field[0] == "attribute" else None
            if quiet is not None and quiet(ref.real):
                trace.guard(ref.path, "PY", quiet)
    for ref, key in list(_keys(trace.heap)):
        if is_quiet(dict.get(ref.real, key)):
            trace.guard(ref.path, "ITEM_QUIET", key)


def is_quiet_in_class(cls: type, name: str) -> bool:
    """Whether no Python code runs when a class loses what it has itself under a name."""
    return is_quiet(NAMESPACE_OF(cls).get(name))


def _dropped(heap: Heap) -> Iterator[tuple[Path, Any]]:
    """The values that were in written fields before the region and are not there behind it; where nobody read the field, its object."""
    for ref, fields in heap.dirty():
        for field in () if ref.cls in ADVANCERS else fields:
            found = heap.initial_of(ref, field)
            if found is not None:
                kept = {getattr(part, "path", None) for part in parts(heap.get(ref, field))}
                for part in parts(found):
                    path = getattr(part, "path", None)
                    if path is not None and path not in kept and not isinstance(part, (Const, Number)):
                        yield path, part.real  # type: ignore[attr-defined]
            elif _holds(ref, field):
                yield ref.path, ref.real  # type: ignore[misc]


def _keys(heap: Heap) -> Iterator[tuple[Ref, Any]]:
    """The keys of dicts that were written, or deleted, and that nobody had read."""
    for ref, fields in heap.dirty():
        for field in fields if issubclass(type(ref.real), dict) and heap.ITEMS not in fields else ():
            if type(field) is tuple and field[0] == "k" and not isinstance(field[1], Value) and heap.initial_of(ref, field) is None:
                yield ref, field[1]


def _holds(ref: Ref, field: Any) -> bool:
    """Whether an object is asked as a whole, since nobody knows what it holds in a field."""
    return isinstance(field, MemberDescriptorType) or field == Heap.ITEMS or issubclass(type(ref.real), CellType)
