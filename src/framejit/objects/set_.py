"""Sets and frozensets: a set is a dict from hash key to (value, TRUE) in the heap, a frozenset a Pack of its members."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from framejit.core.heap import Heap
from framejit.core.path import Path
from framejit.core.services import Services
from framejit.core.value import NONE, TRUE, Const, Pack, Ref, Value, bool_const
from framejit.objects.dict_ import hash_key, trusted
from framejit.objects.exact import ExactModel
from framejit.objects.method import method
from framejit.objects.model import model
from framejit.objects.protocol import next_or_none
from framejit.reasons import R

ITEMS = Heap.ITEMS
Members = dict[Any, tuple[Value, Any]]


def is_set(v: Value) -> bool:
    """Whether the value is a set or frozenset (of a subclass, too)."""
    return issubclass(v.cls, (set, frozenset))


def members(s: Services, v: Value) -> Members:
    """Hash key -> (member, TRUE); not to be changed."""
    v = s.force(v)
    if isinstance(v, Ref):
        found = s.heap.get(v, ITEMS)
        return s.heap.load(v, ITEMS, {}) if found is None else found
    return collect(s, v.items if isinstance(v, Pack) else [s.wrap(item) for item in s.constant(v)])


def collect(s: Services, values: Iterable[Value]) -> Members:
    """Members from values, the first of equal ones kept."""
    found: Members = {}
    for value in values:
        found.setdefault(hash_key(s, value, found), (value, TRUE))
    return found


def key_of(s: Services, entries: Members, item: Value) -> Any:
    """The hash key for `item`; a set as item stands for the frozenset of its members."""
    item = s.force(item)
    if isinstance(item, Ref) and issubclass(item.cls, set):
        return frozenset(members(s, item))
    return hash_key(s, item, entries)


def new_set(s: Services, entries: Members, cls: type = set) -> Value:
    """A set or frozenset with these members."""
    if issubclass(cls, frozenset):
        return Pack(cls, tuple(value for value, _ in entries.values()))
    return s.heap.new(cls, {ITEMS: dict(entries)})


def put(s: Services, v: Value, entries: Members) -> None:
    """Replace the members."""
    assert isinstance(v, Ref)
    members(s, v)
    s.heap.set(v, ITEMS, entries)


@model(set, frozenset)
class SetModel(ExactModel):
    """Sets and frozensets."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        kind = type(real)
        plain = set.__iter__ if issubclass(kind, set) else frozenset.__iter__
        if not all(map(trusted, plain(real))):
            s.unsupported(R.UNKNOWN_TYPE, real, "a set of objects")
        if kind is frozenset:
            s.guard(path, "EQ", real)
            return Pack(frozenset, tuple(map(Const, real)), path)
        s.guard(path, "TYPE", kind)
        s.guard(path, "LEN", len(real))
        s.guard(path, "PY", _SameOrder(tuple(plain(real))))
        entries = {item: (Const(item), TRUE) for item in plain(real)}
        if issubclass(kind, frozenset):
            return Pack(kind, tuple(value for value, _ in entries.values()), path)
        ref = Ref(kind, path, real)
        s.trace.remember(real, ref)
        s.heap.load(ref, ITEMS, entries)
        return ref

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        return s.heap.new(cls, {ITEMS: {}}) if issubclass(cls, set) else make_set(s, cls, args[0] if args else None)

    def len(self, s: Services, v: Value) -> Value | None:
        return Const(len(members(s, v)))

    def contains(self, s: Services, v: Value, item: Value) -> Value | None:
        entries = members(s, v)
        return bool_const(key_of(s, entries, item) in entries)

    def iter(self, s: Services, v: Value) -> Value:
        entries = members(s, v)
        order = real_order(s, v, entries)
        return s.heap.new(type(iter(set())), {("source",): v, ("order",): order, ("index",): Const(0), ("seen",): entries})

    def binary(self, s: Services, symbol: str, left: Value, right: Value, reflected: bool) -> Value | None:
        left, right = s.force(left), s.force(right)
        operator = symbol.removesuffix("=")
        if operator not in OPERATIONS or reflected or not is_set(left) or not is_set(right):
            return None
        entries = OPERATIONS[operator](members(s, left), members(s, right))
        if symbol != operator:
            if not isinstance(left, Ref) or not issubclass(left.cls, set):
                return None
            put(s, left, entries)
            return left
        return new_set(s, entries, frozenset if issubclass(left.cls, frozenset) else set)

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        other = s.force(other)
        if not is_set(other):
            return None
        return bool_const(RELATIONS[symbol](members(s, v).keys(), members(s, other).keys()))

    def hash_key(self, s: Services, v: Value) -> Any:
        return frozenset(members(s, v))


