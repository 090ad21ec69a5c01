"""Views of dicts (keys, values, items) and read-only proxies."""

from __future__ import annotations

import gc
from collections import OrderedDict
from types import MappingProxyType
from typing import Any

from framejit.core.heap import MISSING
from framejit.core.path import CALLED, Called, Path
from framejit.core.services import Services
from framejit.core.value import NONE, TRUE, Const, Pack, Ref, Value, bool_const
from framejit.objects import dict_, set_
from framejit.objects.dict_ import full, hash_key, key_in, lookup
from framejit.objects.exact import ExactModel
from framejit.objects.members import Entries, Items, Members, listed
from framejit.objects.method import method
from framejit.objects.model import by_type, model
from framejit.objects.own_dict import own_attribute, own_names
from framejit.objects.rebuild import REBUILDERS, Field, Rebuild
from framejit.objects.sameness import same_or_equal, tell_apart
from framejit.reasons import R

SOURCE = ("source",)
_ORDERED: OrderedDict[Any, Any] = OrderedDict()
VIEWS = {
    type({}.keys()): "keys", type({}.values()): "values", type({}.items()): "items",
    type(_ORDERED.keys()): "keys", type(_ORDERED.values()): "values", type(_ORDERED.items()): "items",
}  # fmt: skip
ORDERED = {type(_ORDERED.keys()), type(_ORDERED.values()), type(_ORDERED.items())}


def source(s: Services, v: Value) -> Ref:
    """The dict behind a view, its iterators' or a proxy's."""
    assert isinstance(v, Ref)
    return s.heap.get(v, SOURCE)


def values_of(s: Services, v: Value) -> list[Value]:
    """What the view holds, in order."""
    entries = full(s, source(s, v)).values()
    what = VIEWS[v.cls]
    if what == "items":
        return [Pack(tuple, entry) for entry in entries]
    return [entry[0] if what == "keys" else entry[1] for entry in entries]


@model(*VIEWS)
class ViewModel(ExactModel):
    """dict_keys, dict_values, dict_items and those of OrderedDict."""

    __slots__ = ()

    def len(self, s: Services, v: Value) -> Value | None:
        return s.len(source(s, v)) if source(s, v).cls in (dict, OrderedDict) else Const(len(full(s, source(s, v))))

    def iter(self, s: Services, v: Value) -> Value:
        return dict_.new_iterator(s, source(s, v), VIEWS[v.cls], False, v.cls in ORDERED)

    def contains(self, s: Services, v: Value, item: Value) -> Value | None:
        of, what = source(s, v), VIEWS[v.cls]
        if what == "values":
            return None
        if what == "keys":
            return bool_const(lookup(s, of, key_in(s, of, item)) is not MISSING)
        item = s.force(item)
        if not isinstance(item, Pack) or len(item.items) != 2:
            return bool_const(False)
        found = lookup(s, of, key_in(s, of, item.items[0]))
        return bool_const(found is not MISSING and same_or_equal(s, found, item.items[1]))

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        return s.heap.new(MappingProxyType, {SOURCE: source(s, v)}) if name == "mapping" else None

    def binary(self, s: Services, symbol: str, left: Value, right: Value, reflected: bool) -> Value | None:
        operation = set_.OPERATIONS.get(symbol)
        if operation is None or "values" in (VIEWS.get(left.cls), VIEWS.get(right.cls)):
            return None
        (first, left_arg), (second, right_arg) = _operand(s, left), _operand(s, right)
        tell_apart(s, first, second)
        function = set_.FUNCTIONS[symbol] if left_arg is not None and right_arg is not None else None
        return set_.new_set(s, Members(operation(first, second), function, (left_arg, right_arg) if function else ()))

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        other = s.force(other)
        if VIEWS[v.cls] == "values" or not (set_.is_set(other) or VIEWS.get(other.cls) in ("keys", "items")):
            return None
        if VIEWS[v.cls] == VIEWS.get(other.cls) == "items":
            return bool_const(_relate(s, symbol, full(s, source(s, v)), full(s, source(s, other))))
        one, two = _operand(s, v)[0], _operand(s, other)[0]
        tell_apart(s, one, two)
        return bool_const(set_.RELATIONS[symbol](one.keys(), two.keys()))

    def hash_key(self, s: Services, v: Value) -> Any:
        return v


def _relate(s: Services, symbol: str, one: Entries, two: Entries) -> bool:
    """Compare the items of two dicts: values are compared, not hashed."""
    tell_apart(s, one, two)
    if symbol in ("==", "!="):
        return (len(one) == len(two) and _all_in(s, one, two)) is (symbol == "==")
    if symbol[0] == ">":
        one, two = two, one
    return (len(one) < len(two) or (symbol[1:] == "=" and len(one) == len(two))) and _all_in(s, one, two)


def _all_in(s: Services, one: Entries, two: Entries) -> bool:
    return all(name in two and same_or_equal(s, two[name][1], value) for name, (_, value) in one.items())


def _operand(s: Services, v: Value) -> tuple[Entries, Members | Items | None]:
    """What a set operation takes a view or another iterable for; None where the order of its result is not known."""
    if VIEWS.get(v.cls) == "keys":
        entries = {name: (key, TRUE) for name, (key, _) in full(s, source(s, v)).items()}
        return entries, Items(type({}.keys()), listed(entries).pairs)
    if VIEWS.get(v.cls) == "items":
        pairs = full(s, source(s, v)).items()
        return {(name, hash_key(s, value)): (Pack(tuple, (key, value)), TRUE) for name, (key, value) in pairs}, None
    return set_.operand(s, v)


