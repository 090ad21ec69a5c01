"""How a region ends, as exit instructions: a return, or the frames rebuilt and one of them gone on with."""

from __future__ import annotations

from types import CodeType
from typing import Any

from framejit.bytecode.decode import decode
from framejit.bytecode.flow import analyze
from framejit.core.path import CALLER_SLOT, HANDLED, SLOT
from framejit.core.program import EMPTY, KEEP, OPAQUE_KINDS
from framejit.core.state import Exit, ExitKind, FrameState
from framejit.core.value import Null, Value
from framejit.lower.materialize import Materializer
from framejit.lower.pack import Instruction, Label
from framejit.objects import deaths, frame_

ANY_RETURN = -2
GENERATOR_FLAGS = 0x20 | 0x80 | 0x200

# Canonical op -> opaque kind where the names differ, and what its argument is where it is not the instruction's.
RENAMED = {
    "WITH_EXCEPT_START": "WITH_EXIT", "POP_JUMP_IF_TRUE": "JUMP_IF_TRUE", "POP_JUMP_IF_FALSE": "JUMP_IF_FALSE",
    "LOAD_SUPER_METHOD": "LOAD_SUPER_ATTR", "LOAD_FAST": "LOAD_SLOT", "STORE_FAST": "STORE_SLOT", "DELETE_FAST": "DELETE_SLOT",
    "LOAD_DEREF": "LOAD_CELL", "STORE_DEREF": "STORE_CELL", "DELETE_DEREF": "DELETE_SLOT",
}  # fmt: skip
ARGUMENTS: dict[str, Any] = {
    "COMPARE_OP": lambda ins: ins.arg,
    "CONTAINS_OP": lambda ins: int(bool(ins.value)),
    "IS_OP": lambda ins: int(bool(ins.value)),
    "BUILD_SLICE": lambda ins: ins.value,
    "UNPACK_SEQUENCE": lambda ins: ins.value,
    "UNPACK_EX": lambda ins: ins.value[0] | ins.value[1] << 8,
    "CALL_EX": lambda ins: int(bool(ins.value)),
    "BUILD_STRING": lambda ins: ins.value,
    "BUILD_SET": lambda ins: ins.value,
    "BUILD_MAP": lambda ins: ins.value,
    "BUILD_CONST_KEY_MAP": lambda ins: ins.value,
    "LIST_EXTEND": lambda ins: ins.value,
    "SET_UPDATE": lambda ins: ins.value,
    "DICT_UPDATE": lambda ins: ins.value,
    "DICT_MERGE": lambda ins: ins.value,
    "LIST_APPEND": lambda ins: ins.value,
    "SET_ADD": lambda ins: ins.value,
    "MAP_ADD": lambda ins: ins.value,
    "LOAD_SUPER_ATTR": lambda ins: 2 * ins.arg,
    "LOAD_SUPER_METHOD": lambda ins: 1 + 2 * ins.arg,
    "RAISE_VARARGS": lambda ins: ins.value,
    **dict.fromkeys(("LOAD_FAST", "STORE_FAST", "DELETE_FAST", "LOAD_DEREF", "STORE_DEREF", "DELETE_DEREF"), lambda ins: ins.value),
}
NAMED = frozenset({
    "LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "LOAD_SUPER_METHOD", "STORE_ATTR", "DELETE_ATTR", "IMPORT_NAME",
    "IMPORT_FROM", "LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME", "STORE_NAME", "DELETE_NAME",
})  # fmt: skip


def opaque_kind(op: str) -> int | None:
    """The opaque kind that performs a canonical op, None if CPython has to."""
    return OPAQUE_KINDS.get(RENAMED.get(op, op))


def _is_in_a_slot(value: Value) -> bool:
    """Whether the value lies in a slot of the frame: it is moved to another rather than dropped before its time."""
    path = getattr(value, "path", None)
    return path is not None and path.kind == SLOT


