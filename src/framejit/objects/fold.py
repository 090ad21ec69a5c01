"""Constant folding: operations on constants are done at once, by Python itself."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import MethodDescriptorType, NotImplementedType, WrapperDescriptorType
from typing import Any

from framejit.core.path import Path
from framejit.core.services import Services
from framejit.core.value import Const, Pack, Ref, Value
from framejit.objects import later
from framejit.objects.by_parts import by_parts
from framejit.objects.constants import content
from framejit.objects.exact import ExactModel, type_name
from framejit.reasons import R

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift, "@": operator.matmul,
}  # fmt: skip
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert, "not": operator.not_}

# Exact types whose instances are immutable and whose operators run no user code.
FOLDABLE = {int, float, bool, complex, str, bytes, type(None), type(Ellipsis), NotImplementedType, range}
HEAP_TYPE = 1 << 9
LARGEST = 1_000_000  # items, characters or bits of a folded result


def is_foldable(obj: Any) -> bool:
    """Whether operators on this object may be run at once."""
    kind = type(obj)
    return kind in FOLDABLE or (kind in (tuple, frozenset) and all(map(is_foldable, obj)))


# Special methods by which C functions ask their arguments for plain values.
CONVERSIONS = (
    "__index__", "__int__", "__float__", "__complex__", "__trunc__", "__bytes__", "__bool__", "__len__", "__iter__", "__getitem__",
    "__fspath__",
)  # fmt: skip
WRITTEN = (*CONVERSIONS, "__str__", "__repr__", "__format__")
COMPARED = ("__lt__", "__gt__", "__le__", "__ge__", "__eq__", "__ne__", "__hash__")


def is_inert(obj: Any, names: Sequence[str] = CONVERSIONS) -> bool:
    """Whether C functions that ask an object by these special methods run no Python code."""
    kind = type(obj)
    if kind in (tuple, frozenset, slice):
        return all(is_inert(item, names) for item in ((obj.start, obj.stop, obj.step) if kind is slice else obj))
    return not kind.__flags__ & HEAP_TYPE or not any(_in_python(kind, name) for name in names)


def is_plain(s: Services, v: Value, names: Sequence[str]) -> bool:
    """Whether the value is a constant, and an inert one."""
    return s.is_constant(v) and is_inert(s.constant(v), names)


def _in_python(kind: type, name: str) -> bool:
    found = next((vars(cls)[name] for cls in kind.__mro__ if name in vars(cls)), None)
    if found is None or isinstance(found, (WrapperDescriptorType, MethodDescriptorType)):
        return False
    return getattr(found, "__module__", None) != "enum"  # enum's own functions see nothing but constants


def inert(s: Services, name: Value) -> Any:
    """The constant that C code looks up by its hash: one that code hashes or compares is left to CPython."""
    found = s.constant(name)
    if not is_inert(found, ("__hash__", "__eq__")):
        s.unsupported(R.OPAQUE_OPERATION, name, "a name with special methods of its own")
    return found


def plain_name(s: Services, name: Value) -> str:
    """The name of an attribute or an argument."""
    return str.__str__(inert(s, name))


FOREIGN: list[Callable[[Any], bool]] = []  # which objects of other types written in C are immutable, with operators that run no user code


def is_foreign(obj: Any) -> bool:
    """Whether this is an object of a type written in C with operators of its own, such as numpy's float64, or a date."""
    kind = type(obj)
    if kind in FOLDABLE or kind.__flags__ & HEAP_TYPE:
        return False
    return issubclass(kind, (int, float, complex)) or any(knows(obj) for knows in FOREIGN)


def _both_fold(left: Value, right: Value) -> bool:
    return all(isinstance(v, Const) and (is_foldable(v.obj) or is_foreign(v.obj)) for v in (left, right))


