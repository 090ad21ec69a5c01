"""str and bytes: constants, whose methods are folded."""

from __future__ import annotations

import encodings.aliases
import operator
import pkgutil
import re
from _string import formatter_field_name_split, formatter_parser  # type: ignore[import-not-found]
from collections.abc import Iterator, Sequence
from typing import Any

from framejit.core.errors import Raised
from framejit.core.services import Services
from framejit.core.value import Const, Ref, Value
from framejit.objects import dict_, exception, fold, later, protocol, sequence
from framejit.objects.constants import CONTENTS, tuple_items
from framejit.objects.exact import type_name
from framejit.objects.fold import WRITTEN, ConstantModel, constant, is_plain, run, snapshot, unwrap
from framejit.objects.method import method
from framejit.objects.model import model
from framejit.reasons import R


@model(str, bytes)
class StringModel(ConstantModel):
    """Strings."""

    __slots__ = ()

    def len(self, s: Services, v: Value) -> Value | None:
        return Const(len(constant(s, v)))

    def getitem(self, s: Services, v: Value, key: Value) -> Value:
        if issubclass(s.force(key).cls, int):
            key = unwrap(s, key)
        elif not s.is_constant(key) and s.special(key, "__index__") is not None:
            key = s.call_method(key, "__index__")
        return run(s, type(text := constant(s, v)).__getitem__, text, s.constant(key))

    def contains(self, s: Services, v: Value, item: Value) -> Value | None:
        item = s.force(item)
        if issubclass(v.cls, str) and not issubclass(item.cls, str):
            return s.raise_error(TypeError, f"'in <string>' requires string as left operand, not {type_name(item.cls)}")
        return run(s, type(text := constant(s, v)).__contains__, text, constant(s, item))

    def iter(self, s: Services, v: Value) -> Value:
        return s.heap.new(type(iter(constant(s, v))), {("source",): unwrap(s, v), ("index",): Const(0)})

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        other = unwrap(s, other)
        v = unwrap(s, v)
        return fold.compare(s, symbol, v, other) if other.cls is v.cls else None

    def binary(self, s: Services, symbol: str, left: Value, right: Value, reflected: bool) -> Value | None:
        if symbol in ("%", "%=") and not reflected:
            return percent(s, left, right)
        if symbol.removesuffix("=") not in ("+", "*"):
            return None
        right = s.force(right)
        if symbol[0] == "+" and left.cls is right.cls is str and (later.is_text(s, left) or later.is_text(s, right)):
            return later.join(s, (left, right))
        if symbol[0] == "+" and issubclass(left.cls, bytes) and right.cls in CONTENTS:
            return fold.run(s, operator.add, constant(s, left), constant(s, right))
        if symbol[0] == "+" and not issubclass(right.cls, str if issubclass(left.cls, str) else bytes):
            if issubclass(left.cls, str):
                sequence.cannot_concatenate(s, "str", right)
            s.raise_error(TypeError, f"can't concat {type_name(right.cls)} to {type_name(left.cls)}")
        if symbol.removesuffix("=") == "*":
            sized, times = (right, left) if reflected else (left, right)
            count = sequence.times(s, times)
            return None if count is None else fold.binary(s, "*", unwrap(s, sized), count)
        return fold.binary(s, symbol, unwrap(s, left), unwrap(s, right))


class _OfText(str):
    """Stands for an instance of a subclass where a method of str is called."""

    __slots__ = ()


class _OfBytes(bytes):
    """As `_OfText`, for bytes."""

    __slots__ = ()


STAND_INS: dict[type, type] = {str: _OfText, bytes: _OfBytes}


