"""What the warnings module asks of its C half, and warnings that the program itself listens to."""

from __future__ import annotations

import sys
import types
import warnings

from framejit.core.errors import Raised
from framejit.core.services import Services
from framejit.core.value import NONE, TRUE, Const, Ref, Value
from framejit.lib import warnings_ as lib
from framejit.objects import later
from framejit.reasons import R
from framejit.rules.registry import handler, pure

FILTERS_MUTATED = warnings._filters_mutated  # type: ignore[attr-defined]
MUTATED = ("effects", FILTERS_MUTATED)  # in the cache of the trace
VERSION = "version of the filters"  # in the cache of the trace
pure((sys.intern,))


@handler(FILTERS_MUTATED)
def filters_mutated(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Called once behind the region's writes to the filters: what the region warns of asks the filters that it has written."""
    ref = s.trace.cache.get(MUTATED)
    if ref is None:
        ref = Ref(types.BuiltinFunctionType, s.trace.roots.const(FILTERS_MUTATED), FILTERS_MUTATED)
        s.trace.trail.put(s.trace.cache, MUTATED, ref)
    s.heap.set(ref, ("call", FILTERS_MUTATED), TRUE)
    known = s.trace.cache.get(VERSION)
    if known is not None:
        s.heap.set(known, later.FUNCTION, Const(lib.version))  # an older one
        s.trace.trail.put(s.trace.cache, VERSION, None)
    return NONE


@handler(warnings.warn)
def warn(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """In Python where the filters changed in the region, so that nothing is remembered that was warned of before."""
    if MUTATED not in s.trace.cache:
        return s.unsupported(R.OUTPUT)
    try:
        return s.call(Const(lib.warn), args, kwargs)
    except Raised:
        return s.unsupported(R.OUTPUT)


@handler(lib.give_up, warnings.warn_explicit)
def left_to_c(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return s.unsupported(R.OUTPUT)


@handler(lib.version)
def version(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Known when the region ends: the filters have changed once more then."""
    found = s.trace.cache.get(VERSION)
    if found is None:
        found = later.later(s, int, lib.next_version)
        s.trace.trail.put(s.trace.cache, VERSION, found)
    return found
