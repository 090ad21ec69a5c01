"""How virtual objects of built-in types are made real: one row each."""

from __future__ import annotations

import types
from collections import OrderedDict, defaultdict, deque
from typing import Any

from framejit.bytecode.decode import decode
from framejit.bytecode.flow import analyze
from framejit.core.errors import Retrace
from framejit.core.program import EMPTY
from framejit.core.value import FALSE, NONE, Const, Ref
from framejit.lower.materialize import DICT_FIELD, FILLERS, ITEMS, Materializer, builder
from framejit.objects import exception, frame_, function, generator


@builder(list)
def _list(m: Materializer, ref: Ref) -> int:
    return m.new("BUILD_LIST", tuple(m.value(item) for item in m.heap.get(ref, ITEMS) or ()))


@builder(dict)
def _dict(m: Materializer, ref: Ref) -> int:
    pairs = []
    for name, (key, item) in (m.heap.get(ref, ITEMS) or {}).items():
        pairs += [m.key(name, key), m.value(item)]
    return m.new("BUILD_DICT", tuple(pairs))


@builder(OrderedDict)
def _ordered_dict(m: Materializer, ref: Ref) -> int:
    register = m.made[id(ref)] = m.call(OrderedDict)
    m.fill(ref, register)
    return register


@builder(defaultdict)
def _defaultdict(m: Materializer, ref: Ref) -> int:
    factory = m.heap.get(ref, defaultdict.default_factory)  # type: ignore[misc]
    register = m.made[id(ref)] = m.call(defaultdict, *([] if factory is None else [m.value(factory)]))
    for name, (key, item) in (m.heap.get(ref, ITEMS) or {}).items():
        m.add("DICT_SET", register, m.key(name, key), m.value(item))
    return register


@builder(set)
def _set(m: Materializer, ref: Ref) -> int:
    return m.new("BUILD_SET", tuple(m.key(name, key) for name, (key, _) in (m.heap.get(ref, ITEMS) or {}).items()))


@builder(deque)
def _deque(m: Materializer, ref: Ref) -> int:
    limit = m.heap.get(ref, ("maxlen",))
    items = m.tuple_of(m.heap.get(ref, ITEMS) or ())
    return m.call(deque, items, *([] if limit is None else [m.value(limit)]))


@builder(types.CellType)
def _cell(m: Materializer, ref: Ref) -> int:
    return m.cell(ref)


@builder(types.FunctionType)
def _function(m: Materializer, ref: Ref) -> int:
    fields = m.heap.fields_of(ref)

    def part(field: Any) -> int:
        value = fields.get(field)
        return EMPTY if value is None or value is NONE else m.value(value)

    cells = fields[function.CLOSURE_FIELD]
    parts = (
        m.value(fields[function.GLOBALS]), part(function.NAME), part(function.QUALNAME), part(function.DEFAULTS),
        part(function.KWDEFAULTS), m.tuple_of(cells) if cells else EMPTY, part(function.ANNOTATIONS),
    )  # fmt: skip
    register = m.made[id(ref)] = m.new("BUILD_FUNCTION", m.packer.const(fields[function.CODE]), parts)
    for name in ("__doc__", "__module__"):
        if (name,) in fields:
            m.add("STORE_ATTR", register, m.packer.const(name), m.value(fields[(name,)]))
    if DICT_FIELD in fields:
        m.fill_now_or_later(ref, register)
    return register


def _function_dict(m: Materializer, ref: Ref, register: int) -> None:
    m.store(ref, register, DICT_FIELD, m.heap.fields_of(ref)[DICT_FIELD])


FILLERS[types.FunctionType] = _function_dict


def _exception(m: Materializer, ref: Ref) -> int:
    fields = m.heap.fields_of(ref)
    made = fields.get(exception.MADE)
    args = [m.value(item) for item in (made or fields[exception.ARGS]).items]
    cls = m.value(Const(ref.cls))
    if made is not None or issubclass(ref.cls, BaseExceptionGroup):
        register = m.new("CALL", cls, tuple(args), ())
    else:
        register = m.new("NEW", cls)
    m.made[id(ref)] = register
    if args and made is None and not issubclass(ref.cls, BaseExceptionGroup):
        base = next(base for base in ref.cls.__mro__ if not base.__flags__ & HEAP_TYPE)
        m.effect(base.__init__, register, *args)  # type: ignore[misc]
    for name, field in (("__context__", exception.CONTEXT), ("__cause__", exception.CAUSE), ("__suppress_context__", exception.SUPPRESS)):
        if fields.get(field, NONE) is not NONE and fields[field] is not FALSE:
            m.add("STORE_ATTR", register, m.packer.const(name), m.value(fields[field]))
    known = (
        exception.ARGS, exception.CONTEXT, exception.CAUSE, exception.SUPPRESS, exception.TRACEBACK, exception.RAISED,
        exception.MADE, exception.COMPUTED,
    )  # fmt: skip
    for field, value in fields.items():
        if field == DICT_FIELD or isinstance(field, types.MemberDescriptorType):
            m.store(ref, register, field, value)
        elif field not in known and type(field) is tuple:
            m.add("STORE_ATTR", register, m.packer.const(field[0]), m.value(value))
    return register


@builder(types.TracebackType)
def _traceback(m: Materializer, ref: Ref) -> int:
    raised = m.heap.get(ref, ("of",))
    step = exception.raised_at(m.heap, raised)
    if step is None:
        raise NotImplementedError("a traceback of an exception that has lost it")
    raise Retrace(("break", step))


@builder(types.FrameType)
def _frame(m: Materializer, ref: Ref) -> int:
    raise Retrace(("break", m.heap.get(ref, frame_.STEP)))


@builder(types.GeneratorType, types.CoroutineType)
def _generator(m: Materializer, ref: Ref) -> int:
    frame = m.heap.get(ref, generator.FRAME)
    if frame is None:
        return _finished_generator(m, ref)
    ins = frame.instr
    if ins.op == "RETURN_GENERATOR":  # not started: it goes on behind this instruction
        ins = frame.code.instructions[frame.index + 1]
    live = analyze(frame.code).live[ins.index]
    slots = [m.value(value) if live >> index & 1 else EMPTY for index, value in enumerate(frame.slots)]
    stack = [m.value(value) for value in frame.stack]
    return m.new("BUILD_GENERATOR", m.value(frame.func), ins.pc, (*slots, *stack))


def _finished_generator(m: Materializer, ref: Ref) -> int:
    """A generator that has come to its end: one of the same function that never started is closed."""
    body = m.heap.get(ref, generator.FUNCTION)
    code = decode(m.heap.get(body, function.CODE) if isinstance(body, Ref) and body.virtual else path_code(body))
    start = next(ins for ins in code.instructions if ins.op == "RETURN_GENERATOR")
    register = m.new("BUILD_GENERATOR", m.value(body), start.next_pc, (EMPTY,) * code.nlocalsplus)
    m.effect(vars(ref.cls)["close"], register)
    return register


def path_code(body: Const | Ref) -> types.CodeType:
    """The code of a function that exists."""
    found: types.CodeType = (body.obj if isinstance(body, Const) else body.real).__code__
    return found


HEAP_TYPE = 1 << 9
builder(BaseException)(_exception)
