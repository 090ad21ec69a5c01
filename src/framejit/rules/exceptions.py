"""Methods of exceptions that CPython has in C."""

from __future__ import annotations

import builtins
import traceback
import types

from framejit.core.services import Services
from framejit.core.value import NONE, Const, Pack, Ref, Value
from framejit.objects import exception_group, object_
from framejit.objects.exact import type_name
from framejit.objects.model import model_of
from framejit.objects.type_ import allocate
from framejit.reasons import R
from framejit.rules.registry import HANDLERS, handler

CLASSES = tuple(cls for cls in vars(builtins).values() if isinstance(cls, type) and issubclass(cls, BaseException))


def _init(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    v = s.force(args[0])
    if getattr(v, "path", None) is not None or not model_of(v.cls).initialise(s, v, args[1:], kwargs):
        s.unsupported(R.EXCEPTION_OPERATION, v, "__init__")
    return NONE


def _new(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    cls = s.force(args[0])
    if not isinstance(cls, Const) or not issubclass(type(cls.obj), type):
        return s.unsupported(R.EXCEPTION_OPERATION, cls, "__new__")
    return allocate(s, cls, cls.obj.__base__.__new__, args[1:], kwargs)


for _cls in CLASSES:
    for _name, _handler in (("__init__", _init), ("__new__", _new)):
        _found = vars(_cls).get(_name)
        if _found is not None and _found not in HANDLERS:
            HANDLERS[_found] = _handler


def _virtual(s: Services, value: Value, what: str) -> Ref:
    v = s.force(value)
    if not isinstance(v, Ref) or v.path is not None:
        return s.unsupported(R.EXCEPTION_OPERATION, v, what)
    return v


@handler(BaseException.with_traceback)
def with_traceback(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    v = s.force(args[0])
    s.setattr(v, "__traceback__", args[1])
    return v


@handler(traceback.clear_frames)
def clear_frames(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Frames that only the capture knows hold nothing; those of a real traceback are cleared by the function's own code."""
    found = s.force(args[0]) if len(args) == 1 and not kwargs else NONE
    return NONE if isinstance(found, Ref) and found.path is None and found.cls is types.TracebackType else NotImplemented


NO_NOTES = Const(None)


@handler(BaseException.add_note)
def add_note(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    v = s.force(args[0])
    if not issubclass(s.force(args[1]).cls, str):
        s.raise_error(TypeError, f"note must be a str, not '{type_name(s.force(args[1]).cls)}'")
    notes = s.force(s.call(Const(getattr), [v, Const("__notes__"), NO_NOTES]))
    if notes is NO_NOTES:
        notes = s.wrap([])
        s.setattr(v, "__notes__", notes)
    elif not issubclass(notes.cls, list):
        s.raise_error(TypeError, "Cannot add note: __notes__ is not a list")
    s.call(Const(list.append), [notes, args[1]])
    return NONE


def exception_str(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The text of an exception; its class may compute it in C."""
    return object_.text(s, _virtual(s, args[0], "__str__"), str)


for _cls in CLASSES:
    if "__str__" in vars(_cls) and vars(_cls)["__str__"] not in HANDLERS:
        HANDLERS[vars(_cls)["__str__"]] = exception_str


@handler(BaseException.__repr__)
def exception_repr(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return object_.text(s, _virtual(s, args[0], "__repr__"), repr)


@handler(BaseExceptionGroup.derive)
def derive(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    _one_argument(s, "derive", args, kwargs)
    return s.call(Const(BaseExceptionGroup), [s.getattr(args[0], "message"), args[1]])


@handler(BaseExceptionGroup.split)
def split(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    _one_argument(s, "split", args, kwargs)
    return Pack(tuple, exception_group.split(s, args[0], exception_group.matcher(s, args[1])))


@handler(BaseExceptionGroup.subgroup)
def subgroup(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    _one_argument(s, "subgroup", args, kwargs)
    return exception_group.split(s, args[0], exception_group.matcher(s, args[1]), False)[0]


def _one_argument(s: Services, name: str, args: list[Value], kwargs: dict[str, Value]) -> None:
    if kwargs:
        s.raise_error(TypeError, f"BaseExceptionGroup.{name}() takes no keyword arguments")
    if len(args) != 2:
        s.raise_error(TypeError, f"{name} expected 1 argument, got {len(args) - 1}")