def _run(s: Services, v: Value, function: Any, *args: Any, **kwargs: Any) -> Value:
    """Call a method of a text; where C code hands out a text as it was given, an instance of a subclass comes out itself."""
    values = [v, *args]
    reals = [constant(s, each) if isinstance(each, Value) else each for each in values]
    try:
        result = run(s, function, *reals, **kwargs)
    except Raised as raised:
        if s.exception_type(raised.value) is UnicodeEncodeError and isinstance(v, Ref):
            exception.set_object(s, raised.value, v)
        raise
    given: dict[int, Value] = {}
    for place, (each, real) in enumerate(zip(values, reals)):
        if isinstance(each, Value) and type(real) in STAND_INS and (forced := s.force(each)).cls is not type(real):
            reals[place] = real = STAND_INS[type(real)](real)
            given[id(real)] = forced
    if not given:
        return result
    found = function(*reals, **kwargs)
    if type(found) in (tuple, list):
        return s.wrap(type(found)([given.get(id(item), item) for item in found]))
    return given.get(id(found), result)


SPEC = re.compile(r"%(?:\((?P<key>[^()]*)\))?[#0\- +]*(?P<width>\*|\d*)(?:\.(?P<precision>\*|\d*))?[hlL]?(?P<kind>.)", re.S)


def percent(s: Services, left: Value, right: Value) -> Value | None:
    """printf-style formatting; objects are written by their own __str__ and __repr__ where the format is %s, %r or %a."""
    text = constant(s, left)
    right = s.force(right)
    if is_plain(s, right, WRITTEN):
        return _run(s, left, type(text).__mod__, s.constant(right))
    specs = [found for found in SPEC.finditer(text) if found["kind"] != "%"] if isinstance(text, str) else []
    if isinstance(right, Ref) and right.cls is dict and not (specs and all(spec["key"] is not None for spec in specs)):
        return _run(s, left, type(text).__mod__, snapshot(s, right))
    stars = any("*" in (spec["width"], spec["precision"]) for spec in specs)
    if not isinstance(text, str) or stars or not all(spec["kind"] in "sradiuoxXeEfFgGc" for spec in specs):
        return s.unsupported(R.OPAQUE_OPERATION, right, "printf-style formatting")
    if isinstance(right, Ref) and right.cls is dict:
        table = dict_.full(s, right)
        used = {spec["key"]: [other["kind"] for other in specs if other["key"] == spec["key"]] for spec in specs}
        return run(s, str.__mod__, text, {key: _written(s, table[key][1], kinds) for key, kinds in used.items() if key in table})
    items = list(found) if (found := tuple_items(s, right)) is not None else [right]
    if len(specs) != len(items) or any(spec["key"] is not None for spec in specs):
        return s.unsupported(R.OPAQUE_OPERATION, right, "printf-style formatting")
    return run(s, str.__mod__, text, tuple([_written(s, item, [spec["kind"]]) for spec, item in zip(specs, items)]))


def _written(s: Services, item: Value, kinds: list[str]) -> Any:
    """A constant, or what an object writes for these conversions."""
    if is_plain(s, item, WRITTEN):
        return s.constant(item)
    if not set(kinds) <= set("sra"):
        return s.unsupported(R.OPAQUE_OPERATION, item, "printf-style formatting")
    shown = s.constant(s.str(item)) if "s" in kinds else ""
    return Text(shown, s.constant(s.repr(item)) if set(kinds) & set("ra") else "")


class Text:
    """What an object writes, found out already."""

    __slots__ = ("shown", "told")

    def __init__(self, shown: str, told: str):
        self.shown, self.told = shown, told

    def __str__(self) -> str:
        return self.shown

    def __repr__(self) -> str:
        return self.told


@method(str.join, "iterable /")
def str_join(s: Services, self: Value, iterable: Value) -> Value:
    return _join(s, self, iterable)


@method(bytes.join, "iterable /")
def bytes_join(s: Services, self: Value, iterable: Value) -> Value:
    return _join(s, self, iterable)


def _join(s: Services, self: Value, iterable: Value) -> Value:
    text, items = constant(s, self), [s.force(item) for item in s.unpack(iterable)]
    if any(later.is_text(s, item) for item in items) and all(item.cls is str for item in items):
        return later.join(s, [piece for item in items for piece in (Const(text), item)][1:])
    return run(s, text.join, [constant(s, item) for item in items])


