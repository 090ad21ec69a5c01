"""Sets and frozensets: a set is a dict from hash key to (value, TRUE) in the heap, a frozenset a Pack of its members."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from types import FunctionType
from typing import Any

from framejit.core.heap import Heap
from framejit.core.path import CALLED, ITEM, Called, Path
from framejit.core.services import Services
from framejit.core.value import NONE, TRUE, Const, Node, Pack, Ref, Value, bool_const
from framejit.objects.dict_ import guard_hashes, hash_key, refuse_equal, trusted
from framejit.objects.exact import ExactModel
from framejit.objects.members import FROZEN, Entries, Items, Members, each, frozen, layout, listed, twin_of
from framejit.objects.method import method
from framejit.objects.model import model, model_of
from framejit.objects.object_ import guard_bare
from framejit.objects.protocol import next_or_none
from framejit.objects.rebuild import STEP
from framejit.objects.sameness import tell_apart
from framejit.reasons import R

ITEMS = Heap.ITEMS


def is_set(v: Value) -> bool:
    """Whether the value is a set or frozenset (of a subclass, too)."""
    return issubclass(v.cls, (set, frozenset))


def members(s: Services, v: Value) -> Members:
    """The members of a set or frozenset."""
    v = s.force(v)
    if isinstance(v, Ref):
        found = s.heap.get(v, ITEMS)
        if found is None:
            found = s.heap.load(v, ITEMS, Members({}, set) if v.path is None else _loaded(s, v.path, v.real))
        return found
    if isinstance(v, Pack):
        known = s.trace.cache.get((FROZEN, v))
        if known is not None:
            return known
        entries = collect(s, v.items)
        return Members(entries, frozenset, (listed(entries),))
    real = s.constant(v)
    return Members(collect(s, [s.wrap(item) for item in each(real)]), None, real=real)


def collect(s: Services, values: Iterable[Value]) -> Entries:
    """Members from values, the first of equal ones kept."""
    found: Entries = {}
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
    if not issubclass(cls, frozenset):
        return s.heap.new(cls, {ITEMS: entries})
    return frozen(s, cls, entries)


def put(s: Services, v: Value, entries: Members) -> None:
    """Replace the members."""
    assert isinstance(v, Ref)
    members(s, v)
    s.heap.set(v, ITEMS, entries)


def change(s: Services, v: Value, entries: Entries, function: Any, *args: Any) -> None:
    """Let `function(set, *args)`, which leaves these members, change the set in place."""
    put(s, v, Members(entries, function, args, base=members(s, v)))


@model(set, frozenset)
class SetModel(ExactModel):
    """Sets and frozensets."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        kind = type(real)
        functions = any(type(item) is FunctionType for item in each(real))
        if not all(map(trusted, each(real))) or (functions and s.is_another(path, real, FunctionType)):  # type: ignore[attr-defined]
            return self._of_objects(s, path, real)
        if kind is frozenset:
            s.guard(path, "EQ", real)
            if len(real) > 1:
                s.guard(path, "PY", _SameLayout(layout(real)))
            return self._frozen(s, path, real)
        s.guard(path, "TYPE", kind)
        s.guard(path, "PY", _SameLayout(layout(real)))
        if issubclass(kind, frozenset):
            guard_bare(s, path, real)
            return self._frozen(s, path, real)
        entries = Members({item: (Const(item), TRUE) for item in each(real)}, None, real=real, path=path)
        ref = Ref(kind, path, real)
        s.trace.remember(real, ref)
        s.heap.load(ref, ITEMS, entries)
        return ref

    def _of_objects(self, s: Services, path: Path, real: Any) -> Value:
        """One with members that are told from each other by identity: they are loaded in the order in which the real one has them."""
        kind = type(real)
        s.guard(path, "TYPE", kind)
        if issubclass(kind, frozenset):
            guard_bare(s, path, real)
            return frozen(s, kind, _loaded(s, path, real), path)
        ref = Ref(kind, path, real)
        s.trace.remember(real, ref)
        if not all(type(item).__hash__ is object.__hash__ for item in each(real)):
            members(s, ref)
        return ref

    def _frozen(self, s: Services, path: Path, real: Any) -> Value:
        entries: Entries = {item: (Const(item), TRUE) for item in each(real)}
        return frozen(s, type(real), Members(entries, None, real=real, path=path), path)

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        if issubclass(cls, set):
            return new_set(s, Members({}, set), cls)
        if kwargs and s.type_lookup(cls, "__init__") is object.__init__:
            s.raise_error(TypeError, "frozenset() takes no keyword arguments")
        if len(args) > 1:
            s.raise_error(TypeError, f"{cls.__name__} expected at most 1 argument, got {len(args)}")
        return make_set(s, cls, args[0] if args else None)

    def len(self, s: Services, v: Value) -> Value | None:
        if _is_unread(s, v):
            s.guard(v.path, "LEN", set.__len__(v.real))  # type: ignore[attr-defined]
            return Const(set.__len__(v.real))  # type: ignore[attr-defined]
        return Const(len(members(s, v)))

    def contains(self, s: Services, v: Value, item: Value) -> Value | None:
        item = s.force(item)
        if _is_unread(s, v) and isinstance(item, (Ref, Node)) and item.path is not None and model_of(item.cls).hash_key(s, item) is item:
            found = set.__contains__(v.real, item.real)  # type: ignore[attr-defined]
            s.guard(None, "PY_OF", (_holds if found else _lacks, (v.path, item.path)))  # type: ignore[attr-defined]
            return bool_const(found)
        entries = members(s, v)
        return bool_const(key_of(s, entries, item) in entries)

    def iter(self, s: Services, v: Value) -> Value:
        entries = members(s, v)
        order = real_order(s, v, entries)
        fields = {("source",): v, ("order",): order, ("index",): Const(0), ("seen",): entries, STEP: s.steps}  # type: ignore[attr-defined]
        return s.heap.new(type(iter(set())), fields)

    def binary(self, s: Services, symbol: str, left: Value, right: Value, reflected: bool) -> Value | None:
        left, right = s.force(left), s.force(right)
        operator = symbol.removesuffix("=")
        if operator not in OPERATIONS or reflected or not is_set(left) or not is_set(right):
            return None
        first, second = members(s, left), members(s, right)
        tell_apart(s, first, second)
        entries = OPERATIONS[operator](first, second)
        if symbol == operator:
            made = Members(entries, FUNCTIONS[operator], (first, second))
            return new_set(s, made, frozenset if issubclass(left.cls, frozenset) else set)
        if not isinstance(left, Ref) or not issubclass(left.cls, set):
            return None
        if left is not right or not entries:
            change(s, left, entries, *((IN_PLACE[operator], second) if left is not right else (set.clear,)))
        return left

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        other = s.force(other)
        if not is_set(other):
            return None
        left, right = members(s, v), members(s, other)
        tell_apart(s, left, right)
        return bool_const(RELATIONS[symbol](left.keys(), right.keys()))

    def hash_key(self, s: Services, v: Value) -> Any:
        return frozenset(members(s, v))


