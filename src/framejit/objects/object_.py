"""Attributes of objects of all kinds: CPython's `object` and the descriptor protocol, symbolically."""

from __future__ import annotations

import enum
import functools
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

from torch.backends import ContextProp

from framejit import _C
from framejit.core.errors import Raised
from framejit.core.guard import EmptySlot
from framejit.core.heap import MISSING, Heap
from framejit.core.path import ATTR, DICT, MEMBER, Path
from framejit.core.services import Pending, Services
from framejit.core.value import NONE, Const, Node, Number, Pack, Ref, Value, bool_const
from framejit.objects.dict_ import delete, lookup, realize_dict, store
from framejit.objects.exact import defines, type_name
from framejit.objects.later import default_repr
from framejit.objects.lineage import class_of, is_descendant, may_change, note_getset, note_kind, order
from framejit.objects.model import Model, by_type, model, model_of
from framejit.reasons import R

HEAP_TYPE, IMMUTABLE_TYPE = 1 << 9, 1 << 8
HOLDS_OTHERS = 1 << 14  # Py_TPFLAGS_HAVE_GC
DICT_FIELD, REFERENT = ("dict",), ("referent",)  # the second of a weak reference
ITEMS = Heap.ITEMS
PLAIN = (int, float, str, bytes, bool, complex, types.NoneType, types.EllipsisType, types.NotImplementedType)
CLASS_METHODS = (classmethod, types.ClassMethodDescriptorType)
OVERRIDES = "class attributes"  # in the cache of the trace: (class, name) -> what the program wrote there, MISSING: deleted
C_METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType)


FORWARDING = (weakref.ProxyType, weakref.CallableProxyType, threading.local)  # their attributes are those of other objects


