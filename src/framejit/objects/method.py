"""The table of C methods of built-in types; `rules/builtins_.py` puts its rows into the table of callables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from framejit.core.services import Pending, Services
from framejit.core.value import Value
from framejit.objects.model import Model
from framejit.reasons import R
from framejit.rules.registry import HANDLERS

Handler = Callable[[Services, list[Value], dict[str, Value]], "Value | Pending"]

METHODS: dict[Any, Handler] = {}


def binder(names: str) -> Callable[[list[Value], dict[str, Value]], list[Any] | None]:
    """A function that binds arguments to the parameters `names`, giving None where they do not fit.

    A name with "=" is optional (None when absent), those before "/" are positional only, those behind "*" keyword only;
    "*rest" collects the other positional ones into a list, "**" the other keywords into a dict.
    """
    parts = names.split()
    positional_only = parts.index("/") if "/" in parts else 0
    parts = [part for part in parts if part != "/"]
    star = any(part.startswith("*") and part.strip("*") for part in parts)
    keywords = "**" in parts
    named = [part for part in parts if not part.startswith("*")]
    positional = parts.index("*") if "*" in parts else len(named)
    parameters = [part.split("=")[0] for part in named]
    required = [index for index, part in enumerate(named) if "=" not in part]

    def bind(args: list[Value], kwargs: dict[str, Value]) -> list[Any] | None:
        given, rest = args[:positional], args[positional:]
        bound: list[Any] = [*given, *[None] * (len(parameters) - len(given))]
        extra = kwargs
        if kwargs:
            extra = dict(kwargs)
            for index in range(max(len(given), positional_only), len(parameters)):
                if parameters[index] in extra:
                    bound[index] = extra.pop(parameters[index])
        if (rest and not star) or (extra and not keywords) or any(bound[index] is None for index in required):
            return None
        if star:
            bound.append(rest)
        if keywords:
            bound.append(extra)
        return bound

    return bind


def method(target: Any, names: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the handler `f(s, self, ...)` of a C method; `names` are its parameters after self, as for `binder`."""
    bind = binder(names)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value | Pending:
            if not args:
                return s.raise_error(TypeError, f"unbound method {target.__qualname__}() needs an argument")
            bound = bind(args[1:], kwargs)
            if bound is None:
                return raise_arity(s, target, args, kwargs)
            return function(s, s.force(args[0]), *bound)

        call.__name__ = function.__name__
        if target in METHODS:
            raise ValueError(f"two handlers for {target!r}")
        METHODS[target] = HANDLERS[target] = call
        return function

    return register


_SPECIMENS: dict[type, Any] = {
    int: 0, float: 0.0, bool: False, complex: 0j, range: range(0), slice: slice(None), type: Model, ContextVar: ContextVar(""),
}  # fmt: skip


def raise_arity(s: Services, target: Any, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """Raise the TypeError with which CPython refuses this number and these names of arguments, by asking CPython."""
    owner = getattr(target, "__objclass__", None)
    given: list[Any] = [None] * len(args)
    if owner is not None and args:
        given[0] = _SPECIMENS[owner] if owner in _SPECIMENS else owner()
    try:
        target(*given, **dict.fromkeys(kwargs))
    except TypeError as error:
        return s.raise_error(TypeError, *error.args)
    return s.unsupported(R.OPAQUE_CALL, target, "arguments")