def _is_unread(s: Services, v: Value) -> bool:
    """Whether it is a real set of objects that nobody has gone through yet."""
    return isinstance(v, Ref) and v.path is not None and s.heap.get(v, ITEMS) is None


def _loaded(s: Services, path: Path, real: Any) -> Members:
    """The members of a real set, each at its place in the order of that."""
    entries: Entries = {}
    where = path.to(CALLED, Called(members_of, (), f"members({path})"))
    s.guard(where, "LEN", len(members_of(real)))
    for place, item in enumerate(each(real)):
        value = s.force(s.input(where.to(ITEM, place), item))
        name = hash_key(s, value, entries)
        refuse_equal(s, value, name, entries)
        entries[name] = (value, TRUE)
    guard_hashes(s, path, real, list(entries))
    return Members(entries, None, real=real, path=path)


def _holds(real: Any, item: Any) -> bool:
    return set.__contains__(real, item)


def _lacks(real: Any, item: Any) -> bool:
    return not set.__contains__(real, item)


def members_of(real: Any) -> tuple[Any, ...]:
    """The members of a real set in its order."""
    return tuple(each(real))


class _SameLayout:
    """Predicate: the set is as large and is iterated in the same order, with equal members of the same types."""

    __slots__ = ("layout",)

    def __init__(self, layout_: tuple[Any, ...]):
        self.layout = layout_

    def __call__(self, real: Any) -> bool:
        found = layout(real)
        return len(found) == len(self.layout) and all(a is b or (type(a) is type(b) and a == b) for a, b in zip(found, self.layout))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SameLayout) and self.layout == other.layout

    def __hash__(self) -> int:
        return hash(self.layout)

    def __repr__(self) -> str:
        return f"has_members{self.layout[1:]!r}"


