"""The table of backends by name, the look-up, and the packages that bring their own."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, overload

from framejit.core.errors import BadArgument, UnknownBackend

ENTRY_POINTS = "torch_dynamo_backends"
"""The entry-point group by which installed packages offer backends to torch; framejit reads the same."""

CompilerFn = Callable[..., Callable[..., Any]]


@dataclass(frozen=True)
class Backend:
    """One row: `compiler_fn(graph_module, example_inputs, **mode and options)` gives a callable.

    `mutates_in_order`: the compiled graph changes its inputs while it runs, operator by operator, so that a run that
    raises may have changed some; False: inputs are changed after the last operator that can raise.
    `check(mode, options, dynamic)` raises for what the backend does not know.
    """

    name: str
    compiler_fn: CompilerFn
    mutates_in_order: bool = True
    tags: tuple[str, ...] = ()
    check: Callable[[str | None, dict[str, Any], bool | None], None] | None = None


_ROWS: dict[str, Backend] = {}
_LOCK = threading.RLock()

TORCH_ROWS = {
    "aot_eager_decomp_partition": ("debug",),
    "aot_eager_default_partitioner": ("debug",),
    "aot_ts": ("debug",),
    "cudagraphs": (),
    "eager_debug": ("debug",),
    "eager_noexcept": ("debug",),
    "onnxrt": (),
    "openxla": (),
    "pre_dispatch_eager": ("debug",),
    "ts": ("debug",),
    "tvm": (),
}
"""Backends inside torch that framejit passes graphs to as they are, with torch's own tags."""


@overload
def register_backend(
    compiler_fn: CompilerFn, name: str | None = ..., tags: Sequence[str] = ..., *, mutates_in_order: bool = ...
) -> CompilerFn: ...
@overload
def register_backend(
    compiler_fn: None = ..., name: str | None = ..., tags: Sequence[str] = ..., *, mutates_in_order: bool = ...
) -> Callable[[CompilerFn], CompilerFn]: ...
def register_backend(
    compiler_fn: CompilerFn | None = None,
    name: str | None = None,
    tags: Sequence[str] = (),
    *,
    mutates_in_order: bool = True,
) -> Any:
    """Register a function or object `(graph_module, example_inputs) -> callable` under a name; also a decorator.

    Raises BadArgument where the name is taken or missing, or the backend cannot be called.
    """
    if compiler_fn is None:
        return functools.partial(register_backend, name=name, tags=tags, mutates_in_order=mutates_in_order)
    if not callable(compiler_fn):
        raise BadArgument(f"a backend must be callable, got {type(compiler_fn).__name__}")
    name = name or getattr(compiler_fn, "__name__", None)
    if not isinstance(name, str) or not name:
        raise BadArgument(f"the backend {compiler_fn!r} has no __name__: pass name=...")
    add(Backend(name, compiler_fn, mutates_in_order, tuple(tags)))
    return compiler_fn


def add(row: Backend) -> None:
    """Add one row; a taken name is an error."""
    with _LOCK:
        if row.name in _ROWS:
            raise BadArgument(f"a backend named {row.name!r} is registered already; choose another name")
        _ROWS[row.name] = row


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    """The names that `framejit.compile(backend=...)` takes, those with an excluded tag left out."""
    tags = {name: row.tags for name, row in _ROWS.items()}
    tags |= {name: () for name in _offered() if name not in tags}
    tags |= {name: row for name, row in TORCH_ROWS.items() if name not in tags}
    excluded = set(exclude_tags or ())
    return sorted(name for name, row in tags.items() if not excluded.intersection(row))


def lookup_backend(backend: str | CompilerFn) -> CompilerFn:
    """The compiler function behind a name; a callable is returned as it is."""
    return find(backend).compiler_fn


def find(backend: str | CompilerFn) -> Backend:
    """The row of a name or of a callable; loads the package that offers it. Raises UnknownBackend."""
    if not isinstance(backend, str):
        name = getattr(backend, "__name__", None) or type(backend).__name__
        for row in list(_ROWS.values()):
            if row.compiler_fn is backend:
                return row
        return Backend(str(name), backend)
    with _LOCK:
        if known := _ROWS.get(backend):
            return known
        if point := _offered().get(backend):
            register_backend(point.load(), name=backend)
        elif backend in TORCH_ROWS or backend in _registered_with_torch():
            add(Backend(backend, _torch_lookup(backend), tags=TORCH_ROWS.get(backend, ())))
        else:
            raise UnknownBackend(backend, list_backends(None))
        return _ROWS[backend]


def exists(backend: str) -> bool:
    """Whether `find` would know this name; loads nothing."""
    return backend in _ROWS or backend in TORCH_ROWS or backend in _registered_with_torch() or backend in _offered()


def accepts(fn: CompilerFn, argument: str) -> bool:
    """Whether a callable takes this keyword; True where it has no signature."""
    try:
        parameters = inspect.signature(fn).parameters
    except (TypeError, ValueError):
        return True
    return argument in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _offered() -> dict[str, Any]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def _registered_with_torch() -> dict[str, Any]:
    stock = sys.modules.get("torch._dynamo.backends.registry")
    return {} if stock is None else stock._BACKENDS


def _torch_lookup(name: str) -> CompilerFn:
    from torch._dynamo.backends.registry import lookup_backend as stock_lookup

    return stock_lookup(name)
