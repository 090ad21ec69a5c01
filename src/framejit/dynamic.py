"""What was seen to change between captures: ints and floats that become numbers of the program, objects that are others each time."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any

from framejit.core.path import Path

ANYWHERE = -1  # in the place of a pc


class Seen:
    """What is known of the numbers and objects that one code object found at its paths, by (pc, path text)."""

    __slots__ = ("values", "objects", "changing", "static")

    def __init__(self) -> None:
        self.values: dict[tuple[int, str], Any] = {}
        self.objects: dict[tuple[int, str], tuple[Any, Callable[[], Any] | None]] = {}
        self.changing: set[tuple[int, str]] = set()
        self.static: set[tuple[int, str]] = set()


_TABLE: dict[int, tuple[weakref.ref[CodeType], Seen]] = {}


def seen(code: CodeType) -> Seen:
    """The record of a code object, by identity."""
    key = id(code)
    found = _TABLE.get(key)
    if found is None or found[0]() is not code:
        found = _TABLE[key] = (weakref.ref(code, lambda _ref, table=_TABLE: table.pop(key, None)), Seen())  # type: ignore[misc]
    return found[1]


def should_be_dynamic(code: CodeType, pc: int, path: Path, value: Any) -> bool:
    """Whether the number (or other constant) at this path differs from one that an earlier capture at this place met; remembers it."""
    record, key = seen(code), (pc, str(path))
    if key in record.static:
        return False
    if key in record.changing:
        return True
    if record.values.setdefault(key, value) == value:
        return False
    record.changing.add(key)
    return True


def has_changed(code: CodeType, pc: int, path: Path, content: Any) -> bool:
    """Whether the content at this path was seen to differ between captures at one place; it is then no constant anywhere in the code."""
    record, key = seen(code), (ANYWHERE, str(path))
    if key in record.changing:
        return True
    if not should_be_dynamic(code, pc, path, content):
        return False
    record.changing.add(key)
    return True


def is_another(code: CodeType, pc: int, path: Path, real: Any, kind: Any) -> bool:
    """Whether the object at this path is another one of the same kind than an earlier capture at this place met; remembers it."""
    record, key = seen(code), (pc, str(path))
    before, known = record.objects.get(key, (None, None))
    if before is kind and (known is None or known() is not real):
        record.objects[key] = kind, None
        return True
    if before is not kind:
        record.objects[key] = kind, _reference(real)
    return False


def _reference(real: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(real)
    except TypeError:
        return lambda: real


def make_static(code: CodeType, pc: int, path: str) -> None:
    """Keep the number at this path constant from now on: the graph or its backend specialised it."""
    seen(code).static.add((pc, path))


def reset(code: Any = None) -> None:
    """Forget what was learnt, of one code object or of all."""
    if code is None:
        _TABLE.clear()
    else:
        _TABLE.pop(id(code), None)
