"""Python bodies of C functions of functools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Cache:
    """What `lru_cache` remembers, least recently used first."""

    def __init__(self, function: Callable[..., Any], maxsize: int | None, typed: bool, info: Any):
        self.function, self.maxsize, self.typed, self.info = function, maxsize, typed, info
        self.table: dict[Any, Any] = {}
        self.hits = self.misses = 0


class CacheKey:
    """The arguments of a call, hashed once."""

    __slots__ = ("key", "hash")

    def __init__(self, key: Any):
        self.key = key
        self.hash = hash(key)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: Any) -> bool:
        return bool(self.key is other.key or self.key == other.key)


KEYWORD_MARK = object()
NOTHING = object()


def cache_key(args: tuple[Any, ...], kwargs: dict[str, Any], typed: bool) -> CacheKey:
    """The key under which `lru_cache` remembers a call."""
    if not typed and not kwargs:
        return CacheKey(args[0] if len(args) == 1 and type(args[0]) in (int, str) else args)
    key = args
    if kwargs:
        key += (KEYWORD_MARK,)
        for pair in kwargs.items():
            key += pair
    if typed:
        key += tuple([type(arg) for arg in args])
        if kwargs:
            key += tuple([type(arg) for arg in kwargs.values()])
    return CacheKey(key)


def cached_call(cache: Cache, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of what `lru_cache` made."""
    if cache.maxsize == 0:
        cache.misses += 1
        return cache.function(*args, **kwargs)
    key, table = cache_key(args, kwargs, cache.typed), cache.table
    found = table.get(key, NOTHING)
    if found is not NOTHING:
        if cache.maxsize is not None:
            table[key] = table.pop(key)
        cache.hits += 1
        return found
    cache.misses += 1
    result = cache.function(*args, **kwargs)
    if cache.maxsize is None:
        table[key] = result
        return result
    again = table.get(key, NOTHING)
    if again is not NOTHING:
        return again
    if len(table) >= cache.maxsize:
        del table[next(iter(table))]
    table[key] = result
    return result


def cache_info(cache: Cache) -> Any:
    """What `cache_info` tells."""
    return cache.info(cache.hits, cache.misses, cache.maxsize, len(cache.table))


def cache_clear(cache: Cache) -> None:
    """Forget all."""
    cache.hits = cache.misses = 0
    cache.table.clear()


def call_again(_wrapper: Any, calls: tuple[tuple[Any, tuple[Any, ...], dict[str, Any]], ...]) -> None:
    """Have functions with a cache remember calls that a region answered itself."""
    for wrapper, args, kwargs in calls:
        wrapper(*args, **kwargs)