def real_order(s: Services, v: Value, entries: Members) -> tuple[Value, ...]:
    """The members in the order in which the real set will be iterated."""
    if len(entries) < 2:
        return tuple([value for value, _ in entries.values()])
    twin = twin_of(s, entries)
    if twin is None and entries.ordered:
        return tuple([value for value, _ in entries.values()])
    if twin is None:
        return s.unsupported(R.UNKNOWN_ITERATOR, v, "the order of a set of objects")
    return tuple([entries[name][0] for name in each(twin)])


def _union(a: Entries, b: Entries) -> Entries:
    return {**a, **_minus(b, a)}


def _meet(a: Entries, b: Entries) -> Entries:
    taken, other = (a, b) if len(b) > len(a) else (b, a)  # CPython walks the smaller set and keeps its members
    return {name: entry for name, entry in taken.items() if name in other}


def _minus(a: Entries, b: Entries) -> Entries:
    return {name: entry for name, entry in a.items() if name not in b}


def _either(a: Entries, b: Entries) -> Entries:
    return {**_minus(a, b), **_minus(b, a)}


OPERATIONS = {"|": _union, "&": _meet, "-": _minus, "^": _either}
FUNCTIONS = {"|": operator.or_, "&": operator.and_, "-": operator.sub, "^": operator.xor}
IN_PLACE = {"|": set.__ior__, "&": set.__iand__, "-": set.__isub__, "^": set.__ixor__}
RELATIONS = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


def operand(s: Services, iterable: Value) -> tuple[Entries, Members | Items]:
    """The members of any iterable, and what a set operation is given for it."""
    iterable = s.force(iterable)
    if is_set(iterable):
        found = members(s, iterable)
        return found, found
    entries = collect(s, s.each(iterable))
    pairs = tuple([(name, value) for name, (value, _) in entries.items()])
    return entries, Items(dict if iterable.cls is dict else list, pairs)


def make_set(s: Services, cls: type, iterable: Value | None) -> Value:
    """`set(iterable)` or `frozenset(iterable)`."""
    base = frozenset if issubclass(cls, frozenset) else set
    if iterable is None:
        return new_set(s, Members({}, base), cls)
    iterable = s.force(iterable)
    if cls is frozenset and iterable.cls is frozenset:
        return iterable
    entries, arg = operand(s, iterable)
    return new_set(s, Members(entries, base, (arg,)), cls)


