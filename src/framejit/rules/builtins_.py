"""Built-in functions and classes."""

from __future__ import annotations

import builtins
import io
import sys
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from framejit.core.errors import Raised
from framejit.core.heap import MISSING
from framejit.core.services import Pending, Services
from framejit.core.value import FALSE, NONE, TRUE, Const, Node, Number, Pack, Ref, Value, bool_const
from framejit.objects import (
    abstract,
    deque_,
    dict_,
    dict_methods,
    dict_view,
    frame_,
    iterator,
    later,
    list_,
    sequence,
    set_,
    slice_,
    str_,
    text,
    tuple_,
)
from framejit.objects.constants import CONTENTS, content
from framejit.objects.exact import type_name
from framejit.objects.fold import constant, fold, is_foldable, plain_name, run, unwrap
from framejit.objects.method import METHODS, binder
from framejit.objects.number import is_symbolic
from framejit.objects.protocol import format_, has_slot, import_name, index, next_or_none, user_slot
from framejit.objects.str_ import check_codec
from framejit.reasons import R
from framejit.rules.registry import HANDLERS, handler, pure

HANDLERS.update(METHODS)
pure((chr, bytearray.fromhex, bytes.fromhex, float.fromhex, int.from_bytes, str.maketrans))


def positional(least: int, most: int | None = None) -> Any:
    """Adapt `f(s, *args)` of a built-in that takes from `least` to `most` positional arguments and no keywords."""
    most = least if most is None else most

    def adapt(function: Any) -> Any:
        name = function.__name__.removesuffix("_").removesuffix("_object")

        def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value | Pending:
            if kwargs or not least <= len(args) <= most:
                return wrong_arguments(s, getattr(builtins, name), args, kwargs)
            return function(s, *args)

        call.__name__ = name
        return call

    return adapt


def takes(target: Any, names: str) -> Any:
    """Register the handler `f(s, ...)` of a callable with these parameters, as for `method.binder`."""
    bind = binder(names)

    def register(function: Any) -> Any:
        @handler(target)
        def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value | Pending:
            bound = bind(args, kwargs)
            return wrong_arguments(s, target, args, kwargs) if bound is None else function(s, *bound)

        return function

    return register


