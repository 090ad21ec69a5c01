"""Dicts: partial knowledge of real ones (single keys), full knowledge of those born here or iterated.

A dict known in full has the field `Heap.ITEMS`, a dict from hash key to (key, value). A real dict of which only single
keys were asked has fields ("k", key) instead. Once `ITEMS` exists it alone is true. Objects that are hashed by identity are such keys
too: no real dict has those of the capture, those that exist are looked up.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from types import FunctionType
from typing import Any, NamedTuple

from framejit import _C
from framejit.core.errors import Raised, Unsupported
from framejit.core.heap import MISSING, Heap
from framejit.core.lifetime import DICT_OF, MRO
from framejit.core.path import CALLED, DICT_ITEM, DICT_KEY, DICT_VALUE, MEMBER, Called, Path
from framejit.core.services import Services
from framejit.core.value import NONE, Const, Node, Ref, Value, bool_const
from framejit.objects.exact import ExactModel, type_name
from framejit.objects.members import TRUSTED, trusted
from framejit.objects.model import model, model_of
from framejit.objects.rebuild import STEP
from framejit.objects.sameness import is_told_apart, named, same_or_equal, tell_apart
from framejit.reasons import R

ITEMS = Heap.ITEMS
CODE_COMPARES = "dicts with keys that user code compares"
Fields = dict[tuple[Ref, Any], Any]


class UserKey:
    """Stands for a key whose class defines __hash__ and __eq__ in Python; its hash is known.

    A real dict that gets the key hashes it again, which must not be where user code had effects (`acted`) or has read what is
    other by then; `step` is where it was hashed. `others` are keys of the same hash that user code has told apart from it.
    """

    __slots__ = ("hash", "value", "step", "acted", "reads", "others")

    def __init__(self, hash_: int, value: Value, step: int, acted: bool, reads: Fields, others: Sequence[Any]):
        self.hash, self.value, self.step, self.acted, self.reads, self.others = hash_, value, step, acted, reads, others

    def again(self, heap: Heap) -> bool:
        """Whether a real dict can hash the key: what the effects of the region write is not there yet."""
        return not self.acted and all(
            heap.get(ref, field) is value and field not in (heap.written.get(ref) or ()) for (ref, field), value in self.reads.items()
        )

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if any(one is other for one in self.others) or (isinstance(other, UserKey) and any(one is self for one in other.others)):
            return False
        raise Unsupported(R.OPAQUE_OPERATION, self.value, "comparison of hash keys by user code")


def user_keys(name: Any) -> Iterator[UserKey]:
    """The keys hashed by user code that a hash key is or contains."""
    if isinstance(name, UserKey):
        yield name
    elif type(name) in (tuple, frozenset):
        for part in name:
            yield from user_keys(part)


def hash_key(s: Services, value: Value, among: dict[Any, tuple[Value, Any]] | None = None) -> Any:
    """A Python object that has the value's equality and hash among the keys of a dict or set; `among` are the present entries."""
    value = s.force(value)
    found = s.type_lookup(value.cls, "__hash__")
    trusts = isinstance(value, Const) and trusted(value.obj)
    if trusts or isinstance(value, Node) or not (isinstance(found, FunctionType) or _compares_values(s, value.cls, found)):
        return _apart(s, plain_key(s, value, among), among)
    mark, tables, step = s.trace.trail.mark(), s.heap.tables(), s.steps  # type: ignore[attr-defined]
    with s.heap.watched() as reads:
        number = s.constant(s.hash(value))
    others = []
    for name, (key, _) in (among or {}).items():
        same_hash = name.hash == number if isinstance(name, UserKey) else not isinstance(name, Value) and hash(name) == number
        if not same_hash:
            continue
        before, known = s.trace.trail.mark(), s.heap.tables()
        if same_or_equal(s, key, value):
            return name
        if s.heap.acted(before, known):
            s.unsupported(R.OPAQUE_OPERATION, value, "how often keys of one hash are compared hangs on where they lie")
        others.append(name)  # a real dict compares them again
    return UserKey(number, value, step, bool(others) or s.heap.acted(mark, tables), reads, others)


