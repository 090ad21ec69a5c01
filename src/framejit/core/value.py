"""What the symbolic interpreter computes with: seven small kinds of value.

Five are the design's: `Const` (identity known), `Node` (lives in the graph), `Pack` (immutable aggregate), `Ref`
(mutable object, fields in the heap) and `Null` (empty slot). `Lazy` is an input that nobody has asked about yet,
and `Number` an int or float computed by the program instead of the graph.
"""

from __future__ import annotations

from typing import Any

from framejit.core.path import Path


class Value:
    """The base of all symbolic values."""

    __slots__ = ()
    cls: type


class Null(Value):
    """An empty slot: an unbound local, the NULL under a callable."""

    __slots__ = ()
    cls = type(None)

    def __repr__(self) -> str:
        return "NULL"


NULL = Null()


class Const(Value):
    """An object known by identity; `path` says where it was found, None for a literal."""

    __slots__ = ("obj", "path")

    def __init__(self, obj: Any, path: Path | None = None):
        self.obj, self.path = obj, path

    @property
    def cls(self) -> type:  # type: ignore[override]
        return type(self.obj)

    def __repr__(self) -> str:
        return f"Const({self.obj!r})"


NONE, TRUE, FALSE = Const(None), Const(True), Const(False)


def bool_const(flag: bool) -> Const:
    """The constant True or False."""
    return TRUE if flag else FALSE


class Node(Value):
    """A tensor in the graph: the fx node, a fake tensor with its metadata, and the path of an input.

    `meta` is an interned key of the metadata; `cls` the exact Python type of the real tensor.
    """

    __slots__ = ("cls", "node", "fake", "path", "meta", "real")

    def __init__(self, cls: type, node: Any, fake: Any, path: Path | None = None, meta: Any = None, real: Any = None):
        self.cls, self.node, self.fake, self.path, self.meta, self.real = cls, node, fake, path, meta, real

    def __repr__(self) -> str:
        return f"Node({self.node})"


class Number(Value):
    """An unspecialised int, float or bool: a path (perhaps computed) and its value in this capture."""

    __slots__ = ("cls", "path", "hint")

    def __init__(self, cls: type, path: Path, hint: Any):
        self.cls, self.path, self.hint = cls, path, hint

    def __repr__(self) -> str:
        return f"Number({self.path}={self.hint!r})"


class Pack(Value):
    """An immutable aggregate: tuple (and its subclasses), slice, bound method, frozenset.

    For a method `items` is (function, self); for a slice (start, stop, step).
    """

    __slots__ = ("cls", "items", "path")

    def __init__(self, cls: type, items: tuple[Value, ...], path: Path | None = None):
        self.cls, self.items, self.path = cls, items, path

    def __repr__(self) -> str:
        return f"Pack({self.cls.__name__}, {list(self.items)!r})"


class Ref(Value):
    """A mutable object with identity; its fields are in the heap. `path` is None for one born in the capture."""

    __slots__ = ("cls", "path", "real", "__weakref__")

    def __init__(self, cls: type, path: Path | None = None, real: Any = None):
        self.cls, self.path, self.real = cls, path, real

    @property
    def virtual(self) -> bool:
        """Whether the object does not exist yet."""
        return self.path is None

    def __repr__(self) -> str:
        return f"Ref({self.cls.__name__}{'' if self.path is None else f' {self.path}'})"


class Lazy(Value):
    """An input nobody has asked about: passed on unguarded, forced to another kind at the first question."""

    __slots__ = ("path", "real")

    def __init__(self, path: Path, real: Any):
        self.path, self.real = path, real

    @property
    def cls(self) -> type:  # type: ignore[override]
        raise TypeError(f"{self!r} must be forced before it is asked for its type")

    def __repr__(self) -> str:
        return f"Lazy({self.path})"