def wrong_arguments(s: Services, function: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Raise CPython's own TypeError for this number and these names of arguments."""
    if function not in (print, input, open, exec, eval, breakpoint):
        try:
            function(*[None] * len(args), **dict.fromkeys(kwargs))
        except TypeError as error:
            return s.raise_error(TypeError, *error.args)
    return s.unsupported(R.OPAQUE_CALL, function, "arguments")


# -- numbers as texts ---------------------------------------------------------------------------------------------------


def _in_base(function: Callable[[Any], str]) -> None:
    @takes(function, "number /")
    def text(s: Services, number: Value) -> Value:
        return run(s, function, s.constant(index(s, number)))


for _function in (bin, hex, oct):
    _in_base(_function)


# -- objects ----------------------------------------------------------------------------------------------------------


@handler(callable)
@positional(1)
def callable_(s: Services, v: Value) -> Value:
    v = s.force(v)
    if isinstance(v, Const):
        return bool_const(callable(v.obj))
    return bool_const(s.type_lookup(v.cls, "__call__") is not MISSING)


@handler(id)
@positional(1)
def id_(s: Services, v: Value) -> Value:
    v = s.force(v)
    if isinstance(v, Const) and not (v.path is not None and is_foldable(v.obj)) and not _is_captured_class(s, v):
        return Const(id(v.obj))
    return later.later(s, int, id, v)


def _is_captured_class(s: Services, v: Value) -> bool:
    return isinstance(v, Const) and issubclass(type(v.obj), type) and v.obj in s.trace.classes


@handler(hash)
@positional(1)
def hash_(s: Services, v: Value) -> Value:
    v = s.force(v)
    return later.later(s, int, hash, v) if _is_captured_class(s, v) else s.hash(v)


@handler(len)
@positional(1)
def len_(s: Services, v: Value) -> Value:
    return s.len(v)


def _name(s: Services, v: Value, function: Any, *more: Any) -> str:
    found = s.constant(v)
    if not isinstance(found, str):
        run(s, function, object(), found, *more)
    return plain_name(s, v)


@handler(hasattr)
@positional(2)
def hasattr_(s: Services, v: Value, name: Value) -> Value:
    return bool_const(_attribute(s, v, _name(s, name, hasattr)) is not None)


def _attribute(s: Services, v: Value, name: str) -> Value | None:
    try:
        return s.getattr(v, name)
    except Raised as raised:
        if not issubclass(s.exception_type(raised.value), AttributeError):
            raise
        return None


@handler(getattr)
@positional(2, 3)
def getattr_(s: Services, v: Value, name: Value, default: Value | None = None) -> Value:
    if default is None:
        return s.getattr(v, _name(s, name, getattr))
    found = _attribute(s, v, _name(s, name, getattr))
    return default if found is None else found


@handler(setattr)
@positional(3)
def setattr_(s: Services, v: Value, name: Value, new: Value) -> Value:
    s.setattr(v, _name(s, name, setattr, None), new)
    return NONE


@handler(delattr)
@positional(2)
def delattr_(s: Services, v: Value, name: Value) -> Value:
    s.delattr(v, _name(s, name, delattr))
    return NONE


@handler(vars)
@positional(0, 1)
def vars_(s: Services, v: Value | None = None) -> Value:
    if v is None:
        return frame_.locals_of(s, s.frames[-1])  # type: ignore[attr-defined]
    found = abstract.attribute(s, s.force(v), "__dict__")
    return s.raise_error(TypeError, "vars() argument must have __dict__ attribute") if found is None else found


PRINT_OPTIONS = {"sep", "end", "file", "flush"}


@handler(print)
def print_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """What is printed into an object of the program is written to that piece by piece; the rest of the world is outside."""
    given = {name: found for name, value in kwargs.items() if (found := s.force(value)).cls is not type(None)}
    file = given.get("file") or s.force(s.getattr(Const(sys), "stdout"))
    words = (given.get("sep", Const(" ")), given.get("end", Const("\n")))
    known = isinstance(file, Ref) and (file.virtual or file.cls is io.StringIO)
    if not known or not set(given) <= PRINT_OPTIONS or any(word.cls is not str for word in words):
        return s.unsupported(R.OUTPUT)
    for place, arg in enumerate(args):
        for piece in (words[0], s.str(arg)) if place else (s.str(arg),):
            s.call(s.getattr(file, "write"), [piece])
    s.call(s.getattr(file, "write"), [words[1]])
    if "flush" in given and s.truth(given["flush"]):
        s.call(s.getattr(file, "flush"))
    return NONE


@handler(input, open, breakpoint)
def talks(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return s.unsupported(R.OUTPUT)


@handler(locals)
@positional(0)
def locals_(s: Services) -> Value:
    return frame_.locals_of(s, s.frames[-1])  # type: ignore[attr-defined]


@takes(__import__, "name globals= locals= fromlist= level=")
def import_(
    s: Services, name: Value, globals_: Value | None, locals_: Value | None, fromlist: Value | None, level: Value | None
) -> Value:
    """An absolute import of a module that is loaded."""
    names = None if fromlist is None else s.constant(fromlist)
    if level is not None and s.constant(level) != 0:
        return s.unsupported(R.IMPORT, None, "a relative import")
    return import_name(s, s.frames[-1].globals, s.constant(name), 0, names)  # type: ignore[attr-defined]


# -- numbers ----------------------------------------------------------------------------------------------------------


def unwrap_unless(s: Services, v: Value, *names: str) -> Value:
    """The plain number or string within an instance of a subclass, unless the subclass defines one of these methods in Python."""
    v = s.force(v)
    return v if any(has_slot(s, v, name) for name in names) else unwrap(s, v)


@handler(abs)
@positional(1)
def abs_(s: Services, v: Value) -> Value:
    error = f"bad operand type for abs(): '{type_name(s.force(v).cls)}'"
    v = unwrap_unless(s, v, "__abs__")
    if isinstance(v, Const) and type(v.obj) in (int, float, bool, complex):
        return run(s, abs, v.obj)
    if isinstance(v, Number):
        if s.truth(s.compare("<", v, Const(0))):
            return s.unary("-", v)
        return s.binary("+", v, Const(0.0)) if v.cls is float else s.unary("+", v)  # -0.0 loses its sign, True becomes 1
    return _special(s, v, "__abs__", error)


def _special(s: Services, v: Value, name: str, error: str, *args: Value) -> Value:
    method = s.special(v, name)
    return s.raise_error(TypeError, error) if method is None else s.call(method, args)


@takes(round, "number ndigits=")
def round_(s: Services, v: Value, digits: Value | None) -> Value:
    error = f"type {type_name(s.force(v).cls)} doesn't define __round__ method"
    v = unwrap_unless(s, v, "__round__")
    if digits is not None and s.force(digits).cls is type(None):
        digits = None
    if isinstance(v, Number) and issubclass(v.cls, int) and digits is None:
        return v
    if isinstance(v, Number) or (isinstance(v, Const) and type(v.obj) in (int, float, bool)):
        return fold(s, round, [v] if digits is None else [v, digits])
    return _special(s, v, "__round__", error, *([] if digits is None else [digits]))


@handler(divmod)
@positional(2)
def divmod_(s: Services, left: Value, right: Value) -> Value:
    given = [type_name(s.force(operand).cls) for operand in (left, right)]
    left, right = unwrap_unless(s, left, "__divmod__"), unwrap_unless(s, right, "__rdivmod__")
    if isinstance(left, Const) and isinstance(right, Const) and {type(left.obj), type(right.obj)} <= {int, float, bool}:
        return run(s, divmod, left.obj, right.obj)
    if is_symbolic(left) or is_symbolic(right):
        return Pack(tuple, (s.binary("//", left, right), s.binary("%", left, right)))
    for one, name, other in ((left, "__divmod__", right), (right, "__rdivmod__", left)):
        method = user_slot(s, one, name)
        if method is not None and not _is_not_implemented(found := s.force(s.call(method, [other]))):
            return found
    return s.raise_error(TypeError, f"unsupported operand type(s) for divmod(): '{given[0]}' and '{given[1]}'")


def _is_not_implemented(v: Value) -> bool:
    return isinstance(v, Const) and v.obj is NotImplemented


@takes(pow, "base exp mod=")
def pow_(s: Services, base: Value, exponent: Value, modulus: Value | None) -> Value:
    if modulus is None or s.force(modulus).cls is type(None):
        return s.binary("**", base, exponent)
    for operand in (base, exponent, modulus):
        if has_slot(s, s.force(operand), "__pow__"):
            return _ternary_power(s, s.force(base), s.force(exponent), modulus)
    return fold(s, pow, [unwrap(s, base), unwrap(s, exponent), unwrap(s, modulus)])


def _ternary_power(s: Services, base: Value, exponent: Value, modulus: Value) -> Value:
    """pow() with three operands asks the first one alone, unless the others' classes are others."""
    kinds = {base.cls, exponent.cls, s.force(modulus).cls}
    method = user_slot(s, base, "__pow__")
    if len(kinds) > 1 and len({s.type_lookup(kind, "__pow__") for kind in kinds if s.type_lookup(kind, "__pow__") is not MISSING}) > 1:
        return s.unsupported(R.OPAQUE_CALL, pow, "operands of several classes")
    found = s.force(s.call(method, [exponent, modulus])) if method is not None else None
    if found is None or _is_not_implemented(found):
        names = "', '".join(type_name(s.force(operand).cls) for operand in (base, exponent, modulus))
        return s.raise_error(TypeError, f"unsupported operand type(s) for ** or pow(): '{names}'")
    return found


def _read_text(s: Services, kind: type, given: Value) -> Value | None:
    """The number that a text or a buffer says, None for other values; an error shows what was given by its own repr."""
    v = s.force(given)
    if not issubclass(v.cls, (str, bytes)) and v.cls not in CONTENTS:
        real = getattr(v, "real", None)
        return s.unsupported(R.OPAQUE_CALL, kind) if issubclass(v.cls, tuple(CONTENTS)) or (real is not None and _is_buffer(real)) else None
    plain = constant(s, v)
    try:
        return s.wrap(kind(plain))
    except ValueError as error:
        most = 200 if kind is int else None
        told, text = str(error), repr(plain)[:most]
        in_c = not isinstance(v, Ref) or not (issubclass(v.cls, str) or (kind is float and issubclass(v.cls, bytes)))
        if in_c or not told.endswith(text):
            return s.raise_real(error)
        return s.raise_error(ValueError, told.removesuffix(text) + s.constant(s.repr(v))[:most])


def _is_buffer(real: Any) -> bool:
    try:
        with memoryview(real):
            return True
    except (TypeError, BufferError, ValueError):
        return False


@handler(int)
def int_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value | Pending:
    if len(args) != 1 or kwargs:
        return fold(s, int, args, kwargs)
    v = unwrap_unless(s, args[0], "__int__", "__index__", "__trunc__")
    if isinstance(v, Const) and type(v.obj) is not complex:
        if type(v.obj) not in (str, bytes) and (type(v.obj).__module__ == "builtins" or not hasattr(type(v.obj), "__int__")):
            return run(s, int, v.obj)
    elif isinstance(v, Number):
        return v if v.cls is int else run(s, int, s.constant(v))
    elif isinstance(v, Node) and v.cls is int:
        return v
    for name in ("__int__", "__index__", "__trunc__"):
        method = s.special(v, name)
        if method is not None:
            found = s.force(s.call(method))
            if found.cls is int and name != "__trunc__":
                return found
            if issubclass(found.cls, int) or name == "__trunc__":
                return s.unsupported(R.OPAQUE_CALL, int, f"{name} is deprecated where it gives no exact int")
            return s.raise_error(TypeError, f"{name} returned non-int (type {type_name(found.cls)})")
    number = _read_text(s, int, args[0])
    cls = s.force(args[0]).cls
    wanted = f"int() argument must be a string, a bytes-like object or a real number, not '{type_name(cls)}'"
    return s.raise_error(TypeError, wanted) if number is None else number


@handler(float)
def float_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value | Pending:
    if len(args) != 1 or kwargs:
        return fold(s, float, args, kwargs)
    v = unwrap_unless(s, args[0], "__float__", "__index__")
    if isinstance(v, Const) and type(v.obj) is not complex:
        if type(v.obj) not in (str, bytes) and (type(v.obj).__module__ == "builtins" or not hasattr(type(v.obj), "__float__")):
            return run(s, float, v.obj)
    elif isinstance(v, Number):
        return v if v.cls is float else s.binary("*", v, Const(1.0))
    elif isinstance(v, Node) and v.cls is float:
        return v
    elif isinstance(v, Node) and v.cls is int:
        return s.operator("call_function", float, [v])
    for name in ("__float__", "__index__"):
        method = s.special(v, name)
        if method is not None:
            found = s.force(s.call(method))
            if found.cls is float:
                return found
            if name == "__float__" and not issubclass(found.cls, float):
                return s.raise_error(TypeError, f"{type_name(v.cls)}.__float__ returned non-float (type {type_name(found.cls)})")
            if found.cls is not int:
                return s.unsupported(R.OPAQUE_CALL, float, f"{name} is deprecated where it gives no exact number")
            return float_(s, [found], {})
    number = _read_text(s, float, args[0])
    wanted = f"float() argument must be a string or a real number, not '{type_name(s.force(args[0]).cls)}'"
    return s.raise_error(TypeError, wanted) if number is None else number


@handler(complex)
def complex_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return fold(s, complex, args, kwargs)


@handler(bool)
@positional(0, 1)
def bool_(s: Services, v: Value | None = None) -> Value:
    if v is None:
        return FALSE
    v = unwrap_unless(s, v, "__bool__", "__len__")
    if isinstance(v, Number):
        return v if v.cls is bool else s.compare("!=", v, Const(0))
    return bool_const(s.truth(v))


NUMBERS = (int, float, complex, bool)


@takes(sum, "iterable / start=")
def sum_(s: Services, iterable: Value, start: Value | None) -> Value:
    items = s.each(iterable)
    total = Const(0) if start is None else s.force(start)
    if issubclass(total.cls, (str, bytes)):
        what, how = ("strings", "''.join(seq)") if issubclass(total.cls, str) else ("bytes", "b''.join(seq)")
        s.raise_error(TypeError, f"sum() can't sum {what} [use {how} instead]")
    numbers: list[Any] = []  # the constant ones at the front: CPython adds floats with more than double precision
    plain = total.cls in NUMBERS and isinstance(total, Const)
    for item in items:
        item = s.force(item)
        if plain and isinstance(item, Const) and type(item.obj) in NUMBERS:
            numbers.append(item.obj)
            continue
        if plain:
            total, plain = run(s, sum, numbers, s.constant(total)), False
        total = s.binary("+", total, item)
    return run(s, sum, numbers, s.constant(total)) if plain else total


@handler(min)
def min_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return _extreme(s, min, "<", args, kwargs)


@handler(max)
def max_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return _extreme(s, max, ">", args, kwargs)


def _extreme(s: Services, function: Any, symbol: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if not args or set(kwargs) - {"key", "default"} or (len(args) > 1 and "default" in kwargs):
        return wrong_arguments(s, function, args, kwargs)
    key = kwargs.get("key", NONE)
    has_key = s.force(key).cls is not type(None)
    best: Value | None = None
    best_key: Value | None = None
    for item in args if len(args) > 1 else s.each(args[0]):
        item_key = s.call(key, [item]) if has_key else item
        if best is None or best_key is None or s.truth(s.compare(symbol, item_key, best_key)):
            best, best_key = item, item_key
    if best is None:
        return kwargs["default"] if "default" in kwargs else run(s, function, ())
    return best


@handler(any)
@positional(1)
def any_(s: Services, iterable: Value) -> Value:
    source = s.iter(iterable)
    while (item := next_or_none(s, source)) is not None:
        if s.truth(item):
            return TRUE
    return FALSE


@handler(all)
@positional(1)
def all_(s: Services, iterable: Value) -> Value:
    source = s.iter(iterable)
    while (item := next_or_none(s, source)) is not None:
        if not s.truth(item):
            return FALSE
    return TRUE


# -- text -------------------------------------------------------------------------------------------------------------


@handler(repr)
@positional(1)
def repr_(s: Services, v: Value) -> Value:
    return s.repr(v)


@handler(ascii)
@positional(1)
def ascii_(s: Services, v: Value) -> Value:
    return Const(s.constant(s.repr(v)).encode("ascii", "backslashreplace").decode())


@handler(str)
def string_object(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) == 1 and not kwargs:
        return s.str(args[0])
    given, names = [content(s, arg) for arg in args], {name: content(s, arg) for name, arg in kwargs.items()}
    check_codec(s, str, given[1:], names)
    return run(s, str, *given, **names)


@handler(bytes)
def bytes_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) == 1 and not kwargs and isinstance(v := s.force(args[0]), (Ref, Pack)):
        method = user_slot(s, v, "__bytes__")
        if method is not None:
            found = s.force(s.call(method))
            if not issubclass(found.cls, bytes):
                s.raise_error(TypeError, f"__bytes__ returned non-bytes (type {type_name(found.cls)})")
            return found
        if issubclass(v.cls, str) or (issubclass(v.cls, int) and not has_slot(s, v, "__index__")):
            return run(s, bytes, s.constant(unwrap(s, v)))
        if has_slot(s, v, "__index__"):
            try:
                return run(s, bytes, s.constant(index(s, v)))
            except Raised as raised:
                if not issubclass(s.exception_type(raised.value), TypeError):
                    raise
        if v.cls in CONTENTS:
            return run(s, bytes, content(s, v))
        if all(s.type_lookup(v.cls, name) is MISSING for name in ("__iter__", "__getitem__")):
            s.raise_error(TypeError, f"cannot convert '{type_name(v.cls)}' object to bytes")
        return run(s, bytes, [s.constant(item) for item in s.listed(args[0])])
    check_codec(s, bytes, [s.constant(arg) for arg in args[1:]], {name: s.constant(arg) for name, arg in kwargs.items()})
    return fold(s, bytes, args, kwargs)


@handler(format)
@positional(1, 2)
def formatted(s: Services, v: Value, spec: Value | None = None) -> Value:
    return format_(s, v, "", spec)


@handler(ord)
@positional(1)
def ord_(s: Services, v: Value) -> Value:
    return run(s, ord, constant(s, v))


# -- iteration --------------------------------------------------------------------------------------------------------


@handler(iter)
@positional(1, 2)
def iter_(s: Services, v: Value, sentinel: Value | None = None) -> Value:
    if sentinel is None:
        return s.iter(v)
    return s.heap.new(iterator.CallableIterator, {("function",): v, ("sentinel",): sentinel})


@handler(next)
@positional(1, 2)
def next_(s: Services, v: Value, default: Value | None = None) -> Value:
    if default is None:
        return s.next(v)
    if s.type_lookup(s.force(v).cls, "__next__") is MISSING:
        s.raise_error(TypeError, f"'{type_name(s.force(v).cls)}' object is not an iterator")
    found = next_or_none(s, v)
    return default if found is None else found


@handler(range)
def range_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return wrong_arguments(s, range, args, kwargs) if kwargs else slice_.make_range(s, args)


@handler(slice)
def slice_object(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return wrong_arguments(s, slice, args, kwargs) if kwargs else slice_.make_slice(s, args)


@takes(enumerate, "iterable start=")
def enumerate_(s: Services, iterable: Value, start: Value | None) -> Value:
    first = Const(0) if start is None else s.force(start)
    if not is_symbolic(first):
        first = Const(slice_.index(s, first))
    return s.heap.new(enumerate, {("source",): s.iter(iterable), ("index",): first})


@handler(zip)
def zip_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if set(kwargs) - {"strict"}:
        return wrong_arguments(s, zip, args, kwargs)
    strict = "strict" in kwargs and s.truth(kwargs["strict"])
    sources: list[Value] = []
    for place, arg in enumerate(args):
        if not _is_iterable(s, arg):
            s.raise_error(TypeError, f"'{type_name(s.force(arg).cls)}' object is not iterable")
        sources.append(s.iter(args[place]))
    return s.heap.new(zip, {("sources",): Pack(tuple, tuple(sources)), ("strict",): bool_const(strict)})


def _is_iterable(s: Services, v: Value) -> bool:
    v = s.force(v)
    if isinstance(v, Const) and issubclass(type(v.obj), type):
        return True
    return any(s.type_lookup(v.cls, name) is not MISSING for name in ("__iter__", "__getitem__"))


@handler(map)
def map_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) < 2 or kwargs:
        return wrong_arguments(s, map, args, kwargs)
    return s.heap.new(map, {("function",): args[0], ("sources",): Pack(tuple, tuple(s.iter(arg) for arg in args[1:]))})


@handler(filter)
@positional(2)
def filter_(s: Services, function: Value, iterable: Value) -> Value:
    return s.heap.new(filter, {("function",): function, ("source",): s.iter(iterable)})


@handler(reversed)
@positional(1)
def reversed_(s: Services, v: Value) -> Value:
    v = s.force(v)
    if isinstance(v, Const) and type(v.obj) is range:
        return s.iter(Const(v.obj[::-1]))
    if s.type_lookup(v.cls, "__reversed__") is None:
        s.raise_error(TypeError, f"'{type_name(v.cls)}' object is not reversible")
    method = s.special(v, "__reversed__")
    if method is not None:
        return s.call(method)
    if s.type_lookup(v.cls, "__getitem__") is MISSING or s.type_lookup(v.cls, "__len__") is MISSING or issubclass(v.cls, (dict, set)):
        s.raise_error(TypeError, f"'{type_name(v.cls)}' object is not reversible")
    last = s.binary("-", s.len(v), Const(1))
    return s.heap.new(reversed, {("source",): v, ("index",): Const(s.constant(last))})


@handler(sorted)
def sorted_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) != 1 or set(kwargs) - {"key", "reverse"}:
        return wrong_arguments(s, sorted, args, kwargs)
    backwards = "reverse" in kwargs and s.truth(kwargs["reverse"])
    return list_.new_list(s, sequence.ordered(s, s.listed(args[0]), kwargs.get("key"), backwards))


# -- containers -------------------------------------------------------------------------------------------------------


@handler(list)
@positional(0, 1)
def list_object(s: Services, iterable: Value | None = None) -> Value:
    return list_.make_list(s, iterable)


@handler(tuple)
@positional(0, 1)
def tuple_object(s: Services, iterable: Value | None = None) -> Value:
    return tuple_.make_tuple(s, tuple, iterable)


@handler(set)
@positional(0, 1)
def set_object(s: Services, iterable: Value | None = None) -> Value:
    return set_.make_set(s, set, iterable)


@handler(frozenset)
@positional(0, 1)
def frozenset_object(s: Services, iterable: Value | None = None) -> Value:
    return set_.make_set(s, frozenset, iterable)


@handler(dict)
def dict_object(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    ref = s.heap.new(dict, {dict_.ITEMS: {}})
    dict_methods.dict_init(s, ref, args, kwargs)
    return ref


@takes(MappingProxyType, "mapping")
def proxy(s: Services, mapping: Value) -> Value:
    v = s.force(mapping)
    if not isinstance(v, Ref):
        s.unsupported(R.OPAQUE_CALL, MappingProxyType)
    return s.heap.new(MappingProxyType, {dict_view.SOURCE: v})


def show(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The repr of a container."""
    v = s.force(args[0])
    found = text.container_repr(s, v)
    return s.unsupported(R.OPAQUE_OPERATION, v, "repr") if found is None else found


for _kind in (list, tuple, dict, set, frozenset, deque_.deque, dict_.OrderedDict, dict_.defaultdict, *dict_view.VIEWS):
    if "__repr__" in vars(_kind):
        handler(vars(_kind)["__repr__"])(show)


@takes(object.__repr__, "self /")
def default_repr(s: Services, self: Value) -> Value:
    return later.default_repr(s, s.force(self))


__all__ = ["str_"]