def run(s: Services, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Value:
    """Call a pure function on real objects; what it raises is raised in the program."""
    try:
        result = function(*args, **kwargs)
    except MemoryError:
        return s.unsupported(R.OPAQUE_OPERATION, None, "a very large result")
    except Exception as error:  # noqa: BLE001 - whatever the function raises, the program raises
        return s.raise_real(error)
    return s.wrap(result)


def fold(s: Services, function: Callable[..., Any], args: Sequence[Value], kwargs: dict[str, Value] | None = None) -> Value:
    """Call a pure function on constants."""
    real_args = [s.constant(arg) for arg in args]
    named = {name: s.constant(arg) for name, arg in (kwargs or {}).items()}
    for obj in (*real_args, *named.values()):
        if not is_inert(obj):
            s.unsupported(R.OPAQUE_CALL, function, "an argument with special methods of its own")
    return run(s, function, *real_args, **named)


def binary(s: Services, symbol: str, left: Value, right: Value) -> Value | None:
    """`left symbol right` if both are foldable constants."""
    if not _both_fold(left, right):
        return None
    assert isinstance(left, Const) and isinstance(right, Const)
    symbol = symbol.removesuffix("=")
    _check_size(s, symbol, left.obj, right.obj)
    return _unless_refused(s, OPERATORS[symbol], left.obj, right.obj)


def compare(s: Services, symbol: str, left: Value, right: Value) -> Value | None:
    """`left symbol right` if both are foldable constants."""
    if not _both_fold(left, right):
        return None
    assert isinstance(left, Const) and isinstance(right, Const)
    return _unless_refused(s, COMPARISONS[symbol], left.obj, right.obj)


REFLECTED = {"lt": "__gt__", "le": "__ge__", "eq": "__eq__", "ne": "__ne__", "gt": "__lt__", "ge": "__le__"}


def _unless_refused(s: Services, function: Callable[[Any, Any], Any], left: Any, right: Any) -> Value | None:
    """The result of an operator, None where neither operand's type knows it: the error names the types that the program has."""
    name = function.__name__.strip("_")
    for one, method, other in ((left, f"__{name}__", right), (right, REFLECTED.get(name, f"__r{name}__"), left)):
        slot = next((vars(cls)[method] for cls in type(one).__mro__ if method in vars(cls)), _refuse)
        try:
            found = slot(one, other)
        except MemoryError:
            return s.unsupported(R.OPAQUE_OPERATION, None, "a very large result")
        except Exception as error:  # noqa: BLE001 - whatever the operator raises, the program raises
            return s.raise_real(error)
        if found is not NotImplemented:
            return s.wrap(found)
    return None


def _refuse(one: Any, other: Any) -> Any:
    return NotImplemented


def _check_size(s: Services, symbol: str, left: Any, right: Any) -> None:
    if symbol in ("**", "<<") and isinstance(left, int) and isinstance(right, int) and right > 0:
        if right * (left.bit_length() if symbol == "**" else 1) > LARGEST:
            s.unsupported(R.OPAQUE_OPERATION, None, "a very large number")
    elif symbol == "*":
        for sized, times in ((left, right), (right, left)):
            if isinstance(sized, (str, bytes, tuple)) and isinstance(times, int) and len(sized) * times > LARGEST:
                s.unsupported(R.OPAQUE_OPERATION, None, "a very long sequence")


class ConstantModel(ExactModel):
    """A type of immutable constants; subclasses' instances are known by identity."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        kind = type(real)
        if kind in FOLDABLE:
            s.guard(path, "EQ", real)
            return Const(real, path)
        return by_parts(s, path, real, next((plain for base, plain in PLAIN_VALUE.items() if issubclass(kind, base)), None))

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        base = getattr(found, "__objclass__", None)
        if type(found) in (MethodDescriptorType, WrapperDescriptorType):
            return None  # bound to the object itself: some hand it out, and two such methods of one object are equal
        if base in FOLDABLE and isinstance(value := unwrap(s, v), Const):
            return s.wrap(getattr(value.obj, name))
        return None

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        base = next((kind for kind in (int, float, str, bytes, complex) if issubclass(cls, kind)), None)
        if base is None or not cls.__flags__ & HEAP_TYPE:
            return None
        return s.heap.new(cls, {VALUE: unwrap(s, s.call(Const(base), args, kwargs))})

    def truth(self, s: Services, v: Value) -> bool | None:
        return bool(constant(s, v))

    def binary(self, s: Services, symbol: str, left: Value, right: Value, reflected: bool) -> Value | None:
        return binary(s, symbol, unwrap(s, left), unwrap(s, right))

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        return compare(s, symbol, unwrap(s, v), unwrap(s, other))

    def unary(self, s: Services, symbol: str, v: Value) -> Value:
        real = constant(s, v)
        if symbol != "not" and not hasattr(type(real), f"__{UNARY[symbol].__name__}__"):
            s.raise_error(TypeError, f"bad operand type for unary {symbol}: '{type_name(v.cls)}'")
        return run(s, UNARY[symbol], real)

    def hash_key(self, s: Services, v: Value) -> Any:
        return constant(s, v)


VALUE = ("value",)  # field of a virtual instance of a user's subclass of an immutable type


# What an instance of a subclass holds, whatever the subclass makes of __int__, __str__ and the like.
PLAIN_VALUE: dict[type, Callable[[Any], Any]] = {
    int: int.__index__, float: float.__float__, str: str.__str__, bytes: lambda obj: bytes.__getitem__(obj, slice(None)),
    complex: complex.__pos__,
}  # fmt: skip


def unwrap(s: Services, v: Value) -> Value:
    """The plain constant within an instance of a subclass of int, float, str …; else the value itself."""
    v = s.force(v)
    if isinstance(v, Ref):
        found = s.heap.get(v, VALUE)
        if found is None and later.is_text(s, v):
            return s.unsupported(R.OPAQUE_OPERATION, v, "a text with an address in it")
        return v if found is None else found
    if isinstance(v, Const) and type(v.obj) not in FOLDABLE and not is_foreign(v.obj):
        for base, plain in PLAIN_VALUE.items():
            if issubclass(type(v.obj), base):
                return Const(plain(v.obj))
    return v


def constant(s: Services, v: Value) -> Any:
    """The Python object a value certainly is, subclasses of plain types reduced to these; the content of a buffer."""
    return content(s, unwrap(s, v))


def snapshot(s: Services, v: Value) -> Any:
    """A real copy of a constant or of a container of constants, for pure functions that do not keep it."""
    v = s.force(v)
    if isinstance(v, Ref) and v.cls in (list, set, dict):
        items = s.unpack(v) if v.cls is not dict else s.unpack(s.call_method(v, "items"))
        return v.cls([snapshot(s, item) for item in items])
    if isinstance(v, Pack) and v.cls is tuple:
        return tuple(snapshot(s, item) for item in v.items)
    found = s.constant(v)
    if not is_inert(found, (*CONVERSIONS, *COMPARED)):
        s.unsupported(R.OPAQUE_OPERATION, v, "special methods of its own")
    return found
