"""Which names a generated program can use at some place, and random choice."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class Scope:
    """The variables of one function: `own` ones can be assigned, outer ones only read."""

    def __init__(self, parent: Scope | None = None, *, generator: bool = False) -> None:
        self.own: list[tuple[str, str]] = []
        self.parent = parent
        self.generator = generator
        self.loops = 0
        self.returns = parent is None

    def visible(self, kind: str) -> list[str]:
        """Names of variables of this kind, those of enclosing functions included."""
        names = [name for name, own in self.own if own == kind]
        return names + (self.parent.visible(kind) if self.parent is not None else [])

    def assignable(self, kind: str) -> list[str]:
        """Names of this function's own variables of this kind."""
        return [name for name, own in self.own if own == kind]

    def kinds(self) -> list[tuple[str, str]]:
        """All visible variables with their kinds."""
        return self.own + (self.parent.kinds() if self.parent is not None else [])


class Source:
    """A seeded source of choices and fresh names."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    def fresh(self, prefix: str) -> str:
        """A name that the program does not use yet."""
        self.count += 1
        return f"{prefix}{self.count}"

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random.random() < probability

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.random.randrange(len(options))]

    def weighted(self, rows: dict[Any, float]) -> Any:
        """One of the keys, by weight."""
        return self.random.choices(list(rows), list(rows.values()))[0]

    def small(self, low: int = -3, high: int = 6) -> int:
        """A small number."""
        return self.random.randint(low, high)


def indent(lines: Sequence[str]) -> list[str]:
    """The lines of a block, one level deeper; `pass` for an empty one."""
    return ["    " + line for line in lines] or ["    pass"]
