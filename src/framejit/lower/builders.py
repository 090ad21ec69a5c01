"""How virtual objects of built-in types are made real: one row each."""

from __future__ import annotations

import functools
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from typing import Any

from framejit import _C
from framejit.bytecode.decode import decode
from framejit.bytecode.flow import analyze
from framejit.bytecode.versions import MAKES_FRAMES
from framejit.core.errors import Retrace
from framejit.core.heap import MISSING
from framejit.core.program import EMPTY
from framejit.core.value import NONE, Const, Ref
from framejit.core.where import Where
from framejit.lower.materialize import DICT_FIELD, FILLERS, ITEMS, UNMADE, Materializer, builder
from framejit.objects import async_generator, callables, deaths, exception, frame_, function, generator, proxy, weak
from framejit.rules import caches


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


@builder(deque)
def _deque(m: Materializer, ref: Ref) -> int:
    limit = m.heap.get(ref, ("maxlen",))
    items = m.tuple_of(m.heap.get(ref, ITEMS) or ())
    return m.call(deque, items, *([] if limit is None else [m.value(limit)]))


@builder(functools.partial)
def _partial(m: Materializer, ref: Ref) -> int:
    """A partial: its own arguments are handed over, then what else the object holds is written."""
    fields = m.heap.fields_of(ref)
    parts = [m.value(fields[part]) for part in (callables.FUNC, callables.ARGS, callables.KEYWORDS)]
    register = m.made[id(ref)] = m.call(callables.make_partial, *parts, m.const(ref.cls))
    for field, value in list(fields.items()):
        if field not in (callables.FUNC, callables.ARGS, callables.KEYWORDS) and value is not MISSING:
            m.store(ref, register, field, value)
    return register


@builder(caches.Wrapper)
def _cached_function(m: Materializer, ref: Ref) -> int:
    """A function with a cache that remembers nothing yet; CPython makes one that has been used."""
    cache = m.heap.fields_of(m.heap.get(m.heap.get(ref, caches.CACHE), DICT_FIELD))[ITEMS]
    parts = {name: value for name, (_, value) in cache.items()}
    if m.heap.get(parts["table"], ITEMS) or any(parts[name].obj for name in ("hits", "misses")):
        raise Retrace(("break", m.heap.get(ref, caches.STEP).obj))
    register = m.made[id(ref)] = m.call(caches.Wrapper, *(m.value(parts[name]) for name in ("function", "maxsize", "typed", "info")))
    m.store(ref, register, DICT_FIELD, m.heap.get(ref, DICT_FIELD))
    return register


def _older_first(m: Materializer, ref: Ref) -> None:
    """Make the references to the same object that were made before this one: CPython calls the callback of the last first."""
    of = m.heap.fields_of(ref)[weak.REFERENT]
    others = deaths.references_in(m.trace.cache, of)
    if len(others) > 1 and id(of) not in m.ordering:
        m.ordering.add(id(of))
        for other in reversed(others):
            if other is ref:
                break
            if weak.DEAD not in m.heap.fields_of(other):
                m.value(other)
        m.ordering.remove(id(of))


@builder(weak.Reference)
def _weak_reference(m: Materializer, ref: Ref) -> int:
    fields = m.heap.fields_of(ref)
    _older_first(m, ref)
    if id(ref) in m.made:
        return m.made[id(ref)]
    hashed = getattr(fields.get(weak.HASHED, NONE), "obj", None)  # None: not; True: as its referent is; else its hash
    is_dead = weak.DEAD in fields and hashed is not True
    if is_dead:
        register = m.call(weak.make_dead, m.const(ref.cls), m.const(hashed))
    else:
        register = m.call(weak.make_reference, m.value(fields[weak.REFERENT]), m.value(fields[weak.CALLBACK]), m.const(ref.cls))
    if id(ref) in m.made:
        return m.made[id(ref)]  # its referent holds it
    m.made[id(ref)] = register
    for field, value in list(fields.items()):
        if field == weak.HASHED:
            if not is_dead:
                m.key(m.trace.cache[field, ref], ref)
                m.effect(weak.remember_hash, register, m.value(fields[weak.REFERENT]))
        elif field not in (weak.REFERENT, weak.CALLBACK, weak.DEAD) and value is not MISSING:
            m.store(ref, register, field, value)
    return register


