"""What users said to torch._dynamo, read where its objects lie; nothing here loads or changes torch._dynamo."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch
from torch._compile import _disable_dynamo

from framejit import _C
from framejit.core import marks
from framejit.core.marks import Dimension, Disabled

_OFF = 2
"""The C core's mode for code below which no frame is looked at."""

_DISABLED_INSIDE_TORCH = _disable_dynamo(lambda: None).__code__


def disabled(fn: object) -> Disabled | None:
    """The mark of `framejit.disable`, `torch.compiler.disable` or `torch._dynamo.disable` on a function."""
    if type(fn) is FunctionType:
        if fn.__code__ is _DISABLED_INSIDE_TORCH:
            place = fn.__code__.co_freevars.index("recursive")
            return Disabled(bool(fn.__closure__[place].cell_contents), None)  # type: ignore[index]
        if not fn.__dict__:
            return None
    if mark := marks.disabled(fn):
        return mark
    if not inspect.getattr_static(fn, "_torchdynamo_disable", False):
        return None
    recursive = inspect.getattr_static(fn, "_torchdynamo_disable_recursive", True)
    if recursive and isinstance(fn, FunctionType):
        _C.mark(fn.__code__, None, -1, _OFF)  # nothing below it is captured either
    reason = inspect.getattr_static(fn, "_torchdynamo_disable_msg", None)
    return Disabled(bool(recursive), None if reason is None else str(reason))


def hide(*functions: Callable[..., Any]) -> None:
    """Keep torch._dynamo's frame hook, where it is on, away from these functions and from all that they call."""
    frames = torch._C._dynamo.eval_frame
    skip = frames._FrameExecStrategy(frames._FrameAction.SKIP, frames._FrameAction.SKIP)
    for function in functions:
        frames.set_code_exec_strategy(function.__code__, skip)


def allowed(fn: object) -> bool:
    """Whether either front-end was told to put calls of `fn` into the graph as they are."""
    if marks.allowed(fn):
        return True
    rules = sys.modules.get("torch._dynamo.trace_rules")
    ids = getattr(rules, "_allowed_callable_ids", None)
    added = getattr(ids, "function_ids", None)
    return added is not None and id(fn) in added


def dimensions(tensor: torch.Tensor) -> dict[int, Dimension]:
    """What either front-end was told of a tensor's dimensions, by dimension number."""
    found: dict[int, Dimension] = {}
    ranges = {row.dim: (row.min, row.max) for row in getattr(tensor, "_dynamo_dynamic_range", ())}
    for index in getattr(tensor, "_dynamo_weak_dynamic_indices", ()):
        found[index] = Dimension("maybe_dynamic")
    for attribute in ("_dynamo_dynamic_indices", "_dynamo_unbacked_indices"):
        for index in getattr(tensor, attribute, ()):
            found[index] = Dimension("dynamic", *ranges.get(index, (None, None)))
    for index in getattr(tensor, "_dynamo_static_indices", ()):
        found[index] = Dimension("static")
    return found | getattr(tensor, marks.DIMENSIONS, {})


def original(fn: Any) -> Any:
    """The function or module inside what `torch.compile` or `torch._dynamo.disable` returned; others as they are."""
    while (inner := inspect.getattr_static(fn, "_torchdynamo_orig_callable", None)) is not None:
        fn = inner
    if isinstance(fn, torch.nn.Module) and "_orig_mod" in fn._modules and _is_optimized(fn):
        return fn._modules["_orig_mod"]
    return fn


def compiling_flags() -> tuple[Callable[[], bool], ...]:
    """Torch's functions that tell code whether it is being captured."""
    found = [torch.compiler.is_compiling, torch.compiler.is_dynamo_compiling]
    external = sys.modules.get("torch._dynamo.external_utils")
    if external is not None:
        found.append(external.is_compiling)
    return tuple(found)


def default_backend() -> Any:
    """The backend set by `torch.compiler.set_default_backend`, or "inductor"."""
    registry = sys.modules.get("torch._dynamo.backends.registry")
    return "inductor" if registry is None else registry.get_default_backend()


def forced_eager() -> bool:
    """Whether `torch.compiler.set_stance("force_eager")` is in force."""
    frames = sys.modules.get("torch._dynamo.eval_frame")
    return frames is not None and frames._stance.stance == "force_eager"


def _is_optimized(module: torch.nn.Module) -> bool:
    frames = sys.modules.get("torch._dynamo.eval_frame")
    return frames is not None and isinstance(module, frames.OptimizedModule)
