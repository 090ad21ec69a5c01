"""Asynchronous generators whose bodies are captured, and the awaitables that their methods give."""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from typing import Any

from framejit.core.errors import Raised
from framejit.core.heap import MISSING
from framejit.core.path import CALLED, Called
from framejit.core.services import Services
from framejit.core.value import NONE, Const, Pack, Ref, Value, bool_const
from framejit.objects.exact import type_name
from framejit.objects.generator import DONE, FUNCTION, MADE, GeneratorModel, awaits, code_of, is_symbolic
from framejit.objects.generator_methods import check_start, throw_into
from framejit.objects.model import Model, model
from framejit.objects.rebuild import REBUILDERS
from framejit.reasons import R
from framejit.rules.registry import handler

AsyncGenerator = types.AsyncGeneratorType
ITERABLE_COROUTINE = 0x100  # a generator that types.coroutine has made awaitable
OF, ARGUMENTS, STATE, DEFAULT = ("of",), ("arguments",), ("state",), ("default",)
BUSY, CLOSED = ("busy",), ("closed",)  # of the generator: one of its awaitables is suspended; it takes no more
HOOKED = ("hooked",)  # of a given one: event loops know of it already
INIT, ITERATING, OVER = Const("init"), Const("iterating"), Const("over")


def _awaitable_types() -> tuple[type, type]:
    async def body() -> Any:
        yield

    one = body()
    sends, closes = one.asend(None), one.aclose()
    sends.close()
    closes.close()
    return type(sends), type(closes)


Sending, Throwing = _awaitable_types()
AWAITABLES = frozenset({Sending, Throwing})


class Wrapped:
    """The type of what an asynchronous generator yields itself, not what it awaits."""


@model(AsyncGenerator)
class AsyncGeneratorModel(GeneratorModel):
    """Symbolic asynchronous generators; real ones as far as their frames can be read."""

    __slots__ = ()

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        if name == "ag_running" and isinstance(v, Ref) and is_symbolic(s, v):
            return bool_const(s.heap.get(v, BUSY) is True)
        return super().attribute(s, v, name, found)

    def iter(self, s: Services, v: Value) -> Value:
        return s.raise_error(TypeError, "'async_generator' object is not iterable")

    def next(self, s: Services, v: Value) -> Value:
        return s.raise_error(TypeError, "'async_generator' object is not an iterator")


def wrap(value: Value) -> Value:
    """What `yield value` gives to the awaitable that runs the body."""
    return Pack(Wrapped, (value,))


def _has_hooks(_: Any) -> bool:
    return any(sys.get_asyncgen_hooks())


