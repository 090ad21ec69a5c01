"""Special methods of built-in types called by name (`super().__getitem__(key)`, `int.__add__`): they go to the models' slots."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from contextvars import Context
from functools import _lru_cache_wrapper, partial
from operator import attrgetter, itemgetter, methodcaller
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    GeneratorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import Any

from framejit.core.services import Pending, Services
from framejit.core.value import NONE, TRUE, Const, Value, bool_const
from framejit.objects import dict_view, iterator
from framejit.objects.exact import type_name
from framejit.objects.fold import constant, run
from framejit.objects.lineage import is_descendant, note_text
from framejit.objects.method import raise_arity
from framejit.objects.model import model_of
from framejit.objects.object_ import BINARY_NAMES, COMPARE_NAMES
from framejit.objects.protocol import SEQUENCES
from framejit.objects.type_ import pretends
from framejit.reasons import R
from framejit.rules.registry import HANDLERS, Handler

KINDS: tuple[type, ...] = (
    int, float, bool, complex, str, bytes, tuple, list, dict, OrderedDict, defaultdict, set, frozenset, range, slice, deque,
    type(None), GeneratorType, Context, *dict_view.VIEWS, *iterator.ROWS,
)  # fmt: skip


def _answer(found: Value | None) -> Value:
    return Const(NotImplemented) if found is None else found


def _operate(symbol: str, reflected: bool) -> Handler:
    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        self, other = s.force(args[0]), s.force(args[1])
        model = model_of(self.cls)
        found = model.binary(s, symbol, other, self, True) if reflected else model.binary(s, symbol, self, other, False)
        if found is None and symbol in ("*", "*=") and issubclass(self.cls, SEQUENCES):
            return s.raise_error(TypeError, f"'{type_name(other.cls)}' object cannot be interpreted as an integer")
        return _answer(found)

    return call


def _compare(symbol: str) -> Handler:
    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        self = s.force(args[0])
        return _answer(model_of(self.cls).compare(s, symbol, self, args[1]))

    return call


def _unary(symbol: str) -> Handler:
    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        self = s.force(args[0])
        return model_of(self.cls).unary(s, symbol, self)

    return call


def _getitem(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    self = s.force(args[0])
    return model_of(self.cls).getitem(s, self, args[1])


def _setitem(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    self = s.force(args[0])
    model_of(self.cls).setitem(s, self, args[1], args[2])
    return NONE


def _delitem(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    self = s.force(args[0])
    model_of(self.cls).delitem(s, self, args[1])
    return NONE


def _len(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    self = s.force(args[0])
    found = model_of(self.cls).len(s, self)
    return s.unsupported(R.OPAQUE_CALL, self.cls, "__len__") if found is None else found


def _contains(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    self = s.force(args[0])
    found = model_of(self.cls).contains(s, self, args[1])
    return s.unsupported(R.OPAQUE_CALL, self.cls, "__contains__") if found is None else found


def _iter(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    self = s.force(args[0])
    return model_of(self.cls).iter(s, self)


def _next(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    self = s.force(args[0])
    return model_of(self.cls).next(s, self)


def _bool(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    self = s.force(args[0])
    found = model_of(self.cls).truth(s, self)
    return s.unsupported(R.OPAQUE_CALL, self.cls, "__bool__") if found is None else bool_const(found)


def _hash(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    self = s.force(args[0])
    key = model_of(self.cls).hash_key(s, self)
    return s.unsupported(R.OPAQUE_CALL, self.cls, "__hash__") if isinstance(key, Value) else Const(hash(key))


def _folded(target: Callable[..., Any]) -> Handler:
    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return fold_slot(s, target, args)

    return call


def fold_slot(s: Services, target: Callable[..., Any], args: list[Value]) -> Value:
    """A conversion slot (`__int__`, `__str__`, …) of a constant."""
    return run(s, target, *[constant(s, arg) for arg in args])


SLOTS: dict[str, Handler] = {
    "__getitem__": _getitem, "__setitem__": _setitem, "__delitem__": _delitem, "__len__": _len, "__contains__": _contains,
    "__iter__": _iter, "__next__": _next, "__bool__": _bool, "__hash__": _hash,
    "__neg__": _unary("-"), "__pos__": _unary("+"), "__invert__": _unary("~"),
}  # fmt: skip
SLOTS.update({name: _compare(symbol) for symbol, name in COMPARE_NAMES.items()})
for _symbol, _stem in BINARY_NAMES.items():
    SLOTS[f"__{_stem}__"] = _operate(_symbol, False)
    SLOTS[f"__r{_stem}__"] = _operate(_symbol, True)
    SLOTS[f"__i{_stem}__"] = _operate(_symbol + "=", False)
FOLDED = (
    "__abs__", "__int__", "__float__", "__index__", "__trunc__", "__round__", "__floor__", "__ceil__", "__str__", "__repr__",
    "__format__", "__divmod__",
)  # fmt: skip



def arity(name: str) -> int:
    """How many arguments a slot takes, the object included."""
    if name in ("__setitem__", "__setattr__"):
        return 3
    one = ("__len__", "__iter__", "__next__", "__bool__", "__hash__", "__neg__", "__pos__", "__invert__")
    return 1 if name in one else 2


def _checked(found: Any, count: int, function: Handler) -> Handler:
    """The handler behind CPython's check of the number of arguments."""

    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value | Pending:
        if len(args) == count and not kwargs:
            return function(s, args, kwargs)
        name, of = found.__name__, found.__objclass__.__name__
        if not args:
            wrapper = type(found) is WrapperDescriptorType
            text = f"descriptor '{name}' of '{of}' object" if wrapper else f"unbound method {of}.{name}()"
            return s.raise_error(TypeError, f"{text} needs an argument")
        if kwargs:
            return s.raise_error(TypeError, f"wrapper {name}() takes no keyword arguments")
        given = len(args) - 1
        if type(found) is WrapperDescriptorType:
            return s.raise_error(TypeError, f"expected {count - 1} argument{'' if count == 2 else 's'}, got {given}")
        return s.raise_error(TypeError, f"{of}.{name}() takes exactly one argument ({given} given)")

    return call


