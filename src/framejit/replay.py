"""What a graph call needs so that a run that raises can be done again by CPython."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from framejit.core.program import RANDOM, REPLAY
from framejit.core.trace import Input, Trace
from framejit.rules import torch_state

SAVED_BYTES = 1 << 24  # inputs that the graph changes are saved up to this size; beyond, a failed run is not replayed
Graph = Callable[..., Sequence[Any]]


def prepare(graph: Graph, trace: Trace, inputs: Sequence[Input], in_order: bool) -> tuple[Graph, int]:
    """The callable for CALL_GRAPH and its flags."""
    flags = REPLAY
    if torch._C._autograd._top_saved_tensors_default_hooks(True) is not None:
        flags = 0  # the user's hooks run in the graph, and may raise to end it, as checkpoints do
    elif trace.flags.get("mutates_inputs") and in_order:
        changed = [index for index, entry in enumerate(inputs) if entry.node.meta.get("mutated")]
        if changed and _can_restore([inputs[index] for index in changed]):
            graph = _saving_inputs(graph, tuple(changed))
        else:
            flags = 0
    if trace.flags.get("random"):
        flags |= RANDOM
    if trace.flags.get("modes"):
        graph = _restoring_modes(graph, trace)
    return graph, flags


def _can_restore(changed: list[Input]) -> bool:
    """Whether writing the old values back undoes all that an in-place operator did to these inputs."""
    total = 0
    for entry in changed:
        real = entry.real
        recorded = real.requires_grad is not entry.value.fake.requires_grad or not real.is_leaf  # type: ignore[attr-defined]
        if recorded or real.layout is not torch.strided:  # a leaf that requires grad is only changed where nothing is recorded
            return False
        total += real.numel() * real.element_size()
    return total <= SAVED_BYTES


def _saving_inputs(graph: Graph, changed: tuple[int, ...]) -> Graph:
    def call(*args: Any) -> Sequence[Any]:
        saved = [(args[index], args[index].detach().clone()) for index in changed]
        try:
            return graph(*args)
        except Exception:
            with torch.no_grad():
                for tensor, value in saved:
                    tensor.copy_(value)
            raise

    return call


def _restoring_modes(graph: Graph, trace: Trace) -> Graph:
    fields = [field for field in trace.heap.fields_of(torch_state.STATE) if field[0] in torch_state.READERS]
    real = [(torch_state.SETTERS[field[0]], (*field[1:], torch_state.READERS[field[0]](*field[1:]))) for field in fields]

    def call(*args: Any) -> Sequence[Any]:
        depth = _nesting()
        try:
            return graph(*args)
        except BaseException:
            for setter, values in real:
                setter(*values)
            for _ in range(_nesting() - depth):
                torch.autocast_decrement_nesting()
            raise

    return call


def _nesting() -> int:
    torch.autocast_increment_nesting()
    return int(torch.autocast_decrement_nesting())


def save_generators() -> Any:
    """The states of the default random generators."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    return torch.default_generator.get_state(), cuda


def restore_generators(saved: Any) -> None:
    """Give the default random generators their saved states."""
    cpu, cuda = saved
    torch.default_generator.set_state(cpu)
    if cuda is not None:
        torch.cuda.set_rng_state_all(cuda)
