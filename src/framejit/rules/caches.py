"""The wrapper that lru_cache makes: one born in the capture keeps its results there; one that exists is called again at the exit."""

from __future__ import annotations

import functools
import gc
import itertools
import sys
import types
from collections.abc import Sequence
from typing import Any

from framejit.core.guard import same_bits
from framejit.core.path import Path
from framejit.core.services import Pending, Services
from framejit.core.value import Const, Number, Pack, Ref, Value
from framejit.lib import functools_ as lib
from framejit.objects.callables import ConstantCallable
from framejit.objects.dict_ import hash_key, new_dict
from framejit.objects.method import method
from framejit.objects.model import by_type, model
from framejit.objects.object_ import path_of
from framejit.objects.rebuild import MADE_BY, WRITERS
from framejit.objects.type_ import call_class, new_instance
from framejit.reasons import R
from framejit.rules.registry import handler

Wrapper: Any = functools._lru_cache_wrapper
CACHE, STEP = ("cache",), ("step",)
CALLS = ("remembered",)
WRITERS[CALLS] = lambda calls: (lib.call_again, [calls])


@model(Wrapper)
class CachedModel(ConstantCallable):
    """Of a wrapper that exists the function itself is captured, unless its calls can be told from remembered results."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        function = real.__dict__.get("__wrapped__")
        if type(function) is not types.FunctionType or not s.is_another(path, real, function.__code__):  # type: ignore[attr-defined]
            return super().realize(s, path, real)
        return by_type(s, path, real)

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        if len(args) != 4 or kwargs:
            return None
        size = s.force(args[1])
        if size.cls not in (int, type(None)) and not isinstance(size, Number):
            return s.raise_error(TypeError, "maxsize should be integer or None")
        if isinstance(size, Const) and size.obj is not None and size.obj < 0:
            size = Const(0)
        cache = s.call(Const(lib.Cache), [args[0], size, *args[2:]])
        return new_instance(s, cls, {CACHE: cache, STEP: Const(s.steps)})  # type: ignore[attr-defined]

    def initialise(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> bool:
        return True

    def hash_key(self, s: Services, v: Value) -> Any:
        return v if isinstance(v, Ref) else super().hash_key(s, v)

    def truth(self, s: Services, v: Value) -> bool | None:
        return True

    def call(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | Pending:
        if isinstance(v, Ref) and v.virtual:
            given = new_dict(s, [(Const(name), value) for name, value in kwargs.items()])
            return s.call(Const(lib.cached_call), [cache_of(s, v), Pack(tuple, tuple(args)), given])
        if isinstance(v, Const) and v.obj.__module__ == "typing" and not kwargs:
            names = tuple([_name(s, arg) for arg in args])
            if _is_new(s, names):
                return _alias(s, v, args, names)
        for arg in (*args, *kwargs.values()):
            if _is_hashed_by_code(s, arg):
                return s.unsupported(R.OPAQUE_CALL, v, "an argument is hashed by code")
            s.hash(arg)
        names = tuple([(s.force(arg).cls, _name(s, arg)) for arg in (*args, *kwargs.values())])
        key = (CALLS, v, names, tuple(kwargs))
        known = s.trace.cache.get(key)
        if known is not None:
            _remember(s, v, args, kwargs)
            return known
        room = (CALLS, v)
        held = s.trace.cache.get(room, 0)
        if not _has_room(v, held):
            return s.unsupported(R.OPAQUE_CALL, v, "a cache that lets go of results")
        before = s.trace.operators["count"], _written(s)
        result = s.call(s.getattr(v, "__wrapped__"), args, kwargs)
        if not _is_plain(result) or (s.trace.operators["count"], _written(s)) != before:
            return s.unsupported(R.OPAQUE_CALL, v, "a remembered result")
        if not _agrees(s, v, args, kwargs, result):
            return s.unsupported(R.OPAQUE_CALL, v, "another result is remembered")
        s.trace.trail.put(s.trace.cache, key, result)
        s.trace.trail.put(s.trace.cache, room, held + 1)
        _remember(s, v, args, kwargs)
        return result


def _has_room(v: Value, held: int) -> bool:
    """Whether the cache still holds all that this region has called, after one more."""
    wrapper: Any = v.obj if isinstance(v, Const) else v.real  # type: ignore[attr-defined]
    asked = getattr(wrapper, "cache_parameters", None)
    size = None if asked is None else asked()["maxsize"]
    return size is None or held < size


class Remembered:
    """A guard: what the wrapper remembers for these arguments, if anything, is what the function gives now.

    The cache of the C wrapper is found among its referents: behind the keys and results of a bounded one, in front of the function.
    """

    __slots__ = ("result", "names")

    def __init__(self, result: Any, names: tuple[str, ...]):
        self.result, self.names = result, names

    def __call__(self, wrapper: Any, *args: Any) -> bool:
        parts, asked = gc.get_referents(wrapper), wrapper.cache_parameters()
        place = next(at for at in range(len(parts) - 1, 0, -1) if parts[at] is wrapper.__wrapped__ and type(parts[at - 1]) is dict)
        key = args[: len(args) - len(self.names)]
        if self.names:
            key += (parts[place + 1], *itertools.chain(*zip(self.names, args[len(key) :], strict=True)))
        if asked["typed"]:
            key += tuple(map(type, args))
        elif len(key) == 1 and type(key[0]) in (int, str):
            key = key[0]
        if key not in parts[place - 1]:
            return True
        if asked["maxsize"] is None:
            found = parts[place - 1][key]
        else:
            found = next(parts[at + 1] for at in range(1, place - 1, 3) if parts[at] == key)
        return found is self.result or same_bits(found, self.result)


def _agrees(s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value], result: Value) -> bool:
    """Whether the real cache holds no other result for these arguments, guarded: the function may read what changes."""
    assert isinstance(v, (Const, Ref))
    wrapper = v.obj if isinstance(v, Const) else v.real
    if wrapper.__module__.partition(".")[0] in sys.stdlib_module_names or not (isinstance(result, Number) or s.is_constant(result)):
        return True
    given = [s.force(arg) for arg in (*args, *kwargs.values())]
    paths = [s.trace.roots.const(s.constant(arg)) if isinstance(arg, Pack) and s.is_constant(arg) else path_of(s, arg) for arg in given]
    if None in paths:
        return True  # made here: nothing is remembered for it
    found = Remembered(s.constant(result), tuple(kwargs))
    if not found(wrapper, *[arg.real if isinstance(arg, Ref) else s.constant(arg) for arg in given]):
        return False
    s.guard(None, "PY_OF", (found, (path_of(s, v), *paths)))
    return True


def _name(s: Services, arg: Value) -> Any:
    """The hash key of an argument; an alias that the captured code made is known by itself."""
    arg = s.force(arg)
    if isinstance(arg, Pack) and arg.cls is tuple:
        return tuple([_name(s, item) for item in arg.items])
    return arg if (MADE_BY, arg) in s.trace.cache else hash_key(s, arg)


def _is_new(s: Services, name: Any) -> bool:
    """Whether a hash key stands for an object that was born in the capture, which no cache can know."""
    if isinstance(name, tuple):
        return any(_is_new(s, part) for part in name)
    return name in s.trace.classes if isinstance(name, type) else isinstance(name, Ref) and name.virtual


def _alias(s: Services, v: Value, args: Sequence[Value], names: tuple[Any, ...]) -> Value:
    """What `typing` makes of a new type variable: remembered in the capture, and made by the real wrapper if it leaves it."""
    key = (CALLS, v.obj, names, tuple([s.force(arg).cls for arg in args]))  # type: ignore[attr-defined]
    found = s.trace.cache.get(key)
    if found is None:
        found = s.force(s.call(s.getattr(v, "__wrapped__"), args))
        s.trace.trail.put(s.trace.cache, key, found)
        if isinstance(found, Ref) and found.virtual and (MADE_BY, found) not in s.trace.cache:
            s.trace.trail.put(s.trace.cache, (MADE_BY, found), (v, *args))
    _remember(s, v, args, {})
    return found


def _remember(s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> None:
    """Have the real wrapper called at the exit, so that it counts and remembers as it would have."""
    ref = s.trace.cache.get(CALLS)
    if ref is None:
        path = s.trace.roots.const(lib.call_again)
        ref = s.trace.cache[CALLS] = Ref(type(lib.call_again), path, lib.call_again)
    calls = s.heap.get(ref, CALLS)
    given = new_dict(s, [(Const(name), value) for name, value in kwargs.items()])
    one = Pack(tuple, (v, Pack(tuple, tuple(args)), given))
    s.heap.set(ref, CALLS, Pack(tuple, (*(calls.items if calls is not None else ()), one)))


def cache_of(s: Services, v: Value) -> Value:
    """The cache of a wrapper that was born in the capture."""
    v = s.force(v)
    if isinstance(v, Ref) and v.virtual:
        return s.heap.get(v, CACHE)
    return s.unsupported(R.OPAQUE_CALL, v, "the cache of a function that exists")


@method(Wrapper.cache_info)
def cache_info(s: Services, self: Value) -> Value:
    return s.call(Const(lib.cache_info), [cache_of(s, self)])


@method(Wrapper.cache_clear)
def cache_clear(s: Services, self: Value) -> Value:
    return s.call(Const(lib.cache_clear), [cache_of(s, self)])


@method(Wrapper.__copy__)
def copy(s: Services, self: Value) -> Value:
    return self


@method(Wrapper.__deepcopy__, "memo /")
def deepcopy(s: Services, self: Value, memo: Value) -> Value:
    return self


@method(Wrapper.__reduce__)
def reduce(s: Services, self: Value) -> Value:
    return s.getattr(self, "__qualname__")


def _written(s: Services) -> list[tuple[Ref, Any, Value]]:
    return [(ref, field, s.heap.get(ref, field)) for ref, fields in s.heap.dirty() for field in fields if field is not CALLS]


def _is_plain(v: Value) -> bool:
    """Whether nobody can tell this value from an equal one made before."""
    return isinstance(v, (Const, Number)) or (isinstance(v, Pack) and all(map(_is_plain, v.items)))



@handler(lib.CacheKey)
def cache_key(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The key itself, unless code of the user's hashes it: that runs once."""
    if not _is_hashed_by_code(s, args[0]):
        return args[0]
    return s.finish(call_class(s, Const(lib.CacheKey), args, kwargs))


def _is_hashed_by_code(s: Services, key: Value) -> bool:
    v = s.force(key)
    if isinstance(v, Pack) and v.cls is tuple:
        return any(_is_hashed_by_code(s, item) for item in v.items)
    return isinstance(s.type_lookup(v.cls, "__hash__"), types.FunctionType)
