"""Facts a region relies on: predicates as rows, guards as (path, predicate, operand, origin)."""

from __future__ import annotations

import struct
import types
from collections.abc import Callable
from typing import Any, NamedTuple

from framejit import _C
from framejit.core.heap import MISSING
from framejit.core.lifetime import is_quiet
from framejit.core.path import Path


class Predicate(NamedTuple):
    """A row: the Python check (the specification), its text, and the machine op that performs it."""

    name: str
    check: Callable[[Any, Any], bool]
    text: str
    op: str


PREDICATES: dict[str, Predicate] = {}


def predicate(name: str, text: str, op: str | None = None) -> Callable[[Callable[[Any, Any], bool]], Callable[[Any, Any], bool]]:
    """Register a predicate row."""

    def register(check: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
        if name in PREDICATES:
            raise ValueError(f"duplicate predicate {name}")
        PREDICATES[name] = Predicate(name, check, text, op or "CHECK_" + name)
        return check

    return register


class Guard(NamedTuple):
    """One fact: what is found at `path` satisfies the predicate with this operand; `origin` is the asking position.

    `path` is None for facts about the process (torch state) or about a class (type attributes).
    """

    path: Path | None
    predicate: str
    operand: Any
    origin: Any = None

    def __str__(self) -> str:
        row = PREDICATES[self.predicate]
        return row.text.format(path=self.path, operand=_operand_text(self.operand))


NAMED = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
PLAIN = frozenset({int, float, bool, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range, slice})
QUALNAME: Any = vars(type)["__qualname__"]
MODULE: Any = vars(type)["__module__"]


def _operand_text(operand: Any) -> str:
    """The operand as text, without running a line of the user's code."""
    kind = type(operand)
    if issubclass(kind, type):
        return str(QUALNAME.__get__(operand))
    if kind in NAMED:
        return f"<{kind.__name__} {operand.__qualname__}>"
    return repr(operand)[:120] if _is_plain(operand) else f"<{kind.__name__} at {id(operand):#x}>"


def _is_plain(operand: Any) -> bool:
    kind = type(operand)
    if kind in (tuple, frozenset, list):
        return all(map(_is_plain, operand))
    return kind in PLAIN or MODULE.__get__(kind).partition(".")[0] == "torch"


def same_bits(value: Any, operand: Any) -> bool:
    """Equality by exact type and bits: 1, True and 1.0 differ, 0.0 and -0.0 differ, a NaN equals itself."""
    if type(value) is not type(operand):
        return False
    if isinstance(operand, float):
        return struct.pack("d", value) == struct.pack("d", operand)
    if isinstance(operand, complex):
        return same_bits(value.real, operand.real) and same_bits(value.imag, operand.imag)
    if isinstance(operand, tuple):
        return len(value) == len(operand) and all(map(same_bits, value, operand))
    return bool(value == operand)


@predicate("TYPE", "type({path}) is {operand}")
def _type(value: Any, operand: Any) -> bool:
    return type(value) is operand


@predicate("IS", "{path} is {operand}")
def _is(value: Any, operand: Any) -> bool:
    return value is operand


@predicate("IS_NOT", "{path} is not {operand}")
def _is_not(value: Any, operand: Any) -> bool:
    return value is not operand


@predicate("EQ", "{path} == {operand}")
def _eq(value: Any, operand: Any) -> bool:
    return same_bits(value, operand)


@predicate("SAME", "{path} is {operand}")
def _same(value: Any, operand: Any) -> bool:
    return value is operand


@predicate("NOT_SAME", "{path} is not {operand}")
def _not_same(value: Any, operand: Any) -> bool:
    return value is not operand


@predicate("LEN", "len({path}) == {operand}")
def _len(value: Any, operand: Any) -> bool:
    return len(value) == operand


@predicate("DICT_MISSING", "{operand} not in {path}")
def _missing(value: Any, operand: Any) -> bool:
    return not dict.__contains__(value, operand)


@predicate("DICT_KEYS", "list({path}) == {operand}")
def _keys(value: Any, operand: Any) -> bool:
    return same_bits(tuple(dict.keys(value)), operand)


@predicate("TRUTH", "bool({path}) is {operand}", "CHECK_TRUTH")
def _truth(value: Any, operand: Any) -> bool:
    return bool(value) is operand


@predicate("FUNC_CODE", "{path}.__code__ is {operand}")
def _func_code(value: Any, operand: Any) -> bool:
    return value.__code__ is operand


@predicate("SLOT_EMPTY", "{path} is unbound", "CHECK_SLOT_EMPTY")
def _slot_empty(value: Any, operand: Any) -> bool:
    return value is operand


@predicate("SLOT_QUIET", "the death of {path}, if bound, runs no code", "CHECK_SLOT_QUIET")
def _slot_quiet(value: Any, operand: Any) -> bool:
    return value is operand or is_quiet(value)


@predicate("QUIET", "the death of {path} runs no code", "CHECK_QUIET")
def _value_quiet(value: Any, operand: Any) -> bool:
    return bool(operand(value))


@predicate("ITEM_QUIET", "the death of {path}[{operand}], if there, runs no code", "CHECK_ITEM_QUIET")
def _item_quiet(value: Any, operand: Any) -> bool:
    return is_quiet(dict.get(value, operand))


@predicate("CALLER", "a caller waits as {operand}")
def _caller(value: Any, operand: Any) -> bool:
    return value == operand


@predicate("CELL_EMPTY", "{path} is an empty cell", "CHECK_CELL_EMPTY")
def _cell_empty(value: Any, operand: Any) -> bool:
    return not hasattr(value, "cell_contents")


@predicate("TENSOR", "{path} is {operand}", "CHECK_TENSOR")
def _tensor(value: Any, operand: Any) -> bool:
    return bool(operand.check(value))


@predicate("TORCH_STATE", "torch state is {operand}", "CHECK_TORCH_STATE")
def _torch_state(value: Any, operand: Any) -> bool:
    return bool(operand.check())


@predicate("UNHANDLED", "no exception is being handled by who drives the generator", "CHECK_UNHANDLED")
def _unhandled(value: Any, operand: Any) -> bool:
    return not _C.drivers_handle()


@predicate("TYPE_ATTR", "type look-up {operand}", "CHECK_TYPE_ATTRS")
def _type_attr(value: Any, operand: Any) -> bool:
    cls, name, expected = operand
    return class_fact(cls, name, expected, MISSING)


def class_fact(cls: type, name: Any, expected: Any, missing: Any) -> bool:
    """Whether a look-up along the MRO gives what is expected; of a class: whether it is a base, or at which place of the MRO."""
    if not isinstance(name, type):
        return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), missing) is expected
    if isinstance(expected, bool):
        return (name in cls.__mro__) is expected
    return expected < len(cls.__mro__) and cls.__mro__[expected] is name


@predicate("PY", "{operand}({path})", "CHECK_PY")
def _py(value: Any, operand: Any) -> bool:
    return bool(operand(value))


class EmptySlot:
    """Predicate: the object's slot holds nothing."""

    __slots__ = ("slot",)

    def __init__(self, slot: types.MemberDescriptorType):
        self.slot = slot

    def __call__(self, obj: Any) -> bool:
        try:
            self.slot.__get__(obj, type(obj))
        except AttributeError:
            return True
        return False

    def __repr__(self) -> str:
        return f"empty slot {self.slot.__name__} of"