class StandIn:
    """Stands for a value in the namespace of a class that the captured code defined."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


def is_own_slot(found: Any, cls: type, name: str) -> bool:
    """Whether a special method is the C code of a base that CPython calls without a look-up: under its own name, for its own objects."""
    kind = type(found)
    if kind in C_METHODS:
        return found.__name__ == name and found.__objclass__ in cls.__mro__
    return kind is types.BuiltinFunctionType and found.__self__ in cls.__mro__


def captured(s: Services, real: Any, path: Path | None = None) -> Value:
    """The constant for a function found in a class, or the captured function that it stands for."""
    known = s.trace.known.get(id(real)) if s.trace.classes or s.trace.wrappers else None
    return known if known is not None and known.cls is types.FunctionType else Const(real, path)


def stood_for(s: Services, found: Any) -> Value:
    """The value of an object found in the dict of a class or in a descriptor."""
    if type(found) is StandIn:
        return found.value
    if issubclass(type(found), PLAIN):
        return s.wrap(found)
    known = s.trace.wrappers.get(id(found))
    if known is not None and known[0].obj is found:
        return known[0]
    path = s.trace.roots.const(found)
    return captured(s, found, path) if type(found) is types.FunctionType else s.input(path, found)


def kind_of(found: Any) -> type:
    """The class of what stands in the dict of a class."""
    return found.value.cls if type(found) is StandIn else type(found)


_DATA_DESCRIPTORS: dict[type, bool] = {}


def is_data_descriptor(s: Services, found: Any) -> bool:
    """Whether a class attribute goes before the instance dict."""
    kind = kind_of(found)
    if may_change(kind):
        if type(found) is not StandIn:
            note_kind(s, s.trace.roots.const(found), found)
        return any(type_lookup(s, kind, name) is not MISSING for name in ("__set__", "__delete__"))
    known = _DATA_DESCRIPTORS.get(kind)  # such a type cannot change
    if known is None:
        known = _DATA_DESCRIPTORS[kind] = defines(kind, "__set__") or defines(kind, "__delete__")
    return known


def _overridden(overrides: dict[Any, Any], cls: type, name: str) -> Any:
    """What the MRO holds after the program has written to classes that exist."""
    for base in cls.__mro__:
        found = overrides.get((base, name))
        if found is None:
            found = base.__dict__.get(name, MISSING)
        if found is not MISSING:
            return found
    return MISSING


PLAIN_NAMES = "classes whose names are all strings"  # in the cache of the trace: their ids


def _look_through(s: Services, known: set[int], cls: type) -> None:
    """Refuse a class with names that user code compares."""
    if cls.__flags__ & HEAP_TYPE and any(type(name) is not str for name in cls.__dict__):
        s.unsupported(R.UNKNOWN_TYPE, None, "a class with names that are no strings")
    known.add(id(cls))


def type_lookup(s: Services, cls: type, name: str) -> Any:
    """What the MRO of `cls` holds under `name`, guarded unless the type cannot change; MISSING if nothing."""
    rows = s.trace.type_rows
    found = rows.get((cls, name), rows)
    if found is not rows:
        return found
    plain = s.trace.cache.get(PLAIN_NAMES)
    if plain is None:
        plain = s.trace.cache[PLAIN_NAMES] = set()
    for base in cls.__mro__:
        if id(base) not in plain:
            _look_through(s, plain, base)
        found = base.__dict__.get(name, MISSING)
        if found is not MISSING:
            break
    else:
        found = MISSING
    if cls.__flags__ & HEAP_TYPE and not cls.__flags__ & IMMUTABLE_TYPE:
        s.trace.guard_type_attr(cls, name, found, s.where())  # type: ignore[attr-defined]
    overrides = s.trace.cache.get(OVERRIDES)
    if overrides:
        found = _overridden(overrides, cls, name)
        s.trace.trail.put(rows, (cls, name), found)
    return found


def path_of(s: Services, value: Value) -> Path | None:
    """Where a value is found; constants that were not read anywhere are found by themselves."""
    if isinstance(value, Const):
        return value.path or s.trace.roots.const(value.obj)
    return getattr(value, "path", None)


def dict_of(s: Services, value: Value) -> Ref | None:
    """The instance dict of an object as a dict Ref; None where it has none."""
    value = s.force(value)
    if isinstance(value, Ref):
        known = s.heap.get(value, DICT_FIELD)
        if known is not None:
            return known
        if not value.cls.__dictoffset__:
            return None
        if value.path is None:
            found = s.heap.new(dict, {s.heap.ITEMS: {}})
        else:
            found = realize_dict(s, value.path.to(DICT), _C.instance_dict(value.real))
        return s.heap.load(value, DICT_FIELD, found)
    if isinstance(value, Node):
        namespace = getattr(value.real, "__dict__", None)
        return realize_dict(s, value.path.to(ATTR, "__dict__"), namespace) if namespace and value.path is not None else None
    if isinstance(value, Const):
        is_instance = type(value.obj).__dictoffset__ and not issubclass(type(value.obj), type)
        namespace = _C.instance_dict(value.obj) if is_instance else None
        if type(namespace) is dict:
            if id(value.obj) in s.trace.wrappers:
                return _dict_of_wrapper(s, value.obj, namespace)
            path = path_of(s, value)
            assert path is not None
            return realize_dict(s, path.to(DICT), namespace)
    return None


def guard_bare(s: Services, path: Path, real: Any) -> None:
    """A real tuple or frozenset of a user's class: its own attributes are not known to the value that stands for it."""
    if type(real).__dictoffset__:
        if _C.instance_dict(real):
            s.unsupported(R.UNKNOWN_TYPE, real, "an immutable object with attributes of its own")
        s.guard(path.to(DICT), "LEN", 0)


def _dict_of_wrapper(s: Services, obj: Any, namespace: dict[str, Any]) -> Ref:
    """The dict of what was made of stand-ins; the exit finds in the cache what to write to the other."""
    key = ("namespace", id(obj))
    known = s.trace.cache.get(key)
    if known is None:
        entries = {name: (Const(name), stood_for(s, found)) for name, found in namespace.items()}
        known = s.heap.new(dict, {ITEMS: entries}), entries
        s.trace.trail.put(s.trace.cache, key, known)
    found: Ref = known[0]
    return found


# -- reading ----------------------------------------------------------------------------------------------------------


def getattr_(s: Services, value: Value, name: str) -> Value:
    return s.finish(getattr_tail(s, value, name))


def getattr_tail(s: Services, value: Value, name: str) -> Value | Pending:
    """`value.name`; ends in a pending frame where a property or `__getattr__` in Python computes it."""
    v = s.force(value)
    try:
        found = _look_up(s, v, name)
    except Raised as raised:
        note_look_up(s, raised.value, v, name)
        raise
    if isinstance(found, Pending) and found.asked is None:  # type: ignore[attr-defined]
        step = s.steps  # type: ignore[attr-defined]
        found.asked = (v, name, step)  # type: ignore[attr-defined]
        if ("at once", step) in s.decisions:  # type: ignore[attr-defined]
            return s.finish(found)
    return found


