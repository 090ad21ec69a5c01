"""A capture that captures one instruction at a time: every region is one instruction, opaque where it can be."""

from collections.abc import Callable
from types import CodeType
from typing import Any

from framejit.bytecode.decode import decode
from framejit.bytecode.instr import Code, Instr
from frames.core import KINDS, NULL, C, opaque, program

NAMES = {"POP_JUMP_IF_TRUE": "JUMP_IF_TRUE", "POP_JUMP_IF_FALSE": "JUMP_IF_FALSE", "WITH_EXCEPT_START": "WITH_EXIT"}
NAMED = {
    "LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR", "LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME",
    "STORE_NAME", "DELETE_NAME", "IMPORT_NAME", "IMPORT_FROM",
}
SUPERS = {"LOAD_SUPER_ATTR": 0, "LOAD_SUPER_METHOD": 1}

# raw instructions that are several canonical ones
SEVERAL: dict[tuple[str, ...], Callable[[Instr], tuple]] = {
    ("COMPARE_OP", "TO_BOOL"): lambda ins: opaque(ins, arg=ins.arg + 16),
    ("BUILD_SLICE", "BINARY_SUBSCR"): lambda ins: opaque(ins, "BINARY_SLICE"),
    ("BUILD_SLICE", "STORE_SUBSCR"): lambda ins: opaque(ins, "STORE_SLICE"),
}


def opaque_row(ins: Instr) -> tuple | None:
    """The instruction as an opaque operation."""
    if ins.op in SUPERS:
        return opaque(ins, "LOAD_SUPER_ATTR", SUPERS[ins.op] + 2 * ins.arg, (ins.value,))
    kind = NAMES.get(ins.op, ins.op)
    if kind not in KINDS:
        return None
    if ins.op in NAMED:
        return opaque(ins, kind, consts=(ins.value,))
    if ins.op == "CALL":
        return opaque(ins, kind, consts=(tuple(ins.value),) if ins.value else ())
    if ins.op == "CALL_EX":
        return opaque(ins, kind, int(ins.value))
    if isinstance(ins.value, bool):
        return opaque(ins, kind, int(ins.value))
    return opaque(ins, kind)