@handler(anext)
def builtin_anext(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if not 1 <= len(args) <= 2 or kwargs:
        return s.unsupported(R.COROUTINE, anext, "arguments")
    method = s.special(args[0], "__anext__")
    if method is None:
        return s.raise_error(TypeError, f"'{type_name(s.force(args[0]).cls)}' object is not an async iterator")
    found = s.call(method)
    return found if len(args) == 1 else s.heap.new(Defaulting, {OF: found, DEFAULT: args[1]})


class _Once:
    """An asynchronous iterator whose next step is known."""

    def __init__(self, awaitable: Any):
        self.awaitable = awaitable

    def __anext__(self) -> Any:
        return self.awaitable


Defaulting = type(anext(_Once(None), None))


def anext_of(awaitable: Any, default: Any) -> Any:
    """What `anext` with a default makes of what `__anext__` gave."""
    return anext(_Once(awaitable), default)


REBUILDERS[Defaulting] = lambda get: (anext_of, [get("of"), get("default")])


@model(Defaulting)
class DefaultingModel(Model):
    """What `anext` with a default gives: at the end of the asynchronous iterator its value is the default."""

    __slots__ = ()

    def iter(self, s: Services, v: Value) -> Value:
        return v

    def next(self, s: Services, v: Value) -> Value:
        return _defaulting(s, v, "send", NONE)


@handler(*(vars(Defaulting)[name] for name in ("__await__", "__iter__")))
def defaulting_await(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return args[0]


def _defaulting(s: Services, v: Value, name: str, *args: Value) -> Value:
    """A method of what awaits the next item."""
    v = s.force(v)
    if not isinstance(v, Ref) or v.path is not None:
        return s.unsupported(R.COROUTINE, v)
    try:
        found = awaited(s, s.heap.get(v, OF))
        if name == "send" and args[0] is NONE and s.type_lookup(found.cls, "__next__") is not MISSING:
            return s.next(found)
        return s.call(s.getattr(found, name), list(args))
    except Raised as error:
        if not issubclass(s.exception_type(error.value), StopAsyncIteration):
            raise
        raise Raised(s.force(s.call(Const(StopIteration), [s.heap.get(v, DEFAULT)]))) from error


def _defaulting_method(name: str) -> None:
    @handler(vars(Defaulting)["__next__" if name == "next" else name])
    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return _defaulting(s, args[0], "send", NONE) if name == "next" else _defaulting(s, args[0], name, *args[1:])


for _name in ("next", "send", "throw", "close"):
    _defaulting_method(_name)


def awaited(s: Services, awaitable: Value) -> Value:
    """What an await of this goes through."""
    value = s.force(awaitable)
    if isinstance(value, Ref) and value.cls is types.CoroutineType:
        if is_symbolic(s, value) and awaits(s, value):
            s.raise_error(RuntimeError, "coroutine is being awaited already")
        return value
    if value.cls is types.GeneratorType:
        if not is_symbolic(s, value):
            s.unsupported(R.COROUTINE, value)
        if value.path is not None and s.heap.get(value, FUNCTION) is None:  # type: ignore[attr-defined, arg-type]
            s.unsupported(R.COROUTINE, value, "a generator that has ended")
        if code_of(s, s.heap.get(value, FUNCTION)).co_flags & ITERABLE_COROUTINE:  # type: ignore[arg-type]
            return value
    method = s.special(value, "__await__")
    if method is None:
        s.raise_error(TypeError, f"object {type_name(value.cls)} can't be used in 'await' expression")
    found = s.force(s.call(method))
    if found.cls is types.CoroutineType:
        s.raise_error(TypeError, "__await__() returned a coroutine")
    if s.type_lookup(found.cls, "__next__") in (MISSING, None):
        s.raise_error(TypeError, f"__await__() returned non-iterator of type '{type_name(found.cls)}'")
    return found


@handler(aiter)
def builtin_aiter(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) != 1 or kwargs:
        return s.unsupported(R.COROUTINE, aiter, "arguments")
    method = s.special(args[0], "__aiter__")
    if method is None:
        return s.raise_error(TypeError, f"'{type_name(s.force(args[0]).cls)}' object is not an async iterable")
    found = s.force(s.call(method))
    if s.special(found, "__anext__") is None:
        s.raise_error(TypeError, f"aiter() returned not an async iterator of type '{type_name(found.cls)}'")
    return found


@handler(AsyncGenerator.__aiter__)
def aiter_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return args[0]


def _new(s: Services, cls: type, v: Value, arguments: Sequence[Value] | None) -> Value:
    v = s.force(v)
    if not is_symbolic(s, v):
        return s.unsupported(R.COROUTINE, v)
    assert isinstance(v, Ref)
    if s.heap.get(v, BUSY) is None:
        if not s.heap.get(v, HOOKED):
            if _has_hooks(None):
                return s.unsupported(R.COROUTINE, v, "an event loop keeps asynchronous generators")
            s.guard(s.trace.roots.const(_has_hooks).to(CALLED, Called(_has_hooks, (), "sys.get_asyncgen_hooks()")), "EQ", False)
        s.heap.set(v, BUSY, False)
        if v.path is None:
            s.heap.set(v, CLOSED, False)
    fields = {OF: v, ARGUMENTS: None if arguments is None else tuple(arguments), STATE: INIT, MADE: s.steps}  # type: ignore[attr-defined]
    return s.heap.new(cls, fields)


@handler(AsyncGenerator.__anext__)
def anext_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return _new(s, Sending, args[0], (NONE,))


@handler(AsyncGenerator.asend)
def asend(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return _new(s, Sending, args[0], args[1:])


@handler(AsyncGenerator.athrow)
def athrow(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if not 2 <= len(args) <= 4:
        return s.unsupported(R.GENERATOR_OPERATION, args[0], "arguments of athrow")
    return _new(s, Throwing, args[0], args[1:])


@handler(AsyncGenerator.aclose)
def aclose(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return _new(s, Throwing, args[0], None)


@handler(*(vars(kind)[name] for kind in AWAITABLES for name in ("__await__", "__iter__")))
def await_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return args[0]


@handler(*(vars(kind)["send"] for kind in AWAITABLES))
def send(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return _step(s, s.force(args[0]), args[1], None)


@handler(*(vars(kind)["__next__"] for kind in AWAITABLES))
def next_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return _step(s, s.force(args[0]), NONE, None)


@handler(*(vars(kind)["throw"] for kind in AWAITABLES))
def throw(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return _step(s, s.force(args[0]), NONE, args[1:])


@handler(*(vars(kind)["close"] for kind in AWAITABLES))
def close(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    v = s.force(args[0])
    if not isinstance(v, Ref) or v.path is not None:
        return s.unsupported(R.COROUTINE, v)
    s.heap.set(v, STATE, OVER)
    return NONE


@model(Sending, Throwing)
class AwaitableModel(Model):
    """What `asend`, `athrow` and `aclose` of a symbolic generator give: it is awaited within the region, or made by CPython."""

    __slots__ = ()

    def iter(self, s: Services, v: Value) -> Value:
        return v

    def next(self, s: Services, v: Value) -> Value:
        return _step(s, v, NONE, None)


def _step(s: Services, v: Value, sent: Value, thrown: list[Value] | None) -> Value:
    """What the body awaits next; a StopIteration with what it yields."""
    if not isinstance(v, Ref) or v.path is not None:
        return s.unsupported(R.COROUTINE, v)
    heap, closes = s.heap, v.cls is Throwing
    of, arguments, state = heap.get(v, OF), heap.get(v, ARGUMENTS), heap.get(v, STATE)
    if state is OVER:
        s.raise_error(RuntimeError, f"cannot reuse already awaited {'aclose()/athrow()' if closes else '__anext__()/asend()'}")
    if thrown is None and closes and heap.get(of, DONE):
        heap.set(v, STATE, OVER)
        s.raise_error(StopIteration)
    if thrown is None and state is INIT:
        sent = _begin(s, v, of, arguments, sent)
    elif thrown is not None and state is INIT:
        return s.unsupported(R.GENERATOR_OPERATION, v, "throw")
    raises: list[Value] | None = thrown
    if thrown is None and closes and state is INIT:
        raises = [Const(GeneratorExit)] if arguments is None else list(arguments)
    try:
        if raises is None:
            check_start(s, of, sent)
            item = s.resume_generator(of, sent)
        else:
            item = throw_into(s, of, raises)
        if item is None:
            s.raise_error(StopAsyncIteration)
    except Raised as error:
        _end(s, v, of, issubclass(s.exception_type(error.value), (StopAsyncIteration, GeneratorExit)), error)
    if not (isinstance(item, Pack) and item.cls is Wrapped):
        return item  # type: ignore[return-value]
    heap.set(of, BUSY, False)
    heap.set(v, STATE, OVER)
    if closes and arguments is None:
        s.raise_error(RuntimeError, "async generator ignored GeneratorExit")
    value = item.items[0]
    raise Raised(s.force(s.call(Const(StopIteration), [value])))


def _begin(s: Services, v: Ref, of: Ref, arguments: tuple[Value, ...] | None, sent: Value) -> Value:
    """What the awaitable sends first."""
    heap = s.heap
    if heap.get(of, BUSY):
        if v.cls is Throwing:
            heap.set(v, STATE, OVER)
        name = "anext" if v.cls is Sending else "aclose" if arguments is None else "athrow"
        s.raise_error(RuntimeError, f"{name}(): asynchronous generator is already running")
    if v.cls is Throwing:
        if heap.get(of, CLOSED):
            heap.set(v, STATE, OVER)
            s.raise_error(StopAsyncIteration)
        if not s.is_same(sent, NONE):
            s.raise_error(RuntimeError, "can't send non-None value to a just-started coroutine")
    elif s.is_same(sent, NONE):
        assert arguments is not None
        sent = arguments[0]
    heap.set(v, STATE, ITERATING)
    heap.set(of, BUSY, True)
    if arguments is None:
        heap.set(of, CLOSED, True)
    return sent


def _end(s: Services, v: Ref, of: Ref, is_end: bool, error: Raised) -> None:
    """The body has ended or raised."""
    s.heap.set(of, BUSY, False)
    s.heap.set(v, STATE, OVER)
    if v.cls is Throwing and is_end and s.heap.get(v, ARGUMENTS) is None:
        s.raise_error(StopIteration)
    if is_end:
        s.heap.set(of, CLOSED, True)
    raise error
