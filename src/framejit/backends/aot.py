"""The backend that runs what AOTAutograd makes of the graph: functional, forward and backward apart."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from framejit.backends.registry import Backend, add


def aot_eager(graph_module: Any, example_inputs: Sequence[Any], **ignored: Any) -> Callable[..., Any]:
    """AOTAutograd's forward and backward graphs, run operator by operator."""
    from functorch.compile import min_cut_rematerialization_partition
    from torch._dynamo.backends.debugging import boxed_nop
    from torch._functorch.aot_autograd import aot_module_simplified

    if ignored:
        warnings.warn(f"backend 'aot_eager' ignores {', '.join(sorted(ignored))}", stacklevel=2)
    return aot_module_simplified(
        graph_module,
        example_inputs,
        fw_compiler=boxed_nop,
        bw_compiler=boxed_nop,
        inference_compiler=boxed_nop,
        partition_fn=min_cut_rematerialization_partition,
        keep_inference_input_mutations=True,
    )


add(Backend("aot_eager", aot_eager, mutates_in_order=False))
