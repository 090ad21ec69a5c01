"""Calls: from a callable value to a handler, a frame of its Python code, or the end of the region."""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from framejit.bytecode.decode import decode
from framejit.bytecode.instr import DecodeError
from framejit.config import config
from framejit.core.errors import Raised
from framejit.core.heap import MISSING
from framejit.core.path import CLOSURE, FUNC_FIELD, ITEM
from framejit.core.services import Pending
from framejit.core.value import NONE, NULL, Const, Node, Pack, Ref, Value
from framejit.interp.frame import Frame
from framejit.objects import constants, exception, function, generator, type_
from framejit.objects.dict_ import realize_dict
from framejit.objects.exact import type_name
from framejit.objects.fold import is_inert
from framejit.objects.model import model_of
from framejit.reasons import R
from framejit.rules import torch_ops
from framejit.rules.registry import HANDLERS, PURE, READERS

if TYPE_CHECKING:
    from framejit.interp.machine import Interpreter

GENERATOR_FLAGS = 0x20 | 0x80 | 0x200  # generator, coroutine, async generator
VARARGS, VARKEYWORDS = 0x04, 0x08
BOUND = (types.MethodType, types.BuiltinMethodType, types.MethodWrapperType)


def tail_call(interp: Interpreter, callee: Value, args: Sequence[Value] = (), kwargs: dict[str, Value] | None = None) -> Value | Pending:
    """Call: a value, or the frame that will compute it."""
    target = interp.force(callee)
    args = list(args)
    kwargs = kwargs or {}
    while isinstance(target, Pack) and target.cls in BOUND:
        args.insert(0, target.items[1])
        target = interp.force(target.items[0])
    if isinstance(target, Const):
        return _call_const(interp, target, args, kwargs)
    if isinstance(target, Ref) and target.cls is types.FunctionType:
        return _call_function(interp, target, args, kwargs)
    return _call_instance(interp, target, args, kwargs)


def _call_const(interp: Interpreter, target: Const, args: list[Value], kwargs: dict[str, Value]) -> Value | Pending:
    obj = target.obj
    if not callable(obj):
        interp.raise_error(TypeError, f"'{type(obj).__name__}' object is not callable")
    if issubclass(type(obj), types.MethodType):
        bound = interp.wrap(obj.__self__) if target.path is None else interp.input(target.path.to("METHOD_SELF"), obj.__self__)
        func_path = interp.trace.roots.const(obj.__func__) if target.path is None else target.path.to("METHOD_FUNC")
        return tail_call(interp, interp.input(func_path, obj.__func__), [bound, *args], kwargs)
    kind = type(obj)
    if kind.__hash__ is not None and kind in HASHABLE:
        found = HANDLERS.get(obj)
        if found is None and kind is types.BuiltinFunctionType and (first := _first_load(obj)) is not None:
            obj, found = first, HANDLERS.get(first)
        if found is not None:
            if kind in DESCRIPTORS:
                check_receiver(interp, obj, args)
            answer = found(interp, args, kwargs)
            if answer is not NotImplemented:  # else the function's own Python code is captured
                return answer
        elif obj in PURE:
            return fold(interp, obj, args, kwargs)
    if issubclass(type(obj), types.FunctionType):
        if interp.trace.classes:
            known = interp.trace.known.get(id(obj))  # a function of a class that the captured code defined
            if isinstance(known, Ref) and known.cls is types.FunctionType:
                return _call_function(interp, known, args, kwargs)
        return _call_function(interp, target, args, kwargs)
    if issubclass(type(obj), type):
        return _call_class(interp, target, args, kwargs)
    method = _unbound(obj)
    if method is not None:
        descriptor, receiver = method
        if descriptor in HANDLERS or descriptor in PURE:
            return _call_const(interp, Const(descriptor), [receiver, *args], kwargs)
    if torch_ops.is_operator(obj):
        return interp.operator("call_function", obj, args, kwargs)
    return _call_instance(interp, target, args, kwargs)


HASHABLE = {
    types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
    types.ClassMethodDescriptorType, types.MethodWrapperType, type,
}  # fmt: skip


DESCRIPTORS = (types.MethodDescriptorType, types.WrapperDescriptorType)


