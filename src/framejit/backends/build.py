"""Hands one captured graph to the backend that was asked for."""

from __future__ import annotations

import linecache
import random
import time
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch._guards import CompileContext, TracingContext, compile_context, tracing
from torch._guards import CompileId as TorchCompileId
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.fx.graph_module import _loader

from framejit.backends import aot, eager, inductor
from framejit.backends.registry import Backend, find
from framejit.core.errors import BackendError
from framejit.core.options import CompileOptions
from framejit.events import CompileId, GraphCaptured, GraphCompiled, emit

BUILT_IN = (eager, aot, inductor)


def static_fake_mode(shape_env: ShapeEnv) -> FakeTensorMode:
    """Sizes of real tensors are constants unless a symbolic context says otherwise; AOTAutograd asks for symbols.

    No subclass: higher-order operators look their rules up by the exact type of the mode.
    """
    mode = FakeTensorMode(shape_env=shape_env)
    mode.from_tensor = types.MethodType(_from_tensor, mode)
    return mode


def _from_tensor(
    mode: FakeTensorMode, tensor: torch.Tensor, *, static_shapes: bool | None = None, symbolic_context: Any = None, **rest: Any
) -> Any:
    static = symbolic_context is None
    return FakeTensorMode.from_tensor(mode, tensor, static_shapes=static, symbolic_context=symbolic_context, **rest)


@dataclass(frozen=True)
class CompiledGraph:
    """What the backend made: `fn(*inputs)` gives a tuple or list, in the order of the graph's outputs."""

    fn: Callable[..., Any]
    mutates_in_order: bool
    operators: int
    seconds: float


def compile_graph(
    options: CompileOptions,
    graph_module: GraphModule,
    inputs: Sequence[Any],
    compile_id: CompileId,
    fake_mode: FakeTensorMode | None = None,
) -> CompiledGraph:
    """Compile a graph whose placeholders are `inputs`: real tensors, and SymInts for unspecialised ints.

    Runs under a TracingContext with a fake mode of its own, so that backends made for torch find what they expect, and
    leaves the random states alone. The capture's own fake tensors may have been changed in place; only its shape
    environment is shared, and has the guards that the backend adds. Raises BackendError.
    """
    row = find(options.backend)
    operators = sum(node.op.startswith("call") for node in graph_module.graph.nodes)
    source = type(graph_module).forward.__code__.co_filename
    weakref.finalize(graph_module, _forget_source, source).atexit = False
    emit(GraphCaptured(compile_id, graph_module))
    mode = static_fake_mode(ShapeEnv() if fake_mode is None else fake_mode.shape_env)
    _describe_placeholders(graph_module, inputs, mode)
    start = time.perf_counter()
    try:
        with (
            _random_states(),
            tracing(TracingContext(mode)),
            compile_context(
                CompileContext(TorchCompileId(frame_id=compile_id.frame, frame_compile_id=compile_id.attempt))
            ),
        ):
            fn = row.compiler_fn(graph_module, list(inputs), **_keywords(row, options))
        if not callable(fn):
            raise TypeError(f"it returned {type(fn).__name__}, which cannot be called")
    except Exception as error:
        raise BackendError(row.name, error) from error
    seconds = time.perf_counter() - start
    emit(GraphCompiled(compile_id, operators, row.name, seconds))
    return CompiledGraph(fn, row.mutates_in_order, operators, seconds)


def _forget_source(name: str) -> None:
    """Drop the generated source that torch.fx and linecache keep for ever: the graph is gone."""
    _loader.eval_cache.pop(name, None)
    linecache.cache.pop(name, None)


def _keywords(row: Backend, options: CompileOptions) -> dict[str, Any]:
    """What torch.compile would pass on: mode and options where given; more to backends that ask for it by name."""
    keywords: dict[str, Any] = {}
    if options.mode not in (None, "default"):
        keywords["mode"] = options.mode
    if options.options:
        keywords["options"] = dict(options.options)
    if row.compiler_fn is inductor.inductor:
        keywords |= {"dynamic": options.dynamic, "name": options.name}
    return keywords


def _describe_placeholders(graph_module: GraphModule, inputs: Sequence[Any], mode: FakeTensorMode) -> None:
    """Give every placeholder that has none its metadata."""
    placeholders = graph_module.graph.find_nodes(op="placeholder")
    for node, value in zip(placeholders, inputs, strict=True):
        if "example_value" not in node.meta:
            described = mode.from_tensor(value) if isinstance(value, torch.Tensor) else value
            node.meta["example_value"] = described


@contextmanager
def _random_states() -> Iterator[None]:
    python, cpu = random.getstate(), torch.get_rng_state()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    try:
        yield
    finally:
        random.setstate(python)
        torch.set_rng_state(cpu)
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)