def note_look_up(s: Services, raised: Value, v: Value, name: str) -> None:
    """An AttributeError that a look-up lets through is told the object and the name, unless it knows of others."""
    if isinstance(raised, Ref) and raised.path is None and issubclass(raised.cls, AttributeError):
        if all(s.heap.get(raised, (field,)) in (None, NONE) for field in ("name", "obj")):
            s.heap.set(raised, ("name",), Const(name))
            s.heap.set(raised, ("obj",), v)


def _look_up(s: Services, v: Value, name: str) -> Value | Pending:
    if isinstance(v, Const):
        if issubclass(type(v.obj), types.ModuleType):
            if not is_own_slot(type_lookup(s, type(v.obj), "__getattribute__"), type(v.obj), "__getattribute__"):
                return s.unsupported(R.ATTRIBUTE_OF_OPAQUE, v, "a module with __getattribute__")
            return _module_attribute(s, v, name)
        if issubclass(type(v.obj), type):
            note_kind(s, v.path or s.trace.roots.const(v.obj), v.obj)
            custom = type_lookup(s, type(v.obj), "__getattribute__")
            if isinstance(custom, types.FunctionType):
                return s.tail_call(bind(s, s.trace.roots.const(custom), custom, v), [Const(name)])
            return type_attribute(s, v, name)
    elif isinstance(v, Pack) and v.cls is super:
        return super_attribute(s, v, name)
    elif isinstance(v, Pack) and v.cls is types.MethodType and (name == "__doc__" or type_lookup(s, v.cls, name) is MISSING):
        return getattr_tail(s, v.items[0], name)
    custom = type_lookup(s, v.cls, "__getattribute__")
    if type(custom) is types.WrapperDescriptorType and custom.__objclass__ in FORWARDING:
        forward = getattr(model_of(v.cls), "forward", None)
        return s.unsupported(R.ATTRIBUTE_OF_OPAQUE, v, name) if forward is None else forward(s, v, name)
    try:
        found: Value | Pending | None
        if not is_own_slot(custom, v.cls, "__getattribute__"):
            found = s.tail_call(s.finish(bind(s, s.trace.roots.const(custom), custom, v)), [Const(name)])
        else:
            found = generic_attribute(s, v, name)
        if isinstance(found, Pending) and type_lookup(s, v.cls, "__getattr__") is not MISSING:
            found = s.finish(found)  # not resumable: its AttributeError is caught here
    except Raised as raised:
        if not issubclass(s.exception_type(raised.value), AttributeError) or type_lookup(s, v.cls, "__getattr__") is MISSING:
            raise
        found = None
    if found is not None:
        return found
    fallback = type_lookup(s, v.cls, "__getattr__")
    if fallback is not MISSING:
        return s.tail_call(s.finish(bind(s, s.trace.roots.const(fallback), fallback, v)), [Const(name)])
    if isinstance(v, Node) and v.path is not None:  # an attribute set on the tensor itself
        s.guard(v.path.to(ATTR, "__dict__"), "DICT_MISSING", name)
    return no_attribute(s, v, name)


def no_attribute(s: Services, v: Value, name: str) -> Value:
    """The AttributeError of a look-up that found nothing."""
    try:
        return _no_attribute(s, f"'{type_name(v.cls)}' object has no attribute '{name}'")
    except Raised as raised:
        note_look_up(s, raised.value, v, name)
        raise


def _no_attribute(s: Services, text: str) -> Value:
    return s.raise_error(AttributeError, text)


def generic_attribute(s: Services, v: Value, name: str) -> Value | Pending | None:
    """object.__getattribute__: data descriptor, instance dict, other class attribute; None if there is none."""
    found = type_lookup(s, v.cls, name)
    if found is not MISSING and is_data_descriptor(s, found):
        return get_descriptor(s, v, name, found)
    namespace = dict_of(s, v)
    if namespace is not None:
        item = lookup(s, namespace, name)
        if item is not MISSING:
            return item
    if found is MISSING:
        return None
    special_case = model_of(v.cls).attribute(s, v, name, found)
    if special_case is not None:
        return special_case
    return bind(s, s.trace.roots.const(found), found, v)


