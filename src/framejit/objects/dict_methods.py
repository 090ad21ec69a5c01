"""The C methods of dict, OrderedDict and defaultdict."""

from __future__ import annotations

from collections import OrderedDict, defaultdict

from framejit.core.heap import MISSING
from framejit.core.services import Services
from framejit.core.value import NONE, Const, Pack, Ref, Value
from framejit.objects import dict_
from framejit.objects.dict_ import FACTORY, ITEMS, full, key_in, lookup, store
from framejit.objects.method import method


@method(dict.__new__, "*args **")
def dict_new(s: Services, cls: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return s.heap.new(s.constant(cls), {ITEMS: {}})


@method(dict.__init__, "*args **")
def dict_init(s: Services, self: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    _update(s, self, args, kwargs, "dict")
    return NONE


@method(dict.update, "*args **")
def dict_update(s: Services, self: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    _update(s, self, args, kwargs, "update")
    return NONE


def _update(s: Services, self: Value, args: list[Value], kwargs: dict[str, Value], name: str) -> None:
    if len(args) > 1:
        s.raise_error(TypeError, f"{name} expected at most 1 argument, got {len(args)}")
    dict_.update(s, self, args[0] if args else Pack(tuple, ()), kwargs)


@method(OrderedDict.__init__, "*args **")
def ordered_init(s: Services, self: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) > 1:
        s.raise_error(TypeError, f"expected at most 1 arguments, got {len(args)}")
    return ordered_update(s, self, args, kwargs)


@method(OrderedDict.update, "*args **")
def ordered_update(s: Services, self: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) > 1:
        s.raise_error(TypeError, f"update() takes at most 1 positional argument ({len(args)} given)")
    if args and _is_asked(s, source := s.force(args[0])):
        for key in s.each(s.call(s.getattr(source, "keys"))):
            s.setitem(self, key, s.getitem(source, key))
        args = []
    if s.type_lookup(self.cls, "__setitem__") is OrderedDict.__setitem__:
        _update(s, self, args, kwargs, "update")
        return NONE
    collected = dict_.new_dict(s)
    _update(s, collected, args, kwargs, "update")
    for key, value in full(s, collected).values():
        s.setitem(self, key, value)
    return NONE


def _is_asked(s: Services, source: Value) -> bool:
    """Whether an OrderedDict asks a mapping for its keys and items one by one, and somebody may see that."""
    found = s.type_lookup(source.cls, "keys"), s.type_lookup(source.cls, "__getitem__")
    return found[0] is not MISSING and found not in ((dict.keys, dict.__getitem__), (OrderedDict.keys, dict.__getitem__))


@method(defaultdict.__init__, "*args **")
def default_init(s: Services, self: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    assert isinstance(self, Ref)
    made = args[0] if args else NONE
    kind = s.force(made).cls
    if kind is not type(None) and not isinstance(made, Const) and s.special(made, "__call__") is None:
        s.raise_error(TypeError, "first argument must be callable or None")
    s.heap.set(self, FACTORY, made)
    _update(s, self, args[1:], kwargs, "dict")
    return NONE


@method(defaultdict.__missing__, "key /")
def default_missing(s: Services, self: Value, key: Value) -> Value:
    made = dict_.factory(s, self)
    if s.force(made).cls is type(None):
        s.raise_error(KeyError, key)
    value = s.call(made)
    s.setitem(self, key, value)
    return value


@method(dict.get, "key default= /")
def dict_get(s: Services, self: Value, key: Value, default: Value | None) -> Value:
    assert isinstance(self, Ref)
    found = lookup(s, self, key_in(s, self, key))
    return (default or NONE) if found is MISSING else found


@method(dict.setdefault, "key default= /")
def dict_setdefault(s: Services, self: Value, key: Value, default: Value | None) -> Value:
    assert isinstance(self, Ref)
    name = key_in(s, self, key)
    found = lookup(s, self, name)
    if found is not MISSING:
        return found
    store(s, self, name, default or NONE, key)
    return default or NONE


@method(OrderedDict.setdefault, "key default=")
def ordered_setdefault(s: Services, self: Value, key: Value, default: Value | None) -> Value:
    if s.type_lookup(self.cls, "__setitem__") is OrderedDict.__setitem__:
        return dict_setdefault(s, self, key, default)
    assert isinstance(self, Ref)
    if s.truth(s.contains(self, key)):
        return s.getitem(self, key)
    s.setitem(self, key, default or NONE)
    return default or NONE


@method(dict.pop, "key default= /")
def dict_pop(s: Services, self: Value, key: Value, default: Value | None) -> Value:
    assert isinstance(self, Ref)
    name = key_in(s, self, key)
    found = lookup(s, self, name)
    if found is MISSING:
        return default if default is not None else s.raise_error(KeyError, key)
    dict_.delete(s, self, name)
    return found


def _key_error(s: Services, key: Value) -> Value:
    """A KeyError made as OrderedDict makes it: a tuple gives all arguments, None gives none."""
    key = s.force(key)
    if issubclass(key.cls, tuple):
        return s.raise_error(KeyError, *s.unpack(key))
    return s.raise_error(KeyError, *([] if key.cls is type(None) else [key]))


@method(OrderedDict.pop, "key default=")
def ordered_pop(s: Services, self: Value, key: Value, default: Value | None) -> Value:
    assert isinstance(self, Ref)
    if default is None and lookup(s, self, key_in(s, self, key)) is MISSING:
        return _key_error(s, key)
    return dict_pop(s, self, key, default)


@method(dict.popitem)
def dict_popitem(s: Services, self: Value) -> Value:
    return _popitem(s, self, True)


@method(OrderedDict.popitem, "last=")
def ordered_popitem(s: Services, self: Value, last: Value | None) -> Value:
    return _popitem(s, self, last is None or s.truth(last))


def _popitem(s: Services, self: Value, last: bool) -> Value:
    assert isinstance(self, Ref)
    entries = dict(full(s, self))
    if not entries:
        kind = "dictionary" if issubclass(self.cls, OrderedDict) else "popitem(): dictionary"
        s.raise_error(KeyError, f"{kind} is empty")
    name = next(reversed(entries)) if last else next(iter(entries))
    entry = entries.pop(name)
    s.heap.set(self, ITEMS, entries)
    dict_.note_removal(s, self, name)
    return Pack(tuple, entry)


@method(OrderedDict.move_to_end, "key last=")
def move_to_end(s: Services, self: Value, key: Value, last: Value | None) -> Value:
    assert isinstance(self, Ref)
    name = key_in(s, self, key)
    entries = dict(full(s, self))
    if name not in entries:
        _key_error(s, key)
    entry = entries.pop(name)
    behind = last is None or s.truth(last)
    s.heap.set(self, ITEMS, {**entries, name: entry} if behind else {name: entry, **entries})
    return NONE


@method(dict.clear)
def dict_clear(s: Services, self: Value) -> Value:
    assert isinstance(self, Ref)
    full(s, self)
    s.heap.set(self, ITEMS, {})
    return NONE


@method(OrderedDict.clear)
def ordered_clear(s: Services, self: Value) -> Value:
    return dict_clear(s, self)


@method(dict.copy)
def dict_copy(s: Services, self: Value) -> Value:
    return dict_.copied(s, self)


@method(OrderedDict.copy)
def ordered_copy(s: Services, self: Value) -> Value:
    if self.cls is OrderedDict:
        return dict_.copy(s, self)
    result = s.call(Const(self.cls))
    for key, value in full(s, self).values():  # type: ignore[arg-type]
        s.setitem(result, key, value)
    return result


@method(defaultdict.copy)
def default_copy(s: Services, self: Value) -> Value:
    if self.cls is defaultdict:
        return dict_.copy(s, self)
    return s.call(Const(self.cls), [dict_.factory(s, self), self])


@method(defaultdict.__copy__)
def default_copy_protocol(s: Services, self: Value) -> Value:
    return default_copy(s, self)


@method(vars(dict)["fromkeys"], "iterable value= /")
def dict_fromkeys(s: Services, cls: Value, iterable: Value, value: Value | None) -> Value:
    return _fromkeys(s, cls, iterable, value)


@method(vars(OrderedDict)["fromkeys"], "iterable value=")
def ordered_fromkeys(s: Services, cls: Value, iterable: Value, value: Value | None) -> Value:
    return _fromkeys(s, cls, iterable, value)


def _fromkeys(s: Services, cls: Value, iterable: Value, value: Value | None) -> Value:
    kind = s.constant(cls)
    filling = value or NONE
    if kind is dict:
        return dict_.new_dict(s, [(key, filling) for key in s.each(iterable)])
    result = s.call(cls)
    for key in s.each(iterable):
        s.setitem(result, key, filling)
    return result