def plain_key(s: Services, value: Value, among: dict[Any, Any] | None) -> Any:
    """The hash key of a value as C code hashes and compares it."""
    if isinstance(value, Const) and trusted(value.obj):
        return value.obj
    if s.type_lookup(value.cls, "__hash__") in (None, MISSING):
        return s.raise_error(TypeError, f"unhashable type: '{type_name(value.cls)}'")
    return model_of(value.cls).key_among(s, value, among)


def _compares_values(s: Services, cls: type, hashed: Any) -> bool:
    """Whether code compares what C code hashes by what it says: other keys may have the same hash."""
    return hashed is not object.__hash__ and isinstance(s.type_lookup(cls, "__eq__"), FunctionType)


def _apart(s: Services, name: Any, among: dict[Any, Any] | None) -> Any:
    """The hash key, none of whose objects is one of the other keys unless it is among them."""
    if among and is_told_apart(name) and name not in among:
        known = named(s, name, among)
        if known is not name:
            return known
        tell_apart(s, (name,), among)
    return name


def key_in(s: Services, ref: Value, value: Value) -> Any:
    """The hash key that stands for `value` in this dict or set."""
    value = s.force(value)
    assert isinstance(ref, Ref)
    if isinstance(value, Const) and trusted(value.obj):
        return _apart(s, value.obj, s.heap.get(ref, ITEMS))
    # on the other keys, as those of user code do
    depends = (isinstance(value, Ref) and value.cls is int) or hasattr(model_of(value.cls), "hashed_as")
    if not isinstance(value, (Const, Node)):
        hashed = s.type_lookup(value.cls, "__hash__")
        depends = depends or isinstance(hashed, FunctionType) or _compares_values(s, value.cls, hashed)
    name = hash_key(s, value, full(s, ref) if depends else None)
    if depends and issubclass(ref.cls, dict):
        _refuse_moved(s, name, value, full(s, ref))
    if depends or trusted(name):
        return name
    return _apart(s, name, s.heap.get(ref, ITEMS) if issubclass(ref.cls, dict) and _is_alone(s, ref, name) else full(s, ref))


def _refuse_moved(s: Services, name: Any, value: Value, entries: dict[Any, tuple[Value, Any]]) -> None:
    """A dict that comes by the very key on its way takes it for found, whatever its hash was when it was stored."""
    if isinstance(name, UserKey) and any(other is not name and s.force(key) is value for other, (key, _) in entries.items()):
        s.unsupported(R.OPAQUE_OPERATION, value, "whether a key is found whose hash has changed hangs on where it lies")


def realize_dict(s: Services, path: Path, real: dict[Any, Any]) -> Ref:
    """The Ref of a real dict; a second path to the same dict finds the same Ref."""
    known = s.trace.known.get(id(real))
    if isinstance(known, Ref):
        if known.path is not path:
            s.guard(path, "SAME", known.path)
        return known
    ref = Ref(type(real), path, real)
    s.trace.remember(real, ref)
    return ref


def lookup(s: Services, ref: Ref, key: Any) -> Any:
    """The value under a hash key, or MISSING; a real dict is asked for this key alone."""
    items = s.heap.get(ref, ITEMS)
    if items is None and ref.path is not None:
        field = ("k", key)
        found = s.heap.get(ref, field)
        if found is not None:
            return found
        if _is_alone(s, ref, key):
            return s.heap.load(ref, field, _read(s, ref, key))
        items = full(s, ref)
    entry = items.get(key)
    return MISSING if entry is None else entry[1]


def store(s: Services, ref: Ref, key: Any, value: Value, key_value: Value | None = None) -> None:
    """Write the value under a hash key; `key_value` is the key itself where it is not a constant."""
    heap = s.heap
    if ref.path is not None and heap.get(ref, ITEMS) is None and _is_alone(s, ref, key):
        field = ("k", key)
        if isinstance(key, Ref):
            lookup(s, ref, key)
        if heap.get(ref, field) is not MISSING or field not in (heap.written.get(ref) or ()):
            heap.set(ref, field, value)
            return
    items = dict(full(s, ref))
    entry = items.get(_apart(s, key, items))
    items[key] = (entry[0] if entry is not None else key_value or Const(key), value)
    heap.set(ref, ITEMS, items)


