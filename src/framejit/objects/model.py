"""The interface of object models, and the table from Python types to their models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from framejit.core.path import Path
from framejit.core.services import Pending, Services
from framejit.core.value import Ref, Value
from framejit.reasons import R


class Model:
    """The slots of one Python type (and of its subclasses, where they do not override them in Python).

    The interpreter has already forced `v`, and has already found that the slot is not overridden by user code. A method
    that returns None instead of a value means NotImplemented. Defaults end the region.
    """

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        """The value that stands for the real object found at `path`, with the guards that make it so."""
        return s.unsupported(R.UNKNOWN_TYPE, real)

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | Pending | None:
        """Read `name`, which the type implements in C by the descriptor `found`; None if this model does not know it."""
        return None

    def set_attribute(self, s: Services, v: Value, name: str, found: Any, new: Value | None) -> bool:
        """Write (or delete: `new` is None) such an attribute; False if this model does not know it."""
        return False

    def getitem(self, s: Services, v: Value, key: Value) -> Value:
        return s.unsupported(R.OPAQUE_OPERATION, v, "subscript")

    def setitem(self, s: Services, v: Value, key: Value, new: Value) -> None:
        s.unsupported(R.OPAQUE_OPERATION, v, "item assignment")

    def delitem(self, s: Services, v: Value, key: Value) -> None:
        s.unsupported(R.OPAQUE_OPERATION, v, "item deletion")

    def len(self, s: Services, v: Value) -> Value | None:
        """The length; None where the type has none."""
        return None

    def truth(self, s: Services, v: Value) -> bool | None:
        """The truth value; None where the type defines none itself (then `len` decides, else True)."""
        return None

    def contains(self, s: Services, v: Value, item: Value) -> Value | None:
        """Membership; None where the type defines none itself (then iteration decides)."""
        return None

    def iter(self, s: Services, v: Value) -> Value:
        return s.unsupported(R.UNKNOWN_ITERATOR, v)

    def next(self, s: Services, v: Value) -> Value:
        """The next item of an iterator; Raised with StopIteration at its end."""
        return s.unsupported(R.UNKNOWN_ITERATOR, v)

    def binary(self, s: Services, symbol: str, left: Value, right: Value, reflected: bool) -> Value | None:
        """`left symbol right`, asked of the left operand's type, or of the right one's if `reflected`. In-place symbols arrive as '+='."""
        return None

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        """`v symbol other` by v's type (the protocol swaps and reflects)."""
        return None

    def unary(self, s: Services, symbol: str, v: Value) -> Value:
        return s.unsupported(R.OPAQUE_OPERATION, v, f"unary {symbol}")

    def hash_key(self, s: Services, v: Value) -> Any:
        """A Python object with the value's equality and hash among dict keys of any kind; unsupported where user code decides."""
        return s.unsupported(R.OPAQUE_OPERATION, v, "hash")

    def key_among(self, s: Services, v: Value, among: Iterable[Any] | None) -> Any:
        """As `hash_key`, where these are the other keys."""
        return self.hash_key(s, v)

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        """A bare instance of `cls` by the type's own `__new__`; None if this model cannot make one."""
        return None

    def initialise(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> bool:
        """The type's own `__init__` on a new instance; False if this model has none."""
        return False

    def call(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | Pending:
        return s.unsupported(R.OPAQUE_CALL, v)


def by_type(s: Services, path: Path, real: Any) -> Ref:
    """What stands for a real object of which only the type is relied on."""
    s.guard(path, "TYPE", type(real))
    ref = Ref(type(real), path, real)
    s.trace.remember(real, ref)
    return ref


class ByType(Model):
    """A type whose real objects are known by their type until they are asked for more."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        return by_type(s, path, real)


MODELS: dict[type, Model] = {}
_RESOLVED: dict[type, Model] = {}


def model(*types: type) -> Callable[[type[Model]], type[Model]]:
    """Register a model class for these Python types."""

    def register(cls: type[Model]) -> type[Model]:
        instance = cls()
        for kind in types:
            if kind in MODELS:
                raise ValueError(f"two models for {kind.__qualname__}")
            MODELS[kind] = instance
        return cls

    return register


def model_of(cls: type) -> Model:
    """The model of a Python type: that of the first type in its MRO that has one."""
    found = MODELS.get(cls)
    if found is None:
        for base in cls.__mro__:
            found = MODELS.get(base)
            if found is not None:
                break
        else:
            raise LookupError(f"no model for {cls.__qualname__}: object has none")
    return found