def get_descriptor(s: Services, v: Value, name: str, found: Any) -> Value | Pending:
    """Ask a data descriptor of v's class."""
    if issubclass(type(found), property):
        if found.fget is None:
            return _property_error(s, found, v, property.__get__)
        return s.tail_call(stood_for(s, found.fget), [v])
    if name == "__dict__" and (isinstance(v, Ref) or (isinstance(v, Const) and id(v.obj) in s.trace.wrappers)):
        namespace = dict_of(s, v)
        if namespace is not None:
            return namespace
    if issubclass(type(found), types.MemberDescriptorType) and isinstance(v, Ref):
        return _read_slot(s, v, name, found)
    if name == "__class__" and found is object.__dict__["__class__"]:
        return class_of(s, v)
    known = model_of(v.cls).attribute(s, v, name, found)
    if known is not None:
        return known
    if issubclass(type(found), (types.GetSetDescriptorType, types.MemberDescriptorType)):
        return _read_getset(s, v, name)
    getter = type_lookup(s, kind_of(found), "__get__")
    if isinstance(getter, types.FunctionType):
        return s.tail_call(stood_for(s, getter), [stood_for(s, found), v, Const(v.cls)])
    if getter is MISSING:  # it only writes
        namespace = dict_of(s, v)
        item = MISSING if namespace is None else lookup(s, namespace, name)
        return stood_for(s, found) if item is MISSING else item
    return s.unsupported(R.ATTRIBUTE_OF_OPAQUE, v, name)


def _set_nothing(found: property, obj: Any) -> None:
    property.__set__(found, obj, None)


def _property_error(s: Services, found: property, v: Value, use: Callable[[property, Any], Any]) -> Value:
    """The AttributeError of a property without the function that is needed: only C code knows the property's name."""
    nobody = type(v.cls.__name__, (), {"__qualname__": v.cls.__qualname__})()
    try:
        use(found, nobody)
    except AttributeError as error:
        return _no_attribute(s, error.args[0])
    return s.unsupported(R.ATTRIBUTE_OF_OPAQUE, v, "property")


def _read_slot(s: Services, v: Ref, name: str, found: Any) -> Value:
    item = s.heap.get(v, found)
    if item is None and v.path is not None:
        try:
            real = found.__get__(v.real, type(v.real))
        except AttributeError:
            empty = s.trace.cache.setdefault(("empty", found), EmptySlot(found))
            s.guard(v.path, "PY", empty)
            item = s.heap.load(v, found, MISSING)
        else:
            item = s.heap.load(v, found, s.input(v.path.to(MEMBER, found), real))
    if item is None:
        item = model_of(v.cls).attribute(s, v, name, found)
    if item is None or item is MISSING:
        return _no_attribute(s, f"'{type_name(v.cls)}' object has no attribute '{name}'")
    return item


def _first_reference(s: Services, v: Ref) -> Value:
    """`__weakref__` of an object born in the capture: the reference that all share, or None where there is none at all."""
    plain = s.trace.cache.get((REFERENT, v))
    found = [ref for ref, table in s.heap.fields.items() if table.get(REFERENT) is v and ref is not plain]
    if found:
        return s.unsupported(R.ATTRIBUTE_OF_OPAQUE, v, "__weakref__")
    return NONE if plain is None else plain


def _read_getset(s: Services, v: Value, name: str) -> Value:
    """An attribute computed by C code: read from the real object, guarded by what was read."""
    if name == "__weakref__" and isinstance(v, Ref) and v.virtual:
        return _first_reference(s, v)
    path = path_of(s, v) if not isinstance(v, Pack) or v.path is not None else None
    if isinstance(v, Const) and v.path is None and issubclass(type(v.obj), PLAIN):
        return s.wrap(getattr(v.obj, name))
    real = v.obj if isinstance(v, Const) else getattr(v, "real", None)
    asks = not is_own_slot(type_lookup(s, v.cls, "__getattribute__"), v.cls, "__getattribute__")
    if path is None or real is None or asks:
        return s.unsupported(R.ATTRIBUTE_OF_OPAQUE, v, name)
    return s.input(path.to(ATTR, name), getattr(real, name))


def bind(s: Services, path: Path, found: Any, v: Value, owner: type | None = None) -> Any:
    """What a class attribute gives when read through an instance `v`."""
    kind = type(found)
    if kind is types.FunctionType:
        return Pack(types.MethodType, (captured(s, found, path), v))
    if kind in C_METHODS:
        return Pack(types.BuiltinMethodType if kind is types.MethodDescriptorType else types.MethodWrapperType, (Const(found), v))
    if kind is staticmethod:
        return stood_for(s, found.__func__)
    if kind is classmethod:
        return bind_class(s, found, Const(owner or v.cls))
    if kind is types.ClassMethodDescriptorType:
        return _c_class_method(s, found, owner or v.cls)
    if kind is property:
        return s.tail_call(stood_for(s, found.fget), [v])
    if kind is functools.cached_property:
        return _cached_property(s, found, v)
    return bind_object(s, stood_for(s, found), kind_of(found), v, Const(owner or v.cls))


