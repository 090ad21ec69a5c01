"""Contexts: those of the capture and those that exist, and what context variables hold in each, read with a guard, written at the exit.

The context in which the region runs has no object in Python; `present` stands for it. A copy of a context that exists is read through:
what was not written to it is asked of its origin as that was when the region began.
"""

from __future__ import annotations

from contextvars import Context
from contextvars import ContextVar as Variable
from typing import Any

from framejit.core.errors import Raised
from framejit.core.heap import MISSING, Heap
from framejit.core.path import CALLED, ITEM, Called, Path
from framejit.core.services import Services
from framejit.core.value import Const, Ref, Value
from framejit.lib import contexts as lib
from framejit.objects.rebuild import WRITERS
from framejit.reasons import R

HELD = "held in a context"  # of a context of the capture, with the variable behind it: (variable, value), MISSING for nothing
SLOT = (HELD,)  # the same of what stands for a variable in a context that exists
ORIGIN, STEP = ("origin",), ("step",)  # of a context of the capture: what it is a copy of, None for nothing
ENTERED = "entered contexts"  # in the cache of the trace, innermost last; the first one is that of the region
SLOTS = ("slots",)  # of a context that exists: by variable, what stands for it there
WRITERS[SLOT] = lambda held: (lib.put, [] if held is MISSING else [*held])


def present(s: Services) -> Ref:
    """What stands for the context in which the region runs."""
    cache = s.trace.cache
    if ENTERED not in cache:
        cache[ENTERED] = (Ref(Context, s.trace.roots.const(lib.PRESENT), lib.PRESENT),)
    found: Ref = cache[ENTERED][0]
    return found


def current(s: Services) -> Ref:
    """The context in which the captured code runs now."""
    present(s)
    found: Ref = s.trace.cache[ENTERED][-1]
    return found


def context_of(s: Services, value: Value) -> Ref:
    """A context that Python code asks for: one that exists is not entered by anybody, so that only the region changes it."""
    v = s.force(value)
    if not isinstance(v, Ref) or v.cls is not Context:
        return s.unsupported(R.OPAQUE_OPERATION, v, "a context that is not known")
    if v.path is not None:
        path = v.path.to(CALLED, Called(lib.is_entered, (), f"is_entered({v.path})"))
        if lib.is_entered(v.real):
            s.unsupported(R.OPAQUE_OPERATION, v, "a context that is entered")
        s.guard(path, "EQ", False)
    return v


def key_of(s: Services, variable: Value) -> Any:
    """What a variable is told by; None if it is none."""
    v = s.force(variable)
    if v.cls is not Variable:
        return None
    return v.obj if isinstance(v, Const) else v


def slots(heap: Heap, context: Ref) -> dict[Any, Ref]:
    """By variable, what stands for it in a context that exists, where the region asked for it."""
    return heap.get(context, SLOTS) or {}


def _slot(s: Services, context: Ref, variable: Value) -> Ref:
    """What stands for a variable in a context that exists; what it held when the region began is loaded."""
    key, known = key_of(s, variable), slots(s.heap, context)
    ref = known.get(key)
    if ref is not None:
        return ref
    ref = Ref(Context, context.path, context.real)
    s.heap.load(context, SLOTS, {**known, key: ref})
    s.heap.load(ref, SLOT, MISSING if isinstance(key, Ref) else _found(s, context, variable, key))
    return ref


def _found(s: Services, context: Ref, variable: Value, real: Any) -> Any:
    """What a variable that exists holds in a context that exists."""
    name, is_present = str.__str__(real.name), context.real is lib.PRESENT
    if is_present:
        path = s.trace.roots.const(real).to(CALLED, Called(Variable.get, (MISSING,), f"{name}.get()"))
        found = real.get(MISSING)
    else:
        assert context.path is not None
        path = context.path.to(CALLED, Called(Context.get, (real, MISSING), f"{context.path}[{name}]"))
        found = context.real.get(real, MISSING)
    s.guard(path, "IS" if found is MISSING else "IS_NOT", MISSING)
    return MISSING if found is MISSING else (variable, s.input(path, found))


