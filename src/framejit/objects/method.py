"""The table of C methods of built-in types; `rules/builtins_.py` puts its rows into the table of callables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from framejit.core.errors import Raised, Unsupported
from framejit.core.services import Pending, Services
from framejit.core.value import Value
from framejit.reasons import R

Handler = Callable[[Services, list[Value], dict[str, Value]], "Value | Pending"]

METHODS: dict[Any, Handler] = {}


def method(target: Any, names: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the handler `f(s, self, ...)` of a C method; `names` are its parameters after self.

    "start=0 stop" style as in `rules.registry.signature`: a name with "=" is optional (None when absent), those before "/"
    are positional only, "*rest" collects, "**" hands the remaining keywords as a dict.
    """
    parts = names.split()
    positional_only = parts.index("/") if "/" in parts else 0
    parts = [part for part in parts if part != "/"]
    star = bool(parts) and any(part.startswith("*") and part != "**" for part in parts)
    keywords = "**" in parts
    parameters = [part.split("=")[0] for part in parts if not part.startswith("*")]
    required = sum(1 for part in parts if not part.startswith("*") and "=" not in part)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value | Pending:
            if not args:
                return s.raise_error(TypeError, f"unbound method {target.__qualname__}() needs an argument")
            given, rest = args[1 : 1 + len(parameters)], args[1 + len(parameters) :]
            bound: list[Value | None] = [*given, *[None] * (len(parameters) - len(given))]
            extra = dict(kwargs)
            for index in range(max(len(given), positional_only), len(parameters)):
                if parameters[index] in extra:
                    bound[index] = extra.pop(parameters[index])
            if (rest and not star) or (extra and not keywords) or None in bound[:required]:
                raise_arity(s, target, args, kwargs)
            more: list[Any] = [rest] if star else []
            if keywords:
                more.append(extra)
            return function(s, s.force(args[0]), *bound, *more)  # type: ignore[no-any-return]

        call.__name__ = function.__name__
        if target in METHODS:
            raise ValueError(f"two handlers for {target!r}")
        METHODS[target] = call
        return function

    return register


_SPECIMENS: dict[type, Any] = {int: 0, float: 0.0, bool: False, complex: 0j, range: range(0), slice: slice(None)}


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


def fold(
    s: Services, function: Callable[..., Any], args: Sequence[Value], kwargs: dict[str, Value] | None = None
) -> Value:
    """Call a pure function on constants; its exception becomes the program's."""
    real_args = [s.constant(arg) for arg in args]
    real_kwargs = {name: s.constant(arg) for name, arg in (kwargs or {}).items()}
    try:
        result = function(*real_args, **real_kwargs)
    except (Raised, Unsupported):
        raise
    except Exception as error:
        return s.raise_error(type(error), *error.args)
    return s.wrap(result)
