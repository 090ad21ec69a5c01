"""Python bodies of what copies and pickles ask of objects: `__reduce_ex__`, `__getstate__` and their kin."""

from __future__ import annotations

import collections
import copyreg
import struct
from typing import Any

DISALLOW_INSTANTIATION = 1 << 7
POINTER = struct.calcsize("P")
Reduced = tuple[Any, ...]


def unpicklable(cls: type, slots: int, required: bool) -> str | None:
    """Why an instance of the class cannot be copied by `__new__`, its dict and its slots; None if it can."""
    if cls.__flags__ & DISALLOW_INSTANTIATION:
        return f"cannot pickle {cls.__name__!r} object"
    if required and cls.__itemsize__:
        return f"cannot pickle {cls.__name__!r} objects"
    known = object.__basicsize__ + POINTER * ((cls.__dictoffset__ > 0) + (cls.__weakrefoffset__ > 0) + slots)
    return f"cannot pickle {cls.__name__!r} object" if required and cls.__basicsize__ > known else None


def slot_names(cls: type) -> list[str] | None:
    """The names of the class's slots, as `copyreg._slotnames` finds and keeps them."""
    kept = vars(cls).get("__slotnames__")
    if kept is not None:
        return list(kept)
    names: list[str] = []
    for base in cls.__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name in ("__dict__", "__weakref__"):
                continue
            stripped = base.__name__.lstrip("_")
            private = name.startswith("__") and not name.endswith("__") and stripped
            names.append(f"_{stripped}{name}" if private else name)
    return names


def default_state(obj: Any, required: bool) -> Any:
    """object.__getstate__; `required`: what the instance holds beside dict and slots would be lost."""
    state = getattr(obj, "__dict__", None) or None
    names = slot_names(type(obj))
    problem = unpicklable(type(obj), len(names or ()), required)
    if problem:
        raise TypeError(problem)
    if names:
        slots = {}
        for name in names:
            try:
                slots[name] = getattr(obj, name)
            except AttributeError:
                continue
        if slots:
            return state, slots
    return state


def getstate(self: Any) -> Any:
    """object.__getstate__."""
    return default_state(self, False)


def _new_arguments(obj: Any) -> tuple[Any, Any]:
    """What `__getnewargs_ex__` or `__getnewargs__` gives, None where there is none."""
    found = getattr(obj, "__getnewargs_ex__", None)
    if found is not None:
        given = found()
        if not isinstance(given, tuple):
            raise TypeError(f"__getnewargs_ex__ should return a tuple, not '{type(given).__name__}'")
        if len(given) != 2:
            raise ValueError(f"__getnewargs_ex__ should return a tuple of length 2, not {len(given)}")
        args, kwargs = given
        if not isinstance(args, tuple):
            raise TypeError(f"first item of the tuple returned by __getnewargs_ex__ must be a tuple, not '{type(args).__name__}'")
        if not isinstance(kwargs, dict):
            raise TypeError(f"second item of the tuple returned by __getnewargs_ex__ must be a dict, not '{type(kwargs).__name__}'")
        return args, kwargs
    found = getattr(obj, "__getnewargs__", None)
    if found is None:
        return None, None
    args = found()
    if not isinstance(args, tuple):
        raise TypeError(f"__getnewargs__ should return a tuple, not '{type(args).__name__}'")
    return args, None


def _reduce_newobj(obj: Any) -> Reduced:
    cls = type(obj)
    args, kwargs = _new_arguments(obj)
    if not kwargs:
        function: Any = copyreg.__newobj__  # type: ignore[attr-defined]
        given: tuple[Any, ...] = (cls, *(args or ()))
    else:
        function = copyreg.__newobj_ex__  # type: ignore[attr-defined]
        given = (cls, args, kwargs)
    if type(obj).__getstate__ is object.__getstate__ and "__getstate__" not in getattr(obj, "__dict__", ()):
        state = default_state(obj, args is None and not isinstance(obj, (list, dict)))
    else:
        state = obj.__getstate__()
    listed = iter(obj) if isinstance(obj, list) else None
    pairs = iter(obj.items()) if isinstance(obj, dict) else None
    return function, given, state, listed, pairs


def reduce(self: Any) -> Any:
    """object.__reduce__."""
    return copyreg._reduce_ex(self, 0)  # type: ignore[attr-defined]


def reduce_ex(self: Any, protocol: int) -> Any:
    """object.__reduce_ex__."""
    found = self.__reduce__
    if type(self).__reduce__ is not object.__reduce__:
        return found()
    return _reduce_newobj(self) if protocol >= 2 else copyreg._reduce_ex(self, protocol)  # type: ignore[attr-defined]


def reduce_set(self: Any) -> Reduced:
    """set.__reduce__ and frozenset.__reduce__."""
    return type(self), (list(self),), self.__getstate__()


def reduce_deque(self: Any) -> Reduced:
    """deque.__reduce__."""
    state = self.__getstate__()
    items = iter(self)
    return type(self), ((), self.maxlen) if self.maxlen is not None else (), state, items


def reduce_ordered(self: Any) -> Reduced:
    """OrderedDict.__reduce__."""
    state = self.__getstate__()
    return type(self), (), state, None, iter(self.items())


def reduce_default(self: Any) -> Reduced:
    """defaultdict.__reduce__."""
    args = () if self.default_factory is None else (self.default_factory,)
    return type(self), args, None, None, iter(self.items())


BODIES: list[tuple[Any, Any]] = [
    (object.__reduce_ex__, reduce_ex), (object.__reduce__, reduce), (object.__getstate__, getstate),
    (set.__reduce__, reduce_set), (frozenset.__reduce__, reduce_set), (collections.deque.__reduce__, reduce_deque),
    (collections.OrderedDict.__reduce__, reduce_ordered), (collections.defaultdict.__reduce__, reduce_default),
]  # fmt: skip
