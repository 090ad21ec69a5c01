"""Instructions with virtual registers and labels, and their packing into a machine program."""

from __future__ import annotations

import struct
import types
from typing import Any

import torch

from framejit import _C
from framejit.core import heap
from framejit.core.program import OPS

KINDS: dict[str, str] = {name: op.kinds for name, op in OPS.items()}

LITERALS = (
    int, float, bool, complex, str, bytes, type(None), type(Ellipsis), types.CodeType, torch.dtype, torch.device, torch.layout,
    torch.memory_format, types.BuiltinFunctionType, slice, range,
)  # fmt: skip
WEAK_KINDS = (
    type, types.FunctionType, types.ModuleType, torch.nn.Module, property, classmethod, staticmethod, types.MemberDescriptorType,
    types.GetSetDescriptorType, types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType,
)  # fmt: skip


class Label:
    """A place in the program that is not known yet."""

    __slots__ = ("index",)

    def __init__(self) -> None:
        self.index = -1


class Instruction:
    """One machine instruction whose registers are virtual; `note` says what it stands for in messages."""

    __slots__ = ("op", "operands", "note")

    def __init__(self, op: str, operands: tuple[Any, ...], note: Any = None):
        self.op, self.operands, self.note = op, operands, note


class Packer:
    """Collects constants, registers and stamps; turns instructions into a program."""

    def __init__(self) -> None:
        self.consts: list[Any] = []
        self.weak: set[int] = set()
        self.const_index: dict[Any, int] = {}
        self.registers = 0
        self.stamps = 0

    def register(self) -> int:
        """A new virtual register."""
        self.registers += 1
        return self.registers - 1

    def stamp(self) -> int:
        """A new stamp of a dict or class."""
        self.stamps += 1
        return self.stamps - 1

    def const(self, obj: Any, weak: bool | None = None) -> int:
        """The index of a constant; `weak` None: held weakly if its kind could close a cycle through the program."""
        if obj is heap.MISSING:
            obj = _C.MISSING
        key = constant_key(obj)
        index = self.const_index.get(key)
        if index is None:
            index = self.const_index[key] = len(self.consts)
            self.consts.append(obj)
            if isinstance(obj, WEAK_KINDS) if weak is None else weak and type(obj) not in LITERALS:
                self.weak.add(index)
        return index

    def pack(self, instructions: list[Instruction | Label], name: str) -> tuple[Any, dict[int, Any]]:
        """The machine program, and the notes of its instructions by index."""
        plain = place(instructions)
        allocate, count = Allocation(plain).run(self.registers)
        packed = []
        notes = {}
        for index, ins in enumerate(plain):
            packed.append(_encode(ins, allocate[index]))
            if ins.note is not None:
                notes[index] = ins.note
        return _C.Program(tuple(packed), tuple(self.consts), count, name, tuple(sorted(self.weak))), notes


def constant_key(obj: Any) -> Any:
    """Constants with one key may share a place: equal bits of one plain type, else one object."""
    kind = type(obj)
    if kind in (int, str, bytes, bool):
        return kind, obj
    if kind is float:
        return kind, struct.pack("d", obj)
    return id(obj)


def place(instructions: list[Instruction | Label]) -> list[Instruction]:
    """The instructions without labels, whose places are filled in."""
    plain: list[Instruction] = []
    for entry in instructions:
        if isinstance(entry, Label):
            entry.index = len(plain)
        else:
            plain.append(entry)
    return plain


def registers(ins: Instruction) -> tuple[list[int], list[int]]:
    """The virtual registers that an instruction reads and sets."""
    reads: list[int] = []
    sets: list[int] = []
    for kind, operand in zip(KINDS[ins.op], ins.operands, strict=True):
        if kind in "ro":
            reads.append(operand)
        elif kind == "d":
            sets.append(operand)
        elif kind == "D" or (kind == "*" and ins.op == "DICT_GROUP"):
            sets.extend(operand)
        elif kind == "*":
            reads.extend(operand)
    return [r for r in reads if r >= 0], [r for r in sets if r >= 0]


class Allocation:
    """Linear scan: jumps only go forward, so a register lives from its first setting to its last use."""

    def __init__(self, plain: list[Instruction]):
        self.uses = [registers(ins) for ins in plain]
        self.last: dict[int, int] = {}
        for index, (reads, sets) in enumerate(self.uses):
            for r in reads:
                self.last[r] = index
            for r in sets:
                self.last[r] = max(self.last.get(r, index), index)

    def run(self, virtual: int) -> tuple[list[dict[int, int]], int]:
        """Per instruction the physical register of each virtual one, and how many there are."""
        where: dict[int, int] = {}
        free: list[int] = []
        count = 0
        result = []
        for index, (reads, sets) in enumerate(self.uses):
            for r in sets:
                if r not in where:
                    if free:
                        where[r] = free.pop()
                    else:
                        where[r] = count
                        count += 1
            mentioned = {*reads, *sets}
            result.append({r: where[r] for r in mentioned})
            for r in mentioned:
                if self.last[r] == index:
                    free.append(where[r])
        return result, count


def _encode(ins: Instruction, where: dict[int, int]) -> tuple[Any, ...]:
    encoded: list[Any] = [OPS[ins.op].code]
    for kind, operand in zip(KINDS[ins.op], ins.operands, strict=True):
        if kind in "rdo":
            encoded.append(where[operand] if operand >= 0 else operand)
        elif kind in "*D":
            encoded.append(tuple(where[r] if r >= 0 else r for r in operand))
        elif kind in "Ll":
            encoded.append(operand.index if isinstance(operand, Label) else operand)
        else:
            encoded.append(operand)
    return tuple(encoded)

