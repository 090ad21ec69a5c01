"""Classes defined in the captured code: the body runs symbolically, a stand-in class answers look-ups, the exit makes the class.

The stand-in is a real class of the same bases whose functions are stand-ins for the captured ones; `trace.known` leads from
these to the values they stand for. Nothing but the capture ever sees it: `trace.classes` tells the exit how to make the class
of the run.
"""

from __future__ import annotations

import abc
import builtins
import types
from typing import Any

from framejit.core.heap import MISSING
from framejit.core.services import Pending, Services
from framejit.core.trace import ClassRecipe
from framejit.core.value import NONE, Const, Ref, Value
from framejit.objects import function
from framejit.objects.dict_ import full
from framejit.objects.object_ import PLAIN, StandIn, type_lookup
from framejit.objects.type_ import HEAP_TYPE
from framejit.reasons import R
from framejit.rules.registry import handler

METACLASSES = (type, abc.ABCMeta)
CLASS_CELL = "__classcell__"
HOOKS = ("__get__", "__set__", "__delete__", "__set_name__")
TOO_MUCH = {"__slots__", "__del__", "__mro_entries__", "__prepare__"}


@handler(builtins.__build_class__)
def build_class(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`class name(*bases): body` without keywords, of an ordinary metaclass, and without hooks that run at its creation."""
    if kwargs or len(args) < 2:
        return s.unsupported(R.BUILD_CLASS, None, "keywords")
    body, name, bases = args[0], s.constant(args[1]), [s.force(base) for base in args[2:]]
    meta = _metaclass(s, bases)
    namespace = s.heap.new(dict, {s.heap.ITEMS: {}})
    frame = s.tail_call(body)
    if not isinstance(frame, Pending):
        return s.unsupported(R.BUILD_CLASS, None, "the body is no function")
    frame.names = namespace  # type: ignore[attr-defined]
    s.finish(frame)
    return make(s, meta, name, bases, namespace)


def _metaclass(s: Services, bases: list[Value]) -> type:
    meta: type = type
    for base in bases:
        if not isinstance(base, Const) or not isinstance(base.obj, type) or type(base.obj) not in METACLASSES:
            return s.unsupported(R.BUILD_CLASS, base, "a base with a metaclass")
        if base.obj.__flags__ & HEAP_TYPE:
            hook = type_lookup(s, base.obj, "__init_subclass__")
            if hook is not MISSING and not isinstance(hook, (types.BuiltinMethodType, types.ClassMethodDescriptorType)):
                return s.unsupported(R.BUILD_CLASS, base, "__init_subclass__")
        if type(base.obj) is abc.ABCMeta:
            meta = abc.ABCMeta
    return meta


def make(s: Services, meta: type, name: str, bases: list[Value], namespace: Ref) -> Value:
    """The class of this namespace, as a constant that stands for it."""
    entries = {key: value for key, value in full(s, namespace).values()}
    real: dict[str, Any] = {}
    cell: Value | None = None
    for key, value in entries.items():
        text = s.constant(key)
        if text in TOO_MUCH:
            return s.unsupported(R.BUILD_CLASS, None, text)
        if text == CLASS_CELL:
            cell = s.force(value)
        else:
            real[text] = stand_in(s, value)
    try:
        cls = meta(name, tuple(base.obj for base in bases), real)  # type: ignore[attr-defined]
    except TypeError as error:
        return s.raise_error(TypeError, *error.args)
    trace = s.trace
    trace.trail.put(trace.classes, cls, ClassRecipe(meta, name, tuple(bases), namespace, cell, s.steps))  # type: ignore[attr-defined,arg-type]
    made = Const(cls)
    if isinstance(cell, Ref):
        s.heap.set(cell, function.CONTENTS, made)
    return made


def stand_in(s: Services, value: Value) -> Any:
    """A real object that stands for a value in the namespace of a stand-in class."""
    value = s.force(value)
    if isinstance(value, Const):
        if not isinstance(value.obj, (*PLAIN, type, types.FunctionType, property, staticmethod, classmethod)) and _has_hooks(value.cls):
            return s.unsupported(R.BUILD_CLASS, value, "a descriptor")
        return value.obj
    if isinstance(value, Ref) and value.cls is types.FunctionType:
        real = _function(s, value) if value.path is None else value.real
        s.trace.remember(real, value)
        return real
    if _has_hooks(value.cls):
        return s.unsupported(R.BUILD_CLASS, value, "a descriptor")
    return StandIn(value)


def _has_hooks(cls: type) -> bool:
    return any(hasattr(cls, name) for name in HOOKS)


def _function(s: Services, ref: Ref) -> Any:
    code, globals_ = s.heap.get(ref, function.CODE), s.heap.get(ref, function.GLOBALS)
    cells = tuple(types.CellType() for _ in code.co_freevars)
    made = types.FunctionType(code, globals_.real or {}, s.constant(s.heap.get(ref, function.NAME)), None, cells)
    made.__qualname__ = s.constant(s.heap.get(ref, function.QUALNAME))
    return made


def _is_function(value: Value) -> bool:
    return value.cls is types.FunctionType


def _wrapper(kind: Any) -> Any:
    """The handler of staticmethod, classmethod and property: a real one around stand-ins."""

    def make_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        given = [s.force(arg) for arg in args]
        names = {name: s.force(value) for name, value in kwargs.items()}
        for value in (*given, *names.values()):
            if not _is_function(value) and not (isinstance(value, Const) and isinstance(value.obj, (type, *PLAIN))):
                return s.unsupported(R.OPAQUE_CALL, kind, "of a callable object")
        try:
            real = kind(*(stand_in(s, value) for value in given), **{name: stand_in(s, value) for name, value in names.items()})
        except TypeError as error:
            return s.raise_error(TypeError, *error.args)
        found = Const(real)
        s.trace.trail.put(s.trace.wrappers, id(real), (found, kind, tuple(given), names))
        return found

    return make_


for _kind in (staticmethod, classmethod, property):
    handler(_kind)(_wrapper(_kind))


def _changed(place: int) -> Any:
    """property.getter, setter and deleter: another property with one function replaced."""

    def make_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        old = s.force(args[0])
        if len(args) != 2 or kwargs or not isinstance(old, Const) or type(old.obj) is not property:
            return s.unsupported(R.OPAQUE_CALL, property, "arguments")
        known = s.trace.wrappers.get(id(old.obj))
        parts: list[Value]
        if known is None:
            parts = [Const(part) for part in (old.obj.fget, old.obj.fset, old.obj.fdel)]
        else:
            names = ("fget", "fset", "fdel")
            parts = [known[2][index] if index < len(known[2]) else known[3].get(name, NONE) for index, name in enumerate(names)]
        parts[place] = args[1]
        return s.call(Const(property), parts)

    return make_


for _place, _name in enumerate(("getter", "setter", "deleter")):
    handler(getattr(property, _name))(_changed(_place))
