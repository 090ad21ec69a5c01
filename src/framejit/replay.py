"""What a graph call needs so that a run that raises can be done again by CPython."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from framejit import _C
from framejit.core.program import RANDOM, REPLAY
from framejit.core.trace import Input, Trace
from framejit.rules import torch_state

SAVED_BYTES = 1 << 24  # inputs that the graph changes are saved up to this size; beyond, a failed run is not replayed
Graph = Callable[..., Sequence[Any]]


def prepare(graph: Graph, trace: Trace, inputs: Sequence[Input], in_order: bool) -> tuple[Graph, int]:
    """The callable for CALL_GRAPH and its flags."""
    flags = REPLAY
    saved: list[int] = []
    final: list[int] = []
    if torch._C._autograd._top_saved_tensors_default_hooks(True) is not None:
        flags = 0  # the user's hooks run in the graph, and may raise to end it, as checkpoints do
    elif trace.flags.get("mutates_inputs") and in_order:
        changed = [index for index, entry in enumerate(inputs) if entry.node.meta.get("mutated")]
        final = [index for index in changed if _is_recorded(inputs[index])]
        saved = [index for index in changed if index not in final]
        if not changed or not _can_save([inputs[index] for index in saved]):
            flags, saved, final = 0, [], []
    if trace.flags.get("random"):
        flags |= RANDOM
    modes = _modes(trace) if trace.flags.get("modes") else None
    return (_undoing(graph, saved, final, modes) if saved or final or modes is not None else graph), flags


def _is_recorded(entry: Input) -> bool:
    """Whether autograd notes what an in-place operator does to the input: old values cannot be written back."""
    real = entry.real  # a leaf that requires grad is only changed where nothing is recorded
    return real.requires_grad is not entry.value.fake.requires_grad or not real.is_leaf  # type: ignore[attr-defined]


def _can_save(changed: list[Input]) -> bool:
    if any(entry.real.layout is not torch.strided for entry in changed):
        return False
    return sum(entry.real.numel() * entry.real.element_size() for entry in changed) <= SAVED_BYTES


def _undoing(graph: Graph, saved: list[int], final: list[int], modes: list[tuple[Any, tuple[Any, ...]]] | None) -> Graph:
    """The graph, that takes back what it did before it raises; behind a change for good its error is that of the program."""

    def call(*args: Any) -> Sequence[Any]:
        values = [(memory, memory.clone()) for memory in (_memory(args[index].detach()) for index in saved)]
        versions = [args[index]._version for index in final]
        depth = _nesting() if modes is not None else 0
        try:
            return graph(*args)
        except BaseException as error:
            if versions != [args[index]._version for index in final]:
                _C.keep_error()
                raise
            if isinstance(error, Exception):
                with torch.no_grad():
                    for memory, value in values:
                        memory.copy_(value)
            if modes is not None:
                _restore_modes(modes, depth)
            raise

    return call


def _memory(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, or the memory that it lies in where its elements share some: those cannot be written to."""
    if torch._debug_has_internal_overlap(tensor) == 0:
        return tensor
    extent = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.as_strided((extent if tensor.numel() else 0,), (1,))


def _modes(trace: Trace) -> list[tuple[Any, tuple[Any, ...]]]:
    """The modes that the graph changes, as calls that set them as they are now."""
    fields = [field for field in trace.heap.fields_of(torch_state.STATE) if field[0] in torch_state.READERS]
    return [(torch_state.SETTERS[field[0]], (*field[1:], torch_state.READERS[field[0]](*field[1:]))) for field in fields]


def _restore_modes(modes: list[tuple[Any, tuple[Any, ...]]], depth: int) -> None:
    for setter, values in modes:
        setter(*values)
    for _ in range(_nesting() - depth):
        torch.autocast_decrement_nesting()


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
