"""Python bodies of C functions of functools."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class ComparisonKey:
    """A sort key that compares by a comparison function."""

    __slots__ = ("compare", "obj")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, compare: Callable[[Any, Any], int], obj: Any):
        self.compare = compare
        self.obj = obj

    def __lt__(self, other: Any) -> bool:
        return self.compare(self.obj, other.obj) < 0

    def __gt__(self, other: Any) -> bool:
        return self.compare(self.obj, other.obj) > 0

    def __eq__(self, other: Any) -> bool:
        return self.compare(self.obj, other.obj) == 0

    def __le__(self, other: Any) -> bool:
        return self.compare(self.obj, other.obj) <= 0

    def __ge__(self, other: Any) -> bool:
        return self.compare(self.obj, other.obj) >= 0


def cmp_to_key(compare: Callable[[Any, Any], int]) -> Callable[[Any], ComparisonKey]:
    """A key function from a comparison function."""
    return functools.partial(ComparisonKey, compare)