def delete(s: Services, ref: Ref, key: Any) -> bool:
    """Remove a hash key; False if it was not there."""
    heap = s.heap
    if lookup(s, ref, key) is MISSING:
        return False
    if heap.get(ref, ITEMS) is None:
        field = ("k", key)
        if heap.initial_of(ref, field) is None:
            present = heap.get(ref, field)
            heap.load(ref, field, _read(s, ref, key))
            heap.set(ref, field, present)
        heap.set(ref, field, MISSING)
        return True
    items = dict(heap.get(ref, ITEMS))
    del items[key]
    heap.set(ref, ITEMS, items)
    note_removal(s, ref, key)
    return True


REMOVED = "removed from a dict"


def note_removal(s: Services, ref: Ref, key: Any) -> None:
    """Remember that the entry of a hash key was removed: one that comes back stands behind all others."""
    s.trace.trail.put(s.trace.cache, (REMOVED, ref), (*removals(s, ref), key))


def removals(s: Services, ref: Ref) -> tuple[Any, ...]:
    """The hash keys that were removed so far, in order."""
    found: tuple[Any, ...] = s.trace.cache.get((REMOVED, ref), ())
    return found


def full(s: Services, ref: Ref) -> dict[Any, tuple[Value, Any]]:
    """All entries in order: hash key -> (key, value). Not to be changed; a real dict is guarded by its keys."""
    items = s.heap.get(ref, ITEMS)
    if items is not None:
        return items
    real, path = ref.real, ref.path
    if path is None:
        return s.heap.load(ref, ITEMS, {})
    known = s.heap.fields_of(ref)
    initial = s.heap.initial.get(ref) or {}
    items = {}
    single = [field[1] for field in known if type(field) is tuple and field[0] == "k" and is_told_apart(field[1])]
    keys, values, names = tuple(dict.keys(real)), tuple(dict.values(real)), list[Any]()  # no look-up: it would hash the keys again
    plain = all([trusted(key) and not _is_another(s, path.to(DICT_KEY, index), key) for index, key in enumerate(keys)])
    s.guard(path, "DICT_KEYS", keys) if plain else s.guard(path, "LEN", len(keys))
    if issubclass(type(real), OrderedDict) and len(keys) > 1:
        if not in_raw_order(real):
            s.unsupported(R.OPAQUE_OPERATION, real, "an OrderedDict that was reordered")
        s.guard(path, "PY", in_raw_order)
    for index, real_key in enumerate(keys):
        key: Value = Const(real_key)
        name = real_key
        if not plain:
            key = s.force(s.input(path.to(DICT_KEY, index), real_key))
            name = hash_key(s, key, items)
            refuse_equal(s, key, name, items)
        names.append(name)
        if single and is_told_apart(name):
            name = named(s, name, single)
        value = initial.get(("k", name))
        if value is None:
            item = path.to(DICT_ITEM, real_key) if plain else path.to(DICT_VALUE, index)
            value = s.input(item, values[index])
        items[name] = (key, value)
    if not plain:
        guard_hashes(s, path, real, names)
    if single:
        tell_apart(s, [name for name in single if name not in items], items)
    s.heap.load(ref, ITEMS, items)
    written = [field for field in s.heap.written.get(ref) or () if type(field) is tuple and field[0] == "k"]
    if written:
        items = dict(items)
        for field in written:
            value, name = known[field], field[1]
            if value is MISSING:
                items.pop(name, None)
            else:
                new = name if isinstance(name, Value) else Const(name)
                items[name] = (items[name][0] if name in items else new, value)
        s.heap.set(ref, ITEMS, items)
    return items


def refuse_equal(s: Services, key: Value, name: Any, among: dict[Any, Any]) -> None:
    """Refuse a real dict or set with two keys that have become equal since it got them: it holds both."""
    if name in among:
        s.unsupported(R.OPAQUE_OPERATION, key, "it has become equal to another key of its container")


def guard_hashes(s: Services, path: Path, real: Any, names: Sequence[Any]) -> None:
    """A real dict or set has hashed its keys before, and does not again: theirs by user code must be what they were then."""
    found, hashes = _C.stored_hashes(real), []
    for name, stored in zip(names, found, strict=True):
        users = list(user_keys(name))
        if any(user.acted for user in users):
            s.unsupported(R.OPAQUE_OPERATION, users[0].value, "its hash, known to its container, is computed by code with effects")
        if users and hash(name) != stored:
            s.unsupported(R.OPAQUE_OPERATION, users[0].value, "its hash is another than when its container got it")
        hashes.append(stored if users else None)
    if any(number is not None for number in hashes):
        s.guard(path, "PY", StoredHashes(tuple(hashes)))


