"""Dicts: partial knowledge of real ones (single keys), full knowledge of those born here or iterated.

A dict known in full has the field `Heap.ITEMS`, a dict from hash key to (key, value). A real dict of which only single
keys were asked has fields ("k", key) instead. Once `ITEMS` exists it alone is true.
"""

from __future__ import annotations

import enum
from collections import OrderedDict
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from framejit.core.heap import MISSING, Heap
from framejit.core.path import DICT_ITEM, DICT_KEY, Path
from framejit.core.services import Services
from framejit.core.value import Const, Ref, Value
from framejit.objects.model import model_of
from framejit.reasons import R

ITEMS = Heap.ITEMS
TRUSTED = {
    int,
    str,
    float,
    bool,
    type(None),
    bytes,
    complex,
    type(Ellipsis),
    FunctionType,
    BuiltinFunctionType,
    ModuleType,
}


def trusted(key: Any) -> bool:
    """Whether a real dict may be asked for this key without running user code, and the key be named in a guard."""
    kind = type(key)
    if kind in TRUSTED:
        return True
    if kind is tuple or kind is frozenset:
        return all(map(trusted, key))
    if isinstance(key, type):
        return kind.__hash__ is type.__hash__ and kind.__eq__ is type.__eq__
    return isinstance(key, enum.Enum) and kind.__eq__ in (object.__eq__, str.__eq__, int.__eq__)


def hash_key(s: Services, value: Value) -> Any:
    """A Python object that has the value's equality and hash among the keys of a dict or set."""
    value = s.force(value)
    if isinstance(value, Const) and trusted(value.obj):
        return value.obj
    return model_of(value.cls).hash_key(s, value)


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
        if trusted(key):
            return s.heap.load(ref, field, _read(s, ref, key))
        items = full(s, ref)
    entry = items.get(key)
    return MISSING if entry is None else entry[1]


def store(s: Services, ref: Ref, key: Any, value: Value, key_value: Value | None = None) -> None:
    """Write the value under a hash key; `key_value` is the key itself where it is not a constant."""
    heap = s.heap
    if ref.path is not None and heap.get(ref, ITEMS) is None and trusted(key):
        field = ("k", key)
        if heap.get(ref, field) is not MISSING or field not in (heap.written.get(ref) or ()):
            heap.set(ref, field, value)
            return
    items = dict(full(s, ref))
    entry = items.get(key)
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
    return True


def full(s: Services, ref: Ref) -> dict[Any, tuple[Value, Any]]:
    """All entries in order: hash key -> (key, value). Not to be changed; a real dict is guarded by its keys."""
    items = s.heap.get(ref, ITEMS)
    if items is not None:
        return items  # type: ignore[no-any-return]
    real, path = ref.real, ref.path
    if path is None:
        return s.heap.load(ref, ITEMS, {})  # type: ignore[no-any-return]
    known = s.heap.fields_of(ref)
    initial = s.heap.initial.get(ref) or {}
    items = {}
    keys = tuple(dict.keys(real))
    plain = all(map(trusted, keys))
    s.guard(path, "DICT_KEYS", keys) if plain else s.guard(path, "LEN", len(keys))
    if isinstance(real, OrderedDict) and len(keys) > 1:
        if not in_raw_order(real):
            s.unsupported(R.OPAQUE_OPERATION, real, "an OrderedDict that was reordered")
        s.guard(path, "PY", in_raw_order)
    for index, real_key in enumerate(keys):
        key: Value = Const(real_key)
        name = real_key
        if not plain:
            key = s.force(s.input(path.to(DICT_KEY, index), real_key))
            name = hash_key(s, key)
        value = initial.get(("k", name))
        if value is None:
            value = s.input(path.to(DICT_ITEM, real_key), dict.__getitem__(real, real_key))
        items[name] = (key, value)
    s.heap.load(ref, ITEMS, items)
    written = [field for field in s.heap.written.get(ref) or () if type(field) is tuple and field[0] == "k"]
    if written:
        items = dict(items)
        for field in written:
            value, name = known[field], field[1]
            if value is MISSING:
                items.pop(name, None)
            else:
                items[name] = (items[name][0] if name in items else Const(name), value)
        s.heap.set(ref, ITEMS, items)
    return items


def in_raw_order(real: OrderedDict[Any, Any]) -> bool:
    """Whether an OrderedDict's own order is that of the dict under it."""
    return all(a is b for a, b in zip(OrderedDict.__iter__(real), dict.keys(real)))


def _read(s: Services, ref: Ref, key: Any) -> Any:
    path = ref.path
    assert path is not None
    real = ref.real
    if not dict.__contains__(real, key):
        s.guard(path, "DICT_MISSING", key)
        return MISSING
    item = path.to(DICT_ITEM, key)
    s.guard(item, "IS_NOT", MISSING)  # the load itself is the guard: the key must be there
    return s.input(item, dict.__getitem__(real, key))
