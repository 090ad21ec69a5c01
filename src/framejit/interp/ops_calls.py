"""Handlers of canonical instructions: calls, returns, generators, exceptions, `with`, `match`, imports."""

from __future__ import annotations

import sys
import types
from typing import NoReturn

from framejit.bytecode.instr import Instr
from framejit.core.errors import Raised
from framejit.core.heap import MISSING
from framejit.core.services import Pending
from framejit.core.value import NONE, NULL, Const, Pack, Ref, Value, bool_const
from framejit.interp import calls, generators
from framejit.interp.frame import Frame
from framejit.interp.machine import Interpreter
from framejit.interp.ops import after_drop, op, raw
from framejit.objects import (
    async_generator,
    deaths,
    exception,
    exception_group,
    generator,
    later,
    match,
    protocol,
    reach,
)
from framejit.objects.dict_ import full, key_in, lookup, merge, pairs_of, store
from framejit.objects.exact import type_name
from framejit.objects.fold import plain_name
from framejit.reasons import R

COROUTINE_FLAGS = 0x80 | 0x100  # a coroutine, or a generator made one by types.coroutine


def _callee(first: Value, second: Value, args: list[Value]) -> tuple[Value, list[Value]]:
    if first is NULL:
        return second, args
    if second is NULL:
        return first, args
    return first, [second, *args]


def _call(
    interp: Interpreter, frame: Frame, count: int, callee: Value, args: list[Value], kwargs: dict[str, Value], unpacked: bool = False
) -> None:
    result = calls.tail_call(interp, callee, args, kwargs)
    stack = frame.stack
    del stack[len(stack) - count :]
    if isinstance(result, Frame):
        function = callee.items[0] if isinstance(callee, Pack) and callee.cls is types.MethodType else callee
        result.direct = not unpacked and result.func is function
        called = interp.forced.get(function, function)  # type: ignore[call-overload]
        result.inlined = not unpacked and getattr(result.func, "obj", result.func) is getattr(called, "obj", called)
        interp.push(result)
        return
    stack.append(result)  # type: ignore[arg-type]
    frame.index += 1


