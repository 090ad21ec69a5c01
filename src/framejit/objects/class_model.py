"""Classes as values: what is read of them, and what is written to those that the captured code defined."""

from __future__ import annotations

import enum
import types
from collections.abc import Callable
from typing import Any

from framejit.core.classes import LATER, set_bases
from framejit.core.heap import MISSING
from framejit.core.path import Path
from framejit.core.services import Pending, Services
from framejit.core.value import NONE, Const, Pack, Ref, Value
from framejit.objects import dict_view
from framejit.objects.exact import defines
from framejit.objects.lineage import note_kind
from framejit.objects.model import Model, model
from framejit.objects.object_ import HEAP_TYPE, IMMUTABLE_TYPE, OVERRIDES, StandIn, bind_object, own_type_attribute
from framejit.objects.own_dict import class_dict, own_attribute
from framejit.objects.rebuild import REBUILDERS
from framejit.objects.stand_in import stand_in
from framejit.reasons import R
from framejit.rules.registry import handler

TEXTS = ("__name__", "__qualname__")
NEVER = ("__mro__", "__class__", "__dict__", "__base__", "__flags__")
NOTHING = object()


@model(type)
class TypeModel(Model):
    """Classes are constants."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        if type(real).__hash__ is None:
            return s.unsupported(R.UNKNOWN_TYPE, None, "a class that cannot be hashed")
        if real in s.trace.classes:
            return Const(real)
        s.guard(path, "IS", real)
        note_kind(s, path, real)
        return Const(real, path)

    def hash_key(self, s: Services, v: Value) -> Any:
        return s.constant(v)

    def binary(self, s: Services, symbol: str, left: Value, right: Value, reflected: bool) -> Value | None:
        if symbol == "|" and s.is_constant(left) and s.is_constant(right):
            one, other = s.constant(left), s.constant(right)
            union = type.__ror__(other, one) if reflected else type.__or__(one, other)
            return None if union is NotImplemented else Const(union)
        return None

    def iter(self, s: Services, v: Value) -> Value:
        cls = s.constant(v)
        if isinstance(cls, enum.EnumMeta):
            return s.iter(Pack(tuple, tuple(map(Const, cls))))
        return super().iter(s, v)

    def getitem(self, s: Services, v: Value, key: Value) -> Value:
        cls = s.constant(v)
        if isinstance(cls, enum.EnumMeta):
            name = s.constant(key)
            return Const(cls[name]) if name in cls.__members__ else s.raise_error(KeyError, name)
        return super().getitem(s, v, key)

    def len(self, s: Services, v: Value) -> Value | None:
        cls = s.constant(v)
        return Const(len(cls)) if isinstance(cls, enum.EnumMeta) else None

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | Pending | None:
        assert isinstance(v, Const)
        if name == "__dict__":
            return s.heap.new(types.MappingProxyType, {dict_view.SOURCE: v})
        if name == "__doc__" and v.obj in s.trace.classes:
            own = own_attribute(s, v, name)
            return NONE if own is None else bind_object(s, own, s.force(own).cls, NONE, v)
        if name == "__annotations__" and found is vars(type)["__annotations__"]:
            own = own_attribute(s, v, name)
            if own is None:
                if not v.obj.__flags__ & HEAP_TYPE:
                    return s.raise_error(AttributeError, f"type object '{v.obj.__name__}' has no attribute '__annotations__'")
                own = s.heap.new(dict, {s.heap.ITEMS: {}})
                write(s, v, name, own)
            return own
        return None

    def set_attribute(self, s: Services, v: Value, name: str, found: Any, new: Value | None) -> bool:
        if not isinstance(v, Const) or name in NEVER:
            return False
        if name == "__bases__":
            return new is not None and v.obj in s.trace.classes and _set_bases(s, v, new)
        write(s, v, name, new)
        return True


# -- writing ----------------------------------------------------------------------------------------------------------


def act(s: Services, cls: Const, function: Callable[..., Any], *args: Value) -> None:
    """Have the exit call this with the class, once that is made."""
    ref = s.trace.classes[cls.obj].ref
    s.heap.set(ref, LATER, (*s.heap.get(ref, LATER), (function, cls, *args)))


def _set_bases(s: Services, v: Const, new: Value) -> bool:
    """Other bases for a captured class."""
    new = s.force(new)
    if not isinstance(new, Pack) or not s.is_constant(new):
        return False
    cls, bases = v.obj, s.constant(new)
    before = cls.__bases__
    if bases == before:
        return True
    try:
        set_bases(cls, bases)
    except TypeError as error:
        s.raise_error(TypeError, *error.args)
    s.trace.trail.on_undo(lambda: set_bases(cls, before))
    s.trace.forget_type_attr(cls, None)
    act(s, v, set_bases, new)
    return True


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _may_be_written(cls: type) -> bool:
    return bool(cls.__flags__ & HEAP_TYPE) and not cls.__flags__ & IMMUTABLE_TYPE and not defines(cls, "__torch_function__")


def _override(s: Services, v: Const, name: str, new: Value | None) -> None:
    """A store to a class that exists: an effect, seen by what reads the attribute later on."""
    cls, trace = v.obj, s.trace
    if new is None and own_attribute(s, v, name) is None:
        _refuse(s, v, name, new)
    refs = trace.cache.setdefault("written classes", {})
    ref = refs.get(cls)
    if ref is None:
        ref = Ref(type, v.path or trace.roots.const(cls), cls)
        trace.trail.put(refs, cls, ref)
    field = ("attribute", name)
    if new is None and name not in vars(cls):
        s.heap.load(ref, field, MISSING)  # it came in this region and goes again
    s.heap.set(ref, field, MISSING if new is None else s.force(new))
    real = MISSING if new is None else _override_value(s, s.force(new))
    trace.trail.put(trace.cache.setdefault(OVERRIDES, {}), (cls, name), real)
    trace.forget_type_attr(cls, name)


def _override_value(s: Services, new: Value) -> Any:
    return StandIn(new) if isinstance(new, Ref) else stand_in(s, new)


def _refuse(s: Services, v: Const, name: str, new: Value | None) -> None:
    """Classes that exist are written to by CPython, unless they refuse it anyway."""
    cls = v.obj
    fixed = not cls.__flags__ & HEAP_TYPE or cls.__flags__ & IMMUTABLE_TYPE
    if fixed or (new is None and own_attribute(s, v, name) is None and not hasattr(type, name)):
        try:
            type.__delattr__(cls, name) if new is None else type.__setattr__(cls, name, None)
        except (AttributeError, TypeError) as error:
            s.raise_real(error)
    s.unsupported(R.STORE_TO_OPAQUE, v, f"attribute {name} of a class")


def write(s: Services, v: Const, name: str, new: Value | None) -> None:
    """`type.__setattr__`, or `type.__delattr__` (`new` is None), of a class that the captured code defined."""
    cls = v.obj
    if cls not in s.trace.classes:
        if _is_special(name) or not _may_be_written(cls):
            _refuse(s, v, name, new)
        _override(s, v, name, new)
        return
    real: Any = NOTHING
    if new is not None:
        new = s.force(new)
        real = s.constant(new) if name in TEXTS or name == "__abstractmethods__" else stand_in(s, new)
    before = dict(vars(cls))
    present = {text: type.__getattribute__(cls, text) for text in TEXTS}
    try:
        type.__delattr__(cls, name) if new is None else type.__setattr__(cls, name, real)
    except (AttributeError, TypeError, ValueError) as error:
        s.raise_real(error)
    s.trace.trail.on_undo(lambda: _restore(cls, name, before, present))
    s.trace.forget_type_attr(cls, name)
    _note(s, v, name, new)


def _note(s: Services, v: Const, name: str, new: Value | None) -> None:
    """For the exit: only the last value counts, at the place of the first, and what is deleted again was never there."""
    recipe, key = s.trace.classes[v.obj], Const(name)
    ref = recipe.ref
    later = s.heap.get(ref, LATER)
    places = [place for place, (_, _, *args) in enumerate(later) if args and isinstance(args[0], Const) and args[0].obj == name]
    last = places[-1] if places and later[places[-1]][0] in (type.__setattr__, type.__delattr__) else None
    if last is None or later[last][0] is type.__delattr__:
        act(s, v, *((type.__delattr__, key) if new is None else (type.__setattr__, key, new)))
    elif new is not None:
        s.heap.set(ref, LATER, (*later[:last], (type.__setattr__, v, key, new), *later[last + 1 :]))
    else:
        s.heap.set(ref, LATER, (*later[:last], *later[last + 1 :]))
        if len(places) == 1 and name in recipe.names:
            act(s, v, type.__delattr__, key)


def _restore(cls: type, name: str, before: dict[str, Any], texts: dict[str, str]) -> None:
    if name in texts:
        type.__setattr__(cls, name, texts[name])
    elif name not in before:
        if name in vars(cls):
            type.__delattr__(cls, name)
    elif name in vars(cls):
        type.__setattr__(cls, name, before[name])
    else:  # at its old place
        behind = [one for one in list(before)[list(before).index(name) :] if one not in ("__dict__", "__weakref__", "__doc__")]
        kept = {one: vars(cls)[one] for one in behind if one in vars(cls)}
        for one in kept:
            type.__delattr__(cls, one)
        for one, found in {name: before[name], **kept}.items():
            type.__setattr__(cls, one, found)


# -- handlers ---------------------------------------------------------------------------------------------------------


@handler(type.__setattr__)
def type_setattr(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """What a metaclass's `__setattr__` ends in."""
    s.generic_store(s.force(args[0]), s.constant(args[1]), args[2])  # type: ignore[attr-defined]
    return Const(None)


@handler(type.__delattr__)
def type_delattr(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """What a metaclass's `__delattr__` ends in."""
    s.generic_store(s.force(args[0]), s.constant(args[1]), None)  # type: ignore[attr-defined]
    return Const(None)


@handler(type.__getattribute__)
def type_getattribute(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value | Pending:
    """What a metaclass's `__getattribute__` ends in."""
    v = s.force(args[0])
    if len(args) != 2 or not isinstance(v, Const) or not issubclass(type(v.obj), type):
        return s.unsupported(R.OPAQUE_CALL, type.__getattribute__, "arguments")
    return own_type_attribute(s, v, s.constant(args[1]), hook=False)


REBUILDERS[types.MappingProxyType] = lambda get: (
    class_dict if isinstance(get("source"), Const) else types.MappingProxyType, [get("source")]
)  # fmt: skip
