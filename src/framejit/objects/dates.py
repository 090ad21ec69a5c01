"""Dates, times and durations of the datetime module: immutable constants, as long as no time zone is written in Python."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from framejit.core.path import Path
from framejit.core.services import Services
from framejit.core.value import Const, Value
from framejit.objects.fold import FOREIGN, PLAIN_VALUE, VALUE, ConstantModel, constant, run, unwrap
from framejit.objects.model import model
from framejit.objects.sameness import BY_VALUE
from framejit.reasons import R
from framejit.rules.registry import PURE, handler

KINDS = (datetime.datetime, datetime.date, datetime.time, datetime.timedelta, datetime.timezone)
ZONED = (datetime.datetime, datetime.time)
SHARED = ("isoformat", "toordinal", "weekday", "isoweekday", "ctime", "total_seconds", "__hash__")  # what subclasses do alike
METHODS = (
    *SHARED, "replace", "date", "time", "timetz", "utcoffset", "dst", "tzname",
    "__reduce__", "__reduce_ex__", "__abs__", "__divmod__", "__rdivmod__",
)  # fmt: skip
FROM = ("fromisoformat", "fromordinal", "combine", "fromisocalendar")


def is_plain(obj: Any) -> bool:
    """Whether nothing that is done with the object runs user code."""
    kind = type(obj)
    return kind in KINDS and (kind not in ZONED or type(obj.tzinfo) in (type(None), datetime.timezone))


def remade(cls: type, plain: Any) -> Any:
    """An instance of a subclass that stands for the same."""
    return type(plain).__new__(cls, *plain.__reduce__()[1])


class SameAs:
    """A guard: the same date, time or duration."""

    __slots__ = ("obj",)

    def __init__(self, obj: Any) -> None:
        self.obj = obj

    def __call__(self, obj: Any) -> bool:
        return is_plain(obj) and repr(obj) == repr(self.obj)


def _plain(kind: Any) -> None:
    PLAIN_VALUE[kind] = lambda obj: kind.__new__(kind, *kind.__reduce__(obj)[1])


FOREIGN.append(is_plain)
BY_VALUE.update(KINDS)
for _kind in KINDS[:-1]:
    _plain(_kind)


@model(datetime.date, datetime.time, datetime.timedelta, datetime.timezone)
class DateModel(ConstantModel):
    """Constants that are compared by what they say; objects of subclasses are known by identity."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        if not is_plain(real):
            return super().realize(s, path, real)
        s.guard(path, "TYPE", type(real))
        s.guard(path, "PY", SameAs(real))
        return Const(real, path)

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        value = unwrap(s, v)
        if getattr(found, "__objclass__", None) in KINDS and isinstance(value, Const) and is_plain(value.obj):
            return s.wrap(getattr(value.obj, name))
        return None

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        base = next(kind for kind in KINDS if issubclass(cls, kind))
        return s.heap.new(cls, {VALUE: unwrap(s, s.call(Const(base), args, kwargs))})

    def binary(self, s: Services, symbol: str, left: Value, right: Value, reflected: bool) -> Value | None:
        found = super().binary(s, symbol, left, right, reflected)
        if found is not None and issubclass(found.cls, datetime.date) and not all(s.force(part).cls in KINDS for part in (left, right)):
            return s.unsupported(R.OPAQUE_OPERATION, left, "a subclass makes the result")
        return found

    def format(self, s: Services, v: Value, spec: str) -> Value:
        """Formats hang on the locale."""
        return s.unsupported(R.OPAQUE_OPERATION, v, "a format") if spec else s.str(v)

    def text(self, s: Services, v: Value, function: Any) -> Value:
        """`repr` names the class, `str` is `isoformat`, which a subclass may replace."""
        plain = unwrap(s, v)
        if not isinstance(plain, Const) or not is_plain(plain.obj):
            return s.unsupported(R.OPAQUE_OPERATION, v, function.__name__)
        kind = type(plain.obj)
        if function is str and issubclass(kind, (datetime.date, datetime.time)):
            return s.call(s.getattr(v, "isoformat"), [Const(" ")] if kind is datetime.datetime else [])
        shown = function(plain.obj)
        return Const(shown if v.cls is kind or function is str else shown.replace(f"datetime.{kind.__name__}", v.cls.__name__, 1))


def _folded(target: Any) -> None:
    @handler(target)
    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if target.__name__ not in SHARED and s.force(args[0]).cls not in KINDS:
            return s.unsupported(R.OPAQUE_CALL, target, "of a subclass")
        given = [constant(s, arg) for arg in args]
        return run(s, target, *given, **{name: constant(s, value) for name, value in kwargs.items()})


def _shown(target: Any, function: Any) -> None:
    @handler(target)
    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if len(args) != 1 or kwargs:
            return s.unsupported(R.OPAQUE_CALL, target, "arguments")
        return DateModel().text(s, s.force(args[0]), function)


def _formatted(target: Any) -> None:
    @handler(target)
    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        """`__format__`: with a format it hangs on the locale."""
        if len(args) != 2 or kwargs or s.constant(args[1]):
            return s.unsupported(R.OPAQUE_CALL, target, "a format")
        return s.str(args[0])


_each: Any
for _each in KINDS:
    PURE.add(_each)
    for _name, _found in vars(_each).items():
        if _name in METHODS:
            _folded(_found)
        elif _name in ("__str__", "__repr__"):
            _shown(_found, str if _name == "__str__" else repr)
        elif _name == "__format__":
            _formatted(_found)
        elif _name in FROM:
            PURE.add(getattr(_each, _name))
