"""The compile configurations: each distinct one has a small integer key, by which regions are cached."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

from framejit import _C


@dataclass(frozen=True)
class CompileOptions:
    """What `framejit.compile` was asked for.

    `backend` is a registered name or a callable, `name` a label handed to the backend, `recompile_limit` replaces the
    setting of that name, and configurations with different `isolation` objects share no regions.
    """

    backend: str | Callable[..., Any] = "inductor"
    fullgraph: bool = False
    dynamic: bool | None = None
    mode: str | None = None
    options: tuple[tuple[str, Any], ...] = field(default=())
    name: str | None = None
    recompile_limit: int | None = None
    isolation: object = None

    @property
    def backend_name(self) -> str:
        """The backend's name for messages."""
        if isinstance(self.backend, str):
            return self.backend
        return str(getattr(self.backend, "__name__", None) or type(self.backend).__name__)

    def same(self, other: CompileOptions) -> bool:
        """Whether both mean one configuration: callables by identity, option values by type and equality."""
        return (
            (self.backend is other.backend or (isinstance(self.backend, str) and self.backend == other.backend))
            and (self.fullgraph, self.dynamic, self.mode) == (other.fullgraph, other.dynamic, other.mode)
            and (self.name, self.recompile_limit) == (other.name, other.recompile_limit)
            and self.isolation is other.isolation
            and len(self.options) == len(other.options)
            and all(
                a == b and (v is w or (type(v) is type(w) and repr(v) == repr(w)))
                for (a, v), (b, w) in zip(self.options, other.options, strict=True)
            )
        )


_KEYS = count()
_ROWS: WeakValueDictionary[int, CompileOptions] = WeakValueDictionary()
_NAMED: list[CompileOptions] = []
_LOCK = threading.Lock()


def key_of(options: CompileOptions) -> tuple[int, CompileOptions]:
    """The key of this configuration and the row to keep alive while the key is in use.

    Rows of named backends live for ever; one with a callable or an isolation lives as long as somebody holds it, so
    that a backend (and what its closure holds) dies with the functions compiled for it. Keys are never used twice.
    """
    with _LOCK:
        for key, row in _ROWS.items():
            if row.same(options):
                return key, row
        key = next(_KEYS)
        _ROWS[key] = options
        if isinstance(options.backend, str) and options.isolation is None:
            _NAMED.append(options)
        else:
            weakref.finalize(options, _C.forget, key).atexit = False
        return key, options


def by_key(key: int) -> CompileOptions:
    """The configuration with this key; KeyError when its last user is gone."""
    return _ROWS[key]