for _kind in KINDS:
    for _name, _found in vars(_kind).items():
        if _found is None or isinstance(_found, (staticmethod, classmethod, str)):
            continue
        if _name in SLOTS and _found not in HANDLERS:
            HANDLERS[_found] = SLOTS[_name] if _name == "__pow__" else _checked(_found, arity(_name), SLOTS[_name])
        elif _name in FOLDED and _kind in (int, float, bool, complex, str, bytes) and _found not in HANDLERS:
            HANDLERS[_found] = _folded(_found)



def _counted(found: Any, count: int, function: Handler) -> Handler:
    """The handler of a slot whose error for other numbers of arguments CPython is asked for."""

    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value | Pending:
        return function(s, args, kwargs) if len(args) == count and not kwargs else raise_arity(s, found, args, kwargs)

    return call


for _kind in (object, type):
    for _name in ("__getattribute__", "__setattr__", "__delattr__"):
        _found = vars(_kind)[_name]
        HANDLERS[_found] = _counted(_found, arity(_name), HANDLERS[_found])


# -- what `object`, classes and callables of C have under these names ---------------------------------------------------------


def _object_eq(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return TRUE if s.is_same(args[0], args[1]) else Const(NotImplemented)


def _object_ne(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The opposite of what `__eq__` of the object's class says."""
    hook = s.special(args[0], "__eq__")
    found = Const(NotImplemented) if hook is None else s.call(hook, [args[1]])
    return found if s.is_same(found, Const(NotImplemented)) else bool_const(not s.truth(found))


def _object_order(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Const(NotImplemented)


def _object_str(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return s.repr(args[0])


def _object_format(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The object's text; a specification is for those whose class knows of one."""
    spec = s.force(args[1])
    if not issubclass(spec.cls, str):
        return raise_arity(s, object.__format__, args, kwargs)
    if s.constant(spec):
        return s.raise_error(TypeError, f"unsupported format string passed to {type_name(s.force(args[0]).cls)}.__format__")
    return s.str(args[0])


def _instancecheck(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """What `isinstance` does where a metaclass has nothing of its own to say."""
    cls, value = s.force(args[0]), s.force(args[1])
    assert isinstance(cls, Const)
    return bool_const(is_descendant(s, value.cls, cls.obj) or pretends(s, cls.obj, value))


def _subclasscheck(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    cls, value = s.force(args[0]), s.force(args[1])
    if not isinstance(cls, Const) or not isinstance(value, Const) or not issubclass(type(value.obj), type):
        return s.unsupported(R.OPAQUE_CALL, type, "__subclasscheck__")
    return bool_const(is_descendant(s, value.obj, cls.obj))


def _same_parts(symbol: str) -> Handler:
    """`==` or `!=` of callables that are another object each time."""

    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        self, other = s.force(args[0]), s.force(args[1])
        found = model_of(self.cls).compare(s, symbol, self, other)
        if found is None and other.cls is self.cls:
            return bool_const(s.is_same(self, other) is (symbol == "=="))
        return _answer(found)

    return call


def _own_hash(found: Any) -> Handler:
    """`__hash__` of object or of a callable, where the class of the object has no other."""

    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        v = s.force(args[0])
        return s.hash(v) if s.type_lookup(v.cls, "__hash__") is found else s.unsupported(R.OPAQUE_CALL, v.cls, "__hash__")

    return call


def _called(found: Any) -> Handler:
    """`__call__` of a callable of C: what a call does, with the code of a subclass left out."""

    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value | Pending:
        v = s.force(args[0])
        if s.type_lookup(v.cls, "__call__") is found:
            return s.tail_call(v, args[1:], kwargs)
        return model_of(v.cls).call(s, v, args[1:], kwargs)

    return call


def _type_repr(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    cls = s.force(args[0])
    assert isinstance(cls, Const)
    if s.type_lookup(cls.cls, "__repr__") is type.__repr__:
        return s.repr(cls)
    note_text(s, cls.obj)
    return fold_slot(s, type.__repr__, args)


OF_OBJECT: dict[str, Handler] = {
    "__eq__": _object_eq, "__ne__": _object_ne, "__lt__": _object_order, "__le__": _object_order, "__gt__": _object_order,
    "__ge__": _object_order, "__format__": _object_format,
}  # fmt: skip
for _name, _function in OF_OBJECT.items():
    HANDLERS[vars(object)[_name]] = _counted(vars(object)[_name], 2, _function)
HANDLERS[object.__str__] = _counted(object.__str__, 1, _object_str)
HANDLERS[type.__repr__] = _counted(type.__repr__, 1, _type_repr)
HANDLERS[type.__instancecheck__] = _counted(type.__instancecheck__, 2, _instancecheck)
HANDLERS[type.__subclasscheck__] = _counted(type.__subclasscheck__, 2, _subclasscheck)
HANDLERS[type.__or__] = _counted(type.__or__, 2, _operate("|", False))
HANDLERS[type.__ror__] = _counted(type.__ror__, 2, _operate("|", True))
CALLABLES = (
    FunctionType, MethodType, BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType, MethodWrapperType,
    ClassMethodDescriptorType, staticmethod, partial, _lru_cache_wrapper, itemgetter, attrgetter, methodcaller,
)  # fmt: skip
for _kind in CALLABLES:
    _found = vars(_kind)["__call__"]
    HANDLERS[_found] = _called(_found)
for _kind in (MethodType, BuiltinFunctionType, MethodWrapperType):
    for _name, _symbol in (("__eq__", "=="), ("__ne__", "!=")):
        HANDLERS[vars(_kind)[_name]] = _counted(vars(_kind)[_name], 2, _same_parts(_symbol))
for _kind in (object, MethodType, BuiltinFunctionType, MethodWrapperType):
    HANDLERS[vars(_kind)["__hash__"]] = _counted(vars(_kind)["__hash__"], 1, _own_hash(vars(_kind)["__hash__"]))
