"""Handlers of canonical instructions: the stack, variables, operators, building, control flow."""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable
from typing import Any

from framejit.bytecode.instr import CANONICAL, OP_IDS, Instr
from framejit.bytecode.versions import NULL_FIRST
from framejit.core.errors import Cut, Raised
from framejit.core.heap import MISSING
from framejit.core.lifetime import is_quiet
from framejit.core.path import CALLED, FRAME_SLOTS, Called
from framejit.core.services import Pending
from framejit.core.value import NONE, NULL, Const, Lazy, Number, Pack, Ref, Value, bool_const
from framejit.interp.frame import Frame
from framejit.interp.machine import OPS, Interpreter
from framejit.objects import deaths, function, later, list_, protocol, reach, set_
from framejit.objects.dict_ import delete, lookup, store
from framejit.objects.exact import type_name
from framejit.reasons import R

EFFECTS = {row[0]: row[2].split("|")[0] for row in CANONICAL}


def raw(*names: str) -> Callable[[Callable[[Interpreter, Frame, Instr], None]], Callable[[Interpreter, Frame, Instr], None]]:
    """Register a handler that moves the frame itself; it must not change the frame before its last fallible act."""

    def register(handler: Callable[[Interpreter, Frame, Instr], None]) -> Callable[[Interpreter, Frame, Instr], None]:
        for name in names:
            if OPS[OP_IDS[name]] is not None:
                raise ValueError(f"two handlers for {name}")
            OPS[OP_IDS[name]] = handler
        return handler

    return register


