"""How the classes that the captured code defined are made real: `type.__new__`, then what was written to them, in order."""

from __future__ import annotations

from framejit.core.classes import BASES, LATER, META, NAMESPACE, make_class
from framejit.core.errors import Retrace
from framejit.core.value import Ref
from framejit.lower.materialize import FILLERS, Materializer, builder

MAKING = "making"


@builder(type)
def _class(m: Materializer, ref: Ref) -> int:
    """A class whose parts need it before it is there is left to CPython, as a whole."""
    recipe = m.trace.classes[ref.real]
    if m.made.get((MAKING, ref)):
        raise Retrace(("break", recipe.step))
    m.made[MAKING, ref] = 1
    pairs: list[int] = []
    for key, value in m.heap.get(ref, NAMESPACE):
        pairs += [m.value(key), m.value(value)]
    namespace = m.new("BUILD_DICT", tuple(pairs))
    meta, bases = m.value(m.heap.get(ref, META)), m.tuple_of(m.heap.get(ref, BASES))
    register = m.call(make_class, meta, m.const(recipe.name), bases, namespace, m.const(recipe.shield))
    m.made[id(ref)] = register
    m.fill_now_or_later(ref, register)
    return register


def _later(m: Materializer, ref: Ref, register: int) -> None:
    for function, _, *args in m.heap.get(ref, LATER):
        m.effect(function, register, *(m.value(arg) for arg in args))


FILLERS[type] = _later
