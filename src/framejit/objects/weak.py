"""Weak references: to objects that live for as long as something in the captured program holds them.

Whether an object born in the capture lives is found out by walking from the frames (`deaths`). Where a real object may have lost
its last owner the region ends: CPython counts references itself.
"""

from __future__ import annotations

import _weakref
import types
import weakref
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

from framejit.core.path import CALLED, Called
from framejit.core.path import REFERENT as TARGET
from framejit.core.services import Pending, Services
from framejit.core.value import NONE, TRUE, Const, Node, Pack, Ref, Value, bool_const
from framejit.objects import deaths, reach
from framejit.objects.deaths import CALLBACK, DEAD
from framejit.objects.dict_ import UserKey, delete, hash_key, key_in, lookup
from framejit.objects.exact import type_name
from framejit.objects.model import ByType, model
from framejit.objects.object_ import MISSING
from framejit.objects.reach import REFERENT
from framejit.objects.rebuild import REBUILDERS
from framejit.objects.type_ import new_instance
from framejit.reasons import R
from framejit.rules.registry import handler

Reference = weakref.ReferenceType
HASHED = ("hashed",)


class Corpse:
    """What dead weak references referred to."""

    known: int | None = None

    def __hash__(self) -> int:
        return super().__hash__() if self.known is None else self.known


def make_reference(referent: Any, callback: Any, cls: Any = Reference) -> Any:
    """A real weak reference."""
    return Reference.__new__(cls, referent) if callback is None else Reference.__new__(cls, referent, callback)


def make_dead(cls: Any, known: int | None = None) -> Any:
    """A real weak reference to what is dead, with the hash that it remembers."""
    corpse = Corpse()
    corpse.known = known
    made = Reference.__new__(cls, corpse)
    if known is not None:
        hash(made)
    return made


def remember_hash(ref: Any, referent: Any) -> None:
    """Have a real reference remember the hash of what it refers to, which lives till then."""
    Reference.__hash__(ref)


REBUILDERS[Reference] = lambda get: (make_reference, [get("referent"), get("callback")])


@model(Reference)
class WeakReferenceModel(ByType):
    """A reference that exists is asked again by each call for what it refers to."""

    __slots__ = ()

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        own = s.type_lookup(cls, "__init__") is not Reference.__init__
        if (kwargs and not own) or not 1 <= len(args) <= (3 if own else 2):
            return _refused(s, lambda: _try(cls, len(args), kwargs))
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
            refused = _refused(s, lambda: make_dead(Reference)(*args, **kwargs))
            return s.unsupported(R.OPAQUE_CALL, v, "arguments") if refused is None else refused
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
        for name, (key, _) in (among or {}).items():
            if s.force(key) is v:
                return name
        if found is None:
            self.hashed_as(s, v)
            return Reference, v  # equal to itself alone
        others = {}
        keys = [(name, key, item) for name, (key, item) in (among or {}).items() if type(name) is tuple and name[:1] == (Reference,)]
        known = reach.reached(s, _referents(s, (key for _, key, _ in keys)))
        for name, key, item in keys:
            if (other := referent(s, key, known)) is not None:
                by_code = isinstance(s.type_lookup(found.cls, "__eq__"), types.FunctionType)
                if other is found and by_code and key is not v and s.truth(s.compare("==", found, other)):
                    return name  # two references to one object are equal if it is equal to itself
                others[name[1]] = (other, item)
        own = hash_key(s, found, others)
        _remember(s, v, own)
        if (Reference, own) in (among or {}) and own not in others:
            return s.unsupported(R.OPAQUE_OPERATION, v, "a dead weak reference to an equal object is among the keys")
        return Reference, own

    def hashed_as(self, s: Services, v: Value) -> Any:
        """The object whose hash a reference has, or that hash: it remembers it from now on."""
        found = referent(s, v)
        if not isinstance(v, Ref) or not v.virtual:
            return s.unsupported(R.OPAQUE_OPERATION, v, "hash of a weak reference")
        known = s.heap.get(v, HASHED)
        if known is None:
            if found is None:
                return s.raise_error(TypeError, "weak object has gone away")
            _remember(s, v, hash_key(s, found))
        known = s.constant(s.heap.get(v, HASHED))
        return s.heap.get(v, REFERENT) if known is True else known


def _try(cls: type, count: int, names: Iterable[str]) -> None:
    """Make a reference of so many arguments."""
    make: Any = Reference
    if cls is Reference:
        make(*[Corpse()] * count, **dict.fromkeys(names))


def _refused(s: Services, use: Callable[[], Any]) -> Value | None:
    """The TypeError of a call with wrong arguments."""
    try:
        use()
    except TypeError as error:
        return s.raise_error(TypeError, *error.args)
    return None


def _remember(s: Services, v: Value, key: Any) -> None:
    """A reference has been hashed: where user code did it, what it gave is kept."""
    if isinstance(v, Ref) and v.virtual and s.heap.get(v, HASHED) is None:
        s.heap.set(v, HASHED, Const(key.hash) if isinstance(key, UserKey) else TRUE)
        s.trace.trail.put(s.trace.cache, (HASHED, v), key)