class _SameOrder:
    """Predicate: iterating the set gives equal members of the same types in this order."""

    __slots__ = ("order",)

    def __init__(self, order: tuple[Any, ...]):
        self.order = order

    def __call__(self, real: Any) -> bool:
        plain = set.__iter__ if isinstance(real, set) else frozenset.__iter__
        return all(type(a) is type(b) and a == b for a, b in zip(plain(real), self.order))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SameOrder) and self.order == other.order

    def __hash__(self) -> int:
        return hash(self.order)

    def __repr__(self) -> str:
        return f"has_members{self.order!r}"


def real_order(s: Services, v: Value, entries: Members) -> tuple[Value, ...]:
    """The members in the order in which the real set will be iterated."""
    if len(entries) > 1:
        if not all(trusted(name) and not isinstance(name, type) and _has_stable_hash(name) for name in entries):
            s.unsupported(R.UNKNOWN_ITERATOR, v, "the order of a set of objects")
        v = s.force(v)
        if isinstance(v, Ref) and v.path is not None and s.heap.initial_of(v, ITEMS) is entries:
            return tuple(value for value, _ in entries.values())
        if isinstance(v, (Pack, Const)) and v.path is not None:
            return tuple(value for value, _ in entries.values())
        order = list(_rebuilt(v, entries))
        return tuple(entries[name][0] for name in order)
    return tuple(value for value, _ in entries.values())


def _rebuilt(v: Value, entries: Members) -> Iterable[Any]:
    return frozenset(list(entries)) if issubclass(v.cls, frozenset) else set(list(entries))


def _has_stable_hash(name: Any) -> bool:
    return isinstance(name, (int, float, str, bytes, bool, type(None), tuple, frozenset))


def _union(a: Members, b: Members) -> Members:
    return {**a, **_minus(b, a)}


def _meet(a: Members, b: Members) -> Members:
    taken, other = (a, b) if len(b) > len(a) else (b, a)  # CPython walks the smaller set and keeps its members
    return {name: entry for name, entry in taken.items() if name in other}


def _minus(a: Members, b: Members) -> Members:
    return {name: entry for name, entry in a.items() if name not in b}


def _either(a: Members, b: Members) -> Members:
    return {**_minus(a, b), **_minus(b, a)}


OPERATIONS = {"|": _union, "&": _meet, "-": _minus, "^": _either}
RELATIONS = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


def of(s: Services, iterable: Value) -> Members:
    """The members of any iterable."""
    iterable = s.force(iterable)
    return members(s, iterable) if is_set(iterable) else collect(s, s.each(iterable))


def make_set(s: Services, cls: type, iterable: Value | None) -> Value:
    """`set(iterable)` or `frozenset(iterable)`."""
    if iterable is None:
        return new_set(s, {}, cls)
    iterable = s.force(iterable)
    if cls is frozenset and iterable.cls is frozenset:
        return iterable
    return new_set(s, of(s, iterable), cls)