class Model:
    """What one raw instruction does to the slots, as loads and a SLOTS exit; KeyError for what it cannot model."""

    def __init__(self, code: Code, values: list[Any]) -> None:
        self.base = code.nlocalsplus
        self.empty = [value is NULL for value in values]
        self.slots: list[tuple[str, int] | None] = [("slot", i) for i in range(len(values))]
        self.rows: list[tuple] = []
        self.count = 0
        self.onward: tuple = ()

    def register(self, op: str, *operands: Any) -> tuple[str, int]:
        self.rows.append((op, self.count, *operands))
        self.count += 1
        return "register", self.count - 1

    def read(self, token: tuple[str, int] | None) -> int:
        """The register that holds a token, which must be there."""
        if token is None or (token[0] == "slot" and self.empty[token[1]]):
            raise KeyError("empty")
        return token[1] if token[0] == "register" else self.register("LOAD_SLOT", token[1])[1]

    def do(self, ins: Instr) -> None:
        getattr(self, "do_" + ins.op.lower(), self.unknown)(ins, ins.value)
        self.onward = self.onward or ("ENTER", ins.next_pc)

    def unknown(self, ins: Instr, value: Any) -> None:
        raise KeyError(ins.op)

    def do_nop(self, ins: Instr, value: Any) -> None:
        pass

    do_resume = do_nop

    def do_jump(self, ins: Instr, value: Any) -> None:
        self.onward = "ENTER", ins.target

    def do_load_fast(self, ins: Instr, value: int) -> None:
        self.slots.append(("register", self.read(self.slots[value])))

    def do_load_fast_and_clear(self, ins: Instr, value: int) -> None:
        token = self.slots[value]
        if token == ("slot", value) and self.empty[value]:
            self.rows.append(("CHECK_SLOT_EMPTY", value))
            self.slots.append(None)
        else:
            self.do_load_fast(ins, value)
        self.slots[value] = None

    def do_store_fast(self, ins: Instr, value: int) -> None:
        self.slots[value] = self.slots.pop()

    def do_delete_fast(self, ins: Instr, value: int) -> None:
        self.read(self.slots[value])
        self.slots[value] = None

    def do_load_const(self, ins: Instr, value: Any) -> None:
        self.slots.append(self.register("LOAD_CONST", value))

    def do_push_null(self, ins: Instr, value: Any) -> None:
        self.slots.append(None)

    def do_pop_top(self, ins: Instr, value: Any) -> None:
        self.slots.pop()

    def do_copy(self, ins: Instr, value: int) -> None:
        self.slots.append(("register", self.read(self.slots[-value])))

    def do_swap(self, ins: Instr, value: int) -> None:
        self.slots[-1], self.slots[-value] = self.slots[-value], self.slots[-1]

    def do_build_tuple(self, ins: Instr, value: int) -> None:
        items = [self.read(token) for token in self.slots[len(self.slots) - value :]]
        del self.slots[len(self.slots) - value :]
        self.slots.append(self.register(ins.op, items))

    do_build_list = do_build_tuple

    def do_make_cell(self, ins: Instr, value: int) -> None:
        content = -1 if self.empty[value] else self.read(self.slots[value])
        if content < 0:
            self.rows.append(("CHECK_SLOT_EMPTY", value))
        self.slots[value] = self.register("BUILD_CELL", content)

    def do_copy_free_vars(self, ins: Instr, value: int) -> None:
        function = self.register("LOAD_FUNC")[1]
        for i in range(value):
            self.slots[self.base - value + i] = self.register("LOAD_CLOSURE", function, i)

    def do_load_deref(self, ins: Instr, value: int) -> None:
        self.slots.append(self.register("LOAD_CELL", self.read(self.slots[value])))

    def do_store_deref(self, ins: Instr, value: int) -> None:
        content = self.read(self.slots.pop())
        self.rows.append(("STORE_CELL", self.read(self.slots[value]), content))

    def do_return_value(self, ins: Instr, value: Any) -> None:
        self.onward = "RETURN_AT", self.read(self.slots.pop()), ins.pc

    def written(self, place: int, token: tuple[str, int] | None) -> int:
        if token == ("slot", place):
            return -2
        if token is None:
            return -1
        if token[0] == "slot" and self.empty[token[1]]:
            self.rows.append(("CHECK_SLOT_EMPTY", token[1]))
            return -1
        return self.read(token)

    def program(self) -> list[tuple]:
        written = [self.written(place, token) for place, token in enumerate(self.slots)]
        return [*self.rows, ("SLOTS", written), self.onward]


class Stepper:
    """A miss callback; notes which ops it met as opaque and which it left to CPython."""

    def __init__(self, codes: set[CodeType]) -> None:
        self.codes = codes
        self.opaque: set[str] = set()
        self.native: set[str] = set()

    def classify(self, code: CodeType, space: dict[str, Any]) -> int:
        return 2 if code in self.codes else 0

    def rows(self, view: Any) -> list[tuple] | None:
        code = decode(view.code)
        group = [ins for ins in code.instructions[code.by_pc[view.pc] :][:3] if ins.pc == view.pc]
        ops = [ins.op for ins in group]
        row = opaque_row(group[0]) if len(group) == 1 else SEVERAL.get(tuple(ops), lambda ins: None)(group[0])
        if row:
            self.opaque |= set(ops)
            return [row]
        model = Model(code, view.slots)
        try:
            for ins in group:
                model.do(ins)
            return model.program()
        except KeyError:
            return None

    def miss(self, view: Any) -> bool:
        rows = self.rows(view)
        if rows is None:
            self.native.add(decode(view.code).at(view.pc).op)
            return False
        C.install(view.code, view.pc, view.key, program(*rows))
        return True