class StoredHashes(NamedTuple):
    """Predicate: the hashes by which a dict or set looks for its keys, None where they cannot be others."""

    hashes: tuple[int | None, ...]

    def __call__(self, real: Any) -> bool:
        found = _C.stored_hashes(real)
        return len(found) == len(self.hashes) and all(old is None or old == new for old, new in zip(self.hashes, found))


def _is_another(s: Services, path: Path, key: Any) -> bool:
    """Whether the key at this place is a function that is another one each time."""
    return type(key) is FunctionType and s.is_another(path, key, key.__code__)  # type: ignore[attr-defined]


def _is_alone(s: Services, ref: Ref, key: Any) -> bool:
    """Whether a real dict may be asked for this hash key alone: no user code compares it, with keys that are there neither."""
    if not _is_plain(key):
        return False
    place = CODE_COMPARES, ref
    found = s.trace.cache.get(place)
    if found is None:
        found = s.trace.cache[place] = ref.path is not None and any(map(_by_code, dict.keys(ref.real)))
    return not found


def _by_code(key: Any) -> bool:
    """Whether code compares this key, or what is in it."""
    kind = type(key)
    if kind in TRUSTED:
        return False
    if kind in (tuple, frozenset):
        return any(map(_by_code, key))
    hashed, compared = (next(DICT_OF(base)[name] for base in MRO(kind) if name in DICT_OF(base)) for name in ("__hash__", "__eq__"))
    return hashed is not object.__hash__ and isinstance(compared, FunctionType)


def _is_plain(key: Any) -> bool:
    """Whether no user code compares the object of this hash key."""
    if isinstance(key, Value):
        return isinstance(key, Ref)  # tensors are looked for among all keys
    kind = type(key)
    return trusted(key) or (kind.__hash__ is object.__hash__ and kind.__eq__ is object.__eq__)


def entry(key: Any, table: dict[Any, Any], default: Any) -> Any:
    """What a dict has under an object that is hashed by identity."""
    return dict.get(table, key, default)


def _tell_apart(s: Services, ref: Ref, key: Any) -> None:
    """The other objects of its class that a real dict was asked for are others than this one."""
    one = key if isinstance(key, Ref) else Const(key, s.trace.roots.const(key))
    for field in list(s.heap.fields_of(ref)):
        name = field[1] if type(field) is tuple and field[0] == "k" else None
        if isinstance(name, Ref) and name.cls is one.cls:
            s.is_same(name, one)
        elif isinstance(one, Ref) and type(name) is one.cls:
            s.is_same(Const(name, s.trace.roots.const(name)), one)


def _read_by_identity(s: Services, ref: Ref, key: Ref) -> Any:
    """What a real dict has under an object that exists."""
    assert ref.path is not None and key.path is not None
    path = key.path.to(CALLED, Called(entry, (ref.path, MISSING), f"{ref.path}[{key.path}]"))
    found = entry(key.real, ref.real, MISSING)
    s.guard(path, "IS" if found is MISSING else "IS_NOT", MISSING)
    return MISSING if found is MISSING else s.input(path, found)


def in_raw_order(real: OrderedDict[Any, Any]) -> bool:
    """Whether an OrderedDict's own order is that of the dict under it."""
    return all(a is b for a, b in zip(OrderedDict.__iter__(real), dict.keys(real)))


def _read(s: Services, ref: Ref, key: Any) -> Any:
    path = ref.path
    assert path is not None
    real = ref.real
    if (isinstance(key, Ref) and key.virtual) or (issubclass(type(key), type) and key in s.trace.classes):
        return MISSING  # what the captured code makes is in no dict that exists
    if isinstance(key, Ref) or not trusted(key):
        _tell_apart(s, ref, key)
    if isinstance(key, Ref):
        return _read_by_identity(s, ref, key)
    if not dict.__contains__(real, key):
        s.guard(path, "DICT_MISSING", key)
        return MISSING
    item = path.to(DICT_ITEM, key)
    s.guard(item, "IS_NOT", MISSING)  # the load itself is the guard: the key must be there
    return s.input(item, dict.__getitem__(real, key))


