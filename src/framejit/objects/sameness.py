"""How containers compare their items: identity, then equality; and what they rely on where two items are not the same."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any

from framejit.core.services import Services
from framejit.core.value import Const, Node, Ref, Value
from framejit.reasons import R

APART = "told apart"  # in the cache of the trace: per class, its real objects of which each is another one than the others
BY_VALUE: set[type] = {int, float, complex, str, bytes, range}  # of constants that are found, only what they say is guarded
VALUES = (int, float, complex, str, bytes)
PLAIN = (int, float, complex, str, bytes, type(None), type)


def same_or_equal(s: Services, left: Value, right: Value) -> bool:
    """Whether two values are one object or equal; immutable values that are one object are equal in any case."""
    left, right = s.force(left), s.force(right)
    if left is right or (isinstance(left, Const) and isinstance(right, Const) and left.obj is right.obj):
        return True
    if isinstance(left, (Ref, Node)) and isinstance(right, (Ref, Node)) and s.is_same(left, right):
        return True
    return s.truth(s.compare("==", left, right))


def by_value(one: Any, other: Any) -> bool:
    """Whether constants that were found may be one object, or two, in the next call: no guard tells."""
    kind = type(one)
    if kind is not type(other):
        return False
    if kind in BY_VALUE:
        return one is other or bool(one == other) or one != one
    return issubclass(kind, VALUES) and kind is not bool and not issubclass(kind, enum.Enum)


def is_told_apart(name: Any) -> bool:
    """Whether a hash key may stand for an object that is known by its place, or for one that such an object may be."""
    return isinstance(name, (Value, tuple, frozenset)) or type(name) is FunctionType or not issubclass(type(name), PLAIN)


def _objects(name: Any) -> Iterator[Any]:
    """The objects that a hash key goes by: values of real ones, constants as they are."""
    if isinstance(name, (Ref, Node)):
        if name.path is not None:
            yield name
    elif isinstance(name, (tuple, frozenset)):
        for part in name:
            yield from _objects(part)
    elif not issubclass(type(name), PLAIN) and not isinstance(name, Value):
        yield name


def _object(name: Any) -> Any:
    """The real object that a hash key stands for; the key itself where that is not one."""
    return name.real if isinstance(name, (Ref, Node)) and name.path is not None else name


def named(s: Services, name: Any, others: Iterable[Any]) -> Any:
    """The one of these hash keys that stands for the same object as `name`, though found elsewhere; `name` itself if there is none."""
    if isinstance(name, (Ref, Node)) and name.path is None:
        return name
    if isinstance(name, (tuple, frozenset)):
        inside = {id(_object(part)): part for part in _objects(name)}
        for other in others if inside else ():
            if any(inside.get(id(_object(part)), part) is not part for part in _objects(other)):
                s.unsupported(R.OPAQUE_OPERATION, None, "one object in two keys, found in two places")
        return name
    one = _object(name)
    for other in others:
        if other is not name and not isinstance(other, (tuple, frozenset)) and _object(other) is one:
            if not s.is_same(_value(s, other), _value(s, name)):
                s.unsupported(R.OPAQUE_OPERATION, None, "one object found in two places")
            return other
    return name


def _value(s: Services, name: Any) -> Value:
    return name if isinstance(name, Value) else Const(name, s.trace.roots.const(name))


def _class(one: Any) -> type:
    return one.cls if isinstance(one, Value) else type(one)


def tell_apart(s: Services, names: Iterable[Any], others: Iterable[Any]) -> None:
    """Rely on it that the objects of these hash keys are none of those of the others, where other keys were found equal."""
    found = [one for name in names for one in _objects(name)]
    if not found:
        return
    known = s.trace.cache.setdefault(APART, {})
    for name in others:
        for other in _objects(name):
            for one in found:
                if one is not other and _class(one) is _class(other):
                    _note(s, known, one, other)


def _note(s: Services, known: dict[type, dict[Value, None]], one: Any, other: Any) -> None:
    if _object(one) is _object(other):
        s.unsupported(R.OPAQUE_OPERATION, None, "one object found in two places")
    values = [each for each in (one, other) if isinstance(each, Value)]
    if len(values) == 1:
        s.guard(values[0].path, "IS_NOT", one if values[0] is other else other)  # type: ignore[attr-defined]
    for value in values if len(values) == 2 else ():
        table = known.setdefault(value.cls, {})
        if value not in table:
            s.trace.trail.put(table, value, None)
