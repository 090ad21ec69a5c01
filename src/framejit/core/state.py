"""Frame states: how a frame stands between two instructions, and the exits of a region."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from framejit.core.value import Value


class Phase(Enum):
    """What continuing a frame means: do the instruction again, take its callee's result, or take an exception."""

    RETRY = "retry"
    RETURNS = "returns"
    RAISES = "raises"


class Result(Enum):
    """What a caller does with its callee's result."""

    PUSH = 0
    DISCARD = 1  # push `FrameState.extra` instead: the instance whose __init__ ran


@dataclass(frozen=True, slots=True)
class FrameState:
    """One frame: `slots` are locals and cells in CPython's order, `stack` the operand stack (bottom first).

    With phase RETURNS the operands of the call at `pc` are already popped and `next_pc` is where the frame goes on.
    """

    code: Any
    func: Value
    pc: int
    slots: tuple[Value, ...]
    stack: tuple[Value, ...]
    phase: Phase = Phase.RETRY
    next_pc: int = -1
    result: Result = Result.PUSH
    extra: Value | None = None
    handled: Value | None = None
    parent: FrameState | None = None

    def chain(self) -> list[FrameState]:
        """The states from the outermost frame to this one."""
        states: list[FrameState] = []
        state: FrameState | None = self
        while state is not None:
            states.append(state)
            state = state.parent
        return states[::-1]

    def __str__(self) -> str:
        return f"{self.code.co_name} pc={self.pc} {self.phase.value} slots={list(self.slots)} | {list(self.stack)}"


class ExitKind(Enum):
    """How a region ends."""

    RETURN = "return"  # the root frame returns `value`
    OPAQUE = "opaque"  # one instruction is done by the C-API on the real frame, then the next pc is looked up
    NATIVE = "native"  # CPython goes on at the state's pc
    ENTER = "enter"  # the next region begins at the state's pc


@dataclass(frozen=True, slots=True)
class Ended:
    """A real frame that has ended, and the region goes on in its caller: its final locals and cells."""

    slots: tuple[Value, ...]
    pc: int | None  # of the instruction that returns; None: an exception has left the frame


@dataclass(frozen=True, slots=True)
class Exit:
    """The end of a region; `state` is the innermost frame for OPAQUE and NATIVE."""

    kind: ExitKind
    value: Value | None = None
    state: FrameState | None = None
    instr: Any = None
    reason: Any = None
    guilty: Any = None
    detail: str = ""
    lines: tuple[Any, ...] = field(default=())
    ends: bool = False  # whether all frames of the region end here, with an exception
    left: tuple[Ended, ...] = ()  # frames that end first: the one the region starts in, then those that waited for it
    slots: tuple[Value, ...] = ()  # of RETURN: the final locals and cells of the frame that returns
    depth: int = 0  # how many frames CPython may need on top of the one that the region starts in
    handled: Value | None = None  # of RETURN: the exception that is being handled then, which was so when the frame began
