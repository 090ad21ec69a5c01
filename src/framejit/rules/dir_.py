"""dir() of objects, classes and modules."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from framejit.core.services import Services
from framejit.core.value import NONE, Const, Ref, Value
from framejit.objects import frame_
from framejit.objects.abstract import attribute
from framejit.objects.dict_ import full
from framejit.objects.exact import type_name
from framejit.objects.own_dict import names_of
from framejit.reasons import R
from framejit.rules.registry import handler


@handler(dir)
def dir_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`dir(object)`: what `__dir__` of its class gives, sorted; without an object, the local names."""
    if len(args) > 1 or kwargs:
        return s.unsupported(R.FRAME_INSPECTION, dir)
    if not args:
        return s.call(Const(sorted), [frame_.locals_of(s, s.frames[-1])])  # type: ignore[attr-defined]
    value = s.force(args[0])
    hook = s.special(value, "__dir__")
    if hook is None:
        return s.raise_error(TypeError, "object does not provide __dir__")
    return s.call(Const(sorted), [s.call(hook)])


def _merged(s: Services, cls: type) -> Iterator[str]:
    """The names of a class and of its bases, in the order in which CPython collects them."""
    yield from names_of(s, cls)
    for base in cls.__bases__:
        yield from _merged(s, base)


@handler(object.__dir__)
def object_dir(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The names in the object's dict and its classes."""
    value = s.force(args[0])
    names: dict[str, None] = {}
    namespace = attribute(s, value, "__dict__")
    namespace = None if namespace is None else s.force(namespace)
    if isinstance(namespace, Ref) and issubclass(namespace.cls, dict):
        names.update(dict.fromkeys(s.constant(key) for key, _ in full(s, namespace).values()))
    elif namespace is not None:
        return s.unsupported(R.FRAME_INSPECTION, dir, f"a {type_name(namespace.cls)} as __dict__")
    claimed = attribute(s, value, "__class__")
    if claimed is not None:
        names.update(dict.fromkeys(_merged(s, s.constant(claimed))))
    return s.wrap(list(names))


@handler(type.__dir__)
def type_dir(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The names of a class and its bases."""
    return s.wrap(list(dict.fromkeys(_merged(s, s.constant(args[0])))))


@handler(ModuleType.__dir__)
def module_dir(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The names of a module, or what its own `__dir__` says."""
    namespace = s.getattr(args[0], "__dict__")
    own = s.call(s.getattr(namespace, "get"), [Const("__dir__")])
    return s.call(Const(list), [namespace]) if s.is_same(own, NONE) else s.call(own)