@builder(*proxy.KINDS)
def _proxy(m: Materializer, ref: Ref) -> int:
    fields = m.heap.fields_of(ref)
    if weak.DEAD in fields:
        return m.call(proxy.make_dead, m.const(ref.cls))
    callback = fields[weak.CALLBACK]
    more = [] if getattr(callback, "obj", callback) is None else [m.value(callback)]
    register = m.call(weakref.proxy, m.value(fields[weak.REFERENT]), *more)
    return m.made.get(id(ref), register)


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
    """An exception without what it refers to; its arguments, context and attributes may lead back to it."""
    fields = m.heap.fields_of(ref)
    made = fields.get(exception.MADE)
    cls = m.value(Const(ref.cls))
    if made is not None:
        register = m.new("CALL", cls, tuple(m.value(item) for item in made.items), ())
    elif issubclass(ref.cls, BaseExceptionGroup):
        parts = m.value(fields[exception.MESSAGE]), m.value(fields[exception.EXCEPTIONS])
        register = m.call(BaseExceptionGroup.__new__, cls, *parts)
    else:
        register = m.new("NEW", cls)
    m.made[id(ref)] = register
    m.unfilled.append(ref)
    return register


def _fill_exception(m: Materializer, ref: Ref, register: int) -> None:
    fields = m.heap.fields_of(ref)
    m.add("STORE_ATTR", register, m.packer.const("args"), m.value(fields[exception.ARGS]))  # that very tuple: others may hold it
    for name, field in (("__context__", exception.CONTEXT), ("__cause__", exception.CAUSE), ("__traceback__", exception.TRACEBACK)):
        if fields.get(field, NONE) is not NONE:
            m.add("STORE_ATTR", register, m.packer.const(name), m.value(fields[field]))
    suppress = fields[exception.SUPPRESS]
    if not isinstance(suppress, Const) or suppress.obj is (fields[exception.CAUSE] is NONE):
        m.add("STORE_ATTR", register, m.packer.const("__suppress_context__"), m.value(fields[exception.SUPPRESS]))
    for field, value in list(fields.items()):
        if field in exception.PRIVATE:
            continue
        if field == DICT_FIELD or isinstance(field, types.MemberDescriptorType):
            m.store(ref, register, field, value)
        elif type(field) is tuple and (value is not NONE or exception.MADE in fields):
            m.add("STORE_ATTR", register, m.packer.const(field[0]), m.value(value))


@builder(types.TracebackType)
def _traceback(m: Materializer, ref: Ref) -> int:
    """Entries of the frame that the region begins in, and of frames that have ended; CPython makes others."""
    entries: list[Ref] = []
    inner: Any = ref
    while isinstance(inner, Ref) and inner.path is None and id(inner) not in m.made:
        entries.append(inner)
        inner = m.heap.get(inner, exception.NEXT)
    m.shows_frame = True
    outer: Any = None
    frames: list[int | None] = []
    for entry in entries:
        if m.heap.get(entry, exception.PLACE) is None:
            shown = m.heap.get(entry, exception.SHOWN)
            frames.append(_shown(m, shown, outer, m.heap.get(entry, exception.STEP)))
            outer = shown
        else:
            frames.append(None)
            outer = None
    register = m.value(inner)
    for entry, frame in reversed(list(zip(entries, frames))):
        if frame is None:
            register = m.new("BUILD_TRACEBACK", register, m.heap.get(entry, exception.PLACE))
        else:
            shown = m.heap.get(entry, exception.SHOWN)
            line = Where(shown.frame.real_code, shown.place).line
            register = m.call(types.TracebackType, register, frame, m.const(shown.place), m.const(line))
        m.made[id(entry)] = register
    return m.made[id(ref)]