def check_receiver(interp: Interpreter, obj: Any, args: list[Value]) -> None:
    """The TypeErrors of C descriptors that are called without an object of their class."""
    name, owner = obj.__name__, obj.__objclass__
    in_slot = type(obj) is types.WrapperDescriptorType
    if not args:
        what = f"descriptor '{name}' of '{type_name(owner)}' object" if in_slot else f"unbound method {obj.__qualname__}()"
        interp.raise_error(TypeError, f"{what} needs an argument")
    cls = interp.force(args[0]).cls
    if cls is not owner and owner not in cls.__mro__:
        if in_slot:
            interp.raise_error(TypeError, f"descriptor '{name}' requires a '{type_name(owner)}' object but received a '{type_name(cls)}'")
        interp.raise_error(TypeError, f"descriptor '{name}' for '{type_name(owner)}' objects doesn't apply to a '{type_name(cls)}' object")


def _first_load(obj: Any) -> Any:
    """The same function of the module as it was first loaded, where a C module was loaded again; else None."""
    module = obj.__self__
    if type(module) is not types.ModuleType:
        return None
    known = sys.modules.get(module.__name__)
    found = None if known is None or known is module else getattr(known, obj.__name__, None)
    return found if type(found) is types.BuiltinFunctionType and found.__qualname__ == obj.__qualname__ else None


def _unbound(obj: Any) -> tuple[Any, Value] | None:
    """A built-in method of a constant as its type's descriptor and the constant."""
    if issubclass(type(obj), (types.BuiltinMethodType, types.MethodWrapperType)):
        receiver = obj.__self__
        if receiver is None or isinstance(receiver, types.ModuleType) or (isinstance(receiver, type) and obj.__name__ == "__new__"):
            return None
        of_class = receiver.__mro__ if isinstance(receiver, type) else ()
        for base in (*of_class, *type(receiver).__mro__):
            descriptor = vars(base).get(obj.__name__)
            if base in of_class and type(descriptor) is not types.ClassMethodDescriptorType:
                continue
            if descriptor is not None:
                return (descriptor, Const(receiver)) if descriptor.__hash__ is not None else None
    return None


