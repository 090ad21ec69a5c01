"""Classes: calling them (metaclass, `__new__`, `__init__`), `super`, `isinstance`."""

from __future__ import annotations

import abc
import enum
import types
import weakref
from collections.abc import Callable
from typing import Any

from framejit.core.errors import Raised, Retrace
from framejit.core.heap import MISSING
from framejit.core.path import MEMBER, Path
from framejit.core.services import Pending, Services
from framejit.core.state import Result
from framejit.core.value import NULL, Const, Node, Pack, Ref, Value, bool_const
from framejit.objects import deaths
from framejit.objects.constants import REPLICAS, alternatives
from framejit.objects.exact import type_name
from framejit.objects.lineage import is_descendant
from framejit.objects.members import Members
from framejit.objects.model import Model, model, model_of
from framejit.objects.object_ import DICT_FIELD, FORWARDING, bind, captured, is_own_slot, no_attribute, stood_for
from framejit.reasons import R
from framejit.rules.registry import HANDLERS, handler

STORAGE: dict[type, Callable[[], Any]] = {list: tuple, dict: dict, set: lambda: Members({}, set)}
HEAP_TYPE = 1 << 9
HAVE_GC = 1 << 14  # CPython remembers that `__del__` was called
DISALLOW_INSTANTIATION = 1 << 7
IS_ABSTRACT = 1 << 20  # Py_TPFLAGS_IS_ABSTRACT
CONTENTS = ("contents",)  # of a cell


def call_class(s: Services, target: Const, args: list[Value], kwargs: dict[str, Value], plain: bool = False) -> Value | Pending:
    """type.__call__ (`plain`) and what metaclasses put in its place."""
    cls = target.obj
    meta = type(cls)
    if cls.__flags__ & DISALLOW_INSTANTIATION:
        s.raise_error(TypeError, f"cannot create '{type_name(cls)}' instances")
    if not plain and issubclass(cls, enum.Enum) and cls not in s.trace.classes and len(args) == 1 and s.is_constant(args[0]) and not kwargs:
        member = _enum_member(s, cls, s.constant(args[0]))
        if member is not None:
            return member
    if not plain and meta is not type and meta is not abc.ABCMeta:
        custom = s.type_lookup(meta, "__call__")
        if custom is not type.__dict__["__call__"]:
            return s.tail_call(bind(s, s.trace.roots.const(custom), custom, target), args, kwargs)
    new = s.type_lookup(cls, "__new__")
    if isinstance(new, staticmethod):
        new = new.__func__
    if issubclass(cls, type) and new is type.__new__:
        instance = s.force(s.call(Const(new), [target, *args], kwargs))
        if not is_descendant(s, instance.cls, cls):
            return instance
    elif not isinstance(new, types.BuiltinFunctionType):
        instance = s.force(s.call(stood_for(s, new), [target, *args], kwargs))
        if not isinstance(instance, (Ref, Pack, Const)) or not is_descendant(s, instance.cls, cls):
            return instance
    else:  # a class calls the function of its base in C, whatever other one it holds
        of_base = _in_c(cls).__new__
        stray = new.__self__ is object and of_base is not object.__new__ or new.__self__ not in cls.__mro__
        instance = allocate(s, target, of_base if stray else new, args, kwargs)
    return initialise(s, instance, args, kwargs)


OF_ENUM = tuple(vars(kind)["_missing_"].__func__ for kind in (enum.Enum, enum.Flag))


def _enum_member(s: Services, cls: type[enum.Enum], value: Any) -> Value | None:
    """A member, or a combination of flags; one that was made for it is there when the capture starts over; None: ask user code."""
    if s.type_lookup(type(cls), "__call__") is not enum.EnumMeta.__call__:
        return None
    if getattr(s.type_lookup(cls, "_missing_"), "__func__", None) not in OF_ENUM:
        is_member = type(value) in (int, str, float) and value in cls._value2member_map_
        return Const(cls._value2member_map_[value]) if is_member else None
    known = len(cls._value2member_map_)
    try:
        found = cls(value)
    except ValueError as error:
        return s.raise_error(ValueError, *error.args)
    decision = "made", cls.__qualname__, repr(value)
    if len(cls._value2member_map_) != known and decision not in s.decisions:  # type: ignore[attr-defined]
        raise Retrace(decision)
    return Const(found)