@method(str.format, "*args **")
def str_format(s: Services, self: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Field by field, so that objects are formatted by their own __format__."""
    text = constant(s, self)
    if not {"{", "}"} & set(text):
        return _run(s, self, str.format)
    if all(is_plain(s, arg, WRITTEN) for arg in (*args, *kwargs.values())):
        return run(s, text.format, *map(s.constant, args), **{name: s.constant(arg) for name, arg in kwargs.items()})
    return Const(_format(s, text, args, kwargs, iter(range(len(args) + 1)), 2))


def _format(s: Services, text: str, args: list[Value], kwargs: dict[str, Value], numbers: Iterator[int], depth: int) -> str:
    if not depth:
        s.raise_error(ValueError, "Max string recursion exceeded")
    parts = []
    for field in s.unpack(run(s, lambda: tuple(formatter_parser(text)))):
        literal, name, spec, conversion = s.constant(field)
        parts.append(literal)
        if name is None:
            continue
        first, rest = s.constant(run(s, _split_name, name))
        value = _argument(s, next(numbers) if first == "" else first, args, kwargs)
        for is_attribute, key in rest:
            value = s.getattr(value, key) if is_attribute else s.getitem(value, Const(key))
        inner = Const(_format(s, spec, args, kwargs, numbers, depth - 1)) if spec else None
        parts.append(s.constant(protocol.format_(s, value, conversion or "", inner)))
    return "".join(parts)


def _split_name(name: str) -> tuple[Any, tuple[Any, ...]]:
    first, rest = formatter_field_name_split(name)
    return first, tuple(rest)


def _argument(s: Services, key: int | str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if isinstance(key, str):
        return kwargs[key] if key in kwargs else s.raise_error(KeyError, key)
    if key >= len(args):
        s.raise_error(IndexError, f"Replacement index {key} out of range for positional args tuple")
    return args[key]


@method(str.translate, "table /")
def str_translate(s: Services, self: Value, table: Value) -> Value:
    return _run(s, self, str.translate, snapshot(s, table))


ERRORS = ("strict", "ignore", "replace", "backslashreplace", "xmlcharrefreplace", "namereplace", "surrogateescape", "surrogatepass")
CODECS = (*(module.name for module in pkgutil.iter_modules(encodings.__path__)), *encodings.aliases.aliases)
ENCODINGS = {name.replace("_", "") for name in CODECS}
DROPPED = {ord(sign): None for sign in "-_ "}


def check_codec(s: Services, function: Any, args: Sequence[Any], names: dict[str, Any]) -> None:
    """Encodings and error handlers that are not CPython's own are code of the program, which may register others at any time."""
    asked = {"encoding": "utf-8", "errors": "strict", **dict(zip(("encoding", "errors"), args, strict=False)), **names}
    encoding, errors = asked["encoding"], asked["errors"]
    if type(encoding) is str and encoding.lower().translate(DROPPED) not in ENCODINGS:
        s.unsupported(R.OPAQUE_CALL, function, "an encoding of the program")
    if type(errors) is str and errors not in ERRORS:
        s.unsupported(R.OPAQUE_CALL, function, "an error handler of the program")


def _register_folded() -> None:
    """All other public methods of the constant types are folded."""
    special = {"join", "format", "format_map"}
    for kind in (str, bytes, int, float, complex):
        for name, found in vars(kind).items():
            if name.startswith("_") or name in special or found is str.translate or type(found) is not type(str.join):
                continue
            method(found, "*args **")(_folder(found))


def _folder(found: Any) -> Any:
    def call(s: Services, self: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
        names = {name: constant(s, arg) for name, arg in kwargs.items()}
        if found in (str.encode, bytes.decode):
            check_codec(s, found, [constant(s, arg) for arg in args], names)
        return _run(s, self, found, *args, **names)

    call.__name__ = found.__name__
    return call


_register_folded()
