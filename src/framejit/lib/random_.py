"""Generators of random numbers as the capture and its programs advance them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

BASE: Any = random.Random.__base__
Steps = tuple[tuple[str, tuple[Any, ...]], ...]


def below(generator: Any, n: int) -> int:
    """A number in range(n), as `Random._randbelow` draws it."""
    bits = n.bit_length()
    found: int = BASE.getrandbits(generator, bits)
    while found >= n:
        found = BASE.getrandbits(generator, bits)
    return found


DRAWS: dict[str, Callable[..., Any]] = {"random": BASE.random, "getrandbits": BASE.getrandbits, "below": below}


def advance(generator: Any, state: Any, start: tuple[str, Any] | None, steps: Steps) -> None:
    """Do again what was done to a generator: give it a state (if not None) or a seed, then draw."""
    if state is not None:
        BASE.setstate(generator, state)
    elif start is not None:
        getattr(BASE, start[0])(generator, start[1])
    for name, args in steps:
        DRAWS[name](generator, *args)


def twin_of(generator: Any) -> tuple[Any, Any]:
    """A generator in the same state, and no number yet."""
    return twin_in(BASE.getstate(generator))


def twin_in(state: Any) -> tuple[Any, Any]:
    """A generator in this state, and no number yet."""
    found = BASE(0)
    found.setstate(state)
    return found, None


def drawn(last: tuple[Any, Any], name: str, *args: Any) -> tuple[Any, Any]:
    """The generator and the next number that it gives."""
    return last[0], DRAWS[name](last[0], *args)


def state_behind(last: tuple[Any, Any]) -> Any:
    """The state of the generator behind the last number."""
    return last[0].getstate()