def _shown(m: Materializer, shown: Any, outer: Any, step: Any) -> int:
    """A frame that tracebacks show, which has ended; that which called it is shown too, here or by another."""
    if shown is None or not _has_ended(m, shown.frame):
        raise Retrace(("break", step))
    frame, back = shown.frame, EMPTY
    known = m.made.get(("frame", id(frame)))
    if known is not None:
        return known
    if frame.generator is None and shown.back is None:
        back = m.call(frame_of, m.new("BUILD_TRACEBACK", m.value(NONE), shown.root_place))
    elif frame.generator is None:
        if shown.back.frame is not getattr(outer, "frame", None) and not shown.back.frame.caught:
            raise Retrace(("break", step))
        back = _shown(m, shown.back, None, step)
    slots = tuple(m.value(value) for value in frame.slots)
    place = frame.instr.own_pc if frame.left_at is None else frame.left_at
    register = m.made["frame", id(frame)] = m.new("BUILD_FRAME", m.value(frame.func), place, back, slots)
    return register


def _has_ended(m: Materializer, frame: Any) -> bool:
    """Whether a frame of the capture has ended behind the region, and can be made."""
    if m.has_frames or not MAKES_FRAMES:
        return False
    return frame.generator is None or m.heap.get(frame.generator, generator.FRAME) is None


def frame_of(entry: types.TracebackType) -> types.FrameType:
    """The frame that a traceback shows."""
    return entry.tb_frame


UNMADE[types.FrameType] = frame_.STEP


@builder(*UNMADE)
def _unmade(m: Materializer, ref: Ref) -> int:
    raise Retrace(("break", m.heap.get(ref, UNMADE[ref.cls])))


UNMADE[types.TracebackType] = exception.STEP  # in cycles of nothing else


@builder(types.AsyncGeneratorType, *async_generator.AWAITABLES)
def _async_generator(m: Materializer, ref: Ref) -> int:
    raise Retrace(("break", m.heap.get(ref, generator.MADE)))


@builder(types.GeneratorType, types.CoroutineType)
def _generator(m: Materializer, ref: Ref) -> int:
    frame = m.heap.get(ref, generator.FRAME)
    if frame is None:
        return _finished_generator(m, ref)
    ins = frame.instr
    if ins.op == "RETURN_GENERATOR":  # not started: it goes on behind this instruction
        ins = frame.code.instructions[frame.index + 1]
    live = analyze(frame.code).live[ins.index]
    everything = m.keeps_dead(frame.real_code)
    slots = [m.value(value) if everything or live >> index & 1 else EMPTY for index, value in enumerate(frame.slots)]
    stack = [m.value(value) for value in frame.stack]
    made = m.new("BUILD_GENERATOR", m.value(frame.func), ins.pc, (*slots, *stack))
    own = m.heap.get(ref, generator.HANDLED)
    if own is not None and own is not MISSING:
        m.call(_C.set_generator, made, m.const(ins.pc), m.value(own), *[m.const(_C.MISSING)] * (len(slots) + len(stack)))
    return _named(m, ref, made)


def _named(m: Materializer, ref: Ref, register: int) -> int:
    """The generator with the names that it has, where they are not those that its function has by now."""
    body = m.heap.get(ref, generator.FUNCTION)
    for name in generator.NAMES:
        found = m.heap.get(ref, (name,))
        made = m.heap.get(body, function.FIELDS[name]) if isinstance(body, Ref) and body.virtual else MISSING
        if found is not made:
            m.add("STORE_ATTR", register, m.packer.const(name), m.value(found))
    return register


def _finished_generator(m: Materializer, ref: Ref) -> int:
    """A generator that has come to its end: one of the same function that never started is closed."""
    body = m.heap.get(ref, generator.FUNCTION)
    code = decode(m.heap.get(body, function.CODE) if isinstance(body, Ref) and body.virtual else path_code(body))
    start = next(ins for ins in code.instructions if ins.op == "RETURN_GENERATOR")
    register = m.new("BUILD_GENERATOR", m.value(body), start.next_pc, (EMPTY,) * code.nlocalsplus)
    m.effect(vars(ref.cls)["close"], register)
    return _named(m, ref, register)


def path_code(body: Const | Ref) -> types.CodeType:
    """The code of a function that exists."""
    found: types.CodeType = (body.obj if isinstance(body, Const) else body.real).__code__
    return found


builder(BaseException)(_exception)
FILLERS[BaseException] = _fill_exception