@method(set.__new__, "*args **")
def set_new(s: Services, cls: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return s.heap.new(s.constant(cls), {ITEMS: {}})


@method(frozenset.__new__, "iterable= /")
def frozenset_new(s: Services, cls: Value, iterable: Value | None) -> Value:
    return make_set(s, s.constant(cls), iterable)


@method(set.__init__, "iterable= /")
def set_init(s: Services, self: Value, iterable: Value | None) -> Value:
    put(s, self, {} if iterable is None else dict(of(s, iterable)))
    return NONE


@method(set.add, "item /")
def set_add(s: Services, self: Value, item: Value) -> Value:
    entries = members(s, self)
    name = hash_key(s, item, entries)
    if name not in entries:
        put(s, self, {**entries, name: (item, TRUE)})
    return NONE


@method(set.remove, "item /")
def set_remove(s: Services, self: Value, item: Value) -> Value:
    if not _drop(s, self, item):
        s.raise_error(KeyError, item)
    return NONE


@method(set.discard, "item /")
def set_discard(s: Services, self: Value, item: Value) -> Value:
    _drop(s, self, item)
    return NONE


def _drop(s: Services, self: Value, item: Value) -> bool:
    entries = members(s, self)
    name = key_of(s, entries, item)
    if name not in entries:
        return False
    put(s, self, {other: entry for other, entry in entries.items() if other is not name and other != name})
    return True


@method(set.pop)
def set_pop(s: Services, self: Value) -> Value:
    entries = members(s, self)
    if not entries:
        s.raise_error(KeyError, "pop from an empty set")
    if len(entries) > 1:
        s.unsupported(R.OPAQUE_OPERATION, self, "which member set.pop takes")
    (entry,) = entries.values()
    put(s, self, {})
    return entry[0]


@method(set.clear)
def set_clear(s: Services, self: Value) -> Value:
    put(s, self, {})
    return NONE


def _register_algebra() -> None:
    for kind in (set, frozenset):
        for name, symbol in (("union", "|"), ("intersection", "&"), ("difference", "-"), ("symmetric_difference", "^")):
            method(getattr(kind, name), "*others")(_combine(symbol, False))
        for name, symbol in (("issubset", "<="), ("issuperset", ">="), ("isdisjoint", "disjoint")):
            method(getattr(kind, name), "other /")(_relate(symbol))
        method(kind.copy)(_copy)
    for name, symbol in (("update", "|"), ("intersection_update", "&"), ("difference_update", "-"), ("symmetric_difference_update", "^")):
        method(getattr(set, name), "*others")(_combine(symbol, True))


def _combine(symbol: str, in_place: bool) -> Any:
    def combine(s: Services, self: Value, others: list[Value]) -> Value:
        entries = members(s, self)
        for other in others:
            if symbol == "&" and not is_set(s.force(other)):
                entries = _meet_iterable(s, entries, other)
            else:
                entries = OPERATIONS[symbol](entries, of(s, other))
        if in_place:
            put(s, self, entries)
            return NONE
        return new_set(s, entries, frozenset if issubclass(self.cls, frozenset) else set)

    return combine


def _meet_iterable(s: Services, entries: Members, iterable: Value) -> Members:
    """The items that are members, up to the one that completes the set."""
    found: Members = {}
    source = s.iter(iterable)
    while (item := next_or_none(s, source)) is not None:
        name = hash_key(s, item, entries)
        if name in entries:
            found.setdefault(name, (item, TRUE))
            if len(found) == len(entries):
                break
    return found


def _relate(symbol: str) -> Any:
    def relate(s: Services, self: Value, other: Value) -> Value:
        left, right = members(s, self), of(s, other)
        if symbol == "disjoint":
            return bool_const(not _meet(left, right))
        return bool_const(RELATIONS[symbol](left.keys(), right.keys()))

    return relate


def _copy(s: Services, self: Value) -> Value:
    if self.cls is frozenset:
        return self
    return new_set(s, members(s, self), frozenset if issubclass(self.cls, frozenset) else set)


_register_algebra()
