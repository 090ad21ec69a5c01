"""Groups of exceptions: split and subgroup, and what `except*` takes out of them and raises again."""

from __future__ import annotations

import types
from collections.abc import Callable

from framejit.core.heap import MISSING
from framejit.core.services import Services
from framejit.core.value import NONE, TRUE, Const, Pack, Ref, Value
from framejit.objects.constants import alternatives
from framejit.objects.exception import (
    CAUSE,
    CONTEXT,
    EXCEPTIONS,
    SUPPRESS,
    TRACEBACK,
    except_types,
    is_exception_class,
    matches,
)
from framejit.objects.lineage import is_descendant
from framejit.objects.object_ import get_descriptor
from framejit.reasons import R

Matcher = Callable[[Value], bool]
DEEPEST = 50


def _wraps_one() -> bool:
    try:
        try:
            raise ExceptionGroup("", [ValueError()])
        except* ValueError:
            raise NameError from None
    except NameError:
        return False
    except ExceptionGroup:
        return True


WRAPS_ONE = _wraps_one()
"""Whether `except*` puts an exception that leaves one of its bodies alone into a group; CPython did before 3.11.4."""


def is_group(value: Value) -> bool:
    """Whether the exception is a group."""
    return issubclass(value.cls, BaseExceptionGroup)


def matcher(s: Services, condition: Value) -> Matcher:
    """What split and subgroup select by: a function, an exception class or a tuple of these."""
    found = s.force(condition)
    if found.cls is types.FunctionType:
        return lambda item: s.truth(s.call(found, [item]))
    several = alternatives(s, found) if found.cls is tuple else None
    kinds = [found] if several is None else list(map(s.force, several))
    if not all(map(is_exception_class, kinds)):
        s.raise_error(TypeError, "expected a function, exception type or tuple of exception types")
    return lambda item: any(is_descendant(s, item.cls, kind.obj) for kind in kinds)  # type: ignore[attr-defined]


def split(s: Services, raised: Value, select: Matcher, with_rest: bool = True, depth: int = 0) -> tuple[Value, Value]:
    """(selected, rest) of a group, each None where nothing is left."""
    raised = s.force(raised)
    if select(raised):
        return raised, NONE
    if not is_group(raised):
        return NONE, raised if with_rest else NONE
    if depth > DEEPEST:
        s.unsupported(R.EXCEPTION_OPERATION, raised, "groups nested deeply")
    assert isinstance(raised, Ref)
    selected: list[Value] = []
    others: list[Value] = []
    for member in s.unpack(_field(s, raised, EXCEPTIONS, "exceptions")):
        for part, found in zip(split(s, member, select, with_rest, depth + 1), (selected, others), strict=True):
            if part is not NONE:
                found.append(part)
    return _subset(s, raised, selected), _subset(s, raised, others)


def _subset(s: Services, group: Ref, members: list[Value]) -> Value:
    """A group like this one of some of its members, with its context, cause, traceback and a copy of its notes."""
    if not members:
        return NONE
    derived = s.force(s.call(s.getattr(group, "derive"), [s.heap.new(list, {s.heap.ITEMS: tuple(members)})]))
    if not is_group(derived):
        s.raise_error(TypeError, "derive must return an instance of BaseExceptionGroup")
    if not isinstance(derived, Ref) or derived.path is not None:
        s.unsupported(R.EXCEPTION_OPERATION, derived, "derive gives a group that exists already")
    for field, name in ((TRACEBACK, "__traceback__"), (CONTEXT, "__context__"), (CAUSE, "__cause__")):
        found = _field(s, group, field, name)
        if field is not TRACEBACK or found is not NONE:
            s.heap.set(derived, field, found)
    s.heap.set(derived, SUPPRESS, TRUE)
    notes = s.force(s.call(Const(getattr), [group, Const("__notes__"), NONE]))
    if notes.cls is not type(None) and not issubclass(notes.cls, dict) and s.type_lookup(notes.cls, "__getitem__") is not MISSING:
        s.setattr(derived, "__notes__", s.heap.new(list, {s.heap.ITEMS: tuple(s.listed(notes))}))
    return derived


def _field(s: Services, group: Ref, field: tuple[str], name: str) -> Value:
    """What C code finds in a group, whatever its class makes of the attribute."""
    if group.path is None:
        found: Value = s.heap.get(group, field)
        return found
    descriptor = vars(BaseExceptionGroup if field is EXCEPTIONS else BaseException)[name]
    found = s.force(s.finish(get_descriptor(s, group, name, descriptor)))
    return NONE if found.cls is type(None) else found


def except_star(s: Services, raised: Value, kind: Value) -> tuple[Value, Value]:
    """(rest, matched) of `except* kind`."""
    raised = s.force(raised)
    if any(issubclass(cls, BaseExceptionGroup) for cls in except_types(s, kind)):
        s.raise_error(TypeError, "catching ExceptionGroup with except* is not allowed. Use except instead.")
    if raised.cls is type(None):
        return NONE, NONE
    if matches(s, raised, kind):
        return NONE, raised if is_group(raised) else _group_of(s, Pack(tuple, (raised,)))
    if not is_group(raised):
        return raised, NONE
    pair = s.unpack(s.call(s.getattr(raised, "split"), [kind]))
    return pair[1], pair[0]


def _group_of(s: Services, members: Value) -> Value:
    return s.force(s.call(Const(BaseExceptionGroup), [Const(""), members]))


def prepare_reraise_star(s: Services, original: Value, exceptions: list[Value]) -> Value:
    """What is left to raise after the `except*` clauses: None when all was handled."""
    original = s.force(original)
    left = [value for value in map(s.force, exceptions) if value.cls is not type(None)]
    if not left or not is_group(original):
        return left[0] if left else NONE
    if any(not isinstance(value, Ref) for value in (original, *left)):
        s.unsupported(R.EXCEPTION_OPERATION, original, "except* with an exception that is a constant")
    raised = [value for value in left if not _same_metadata(s, value, original)]
    kept = {id(leaf) for value in left if value not in raised for leaf in _leaves(s, value)}
    again, _ = split(s, original, lambda item: id(item) in kept, False)
    if again is not NONE:
        raised.append(again)
    if len(raised) == 1 and (raised[0] is again or not WRAPS_ONE):
        return raised[0]
    return _group_of(s, s.heap.new(list, {s.heap.ITEMS: tuple(raised)})) if raised else again


def _same_metadata(s: Services, one: Value, other: Value) -> bool:
    fields = ((TRACEBACK, "__traceback__"), (CAUSE, "__cause__"), (CONTEXT, "__context__"))
    return all(s.is_same(_field(s, one, *field), _field(s, other, *field)) for field in fields)  # type: ignore[arg-type]


def _leaves(s: Services, value: Value) -> list[Value]:
    value = s.force(value)
    if not is_group(value):
        return [value]
    return [leaf for member in s.unpack(s.getattr(value, "exceptions")) for leaf in _leaves(s, member)]
