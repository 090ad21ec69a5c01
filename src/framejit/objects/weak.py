"""Weak references: to objects that live for as long as something in the captured program holds them.

Whether an object born in the capture lives is found out by walking from the frames. Where a real object may have lost its last
owner, or a callback may have to run, the region ends: CPython counts references itself.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Sequence
from typing import Any

from framejit.core.path import CALLED, Called, Path
from framejit.core.path import REFERENT as TARGET
from framejit.core.services import Pending, Services
from framejit.core.value import NONE, TRUE, Const, Node, Ref, Value, bool_const
from framejit.objects import reach
from framejit.objects.dict_ import hash_key
from framejit.objects.exact import type_name
from framejit.objects.model import Model, model
from framejit.objects.reach import REFERENT
from framejit.objects.rebuild import REBUILDERS
from framejit.objects.type_ import new_instance
from framejit.reasons import R
from framejit.rules.registry import handler

Reference = weakref.ReferenceType
CALLBACK, HASHED = ("callback",), ("hashed",)
WATCHED = "referents of weak references"  # in the cache of the trace: reference -> its referent


def make_reference(referent: Any, callback: Any, cls: Any = Reference) -> Any:
    """A real weak reference."""
    return Reference.__new__(cls, referent) if callback is None else Reference.__new__(cls, referent, callback)


REBUILDERS[Reference] = lambda get: (make_reference, [get("referent"), get("callback")])


@model(Reference)
class WeakReferenceModel(Model):
    """A reference that exists is asked again by each call for what it refers to."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        s.guard(path, "TYPE", type(real))
        ref = Ref(type(real), path, real)
        s.trace.remember(real, ref)
        return ref

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        own = s.type_lookup(cls, "__init__") is not Reference.__init__
        if (kwargs and not own) or not 1 <= len(args) <= (3 if own else 2):
            return None
        return new_reference(s, cls, s.force(args[0]), s.force(args[1]) if len(args) > 1 else NONE)

    def initialise(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> bool:
        return True

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        if name == "__callback__" and isinstance(v, Ref) and v.virtual:
            return s.heap.get(v, CALLBACK) if referent(s, v) is not None else NONE
        return None

    def truth(self, s: Services, v: Value) -> bool | None:
        return True

    def call(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | Pending:
        if args or kwargs:
            return s.unsupported(R.OPAQUE_CALL, v, "arguments")
        found = referent(s, v)
        return NONE if found is None else found

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        other = s.force(other)
        if symbol not in ("==", "!=") or not issubclass(other.cls, Reference):
            return None
        one, two = referent(s, v), referent(s, other)
        if one is None or two is None:
            return bool_const(s.is_same(v, other) == (symbol == "=="))
        return s.compare(symbol, one, two)

    def hash_key(self, s: Services, v: Value) -> Any:
        return self.key_among(s, v, None)

    def key_among(self, s: Services, v: Value, among: Any) -> Any:
        found = referent(s, v)
        if found is None:
            return s.unsupported(R.OPAQUE_OPERATION, v, "hash of a dead weak reference")
        if isinstance(v, Ref) and v.virtual:
            s.heap.set(v, HASHED, TRUE)
        others = {}
        for name, (key, item) in (among or {}).items():
            if type(name) is tuple and name[:1] == (Reference,) and (other := referent(s, key)) is not None:
                by_code = isinstance(s.type_lookup(found.cls, "__eq__"), types.FunctionType)
                if other is found and by_code and key is not v and s.truth(s.compare("==", found, other)):
                    return name  # two references to one object are equal if it is equal to itself
                others[name[1]] = (other, item)
        return Reference, hash_key(s, found, others)

    def hashed_as(self, s: Services, v: Value) -> Value:
        """The object whose hash a reference has, which it remembers from now on."""
        found = referent(s, v)
        if found is None or not isinstance(v, Ref) or not v.virtual or isinstance(s.type_lookup(found.cls, "__hash__"), types.FunctionType):
            return s.unsupported(R.OPAQUE_OPERATION, v, "hash of a weak reference")
        s.heap.set(v, HASHED, TRUE)
        return found


def new_reference(s: Services, cls: type, of: Value, callback: Value) -> Value:
    """A weak reference; one without a callback is the same for all who ask."""
    if not of.cls.__weakrefoffset__:
        return s.raise_error(TypeError, f"cannot create weak reference to '{type_name(of.cls)}' object")
    if isinstance(of, Node) or (isinstance(of, Ref) and of.cls is types.GeneratorType):
        return s.unsupported(R.OPAQUE_CALL, cls, "to a tensor or generator")
    plain = cls is Reference and callback.cls is types.NoneType
    key = (REFERENT, id(of.obj) if isinstance(of, Const) else of)
    if plain and (known := s.trace.cache.get(key)) is not None:
        return known
    real = of.obj if isinstance(of, Const) else getattr(of, "real", None)
    if isinstance(of, Const) and of.cls is not types.FunctionType and issubclass(type(real), type) and real in s.trace.classes:
        real = None  # stands for a class that does not exist yet
    known_refs = weakref.getweakrefs(real) if plain and real is not None else []
    existing = [one for one in known_refs if type(one) is Reference and one.__callback__ is None]
    if existing:
        path = of.path or s.trace.roots.const(real)  # type: ignore[attr-defined]
        return s.force(s.input(path.to(CALLED, Called(Reference, (), f"weakref({path})")), existing[0]))
    ref = new_instance(s, cls, {REFERENT: of, CALLBACK: callback})
    s.trace.trail.put(s.trace.cache, reach.KEEP, True)
    if plain:
        s.trace.trail.put(s.trace.cache, key, ref)
    if callback.cls is not types.NoneType:
        watched = s.trace.cache.get(WATCHED)
        s.trace.trail.put(s.trace.cache, WATCHED, {**(watched or {}), ref: of})
    return ref


@handler(Reference.__new__)
def reference_new(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    cls = s.constant(args[0]) if args else None
    made = model_new(s, cls, args[1:], kwargs) if isinstance(cls, type) and issubclass(cls, Reference) else None
    return s.unsupported(R.OPAQUE_CALL, Reference.__new__) if made is None else made


def model_new(s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
    """A bare weak reference of a class."""
    return WeakReferenceModel().new(s, cls, args, kwargs)


@handler(Reference.__init__)
def reference_init(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if kwargs or not 2 <= len(args) <= 3:
        return s.unsupported(R.OPAQUE_CALL, Reference.__init__, "arguments")
    return NONE


def _slot(name: str) -> Any:
    """The handler of a special method that is called by name."""

    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Any:
        v = s.force(args[0])
        slots = WeakReferenceModel()
        if name == "__call__":
            return slots.call(s, v, args[1:], kwargs)
        if name == "__hash__":
            return s.hash(slots.hashed_as(s, v))
        found = slots.compare(s, "==" if name == "__eq__" else "!=", v, args[1])
        return Const(NotImplemented) if found is None else found

    return call


for _name in ("__call__", "__hash__", "__eq__", "__ne__"):
    handler(vars(Reference)[_name])(_slot(_name))


def referent(s: Services, v: Value) -> Value | None:
    """What a reference refers to, None if that is dead."""
    v = s.force(v)
    if isinstance(v, Const):
        return s.unsupported(R.OPAQUE_CALL, v, "a weak reference that is a constant")
    if not v.virtual:  # type: ignore[attr-defined]
        return _existing(s, v)  # type: ignore[arg-type]
    of = s.heap.get(v, REFERENT)  # type: ignore[arg-type]
    lives = is_alive(s, of)
    if lives is None:
        return s.unsupported(R.OPAQUE_OPERATION, v, "whether its referent still lives")
    return of if lives else None


def _existing(s: Services, v: Ref) -> Value | None:
    """What a reference that exists refers to."""
    found = s.heap.get(v, REFERENT)
    if found is None:
        assert v.path is not None
        found = s.heap.load(v, REFERENT, s.input(v.path.to(TARGET), Reference.__call__(v.real)))
    found = s.force(found)
    if s.is_same(found, NONE):
        return None
    if is_alive(s, found) is None:
        return s.unsupported(R.OPAQUE_OPERATION, v, "whether its referent still lives")
    return found


# -- who lives ----------------------------------------------------------------------------------------------------------


def is_alive(s: Services, of: Value) -> bool | None:
    """Whether something holds the object; None where only CPython knows."""
    if isinstance(of, Const):
        return True
    found = reach.reached(s)
    if id(of) in found:
        return True
    if getattr(of, "path", None) is not None:
        return None if _may_have_died(s, getattr(of, "real", None)) else True
    if s.base or any(_mentions(table, of) for ref, table in s.heap.fields.items() if not issubclass(ref.cls, Reference)):  # type: ignore[attr-defined]
        return None
    return False


def must_break(s: Services) -> bool:
    """Whether the instruction that was just done may have taken the last reference to what a callback waits for."""
    watched = s.trace.cache.get(WATCHED) or {}
    if reach.too_long(s):
        return True
    found = reach.reached(s)
    return any(id(ref) in found and id(of) not in found and not is_alive(s, of) for ref, of in watched.items() if not isinstance(of, Const))


def _may_have_died(s: Services, real: Any) -> bool:
    """Whether the region may have dropped a real object, or what held it."""
    dropped = s.trace.flags.get("dropped") or any(s.heap.dirty())
    return bool(dropped) and not any(getattr(value, "real", None) is real for value in reach.values(s))


def _mentions(table: dict[Any, Any], of: Value) -> bool:
    return any(part is of for field in table.values() for part in reach.parts(field))
