"""Classes defined in the captured code: the body runs symbolically, a stand-in class answers look-ups, the exit makes the class.

The stand-in is a real class of the same bases whose functions are stand-ins for the captured ones; `trace.known` leads from
these to the values they stand for. Nothing but the capture ever sees it: `trace.classes` tells the exit how to make the class
of the run.
"""

from __future__ import annotations

import builtins
import collections
import types
from typing import Any

from framejit.core.heap import MISSING
from framejit.core.services import Pending, Services
from framejit.core.value import NONE, Const, Pack, Ref, Value
from framejit.objects.abstract import attribute
from framejit.objects.class_new import winner
from framejit.objects.object_ import stood_for
from framejit.objects.stand_in import made_of, stand_in
from framejit.reasons import R
from framejit.rules.registry import handler

TupleGetter: Any = collections._tuplegetter  # type: ignore[attr-defined]


@handler(builtins.__build_class__)
def build_class(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`class name(*bases, metaclass=m, **keywords): body`."""
    if len(args) < 2:
        return s.unsupported(R.BUILD_CLASS, None, "arguments")
    body, name, given = args[0], args[1], [s.force(base) for base in args[2:]]
    bases, keywords = _resolve(s, given), dict(kwargs)
    meta = s.force(keywords.pop("metaclass")) if "metaclass" in keywords else None
    if meta is None:
        meta = Const(bases[0].cls if bases else type)
    if isinstance(meta, Const) and issubclass(type(meta.obj), type):
        meta = Const(winner(s, meta.obj, [base.cls for base in bases]))
    namespace = _prepare(s, meta, name, bases, keywords)
    frame = s.tail_call(body)
    if not isinstance(frame, Pending):
        return s.unsupported(R.BUILD_CLASS, None, "the body is no function")
    frame.names = namespace  # type: ignore[attr-defined]
    cell = s.force(s.finish(frame))
    if bases is not given:
        s.setitem(namespace, Const("__orig_bases__"), Pack(tuple, tuple(given)))
    cls = s.force(s.call(meta, [name, Pack(tuple, tuple(bases)), namespace], keywords))
    if isinstance(cell, Ref) and cell.cls is types.CellType and isinstance(cls, Const) and issubclass(type(cls.obj), type):
        _check_cell(s, cell, cls, name)
    return cls


def _resolve(s: Services, given: list[Value]) -> list[Value]:
    """The bases, each that is no class replaced by what its `__mro_entries__` gives."""
    bases: list[Value] = []
    changed = False
    for base in given:
        hook = None if isinstance(base, Const) and issubclass(type(base.obj), type) else attribute(s, base, "__mro_entries__")
        if hook is None:
            bases.append(base)
            continue
        entries = s.force(s.call(hook, [Pack(tuple, tuple(given))]))
        if not issubclass(entries.cls, tuple):
            s.raise_error(TypeError, "__mro_entries__ must return a tuple")
        bases += [s.force(entry) for entry in s.unpack(entries)]
        changed = True
    return bases if changed else given


def _prepare(s: Services, meta: Value, name: Value, bases: list[Value], keywords: dict[str, Value]) -> Value:
    hook = attribute(s, meta, "__prepare__")
    if hook is None:
        return s.heap.new(dict, {s.heap.ITEMS: {}})
    namespace = s.force(s.call(hook, [name, Pack(tuple, tuple(bases))], keywords))
    if s.type_lookup(namespace.cls, "__getitem__") is MISSING:
        owner = meta.obj.__name__ if isinstance(meta, Const) and issubclass(type(meta.obj), type) else "<metaclass>"
        s.raise_error(TypeError, f"{owner}.__prepare__() must return a mapping, not {namespace.cls.__name__}")
    return namespace


def _check_cell(s: Services, cell: Ref, cls: Const, name: Value) -> None:
    found = attribute(s, cell, "cell_contents") if s.heap.get(cell, ("contents",)) not in (None, MISSING) else None
    if found is None:
        text = f"__class__ not set defining {s.constant(name)!r} as {cls.obj!r}. Was __classcell__ propagated to type.__new__?"
        s.raise_error(RuntimeError, text)
    elif not s.is_same(found, cls):
        s.raise_error(TypeError, f"__class__ set to {s.constant(found)!r} defining {s.constant(name)!r} as {cls.obj!r}")


# -- staticmethod, classmethod, property ------------------------------------------------------------------------------


def _wrapper(kind: Any) -> Any:
    """The handler of staticmethod, classmethod and property: a real one around stand-ins."""

    def make_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        given = [s.force(arg) for arg in args]
        names = {name: s.force(value) for name, value in kwargs.items()}
        try:
            real = kind(*(stand_in(s, value) for value in given), **{name: stand_in(s, value) for name, value in names.items()})
        except TypeError as error:
            return s.raise_error(TypeError, *error.args)
        made = made_of(s, real, kind, tuple(given), names)
        if kind is not property:
            _copy_attributes(s, real, given[0])
        return made

    return make_


def _copy_attributes(s: Services, real: Any, function: Value) -> None:
    """What staticmethod and classmethod copy from their function, whose stand-in does not have it."""
    entries = {}
    for name, found in vars(real).items():
        value = attribute(s, function, name)
        entries[name] = (Const(name), stood_for(s, found) if value is None else value)
    s.trace.trail.put(s.trace.cache, ("namespace", id(real)), (s.heap.new(dict, {s.heap.ITEMS: entries}), entries))


for _kind in (staticmethod, classmethod, property):
    handler(_kind)(_wrapper(_kind))


@handler(TupleGetter)
def tuple_getter(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The descriptor of a field of a named tuple."""
    if len(args) != 2 or kwargs or not all(s.is_constant(arg) for arg in args):
        return s.unsupported(R.OPAQUE_CALL, TupleGetter, "arguments")
    return made_of(s, TupleGetter(*map(s.constant, args)), TupleGetter, tuple(args))


def _changed(place: int) -> Any:
    """property.getter, setter and deleter: another property with one function replaced."""

    def make_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        old = s.force(args[0])
        if len(args) != 2 or kwargs or not isinstance(old, Const) or type(old.obj) is not property:
            return s.unsupported(R.OPAQUE_CALL, property, "arguments")
        known = s.trace.wrappers.get(id(old.obj))
        parts: list[Value]
        if known is None:
            own = old.obj.__doc__ is not getattr(old.obj.fget, "__doc__", None)
            parts = [Const(part) for part in (old.obj.fget, old.obj.fset, old.obj.fdel, old.obj.__doc__ if own else None)]
        else:
            names = ("fget", "fset", "fdel", "doc")
            parts = [known[2][index] if index < len(known[2]) else known[3].get(name, NONE) for index, name in enumerate(names)]
        parts[place] = args[1]
        return s.call(Const(property), parts)

    return make_


for _place, _name in enumerate(("getter", "setter", "deleter")):
    handler(getattr(property, _name))(_changed(_place))

