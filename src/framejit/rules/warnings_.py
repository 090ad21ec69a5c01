"""What the warnings module asks of its C half."""

from __future__ import annotations

import sys
import types
import warnings

from framejit.core.services import Services
from framejit.core.value import NONE, TRUE, Ref, Value
from framejit.rules.registry import handler, pure

FILTERS_MUTATED = warnings._filters_mutated  # type: ignore[attr-defined]
pure((sys.intern,))


@handler(FILTERS_MUTATED)
def filters_mutated(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Called once behind the region's writes to the filters: nothing in the region can warn."""
    key = ("effects", FILTERS_MUTATED)
    ref = s.trace.cache.get(key)
    if ref is None:
        ref = Ref(types.BuiltinFunctionType, s.trace.roots.const(FILTERS_MUTATED), FILTERS_MUTATED)
        s.trace.trail.put(s.trace.cache, key, ref)
    s.heap.set(ref, ("call", FILTERS_MUTATED), TRUE)
    return NONE
