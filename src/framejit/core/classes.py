"""Classes that the captured code defines: how the capture makes a stand-in, and the exit the class of the run, past the user's hooks."""

from __future__ import annotations

import types
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

from framejit.core.value import Ref

HEAP_TYPE = 1 << 9
# Fields of the `Ref` of a captured class: what `type.__new__` was given, and what was written to the class afterwards.
BASES, NAMESPACE, META, LATER = ("bases",), ("namespace",), ("metaclass",), ("later",)


def compares(meta: type) -> bool:
    """Whether a metaclass has its own say about which classes are equal: the capture, which looks classes up, would ask it."""
    if meta.__eq__ is type.__eq__ and meta.__hash__ is type.__hash__:
        return False
    return getattr(meta, "__module__", None) not in ("typing", "typing_extensions")  # theirs compare by identity


class ClassRecipe(NamedTuple):
    """How the exit makes a class that the captured code defined; its parts are fields of `ref`, which may take part in cycles."""

    name: str
    ref: Ref
    hooked: bool
    names: frozenset[str]
    step: int


def _no_hook(cls: type, **kwargs: Any) -> None:
    pass


# A shield stands first among the bases while a class is made, so that their `__init_subclass__` does not run. The bases that
# replace it then must have instances of the same layout; these shields serve where no base has slots or a base with such a hook.
SHIELDS = tuple(
    type("Shield", (), {**slots, "__init_subclass__": _no_hook})
    for slots in ({}, {"__slots__": ()}, {"__slots__": ("__dict__",)}, {"__slots__": ("__weakref__",)})
)
LAYOUT = ("__basicsize__", "__itemsize__", "__dictoffset__", "__weakrefoffset__")

STAND_INS: weakref.WeakSet[type] = weakref.WeakSet()


def forget(stand_ins: list[type]) -> None:
    """The capture is over: nobody finds its stand-ins any more among the subclasses of real classes."""
    for cls in reversed(stand_ins):
        if all(base in STAND_INS or not base.__flags__ & HEAP_TYPE for base in cls.__bases__):
            continue
        for shield in SHIELDS:
            try:
                set_bases(cls, (shield,))
            except TypeError:
                continue
            break


def has_hook(bases: tuple[type, ...]) -> bool:
    """Whether a class of these bases has an `__init_subclass__` other than object's."""
    return any("__init_subclass__" in vars(owner) for base in bases for owner in base.__mro__ if owner is not object)


class Misfit(Exception):
    """No shield has the layout of the bases."""


# `type.__new__` looks for the module of a class in the globals that call it: these have no name, as the program's may.
_new_type: Any = types.FunctionType((lambda *args: new(*args)).__code__, {"new": type.__new__})  # type: ignore[name-defined]  # noqa: F821


def make_class(meta: type, name: str, bases: tuple[type, ...], namespace: dict[str, Any], hooked: bool) -> Any:
    """`type.__new__` without `__init_subclass__`; the namespace holds nothing with a `__set_name__` written in Python."""
    if not hooked:
        return _new_type(meta, name, bases, namespace)
    wrong: TypeError | None = None
    for shield in _shields(bases):
        try:
            made: Any = _new_type(meta, name, (shield, *bases), namespace)
        except TypeError as error:  # wrong with every shield, or this one does not fit
            wrong = wrong or error
            continue
        try:
            set_bases(made, bases)
        except TypeError:
            continue
        return made
    raise Misfit if wrong is None else wrong


def _shields(bases: tuple[type, ...]) -> Iterator[type]:
    yield from SHIELDS
    for base in bases:
        owner = base
        while owner.__base__ is not None and all(getattr(owner, name) == getattr(owner.__base__, name) for name in LAYOUT):
            owner = owner.__base__
        if owner.__base__ is not None:
            yield _shield_beside(owner, owner.__base__)


def _shield_beside(owner: type, parent: type) -> type:
    """A shield that adds to the instances of `parent` what `owner` adds."""
    own = [name for name, found in vars(owner).items() if isinstance(found, types.MemberDescriptorType)]
    slots = (*own, *(name for name in ("__dict__", "__weakref__") if name in vars(owner)))
    made: type = make_class(type(parent), "Shield", (parent,), {"__slots__": slots, "__init_subclass__": _no_hook}, has_hook((parent,)))
    return made


def make_stand_in(meta: type, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> tuple[Any, bool]:
    """The class, and whether its bases have hooks; TypeError and ValueError are those of `type.__new__`."""
    hooked = has_hook(bases)
    made = make_class(meta, name, bases, namespace, hooked)
    STAND_INS.add(made)
    return made, hooked


def set_bases(cls: type, bases: tuple[type, ...]) -> None:
    """Other bases for a class, whatever its metaclass makes of attributes."""
    type.__dict__["__bases__"].__set__(cls, bases)


def own_attribute(cls: type, name: str) -> Any:
    """What the dict of a class holds itself: descriptors that `type.__new__` made."""
    return cls.__dict__[name]


def set_slot(member: Any, instance: Any, value: Any) -> None:
    """Fill a slot of an instance of a captured class."""
    member.__set__(instance, value)
