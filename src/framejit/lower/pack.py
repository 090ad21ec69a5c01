"""Instructions with virtual registers and labels, and their packing into a machine program."""

from __future__ import annotations

import types
from typing import Any

import torch

from framejit import _C
from framejit.core import heap
from framejit.core.program import EMPTY, KEEP, OPS

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
        return self._place(obj, constant_key(obj), weak)

    def identity(self, obj: Any, weak: bool | None = None) -> int:
        """The index of a constant that a check compares by identity: an equal number or string will not do."""
        if obj is heap.MISSING:
            obj = _C.MISSING
        return self._place(obj, id(obj), weak)

    def _place(self, obj: Any, key: Any, weak: bool | None) -> int:
        index = self.const_index.get(key)
        if index is None:
            index = self.const_index[key] = len(self.consts)
            self.consts.append(obj)
            if issubclass(type(obj), WEAK_KINDS) if weak is None else weak and type(obj) not in LITERALS:
                self.weak.add(index)
        return index

    def pack(self, instructions: list[Instruction | Label], name: str, depth: int) -> tuple[Any, dict[int, Any]]:
        """The machine program, and the notes of its instructions by index."""
        plain = place(instructions)
        rows, count = Allocation(plain).run()
        notes = {index: ins.note for index, ins in enumerate(plain) if ins.note is not None}
        return _C.Program(tuple(rows), tuple(self.consts), count, name, tuple(sorted(self.weak)), depth), notes


def constant_key(obj: Any) -> Any:
    """Constants with one key may share a place: they are one object."""
    kind = type(obj)
    if kind is bool or (kind is int and -6 < obj < 257) or (kind in (str, bytes) and len(obj) < 2):
        return kind, obj  # of these CPython has one each
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


class Shape:
    """Which operands of an op are registers: single ones and tuples of them, read and set."""

    __slots__ = ("reads", "sets", "read_lists", "set_lists", "labels", "code")

    def __init__(self, name: str, kinds: str):
        places = list(enumerate(kinds))
        group = name == "DICT_GROUP"
        self.code = OPS[name].code
        self.reads = [place for place, kind in places if kind in "ro"]
        self.sets = [place for place, kind in places if kind == "d"]
        self.read_lists = [place for place, kind in places if kind == "*" and not group]
        self.set_lists = [place for place, kind in places if kind == "D" or (kind == "*" and group)]
        self.labels = [place for place, kind in places if kind in "Ll"]


def after(registers: set[int], made: list[Any], effects: list[Any]) -> list[Any]:
    """Builds and effects in an order in which what sets or reads `registers` (and so on) comes behind all other effects."""
    if not registers:
        return [*made, *effects]
    moved = set(registers)
    rows: tuple[list[Any], list[Any]] = ([], [])
    for ins in (*made, *effects):
        shape, operands = SHAPES[ins.op], ins.operands
        sets = {operands[place] for place in shape.sets}
        reads = {operands[place] for place in shape.reads}.union(*(operands[place] for place in shape.read_lists))
        late = bool(sets & moved or reads & moved)
        if late:
            moved |= sets
        rows[late].append(ins)
    return [*rows[False], *rows[True]]


SHAPES = {name: Shape(name, kinds) for name, kinds in KINDS.items()}


class Allocation:
    """Linear scan: jumps only go forward, so a register lives from its first setting to its last use."""

    def __init__(self, plain: list[Instruction]):
        self.plain = plain
        self.last: dict[int, int] = {EMPTY: -1, KEEP: -1}
        last = self.last
        for index, ins in enumerate(plain):
            shape, operands = SHAPES[ins.op], ins.operands
            for place in shape.reads:
                last[operands[place]] = index
            for place in shape.sets:
                last[operands[place]] = index
            for place in shape.read_lists:
                for r in operands[place]:
                    last[r] = index
            for place in shape.set_lists:
                for r in operands[place]:
                    last[r] = index

    def run(self) -> tuple[list[tuple[Any, ...]], int]:
        """The instructions with physical registers, and how many of these there are."""
        last = self.last
        where: dict[int, int] = {EMPTY: EMPTY, KEEP: KEEP}
        free: list[int] = []
        count = 0
        rows: list[tuple[Any, ...]] = []
        for index, ins in enumerate(self.plain):
            shape, operands = SHAPES[ins.op], ins.operands
            row = [shape.code, *operands]
            ending: list[int] = []
            for place in shape.reads:
                r = operands[place]
                row[place + 1] = where[r]
                if last[r] == index and r >= 0:
                    ending.append(r)
            for place in shape.read_lists:
                values = operands[place]
                row[place + 1] = tuple([where[r] for r in values])
                ending += [r for r in values if last[r] == index and r >= 0]
            for place in (*shape.sets, *shape.set_lists):
                values = operands[place]
                for r in values if type(values) is tuple else (values,):
                    if r not in where:
                        if free:
                            where[r] = free.pop()
                        else:
                            where[r] = count
                            count += 1
                    if last[r] == index and r >= 0:
                        ending.append(r)
                row[place + 1] = tuple([where[r] for r in values]) if type(values) is tuple else where[values]
            for place in shape.labels:
                if isinstance(operands[place], Label):
                    row[place + 1] = operands[place].index
            rows.append(tuple(row))
            if ending:
                free += [where[r] for r in (ending if len(ending) == 1 else set(ending))]
        return rows, count
