"""How the classes that the captured code defined are made real: `type.__new__`, then what was written to them, in order."""

from __future__ import annotations

from typing import Any

from framejit.core.classes import BASES, LATER, META, NAMESPACE, make_class
from framejit.core.errors import Retrace
from framejit.core.value import NONE, Ref
from framejit.lower.materialize import FILLERS, Materializer, builder
from framejit.lower.pack import Instruction
from framejit.objects.abstract import ABC_REGISTER

MAKING, WAITING = "making", "waiting"


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
    register = m.call(make_class, meta, m.const(recipe.name), bases, namespace, m.const(recipe.hooked))
    m.made[id(ref)] = register
    steps = m.heap.get(ref, LATER)
    if ref in m.early:
        waiting = [step for step in steps if any(m.reaches(arg, ref) for arg in step[2:])]
        m.made[WAITING, ref] = waiting  # type: ignore[assignment]
        m.unfilled.append(ref)
        for step in steps:
            if step not in waiting:
                _emit(m, register, step)
            elif step[0] is type.__setattr__:
                _emit(m, register, (*step[:3], NONE))  # the name keeps its place
    else:
        _emit(m, register, *steps)
    return register


def _emit(m: Materializer, register: int, *steps: tuple[Any, ...]) -> None:
    for function, _, *args in steps:
        registers = [m.value(arg) for arg in args]
        if function is ABC_REGISTER:  # asks the hooks of other classes too
            m.last.append(Instruction("CALL_EFFECT", (m.const(function), (register, *registers), ())))
        else:
            m.effect(function, register, *registers)


def _later(m: Materializer, ref: Ref, register: int) -> None:
    """What is written to a class and needs it: at the end."""
    _emit(m, register, *m.made[WAITING, ref])  # type: ignore[misc]


FILLERS[type] = _later
