"""The backend that runs the graph as it is."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from framejit.backends.registry import Backend, add


def eager(graph_module: Any, example_inputs: Sequence[Any], **ignored: Any) -> Callable[..., Any]:
    """Run the graph operator by operator."""
    if ignored:
        warnings.warn(f"backend 'eager' ignores {', '.join(sorted(ignored))}", stacklevel=2)
    return graph_module.forward


add(Backend("eager", eager, mutates_in_order=True))
