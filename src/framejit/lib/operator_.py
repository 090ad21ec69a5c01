"""Python bodies of C functions of operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _knows(obj: Any, name: str) -> bool:
    return any(name in cls.__dict__ for cls in type(obj).__mro__)


def length_hint(obj: Any, default: int = 0, /) -> int:
    """operator.length_hint."""
    if not isinstance(default, int):
        raise TypeError(f"'{type(default).__name__}' object cannot be interpreted as an integer")
    if _knows(obj, "__len__"):
        try:
            return len(obj)
        except TypeError:
            pass
    if not _knows(obj, "__length_hint__"):
        return default
    try:
        answer = type(obj).__length_hint__(obj)
    except TypeError:
        return default
    if answer is NotImplemented:
        return default
    if not isinstance(answer, int):
        raise TypeError(f"__length_hint__ must be an integer, not {type(answer).__name__}")
    if answer < 0:
        raise ValueError("__length_hint__() should return >= 0")
    return answer


def _items(of: Any) -> Any:
    if not _knows(of, "__iter__") and not _knows(of, "__getitem__"):
        raise TypeError(f"argument of type '{type(of).__name__}' is not iterable")
    return iter(of)


def count_of(a: Any, b: Any, /) -> int:
    """operator.countOf."""
    count = 0
    for item in _items(a):
        if item is b or item == b:
            count += 1
    return count


def index_of(a: Any, b: Any, /) -> int:
    """operator.indexOf."""
    for index, item in enumerate(_items(a)):
        if item is b or item == b:
            return index
    raise ValueError("sequence.index(x): x not in sequence")


def call(obj: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """operator.call."""
    return obj(*args, **kwargs)