def bind_object(s: Services, found: Value, kind: type, v: Value, owner: Value) -> Any:
    """What an object of any other kind in a class gives; `v` is None where it is read through the class."""
    if kind in (types.MethodType, types.BuiltinFunctionType, types.BuiltinMethodType):
        return found
    if kind is types.FunctionType:
        return found if v is NONE else Pack(types.MethodType, (found, v))
    getter = type_lookup(s, kind, "__get__")
    if getter is MISSING:
        return found
    if isinstance(getter, types.FunctionType):
        return s.tail_call(stood_for(s, getter), [found, v, owner])
    if kind is functools._lru_cache_wrapper:
        return found if v is NONE else Pack(types.MethodType, (found, v))
    return s.unsupported(R.ATTRIBUTE_OF_OPAQUE, v, kind.__name__)


def _c_class_method(s: Services, found: Any, owner: type) -> Value:
    """A class method in C bound to a class, which may be one that the captured code defines."""
    made = Const(found.__get__(None, owner))
    if owner in s.trace.classes:
        s.trace.trail.put(s.trace.wrappers, id(made.obj), (made, getattr, (Const(owner), Const(found.__name__)), {}))
    return made


def bind_class(s: Services, found: classmethod[Any, Any, Any], cls: Value) -> Any:
    """A class method bound to a class."""
    real: Any = found.__func__
    inner, kind = stood_for(s, real), kind_of(real)
    if kind is property:
        return s.tail_call(stood_for(s, real.fget), [cls])
    if kind is not types.FunctionType and type_lookup(s, kind, "__get__") is not MISSING:
        return s.unsupported(R.ATTRIBUTE_OF_OPAQUE, cls, "class method of a descriptor")
    return Pack(types.MethodType, (inner, cls))


def _cached_property(s: Services, found: Any, v: Value) -> Value:
    namespace = dict_of(s, v)
    if namespace is None:
        return s.unsupported(R.ATTRIBUTE_OF_OPAQUE, v, "cached_property")
    known = lookup(s, namespace, found.attrname)
    if known is not MISSING:
        return known
    result = s.call(Const(found.func), [v])
    store(s, namespace, found.attrname, result)
    return result


def _module_class_attribute(s: Services, v: Const, name: str) -> Value:
    """What a class of modules has under the name goes the way of all objects, unless it lets an AttributeError through."""
    try:
        found = generic_attribute(s, v, name)
        assert found is not None
        return s.finish(found)
    except Raised as raised:
        if issubclass(s.exception_type(raised.value), AttributeError):
            s.unsupported(R.ATTRIBUTE_OF_OPAQUE, v, name)
        raise


def _module_attribute(s: Services, v: Const, name: str) -> Value | Pending:
    namespace = dict_of(s, v)
    found = type_lookup(s, type(v.obj), name) if type(v.obj) is not types.ModuleType else MISSING
    if namespace is None or issubclass(kind_of(found), (types.GetSetDescriptorType, types.MemberDescriptorType, ContextProp)):
        return s.input(path_of(s, v).to(ATTR, name), getattr(v.obj, name))  # type: ignore[union-attr]
    if found is not MISSING:
        return _module_class_attribute(s, v, name)
    item = lookup(s, namespace, name)
    if item is not MISSING:
        return item
    s.guard(path_of(s, v), "TYPE", type(v.obj))  # another class may know the name
    if name == "__dict__":
        return namespace
    if name == "__class__":
        return Const(type(v.obj))
    hook = lookup(s, namespace, "__getattr__")
    if hook is not MISSING:
        return s.tail_call(hook, [Const(name)])
    of_class = type_lookup(s, type(v.obj), "__getattr__")
    if of_class is not MISSING:
        return s.tail_call(bind(s, s.trace.roots.const(of_class), of_class, v), [Const(name)])
    own = lookup(s, namespace, "__name__")
    own = "" if own is MISSING or s.force(own).cls is not str else f"'{s.constant(own)}' "
    return _no_attribute(s, f"module {own}has no attribute '{name}'")


TYPE_GETSETS = {"__name__", "__qualname__", "__module__", "__bases__", "__mro__", "__base__", "__doc__", "__flags__", "__abstractmethods__"}


