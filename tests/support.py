"""Runs a function eagerly and captured, and compares everything that can be observed."""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import random
import traceback
import types
from collections import deque
from collections.abc import Callable, Iterator
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
    elif isinstance(a, deque):
        assert a.maxlen == b.maxlen, f"{where}: maxlen differs"
        same([*a, vars(a) if hasattr(a, "__dict__") else None], [*b, vars(b) if hasattr(b, "__dict__") else None], where)
    elif isinstance(a, BaseException):
        same(a.args, b.args, where + ".args")
    elif a is not b and isinstance(a, Iterator) and not hasattr(a, "__dict__"):
        same(_rest(a), _rest(b), f"what is left of {where}")
    elif hasattr(a, "__dict__") and not isinstance(a, (type, types.FunctionType)):
        same(vars(a), vars(b), where + ".__dict__")
    else:
        assert a == b or (a != a and b != b), f"{where}: {a!r} {b!r}"


def _rest(iterator: Iterator[Any]) -> tuple[Any, ...]:
    """What an iterator still gives."""
    return outcome(lambda: list(itertools.islice(iterator, 20)), (), "")


def outcome(function: Callable[..., Any], args: tuple[Any, ...], name: str) -> tuple[Any, ...]:
    """("value", v), or ("raised", type, args, lines in the function `name`)."""
    try:
        return "value", function(*args)
    except Exception as error:
        lines = [entry.lineno for entry in traceback.extract_tb(error.__traceback__) if entry.name == name]
        return "raised", type(error), error.args, lines


@contextlib.contextmanager
def recorded(*kinds: type[framejit.events.Event]) -> Iterator[list[Any]]:
    """The events of these kinds meanwhile."""
    seen: list[Any] = []
    stops = [framejit.events.subscribe(seen.append, kind) for kind in kinds]
    try:
        yield seen
    finally:
        for stop in stops:
            stop()


def check_rounds(once: Callable[..., Any], function: Callable[..., Any], graphs: int, breaks: int, calls: int) -> None:
    """Each call of the compiled function is as one of the function itself, as `once(call, round)` sees them; nothing is left to CPython."""
    framejit.reset()
    counter = Counter()
    with recorded(framejit.events.Break, framejit.events.Fallback) as seen, framejit.config.patch(strict=True):
        compiled = framejit.compile(function, backend=counter)
        for round_ in range(calls):
            same(once(compiled, round_), once(function, round_))
    told = [f"{record.reason.id} {record.detail}" for record in seen]
    assert (counter.graphs, len(told)) == (graphs, breaks), (counter.graphs, told)


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
            with recorded(framejit.events.Break) as broken, framejit.config.patch(strict=strict):
                compiled = framejit.compile(function, backend=counter)
                for index, make in enumerate(makes * calls):
                    _compare(function, compiled, make, index)
                    if index == 0:
                        first_breaks = len(broken)
            seen = [f"{record.reason.id} {record.detail}" for record in broken]
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



def program(*backends: str, tolerance: float = 0.0) -> Callable[[Callable[..., Any]], Callable[[], None]]:
    """Make a test of a whole program `f(compiled)`: run with `compiled` doing nothing, then with it compiling, it must give the same.

    Beside values, the gradients and the aliasing of all tensors in the result are compared, torch's modes and the random state.
    """

    def decorate(function: Callable[..., Any]) -> Callable[[], None]:
        @functools.wraps(function)
        def test() -> None:
            expected = _observed(function, lambda target: target)
            for backend in backends or ("eager", "aot_eager"):
                framejit.reset()
                with framejit.config.patch(strict=True):
                    found = _observed(function, functools.partial(framejit.compile, backend=backend))
                exact = tolerance if backend == "eager" else max(tolerance, 1e-5)
                assert len(found) == len(expected), f"{backend}: {len(found)} facts, not {len(expected)}"
                for one, other in zip(found, expected, strict=True):
                    if isinstance(one[-1], torch.Tensor) and isinstance(other[-1], torch.Tensor):
                        torch.testing.assert_close(one[-1], other[-1], rtol=exact, atol=exact, equal_nan=True)
                    else:
                        assert one == other, f"{backend}: {one} is not {other}"

        del test.__wrapped__
        return test

    return decorate


def _observed(function: Callable[..., Any], compiled: Callable[..., Any]) -> list[tuple[Any, ...]]:
    torch.manual_seed(0)
    random.seed(0)
    facts: list[tuple[Any, ...]] = []
    result = function(compiled)
    _describe(result, "result", {}, facts)
    modes = torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_dtype(), torch.is_autocast_enabled("cpu")
    return [*facts, ("modes", modes), ("random", random.getstate()), ("random", torch.get_rng_state())]


def _describe(value: Any, where: str, seen: dict[Any, str], facts: list[tuple[Any, ...]]) -> None:
    """Append what can be seen of a value; tensors seen before and shared storages are told by where they were first met."""
    if isinstance(value, torch.Tensor):
        first = seen.setdefault(id(value), where)
        storage = seen.setdefault(("storage", value.untyped_storage()._cdata), where) if value.layout is torch.strided else ""
        layout = (value.stride(), value.storage_offset()) if value.layout is torch.strided else value.layout
        flags = value.requires_grad, value.is_leaf, value.grad_fn is None, value.is_inference(), value.is_conj(), value.is_neg()
        facts.append((where, first, storage, type(value).__name__, value.dtype, value.shape, layout, flags))
        if first == where:
            facts.append((where, value.detach().clone()))
            if value.is_leaf and value.grad is not None:
                _describe(value.grad, where + ".grad", seen, facts)
    elif isinstance(value, torch.nn.Module):
        _describe(value.state_dict(keep_vars=True), where, seen, facts)
    elif isinstance(value, dict):
        facts.append((where, type(value).__name__, list(value)))
        for key, item in value.items():
            _describe(item, f"{where}[{key!r}]", seen, facts)
    elif isinstance(value, (list, tuple)):
        facts.append((where, type(value).__name__, len(value)))
        for index, item in enumerate(value):
            _describe(item, f"{where}[{index}]", seen, facts)
    elif hasattr(value, "__dict__") and not isinstance(value, (type, types.FunctionType)):
        facts.append((where, type(value).__name__))
        _describe(vars(value), where, seen, facts)
    else:
        facts.append((where, type(value).__name__, repr(value)))


__all__ = ["Counter", "check", "check_rounds", "copy", "program", "recorded", "same"]