def fold(interp: Interpreter, obj: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Call a pure function on constants; what it raises is raised in the captured program."""
    reads = obj in READERS
    if not reads and not all(interp.is_constant(arg) for arg in (*args, *kwargs.values())):
        interp.unsupported(R.OPAQUE_CALL, obj, "an argument is not a constant")
    if type(obj) is types.BuiltinMethodType and interp.trace.classes and _is_stand_in(interp, obj.__self__):
        interp.unsupported(R.OPAQUE_CALL, obj, "a method of a class that the captured code defines")
    values = [constants.content(interp, arg) if reads else interp.constant(arg) for arg in args]
    names = {name: interp.constant(arg) for name, arg in kwargs.items()}
    if not all(map(is_inert, (*values, *names.values()))):
        interp.unsupported(R.OPAQUE_CALL, obj, "an argument with special methods of its own")
    try:
        result = obj(*values, **names)
    except Exception as error:  # noqa: BLE001 - whatever the function raises, the program raises
        interp.raise_real(error)
    return interp.wrap(result)


def _is_stand_in(interp: Interpreter, owner: Any) -> bool:
    return type(owner) is not types.ModuleType and isinstance(owner, type) and owner in interp.trace.classes


def _call_class(interp: Interpreter, target: Const, args: list[Value], kwargs: dict[str, Value]) -> Value | Pending:
    cls = target.obj
    found = HANDLERS.get(cls)
    if found is not None:
        return found(interp, args, kwargs)
    if cls in PURE:
        return fold(interp, cls, args, kwargs)
    return type_.call_class(interp, target, args, kwargs)


def _call_instance(interp: Interpreter, target: Value, args: list[Value], kwargs: dict[str, Value]) -> Value | Pending:
    if isinstance(target, Pending):  # code of its own finds what is called
        return tail_call(interp, interp.finish(target), args, kwargs)
    method = interp.special(target, "__call__")
    if isinstance(method, Pack) and not (isinstance(method.items[0], Const) and type(method.items[0].obj) is types.WrapperDescriptorType):
        return tail_call(interp, method, args, kwargs)
    return model_of(target.cls).call(interp, target, args, kwargs)


def _call_function(interp: Interpreter, target: Const | Ref, args: list[Value], kwargs: dict[str, Value]) -> Value | Pending:
    parts = function.parts(interp, target)
    code = parts.code
    if function.is_left_alone(target, code):
        interp.unsupported(R.DISABLED_FUNCTION, target)
    real = target.obj if isinstance(target, Const) else target.real
    if real is not None and torch_ops.is_operator(real):
        return interp.operator("call_function", real, args, kwargs)
    try:
        decoded = decode(code)
    except DecodeError as error:
        interp.unsupported(R.UNSUPPORTED_OPCODE, target, str(error))
    if len(interp.frames) >= config.inline_limit:
        interp.unsupported(R.INLINE_TOO_DEEP, target)
    slots = bind(interp, target, parts, args, kwargs)
    slots.extend([NULL] * (decoded.nlocalsplus - len(slots)))
    frame = Frame(decoded, code, target, slots, parts.globals, parts.builtins)
    if code.co_flags & GENERATOR_FLAGS:
        return generator.new(interp, frame, code)
    return frame


def run_code(interp: Interpreter, code: types.CodeType, globals_: Ref, names: Value) -> Value:
    """Run the code of a module or an expression in these namespaces, inside the present instruction."""
    try:
        decoded = decode(code)
    except DecodeError as error:
        interp.unsupported(R.UNSUPPORTED_OPCODE, None, str(error))
    frame = Frame(decoded, code, NONE, [NULL] * decoded.nlocalsplus, globals_, function.builtins_of(interp, globals_))
    frame.names = names
    return interp.finish(frame)


def bind(interp: Interpreter, target: Value, parts: function.Parts, args: list[Value], kwargs: dict[str, Value]) -> list[Value]:
    """The argument slots, bound as CPython binds them, with its errors in its order."""
    code = parts.code
    count, keyword_only = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames
    slots: list[Value] = [NULL] * (count + keyword_only)
    given = len(args)
    slots[: min(given, count)] = args[:count]
    extra = _bind_keywords(interp, target, code, slots, kwargs) if kwargs else {}
    if given > count and not code.co_flags & VARARGS:
        _too_many(interp, target, code, given, sum(slot is not NULL for slot in slots[count:]))
    missing: list[str] = []
    for place, slot in enumerate(slots):
        if place == count and missing:
            break
        if slot is NULL:
            default = parts.default(interp, place) if place < count else parts.keyword_default(interp, names[place])
            if default is None:
                missing.append(names[place])
            else:
                slots[place] = default
    if missing:
        kind = "positional" if missing[0] in names[:count] else "keyword-only"
        bad_call(interp, target, f"missing {len(missing)} required {kind} argument{'s' if len(missing) > 1 else ''}: {_listed(missing)}")
    if code.co_flags & VARARGS:
        slots.append(Pack(tuple, tuple(args[count:])))
    if code.co_flags & VARKEYWORDS:
        slots.append(interp.heap.new(dict, {interp.heap.ITEMS: {name: (Const(name), value) for name, value in extra.items()}}))
    return slots


def _bind_keywords(
    interp: Interpreter, target: Value, code: types.CodeType, slots: list[Value], kwargs: dict[str, Value]
) -> dict[str, Value]:
    """Fill slots by name; the keywords that are left."""
    extra: dict[str, Value] = {}
    names, first = code.co_varnames[: len(slots)], code.co_posonlyargcount
    places = {name: index for index, name in enumerate(names) if index >= first}
    for name, value in kwargs.items():
        place = places.get(name)
        if place is None:
            if not code.co_flags & VARKEYWORDS:
                wrong = ", ".join(one for one in names[:first] if one in kwargs)
                if wrong:
                    bad_call(interp, target, f"got some positional-only arguments passed as keyword arguments: '{wrong}'")
                bad_call(interp, target, f"got an unexpected keyword argument '{name}'")
            extra[name] = value
        elif slots[place] is not NULL:
            bad_call(interp, target, f"got multiple values for argument '{name}'")
        else:
            slots[place] = value
    return extra


def _too_many(interp: Interpreter, target: Value, code: types.CodeType, given: int, keywords: int) -> None:
    count = code.co_argcount
    optional = interp.force(interp.getattr(target, "__defaults__"))
    defaults = len(interp.unpack(optional)) if optional.cls is tuple else 0
    takes = f"from {count - defaults} to {count}" if defaults else str(count)
    and_keywords = ""
    if keywords:
        more = f"{keywords} keyword-only argument{'s' if keywords != 1 else ''}"
        and_keywords = f" positional argument{'s' if given != 1 else ''} (and {more})"
    verb = "was" if given == 1 and not keywords else "were"
    plural = "s" if defaults or count != 1 else ""
    bad_call(interp, target, f"takes {takes} positional argument{plural} but {given}{and_keywords} {verb} given")


def _listed(names: list[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    if len(quoted) < 3:
        return " and ".join(quoted)
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"


def bad_call(interp: Interpreter, target: Value, detail: str) -> Any:
    """Raise the TypeError of a call with wrong arguments."""
    name = interp.constant(interp.getattr(target, "__qualname__"))
    interp.raise_error(TypeError, f"{name}() {detail}")


__all__ = ["CLOSURE", "FUNC_FIELD", "ITEM", "MISSING", "NONE", "Node", "Raised", "bind", "exception", "fold", "realize_dict", "tail_call"]
