"""How virtual objects of C types are made real: a callable and the values to call it with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from framejit.core.heap import MISSING, Heap
from framejit.core.value import Ref, Value

Field = Callable[[Any], Any]
Rebuild = Callable[[Field], "tuple[Any, list[Value]]"]

REBUILDERS: dict[type, Rebuild] = {}

# Fields of iterators: the step at which one was made; per class, whether its container changed in a way that it has yet to notice.
STEP = ("step",)
OUT_OF_STEP: dict[type, Callable[[Heap, Ref], bool]] = {}

# Fields that a function writes: field -> from its content to the function and what stands behind the object among its arguments.
WRITERS: dict[Any, Callable[[Any], tuple[Any, list[Value]]]] = {}



class Spare(NamedTuple):
    """A value that no code asks for again: it is written where it is at hand, else its place is left empty."""

    value: Value


# Per class of iterators, from the fields before and now of one that was there before the region: what brings the real one to its new
# place, a function of it and of these values; None where it has not moved.
ADVANCERS: dict[type, Callable[[Field, Field], tuple[Any, list[Any]] | None]] = {}

MADE_BY = "real calls"  # (MADE_BY, virtual object) -> callable and arguments that make the real one, in the cache of the trace


def rebuild(heap: Heap, ref: Ref) -> tuple[Any, list[Value]]:
    """A callable and its arguments, which make the real object in the state of the virtual one."""
    fields = heap.fields_of(ref)

    def get(name: Any) -> Any:
        found = fields.get((name,) if isinstance(name, str) else name)
        return None if found is MISSING else found

    return REBUILDERS[ref.cls](get)
