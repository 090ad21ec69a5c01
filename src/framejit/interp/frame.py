"""Symbolic frames: one running code object of the captured program."""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType
from typing import Any

from framejit import lib
from framejit.bytecode.instr import Code
from framejit.core.services import Pending
from framejit.core.state import FrameState, Phase, Result
from framejit.core.value import Ref, Value

OWN_FILES = lib.__path__[0]


@dataclass(frozen=True, slots=True)
class Shown:
    """An entry of a traceback: a frame, the one that called it (None: that which the region begins in), and the pc."""

    frame: Frame
    back: Shown | None
    place: int
    root_place: int


class Frame(Pending):
    """A frame between two instructions; `index` is the instruction it stands at.

    A frame below the top stands at its call, whose operands are already popped.
    """

    __slots__ = (
        "code", "real_code", "func", "slots", "stack", "index", "globals", "builtins", "result", "extra", "generator", "names", "asked",
        "direct", "inlined", "kept", "caught", "left_at", "inherited",
    )  # fmt: skip

    def __init__(self, code: Code, real_code: CodeType, func: Value, slots: list[Value], globals_: Ref, builtins: Ref):
        self.code, self.real_code, self.func, self.slots = code, real_code, func, slots
        self.stack: list[Value] = []
        self.index = 0
        self.globals, self.builtins = globals_, builtins
        self.result = Result.PUSH
        self.extra: Value | None = None
        self.generator: Ref | None = None  # the generator whose body this is
        self.asked: tuple[Value, str, int] | None = None  # the object and attribute that the frame computes, the step that asked
        self.names: Any = None  # the namespace of a class body
        self.inlined = False  # whether CPython's own loop goes on in it, without a call of C code
        self.direct = False  # whether a call in Python code runs it: nobody else holds its arguments
        self.caught: list[Ref] = []  # the tracebacks of the exceptions that its handlers caught
        self.inherited: Value | None = None  # of a generator: what is being handled where it goes on
        self.left_at: int | None = None  # the pc at which an exception left it
        self.kept: tuple[Value, ...] = ()  # the arguments that C code holds meanwhile

    @property
    def is_ours(self) -> bool:
        """Whether the code stands for C code, which holds other references than it does."""
        return self.real_code.co_filename.startswith(OWN_FILES)

    @property
    def instr(self) -> Any:
        """The instruction the frame stands at."""
        return self.code.instructions[self.index]

    def raising_place(self, callee: Frame | None) -> int:
        """The pc that a traceback shows; a call that runs Python code in the same loop has been passed when that raises."""
        ins = self.instr
        passed = ins.op == "CALL" and callee is not None and callee.inlined
        return int(ins.next_pc - 2 if passed else ins.own_pc)

    def state(self, parent: FrameState | None, callee: Frame | None, handled: Value | None) -> FrameState:
        """A snapshot; `callee` is the frame whose result this one waits for."""
        ins = self.instr
        phase, result, extra = (Phase.RETRY, Result.PUSH, None) if callee is None else (Phase.RETURNS, callee.result, callee.extra)
        return FrameState(
            self.real_code, self.func, ins.pc, tuple(self.slots), tuple(self.stack),
            phase, ins.next_pc, result, extra, handled, parent,
        )  # fmt: skip

    def __str__(self) -> str:
        return f"{self.code.qualname} at {self.instr}"