def type_attribute(s: Services, v: Const, name: str) -> Value | Pending:
    """What is read of a class: by `type.__getattribute__`, unless the metaclass puts another in its place."""
    custom = type_lookup(s, type(v.obj), "__getattribute__")
    if isinstance(custom, types.FunctionType):
        try:
            return s.finish(s.tail_call(bind(s, s.trace.roots.const(custom), custom, v), [Const(name)]))
        except Raised as raised:
            if not issubclass(s.exception_type(raised.value), AttributeError) or type_lookup(s, type(v.obj), "__getattr__") is MISSING:
                raise
        return _of_metaclass_hook(s, v, name)
    return own_type_attribute(s, v, name)


def own_type_attribute(s: Services, v: Const, name: str, hook: bool = True) -> Value | Pending:
    """type.__getattribute__, and the metaclass's `__getattr__` where it finds nothing."""
    cls = v.obj
    meta = type(cls)
    of_meta = type_lookup(s, meta, name)
    if name == "__class__":
        return Const(meta)
    if of_meta is not MISSING and is_data_descriptor(s, of_meta) and type_lookup(s, kind_of(of_meta), "__get__") is not MISSING:
        special_case = model_of(meta).attribute(s, v, name, of_meta)
        if special_case is not None:
            return special_case
        if name in TYPE_GETSETS:
            note_getset(s, cls, name)
            try:
                present = type.__getattribute__(cls, name)
                return stood_for(s, present) if isinstance(present, (StandIn, types.FunctionType)) else s.wrap(present)
            except AttributeError as error:
                if hook and type_lookup(s, meta, "__getattr__") is not MISSING:
                    return _of_metaclass_hook(s, v, name)
                return _no_attribute(s, error.args[0])
        return get_descriptor(s, v, name, of_meta)
    found = type_lookup(s, cls, name)
    if found is not MISSING:
        return _of_class(s, v, name, found)
    if of_meta is not MISSING:
        return bind(s, s.trace.roots.const(of_meta), of_meta, v)
    if hook and type_lookup(s, meta, "__getattr__") is not MISSING:
        return _of_metaclass_hook(s, v, name)
    return _no_attribute(s, f"type object '{type_name(cls)}' has no attribute '{name}'")


def _of_metaclass_hook(s: Services, v: Const, name: str) -> Value | Pending:
    hook = type_lookup(s, type(v.obj), "__getattr__")
    return s.tail_call(bind(s, s.trace.roots.const(hook), hook, v), [Const(name)])


def _of_class(s: Services, v: Const, name: str, found: Any) -> Value | Pending:
    """A class attribute read through the class."""
    kind = type(found)
    path = s.trace.roots.const(found)
    if kind is types.FunctionType:
        return captured(s, found, path)
    if kind is staticmethod:
        return stood_for(s, found.__func__)
    if kind is classmethod:
        return bind_class(s, found, v)
    if kind in C_METHODS or kind is property or kind is types.MemberDescriptorType or kind is types.GetSetDescriptorType:
        return stood_for(s, found)
    if kind is types.ClassMethodDescriptorType:
        return _c_class_method(s, found, v.obj)
    if kind is StandIn:
        return bind_object(s, found.value, found.value.cls, NONE, v)
    getter = type_lookup(s, kind, "__get__")
    if isinstance(getter, types.FunctionType):
        if v.obj not in s.trace.classes and (issubclass(type(v.obj), enum.EnumMeta) or kind is enum.property):
            return _real_attribute(s, v, name)
        return s.tail_call(stood_for(s, getter), [s.input(path, found), NONE, v])
    if getter is not MISSING and kind is not types.BuiltinFunctionType:
        return _real_attribute(s, v, name)
    return stood_for(s, found)


def _real_attribute(s: Services, v: Const, name: str) -> Value:
    try:
        return s.wrap(getattr(v.obj, name))
    except AttributeError as error:
        return _no_attribute(s, *error.args)


def super_attribute(s: Services, v: Pack, name: str) -> Value | Pending:
    """Attribute look-up behind a class in the MRO."""
    start, self, owner = v.items
    cls, of = s.constant(owner), s.constant(start)
    mro = order(s, cls)
    for base in mro[mro.index(of) + 1 :]:
        found = base.__dict__.get(name, MISSING)
        type_lookup(s, base, name)  # guarded: nothing comes before what is found
        if found is not MISSING:
            receiver = s.force(self)
            if isinstance(receiver, Const) and issubclass(type(receiver.obj), type) and not issubclass(type(found), CLASS_METHODS):
                if issubclass(type(found), staticmethod):
                    return stood_for(s, found.__func__)
                if not is_descendant(s, receiver.cls, of):
                    return _of_class(s, receiver, name, found)
            if issubclass(type(found), types.MemberDescriptorType):
                return get_descriptor(s, receiver, name, found)
            if name == "__class__":
                return Const(super)
            return bind(s, s.trace.roots.const(found), found, receiver, cls)
    return _no_attribute(s, f"'super' object has no attribute '{name}'")


