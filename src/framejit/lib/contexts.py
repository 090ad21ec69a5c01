"""What the capture asks of contexts and tokens that exist, and how it makes and changes them. The present context has no object."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from contextvars import Context, copy_context
from contextvars import ContextVar as Variable
from typing import Any

PRESENT: Any = copy_context  # stands for the context in which it is called
PROBE: Variable[None] = Variable("framejit")
READY, USED, ELSEWHERE = "ready", "used", "elsewhere"


def is_entered(context: Context) -> bool:
    """Whether some code runs in the context now."""
    try:
        context.run(int)
    except RuntimeError:
        return True
    return False


def variables(context: Any) -> tuple[Variable[Any], ...]:
    """The variables that hold something in a context."""
    return tuple(PRESENT() if context is PRESENT else context)


def order(among: Iterable[Variable[Any]]) -> list[Variable[Any]]:
    """The order in which a context gives these variables."""
    context = Context()
    for variable in among:
        context.run(variable.set, None)
    return list(context)


def put(context: Any, *held: Any) -> None:
    """Have a variable hold a value in a context; a token has emptied those that hold nothing any more."""
    if held:
        variable, value = held
        variable.set(value) if context is PRESENT else context.run(variable.set, value)


def copied(context: Any) -> Context:
    """A copy of a context."""
    return PRESENT() if context is PRESENT else context.copy()


def make_variable(name: str, *default: Any) -> Variable[Any]:
    """A context variable, which may have a default."""
    return Variable(name, default=default[0]) if default else Variable(name)


def make_token(context: Any, variable: Variable[Any], *old: Any) -> Any:
    """A token of a variable that held this in the context, or nothing yet; what is held then changes only where it was nothing."""
    if context is not PRESENT:
        return context.run(make_token, PRESENT, variable, *old)
    if not old:
        return variable.set(None)
    before = variable.set(old[0])
    token = variable.set(None)
    variable.reset(before)
    return token


def make_used(variable: Variable[Any], *old: Any) -> Any:
    """A token that was used: its context is not asked for any more."""
    return Context().run(_use, variable, *old)


def _use(variable: Variable[Any], *old: Any) -> Any:
    for value in old:
        variable.set(value)
    token = variable.set(None)
    variable.reset(token)
    return token


def use(token: Any) -> None:
    """Use a token, before its variable is given another value."""
    token.var.reset(token)


def state(token: Any) -> str:
    """Whether a token was used, and if not, whether it was made in the present context."""
    try:
        PRESENT().run(token.var.reset, token)
    except RuntimeError:
        return USED
    except ValueError:  # a copy is no token's context
        return READY if gc.get_referents(token)[0] is _present() else ELSEWHERE
    raise AssertionError("a token was used")


def _present() -> Any:
    token = PROBE.set(None)
    PROBE.reset(token)
    return gc.get_referents(token)[0]


def iterator(make: Any, context: Context, index: int) -> Any:
    """An iterator of a context that has given so many items."""
    found = make(context)
    for _ in range(index):
        next(found)
    return found
