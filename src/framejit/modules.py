"""Compiled modules: instances of a subclass of the module's class that share the module's own dictionary."""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import FunctionType, MemberDescriptorType
from typing import Any

import torch

from framejit import _C
from framejit.core.errors import BadArgument
from framejit.core.options import CompileOptions, key_of
from framejit.core.where import OWN_CODE

OPTIONS = "_framejit_options"
"""Attribute of what `framejit.compile` returns: its configuration, kept alive by it."""

_SLOTS = ("_framejit_original", "_framejit_call", OPTIONS)


class CompiledModule:
    """What all compiled modules share; stands before the module's own class in the method resolution order."""

    __slots__ = ()

    _framejit_original: torch.nn.Module
    _framejit_call: Callable[..., Any]
    _framejit_options: CompileOptions

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Keeps the user's own `__init_subclass__` from running for a class that the user did not write."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._framejit_call(*args, **kwargs)

    def __copy__(self) -> Any:
        return compile_module(copy.copy(self._framejit_original), self._framejit_options)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return compile_module(copy.deepcopy(self._framejit_original, memo), self._framejit_options)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return compile_module, (self._framejit_original, self._framejit_options)

    @property
    def _orig_mod(self) -> torch.nn.Module:
        """The module that was compiled, by the name that torch.compile gives it."""
        return self._framejit_original


def compile_module(module: torch.nn.Module, options: CompileOptions) -> Any:
    """A compiled twin of `module`: same class for `isinstance`, same attributes, parameters, buffers and hooks."""
    key, options = key_of(options)
    target = trampoline(module)
    if type(module).__module__.partition(".")[0] != "torch":  # containers of torch differ too much from each other
        _share_code(_twin_class(type(module)), target)
    return twin(module, hold(_C.Compiled(target, key), options), options)


def twin(module: torch.nn.Module, call: Callable[..., Any], options: CompileOptions | None) -> Any:
    """An object that is `module` in all but its `__call__`."""
    cls = _twin_class(type(module))
    try:
        result: Any = object.__new__(cls)
        object.__setattr__(result, "__dict__", module.__dict__)
    except TypeError as error:
        raise BadArgument(
            f"a module of class {type(module).__qualname__} cannot be compiled ({error}); compile its forward instead"
        ) from error
    for name, value in zip(_SLOTS, (module, call, options), strict=True):
        object.__setattr__(result, name, value)
    return result


def original(target: Any) -> Any:
    """The module or function inside what `framejit.compile` returned; others as they are."""
    if isinstance(target, CompiledModule):
        return target._framejit_original
    if isinstance(target, _C.Compiled):
        inner = target.__wrapped__
        return getattr(inner, "__wrapped__", inner) if isinstance(inner, FunctionType) and _is_own(inner) else inner
    return target


def _is_own(fn: FunctionType) -> bool:
    return fn.__code__.co_filename == OWN_CODE


def hold(compiled: Any, options: CompileOptions) -> Any:
    """Let a compiled function keep its configuration alive."""
    setattr(compiled, OPTIONS, options)
    return compiled


def trampoline(target: Callable[..., Any]) -> Callable[..., Any]:
    """A Python function that calls `target`, with a code object of its own.

    Regions are kept per code object, and all modules share the code of `Module.__call__`: this one keeps them apart.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        return target(*args, **kwargs)

    assert isinstance(call, FunctionType)
    call.__code__ = call.__code__.replace(co_filename=OWN_CODE)
    return call


def _share_code(twin_class: Any, target: Any) -> None:
    """Let modules of one class share their regions, so that a layer index becomes a number instead of a capture each."""
    known = twin_class.__dict__.get("_framejit_code")
    if known is None:
        twin_class._framejit_code = target.__code__
    else:
        target.__code__ = known


def _twin_class(cls: type) -> type:
    """The subclass for twins of `cls`, one for each class; found again through the class, which does not own it."""
    subclasses: list[type] = type.__subclasses__(cls)
    for known in subclasses:
        if "_framejit_call" in known.__dict__:
            return known
    namespace: dict[str, Any] = {
        "__slots__": _SLOTS,
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
    }
    for base in cls.__mro__:
        for name, member in vars(base).items():
            if isinstance(member, MemberDescriptorType) and base is not object:
                namespace.setdefault(name, _forward(member))
    try:
        # Not the metaclass's own call: what it does for classes that users write is not meant for this one.
        return type.__new__(type(cls), cls.__name__, (CompiledModule, cls), namespace)
    except TypeError as error:
        raise BadArgument(
            f"a module of class {cls.__qualname__} cannot be compiled ({error}); compile its forward instead"
        ) from error


def _forward(member: MemberDescriptorType) -> property:
    """A slot of the user's class, read and written on the module itself."""

    def read(self: CompiledModule) -> Any:
        return member.__get__(self._framejit_original)

    def write(self: CompiledModule, value: Any) -> None:
        member.__set__(self._framejit_original, value)

    def delete(self: CompiledModule) -> None:
        member.__delete__(self._framejit_original)

    return property(read, write, delete)