@method(set.__new__, "*args **")
def set_new(s: Services, cls: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return new_set(s, Members({}, set), s.constant(cls))


@method(frozenset.__new__, "iterable= /")
def frozenset_new(s: Services, cls: Value, iterable: Value | None) -> Value:
    return make_set(s, s.constant(cls), iterable)


@method(set.__init__, "iterable= /")
def set_init(s: Services, self: Value, iterable: Value | None) -> Value:
    entries, arg = ({}, None) if iterable is None else operand(s, iterable)
    change(s, self, entries, set.__init__, *([] if arg is None else [arg]))
    return NONE


def add(s: Services, v: Value, item: Value) -> None:
    """Add a member to a set."""
    entries = members(s, v)
    name = hash_key(s, item, entries)
    if name not in entries:
        item = s.force(item)
        change(s, v, {**entries, name: (item, TRUE)}, set.add, Items(None, ((name, item),)))


@method(set.add, "item /")
def set_add(s: Services, self: Value, item: Value) -> Value:
    add(s, self, item)
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
    _take(s, self, next(other for other in entries if other is name or other == name), set.discard)
    return True


def _take(s: Services, self: Value, name: Any, function: Any) -> Value:
    entries = members(s, self)
    value = entries[name][0]
    args = [Items(None, ((name, value),))] if function is set.discard else []
    change(s, self, {other: entry for other, entry in entries.items() if other is not name}, function, *args)
    return value


@method(set.pop)
def set_pop(s: Services, self: Value) -> Value:
    entries = members(s, self)
    if not entries:
        s.raise_error(KeyError, "pop from an empty set")
    if len(entries) == 1:
        return _take(s, self, next(iter(entries)), set.pop)
    state = Members({}, set.pop, base=entries)
    twin = twin_of(s, entries)
    if twin is None or twin_of(s, state) is None:
        s.unsupported(R.OPAQUE_OPERATION, self, "which member set.pop takes")
    return _take(s, self, next(name for name in entries if name not in state.made), set.pop)


@method(set.clear)
def set_clear(s: Services, self: Value) -> Value:
    change(s, self, {}, set.clear)
    return NONE


def _register_algebra() -> None:
    for kind in (set, frozenset):
        for name, symbol in (("union", "|"), ("intersection", "&"), ("difference", "-"), ("symmetric_difference", "^")):
            method(getattr(kind, name), "*others")(_combine(symbol, getattr(kind, name), False))
        for name, symbol in (("issubset", "<="), ("issuperset", ">="), ("isdisjoint", "disjoint")):
            method(getattr(kind, name), "other /")(_relate(symbol))
        method(kind.copy)(_copy)
    for name, symbol in (("update", "|"), ("intersection_update", "&"), ("difference_update", "-"), ("symmetric_difference_update", "^")):
        method(getattr(set, name), "*others")(_combine(symbol, getattr(set, name), True))


def _combine(symbol: str, function: Any, in_place: bool) -> Any:
    def combine(s: Services, self: Value, others: list[Value]) -> Value:
        first = members(s, self)
        entries: Entries = first
        args: list[Members | Items] = []
        for other in others:
            if symbol == "&" and not is_set(s.force(other)):
                entries = _meet_iterable(s, entries, other)
                args.append(listed(entries))
            else:
                found, arg = operand(s, other)
                tell_apart(s, entries, found)
                entries = OPERATIONS[symbol](entries, found)
                args.append(arg)
        if in_place:
            if others:
                change(s, self, entries, function, *args)
            return NONE
        return new_set(s, Members(entries, function, (first, *args)), frozenset if issubclass(self.cls, frozenset) else set)

    return combine


def _meet_iterable(s: Services, entries: Entries, iterable: Value) -> Entries:
    """The items that are members, up to the one that completes the set."""
    found: Entries = {}
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
        left, right = members(s, self), operand(s, other)[0]
        tell_apart(s, left, right)
        if symbol == "disjoint":
            return bool_const(not _meet(left, right))
        return bool_const(RELATIONS[symbol](left.keys(), right.keys()))

    return relate


def _copy(s: Services, self: Value) -> Value:
    if self.cls is frozenset:
        return self
    entries, frozen = members(s, self), issubclass(self.cls, frozenset)
    return new_set(s, Members(entries, frozenset.copy if frozen else set.copy, (entries,)), frozenset if frozen else set)


_register_algebra()