def op(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a handler of an op with a fixed stack effect: it takes the popped values and returns the pushed ones.

    A handler that pushes one value may return a pending frame instead, whose result is pushed when it is done.
    """

    def register(handler: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            before, _, after = EFFECTS[name].partition("--")
            raw(name)(_fixed(handler, len(before.split()), len(after.split())))
        return handler

    return register


def _fixed(handler: Callable[..., Any], pops: int, pushes: int) -> Callable[[Interpreter, Frame, Instr], None]:
    def run(interp: Interpreter, frame: Frame, ins: Instr) -> None:
        stack = frame.stack
        if pops == 1:
            result = handler(interp, ins, stack[-1])
            del stack[-1]
        elif pops == 2:
            result = handler(interp, ins, stack[-2], stack[-1])
            del stack[-2:]
        elif pops:
            result = handler(interp, ins, *stack[-pops:])
            del stack[-pops:]
        else:
            result = handler(interp, ins)
        if pushes == 1:
            if isinstance(result, Pending):
                interp.push(result)  # type: ignore[arg-type]
                return
            stack.append(result)
        elif pushes:
            stack.extend(result)
        frame.index += 1

    return run


# -- the stack --------------------------------------------------------------------------------------------------------


@raw("NOP", "RESUME")
def nop(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    frame.index += 1


@raw("POP_TOP")
def pop_top(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    old = frame.stack.pop()
    frame.index += 1
    if type(old) is Lazy or type(old) is Ref:
        after_drop(interp, old)


@raw("PUSH_NULL")
def push_null(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    frame.stack.append(NULL)
    frame.index += 1


@raw("COPY")
def copy(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    frame.stack.append(frame.stack[-ins.value])
    frame.index += 1


@raw("SWAP")
def swap(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    stack, place = frame.stack, -ins.value
    stack[-1], stack[place] = stack[place], stack[-1]
    frame.index += 1


# -- variables --------------------------------------------------------------------------------------------------------


@raw("LOAD_FAST")
def load_fast(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    value = frame.slots[ins.value]
    if value is NULL:
        name = frame.code.locals[ins.value].name
        interp.raise_error(UnboundLocalError, f"cannot access local variable '{name}' where it is not associated with a value")
    if type(value) is Lazy:
        interp.trace.note_bound(value.path)
    frame.stack.append(value)
    frame.index += 1


@raw("LOAD_FAST_AND_CLEAR")
def load_fast_and_clear(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    interp.empty_slot(ins.value)
    frame.stack.append(frame.slots[ins.value])
    frame.slots[ins.value] = NULL
    frame.index += 1


def after_drop(interp: Interpreter, old: Value) -> None:
    """Called when an instruction is done that dropped a reference: a real object's finalizer may run now, not at the exit."""
    path = getattr(old, "path", None)
    if path is None:
        return
    if path.kind in FRAME_SLOTS:
        interp.note_quiet(path, old)
    if reach.is_held_elsewhere(interp, path):
        pass
    elif reach.ends(interp, old):
        if not reach.in_frames(interp, old):
            interp.keep_done()
            raise Cut(R.OPAQUE_OPERATION, old, "its finalizer may run here")
    elif issubclass(type(getattr(old, "real", None)), BaseException):
        interp.guard(path.to(CALLED, Called(is_quiet, (), f"is_quiet({path})")), "EQ", True)
    interp.trace.flag("dropped")


@raw("STORE_FAST")
def store_fast(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    slots = frame.slots
    old = slots[ins.value]
    slots[ins.value] = frame.stack.pop()
    frame.index += 1
    if type(old) is Lazy or type(old) is Ref:
        after_drop(interp, old)
    elif old is NULL:
        interp.note_overwritten(ins.value)


@raw("DELETE_FAST")
def delete_fast(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    if frame.slots[ins.value] is NULL:
        name = frame.code.locals[ins.value].name
        interp.raise_error(UnboundLocalError, f"cannot access local variable '{name}' where it is not associated with a value")
    old = frame.slots[ins.value]
    if type(old) is Lazy:
        interp.trace.note_bound(old.path)
    interp.empty_slot(ins.value)
    frame.slots[ins.value] = NULL
    frame.index += 1
    after_drop(interp, old)


@raw("MAKE_CELL")
def make_cell(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    value = frame.slots[ins.value]
    frame.slots[ins.value] = interp.heap.new(types.CellType, {function.CONTENTS: MISSING if value is NULL else value})
    frame.index += 1


@raw("COPY_FREE_VARS")
def copy_free_vars(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    frame.slots[-ins.value :] = function.closure(interp, frame.func)
    frame.index += 1


def _cell(interp: Interpreter, slot: int) -> Ref:
    cell = interp.force(interp.frames[-1].slots[slot])
    if not isinstance(cell, Ref):
        interp.unsupported(R.OPAQUE_OPERATION, cell, "a cell is expected")
    return cell


@op("LOAD_DEREF")
def load_deref(interp: Interpreter, ins: Instr) -> Value:
    value = function.cell_get(interp, _cell(interp, ins.value))
    if value is MISSING:
        local = interp.frames[-1].code.locals[ins.value]
        if local.kind == "free":
            interp.raise_error(
                NameError,
                f"cannot access free variable '{local.name}' where it is not associated with a value in enclosing scope",
                name=local.name,
            )
        interp.raise_error(UnboundLocalError, f"cannot access local variable '{local.name}' where it is not associated with a value")
    return value


@op("STORE_DEREF")
def store_deref(interp: Interpreter, ins: Instr, value: Value) -> None:
    interp.heap.set(_cell(interp, ins.value), function.CONTENTS, value)


@op("DELETE_DEREF")
def delete_deref(interp: Interpreter, ins: Instr) -> None:
    load_deref(interp, ins)
    interp.heap.set(_cell(interp, ins.value), function.CONTENTS, MISSING)


@op("LOAD_CONST")
def load_const(interp: Interpreter, ins: Instr) -> Value:
    return Const(ins.value) if ins.value.__class__ is not tuple else _literal_tuple(interp, ins.value)


def _literal_tuple(interp: Interpreter, obj: tuple[Any, ...]) -> Value:
    """A tuple of the code: taken apart, and still the one object that the code holds."""
    if not obj:
        return interp.wrap(obj)
    cache = interp.trace.cache
    found: Value | None = cache.get(("literal", id(obj)))
    if found is None:
        items = tuple(_literal_tuple(interp, item) if item.__class__ is tuple else Const(item) for item in obj)
        found = cache["literal", id(obj)] = Pack(tuple, items, interp.trace.roots.const(obj))
    return found


def _global(interp: Interpreter, name: str) -> Value:
    frame = interp.frames[-1]
    value = lookup(interp, frame.globals, name)
    if value is MISSING:
        value = lookup(interp, frame.builtins, name)
        if value is MISSING:
            interp.raise_error(NameError, f"name '{name}' is not defined", name=name)
    return value


@raw("LOAD_GLOBAL")
def load_global(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    value = _global(interp, ins.value)
    if ins.arg:
        frame.stack.extend((NULL, value) if NULL_FIRST else (value, NULL))
    else:
        frame.stack.append(value)
    frame.index += 1


@op("STORE_GLOBAL")
def store_global(interp: Interpreter, ins: Instr, value: Value) -> None:
    store(interp, interp.frames[-1].globals, ins.value, value)


@op("DELETE_GLOBAL")
def delete_global(interp: Interpreter, ins: Instr) -> None:
    frame = interp.frames[-1]
    if lookup(interp, frame.globals, ins.value) is MISSING:
        interp.raise_error(NameError, f"name '{ins.value}' is not defined", name=ins.value)
    delete(interp, frame.globals, ins.value)


def _namespace(interp: Interpreter) -> Value:
    names = interp.frames[-1].names
    if names is None:
        interp.unsupported(R.UNSUPPORTED_OPCODE, None, "the namespace of a class body")
    return names


@op("LOAD_LOCALS")
def load_locals(interp: Interpreter, ins: Instr) -> Value:
    return _namespace(interp)


@op("SETUP_ANNOTATIONS")
def setup_annotations(interp: Interpreter, ins: Instr) -> None:
    names = _namespace(interp)
    if _of_names(interp, names, "__annotations__") is None:
        interp.setitem(names, Const("__annotations__"), interp.heap.new(dict, {interp.heap.ITEMS: {}}))


@op("LOAD_FROM_DICT_OR_DEREF")
def load_from_dict_or_deref(interp: Interpreter, ins: Instr, names: Value) -> Value:
    found = _of_names(interp, names, interp.frames[-1].code.locals[ins.value].name)
    return load_deref(interp, ins) if found is None else found


@op("LOAD_NAME")
def load_name(interp: Interpreter, ins: Instr) -> Value:
    found = _of_names(interp, _namespace(interp), ins.value)
    return _global(interp, ins.value) if found is None else found


def _of_names(interp: Interpreter, names: Value, name: str) -> Value | None:
    """What the namespace of a class body holds; any mapping is asked for the item."""
    names, key = interp.force(names), Const(name)
    if names.cls is dict:
        return interp.getitem(names, key) if interp.truth(interp.contains(names, key)) else None
    try:
        return interp.getitem(names, key)
    except Raised as raised:
        if not issubclass(interp.exception_type(raised.value), KeyError):
            raise
        return None


@op("STORE_NAME")
def store_name(interp: Interpreter, ins: Instr, value: Value) -> None:
    interp.setitem(_namespace(interp), Const(ins.value), value)


@op("DELETE_NAME")
def delete_name(interp: Interpreter, ins: Instr) -> None:
    try:
        interp.delitem(_namespace(interp), Const(ins.value))
    except Raised as raised:
        if not issubclass(interp.exception_type(raised.value), KeyError):
            raise
        interp.raise_error(NameError, f"name '{ins.value}' is not defined", name=ins.value)


# -- attributes and items -----------------------------------------------------------------------------------------------


@op("LOAD_ATTR")
def load_attr(interp: Interpreter, ins: Instr, owner: Value) -> Value | Pending:
    return protocol.getattr_tail(interp, owner, ins.value)


@op("LOAD_METHOD")
def load_method(interp: Interpreter, ins: Instr, owner: Value) -> tuple[Value, Value]:
    found = interp.getattr(owner, ins.value)
    if type(found) is Pack and found.cls is types.MethodType and type(found.items[0]) is not Lazy:
        return found.items[0], found.items[1]
    return (NULL, found) if NULL_FIRST else (found, NULL)


@op("LOAD_SUPER_ATTR")
def load_super_attr(interp: Interpreter, ins: Instr, super_: Value, cls: Value, self: Value) -> Value | Pending:
    return protocol.getattr_tail(interp, interp.call(super_, [cls, self]), ins.value)


@op("LOAD_SUPER_METHOD")
def load_super_method(interp: Interpreter, ins: Instr, super_: Value, cls: Value, self: Value) -> tuple[Value, Value]:
    return load_method(interp, ins, interp.call(super_, [cls, self]))


@op("STORE_ATTR")
def store_attr(interp: Interpreter, ins: Instr, value: Value, owner: Value) -> None:
    interp.setattr(owner, ins.value, value)


@op("DELETE_ATTR")
def delete_attr(interp: Interpreter, ins: Instr, owner: Value) -> None:
    interp.delattr(owner, ins.value)


@op("BINARY_SUBSCR")
def binary_subscr(interp: Interpreter, ins: Instr, container: Value, key: Value) -> Value | Pending:
    return protocol.getitem_tail(interp, container, key)


@op("STORE_SUBSCR")
def store_subscr(interp: Interpreter, ins: Instr, value: Value, container: Value, key: Value) -> None:
    interp.setitem(container, key, value)


@op("DELETE_SUBSCR")
def delete_subscr(interp: Interpreter, ins: Instr, container: Value, key: Value) -> None:
    held, heap = interp.force(container), interp.heap
    before = heap.get(held, heap.ITEMS) if isinstance(held, Ref) else None
    interp.delitem(container, key)
    if isinstance(held, Ref) and issubclass(held.cls, list):
        left = set(map(id, heap.get(held, heap.ITEMS) or ()))
        for item in before or heap.initial_of(held, heap.ITEMS) or ():
            if id(item) not in left and reach.ends(interp, item):
                interp.unsupported(R.OPAQUE_OPERATION, item, "its finalizer may run here")


# -- operators ----------------------------------------------------------------------------------------------------------


@op("UNARY_POSITIVE")
def unary_positive(interp: Interpreter, ins: Instr, value: Value) -> Value:
    return interp.unary("+", value)


@op("UNARY_NEGATIVE")
def unary_negative(interp: Interpreter, ins: Instr, value: Value) -> Value:
    return interp.unary("-", value)


@op("UNARY_INVERT")
def unary_invert(interp: Interpreter, ins: Instr, value: Value) -> Value:
    return interp.unary("~", value)


@op("UNARY_NOT")
def unary_not(interp: Interpreter, ins: Instr, value: Value) -> Value:
    return protocol.not_(interp, value)


@op("TO_BOOL")
def to_bool(interp: Interpreter, ins: Instr, value: Value) -> Value:
    return bool_const(interp.truth(value))


@op("BINARY_OP")
def binary_op(interp: Interpreter, ins: Instr, left: Value, right: Value) -> Value:
    return interp.binary(ins.value, left, right)


@op("COMPARE_OP")
def compare_op(interp: Interpreter, ins: Instr, left: Value, right: Value) -> Value:
    return interp.compare(ins.value, left, right)


@op("IS_OP")
def is_op(interp: Interpreter, ins: Instr, left: Value, right: Value) -> Value:
    return bool_const(interp.is_same(left, right) is not bool(ins.value))


@op("CONTAINS_OP")
def contains_op(interp: Interpreter, ins: Instr, item: Value, container: Value) -> Value:
    found = interp.contains(container, item)
    return protocol.not_(interp, found) if ins.value else found


# -- building -----------------------------------------------------------------------------------------------------------


def _take(frame: Frame, count: int) -> list[Value]:
    return frame.stack[len(frame.stack) - count :]


def _replace(frame: Frame, count: int, value: Value) -> None:
    del frame.stack[len(frame.stack) - count :]
    frame.stack.append(value)
    frame.index += 1


@raw("BUILD_TUPLE")
def build_tuple(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    _replace(frame, ins.value, Pack(tuple, tuple(_take(frame, ins.value))))


@raw("BUILD_LIST")
def build_list(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    _replace(frame, ins.value, interp.heap.new(list, {interp.heap.ITEMS: tuple(_take(frame, ins.value))}))


@raw("BUILD_SET")
def build_set(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    result = set_.make_set(interp, set, None)
    for item in _take(frame, ins.value):
        set_.add(interp, result, item)
    _replace(frame, ins.value, result)


@raw("BUILD_MAP")
def build_map(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    parts = _take(frame, 2 * ins.value)
    result = interp.heap.new(dict, {interp.heap.ITEMS: {}})
    for key, value in zip(parts[::2], parts[1::2], strict=True):
        protocol.dict_set(interp, result, key, value)
    _replace(frame, 2 * ins.value, result)


@raw("BUILD_CONST_KEY_MAP")
def build_const_key_map(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    *values, keys = _take(frame, ins.value + 1)
    result = interp.heap.new(dict, {interp.heap.ITEMS: {}})
    for key, value in zip(interp.constant(keys), values, strict=True):
        protocol.dict_set(interp, result, interp.wrap(key), value)
    _replace(frame, ins.value + 1, result)


@raw("BUILD_STRING")
def build_string(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    _replace(frame, ins.value, later.join(interp, _take(frame, ins.value)))


@raw("BUILD_SLICE")
def build_slice(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    parts = _take(frame, ins.value)
    _replace(frame, ins.value, Pack(slice, (parts[0], parts[1], parts[2] if ins.value == 3 else NONE)))


@raw("LIST_APPEND")
def list_append(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    target = interp.force(frame.stack[-1 - ins.value])
    if isinstance(target, Ref) and target.path is None:
        list_.append(interp, target, frame.stack[-1])
    else:
        interp.call_method(target, "append", [frame.stack[-1]])
    frame.stack.pop()
    frame.index += 1


@raw("SET_ADD")
def set_add(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    set_.add(interp, interp.force(frame.stack[-1 - ins.value]), frame.stack[-1])
    frame.stack.pop()
    frame.index += 1


@raw("MAP_ADD")
def map_add(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    key, value = frame.stack[-2:]
    protocol.dict_set(interp, interp.force(frame.stack[-2 - ins.value]), key, value)
    del frame.stack[-2:]
    frame.index += 1


@raw("LIST_EXTEND")
def list_extend(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    if not protocol.is_iterable(interp, frame.stack[-1]):
        interp.raise_error(TypeError, f"Value after * must be an iterable, not {interp.force(frame.stack[-1]).cls.__name__}")
    interp.call_method(frame.stack[-1 - ins.value], "extend", [frame.stack[-1]])
    frame.stack.pop()
    frame.index += 1


@raw("SET_UPDATE")
def set_update(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    interp.call_method(frame.stack[-1 - ins.value], "update", [frame.stack[-1]])
    frame.stack.pop()
    frame.index += 1


@op("LIST_TO_TUPLE")
def list_to_tuple(interp: Interpreter, ins: Instr, value: Value) -> Value:
    return Pack(tuple, tuple(interp.unpack(value)))


@raw("FORMAT_VALUE")
def format_value(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    conversion, has_spec = ins.value
    operands = _take(frame, 1 + has_spec)
    _replace(frame, 1 + has_spec, protocol.format_(interp, operands[0], conversion, operands[1] if has_spec else None))


@op("CONVERT_VALUE")
def convert_value(interp: Interpreter, ins: Instr, value: Value) -> Value:
    return protocol.convert(interp, value, ins.value)


def _unpacked(interp: Interpreter, iterable: Value, most: int | None) -> list[Value]:
    """The items that an assignment to several targets takes."""
    value = interp.force(iterable)
    if interp.type_lookup(value.cls, "__iter__") is MISSING and interp.type_lookup(value.cls, "__getitem__") is MISSING:
        interp.raise_error(TypeError, f"cannot unpack non-iterable {type_name(value.cls)} object")
    return list(itertools.islice(interp.each(value), most))


@raw("UNPACK_SEQUENCE")
def unpack_sequence(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    items = _unpacked(interp, frame.stack[-1], ins.value + 1)
    if len(items) < ins.value:
        interp.raise_error(ValueError, f"not enough values to unpack (expected {ins.value}, got {len(items)})")
    if len(items) > ins.value:
        interp.raise_error(ValueError, f"too many values to unpack (expected {ins.value})")
    frame.stack[-1:] = items[::-1]
    frame.index += 1


@raw("UNPACK_EX")
def unpack_ex(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    before, after = ins.value
    items = _unpacked(interp, frame.stack[-1], None)
    if len(items) < before + after:
        interp.raise_error(ValueError, f"not enough values to unpack (expected at least {before + after}, got {len(items)})")
    middle = interp.heap.new(list, {interp.heap.ITEMS: tuple(items[before : len(items) - after])})
    frame.stack[-1:] = [*items[:before], middle, *items[len(items) - after :]][::-1]
    frame.index += 1


@raw("MAKE_FUNCTION")
def make_function(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    count = 1 + ins.value.bit_count()
    *attributes, code = _take(frame, count)
    _replace(frame, count, function.make(interp, frame, interp.constant(code), ins.value, attributes))


@op("SET_FUNCTION_ATTRIBUTE")
def set_function_attribute(interp: Interpreter, ins: Instr, attribute: Value, target: Value) -> Value:
    function.set_part(interp, target, ins.value, attribute)
    return target


@op("LOAD_BUILD_CLASS")
def load_build_class(interp: Interpreter, ins: Instr) -> Value:
    found = lookup(interp, interp.frames[-1].builtins, "__build_class__")
    return interp.raise_error(NameError, "__build_class__ not found") if found is MISSING else found


ASSERTION_ERROR = AssertionError  # whatever the program puts under its name


@op("LOAD_ASSERTION_ERROR")
def load_assertion_error(interp: Interpreter, ins: Instr) -> Value:
    return Const(ASSERTION_ERROR)


# -- control flow -------------------------------------------------------------------------------------------------------


@raw("JUMP")
def jump(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    frame.index = ins.jump


def _branch(test: Callable[[Interpreter, Value], bool], keep: bool) -> Callable[[Interpreter, Frame, Instr], None]:
    def run(interp: Interpreter, frame: Frame, ins: Instr) -> None:
        taken = test(interp, frame.stack[-1])
        if not (keep and taken):
            frame.stack.pop()
        frame.index = ins.jump if taken else frame.index + 1

    return run


def _true(interp: Interpreter, value: Value) -> bool:
    return interp.truth(value)


def _false(interp: Interpreter, value: Value) -> bool:
    return not interp.truth(value)


def _none(interp: Interpreter, value: Value) -> bool:
    return interp.is_same(value, NONE)


def _not_none(interp: Interpreter, value: Value) -> bool:
    return not interp.is_same(value, NONE)


raw("POP_JUMP_IF_TRUE")(_branch(_true, False))
raw("POP_JUMP_IF_FALSE")(_branch(_false, False))
raw("POP_JUMP_IF_NONE")(_branch(_none, False))
raw("POP_JUMP_IF_NOT_NONE")(_branch(_not_none, False))
raw("JUMP_IF_TRUE_OR_POP")(_branch(_true, True))
raw("JUMP_IF_FALSE_OR_POP")(_branch(_false, True))


@op("GET_ITER")
def get_iter(interp: Interpreter, ins: Instr, iterable: Value) -> Value:
    return interp.iter(iterable)


@raw("FOR_ITER")
def for_iter(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    iterator = frame.stack[-1]
    if deaths.WATCHED in interp.trace.cache and type(iterator) is Ref and iterator.cls is types.GeneratorType:
        interp.hidden -= 1  # no C code waits for its body
        try:
            item = protocol.next_or_none(interp, iterator)
        finally:
            interp.hidden += 1
    else:
        item = protocol.next_or_none(interp, iterator)
    if item is None:
        frame.stack.pop()
        frame.index = ins.jump
    else:
        frame.stack.append(item)
        frame.index += 1


@raw("END_FOR")
def end_for(interp: Interpreter, frame: Frame, ins: Instr) -> None:
    del frame.stack[len(frame.stack) - ins.value :]
    frame.index += 1


__all__ = ["Number", "op", "raw"]
