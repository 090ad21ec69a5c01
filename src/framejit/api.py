"""The public functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import torch

from framejit import _C, counting, interop, lazy
from framejit.backends import aot, eager, inductor
from framejit.backends.registry import exists, find, list_backends
from framejit.core import marks
from framejit.core.errors import BadArgument, UnknownBackend
from framejit.core.marks import Dimension, Disabled
from framejit.core.options import CompileOptions, key_of
from framejit.explanation import Recorder, Report
from framejit.modules import OPTIONS, compile_module, hold, original, trampoline, twin

BUILT_IN = (eager, aot, inductor)

_SUSPENDED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """A compiled version of a function, method, callable object or module; without `model`, a decorator.

    The parameters are those of torch.compile. A compiled function keeps its name, signature and attributes, and has the
    original in `__wrapped__`; a compiled module is an instance of the module's class and shares its parameters,
    attributes and hooks. Nothing is captured before the first call. Raises UnknownBackend, UnknownOption or
    BadArgument; the first break of a call raises CaptureError where `fullgraph` is set.
    """
    configuration = _configuration(fullgraph, dynamic, backend, mode, options, name, recompile_limit, shapes_spec)
    _expect("disable", disable, bool)
    _expect("isolate_recompiles", isolate_recompiles, bool)
    if isolate_recompiles:
        configuration = _isolated(configuration)
    if model is None:
        return functools.partial(_compile, configuration=configuration, disable=disable)
    return _compile(model, configuration, disable)


def _compile(model: Any, configuration: CompileOptions, disable: bool = False) -> Any:
    if isinstance(model, staticmethod | classmethod):
        return type(model)(_compile(model.__func__, configuration, disable))
    if not callable(model):
        raise BadArgument(f"compile takes a function, a callable object or a module, not {type(model).__name__}")
    if disable:
        return model
    model = interop.original(original(model))
    if isinstance(model, torch.nn.Module):
        return compile_module(model, configuration)
    if isinstance(model, type):
        raise BadArgument(
            f"compile takes an instance, not the class {model.__qualname__}: compile an object of it, or decorate its "
            "__call__ or forward"
        )
    key, configuration = key_of(configuration)
    return hold(_C.Compiled(_with_frame(model), key), configuration)


def _with_frame(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn` itself where a call of it starts a Python frame that only it uses, else a function that calls it."""
    if isinstance(fn, FunctionType) or (isinstance(fn, MethodType) and isinstance(fn.__func__, FunctionType)):
        return fn
    call = trampoline(fn)
    if isinstance(fn, BuiltinFunctionType | functools.partial):
        return functools.update_wrapper(call, fn)
    functools.update_wrapper(call, type(fn).__call__, updated=())
    call.__dict__.update(getattr(fn, "__dict__", {}))
    call.__dict__["__wrapped__"] = fn
    return call


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Leave a function to CPython; without `fn`, a decorator.

    Unless `recursive`, only its own code is left alone, and functions that it calls are captured. `reason` is shown
    where a graph breaks at its call.
    """
    _expect("recursive", recursive, bool)
    if reason is not None:
        _expect("reason", reason, str)
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if isinstance(fn, staticmethod | classmethod):
        return type(fn)(disable(fn.__func__, recursive, reason=reason))
    if not callable(fn):
        raise BadArgument(f"disable takes a function, a callable object or a module, not {type(fn).__name__}")
    fn = original(fn)
    mark = Disabled(recursive, reason)
    if isinstance(fn, torch.nn.Module):
        return twin(fn, _disabled(trampoline(fn), mark), None)
    if isinstance(fn, type):
        raise BadArgument(f"disable takes an instance, not the class {fn.__qualname__}: disable its methods")
    wrapper = functools.wraps(fn)(_disabled(fn, mark)) if hasattr(fn, "__name__") else _disabled(fn, mark)
    setattr(wrapper, marks.DISABLED, mark)
    return wrapper


def _disabled(fn: Callable[..., Any], mark: Disabled) -> Callable[..., Any]:
    code = getattr(inspect.unwrap(fn), "__code__", None)
    if code is not None and (not mark.recursive or code.co_flags & _SUSPENDED):
        marks.skip_code(code)
    if not mark.recursive:

        def shallow(*args: Any, **kwargs: Any) -> Any:
            return fn(*args, **kwargs)

        setattr(shallow, marks.DISABLED, mark)
        return shallow

    def deep(*args: Any, **kwargs: Any) -> Any:
        previous = _C.hook_enabled(False)
        try:
            return fn(*args, **kwargs)
        finally:
            _C.hook_enabled(previous)

    setattr(deep, marks.DISABLED, mark)
    return deep


def allow_in_graph(fn: Any) -> Any:
    """Put calls of a function, or of each function of a sequence, into the graph as they are; returns it."""
    if isinstance(fn, list | tuple):
        for one in fn:
            _expect_callable("allow_in_graph", one)
        return [allow_in_graph(one) for one in fn]
    _expect_callable("allow_in_graph", fn)
    marks.allow(fn)
    return fn


def disallow_in_graph(fn: Any) -> Any:
    """Take `allow_in_graph` back; returns the function."""
    _expect_callable("disallow_in_graph", fn)
    marks.disallow(fn)
    return fn


def reset() -> None:
    """Forget every captured region and what was learnt about changing inputs; counts start at zero."""
    _C.reset()
    if (half := lazy.loaded()) is not None:
        half.reset()
    counting.clear()


def stats() -> dict[str, Any]:
    """Counts since the start or the last `reset`, by kind and name; "machine" are those of the C core."""
    return {**counting.snapshot(), "machine": _C.stats()}


def explain(fn: Any, **compile_options: Any) -> Callable[..., Report]:
    """A function that calls `fn` once, compiled afresh, and returns a report of all that was captured.

    The keywords are those of `compile`; the default backend is "eager", or that of `fn` if it was compiled already.
    """
    known = getattr(fn, OPTIONS, None)
    if not compile_options and isinstance(known, CompileOptions):
        configuration = known
    else:
        compile_options.setdefault("backend", "eager")
        configuration = getattr(compile(lambda: None, **compile_options), OPTIONS)
    compiled = _compile(fn, _isolated(configuration))

    @functools.wraps(original(fn), assigned=("__name__", "__qualname__", "__module__"), updated=())
    def explained(*args: Any, **kwargs: Any) -> Report:
        with Recorder() as report:
            report.result = compiled(*args, **kwargs)
        return report

    return explained


def mark_dynamic(
    tensor: torch.Tensor, index: int | Sequence[int], *, min: int | None = None, max: int | None = None
) -> None:
    """Say that these dimensions change from call to call, within inclusive bounds."""
    for name, bound in (("min", min), ("max", max)):
        if bound is not None:
            _expect(name, bound, int)
    if min is not None and max is not None and min > max:
        raise BadArgument(f"mark_dynamic: min={min} is above max={max}")
    _mark(tensor, index, Dimension("dynamic", min, max), "mark_dynamic")


def maybe_mark_dynamic(tensor: torch.Tensor, index: int | Sequence[int]) -> None:
    """Say that these dimensions may change; unlike `mark_dynamic` nothing is wrong if the code makes them constant."""
    _mark(tensor, index, Dimension("maybe_dynamic"), "maybe_mark_dynamic")


def mark_static(tensor: torch.Tensor, index: int | Sequence[int] | None = None) -> None:
    """Say that these dimensions, or all, never change."""
    if index is None and isinstance(tensor, torch.Tensor):
        index = range(tensor.dim())
    _mark(tensor, () if index is None else index, Dimension("static"), "mark_static")


def _mark(tensor: torch.Tensor, index: int | Sequence[int], mark: Dimension, function: str) -> None:
    if not isinstance(tensor, torch.Tensor):
        raise BadArgument(f"{function} takes a tensor, not {type(tensor).__name__}")
    indices = [index] if isinstance(index, int) else list(index)
    for number in indices:
        if type(number) is not int or not 0 <= number < tensor.dim():
            raise BadArgument(f"{function}: a tensor of {tensor.dim()} dimensions has no dimension {number!r}")
    setattr(tensor, marks.DIMENSIONS, {**getattr(tensor, marks.DIMENSIONS, {}), **dict.fromkeys(indices, mark)})


def _configuration(
    fullgraph: bool,
    dynamic: bool | None,
    backend: str | Callable[..., Any] | None,
    mode: str | None,
    options: dict[str, Any] | None,
    name: str | None,
    recompile_limit: int | None,
    shapes_spec: Any,
) -> CompileOptions:
    """The checked configuration."""
    _expect("fullgraph", fullgraph, bool)
    for label, value, kind in (
        ("dynamic", dynamic, bool),
        ("mode", mode, str),
        ("options", options, dict),
        ("name", name, str),
        ("recompile_limit", recompile_limit, int),
    ):
        if value is not None:
            _expect(label, value, kind)
    if mode is not None and options is not None:
        raise BadArgument("compile takes mode or options, not both; write the mode's settings into options")
    if shapes_spec is not None:
        raise BadArgument("compile does not know shapes_spec yet; use framejit.mark_dynamic on the inputs")
    if backend is None:
        backend = interop.default_backend()
    if not isinstance(backend, str) and not callable(backend):
        raise BadArgument(f"backend takes a name or a callable, not {type(backend).__name__}")
    if isinstance(backend, str) and not exists(backend):
        raise UnknownBackend(backend, list_backends(None))
    items = tuple((options or {}).items())
    if strange := [key for key, _ in items if not isinstance(key, str)]:
        raise BadArgument(f"the names in options must be strings, not {strange[0]!r}")
    if mode not in (None, "default") or options:
        row = find(backend)
        if row.check is not None:
            row.check(mode, options or {}, dynamic)
    return CompileOptions(backend, fullgraph, dynamic, mode, items, name, recompile_limit)


def _isolated(configuration: CompileOptions) -> CompileOptions:
    return CompileOptions(
        **{
            field: getattr(configuration, field) for field in configuration.__dataclass_fields__ if field != "isolation"
        },
        isolation=object(),
    )


def _expect(name: str, value: Any, kind: type) -> None:
    if type(value) is not kind:
        raise BadArgument(f"{name} takes {kind.__name__}, not {type(value).__name__} ({value!r})")


def _expect_callable(name: str, fn: Any) -> None:
    if not callable(fn):
        raise BadArgument(f"{name} takes a function, not {type(fn).__name__}")
