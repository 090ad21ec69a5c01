"""`type.__new__`: makes the stand-in, and runs the hooks of class creation symbolically, in CPython's order."""

from __future__ import annotations

import types
from typing import Any

from framejit.core import classes
from framejit.core.classes import ClassRecipe, Misfit, make_stand_in, own_attribute
from framejit.core.errors import Raised
from framejit.core.heap import MISSING
from framejit.core.services import Pending, Services
from framejit.core.value import NONE, Const, Pack, Ref, Value
from framejit.objects import exception, function
from framejit.objects.dict_ import full, lookup
from framejit.objects.fold import inert
from framejit.objects.lineage import class_of
from framejit.objects.object_ import StandIn, bind, stood_for, super_attribute, type_lookup
from framejit.objects.stand_in import made_of, stand_in
from framejit.objects.type_ import call_class
from framejit.reasons import R
from framejit.rules.registry import handler

CLASS_CELL, SLOTS, MODULE, QUALNAME = "__classcell__", "__slots__", "__module__", "__qualname__"
MISFIT = "metaclass conflict: the metaclass of a derived class must be a (non-strict) subclass of the metaclasses of all its bases"
NEW = type.__dict__["__new__"]


class _Unnamed:
    def __set_name__(self, owner: type, name: str) -> None:
        raise ValueError(name)


def _wraps() -> bool:
    """Whether this Python makes a RuntimeError of what `__set_name__` raises, instead of adding a note."""
    try:
        type("probe", (), {"attribute": _Unnamed()})
    except RuntimeError:
        return True
    except ValueError:
        return False
    raise AssertionError("__set_name__ was not called")


WRAPS = _wraps()


def winner(s: Services, meta: type, kinds: list[type]) -> type:
    """The most derived of the metaclass and the classes of the bases."""
    for kind in kinds:
        if issubclass(kind, meta):
            meta = kind
        elif not issubclass(meta, kind):
            s.raise_error(TypeError, MISFIT)
    return meta


