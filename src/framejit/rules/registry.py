"""The table of callables that capture knows: each row is a handler registered at the callable itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from framejit.core.services import Pending, Services
from framejit.core.value import Value

# A handler takes the services, the positional values and the keyword values.
Handler = Callable[[Services, list[Value], dict[str, Value]], "Value | Pending"]

HANDLERS: dict[Any, Handler] = {}
PURE: set[Any] = set()  # callables folded when every argument is a constant


def handler(*callables: Any) -> Callable[[Handler], Handler]:
    """Register the handler of these callables (functions, classes, method descriptors; `list.append` for `[].append`)."""

    def register(function: Handler) -> Handler:
        for target in callables:
            if target in HANDLERS:
                raise ValueError(f"two handlers for {target!r}")
            HANDLERS[target] = function
        return function

    return register


READERS: set[Any] = set()  # of these, those that read buffers and do not keep them


def pure(callables: Iterable[Any]) -> None:
    """Register callables whose result depends on their arguments only and which have no effect: folded on constants."""
    PURE.update(callables)


def signature(names: str) -> Callable[[Callable[..., Any]], Handler]:
    """Adapt a handler written with named parameters, `f(s, a, b=None)`, to the table's form.

    `names` are the parameters in order, as in "sequence start=0 /": a default is not evaluated, it marks the parameter optional
    (passed as None when absent); "/" ends positional-only ones. Wrong arguments end the region, so that eager raises its error.
    """
    parts = names.split()
    positional_only = parts.index("/") if "/" in parts else 0
    parts = [part for part in parts if part != "/"]
    parameters = [part.split("=")[0] for part in parts]
    required = [part for part in parts if "=" not in part]

    def adapt(function: Callable[..., Any]) -> Handler:
        def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value | Pending:
            bound: dict[str, Value | None] = dict(zip(parameters, args, strict=False))
            if len(args) > len(parameters) or any(k in bound or k not in parameters[positional_only:] for k in kwargs):
                s.raise_error(TypeError, f"bad arguments for {function.__name__}")
            bound.update(kwargs)
            if any(name not in bound for name in required):
                s.raise_error(TypeError, f"missing arguments for {function.__name__}")
            return function(s, *(bound.get(name) for name in parameters))

        call.__name__ = function.__name__
        return call

    return adapt