def new_reference(s: Services, cls: type, of: Value, callback: Value) -> Value:
    """A weak reference; one without a callback is the same for all who ask."""
    if not of.cls.__weakrefoffset__:
        return s.raise_error(TypeError, f"cannot create weak reference to '{type_name(of.cls)}' object")
    if isinstance(of, Node) and of.path is None:
        return s.unsupported(R.OPAQUE_CALL, cls, "to a tensor of the graph")
    is_plain = cls is Reference and callback.cls is types.NoneType
    key = (REFERENT, id(of.obj) if isinstance(of, Const) else of)
    if is_plain and (known := s.trace.cache.get(key)) is not None:
        return known
    real = of.obj if isinstance(of, Const) else getattr(of, "real", None)
    if isinstance(of, Const) and of.cls is not types.FunctionType and issubclass(type(real), type) and real in s.trace.classes:
        real = None  # stands for a class that does not exist yet
    known_refs = weakref.getweakrefs(real) if is_plain and real is not None else []
    existing = [one for one in known_refs if type(one) is Reference and one.__callback__ is None]
    if existing:
        path = of.path or s.trace.roots.const(real)  # type: ignore[attr-defined]
        return s.force(s.input(path.to(CALLED, Called(Reference, (), f"weakref({path})")), existing[0]))
    ref = new_instance(s, cls, {REFERENT: of, CALLBACK: callback})
    if is_plain:
        s.trace.trail.put(s.trace.cache, key, ref)
    enter(s, ref, of, 0 if is_plain else sum(is_basic(s, one) for one in deaths.references(s, of)[:2]))
    return ref


def enter(s: Services, ref: Ref, of: Value, place: int) -> None:
    """Remember a new weak reference or proxy."""
    s.trace.trail.put(s.trace.cache, reach.KEEP, True)
    deaths.refer(s, ref, of, place)
    if not isinstance(of, Const) and s.force(s.heap.get(ref, CALLBACK)).cls is not types.NoneType:
        deaths.watch(s, ref, of)


def is_basic(s: Services, ref: Ref) -> bool:
    """Whether a reference or proxy stands at the head of CPython's list: those without a callback that all who ask share."""
    return ref.cls in BASIC and s.force(s.heap.get(ref, CALLBACK)).cls is types.NoneType and s.heap.get(ref, DEAD) is None


BASIC = (Reference, *weakref.ProxyTypes)


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


def _referents(s: Services, refs: Iterable[Value]) -> set[int]:
    """The identities of the objects that references of the capture refer to."""
    made = [ref for ref in map(s.force, refs) if isinstance(ref, Ref) and ref.virtual and s.heap.get(ref, DEAD) is None]
    return {id(s.heap.get(ref, REFERENT)) for ref in made}


def referent(s: Services, v: Value, known: Container[int] = ()) -> Value | None:
    """What a reference refers to, None if that is dead."""
    v = s.force(v)
    if isinstance(v, Const):
        return s.unsupported(R.OPAQUE_CALL, v, "a weak reference that is a constant")
    if not v.virtual:  # type: ignore[attr-defined]
        return _existing(s, v)  # type: ignore[arg-type]
    if s.heap.get(v, DEAD) is not None:  # type: ignore[arg-type]
        return None
    of = s.heap.get(v, REFERENT)  # type: ignore[arg-type]
    lives = id(of) in known or deaths.is_alive(s, of)
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
    if deaths.is_alive(s, found) is None:
        return s.unsupported(R.OPAQUE_OPERATION, v, "whether its referent still lives")
    return found


# -- what the module's functions tell -----------------------------------------------------------------------------------


def living(s: Services, of: Value) -> list[Value]:
    """The weak references and proxies to an object, in CPython's order."""
    if not isinstance(of, (Ref, Pack)) or of.path is not None or deaths.is_hidden(s):
        return s.unsupported(R.OPAQUE_CALL, of, "all weak references to an object that exists")
    known = [ref for ref in deaths.references(s, of) if s.heap.get(ref, DEAD) is None]
    found = deaths.living(s, {*map(id, known)})
    return [ref for ref in known if id(ref) in found]


def _referred(s: Services, args: list[Value], kwargs: dict[str, Value], function: Any) -> list[Value]:
    if kwargs or len(args) != 1:
        return s.unsupported(R.OPAQUE_CALL, function, "arguments")
    of = s.force(args[0])
    return living(s, of) if of.cls.__weakrefoffset__ else []


@handler(weakref.getweakrefcount)
def getweakrefcount(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Const(len(_referred(s, args, kwargs, weakref.getweakrefcount)))


@handler(weakref.getweakrefs)
def getweakrefs(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return s.heap.new(list, {s.heap.ITEMS: tuple(_referred(s, args, kwargs, weakref.getweakrefs))})


@handler(_weakref._remove_dead_weakref)  # type: ignore[attr-defined]
def remove_dead_weakref(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Deletes an entry of a dict if its value is a weak reference to what is dead."""
    table = s.force(args[0]) if len(args) == 2 and not kwargs else NONE
    if not isinstance(table, Ref) or table.cls is not dict:
        return s.unsupported(R.OPAQUE_CALL, _weakref._remove_dead_weakref, "arguments")  # type: ignore[attr-defined]
    name = key_in(s, table, args[1])
    found = lookup(s, table, name)
    if found is MISSING:
        return NONE
    found = s.force(found)
    if not issubclass(found.cls, Reference):
        return s.raise_error(TypeError, "not a weakref")
    if referent(s, found) is None:
        delete(s, table, name)
    return NONE
