"""Objects whose end runs Python code: dropping the last reference to one is an effect, which happens where CPython has it."""

from __future__ import annotations

import gc
import io
from collections.abc import Iterable, Iterator
from contextvars import Context, Token
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CellType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    TracebackType,
)
from typing import Any
from weakref import ProxyTypes, getweakrefs

from framejit.core.classes import compares

GENERATORS = (GeneratorType, CoroutineType, AsyncGeneratorType)
CONTAINERS = (list, tuple, dict, set, frozenset)
FRAMES = (FrameType, TracebackType)  # those that have ended hold their variables
OWNERS = frozenset({*CONTAINERS, *FRAMES, CellType, MethodType, Token, Context})
ARGS, TRACEBACK = (vars(BaseException)[name] for name in ("args", "__traceback__"))
FLAGS, MRO, DICT_OF = (vars(type)[name].__get__ for name in ("__flags__", "__mro__", "__dict__"))
OF_FILES: Any = getattr(io.IOBase, "__del__")  # noqa: B009 - it closes the file, which nobody sees where that is in C
MANY = 64  # items of a container that are looked at
HEAP_TYPE = 1 << 9


def _found(kind: type, name: str) -> Any:
    """What a class has under a name, None for nothing; its metaclass is not asked."""
    return next((DICT_OF(base)[name] for base in MRO(kind) if name in DICT_OF(base)), None)


def _has_finalizer(kind: type) -> bool:
    if not FLAGS(kind) & HEAP_TYPE and not hasattr(kind, "__del__"):
        return False
    found = _found(kind, "__del__")
    return found is not None and not (found is OF_FILES and type(_found(kind, "close")) is MethodDescriptorType)


def has_frames(error: BaseException) -> bool:
    """Whether the traceback of an exception keeps frames alive behind the first one, which may be that which handles it."""
    traceback = TRACEBACK.__get__(error)
    return traceback is not None and traceback.tb_next is not None


def finalizes(real: Any) -> bool:
    """Whether Python code may run when the object dies: a generator is closed, `__del__` or a callback is called.

    The frames in the traceback of an exception may hold such objects; the one that handles it outlives it.
    """
    kind = type(real)
    if type(kind) is not type and compares(type(kind)):
        return True  # not to be asked
    if kind in GENERATORS or _has_finalizer(kind):
        return True
    if issubclass(kind, BaseException):
        return has_frames(real)
    if issubclass(kind, (type, FunctionType)) or not kind.__weakrefoffset__:
        return False  # caches per class or function do not end with a local variable
    return any(type(ref) in ProxyTypes or _is_users(ref.__callback__) for ref in getweakrefs(real))  # a proxy does not tell its callback


def _is_users(callback: Any) -> bool:
    """Whether a weak reference's callback does something that a program may see: torch and the capture have their own."""
    if callback is None or (isinstance(callback, BuiltinFunctionType) and type(callback.__self__).__name__ == "PyCapsule"):
        return False  # the second is how programs hear of the death of their constants
    function = callback.__func__ if isinstance(callback, MethodType) else callback
    owner = function if isinstance(function, FunctionType) else type(function)
    return (owner.__module__ or "").split(".")[0] not in ("torch", "framejit", "functorch")


def ending(real: Any) -> frozenset[int]:
    """The identities of what may run Python code when the object dies: itself, or what it holds, in containers of containers too."""
    if finalizes(real):
        return frozenset((id(real),))
    found, seen, waiting = set[int](), {id(real)}, [real]
    for holder in waiting:  # which grows meanwhile
        for part in _parts(holder):
            if id(part) in seen:
                continue
            seen.add(id(part))
            if finalizes(part):
                found.add(id(part))
            elif (type(part) in OWNERS or type(part) is FunctionType) and len(waiting) <= MANY:
                waiting.append(part)
    return frozenset(found)


def is_quiet(real: Any) -> bool:
    """Whether no Python code runs when the object dies."""
    return not ending(real)


def _parts(real: Any) -> Iterable[Any]:
    kind = type(real)
    if kind in CONTAINERS:
        return gc.get_referents(real) if len(real) <= MANY else ()
    if issubclass(kind, BaseException):
        return _of_error(real)
    if kind is FunctionType:
        return _of_function(real)
    if kind is FrameType:  # the namespace of a module outlives the frame that filled it
        return (part for part in gc.get_referents(real) if part is not real.f_globals)
    if kind is Context:
        return real.values() if len(real) <= MANY else ()
    if not FLAGS(kind) & HEAP_TYPE and hasattr(kind, "__next__"):
        return _behind(real)
    if kind in OWNERS or (FLAGS(kind) & HEAP_TYPE and not issubclass(kind, (type, ModuleType))):
        return _of_instance(real)
    return ()


def _of_function(function: FunctionType) -> Iterator[Any]:
    """The defaults and cells of a function: what it does not share with others."""
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield from function.__closure__ or ()


def _behind(iterator: Any) -> Iterator[Any]:
    """What an iterator goes through, and the items of that."""
    for source in gc.get_referents(iterator):
        yield source
        yield from _parts(source)


def _of_error(error: BaseException) -> Iterator[Any]:
    """What an exception and those that it came of were made with, their attributes, and those others themselves."""
    waiting, seen = [error], {id(error)}
    while waiting and len(seen) <= MANY:
        one = waiting.pop()
        yield from ARGS.__get__(one)
        for part in gc.get_referents(one):
            if type(part) is dict:
                yield from part.values()
            elif type(part) is TracebackType:
                yield part  # of a single entry
            elif issubclass(type(part), BaseException) and id(part) not in seen:  # its cause or context
                seen.add(id(part))
                waiting.append(part)
                yield part


def _of_instance(real: Any) -> Iterator[Any]:
    for part in gc.get_referents(real):
        if type(part) is dict and len(part) <= MANY:
            yield from part.values()
        else:
            yield part