@handler(type.__new__)
def type_new(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`type.__new__(metaclass, name, bases, namespace, **keywords of __init_subclass__)`."""
    given = [s.force(arg) for arg in args]
    if not given or not isinstance(given[0], Const) or not isinstance(given[0].obj, type) or not issubclass(given[0].obj, type):
        return s.unsupported(R.BUILD_CLASS, None, "arguments of type.__new__")
    wanted = zip(given[1:], (str, tuple, dict))
    if len(given) != 4 or any(not issubclass(value.cls, kind) for value, kind in wanted):
        return _wrong_arguments(s, given[1:])
    meta, name, bases, namespace = given
    if not isinstance(name, Const) or not isinstance(namespace, Ref):
        return s.unsupported(R.BUILD_CLASS, None, "arguments of type.__new__")
    parents = [s.force(base) for base in s.unpack(bases)]
    real_bases: list[type] = []
    for base in parents:
        if not isinstance(base, Const) or not issubclass(type(base.obj), type):
            if s.type_lookup(base.cls, "__mro_entries__") is not MISSING:
                s.raise_error(TypeError, "type() doesn't support MRO entry resolution; use types.new_class()")
            return s.unsupported(R.BUILD_CLASS, base, "a base that is no class")
        real_bases.append(base.obj)
    kind = winner(s, s.constant(meta), list(map(type, real_bases)))
    if kind is not s.constant(meta) and (new := type_lookup(s, kind, "__new__")) is not NEW:
        return s.call(stood_for(s, new.__func__ if isinstance(new, staticmethod) else new), [Const(kind), *args[1:]], kwargs)
    return Creation(s, kind, name, parents, real_bases, full(s, namespace)).run(kwargs)


def _wrong_arguments(s: Services, given: list[Value]) -> Value:
    plain: dict[type, Any] = {str: "", tuple: (), dict: {}, int: 0, list: [], type(None): None}
    try:
        type.__new__(type, *[plain[value.cls] if value.cls in plain else type(value.cls.__name__, (), {})() for value in given])
    except TypeError as error:
        return s.raise_error(TypeError, *error.args)
    return s.unsupported(R.BUILD_CLASS, None, "arguments of type.__new__")


class Creation:
    """One call of `type.__new__`."""

    def __init__(self, s: Services, meta: type, name: Const, bases: list[Value], real_bases: list[type], entries: dict[Any, Any]):
        self.s, self.meta, self.name, self.bases, self.real_bases = s, meta, name, bases, real_bases
        self.entries: dict[str, Value] = {inert(s, key): s.force(value) for key, value in entries.values()}
        self.later: list[tuple[Any, ...]] = []

    def run(self, kwargs: dict[str, Value]) -> Value:
        """The new class, as a constant that stands for it."""
        s, meta = self.s, self.meta
        if type_lookup(s, meta, "mro") is not type.__dict__["mro"]:
            return s.unsupported(R.BUILD_CLASS, meta, "a metaclass with its own mro")
        if any(type_lookup(s, meta, name) is not getattr(type, name) for name in ("__eq__", "__hash__")):
            return s.unsupported(R.BUILD_CLASS, meta, "a metaclass with its own __eq__")
        cell = self._cell()
        if MODULE not in self.entries:
            module = lookup(s, s.frames[-1].globals, "__name__")  # type: ignore[attr-defined]
            if module is not MISSING:
                self.entries[MODULE] = s.force(module)
        real = {key: stand_in(s, value) for key, value in self.entries.items()}
        namespace = [(Const(key), value) for key, value in self.entries.items()]
        if SLOTS in self.entries:
            real[SLOTS] = self._slots()
        try:
            cls, hooked = make_stand_in(meta, self.name.obj, tuple(self.real_bases), real)
        except (TypeError, ValueError) as error:
            return s.raise_real(error)
        except Misfit:
            return s.unsupported(R.BUILD_CLASS, None, "the layout of a base with __init_subclass__")
        s.trace.cache.setdefault("stand_ins", []).append(cls)
        made = self._record(cls, hooked, real, [self._at_creation(key, value) for key, value in namespace])
        if cell is not None:
            s.heap.set(cell, function.CONTENTS, made)
        for key, value in namespace:
            self._name(made, key, value)
        s.call(s.finish(super_attribute(s, Pack(super, (made, made, made)), "__init_subclass__")), [], kwargs)
        return made

    def _cell(self) -> Ref | None:
        cell = self.entries.pop(CLASS_CELL, None)
        if cell is None:
            return None
        if not isinstance(cell, Ref) or cell.cls is not types.CellType:
            self.s.raise_error(TypeError, f"type.__new__() {CLASS_CELL} must be a nonlocal cell, not <class '{cell.cls.__name__}'>")
        return cell

    def _slots(self) -> Any:
        """The names of the slots, constants; the class keeps what was given."""
        s, given = self.s, self.entries[SLOTS]
        if s.is_constant(given):
            return s.constant(given)
        names = tuple(s.constant(item) for item in s.unpack(given))
        self.entries[SLOTS] = s.wrap(names)
        return names

    def _at_creation(self, key: Const, value: Value) -> tuple[Const, Value]:
        """What the exit's `type.__new__` is given: nothing that it would call back, which is put in its place right afterwards."""
        if key.obj == SLOTS and self.entries[SLOTS] is not value:
            self.later.append((type.__setattr__, key, value))
            return key, self.entries[SLOTS]
        hook = self.s.type_lookup(value.cls, "__set_name__")
        if hook is MISSING or value.cls is property:
            return key, value
        self.later.append((type.__setattr__, key, value))
        return key, NONE

    def _record(self, cls: type, hooked: bool, real: dict[str, Any], namespace: list[tuple[Const, Value]]) -> Const:
        s, trace, made = self.s, self.s.trace, Const(cls)
        fields = {
            classes.META: s.wrap(self.meta), classes.BASES: tuple(self.bases), classes.NAMESPACE: tuple(namespace),
            classes.LATER: tuple((function, made, *args) for function, *args in self.later),
        }  # fmt: skip
        ref = s.heap.new(type, fields)
        ref.real = cls
        trace.trail.put(trace.classes, cls, ClassRecipe(self.name.obj, ref, hooked, frozenset(vars(cls)), s.steps))  # type: ignore[attr-defined]
        if SLOTS in real:
            original = next((args[1] for _, *args in self.later if args[0].obj == SLOTS), None)
            if original is not None:
                type.__setattr__(cls, SLOTS, StandIn(original))
        for name, found in vars(cls).items():
            if name not in real or real[name] is not found:
                if type(found) in (classmethod, staticmethod, types.MemberDescriptorType, types.GetSetDescriptorType):
                    made_of(s, found, own_attribute, (made, Const(name)))
        return made

    def _name(self, cls: Const, key: Const, value: Value) -> None:
        """Call `__set_name__` of what is in the namespace."""
        s = self.s
        hook = type_lookup(s, value.cls, "__set_name__")
        if hook is MISSING or value.cls is property:
            return
        try:
            s.call(bind(s, s.trace.roots.const(hook), hook, value), [cls, key])
        except Raised as raised:
            text = f"Error calling __set_name__ on '{value.cls.__name__}' instance {key.obj!r} in '{cls.obj.__name__}'"
            if not WRAPS:
                s.call(s.getattr(raised.value, "add_note"), [Const(text)])
                raise
            cause = s.force(raised.value)
            error = s.force(s.call(Const(RuntimeError), [Const(text)]))
            s.setattr(error, "__cause__", cause)
            s.setattr(error, "__context__", cause)
            raise Raised(exception.note_raised(s, error, cause)) from None


@handler(type)
def type_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`type(object)`, or `type(name, bases, namespace, **keywords)`."""
    if len(args) == 1 and not kwargs:
        return class_of(s, s.force(args[0]))
    if len(args) != 3:
        return s.raise_error(TypeError, "type() takes 1 or 3 arguments")
    made = s.force(s.finish(type_new(s, [Const(type), *args], kwargs)))
    if not isinstance(made, Const) or not issubclass(type(made.obj), type):
        return made
    init = type_lookup(s, type(made.obj), "__init__")
    if isinstance(init, types.FunctionType):
        s.call(bind(s, s.trace.roots.const(init), init, made), args, kwargs)
    return made


@handler(type.__init__)
def type_init(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`type.__init__`: looks at the number of its arguments."""
    if kwargs and len(args) == 2:
        return s.raise_error(TypeError, "type.__init__() takes no keyword arguments")
    if len(args) not in (2, 4):
        return s.raise_error(TypeError, "type.__init__() takes 1 or 3 arguments")
    return NONE


@handler(type.__call__)
def type_call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value | Pending:
    """What a metaclass's `__call__` ends in: `__new__` and `__init__`."""
    target = s.force(args[0]) if args else NONE
    if not isinstance(target, Const) or not issubclass(type(target.obj), type):
        return s.unsupported(R.OPAQUE_CALL, type.__call__, "arguments")
    if target.obj is type:
        return type_(s, args[1:], kwargs)
    return call_class(s, target, args[1:], kwargs, plain=True)


@handler(type.__dict__["__prepare__"])
def prepare(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`type.__prepare__`: a new dict."""
    return s.heap.new(dict, {s.heap.ITEMS: {}})