class Exits:
    """The exit of one region; builds are the materializer's, these rows come last."""

    def __init__(self, materializer: Materializer, root: CodeType, pc: int):
        self.m, self.root, self.pc = materializer, root, pc
        self.code: list[Instruction | Label] = []
        self.plain: list[list[Any]] = []  # per frame: registers, or the dead value whose register is still open
        self.deferred: list[Any] = []
        self.keep = False  # whether all frames get their dead locals too

    def add(self, op: str, *operands: Any) -> None:
        """Emit an instruction."""
        self.code.append(Instruction(op, operands))

    def prepare(self, leave: Exit) -> None:
        """Make all values that the exit needs; run before the effects are written."""
        self.leave = leave
        m = self.m
        self.left = [self._final(ended.slots, depth) if depth or self.pc else [] for depth, ended in enumerate(leave.left)]
        for value in m.trace.cache.get(deaths.UNDEAD, ()):
            m.value(value)
        if leave.kind is ExitKind.RETURN:
            assert leave.value is not None
            self.returned = m.value(leave.value)
            self.handled = self._handled(leave.handled)
            self.frames = [self._final(leave.slots, len(leave.left))] if (self.pc or leave.left) and leave.slots else []
            return
        assert leave.state is not None
        self.chain = leave.state.chain()
        m.has_frames = len(self.chain) > 1
        self.keep = any(frame_.looks_at_others(state.code) for state in self.chain)  # into tracebacks of inner ones
        self.frames = [self._values(state, state is self.chain[0]) for state in self.chain]
        self.functions = [m.value(state.func) for state in self.chain[1:]]
        self.extras = [EMPTY if state.extra is None else m.value(state.extra) for state in self.chain[:-1]]
        self.handled = self._handled(leave.state.handled)

    def _values(self, state: FrameState, is_root: bool) -> list[Any]:
        """A register for each live entry of a frame, the value itself for each dead one."""
        code = decode(state.code)
        live = analyze(code).live[code.by_pc[state.pc]]
        keep = self.keep or self.m.keeps_dead(state.code)
        entries: list[Any] = []
        for index, value in enumerate((*state.slots, *state.stack)):
            if is_root and self._is_slot(value, index, len(self.leave.left)):
                entries.append(KEEP)
            elif keep or index >= len(state.slots) or live >> index & 1 or _is_in_a_slot(value):
                entries.append(self.m.value(value))
            else:
                entries.append(value)
        return entries

    def _is_slot(self, value: Value, index: int, depth: int) -> bool:
        """Whether the frame that waits `depth` calls above holds the value in this very slot already."""
        if isinstance(value, Null):
            return index in self.m.trace.cache.get(("empty", depth), ())
        path = getattr(value, "path", None)
        if path is None:
            return False
        return path.arg[:2] == (depth, index) if path.kind == CALLER_SLOT else path.kind == SLOT and path.arg[0] == index and not depth

    def _final(self, slots: tuple[Value, ...], depth: int) -> list[Any]:
        """KEEP or the value itself for each local at the frame's end, where nothing is live."""
        return [
            KEEP if self._is_slot(value, index, depth) else self.m.value(value) if _is_in_a_slot(value) else value
            for index, value in enumerate(slots)
        ]

    def _handled(self, value: Value | None) -> int:
        """The register of the handled exception, -1 for none, -2 if it is the one from the region's start."""
        path = getattr(value, "path", None)
        if value is None or (path is not None and path.kind == HANDLED):
            return KEEP
        return EMPTY if getattr(value, "obj", self) is None else self.m.value(value)

    def emit(self) -> list[Instruction | Label]:
        """The exit rows."""
        leave = self.leave
        for ended, entries in zip(leave.left, self.left):
            outer = Label()
            self._show(entries)
            self.add("LEAVE", outer, ANY_RETURN if ended.pc is None else ended.pc)
            self.code.append(outer)
        if leave.kind is ExitKind.RETURN:
            if self.m.shows_frame and not self.frames and leave.slots:
                self.frames = [self._final(leave.slots, len(leave.left))]
            if self.handled != KEEP:
                self.add("SET_HANDLED", self.handled)
            for entries in self.frames:
                self._show(entries)
            if self.m.shows_frame:
                self.add("RETURN_AT", self.returned, leave.instr.pc)
            elif self.root.co_flags & GENERATOR_FLAGS and not leave.left:
                self.add("RETURN_AT", self.returned, _return_pc(self.root))
            elif self.pc and leave.instr is not None:  # somebody may have seen the frame: it ends at its line
                self.add("RETURN_AT", self.returned, leave.instr.pc)
            else:
                self.add("RETURN", self.returned)
            return self.code
        frames = [tuple(self._settle(entry) for entry in entries) for entries in self.frames]
        if self.handled != KEEP:  # first: what the slots let go of may ask for it
            self.add("SET_HANDLED", self.handled)
        self.add("SLOTS", frames[0])
        for caller, function, extra, slots in zip(self.chain, self.functions, self.extras, frames[1:]):
            inner = Label()
            self.add("CALLEE", function, caller.pc, caller.next_pc, caller.result.value, extra, slots, inner)
            self.code.append(inner)
        self._last(leave, self.chain[-1])
        return self.code

    def _show(self, entries: list[Any]) -> None:
        """A traceback may have seen a frame that has run before: it keeps the final locals."""
        if any(entry != KEEP for entry in entries):
            self.add("SLOTS", tuple(self._settle(entry) for entry in entries))

    def _settle(self, entry: Any) -> int:
        """Dead values are restored when their register is filled anyway."""
        if isinstance(entry, int):
            return entry
        known = self.m.value(entry) if self.m.shows_frame else self.m.known(entry)
        return EMPTY if known is None else known

    def _last(self, leave: Exit, state: FrameState) -> None:
        if leave.kind is ExitKind.ENTER:
            self.add("ENTER", state.pc)
            return
        ins = leave.instr
        kind = None if leave.kind is ExitKind.NATIVE or ins is None else opaque_kind(ins.op)
        if kind is None:
            self.add("NATIVE", state.pc)
            return
        argument = ARGUMENTS[ins.op](ins) if ins.op in ARGUMENTS else ins.arg
        constants: tuple[int, ...] = ()
        if ins.op in NAMED:
            constants = (self.m.packer.const(ins.value),)
        elif ins.op == "CALL" and ins.value:
            constants = (self.m.packer.const(ins.value),)
        self.add("OPAQUE", kind, argument, ins.pc, ins.next_pc, ins.target, constants)


def _return_pc(code: CodeType) -> int:
    return next(ins.pc for ins in decode(code).instructions if ins.op == "RETURN_VALUE")
