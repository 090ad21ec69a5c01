"""Runs one program eagerly and captured, and compares everything that can be observed."""

from __future__ import annotations

import contextlib
import random
import signal
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

import framejit
from fuzz.describe import FILE, describe, difference
from fuzz.faults import faults
from fuzz.modes import Plan

SECONDS = 10  # for an eager call, which takes milliseconds

class Result(NamedTuple):
    """What a comparison found."""

    difference: str
    """Empty if nothing differs."""
    breaks: int
    """Of the first call; -1 if no region was made."""
    reasons: tuple[str, ...]
    raised: bool
    regions: int = 0
    """How many were captured in all."""
    cut: int = 0
    """How many of them ended for their length."""
    failed: int = 0
    """How many guards were reported as failed."""


class Endless(BaseException):
    """The program does not come to its end, not even eagerly; one in some ten thousand iterates over a list that it lengthens."""


@contextlib.contextmanager
def patience() -> Iterator[None]:
    """End what takes too long with `Endless`."""

    def give_up(*_: Any) -> None:
        raise Endless

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class World:
    """A program's module and what its helpers saw."""

    def __init__(self, source: str) -> None:
        module = types.ModuleType("fuzzed")
        sys.modules["fuzzed"] = module  # dataclasses look their module up
        self.names = vars(module)
        self.names.update(framejit=framejit, opaque=self.opaque, peek=self.peek, opaque_value=self.value)
        torch.manual_seed(0)
        random.seed(0)
        exec(compile(source, FILE, "exec"), self.names)
        self.initial = set(self.names)

    @staticmethod
    @framejit.disable
    def opaque() -> None:
        """A call that cannot be captured."""

    @staticmethod
    @framejit.disable
    def value(value: Any) -> Any:
        """A call that cannot be captured and gives what it gets."""
        return value

    @property
    def peek(self) -> Any:
        """A call that cannot be captured and notes the state of its arguments."""

        @framejit.disable
        def peek(*values: Any) -> None:
            self.names["LOG"].append("; ".join(describe(seen=values)))

        return peek

    def call(self, function: Any, variant: int, index: int) -> list[str]:
        """One call on fresh arguments; lines of everything that can be seen of it afterwards."""
        torch.manual_seed(index)
        random.seed(index)
        args = result = error = None
        try:
            args = self.names["make"](variant)
            result = function(*args)
        except Exception as raised:  # noqa: BLE001 - part of what is compared
            error = raised
        state = {
            "grad": torch.is_grad_enabled(),
            "python": hash(random.getstate()),
            "torch": hash(bytes(torch.get_rng_state().tolist())),
        }
        torch.set_grad_enabled(True)
        internal = error
        while internal is not None and not isinstance(internal, framejit.FramejitError):
            internal = internal.__context__
        if internal is not None:
            error = internal
        seen = {
            name: value
            for name, value in self.names.items()
            if name.isupper() or isinstance(value, type) and value.__module__ == "fuzzed"
        }
        lines = describe(error=error, result=result, args=args, state=state, names=seen)
        del error, internal, seen, result, args  # a traceback in a local of its own frame would keep everything alive
        self.names["KEPT"].clear()
        if len(self.names["LOG"]) > 300:
            self.names["LOG"].clear()
        return lines


def compare(source: str, plan: Plan) -> Result:
    """Run the program by the plan in both ways."""
    eager_world, world = World(source), World(source)
    framejit.reset()
    breaks: list[str] = []
    captured: list[int] = []
    events = framejit.events
    unsubscribe = [  # events hold the captured values, which are not to live longer
        events.subscribe(lambda event: breaks.append(f"{event.reason.id}: {event.guilty}: {event.detail}"), events.Break),
        events.subscribe(lambda event: captured.append(event.pc), events.CaptureEnd),
    ]
    first = -1
    raised = False
    text = ""
    try:
        with framejit.config.patch(strict=True, keep_locals=plan.keep_locals), faults(plan.guards, plan.instructions) as failing:
            compiled = framejit.compile(world.names["main"], backend="eager")
            for index, variant in enumerate(plan.variants):
                with patience():
                    eager = eager_world.call(eager_world.names["main"], variant, index)
                lines = world.call(compiled, variant, index)
                if index == 0:
                    first = len(breaks) if captured else -1
                    raised = eager[0] != "error = NoneType None"
                text = difference(eager, lines)
                if text:
                    text = f"call {index}, arguments {variant}:\n{text}\neager error: {eager[:3]}\ncaptured error: {lines[:3]}"
                    break
                if plan.reset:
                    framejit.reset()
    except Endless:
        text = ""
    finally:
        for stop in unsubscribe:
            stop()
    cut = sum(line.startswith("CODE_TOO_LARGE") for line in breaks)
    return Result(text, first, tuple(breaks[: max(first, 0)]), raised, len(captured), cut, failing.failed)