@raw("CALL")
def call(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    stack = frame.stack
    count = ins.arg + 2
    first, second, *args = stack[len(stack) - count :]
    kwargs: dict[str, Value] = {}
    if ins.value:
        place = len(args) - len(ins.value)
        kwargs = dict(zip(ins.value, args[place:], strict=True))
        del args[place:]
    callee, args = _callee(first, second, args)
    _call(interp, frame, count, callee, args, kwargs)


@raw("CALL_EX")
def call_ex(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    count = 3 + ins.value
    first, second, positional, *rest = frame.stack[len(frame.stack) - count :]
    kwargs: dict[str, Value] = {}
    for key, value in full(interp, interp.force(rest[0])).values() if rest else ():  # type: ignore[arg-type]
        name = interp.constant(key)
        if not isinstance(name, str):
            interp.raise_error(TypeError, "keywords must be strings")
        kwargs[plain_name(interp, key)] = value
    if not protocol.is_iterable(interp, positional):
        _refuse(interp, first if second is NULL else second, f" argument after * must be an iterable, not {_name(interp, positional)}")
    callee, args = _callee(first, second, interp.listed(positional))
    _call(interp, frame, count, callee, args, kwargs, True)


def _name(interp: Interpreter, value: Value) -> str:
    return type_name(interp.force(value).cls)


def _refuse(interp: Interpreter, function: Value, what: str | Value) -> NoReturn:
    """Raise a TypeError that begins with the function, as CPython names it."""
    try:
        name = interp.getattr(function, "__qualname__")
    except Raised as raised:
        if not issubclass(interp.exception_type(raised.value), AttributeError):
            raise
        interp.raise_error(TypeError, later.written(interp, interp.str(function), what))
    try:
        module = interp.force(interp.getattr(function, "__module__"))
    except Raised as raised:
        if not issubclass(interp.exception_type(raised.value), AttributeError):
            raise
        module = NONE
    told: list[str | Value] = [] if module is NONE or interp.constant(module) == "builtins" else [interp.str(module), "."]
    interp.raise_error(TypeError, later.written(interp, *told, interp.str(name), "()", what))


@raw("DICT_UPDATE")
def dict_update(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    target, source = interp.force(frame.stack[-1 - ins.value]), frame.stack[-1]
    try:
        merge(interp, target, source)  # type: ignore[arg-type]
    except Raised as raised:
        if not issubclass(interp.exception_type(raised.value), AttributeError):
            raise
        interp.raise_error(TypeError, f"'{_name(interp, source)}' object is not a mapping")
    frame.stack.pop()
    frame.index += 1


@raw("DICT_MERGE")
def dict_merge(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    target, source = interp.force(frame.stack[-1 - ins.value]), interp.force(frame.stack[-1])
    function = frame.stack[-3 - ins.value]
    assert isinstance(target, Ref)
    try:
        for known, key, value in pairs_of(interp, source):
            name = key_in(interp, target, key) if known is None else known
            if name in full(interp, target):
                if not issubclass(interp.force(key).cls, str):
                    _refuse(interp, function, " keywords must be strings")
                _refuse(interp, function, later.written(interp, " got multiple values for keyword argument '", interp.str(key), "'"))
            store(interp, target, name, interp.getitem(source, key) if value is None else value, key)
    except Raised as raised:
        if not issubclass(interp.exception_type(raised.value), AttributeError):
            raise
        _refuse(interp, function, f" argument after ** must be a mapping, not {_name(interp, source)}")
    frame.stack.pop()
    frame.index += 1


@raw("RETURN_VALUE")
def return_value(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    value = frame.stack[-1]
    if frame.caught:
        exception.keep_locals(interp, frame)
    if deaths.WATCHED in interp.trace.cache:
        deaths.leave(interp, frame, interp.steps)
    if frame.generator is not None:
        interp.heap.set(frame.generator, generators.FRAME, None)
        interp.heap.set(frame.generator, generators.DONE, True)
        interp.frames.pop()
        interp.returned = value
        return
    if frame.result.name == "DISCARD" and not interp.is_same(value, NONE):
        interp.raise_error(TypeError, "__init__() should return None")
    if interp.is_root(frame) and frame.real_code.co_flags & calls.GENERATOR_FLAGS:
        interp.unsupported(R.GENERATOR_OPERATION, None, "the generator ends")
    if interp.waiting and interp.is_root(frame):
        for local in frame.slots:
            if reach.ends(interp, local):
                interp.unsupported(R.OPAQUE_OPERATION, local, "its finalizer may run here")
        interp.note_ends(frame)
    interp.pop(value)


@raw("RETURN_GENERATOR")
def return_generator(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    if frame.generator is None:
        interp.unsupported(R.GENERATOR_OPERATION, None, "a generator starts")
    frame.index += 1


@raw("YIELD_VALUE")
def yield_value(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    if frame.generator is None:
        interp.unsupported(R.GENERATOR_OPERATION, None, "yield")
    interp.frames.pop()
    interp.returned = frame.stack.pop()
    frame.index += 1


@op("GET_YIELD_FROM_ITER")
def get_yield_from_iter(interp: Interpreter, ins: Instr, iterable: Value) -> Value:
    value = interp.force(iterable)
    if value.cls is types.CoroutineType and not interp.frames[-1].real_code.co_flags & COROUTINE_FLAGS:
        interp.raise_error(TypeError, "cannot 'yield from' a coroutine object in a non-coroutine generator")
    if isinstance(value, Ref) and value.cls in (types.GeneratorType, types.CoroutineType):
        return value
    return interp.iter(value)


@op("GET_AWAITABLE")
def get_awaitable(interp: Interpreter, ins: Instr, awaitable: Value) -> Value:
    return async_generator.awaited(interp, awaitable)


@raw("SEND")
def send(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    receiver, sent = interp.force(frame.stack[-2]), frame.stack[-1]
    if generator.is_symbolic(interp, receiver):
        result = generators.resume(interp, receiver, sent)  # type: ignore[arg-type]
        value = interp.returned
    else:
        result, value = protocol.send_or_value(interp, receiver, sent)
    if result is None:
        frame.stack[-2:] = [value]
        frame.index = ins.jump
    else:
        frame.stack[-1] = result
        frame.index += 1


@op("ASYNC_GEN_WRAP")
def async_gen_wrap(interp: Interpreter, ins: Instr, value: Value) -> Value:
    if interp.frames[-1].generator is None:
        interp.unsupported(R.COROUTINE, value)
    return async_generator.wrap(value)


# -- exceptions ---------------------------------------------------------------------------------------------------------


def _set_handled(interp: Interpreter, value: Value) -> None:
    interp.trace.trail.put(interp.state, "handled", value)


@raw("PUSH_EXC_INFO")
def push_exc_info(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    raised, before = frame.stack[-1], interp.state["handled"]
    if frame.generator is not None:  # it remembers what it handles itself
        own = interp.heap.get(frame.generator, generator.HANDLED)
        before = NONE if own is None or own is MISSING else own
        interp.heap.set(frame.generator, generator.HANDLED, raised)
    frame.stack[-1:] = [before, raised]
    _set_handled(interp, raised)
    frame.index += 1


@raw("POP_EXCEPT")
def pop_except(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    old, before = interp.state["handled"], frame.stack.pop()
    own = frame.generator is None or not interp.is_same(before, NONE)
    if frame.generator is not None:
        interp.heap.set(frame.generator, generator.HANDLED, before if own else MISSING)
    _set_handled(interp, before if own else frame.inherited)  # type: ignore[arg-type]
    frame.index += 1
    after_drop(interp, old)


@op("CHECK_EXC_MATCH")
def check_exc_match(interp: Interpreter, ins: Instr, raised: Value, kind: Value) -> tuple[Value, Value]:
    return raised, bool_const(exception.matches(interp, raised, kind))


@raw("CHECK_EG_MATCH")
def check_eg_match(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    raised, kind = frame.stack[-2:]
    rest, matched = exception_group.except_star(interp, raised, kind)
    frame.stack[-2:] = [rest, matched]
    if matched is not NONE:
        _set_handled(interp, matched)
    frame.index += 1


@op("PREP_RERAISE_STAR")
def prep_reraise_star(interp: Interpreter, ins: Instr, original: Value, exceptions: Value) -> Value:
    return exception_group.prepare_reraise_star(interp, original, interp.unpack(exceptions))


@raw("RAISE_VARARGS")
def raise_varargs(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    if ins.value == 0:
        handled = exception.handled_here(interp)
        if interp.is_same(handled, NONE):
            interp.raise_error(RuntimeError, "No active exception to reraise")
        raise Raised(interp.force(handled))
    parts = frame.stack[len(frame.stack) - ins.value :]
    raised = exception.make_raised(interp, parts[0], parts[1] if ins.value == 2 else None)
    raise Raised(raised)


@raw("RERAISE")
def reraise(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    raise Raised(interp.force(frame.stack[-1]))


@raw("BEFORE_WITH")
def before_with(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    manager = interp.force(frame.stack[-1])
    enter = interp.special(manager, "__enter__")
    leave = interp.special(manager, "__exit__")
    if enter is None or leave is None:
        missed = "" if enter is None else " (missed __exit__ method)"
        interp.raise_error(TypeError, f"'{type_name(manager.cls)}' object does not support the context manager protocol{missed}")
    result = calls.tail_call(interp, enter)
    frame.stack[-1] = leave
    if isinstance(result, Frame):
        interp.push(result)
        return
    frame.stack.append(result)  # type: ignore[arg-type]
    frame.index += 1


@op("BEFORE_ASYNC_WITH")
def before_async_with(interp: Interpreter, ins: Instr, manager: Value) -> tuple[Value, Value]:
    enter, leave = interp.special(manager, "__aenter__"), interp.special(manager, "__aexit__")
    if enter is None or leave is None:
        name, missed = type_name(interp.force(manager).cls), "" if enter is None else " (missed __aexit__ method)"
        interp.raise_error(TypeError, f"'{name}' object does not support the asynchronous context manager protocol{missed}")
    return leave, interp.call(enter)


@op("GET_AITER")
def get_aiter(interp: Interpreter, ins: Instr, iterable: Value) -> Value:
    method = interp.special(iterable, "__aiter__")
    if method is None:
        name = type_name(interp.force(iterable).cls)
        interp.raise_error(TypeError, f"'async for' requires an object with __aiter__ method, got {name}")
    found = interp.force(interp.call(method))
    if interp.special(found, "__anext__") is None:
        text = "'async for' received an object from __aiter__ that does not implement __anext__"
        interp.raise_error(TypeError, f"{text}: {type_name(found.cls)}")
    return found


@op("GET_ANEXT")
def get_anext(interp: Interpreter, ins: Instr, iterator: Value) -> tuple[Value, Value]:
    method = interp.special(iterator, "__anext__")
    if method is None:
        name = type_name(interp.force(iterator).cls)
        interp.raise_error(TypeError, f"'async for' requires an iterator with __anext__ method, got {name}")
    return iterator, get_awaitable(interp, ins, interp.call(method))


@raw("END_ASYNC_FOR")
def end_async_for(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    raised = interp.force(frame.stack[-1])
    if not issubclass(raised.cls, StopAsyncIteration):
        raise Raised(raised)
    del frame.stack[-2:]
    frame.index += 1


@raw("WITH_EXCEPT_START")
def with_except_start(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    leave, raised = frame.stack[-4], interp.force(frame.stack[-1])
    result = calls.tail_call(interp, leave, [Const(raised.cls), raised, exception.traceback_of(interp, raised)])
    if isinstance(result, Frame):
        interp.push(result)
        return
    frame.stack.append(result)  # type: ignore[arg-type]
    frame.index += 1


# -- match --------------------------------------------------------------------------------------------------------------


@op("GET_LEN")
def get_len(interp: Interpreter, ins: Instr, subject: Value) -> tuple[Value, Value]:
    return subject, interp.len(subject)


@op("MATCH_MAPPING")
def match_mapping(interp: Interpreter, ins: Instr, subject: Value) -> tuple[Value, Value]:
    return subject, bool_const(match.is_mapping(interp, subject))


@op("MATCH_SEQUENCE")
def match_sequence(interp: Interpreter, ins: Instr, subject: Value) -> tuple[Value, Value]:
    return subject, bool_const(match.is_sequence(interp, subject))


@op("MATCH_KEYS")
def match_keys(interp: Interpreter, ins: Instr, subject: Value, keys: Value) -> tuple[Value, Value, Value]:
    return subject, keys, match.keys(interp, subject, keys)


@op("MATCH_CLASS")
def match_class(interp: Interpreter, ins: Instr, subject: Value, cls: Value, names: Value) -> Value:
    return match.class_(interp, subject, cls, ins.value, names)


# -- imports ------------------------------------------------------------------------------------------------------------


@op("IMPORT_NAME")
def import_name(interp: Interpreter, ins: Instr, level: Value, fromlist: Value) -> Value:
    frame = interp.frames[-1]
    function = lookup(interp, frame.builtins, "__import__")
    if function is MISSING or not isinstance(found := interp.force(function), Const) or type(found.obj) is not types.BuiltinFunctionType:
        return interp.unsupported(R.IMPORT, None, "an __import__ of the program")
    return protocol.import_name(interp, frame.globals, ins.value, interp.constant(level), interp.constant(fromlist))


@op("IMPORT_FROM")
def import_from(interp: Interpreter, ins: Instr, module: Value) -> tuple[Value, Value]:
    try:
        return module, interp.getattr(module, ins.value)
    except Raised as raised:
        if not issubclass(interp.exception_type(raised.value), AttributeError):
            raise
        return interp.unsupported(R.IMPORT, module, ins.value)  # a submodule may be found by its full name


__all__ = ["MISSING", "Pack", "Pending", "sys"]
