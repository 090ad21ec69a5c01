"""The extension under test and a small assembler of programs; works without pytest and without torch."""

import contextlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

FOLDER = os.environ.get("FRAMEJIT_CORE")  # of an extension built without torch for this interpreter
if FOLDER:
    _spec = importlib.util.spec_from_file_location("framejit._C", next(iter(Path(FOLDER).glob("_C*.so"))))
    C: Any = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(C)
else:
    from framejit import _C as C

from framejit.bytecode.decode import decode  # noqa: E402
from framejit.bytecode.instr import Instr  # noqa: E402

NULL = C.NULL
OPS = {name: (number, spec.split()) for number, (name, spec, _) in enumerate(C.OPS)}
KINDS = {name: number for number, (name, _) in enumerate(C.OPAQUE)}
KEY = "configuration"
NATIVE, OFF = 1, 2  # modes of _C.mark


def program(*rows: Any, name: str = "", weak: tuple[Any, ...] = ()) -> Any:
    """Assembles rows (OP, operands...): constants are written as they are, a str row is a label, `L` operands name labels."""
    labels: dict[str, int] = {}
    for row in rows:
        if isinstance(row, str):
            labels[row] = sum(not isinstance(earlier, str) for earlier in rows[: rows.index(row)])
    consts: list[Any] = []
    registers = [-1]

    def constant(value: Any) -> int:
        consts.append(value)
        return len(consts) - 1

    def operand(kind: str, value: Any) -> Any:
        if kind == "k":
            return constant(value)
        if kind == "K":
            return tuple(constant(item) for item in value)
        if kind in "Ll":
            return labels[value] if isinstance(value, str) else value
        if kind in "*D":
            registers.extend(value)
            return tuple(value)
        if kind in "dro":
            registers.append(value)
        return value

    packed = []
    for row in rows:
        if not isinstance(row, str):
            number, spec = OPS[row[0]]
            assert len(spec) == len(row) - 1, (row, spec)
            packed.append((number, *map(operand, spec, row[1:])))
    return C.Program(tuple(packed), tuple(consts), max(registers) + 1, name)


def opaque(ins: Instr, kind: str = "", arg: int | None = None, consts: tuple = ()) -> tuple:
    """An OPAQUE row for an instruction."""
    return "OPAQUE", KINDS[kind or ins.op], ins.arg if arg is None else arg, ins.pc, ins.next_pc, ins.target, consts


def find(function: Any, op: str, nth: int = 0, **fields: Any) -> Instr:
    """The nth canonical instruction with this op and these fields."""
    code = function if isinstance(function, CodeType) else function.__code__
    found = [ins for ins in decode(code).instructions
             if ins.op == op and all(getattr(ins, name) == value for name, value in fields.items())]
    return found[nth]


def install(function: FunctionType, *rows: Any, pc: int = 0, key: Any = KEY) -> Any:
    """Installs a region on a function's code."""
    made = program(*rows)
    C.install(function.__code__, pc, key, made)
    return made


def compiled(function: Any, key: Any = KEY) -> Any:
    return C.Compiled(function, key)


@contextlib.contextmanager
def callbacks(miss: Callable | None = None, classify: Callable | None = None, reject: Callable | None = None) -> Iterator[None]:
    """Sets what the hook asks, and restores it."""
    before = C.set_miss(miss), C.set_classify(classify), C.set_reject(reject)
    try:
        yield
    finally:
        C.set_miss(before[0])
        C.set_classify(before[1])
        C.set_reject(before[2])


def slots(function: FunctionType, *stack: Any, **values: Any) -> list[Any]:
    """The slot array with these variables and this stack."""
    return [values.get(local.name, NULL) for local in decode(function.__code__).locals] + list(stack)


def lines(error: BaseException) -> list[tuple[str, int]]:
    """Function names and lines, relative to each function, of a traceback, without its first entry."""
    found = []
    entry = error.__traceback__.tb_next
    while entry:
        code = entry.tb_frame.f_code
        found.append((code.co_name, entry.tb_lineno - code.co_firstlineno))
        entry = entry.tb_next
    return found


def raised(call: Callable[..., Any], *args: Any) -> BaseException:
    """The exception that a call must raise."""
    try:
        value = call(*args)
    except BaseException as error:
        return error
    raise AssertionError(f"returned {value!r}")


def nothing_handled() -> bool:
    return sys.exc_info() == (None, None, None)
