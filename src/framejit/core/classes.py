"""Classes that the captured code defines: how the capture makes a stand-in, and the exit the class of the run, past the user's hooks."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

from framejit.core.value import Ref

HEAP_TYPE = 1 << 9
# Fields of the `Ref` of a captured class: what `type.__new__` was given, and what was written to the class afterwards.
BASES, NAMESPACE, META, LATER = ("bases",), ("namespace",), ("metaclass",), ("later",)


class ClassRecipe(NamedTuple):
    """How the exit makes a class that the captured code defined; its parts are fields of `ref`, which may take part in cycles."""

    name: str
    ref: Ref
    shield: type | None
    step: int


def _shield(namespace: dict[str, Any]) -> type:
    """A class that stands first among the bases while a class is made, so that their `__init_subclass__` does not run."""
    return type("Shield", (), {**namespace, "__init_subclass__": lambda cls, **kwargs: None})


# The bases that replace it must have instances of the same layout.
SHIELDS = tuple(_shield(slots) for slots in ({}, {"__slots__": ()}, {"__slots__": ("__dict__",)}, {"__slots__": ("__weakref__",)}))


STAND_INS: weakref.WeakSet[type] = weakref.WeakSet()


def forget(stand_ins: list[type]) -> None:
    """The capture is over: nobody finds its stand-ins any more among the subclasses of real classes."""
    for cls in reversed(stand_ins):
        if all(base in STAND_INS or not base.__flags__ & HEAP_TYPE for base in cls.__bases__):
            continue
        for shield in SHIELDS:
            try:
                type.__dict__["__bases__"].__set__(cls, (shield,))
            except TypeError:
                continue
            break


def has_hook(bases: tuple[type, ...]) -> bool:
    """Whether a class of these bases has an `__init_subclass__` other than object's."""
    return any("__init_subclass__" in vars(owner) for base in bases for owner in base.__mro__ if owner is not object)


def make_class(meta: type, name: str, bases: tuple[type, ...], namespace: dict[str, Any], shield: type | None) -> Any:
    """`type.__new__` without `__init_subclass__`; the namespace holds nothing with a `__set_name__` written in Python."""
    if shield is None:
        return type.__new__(meta, name, bases, namespace)
    made: Any = type.__new__(meta, name, (shield, *bases), namespace)
    type.__dict__["__bases__"].__set__(made, bases)
    return made


class Misfit(Exception):
    """No shield has the layout of the bases."""


def make_stand_in(meta: type, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> tuple[Any, type | None]:
    """The class and the shield that served; TypeError and ValueError are those of `type.__new__`."""
    made, used = _stand_in(meta, name, bases, namespace)
    STAND_INS.add(made)
    return made, used


def _stand_in(meta: type, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> tuple[Any, type | None]:
    if not has_hook(bases):
        return make_class(meta, name, bases, namespace, None), None
    for shield in SHIELDS:
        try:
            return make_class(meta, name, bases, namespace, shield), shield
        except TypeError as error:
            if not str(error).startswith("__bases__ assignment"):
                raise
    raise Misfit


def own_attribute(cls: type, name: str) -> Any:
    """What the dict of a class holds itself: descriptors that `type.__new__` made."""
    return cls.__dict__[name]


def set_slot(member: Any, instance: Any, value: Any) -> None:
    """Fill a slot of an instance of a captured class."""
    member.__set__(instance, value)
