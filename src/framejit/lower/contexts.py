"""Contexts, tokens and the texts of their errors made real."""

from __future__ import annotations

from framejit.core.errors import Retrace
from framejit.core.heap import MISSING
from framejit.core.value import Ref
from framejit.lib import contexts as lib
from framejit.lower.materialize import FILLERS, Materializer, builder
from framejit.objects.rebuild import rebuild
from framejit.rules import context, contexts


def _copy(m: Materializer, origin: Ref) -> int:
    """A copy of a context that exists, as it was when the region began; the context itself for tokens."""
    key = ("copy of a context", id(origin))
    if key not in m.made:
        m.alive.append(origin)
        m.made[key] = m.call(lib.copied, m.value(origin))
    return m.made[key]


@builder(contexts.Context)
def _context(m: Materializer, ref: Ref) -> int:
    origin = m.heap.get(ref, contexts.ORIGIN)
    register = m.made[id(ref)] = m.call(contexts.Context) if origin is None else m.call(lib.copied, _copy(m, origin))
    m.fill_now_or_later(ref, register)
    return register


def _fill(m: Materializer, ref: Ref, register: int) -> None:
    """Set the variables that hold something else than in the origin; tokens that remember nothing are made before these."""
    for token in m.trace.cache.get((context.TOKENS, ref), ()):
        if not m.heap.get(token, context.USED):
            m.value(token)
    origin = m.heap.get(ref, contexts.ORIGIN)
    for field, pair in list(m.heap.fields_of(ref).items()):
        if field[0] != contexts.HELD:
            continue
        slot = None if origin is None else contexts.slots(m.heap, origin).get(field[1])
        before = MISSING if slot is None else m.heap.initial_of(slot, contexts.SLOT)
        if pair is before:
            continue
        if pair is MISSING:  # a token that exists has emptied the variable, before the context was copied
            raise Retrace(("break", m.heap.get(ref, contexts.STEP)))
        m.effect(lib.put, register, *(m.value(part) for part in pair))


FILLERS[contexts.Context] = _fill


@builder(context.Token)
def _token(m: Materializer, ref: Ref) -> int:
    fields = m.heap.fields_of(ref)
    old, owner = fields[context.OLD], fields[context.OWNER]
    variable, *values = (m.value(part) for part in ((fields[context.VARIABLE],) if old is MISSING else old))
    if fields[context.USED]:
        return m.call(lib.make_used, variable, *values)
    if owner.path is not None and old is MISSING:
        slot = contexts.slots(m.heap, owner)[getattr(fields[context.VARIABLE], "obj", fields[context.VARIABLE])]
        if m.heap.initial_of(slot, contexts.SLOT) is not MISSING:  # a token that exists has emptied the variable
            raise Retrace(("break", fields[context.STEP]))
        _copy(m, owner)  # copies of the context are made first
    made = m.value(owner)
    return m.made[id(ref)] if id(ref) in m.made else m.call(lib.make_token, made, variable, *values)


@builder(str)
def _text(m: Materializer, ref: Ref) -> int:
    step = m.heap.get(ref, context.STEP)
    if step is not None:  # of an error, with an address in it
        raise Retrace(("break", step))
    function, values = rebuild(m.heap, ref)
    return m.call(function, *(m.value(value) for value in values))
