"""The first part of a program: every path loaded once into a register, every guard checked there."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from framejit.core.guard import PREDICATES, Guard, predicate
from framejit.core.heap import MISSING
from framejit.core.lifetime import is_quiet
from framejit.core.path import (
    BINARY,
    CALLED,
    CALLER_SLOT,
    COMPARE,
    CONST,
    DICT_ITEM,
    DICT_KEY,
    DICT_VALUE,
    STEPS,
    UNARY,
    Path,
)
from framejit.core.where import Where
from framejit.lower.pack import KINDS, Instruction, Label, Packer

OPERATORS = {
    "+": 0, "&": 1, "//": 2, "<<": 3, "*": 5, "%": 6, "|": 7, "**": 8, ">>": 9, "-": 10, "/": 11, "^": 12, "[]": 26,
}  # fmt: skip  (CPython's NB_* numbers)
COMPARISON_NUMBERS = {"<": 0, "<=": 1, "==": 2, "!=": 3, ">": 4, ">=": 5}
UNARY_NUMBERS = {"-": 0, "+": 1, "~": 2}
STATIC_TYPE_FLAG = 1 << 9  # Py_TPFLAGS_HEAPTYPE: without it the class of an object cannot change
IN_DICTS = (DICT_ITEM, DICT_KEY, DICT_VALUE)
OF_DICT = ("DICT_MISSING", "DICT_KEYS", "LEN")
OF_VALUE = ("EQ", "IS", "IS_NOT")
OF_SLOTS = ("SLOT_EMPTY", "SLOT_QUIET")  # what is looked at where it lies, if there is something
IN_PYTHON = ("PY", "PY_OF")
OF_SEVERAL = ("DISTINCT", "NO_OVERLAP", "PY_OF")  # the operand is (count or function, paths)


@predicate("DISTINCT", "{path}: the first {operand} are none of the others")
def _distinct(values: Any, operand: Any) -> bool:
    return all(a is not b for i, a in enumerate(values[: operand[0]]) for b in values[i + 1 :])


@predicate("NO_OVERLAP", "{path}: the first {operand} share no memory with another")
def _no_overlap(values: Any, operand: Any) -> bool:
    pointers = [value.untyped_storage().data_ptr() for value in values]
    return all(a != b for i, a in enumerate(pointers[: operand[0]]) for b in pointers[i + 1 :])


@predicate("PY_OF", "{operand}({path})", "CHECK_PY")
def _py_of(values: Any, operand: Any) -> bool:
    return bool(operand[0](*values))


class Note(NamedTuple):
    """What an instruction stands for, so that nothing is kept alive; a load has no predicate."""

    path: str
    predicate: str
    code: weakref.ref[CodeType] | None = None
    pc: int = -1

    @property
    def asked(self) -> Where | None:
        """The instruction that asked for the fact."""
        code = self.code() if self.code is not None else None
        return None if code is None else Where(code, self.pc)

    def expected(self, operand: Any) -> str:
        """The fact in words, given the operand that the program holds."""
        if not self.predicate:
            return f"{self.path} exists"
        if self.predicate == "TYPE_ATTR":
            return f"look-ups on class {self.path} give what they gave"
        return str(Guard(self.path, self.predicate, operand))  # type: ignore[arg-type]

    def __str__(self) -> str:
        asked = self.asked
        return self.path if asked is None else f"{asked.code.co_qualname}:{asked.line}"


def settled(guard: Guard) -> bool:
    """Whether the guard cannot fail while the dict that holds its value keeps its version."""
    if guard.predicate == "TYPE":
        return not guard.operand.__flags__ & STATIC_TYPE_FLAG and guard.operand is not ModuleType
    return guard.predicate in OF_VALUE


def _several(guard: Guard) -> tuple[Path, ...]:
    paths: tuple[Path, ...] = guard.operand[1]
    return paths


class Group:
    """All that is asked of one dict: the keys loaded and the checks that its version settles."""

    __slots__ = ("loads", "checks")

    def __init__(self) -> None:
        self.loads: dict[Path, list[Guard]] = {}
        self.checks: list[Guard] = []


class Head:
    """Loads and checks of one program. First `want` and `plan` what is needed, then `emit` it."""

    def __init__(self, packer: Packer):
        self.packer = packer
        self.code: list[Instruction | Label] = []
        self.registers: dict[Path, int] = {}
        self.wanted: dict[Path, None] = {}  # needed after the checks
        self.outside: set[Path] = set()  # needed outside of their dict's group
        self.groups: dict[Path, Group] = {}
        self.done: set[Path] = set()
        self.emitted: set[Path] = set()  # dicts whose group is in the code
        self.classes: dict[type, list[Any]] = {}
        self.texts: dict[Path, str] = {}

    # -- planning -------------------------------------------------------------------------------------------------

    def want(self, path: Path) -> int:
        """The register that will hold the value of a path from the end of the checks on."""
        self.wanted[path] = None
        return self._need(path, True)

    def _need(self, path: Path, outside: bool) -> int:
        if outside:
            self.outside.add(path)
        found = self.registers.get(path)
        if found is not None:
            return found
        register = self.registers[path] = self.packer.register()
        if path.parent is not None:
            self._need(path.parent, True)
            if path.kind in IN_DICTS:
                self._group(path.parent).loads[path] = []
            elif path.kind in (BINARY, COMPARE):
                self._need(path.arg[1], True)
            elif path.kind == CALLED:
                for other in path.arg.args:
                    if isinstance(other, Path):
                        self._need(other, True)
        return register

    def _group(self, path: Path) -> Group:
        group = self.groups.get(path)
        if group is None:
            group = self.groups[path] = Group()
        return group

    def plan(self, guards: Sequence[Guard]) -> None:
        """Find out what the guards load, and which of them belong to a dict's group."""
        for guard in guards:
            path = guard.path
            if guard.predicate == "TYPE_ATTR":
                cls, name, found = guard.operand
                self.classes.setdefault(cls, []).extend((name, found))
            elif guard.predicate in OF_SEVERAL:
                for operand in _several(guard):
                    self._need(operand, True)
            elif path is not None and guard.predicate not in OF_SLOTS:
                self._plan_path(guard, path)
        for guard in guards:
            if guard.predicate == "LEN" and guard.path in self.groups:
                self.groups[guard.path].checks.append(guard)

    def _plan_path(self, guard: Guard, path: Path) -> None:
        if path.kind in IN_DICTS and settled(guard):
            self._need(path, False)
            if guard.operand is not MISSING:
                self._group(path.parent).loads[path].append(guard)  # type: ignore[arg-type]
            return
        self._need(path, True)
        if guard.predicate in ("DICT_MISSING", "DICT_KEYS"):
            self._group(path).checks.append(guard)
        elif guard.predicate in ("SAME", "NOT_SAME"):
            self._need(guard.operand, True)

    # -- emission -------------------------------------------------------------------------------------------------

    def emit(self, guards: Sequence[Guard]) -> list[Instruction | Label]:
        """The guards in their order, each path loaded in front of its first use, then what else is wanted.

        Those in Python are the last: only what stands in front of them is remembered (`csrc/memo.cpp`).
        """
        for guard in sorted(guards, key=lambda guard: guard.predicate in IN_PYTHON):
            path = guard.path
            if path is None or guard.predicate in OF_SLOTS:
                self._check_global(guard)
            elif path.kind in IN_DICTS and settled(guard):
                self.load(path)
            elif guard.predicate in OF_DICT and path in self.groups:
                self._emit_group(path)
            else:
                self._check(guard, self.load(path))
        for path in self.wanted:
            self.load(path)
        return self.code

    def _add(self, op: str, *operands: Any, note: Any = None) -> None:
        self.code.append(Instruction(op, operands, note))

    def note(self, guard: Guard) -> Note:
        """The guard as text, without its operand."""
        path, predicate, operand, asked = guard
        text = ""
        if path is not None:
            text = self.text(path)
        elif predicate == "TYPE_ATTR":
            text = operand[0].__qualname__
        elif predicate in OF_SEVERAL:
            text = ", ".join(map(self.text, _several(guard)))
        return Note(text, predicate) if asked is None else Note(text, predicate, weakref.ref(asked.code), asked.pc)

    def line(self, guard: Guard) -> str:
        """The guard in full."""
        operand = guard.operand
        if guard.predicate in ("SAME", "NOT_SAME"):
            operand = self.text(operand)
        elif guard.predicate in OF_SEVERAL:
            operand = operand[0]
        return self.note(guard).expected(operand) if guard.predicate != "TYPE_ATTR" else str(guard)

    def text(self, path: Path) -> str:
        """The path's text, made once."""
        found = self.texts.get(path)
        if found is None:
            parent = "" if path.parent is None else self.text(path.parent)
            found = self.texts[path] = STEPS[path.kind].text(parent, path.arg)
        return found

    def load(self, path: Path) -> int:
        """Emit the load of a path unless its register is filled already."""
        register = self.registers[path]
        if path in self.done:
            return register
        if path.kind in IN_DICTS:
            self._emit_group(path.parent)  # type: ignore[arg-type]
            return register
        self.done.add(path)
        self._load_step(path, register)
        return register

    def _load_step(self, path: Path, register: int) -> None:
        op, arg = STEPS[path.kind].op, path.arg
        if path.parent is None:
            if path.kind == CONST:
                self._add(op, register, self.packer.const(arg))
            elif KINDS[op] in ("di", "dii"):
                self._add(op, register, *arg[: len(KINDS[op]) - 1], note=Note(self.text(path), ""))
            else:
                self._add(op, register)
            return
        parent = self.load(path.parent)
        if path.kind == BINARY:
            self._add(op, register, OPERATORS[arg[0]], parent, self.load(arg[1]))
        elif path.kind == COMPARE:
            self._add(op, register, COMPARISON_NUMBERS[arg[0]], parent, self.load(arg[1]))
        elif path.kind == UNARY:
            self._add("NOT", register, parent) if arg == "not" else self._add(op, register, UNARY_NUMBERS[arg], parent)
        elif path.kind == CALLED:
            function, *more = [self.load(obj) if isinstance(obj, Path) else self._constant(obj) for obj in (arg.function, *arg.args)]
            self._add(op, register, function, (parent, *more), (), note=Note(self.text(path), ""))
        else:
            self._add_load(op, register, parent, arg, path)

    def _constant(self, obj: Any) -> int:
        register = self.packer.register()
        self._add("LOAD_CONST", register, self.packer.const(obj))
        return register

    def _add_load(self, op: str, register: int, parent: int, arg: Any, path: Path) -> None:
        note = Note(self.text(path), "")
        kinds = KINDS[op]
        if kinds == "dr":
            self._add(op, register, parent, note=note)
        elif kinds == "dri":
            self._add(op, register, parent, arg, note=note)
        else:
            self._add(op, register, parent, self.packer.const(arg), note=note)

    def _emit_group(self, path: Path) -> None:
        if path in self.emitted:
            return
        self.emitted.add(path)
        group, holder = self.groups[path], self.load(path)
        if not group.loads and len(group.checks) == 1 and group.checks[0].predicate == "DICT_KEYS" and not group.checks[0].operand:
            self._add("CHECK_LEN", holder, 0, note=self.note(group.checks[0]))
            return
        kept = tuple(self.registers[child] for child in group.loads if child in self.outside)
        stamp, end = self.packer.stamp(), Label()
        self._add("DICT_GROUP", holder, stamp, end, kept)
        for guard in group.checks:
            self._check(guard, holder)
        for child, guards in group.loads.items():
            self.done.add(child)
            register = self.registers[child]
            self._add_load(STEPS[child.kind].op, register, holder, child.arg, child)
            for guard in guards:
                self._check(guard, register)
        self._add("DICT_STAMP", holder, stamp, kept)
        self.code.append(end)

    def _check(self, guard: Guard, register: int) -> None:
        op, operand, note = PREDICATES[guard.predicate].op, guard.operand, self.note(guard)
        if guard.predicate == "PY":
            self._add(op, self.packer.const(operand), (register,), note=note)
        elif guard.predicate in ("SAME", "NOT_SAME"):
            self._add(op, register, self.load(operand), note=note)
        elif guard.predicate == "ITEM_QUIET":
            self._add(op, register, self.packer.const(operand), self.packer.const(is_quiet), note=note)
        elif KINDS[op] == "r":
            self._add(op, register, note=note)
        elif KINDS[op] == "ri":
            self._add(op, register, int(operand), note=note)
        else:
            self._add(op, register, self._operand(guard), note=note)

    def _operand(self, guard: Guard) -> int:
        if guard.predicate in ("IS", "IS_NOT"):
            return self.packer.identity(guard.operand, weak=True)
        return self.packer.const(guard.operand)

    def _check_global(self, guard: Guard) -> None:
        packer, note = self.packer, self.note(guard)
        if guard.predicate == "TYPE_ATTR":
            cls = guard.operand[0]
            pairs = self.classes.pop(cls, None)
            if pairs is not None:
                rows = tuple(packer.identity(entry) if place % 2 else packer.const(entry) for place, entry in enumerate(pairs))
                self._add("CHECK_TYPE_ATTRS", packer.const(cls), packer.stamp(), rows, note=note)
        elif guard.predicate == "SLOT_EMPTY":
            kind, place = guard.path.kind, guard.path.arg  # type: ignore[union-attr]
            if kind == CALLER_SLOT:
                self._add("CHECK_CALLER_EMPTY", *place[:2], note=note)
            else:
                self._add("CHECK_SLOT_EMPTY", place[0], note=note)
        elif guard.predicate == "SLOT_QUIET":
            kind, place = guard.path.kind, guard.path.arg  # type: ignore[union-attr]
            if kind == CALLER_SLOT:
                self._add("CHECK_CALLER_QUIET", *place[:2], packer.const(is_quiet), note=note)
            else:
                self._add("CHECK_SLOT_QUIET", place[0], packer.const(is_quiet), note=note)
        elif guard.predicate == "CALLER":
            depth, code, after, result = guard.operand
            self._add("CHECK_CALLER", depth, packer.const(code), after, result, note=note)
        elif guard.predicate in OF_SEVERAL:
            registers = tuple(self.load(path) for path in _several(guard))
            first = packer.const(guard.operand[0]) if guard.predicate == "PY_OF" else guard.operand[0]
            self._add(PREDICATES[guard.predicate].op, first, registers, note=note)
        elif guard.predicate == "PY":
            self._add("CHECK_PY", packer.const(guard.operand), (), note=note)
        elif not KINDS[PREDICATES[guard.predicate].op]:
            self._add(PREDICATES[guard.predicate].op, note=note)
        else:
            self._add(PREDICATES[guard.predicate].op, packer.const(guard.operand), note=note)
