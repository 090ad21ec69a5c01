"""Runs a function eagerly and captured, and compares everything that can be observed."""

from __future__ import annotations

import copy
import functools
import random
import traceback
import types
from collections.abc import Callable
from typing import Any

import torch

import framejit


class Counter:
    """A backend that runs the graph as it is and counts graphs, operators and runs."""

    def __init__(self) -> None:
        self.graphs = 0
        self.operators = 0
        self.runs = 0
        self.modules: list[Any] = []

    def __call__(self, module: Any, example_inputs: Any) -> Callable[..., Any]:
        self.graphs += 1
        self.operators += sum(node.op.startswith("call") for node in module.graph.nodes)
        self.modules.append(module)

        def run(*args: Any) -> Any:
            self.runs += 1
            return module.forward(*args)

        return run


def same(a: Any, b: Any, where: str = "result") -> None:
    """Assert deep equality: types, values, dtypes, strides, order of dicts."""
    assert type(a) is type(b), f"{where}: {type(a)} is not {type(b)}"
    if isinstance(a, torch.Tensor):
        assert a.stride() == b.stride() and a.requires_grad == b.requires_grad, f"{where}: metadata differs"
        torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)
    elif isinstance(a, dict):
        assert list(map(repr, a)) == list(map(repr, b)), f"{where}: keys {list(a)} {list(b)}"
        for key, other in zip(a, b, strict=True):
            same(a[key], b[other], f"{where}[{key!r}]")
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b), f"{where}: lengths {len(a)} {len(b)}"
        for index, (left, right) in enumerate(zip(a, b, strict=True)):
            same(left, right, f"{where}[{index}]")
    elif isinstance(a, BaseException):
        same(a.args, b.args, where + ".args")
    elif hasattr(a, "__dict__") and not isinstance(a, (type, types.FunctionType)):
        same(vars(a), vars(b), where + ".__dict__")
    else:
        assert a == b or (a != a and b != b), f"{where}: {a!r} {b!r}"


def outcome(function: Callable[..., Any], args: tuple[Any, ...], name: str) -> tuple[Any, ...]:
    """("value", v), or ("raised", type, args, lines in the function `name`)."""
    try:
        return "value", function(*args)
    except Exception as error:
        lines = [entry.lineno for entry in traceback.extract_tb(error.__traceback__) if entry.name == name]
        return "raised", type(error), error.args, lines


def check(
    *variants: Callable[[], tuple[Any, ...]], graphs: int | None = None, breaks: int | None = None, calls: int = 2, strict: bool = True
) -> Callable[[Callable[..., Any]], Callable[[], None]]:
    """Make a test of a function: each variant makes fresh arguments, and every call is compared with eager.

    `graphs` is the number of graphs over all calls, `breaks` the number of breaks of the first call; with neither, one
    graph without a break is expected.
    """
    makes = variants or (lambda: (torch.arange(4.0),),)

    def decorate(function: Callable[..., Any]) -> Callable[[], None]:
        @functools.wraps(function)
        def test() -> None:
            framejit.reset()
            counter = Counter()
            recorded: list[Any] = []
            unsubscribe = framejit.events.subscribe(recorded.append, framejit.events.Break)
            try:
                with framejit.config.patch(strict=strict):
                    compiled = framejit.compile(function, backend=counter)
                    for index, make in enumerate(makes * calls):
                        _compare(function, compiled, make, index)
                        if index == 0:
                            first_breaks = len(recorded)
            finally:
                unsubscribe()
            seen = [f"{record.reason.id} {record.detail}" for record in recorded]
            if graphs is None and breaks is None:
                assert first_breaks == 0 and counter.graphs >= 1, f"{counter.graphs} graphs, breaks {seen}"
            if graphs is not None:
                assert counter.graphs == graphs, f"{counter.graphs} graphs, breaks {seen}"
            if breaks is not None:
                assert first_breaks == breaks, seen
            assert counter.runs >= 1 or graphs == 0, "no graph ran"

        del test.__wrapped__
        return test

    return decorate


def _compare(function: Callable[..., Any], compiled: Callable[..., Any], make: Callable[[], tuple[Any, ...]], index: int) -> None:
    torch.manual_seed(index)
    random.seed(index)
    eager_args = make()
    eager = outcome(function, eager_args, function.__name__)
    eager_random = torch.get_rng_state(), random.getstate()
    torch.manual_seed(index)
    random.seed(index)
    args = make()
    captured = outcome(compiled, args, function.__name__)
    same(captured, eager, f"call {index}")
    same(args, eager_args, f"arguments after call {index}")
    assert torch.equal(torch.get_rng_state(), eager_random[0]), "torch's random state differs"
    assert random.getstate() == eager_random[1], "Python's random state differs"


__all__ = ["Counter", "check", "copy", "same"]