def special(s: Services, value: Value, name: str) -> Value | None:
    """A special method bound to the value, looked up on its type; None where the type has none."""
    v = s.force(value)
    found = type_lookup(s, v.cls, name)
    if found is MISSING or found is None:
        return None
    return s.finish(bind(s, s.trace.roots.const(found), found, v))


# -- writing ----------------------------------------------------------------------------------------------------------


def setattr_(s: Services, value: Value, name: str, new: Value) -> None:
    v = s.force(value)
    custom = type_lookup(s, v.cls, "__setattr__")
    if not is_own_slot(custom, v.cls, "__setattr__"):
        s.call(bind(s, s.trace.roots.const(custom), custom, v), [Const(name), new])
        return
    generic_store(s, v, name, new)


def delattr_(s: Services, value: Value, name: str) -> None:
    v = s.force(value)
    custom = type_lookup(s, v.cls, "__delattr__")
    if not is_own_slot(custom, v.cls, "__delattr__"):
        s.call(bind(s, s.trace.roots.const(custom), custom, v), [Const(name)])
        return
    generic_store(s, v, name, None)


def generic_store(s: Services, v: Value, name: str, new: Value | None) -> None:
    """object.__setattr__ and object.__delattr__ (`new` is None)."""
    found = type_lookup(s, v.cls, name)
    if found is not MISSING and is_data_descriptor(s, found):
        _store_descriptor(s, v, name, found, new)
        return
    namespace = dict_of(s, v)
    if namespace is None:
        if model_of(v.cls).set_attribute(s, v, name, found, new):
            return
        if isinstance(v, (Node, Number)) or found is not MISSING or v.cls.__dictoffset__:
            s.unsupported(R.STORE_TO_OPAQUE, v, name)
        _no_attribute(s, f"'{type_name(v.cls)}' object has no attribute '{name}'")
    elif new is not None:
        store(s, namespace, name, new)
    elif not delete(s, namespace, name):
        _no_attribute(s, f"'{type_name(v.cls)}' object has no attribute '{name}'")


def _store_descriptor(s: Services, v: Value, name: str, found: Any, new: Value | None) -> None:
    if issubclass(type(found), property):
        setter = found.fset if new is not None else found.fdel
        if setter is None:
            _property_error(s, found, v, property.__delete__ if new is None else _set_nothing)
        s.call(stood_for(s, setter), [v] if new is None else [v, new])
        return
    slot = issubclass(type(found), types.MemberDescriptorType) and isinstance(v, Ref) and "__slots__" in vars(found.__objclass__)
    if not slot and model_of(v.cls).set_attribute(s, v, name, found, new):
        return
    if slot:
        _store_slot(s, v, name, found, new)  # type: ignore[arg-type]
        return
    if name == "__dict__" and new is not None and isinstance(v, Ref) and type(found) is types.GetSetDescriptorType and v.cls.__dictoffset__:
        set_dict(s, v, new)
        return
    method = type_lookup(s, kind_of(found), "__set__" if new is not None else "__delete__")
    if isinstance(method, types.FunctionType):
        holder = stood_for(s, found)
        s.call(stood_for(s, method), [holder, v] if new is None else [holder, v, new])
        return
    if method is MISSING:
        _no_attribute(s, "__set__" if new is not None else "__delete__")
    s.unsupported(R.STORE_TO_OPAQUE, v, name)


def set_dict(s: Services, v: Ref, new: Value) -> None:
    """Another dict for an object."""
    namespace = s.force(new)
    if not isinstance(namespace, Ref) or not issubclass(namespace.cls, dict):
        s.raise_error(TypeError, f"__dict__ must be set to a dictionary, not a '{type_name(namespace.cls)}'")
    dict_of(s, v)
    s.heap.set(v, DICT_FIELD, namespace)


def _store_slot(s: Services, v: Ref, name: str, found: Any, new: Value | None) -> None:
    if new is None:
        try:
            _read_slot(s, v, name, found)
        except Raised:
            s.raise_error(AttributeError, name)
    s.heap.set(v, found, MISSING if new is None else new)


