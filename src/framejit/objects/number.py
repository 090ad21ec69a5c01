"""int, float, bool, complex, None, Ellipsis and NotImplemented: constants, and numbers computed by the program."""

from __future__ import annotations

from collections.abc import Iterable
from types import NotImplementedType
from typing import Any

from framejit.core.path import Path
from framejit.core.services import Services
from framejit.core.value import Const, Node, Number, Ref, Value, bool_const
from framejit.objects import fold, symnum
from framejit.objects.exact import ExactModel
from framejit.objects.fold import ConstantModel, unwrap
from framejit.objects.later import ARGUMENTS, FUNCTION
from framejit.objects.model import model
from framejit.reasons import R

NUMERIC = (int, float, complex)


def is_symbolic(v: Value) -> bool:
    """Whether the value is a number of the program or of the graph instead of a constant."""
    return isinstance(v, Number) or (isinstance(v, Node) and issubclass(v.cls, NUMERIC))


@model(int, float, bool, complex)
class NumberModel(ConstantModel):
    """Numbers: folded if constant, else computed by `symnum`."""

    __slots__ = ()

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        if is_symbolic(v):
            if name == "real" and v.cls in (int, float) or name == "numerator" and v.cls is int:
                return v
            v = s.wrap(s.constant(v))
        return super().attribute(s, v, name, found)

    def truth(self, s: Services, v: Value) -> bool | None:
        v = unwrap(s, v)
        return symnum.truth(s, v) if is_symbolic(v) else bool(s.constant(v))

    def binary(self, s: Services, symbol: str, left: Value, right: Value, reflected: bool) -> Value | None:
        left, right = unwrap(s, left), unwrap(s, right)
        if not issubclass(left.cls, NUMERIC) or not issubclass(right.cls, NUMERIC):
            return None
        if isinstance(left, Ref) or isinstance(right, Ref):
            return s.unsupported(R.OPAQUE_OPERATION, left, "arithmetic on an identity")
        if not _knows(*((right, left) if reflected else (left, right))):
            return None
        left, right = _operands(s, left, right)
        if is_symbolic(left) or is_symbolic(right):
            return symnum.binary(s, symbol.removesuffix("="), left, right)
        return fold.binary(s, symbol, left, right)

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        v, other = unwrap(s, v), unwrap(s, other)
        if not issubclass(v.cls, NUMERIC) or not issubclass(other.cls, NUMERIC) or (symbol[0] in "<>" and complex in (v.cls, other.cls)):
            return None
        if isinstance(v, Ref) or isinstance(other, Ref):
            return _compare_later(s, symbol, v, other)
        if not _knows(v, other):
            return None
        v, other = _operands(s, v, other)
        if is_symbolic(v) or is_symbolic(other):
            return symnum.compare(s, symbol, v, other)
        return fold.compare(s, symbol, v, other)

    def hash_key(self, s: Services, v: Value) -> Any:
        return _key(s, unwrap(s, v))

    def key_among(self, s: Services, v: Value, among: Iterable[Any] | None) -> Any:
        of = identity(s, v)
        return self.hash_key(s, v) if of is None or among is None else identity_key(s, of, among)

    def unary(self, s: Services, symbol: str, v: Value) -> Value:
        plain = unwrap(s, v)
        return symnum.unary(s, symbol, plain) if is_symbolic(plain) else super().unary(s, symbol, v)


def _knows(asked: Value, other: Value) -> bool:
    """Whether the type of the operand that is asked computes with the other: an int leaves floats to floats, these complex numbers."""
    return not issubclass(asked.cls, int) and issubclass(other.cls, float) or issubclass(other.cls, (int, _base(asked)))


def _base(number: Value) -> type:
    return next(cls for cls in NUMERIC if issubclass(number.cls, cls))


def _operands(s: Services, left: Value, right: Value) -> tuple[Value, Value]:
    """Operands of an operator; beside a complex number the other one is a constant too, as programs compute no complex numbers."""
    if complex not in (left.cls, right.cls):
        return left, right
    return s.wrap(s.constant(left)), s.wrap(s.constant(right))


class Identity:
    """Stands for the id of an object among hash keys that all are such; which are the same is asked, and guarded, one by one."""

    __slots__ = ("s", "value")

    def __init__(self, s: Services, value: Value):
        self.s, self.value = s, s.force(value)

    def __hash__(self) -> int:
        return hash(Identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and _is_one(self.s, self.value, other.value)


def _is_one(s: Services, one: Value, other: Value) -> bool:
    return one is other or (one.cls is other.cls and s.is_same(one, other))


def identity(s: Services, v: Value) -> Value | None:
    """The object of which the int is the id; None for any other value."""
    if not isinstance(v, Ref) or v.cls is not int:
        return None
    function = s.heap.get(v, FUNCTION)
    return s.heap.get(v, ARGUMENTS).items[0] if function is not None and function.obj is id else None


def identity_key(s: Services, of: Value, among: Iterable[Any]) -> Any:
    """What stands for an id among these hash keys: the id itself where other ints are among them."""
    key = Identity(s, of)
    for other in among:
        if isinstance(other, Identity):
            if key == other:
                return other
        elif type(other) is int and (pinned := _pinned(s, key.value)) is not None:
            return pinned
    return key


def _pinned(s: Services, of: Value) -> int | None:
    """The id of an object that exists, from now on a fact that the region relies on."""
    path, real = getattr(of, "path", None), of.obj if isinstance(of, Const) else getattr(of, "real", None)
    if real is None or (path is None and not isinstance(of, Const)):
        return None
    if path is not None:
        s.guard(path, "IS", real)
    return id(real)


def _key(s: Services, v: Value) -> Any:
    """What stands for the int among hash keys; the identity of a real object is its id, guarded."""
    if not isinstance(v, Ref) or s.heap.get(v, FUNCTION) is None:
        return s.constant(v)
    of = identity(s, v)
    if of is None:
        return ("later", s.heap.get(v, FUNCTION).obj, s.heap.get(v, ARGUMENTS).items)
    pinned = _pinned(s, s.force(of))
    return Identity(s, of) if pinned is None else pinned


def _compare_later(s: Services, symbol: str, v: Value, other: Value) -> Value:
    """Identities are equal where the objects are the same; those of objects born here differ from all other ints."""
    if symbol not in ("==", "!="):
        s.unsupported(R.OPAQUE_OPERATION, v, "order of identities")
    if isinstance(v, Ref) and isinstance(other, Ref):
        one, two = (s.heap.get(each, ARGUMENTS).items for each in (v, other))
        if s.heap.get(v, FUNCTION).obj is id and s.heap.get(other, FUNCTION).obj is id:
            return bool_const(s.is_same(one[0], two[0]) == (symbol == "=="))
    return bool_const((_key(s, v) == _key(s, other)) == (symbol == "=="))


@model(type(None), type(Ellipsis), NotImplementedType)
class SingletonModel(ExactModel):
    """None, Ellipsis and NotImplemented."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        s.guard(path, "IS", real)
        return Const(real, path)

    def truth(self, s: Services, v: Value) -> bool | None:
        if v.cls is NotImplementedType:
            s.unsupported(R.OPAQUE_OPERATION, v, "the truth of NotImplemented")
        return v.cls is not type(None)

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        if symbol in ("==", "!=") and isinstance(other, Const):
            same = isinstance(v, Const) and v.obj is other.obj
            return bool_const(same == (symbol == "==")) if same or fold.is_foldable(other.obj) else None
        return None

    def hash_key(self, s: Services, v: Value) -> Any:
        return s.constant(v)
