"""How many items an iterator has left, and the other functions of operator that have a Python body."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

from framejit.core.services import Services
from framejit.core.value import NONE, Const, Ref, Value
from framejit.lib import operator_ as lib
from framejit.objects import iterator
from framejit.objects.dict_ import full
from framejit.objects.iterator import field, number
from framejit.objects.set_ import members
from framejit.reasons import R
from framejit.rules.builtins_ import takes
from framejit.rules.registry import HANDLERS, handler
from framejit.rules.stdlib import OPERATORS, exactly, in_python

Hint = Callable[[Services, Ref], "Value | int"]
HINTS: dict[type, Hint] = {}


def _of_sequence(s: Services, ref: Ref) -> Value | int:
    source = field(s, ref, "source")
    return 0 if source is NONE else max(s.constant(s.len(source)) - number(s, ref, "index"), 0)


def _backwards(s: Services, ref: Ref) -> Value | int:
    source, left = field(s, ref, "source"), number(s, ref, "index") + 1
    return left if source is not NONE and s.constant(s.len(source)) >= left else 0


def _by_getitem(s: Services, ref: Ref) -> Value | int:
    source = field(s, ref, "sequence")
    if source is NONE:
        return 0
    if not hasattr(s.force(source).cls, "__len__"):
        return Const(NotImplemented)
    return max(s.constant(s.len(source)) - number(s, ref, "index"), 0)


def _of_dict(s: Services, ref: Ref) -> Value | int:
    source, place, seen = field(s, ref, "source"), number(s, ref, "index"), field(s, ref, "seen")
    return 0 if source is NONE or place < 0 or len(full(s, source)) != len(seen) else len(seen) - place


def _of_set(s: Services, ref: Ref) -> Value | int:
    source, place, order = field(s, ref, "source"), number(s, ref, "index"), field(s, ref, "order")
    changed = source is not NONE and isinstance(source, Ref) and len(members(s, source)) != len(order)
    return 0 if source is NONE or place < 0 or changed else len(order) - place


def _of_deque(s: Services, ref: Ref) -> Value | int:
    source = field(s, ref, "source")
    if s.heap.get(source, iterator.STATE) is not field(s, ref, "seen"):
        return s.unsupported(R.OPAQUE_CALL, ref, "__length_hint__ of an iterator of a changed deque")
    return len(iterator.deque_content(s, source)) - number(s, ref, "index")


def _of_repeat(s: Services, ref: Ref) -> Value | int:
    left = number(s, ref, "left")
    return s.raise_error(TypeError, "len() of unsized object") if left < 0 else left


_SAMPLES: tuple[Any, ...] = ([], (), "", "é", b"", range(0), range(1 << 70, 1 << 71))
HINTS.update({type(iter(sample)): _of_sequence for sample in _SAMPLES})
HINTS.update({
    iterator.ListReverseIterator: _backwards, reversed: _backwards, iterator.SequenceIterator: _by_getitem, type(iter(set())): _of_set,
    iterator.DequeIterator: _of_deque, iterator.DequeReverseIterator: _of_deque, itertools.repeat: _of_repeat,
    **dict.fromkeys([*iterator.FORWARD.values(), *iterator.BACKWARD.values()], _of_dict),
})  # fmt: skip


def _register(kind: Any, hint: Hint) -> None:
    @takes(kind.__length_hint__, "self /")
    def length_hint(s: Services, self: Value) -> Value:
        ref = s.force(self)
        if not isinstance(ref, Ref):
            return s.unsupported(R.UNKNOWN_ITERATOR, ref)
        found = hint(s, ref)
        return Const(found) if isinstance(found, int) else found


for _kind, _hint in HINTS.items():
    if _kind.__length_hint__ not in HANDLERS:  # type: ignore[attr-defined]
        _register(_kind, _hint)
BODIES: dict[Any, Any] = {
    operator.length_hint: lib.length_hint, operator.countOf: lib.count_of, operator.indexOf: lib.index_of, operator.call: lib.call,
}  # fmt: skip
for _target, _body in BODIES.items():
    in_python(_target, _body)
handler(operator.inv)(exactly(1, operator.inv)(OPERATORS["invert"][1]))
