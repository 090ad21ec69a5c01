"""Abstract base classes: abc's C functions, symbolically where captured classes take part."""

from __future__ import annotations

import abc
from typing import Any

from framejit.core.classes import STAND_INS
from framejit.core.errors import Raised
from framejit.core.heap import MISSING
from framejit.core.services import Services
from framejit.core.value import FALSE, NONE, TRUE, Const, Value, bool_const
from framejit.objects.class_model import act, write
from framejit.objects.object_ import PLAIN, type_lookup
from framejit.objects.own_dict import own_names
from framejit.objects.type_ import ABC_CHECK, is_subclass, note_relation
from framejit.reasons import R
from framejit.rules.registry import handler

ABC_INIT, ABC_REGISTER, ABC_INSTANCECHECK, DUMP = (
    vars(abc)[name] for name in ("_abc_init", "_abc_register", "_abc_instancecheck", "_get_dump")
)  # fmt: skip
REGISTERED = "registered subclasses"  # in the cache of the trace: captured class -> what it was told


def attribute(s: Services, value: Value, name: str) -> Value | None:
    """The attribute, None where there is none."""
    try:
        return s.getattr(value, name)
    except Raised as raised:
        if not issubclass(s.exception_type(raised.value), AttributeError):
            raise
        return None


@handler(ABC_INIT)
def abc_init(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """What `ABCMeta.__new__` ends in: the abstract methods are found symbolically."""
    cls = s.force(args[0])
    if not isinstance(cls, Const) or cls.obj not in s.trace.classes:
        return s.unsupported(R.OPAQUE_CALL, ABC_INIT)
    names: dict[str, None] = {}
    for name, value in own_names(s, cls):
        if _is_abstract(s, value):
            names[name] = None
    for base in cls.obj.__bases__:
        for name in getattr(base, "__abstractmethods__", ()):
            inherited = attribute(s, cls, name)
            if inherited is not None and _is_abstract(s, inherited):
                names[name] = None
    try:
        ABC_INIT(cls.obj)  # the stand-in gets a registry of its own
    except TypeError as error:
        s.raise_error(TypeError, *error.args)
    act(s, cls, ABC_INIT)
    write(s, cls, "__abstractmethods__", s.wrap(frozenset(names)))
    return NONE


def _is_abstract(s: Services, value: Value) -> bool:
    value = s.force(value)
    if isinstance(value, Const):
        if issubclass(type(value.obj), PLAIN):
            return False
        known = s.trace.wrappers.get(id(value.obj))
        if known is not None:
            return any(_is_abstract(s, part) for part in (*known[2], *known[3].values()))
    found = attribute(s, value, "__isabstractmethod__")
    return found is not None and s.truth(found)


def _class(s: Services, value: Value, text: str) -> Const:
    value = s.force(value)
    if not isinstance(value, Const) or not issubclass(type(value.obj), type):
        return s.raise_error(TypeError, text)
    return value


@handler(ABC_CHECK)
def subclasscheck(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`ABCMeta.__subclasscheck__`: the hook, the bases, what was registered, the subclasses."""
    cls, of = _class(s, args[0], "issubclass() arg 2 must be a class"), _class(s, args[1], "issubclass() arg 1 must be a class")
    if not any(base in s.trace.classes for base in (*cls.obj.__mro__, *of.obj.__mro__)):
        return _real(s, ABC_CHECK, cls.obj, of.obj)
    known = s.trace.cache.setdefault("abstract", {})
    key = (cls.obj, of.obj)
    if key not in known:
        s.trace.trail.put(known, key, bool_const(_is_subclass(s, cls, of)))
    found: Value = known[key]
    return found


def _is_subclass(s: Services, cls: Const, of: Const) -> bool:
    answer = s.force(s.call(s.getattr(cls, "__subclasshook__"), [of]))
    if not isinstance(answer, Const) or answer.obj not in (True, False, NotImplemented):
        return s.unsupported(R.OPAQUE_CALL, cls, "what __subclasshook__ returned")
    if answer.obj is not NotImplemented:
        return bool(answer.obj)
    if cls.obj in of.obj.__mro__:
        return True
    registered = [*(one() for one in DUMP(cls.obj)[0]), *s.trace.cache.get(REGISTERED, {}).get(cls.obj, ())]
    if any(is_subclass(s, of, Const(one)) for one in registered if one is not None):
        return True
    if type_lookup(s, cls.obj, "__subclasses__") is MISSING:
        return any(is_subclass(s, of, one) for one in subclasses(s, cls))
    found = s.force(s.call(s.getattr(cls, "__subclasses__")))
    if not issubclass(found.cls, list):
        return s.raise_error(TypeError, "__subclasses__() must return a list")
    return any(is_subclass(s, of, one) for one in s.unpack(found))


def subclasses(s: Services, cls: Const) -> list[Value]:
    """The subclasses of a class that this program has: stand-ins of other captures are nobody's."""
    return [Const(one) for one in type.__subclasses__(cls.obj) if one not in STAND_INS or one in s.trace.classes]


def _real(s: Services, function: Any, cls: type, of: type) -> Value:
    try:
        answer = function(cls, of)
        note_relation(s, cls, of, answer)
        return bool_const(answer)
    except Exception as error:  # noqa: BLE001 - hooks written in Python may raise anything
        return s.unsupported(R.OPAQUE_CALL, function, f"{type(error).__name__}: {error}")


@handler(ABC_INSTANCECHECK)
def instancecheck(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`ABCMeta.__instancecheck__`: the object's `__class__` is asked for, then its type."""
    cls = _class(s, args[0], "isinstance() arg 2 must be a class")
    value = s.force(args[1])
    claimed = s.force(s.getattr(value, "__class__"))
    check = s.getattr(cls, "__subclasscheck__")
    if s.truth(s.call(check, [claimed])):
        return TRUE
    same = isinstance(claimed, Const) and claimed.obj is value.cls
    return FALSE if same else bool_const(s.truth(s.call(check, [Const(value.cls)])))


@handler(ABC_REGISTER)
def register(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`ABCMeta.register`: only of a class that is captured itself; it cannot be undone."""
    cls, of = s.force(args[0]), _class(s, args[1], "Can only register classes")
    if not isinstance(cls, Const) or cls.obj not in s.trace.classes:
        return s.unsupported(R.OPAQUE_CALL, ABC_REGISTER, "with a class that exists")
    if is_subclass(s, of, cls):
        return of
    if is_subclass(s, cls, of):
        return s.raise_error(RuntimeError, "Refusing to create an inheritance cycle")
    registry = s.trace.cache.setdefault(REGISTERED, {})
    s.trace.trail.put(registry, cls.obj, (*registry.get(cls.obj, ()), of.obj))
    known = s.trace.cache.get("abstract", {})
    for key in [key for key, found in known.items() if found is FALSE]:
        del known[key]
    act(s, cls, ABC_REGISTER, of)
    return of


@handler(vars(object)["__subclasshook__"], object.__subclasshook__)
def subclasshook(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """What classes without a hook of their own answer."""
    return Const(NotImplemented)


@handler(type.__subclasses__)
def subclasses_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The list of the subclasses of a captured class."""
    cls = s.force(args[0])
    if len(args) != 1 or kwargs or not isinstance(cls, Const) or cls.obj not in s.trace.classes:
        return s.unsupported(R.OPAQUE_CALL, type.__subclasses__)
    return s.wrap(subclasses(s, cls))


@handler(type.mro)
def mro(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A new list of the resolution order."""
    cls = s.force(args[0])
    if len(args) != 1 or kwargs or not isinstance(cls, Const) or not issubclass(type(cls.obj), type):
        return s.unsupported(R.OPAQUE_CALL, type.mro)
    return s.wrap(list(cls.obj.__mro__))