# -- the default model ------------------------------------------------------------------------------------------------


def text(s: Services, value: Value, function: Callable[[Any], str]) -> Value:
    """repr or str of an object whose class does not define it in Python."""
    shown = getattr(model_of(value.cls), "text", None)
    if shown is not None:
        return shown(s, value, function)
    found = type_lookup(s, value.cls, "__str__")
    if function is repr or found is object.__str__:
        found = type_lookup(s, value.cls, "__repr__")
    if found is object.__repr__:
        return default_repr(s, value)
    return s.call(Const(found), [value])


BINARY_NAMES = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
    "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
COMPARE_NAMES = {"<": "__lt__", "<=": "__le__", "==": "__eq__", "!=": "__ne__", ">": "__gt__", ">=": "__ge__"}


@model(object)
class ObjectModel(Model):
    """Instances of classes without a model of their own."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        cls = type(real)
        immutable = not cls.__flags__ & (HEAP_TYPE | HOLDS_OTHERS) and not cls.__dictoffset__ and cls.__hash__ is object.__hash__
        if enum.Enum in cls.__mro__ or (immutable and not s.is_another(path, real, cls)):  # type: ignore[attr-defined]
            s.guard(path, "IS", real)  # singletons and other objects of C types that are nothing but themselves
            note_kind(s, path, real)
            return Const(real, path)
        return by_type(s, path, real)

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        self._not_in_c(s, v, COMPARE_NAMES[symbol], object.__dict__[COMPARE_NAMES[symbol]])
        if symbol == "==":
            return bool_const(True) if s.is_same(v, other) else None
        return None

    def binary(self, s: Services, symbol: str, left: Value, right: Value, reflected: bool) -> Value | None:
        name = BINARY_NAMES[symbol.removesuffix("=")]
        prefix = "r" if reflected else "i" if symbol.endswith("=") else ""
        self._not_in_c(s, right if reflected else left, f"__{prefix}{name}__")
        return None

    def len(self, s: Services, v: Value) -> Value | None:
        self._not_in_c(s, v, "__len__")
        return None

    def truth(self, s: Services, v: Value) -> bool | None:
        self._not_in_c(s, v, "__bool__")
        return None

    def contains(self, s: Services, v: Value, item: Value) -> Value | None:
        self._not_in_c(s, v, "__contains__")
        return None

    def _not_in_c(self, s: Services, v: Value, name: str, default: Any = MISSING) -> None:
        """End the region where C code that is not modelled implements the slot."""
        if type_lookup(s, v.cls, name) not in (default, MISSING):
            s.unsupported(R.OPAQUE_OPERATION, v, name)

    def hash_key(self, s: Services, v: Value) -> Any:
        if type_lookup(s, v.cls, "__hash__") is object.__hash__ and type_lookup(s, v.cls, "__eq__") is object.__eq__:
            return v.obj if isinstance(v, Const) else v
        return super().hash_key(s, v)

    def getitem(self, s: Services, v: Value, key: Value) -> Value:
        if type_lookup(s, v.cls, "__getitem__") is MISSING:
            return s.raise_error(TypeError, f"'{type_name(v.cls)}' object is not subscriptable")
        return super().getitem(s, v, key)

    def iter(self, s: Services, v: Value) -> Value:
        if type_lookup(s, v.cls, "__iter__") is MISSING and type_lookup(s, v.cls, "__getitem__") is MISSING:
            return s.raise_error(TypeError, f"'{type_name(v.cls)}' object is not iterable")
        return super().iter(s, v)

    def next(self, s: Services, v: Value) -> Value:
        if type_lookup(s, v.cls, "__next__") is MISSING:
            return s.raise_error(TypeError, f"'{type_name(v.cls)}' object is not an iterator")
        return super().next(s, v)

    def unary(self, s: Services, symbol: str, v: Value) -> Value:
        names = {"+": "__pos__", "-": "__neg__", "~": "__invert__"}
        if type_lookup(s, v.cls, names[symbol]) is MISSING:
            return s.raise_error(TypeError, f"bad operand type for unary {symbol}: '{type_name(v.cls)}'")
        return super().unary(s, symbol, v)

    def call(self, s: Services, v: Value, args: Any, kwargs: dict[str, Value]) -> Value | Pending:
        if type_lookup(s, v.cls, "__call__") is MISSING:
            return s.raise_error(TypeError, f"'{type_name(v.cls)}' object is not callable")
        return super().call(s, v, args, kwargs)
