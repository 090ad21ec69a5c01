"""Arithmetic on numbers that are not constant: results are computed by the program, or by the graph where it owns an operand."""

from __future__ import annotations

from typing import Any

from framejit.core.path import BINARY, BINARY_OPERATORS, COMPARE, COMPARISONS, UNARY, UNARY_OPERATORS, Path
from framejit.core.services import Services
from framejit.core.value import Const, Node, Number, Value, bool_const
from framejit.objects import constants, fold
from framejit.reasons import R

# Their result's type, or whether they raise, hangs on the right operand's value.
DIVISIONS = frozenset({"/", "//", "%"})
INTEGERS = frozenset({"&", "|", "^", "<<", ">>"})
POWERS = frozenset({"**", "<<", ">>"})


def binary(s: Services, symbol: str, left: Value, right: Value) -> Value | None:
    """`left symbol right` on numbers of which one is no constant; None where Python says NotImplemented."""
    if isinstance(left, Node) or isinstance(right, Node):
        return _in_graph(s, fold.OPERATORS[symbol], left, right)
    if symbol not in BINARY_OPERATORS or (symbol in INTEGERS and not (issubclass(left.cls, int) and issubclass(right.cls, int))):
        return None
    unsafe = symbol == "[]" or (symbol in POWERS and not _safe_power(left, right))
    if _is_foreign(left) or _is_foreign(right) or unsafe:
        return fold.binary(s, symbol, s.wrap(s.constant(left)), s.wrap(s.constant(right)))
    a, b = _hint(left), _hint(right)
    if symbol in DIVISIONS:
        if isinstance(right, Number):
            s.guard(right.path, "TRUTH", bool(b))
        if not b:
            s.raise_error(ZeroDivisionError, _zero_text(symbol, a, b))
    result = BINARY_OPERATORS[symbol](a, b)
    return Number(type(result), _path(s, left).to(BINARY, (symbol, _path(s, right))), result)


def compare(s: Services, symbol: str, left: Value, right: Value) -> Value | None:
    """`left symbol right` as a number that is a bool."""
    if isinstance(left, Node) or isinstance(right, Node):
        return _in_graph(s, fold.COMPARISONS[symbol], left, right)
    if _is_foreign(left) or _is_foreign(right):
        return fold.compare(s, symbol, s.wrap(s.constant(left)), s.wrap(s.constant(right)))
    result = COMPARISONS[symbol](_hint(left), _hint(right))
    return Number(bool, _path(s, left).to(COMPARE, (symbol, _path(s, right))), result)


def unary(s: Services, symbol: str, v: Value) -> Value:
    """`symbol v`."""
    if symbol == "not":
        return bool_const(not truth(s, v))
    if isinstance(v, Node):
        return s.operator("call_function", fold.UNARY[symbol], [v])
    result = UNARY_OPERATORS[symbol](_hint(v))
    return Number(type(result), _path(s, v).to(UNARY, symbol), result)


def truth(s: Services, v: Value) -> bool:
    """The truth value, which becomes a fact the region relies on."""
    if isinstance(v, Number):
        constants.foresee(s, v)
        s.guard(v.path, "TRUTH", bool(v.hint))
        return bool(v.hint)
    return s.unsupported(R.DATA_DEPENDENT_BRANCH, v)


def _in_graph(s: Services, function: Any, left: Value, right: Value) -> Value:
    return s.operator("call_function", function, [left, right])


def _is_foreign(v: Value) -> bool:
    return isinstance(v, Const) and fold.is_foreign(v.obj)


def _hint(v: Value) -> Any:
    return v.hint if isinstance(v, Number) else v.obj  # type: ignore[attr-defined]


def _path(s: Services, v: Value) -> Path:
    if isinstance(v, Number):
        return v.path
    obj = v.obj  # type: ignore[attr-defined]
    key = ("constant", type(obj), repr(obj))
    found: Path | None = s.trace.cache.get(key)
    if found is None:
        found = s.trace.cache[key] = s.trace.roots.const(obj)
    return found


def _safe_power(left: Value, right: Value) -> bool:
    """Whether the result is an int for every int on the left: the exponent is a small constant that is not negative."""
    return (
        isinstance(right, Const) and issubclass(type(right.obj), int) and 0 <= right.obj < 64 and issubclass(left.cls, int)
    )


def _zero_text(symbol: str, a: Any, b: Any) -> str:
    try:
        BINARY_OPERATORS[symbol](a, b)
    except ZeroDivisionError as error:
        return str(error)
    return "division by zero"


__all__ = ["binary", "compare", "truth", "unary"]