def allocate(s: Services, target: Const, new: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A new instance by a `__new__` written in C; one with `__del__` is waited for."""
    cls = target.obj
    if cls.__flags__ & IS_ABSTRACT or issubclass(type(cls), abc.ABCMeta):
        s.type_lookup(cls, "__abstractmethods__")
    made = _allocate(s, cls, getattr(new, "__self__", None), args, kwargs)
    if cls not in REPLICAS and s.type_lookup(cls, "__del__") is not MISSING:
        if not isinstance(made, Ref) or not made.virtual or not cls.__flags__ & HAVE_GC:
            s.unsupported(R.OPAQUE_CALL, cls, "its instances have a finalizer")
        deaths.watch_end(s, made)
    return made


def _allocate(s: Services, cls: Any, owner: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if owner is object:
        if (args or kwargs) and _had_new(s, cls):
            s.raise_error(TypeError, ONE_ARGUMENT)
        if (args or kwargs) and s.type_lookup(cls, "__init__") is object.__init__:
            s.raise_error(TypeError, f"{cls.__name__}() takes no arguments")
        if cls.__flags__ & IS_ABSTRACT:
            abstract = vars(type)["__abstractmethods__"].__get__(cls)
            names, many = ", ".join(sorted(abstract)), "s" if len(abstract) > 1 else ""
            s.raise_error(TypeError, f"Can't instantiate abstract class {cls.__name__} with abstract method{many} {names}")
        if not cls.__flags__ & HEAP_TYPE and cls is not object:
            s.unsupported(R.OPAQUE_CALL, cls)
        return new_instance(s, cls)
    made = model_of(cls).new(s, cls, args, kwargs)
    return made if made is not None else s.unsupported(R.OPAQUE_CALL, cls)


ONE_ARGUMENT = "object.__new__() takes exactly one argument (the type to instantiate)"


def _had_new(s: Services, cls: type) -> bool:
    """Whether the class had a `__new__` of its own that was deleted: CPython then keeps its slot, and refuses arguments."""
    known = s.trace.cache.setdefault(_had_new, {})
    if s.type_lookup(cls, "__del__") is not MISSING:
        return False  # to find out would end an instance
    if cls not in known:
        try:
            known[cls] = type(object.__new__(cls, None)) is not cls  # type: ignore[call-arg]
        except TypeError as error:
            known[cls] = error.args[0] == ONE_ARGUMENT
    return known[cls]


def _in_c(cls: type) -> type:
    """The nearest base written in C."""
    while cls.__flags__ & HEAP_TYPE and cls.__base__ is not None:
        cls = cls.__base__
    return cls


def new_instance(s: Services, cls: type, fields: dict[Any, Any] | None = None) -> Ref:
    """A bare instance: an empty dict if the class has one, and the storage of a built-in base."""
    table: dict[Any, Any] = dict(fields or {})
    for base, empty in STORAGE.items():
        if issubclass(cls, base):
            table.setdefault(s.heap.ITEMS, empty())
    if cls.__dictoffset__:
        table[DICT_FIELD] = s.heap.new(dict, {s.heap.ITEMS: {}})
    return s.heap.new(cls, table)


def initialise(s: Services, instance: Value, args: list[Value], kwargs: dict[str, Value]) -> Value | Pending:
    """Run `__init__`; a pending frame discards its result and gives the instance."""
    cls = instance.cls
    init = s.type_lookup(cls, "__init__")
    if init is object.__init__ or init is MISSING:
        return instance
    if isinstance(init, types.FunctionType):
        pending = s.tail_call(captured(s, init, s.trace.roots.const(init)), [instance, *args], kwargs)
        if isinstance(pending, Pending):
            pending.result, pending.extra = Result.DISCARD, instance  # type: ignore[attr-defined]
            return pending
        return instance
    if isinstance(init, types.WrapperDescriptorType):
        known = HANDLERS.get(init)
        if known is not None:
            s.finish(known(s, [instance, *args], kwargs))
            return instance
        if model_of(cls).initialise(s, instance, args, kwargs):
            return instance
        return s.unsupported(R.OPAQUE_CALL, cls, "__init__")
    s.call(bind(s, s.trace.roots.const(init), init, instance), args, kwargs)
    return instance


# -- handlers ---------------------------------------------------------------------------------------------------------


@handler(object.__new__)
def object_new(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if not args:
        return s.raise_error(TypeError, "object.__new__(): not enough arguments")
    target = s.force(args[0])
    if not isinstance(target, Const) or not issubclass(type(target.obj), type):
        return s.raise_error(TypeError, f"object.__new__(X): X is not a type object ({target.cls.__name__})")
    cls = target.obj
    static = _in_c(cls)
    if static.__new__ is not object.__new__:
        s.raise_error(TypeError, f"object.__new__({cls.__name__}) is not safe, use {static.__name__}.__new__()")
    if len(args) > 1 or kwargs:
        if s.type_lookup(cls, "__new__") is not object.__new__ or _had_new(s, cls):
            s.raise_error(TypeError, ONE_ARGUMENT)
        if s.type_lookup(cls, "__init__") is object.__init__:
            s.raise_error(TypeError, f"{cls.__name__}() takes no arguments")
    return allocate(s, target, object.__new__, [], {})


@handler(object.__init__)
def object_init(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) > 1 or kwargs:
        cls = s.force(args[0]).cls
        if s.type_lookup(cls, "__init__") is not object.__init__:
            s.raise_error(TypeError, "object.__init__() takes exactly one argument (the instance to initialize)")
        if s.type_lookup(cls, "__new__") is object.__new__:
            s.raise_error(TypeError, f"{cls.__name__}.__init__() takes exactly one argument (the instance to initialize)")
    return Const(None)


@handler(object.__init_subclass__)
def init_subclass(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Const(None)


@handler(vars(object)["__init_subclass__"])
def init_subclass_of(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`object.__init_subclass__` bound to a class."""
    if len(args) > 1 or kwargs:
        wrong = "keyword arguments" if kwargs else f"arguments ({len(args) - 1} given)"
        return s.raise_error(TypeError, f"{s.constant(args[0]).__qualname__}.__init_subclass__() takes no {wrong}")
    return Const(None)


def _not_a_class(s: Services, value: Value, name: str) -> None:
    value = s.force(value)
    if isinstance(value, Const) and issubclass(type(value.obj), type):
        s.raise_error(TypeError, f"can't apply this {name} to {value.cls.__name__} object")


@handler(object.__setattr__)
def object_setattr(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    _not_a_class(s, args[0], "__setattr__")
    s.generic_store(s.force(args[0]), s.constant(args[1]), args[2])  # type: ignore[attr-defined]
    return Const(None)


@handler(object.__delattr__)
def object_delattr(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    _not_a_class(s, args[0], "__delattr__")
    s.generic_store(s.force(args[0]), s.constant(args[1]), None)  # type: ignore[attr-defined]
    return Const(None)


@handler(object.__getattribute__)
def object_getattribute(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value | Pending:
    value, name = s.force(args[0]), s.constant(args[1])
    found = s.generic_attribute(value, name)  # type: ignore[attr-defined]
    return no_attribute(s, value, name) if found is None else found


@handler(super)
def super_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`super()`, `super(cls, self)` and `super(cls, subclass)`."""
    if not args:
        frame = s.frames[-1]  # type: ignore[attr-defined]
        names = [local.name for local in frame.code.locals]
        if "__class__" not in names or not frame.real_code.co_argcount:
            return s.raise_error(RuntimeError, "super(): __class__ cell not found")
        cls, self = _super_parts(s, frame, names.index("__class__"))
    elif len(args) == 2:
        cls, self = s.force(args[0]), args[1]
    else:
        return s.unsupported(R.OPAQUE_CALL, super, "unbound super")
    if not isinstance(cls, Const) or not issubclass(type(cls.obj), type):
        return s.raise_error(TypeError, f"super() argument 1 must be a type, not {type_name(cls.cls)}")
    receiver = s.force(self)
    if receiver.cls is type(None):
        return s.unsupported(R.OPAQUE_CALL, super, "unbound super")
    owner = receiver.cls
    if isinstance(receiver, Const) and issubclass(type(receiver.obj), type) and is_descendant(s, receiver.obj, cls.obj):
        owner = receiver.obj
    if not is_descendant(s, owner, cls.obj):
        if s.type_lookup(owner, "__class__") is not object.__dict__["__class__"]:
            return s.unsupported(R.OPAQUE_CALL, super, "an object that pretends to be of the class")
        return s.raise_error(TypeError, "super(type, obj): obj must be an instance or subtype of type")
    return Pack(super, (cls, receiver, Const(owner)))


def _super_parts(s: Services, frame: Any, place: int) -> tuple[Value, Value]:
    """The class and the first argument that `super()` means in a frame."""
    self = frame.slots[0]
    if self is not NULL and frame.code.locals[0].kind == "cell":
        self = s.heap.get(s.force(self), CONTENTS)  # type: ignore[arg-type]
    if self is NULL or self is MISSING:
        s.raise_error(RuntimeError, "super(): arg[0] deleted")
    try:
        return s.force(s.getattr(frame.slots[place], "cell_contents")), self
    except Raised:
        return s.raise_error(RuntimeError, "super(): empty __class__ cell")


SUPER_PARTS = tuple(vars(super)[name] for name in ("__thisclass__", "__self__", "__self_class__"))


@model(super)
class SuperModel(Model):
    """Bound super objects: (class, self, class of self)."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        if type(real) is not super or SUPER_PARTS[1].__get__(real) is None:
            return s.unsupported(R.UNKNOWN_TYPE, real)
        s.guard(path, "TYPE", super)
        parts = tuple(s.force(s.input(path.to(MEMBER, part), part.__get__(real))) for part in SUPER_PARTS)
        return Pack(super, parts, path)


def is_instance(s: Services, value: Value, kind: Value) -> bool:
    """isinstance(value, kind)."""
    kind = s.force(kind)
    several = alternatives(s, kind)
    if several is not None:
        return any(is_instance(s, value, item) for item in several)
    value = s.force(value)
    cls: Any = kind.obj if isinstance(kind, Const) else None
    if issubclass(type(cls), types.UnionType):
        return any(is_instance(s, value, Const(item)) for item in cls.__args__)
    if not issubclass(type(cls), type):
        check = s.special(kind, "__instancecheck__")
        if check is None:
            s.raise_error(TypeError, "isinstance() arg 2 must be a type, a tuple of types, or a union")
        return s.truth(s.call(check, [value]))
    if value.cls is cls:
        return True
    return _check(s, cls, "__instancecheck__", value, value.cls)


def is_subclass(s: Services, value: Value, kind: Value) -> bool:
    """issubclass(value, kind)."""
    kind, value = s.force(kind), s.force(value)
    several = alternatives(s, kind)
    if several is not None:
        return any(is_subclass(s, value, item) for item in several)
    if isinstance(kind, Const) and issubclass(type(kind.obj), types.UnionType):
        return any(is_subclass(s, value, Const(item)) for item in kind.obj.__args__)
    if not isinstance(kind, Const) or not issubclass(type(kind.obj), type):
        hook = s.special(kind, "__subclasscheck__")
        if hook is None:
            s.raise_error(TypeError, "issubclass() arg 2 must be a class, a tuple of classes, or a union")
        return s.truth(s.call(hook, [value]))
    if not isinstance(value, Const) or not issubclass(type(value.obj), type):
        found = s.type_lookup(type(kind.obj), "__subclasscheck__")
        if found not in TRUSTED_CHECKS:
            return s.truth(s.call(bind(s, s.trace.roots.const(found), found, kind), [value]))
        s.raise_error(TypeError, "issubclass() arg 1 must be a class")
    return _check(s, kind.obj, "__subclasscheck__", value, value.obj)


TRUSTED_CHECKS = (type.__instancecheck__, type.__subclasscheck__, abc.ABCMeta.__instancecheck__, abc.ABCMeta.__subclasscheck__)


def _check(s: Services, cls: type, hook: str, value: Value, of: type) -> bool:
    meta = type(cls)
    found = s.type_lookup(meta, hook) if meta is not type else type.__instancecheck__
    if found in TRUSTED_CHECKS or getattr(found, "__module__", "").split(".")[0] in ("torch", "abc"):
        return _trusted_check(s, cls, of) or (hook == "__instancecheck__" and pretends(s, cls, value))
    return s.truth(s.call(bind(s, s.trace.roots.const(found), found, Const(cls)), [value]))


ABC_CHECK = vars(abc)["_abc_subclasscheck"]


def _trusted_check(s: Services, cls: type, of: type) -> bool:
    if s.trace.classes and issubclass(type(cls), abc.ABCMeta):
        return s.truth(s.finish(HANDLERS[ABC_CHECK](s, [Const(cls), Const(of)], {})))
    is_descendant(s, of, cls)  # guarded
    try:
        answer = issubclass(of, cls)
    except Exception as error:  # noqa: BLE001 - hooks written in Python may raise anything
        return s.unsupported(R.OPAQUE_CALL, issubclass, f"{type(error).__name__}: {error}")
    note_relation(s, cls, of, answer)
    return answer


class Unrelated:
    """A guard: classes that are no subclasses of these abstract ones still are none; asked again where any class was registered."""

    __slots__ = ("token", "pairs")

    def __init__(self) -> None:
        self.token = abc.get_cache_token()
        self.pairs: list[tuple[weakref.ref[type], weakref.ref[type]]] = []

    def __call__(self) -> bool:
        token = abc.get_cache_token()
        if token != self.token:
            for one, other in self.pairs:
                of, cls = one(), other()
                if of is None or cls is None or issubclass(of, cls):
                    return False
            self.token = token
        return True


def note_relation(s: Services, cls: type, of: type, related: bool) -> None:
    """Guard that a class is no subclass of an abstract one, as which it may be registered at any time, or is one because it was."""
    if not isinstance(cls, abc.ABCMeta):
        return
    if related:
        if cls not in of.__mro__:
            s.type_lookup(cls, "__subclasshook__")  # goes before what was registered
        return
    found = s.trace.cache.get(Unrelated)
    if found is None:
        found = s.trace.cache[Unrelated] = Unrelated()
    s.guard(None, "PY", found)
    found.pairs.append((weakref.ref(of), weakref.ref(cls)))


def pretends(s: Services, cls: type, value: Value) -> bool:
    """Whether the object is an instance by its `__class__`, where that is not its type."""
    if (not value.cls.__flags__ & HEAP_TYPE and value.cls not in FORWARDING) or isinstance(value, Node):
        return False
    plain = s.type_lookup(value.cls, "__class__") is object.__dict__["__class__"]
    if plain and value.cls not in FORWARDING and is_own_slot(s.type_lookup(value.cls, "__getattribute__"), value.cls, "__getattribute__"):
        return False
    try:
        claimed = s.force(s.getattr(value, "__class__"))
    except Raised as raised:
        if not issubclass(s.exception_type(raised.value), AttributeError):
            raise
        return False
    return isinstance(claimed, Const) and issubclass(type(claimed.obj), type) and _trusted_check(s, cls, claimed.obj)


@handler(isinstance)
def isinstance_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return bool_const(is_instance(s, args[0], args[1]))


@handler(issubclass)
def issubclass_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return bool_const(is_subclass(s, args[0], args[1]))
