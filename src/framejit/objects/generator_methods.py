"""send, throw and close of generators and coroutines, also through the `yield from` or `await` that they are suspended in."""

from __future__ import annotations

import types

from framejit.core.errors import Raised
from framejit.core.heap import MISSING
from framejit.core.services import Services
from framejit.core.value import NONE, Const, Ref, Value
from framejit.objects import exception
from framejit.objects.abstract import attribute
from framejit.objects.generator import DONE, FRAME, HANDLED, KINDS, RUNNING, advance, awaits, finish, is_symbolic
from framejit.reasons import R
from framejit.rules.registry import handler

NO_EXCEPTION = "exceptions must be classes or instances deriving from BaseException"


@handler(types.GeneratorType.send, types.CoroutineType.send)
def send(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    v, sent = s.force(args[0]), args[1]
    check_start(s, v, sent)
    return advance(s, v, sent)


def check_start(s: Services, v: Value, sent: Value) -> None:
    """A body that has not started takes nothing but None."""
    if is_symbolic(s, v) and not s.is_same(sent, NONE):
        frame = s.heap.get(v, FRAME)  # type: ignore[arg-type]
        if frame is not None and frame.instr.op == "RETURN_GENERATOR":
            s.raise_error(TypeError, f"can't send non-None value to a just-started {KINDS[v.cls]}")


@handler(types.GeneratorType.throw, types.CoroutineType.throw)
def throw(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if not 2 <= len(args) <= 4:
        return s.unsupported(R.GENERATOR_OPERATION, args[0], "arguments of throw")
    v = s.force(args[0])
    if not is_symbolic(s, v):
        return s.unsupported(R.GENERATOR_OPERATION, v, "throw")
    return finish(s, throw_into(s, v, args[1:]))  # type: ignore[arg-type]


def throw_into(s: Services, v: Ref, args: list[Value]) -> Value | None:
    """The item that the generator yields when an exception is thrown into it, None if it returns."""
    inner = _awaited(s, v)
    if inner is not None:
        if _means_exit(s, args[0]):
            try:
                _close_awaited(s, v, inner)
            except Raised as error:
                thrown = exception.passed_on(s, error.value)
                exception.chain(s, thrown, _own(s, v))
                return s.resume_generator(v, NONE, thrown)
        elif (method := _thrower(s, inner)) is not None:
            return _throw_through(s, v, inner, method, args)
    try:
        raised = exception.instantiate(s, _thrown(s, v, args), NO_EXCEPTION)
    except Raised as error:  # what its constructor raises is thrown in its place
        if not exception.is_exception_class(s.force(args[0])):
            raise
        raised = exception.passed_on(s, error.value)
    exception.chain(s, raised, _own(s, v))
    return s.resume_generator(v, NONE, raised)


def _awaited(s: Services, v: Ref) -> Value | None:
    """The iterator that the body waits for in a `yield from` or `await`."""
    if s.heap.get(v, RUNNING) or not awaits(s, v):
        return None
    return s.force(s.heap.get(v, FRAME).stack[-1])


def _means_exit(s: Services, kind: Value) -> bool:
    kind = s.force(kind)
    cls = kind.obj if isinstance(kind, Const) and issubclass(type(kind.obj), type) else kind.cls
    return issubclass(cls, GeneratorExit)


def _thrower(s: Services, inner: Value) -> Value | None:
    """What an exception for the waiting body is thrown into: the generator it waits for, or a method; None if it is raised at once."""
    return inner if is_symbolic(s, inner) else attribute(s, inner, "throw")


def _throw_through(s: Services, v: Ref, inner: Value, method: Value, args: list[Value]) -> Value | None:
    s.heap.set(v, RUNNING, True)
    try:
        item = throw_into(s, inner, args) if method is inner else s.call(method, args)  # type: ignore[arg-type]
        value = s.returned  # type: ignore[attr-defined]
    except Raised as error:
        s.heap.set(v, RUNNING, False)
        if not issubclass(s.exception_type(error.value), StopIteration):
            thrown = exception.passed_on(s, error.value)
            exception.chain(s, thrown, _own(s, v))
            return s.resume_generator(v, NONE, thrown, past_send=True)
        item, value = None, s.getattr(error.value, "value")
    s.heap.set(v, RUNNING, False)
    return s.resume_generator(v, value, past_send=True) if item is None else item


def _close_awaited(s: Services, v: Ref, inner: Value) -> None:
    s.heap.set(v, RUNNING, True)
    try:
        if is_symbolic(s, inner):
            close(s, [inner], {})
        elif (method := attribute(s, inner, "close")) is not None:
            s.call(method)
    finally:
        s.heap.set(v, RUNNING, False)


def _own(s: Services, v: Value) -> Value:
    """The exception that the suspended body handles: what is thrown into it happens while that is handled."""
    found = s.heap.get(v, HANDLED)  # type: ignore[arg-type]
    return NONE if found is None or found is MISSING else found


def _thrown(s: Services, v: Value, args: list[Value]) -> Value:
    """The exception that the older form `throw(class, value, traceback)` means."""
    kind, value, trace = (s.force(arg) for arg in (*args, NONE, NONE)[:3])
    if trace.cls is not type(None) and not (isinstance(value, Ref) and exception.is_traceback_of(s, value, trace)):
        return s.unsupported(R.GENERATOR_OPERATION, v, "throw with another traceback")
    if not (isinstance(kind, Const) and issubclass(type(kind.obj), type)):
        return kind if value.cls is type(None) else s.raise_error(TypeError, "instance exception may not have a separate value")
    if issubclass(value.cls, kind.obj):
        return value
    arguments = [] if value.cls is type(None) else s.unpack(value) if value.cls is tuple else [value]
    return s.call(kind, arguments)


@handler(types.GeneratorType.close, types.CoroutineType.close)
def close(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    v = s.force(args[0])
    if not is_symbolic(s, v):
        return s.unsupported(R.GENERATOR_OPERATION, v, "close")
    assert isinstance(v, Ref)
    frame = s.heap.get(v, FRAME)
    if frame is None or frame.instr.op == "RETURN_GENERATOR":
        s.heap.set(v, FRAME, None)
        s.heap.set(v, DONE, True)
        return NONE
    try:
        item = throw_into(s, v, [Const(GeneratorExit)])
    except Raised as error:
        if not issubclass(s.exception_type(error.value), (GeneratorExit, StopIteration)):
            raise
        return NONE
    if item is not None:
        s.raise_error(RuntimeError, f"{KINDS[v.cls]} ignored GeneratorExit")
    return NONE