def _register() -> None:
    for kind, ordered in ((dict, False), (OrderedDict, True)):
        for name in ("keys", "values", "items"):
            view = type(getattr(_ORDERED if ordered else {}, name)())
            method(getattr(kind, name))(_maker(view))
        method(kind.__reversed__)(_reverser(ordered))
    for view, name in VIEWS.items():
        method(vars(view)["__reversed__"])(_view_reverser(name, view in ORDERED))
        if "isdisjoint" in vars(view):
            method(vars(view)["isdisjoint"], "other /")(_is_disjoint)


def _maker(view: type) -> Any:
    def make(s: Services, self: Value) -> Value:
        return s.heap.new(view, {SOURCE: self})

    return make


def _reverser(ordered: bool) -> Any:
    def reverse(s: Services, self: Value) -> Value:
        return dict_.new_iterator(s, self, "keys", True, ordered)

    return reverse


def _view_reverser(what: str, ordered: bool) -> Any:
    def reverse(s: Services, self: Value) -> Value:
        return dict_.new_iterator(s, source(s, self), what, True, ordered)

    return reverse


def _is_disjoint(s: Services, self: Value, other: Value) -> Value:
    one, two = _operand(s, self)[0], _operand(s, s.force(other))[0]
    tell_apart(s, one, two)
    return bool_const(not set_.OPERATIONS["&"](one, two))


def mapping_of(proxy: Any) -> Any:
    """The mapping behind a proxy, which only the garbage collector tells."""
    return gc.get_referents(proxy)[0]


def proxied(s: Services, v: Value) -> Value:
    """What a proxy shows: a mapping of the capture, or the present content of the dict of a class."""
    assert isinstance(v, Ref)
    of = s.force(s.heap.get(v, SOURCE))
    if isinstance(of, Const) and issubclass(type(of.obj), type):
        return s.heap.new(dict, {s.heap.ITEMS: {name: (Const(name), value) for name, value in own_names(s, of)}})
    return of


def of_class(s: Services, v: Value, key: Value) -> Any:
    """What the dict of a class shows under one name; None where the proxy is another's, or the name no plain string."""
    assert isinstance(v, Ref)
    of, key = s.force(s.heap.get(v, SOURCE)), s.force(key)
    if isinstance(of, Const) and issubclass(type(of.obj), type) and isinstance(key, Const) and type(key.obj) is str:
        found = own_attribute(s, of, key.obj)
        return MISSING if found is None else found
    return None


@model(MappingProxyType)
class ProxyModel(ExactModel):
    """types.MappingProxyType over a mapping of the capture, a dict that exists, or the dict of a class."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        mapping = mapping_of(real)
        if type(mapping) is not dict:
            return s.unsupported(R.UNKNOWN_TYPE, real)
        ref = by_type(s, path, real)
        behind = path.to(CALLED, Called(mapping_of, (), f"mapping({path})"))
        s.guard(behind, "TYPE", dict)
        s.heap.load(ref, SOURCE, dict_.realize_dict(s, behind, mapping))
        return ref

    def len(self, s: Services, v: Value) -> Value | None:
        return s.len(proxied(s, v))

    def getitem(self, s: Services, v: Value, key: Value) -> Value:
        found = of_class(s, v, key)
        if found is MISSING:
            return s.raise_error(KeyError, key)
        return s.getitem(proxied(s, v), key) if found is None else found

    def contains(self, s: Services, v: Value, item: Value) -> Value | None:
        found = of_class(s, v, item)
        return s.contains(proxied(s, v), item) if found is None else bool_const(found is not MISSING)

    def iter(self, s: Services, v: Value) -> Value:
        return s.iter(proxied(s, v))

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        other = s.force(other)
        if isinstance(other, Ref) and other.cls is MappingProxyType:
            other = proxied(s, other)
        return s.compare(symbol, proxied(s, v), other)

    def binary(self, s: Services, symbol: str, left: Value, right: Value, reflected: bool) -> Value | None:
        if symbol != "|":
            return None
        sides = [proxied(s, side) if side.cls is MappingProxyType else side for side in (s.force(left), s.force(right))]
        return s.binary(symbol, *sides)


def _forward(name: str) -> Any:
    def call(s: Services, self: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if name == "get" and args and not kwargs:
            found = of_class(s, self, args[0])
            if found is not None:
                return (args[1] if len(args) > 1 else NONE) if found is MISSING else found
        return s.call(s.getattr(proxied(s, self), name), args, kwargs)

    return call


for _name in ("get", "keys", "values", "items", "copy", "__reversed__"):
    method(vars(MappingProxyType)[_name], "*args **")(_forward(_name))


def _rebuild(view: type, ordered: bool) -> Rebuild:
    def rebuild(get: Field) -> tuple[Any, list[Value]]:
        return getattr(OrderedDict if ordered else dict, VIEWS[view]), [get("source")]

    return rebuild


for _view in VIEWS:
    REBUILDERS[_view] = _rebuild(_view, _view.__name__.startswith("odict"))
_register()
