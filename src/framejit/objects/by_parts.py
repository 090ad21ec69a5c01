"""Immutable objects that are others each time: a real one is known by what it is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from framejit.core.errors import Unsupported
from framejit.core.path import CALLED, Called, Path
from framejit.core.services import Services
from framejit.core.value import Const, Value


def parts_at(path: Path, parts: Callable[[Any], Any]) -> Path:
    """Where a function, which runs no code of the user's, finds the parts of the object at `path`."""
    return path.to(CALLED, Called(parts, (), f"parts({path})"))


def by_parts(s: Services, path: Path, real: Any, parts: Callable[[Any], Any] | None) -> Value:
    """The constant at `path`: that very object, unless it is another one each time; then all that `parts` makes of it is guarded."""
    if parts is not None and s.is_another(path, real, type(real)):  # type: ignore[attr-defined]
        s.guard(path, "TYPE", type(real))
        try:
            s.constant(s.input(parts_at(path, parts), parts(real)))
            return Const(real, path)
        except Unsupported:
            pass  # a part is no constant
    s.guard(path, "IS", real)
    return Const(real, path)
