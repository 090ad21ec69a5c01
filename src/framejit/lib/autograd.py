"""The context of a torch.autograd.Function whose call needs no gradient."""

from __future__ import annotations

from typing import Any


class Context:
    """Takes what `forward` saves and forgets it: there will be no backward."""

    def __init__(self, count: int):
        self.needs_input_grad = (False,) * count
        self.saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Nothing is kept."""

    def save_for_forward(self, *tensors: Any) -> None:
        """Nothing is kept."""

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Nothing is differentiable."""

    def set_materialize_grads(self, value: bool) -> None:
        """There are no gradients."""