def held(s: Services, context: Ref, variable: Value) -> Any:
    """What a variable holds in a context: (variable, value), or MISSING."""
    variable = s.force(variable)
    if context.path is not None:
        return s.heap.get(_slot(s, context, variable), SLOT)
    field = (HELD, key_of(s, variable))
    found = s.heap.get(context, field)
    if found is None:
        found = initial(s, context, variable)
        s.heap.set(context, field, found)
    return found


def initial(s: Services, context: Ref, variable: Value) -> Any:
    """What a variable held in a context that exists, or in the origin of one of the capture, when the region began."""
    origin = context if context.path is not None else s.heap.get(context, ORIGIN)
    return MISSING if origin is None else s.heap.initial_of(_slot(s, origin, variable), SLOT)


def hold(s: Services, context: Ref, variable: Value, new: Any) -> None:
    """Have a variable hold something else, as `held` gives it."""
    if context.path is not None:
        s.heap.set(_slot(s, context, variable), SLOT, new)
    else:
        s.heap.set(context, (HELD, key_of(s, variable)), new)


def is_written(s: Services, context: Ref, variable: Value) -> bool:
    """Whether the region has written to a variable of a context that exists."""
    return s.heap.is_written(_slot(s, context, variable))


def new(s: Services, origin: Ref | None) -> Ref:
    """An empty context, or a copy of this one."""
    fields: dict[Any, Any] = {ORIGIN: origin, STEP: s.steps}  # type: ignore[attr-defined]
    if origin is not None:
        fields |= _known(s, origin)
        if origin.path is None:
            fields[ORIGIN] = s.heap.get(origin, ORIGIN)
    return s.heap.new(Context, {field: value for field, value in fields.items() if value is not None})


def _known(s: Services, context: Ref) -> dict[Any, Any]:
    """What is known of a context, as fields of a copy of it."""
    if context.path is None:
        return {field: value for field, value in s.heap.fields_of(context).items() if field[0] == HELD}
    return {(HELD, key): s.heap.get(ref, SLOT) for key, ref in slots(s.heap, context).items()}


def variables(s: Services, context: Ref) -> dict[Any, Value]:
    """By what they are told by, the variables that hold something in a context, in no order."""
    origin = context if context.path is not None else s.heap.get(context, ORIGIN)
    found: dict[Any, Value] = {}
    if origin is not None:
        path, reals = _listed(s, origin)
        for place, real in enumerate(reals):
            found[real] = s.force(s.input(path.to(ITEM, place), real))
    for (_, key), pair in _known(s, context).items():
        if pair is MISSING:
            found.pop(key, None)
        else:
            found[key] = s.force(pair[0])
    return found


def _listed(s: Services, origin: Ref) -> tuple[Path, tuple[Any, ...]]:
    """The variables of a context that exists, when the region began."""
    assert origin.path is not None
    reals = lib.variables(origin.real)
    path = origin.path.to(CALLED, Called(lib.variables, (), f"variables of {origin.path}"))
    s.guard(path, "LEN", len(reals))
    return path, reals


def ordered(s: Services, context: Ref) -> list[Value]:
    """The variables in the order of the context, which hangs on where they lie in memory: that of more than one must exist."""
    found = variables(s, context)
    if len(found) > 1:
        if any(isinstance(key, Ref) for key in found):
            s.unsupported(R.OPAQUE_OPERATION, context, "the order of variables that are not there yet")
        return [found[key] for key in lib.order(found)]
    return [*found.values()]


def run(s: Services, context: Ref, function: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Call a function in a context."""
    cache, put = s.trace.cache, s.trace.trail.put
    before = cache[ENTERED]
    put(cache, ENTERED, (*before, context))
    try:
        result = s.call(function, args, kwargs)
    except Raised:
        put(cache, ENTERED, before)
        raise
    put(cache, ENTERED, before)
    return result
