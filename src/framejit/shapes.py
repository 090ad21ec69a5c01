"""Facts that the shape environment learnt about number inputs, as guards of the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy

from framejit.core.errors import Retrace
from framejit.core.guard import Guard
from framejit.core.path import Path
from framejit.core.trace import Input, Trace
from framejit.core.value import Number

PLAIN = (
    sympy.Symbol, sympy.Integer, sympy.Add, sympy.Mul, sympy.Eq, sympy.Ne, sympy.Lt, sympy.Le, sympy.Gt, sympy.Ge, sympy.And,
    sympy.Or, sympy.Not, sympy.logic.boolalg.BooleanTrue,
)  # fmt: skip


def shape_guards(trace: Trace, inputs: Sequence[Input]) -> list[Guard]:
    """Guards for what was assumed of the numbers; a number that was made constant starts the capture over."""
    symbols: dict[Any, Path] = {}
    for entry in inputs:
        if isinstance(entry.value, Number) and entry.value.cls is int:
            symbols[entry.node.meta["example_value"].node._expr] = entry.path
    guards = []
    replaced = trace.shape_env.replacements
    for symbol, path in symbols.items():
        if symbol in replaced or not isinstance(symbol, sympy.Symbol):
            raise Retrace(("static", str(path)))
    for row in trace.shape_env.guards:
        used = sorted(row.expr.free_symbols & set(symbols), key=str)
        if not used:
            continue
        if not _is_plain(row.expr) or set(row.expr.free_symbols) - set(symbols):
            raise Retrace(("static", str(symbols[used[0]])))
        guards.append(Guard(None, "PY_OF", (_predicate(row.expr, used), tuple(symbols[symbol] for symbol in used))))
    return guards


def _is_plain(expression: Any) -> bool:
    return all(isinstance(part, PLAIN) for part in sympy.preorder_traversal(expression))


def _predicate(expression: Any, symbols: list[Any]) -> Callable[..., bool]:
    check = sympy.lambdify(symbols, expression, "math")

    def holds(*values: int) -> bool:
        return bool(check(*values))

    holds.__qualname__ = holds.__name__ = str(expression)
    return holds