@model(dict)
class DictModel(ExactModel):
    """dict, OrderedDict, defaultdict, and users' subclasses."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        s.guard(path, "TYPE", type(real))
        return realize_dict(s, path, real)

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        return s.heap.new(cls, {ITEMS: {}})

    def len(self, s: Services, v: Value) -> Value | None:
        assert isinstance(v, Ref)
        if s.heap.get(v, ITEMS) is None and v.path is not None and v not in s.heap.written:
            s.guard(v.path, "LEN", dict.__len__(v.real))
            return Const(dict.__len__(v.real))
        return Const(len(full(s, v)))

    def getitem(self, s: Services, v: Value, key: Value) -> Value:
        assert isinstance(v, Ref)
        found = lookup(s, v, key_in(s, v, key))
        if found is not MISSING:
            return found
        if v.cls is not dict and v.cls is not OrderedDict:
            missing = s.special(v, "__missing__")
            if missing is not None:
                return s.call(missing, [key])
        return s.raise_error(KeyError, key)

    def setitem(self, s: Services, v: Value, key: Value, new: Value) -> None:
        assert isinstance(v, Ref)
        store(s, v, key_in(s, v, key), new, key)

    def delitem(self, s: Services, v: Value, key: Value) -> None:
        assert isinstance(v, Ref)
        if not delete(s, v, key_in(s, v, key)):
            s.raise_error(KeyError, key)

    def contains(self, s: Services, v: Value, item: Value) -> Value | None:
        assert isinstance(v, Ref)
        return bool_const(lookup(s, v, key_in(s, v, item)) is not MISSING)

    def iter(self, s: Services, v: Value) -> Value:
        return new_iterator(s, v, "keys", False, issubclass(v.cls, OrderedDict))

    def binary(self, s: Services, symbol: str, left: Value, right: Value, reflected: bool) -> Value | None:
        right = s.force(right)
        if symbol == "|=" and not reflected:
            update(s, left, right)
            return left
        if symbol.removesuffix("=") != "|" or not issubclass(right.cls, dict) or not issubclass(left.cls, dict):
            return None
        asked = right if reflected else left
        if issubclass(asked.cls, OrderedDict):
            result = s.call(Const(asked.cls), [left])
            s.call(Const(OrderedDict.update), [result, right])
            return result
        if issubclass(asked.cls, defaultdict):
            result = s.call(Const(asked.cls), [factory(s, asked), left])
        else:
            result = copied(s, left)
        merge(s, result, right)  # type: ignore[arg-type]
        return result

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        other = s.force(other)
        if symbol not in ("==", "!=") or not issubclass(other.cls, dict):
            return None
        assert isinstance(v, Ref) and isinstance(other, Ref)
        left, right = full(s, v), full(s, other)
        equal = len(left) == len(right) and all(_apart(s, name, right) in right for name in left)
        if equal and issubclass(v.cls, OrderedDict) and issubclass(other.cls, OrderedDict):
            equal = list(left) == list(right)
        for name, (_, value) in left.items() if equal else ():
            against = right[name][1]
            if not same_or_equal(s, value, against):
                equal = False
                break
        return bool_const(equal == (symbol == "=="))


_SAMPLE: dict[Any, Any] = {}
_ORDERED: OrderedDict[Any, Any] = OrderedDict()
FORWARD = {"keys": type(iter(_SAMPLE)), "values": type(iter(_SAMPLE.values())), "items": type(iter(_SAMPLE.items()))}
BACKWARD = {"keys": type(reversed(_SAMPLE)), "values": type(reversed(_SAMPLE.values())), "items": type(reversed(_SAMPLE.items()))}
OrderedIterator = type(iter(_ORDERED))


def new_iterator(s: Services, v: Value, what: str, backwards: bool, ordered: bool) -> Ref:
    """An iterator over a dict, `ordered` as only OrderedDicts have it; `seen` is the entries as last looked at, to notice changes."""
    assert isinstance(v, Ref)
    fields = {("source",): v, ("what",): Const(what), ("index",): Const(0), ("seen",): full(s, v), STEP: s.steps}  # type: ignore[attr-defined]
    if ordered:
        return s.heap.new(OrderedIterator, {**fields, ("backwards",): bool_const(backwards)})
    return s.heap.new((BACKWARD if backwards else FORWARD)[what], fields)


def new_dict(s: Services, pairs: Iterable[tuple[Value, Value]] = (), cls: type = dict) -> Ref:
    """A dict born in the capture."""
    entries: dict[Any, tuple[Value, Value]] = {}
    for key, value in pairs:
        name = hash_key(s, key, entries)
        _refuse_moved(s, name, s.force(key), entries)
        entries[name] = (entries[name][0] if name in entries else key, value)
    return s.heap.new(cls, {ITEMS: entries})


def copy(s: Services, v: Value) -> Ref:
    """A shallow copy of the same built-in type."""
    assert isinstance(v, Ref)
    fields: dict[Any, Any] = {ITEMS: dict(full(s, v))}
    kind = next(base for base in (defaultdict, OrderedDict, dict) if issubclass(v.cls, base))
    if kind is defaultdict:
        fields[FACTORY] = factory(s, v)
    return s.heap.new(kind, fields)


def copied(s: Services, v: Value) -> Ref:
    """`dict.copy`: an exact dict."""
    assert isinstance(v, Ref)
    if is_read_as_it_is(s, v):
        return s.heap.new(dict, {ITEMS: dict(full(s, v))})
    result = s.heap.new(dict, {ITEMS: {}})
    if full(s, v):
        merge(s, result, v)
    return result


def is_read_as_it_is(s: Services, source: Value) -> bool:
    """Whether C code that goes through a dict need not ask its class."""
    if not issubclass(source.cls, dict):
        return False
    iterates = s.type_lookup(source.cls, "__iter__")
    if iterates is not OrderedDict.__iter__:
        return iterates is dict.__iter__
    found = s.type_lookup(source.cls, "keys"), s.type_lookup(source.cls, "__getitem__")
    return found == (OrderedDict.keys, dict.__getitem__)


def pairs_of(s: Services, source: Value) -> Iterator[tuple[Any, Value, Value | None]]:
    """What C code finds in a mapping: hash keys, keys and values; where the class is asked, just keys."""
    if is_read_as_it_is(s, source):
        assert isinstance(source, Ref)
        yield from [(name, key, value) for name, (key, value) in full(s, source).items()]
        return
    for key in s.unpack(_keys(s, source)):
        yield None, key, None


def _keys(s: Services, source: Value) -> Value:
    """What `keys()` of a mapping gives, which must be iterable."""
    keys = s.call(s.getattr(source, "keys"))
    if s.type_lookup(s.force(keys).cls, "__iter__") in (None, MISSING):
        names = type_name(source.cls), type_name(s.force(keys).cls)
        s.raise_error(TypeError, "{}.keys() returned a non-iterable (type {})".format(*names))
    return keys


def merge(s: Services, target: Ref, source: Value) -> None:
    """Store what C code finds in a mapping."""
    for name, key, value in pairs_of(s, s.force(source)):
        if value is None:
            value = s.getitem(source, key)
        store(s, target, key_in(s, target, key) if name is None else name, value, key)


def update(s: Services, target: Value, source: Value, kwargs: dict[str, Value] | None = None) -> None:
    """`dict.update`, in CPython's order."""
    assert isinstance(target, Ref)
    source = s.force(source)
    if source.cls is dict or s.type_lookup(source.cls, "keys") is not MISSING:
        merge(s, target, source)
    else:
        for place, pair in enumerate(s.each(source)):
            key, value = _two(s, pair, place)
            store(s, target, key_in(s, target, key), value, key)
    for name, value in (kwargs or {}).items():
        store(s, target, name, value)


def _two(s: Services, pair: Value, place: int) -> list[Value]:
    try:
        parts = s.unpack(pair)
    except Raised as raised:
        if s.exception_type(raised.value) is not TypeError:
            raise
        return s.raise_error(TypeError, f"cannot convert dictionary update sequence element #{place} to a sequence")
    if len(parts) != 2:
        s.raise_error(ValueError, f"dictionary update sequence element #{place} has length {len(parts)}; 2 is required")
    return parts


FACTORY = vars(defaultdict)["default_factory"]


def factory(s: Services, v: Value) -> Value:
    """The default_factory of a defaultdict."""
    assert isinstance(v, Ref)
    found = s.heap.get(v, FACTORY)
    if found is None:
        if v.path is None:
            return NONE
        found = s.heap.load(v, FACTORY, s.input(v.path.to(MEMBER, FACTORY), FACTORY.__get__(v.real)))
    return found
