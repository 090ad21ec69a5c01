"""Code objects to canonical instructions."""

import weakref
from collections.abc import Iterator
from types import CodeType
from typing import Any

from . import versions
from .instr import OP_IDS, Code, DecodeError, ExceptionEntry, Instr, Local
from .versions import Raw

_OPNAMES: dict[int, str] = {number: name for name, number in versions.opcode.opmap.items()}
_CACHES: dict[str, int] = versions.cache_sizes()
_TABLE: dict[str, versions.Row] = versions.TABLES.get(versions.VERSION, {})
_CACHE: dict[int, tuple[weakref.ref[CodeType], Code]] = {}  # by identity: equal code objects may hold different constants


def decode(code: CodeType) -> Code:
    """The canonical form of a code object, made once; DecodeError where the tables do not describe it."""
    found = _CACHE.get(id(code))
    if found is not None and found[0]() is code:
        return found[1]
    key = id(code)

    def forget(ref: weakref.ref[CodeType]) -> None:
        held = _CACHE.get(key)
        if held is not None and held[0] is ref:
            del _CACHE[key]

    result = _decode(code)
    _CACHE[key] = weakref.ref(code, forget), result
    return result


def raw_instructions(code: CodeType) -> Iterator[Raw]:
    """The instructions as compiled (co_code is free of adaptive opcodes), EXTENDED_ARG folded in, caches skipped."""
    data = code.co_code
    position, start, extended = 0, -1, 0
    while position < len(data):
        name = _OPNAMES.get(data[position], f"<{data[position]}>")
        arg = data[position + 1] | extended
        if start < 0:
            start = position
        if name == "EXTENDED_ARG":
            extended = arg << 8
            position += 2
            continue
        after = position + 2 + 2 * _CACHES.get(name, 0)
        yield Raw(name, arg, start, position, after)
        position, start, extended = after, -1, 0


def locals_layout(code: CodeType) -> tuple[Local, ...]:
    """CPython's localsplus: variables, then cells that are none, then free variables."""
    arguments = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    cells = set(code.co_cellvars)
    layout = [Local(name, "cell" if name in cells else "local", i < arguments) for i, name in enumerate(code.co_varnames)]
    variables = set(code.co_varnames)
    layout += [Local(name, "cell", False) for name in code.co_cellvars if name not in variables]
    layout += [Local(name, "free", False) for name in code.co_freevars]
    return tuple(layout)


def exception_table(code: CodeType) -> tuple[ExceptionEntry, ...]:
    """The rows of co_exceptiontable (CPython's Objects/exception_handling_notes.txt has the format)."""
    data = iter(code.co_exceptiontable)

    def varint(first: int) -> int:
        value = first & 63
        while first & 64:
            first = next(data)
            value = value << 6 | first & 63
        return value

    rows = []
    for first in data:
        start, length, target = varint(first), varint(next(data)), varint(next(data))
        depth_lasti = varint(next(data))
        rows.append(ExceptionEntry(2 * start, 2 * (start + length), 2 * target, depth_lasti >> 1, bool(depth_lasti & 1)))
    return tuple(rows)


# (op, arg, value, target, raw, is first part)
_Draft = tuple[str, int, Any, int, Raw, bool]


def _drafts(code: CodeType) -> list[_Draft]:
    drafts: list[_Draft] = []
    prefix = -1  # pc of the KW_NAMES or PRECALL that belongs to the next CALL
    names: tuple[str, ...] = ()
    for raw in raw_instructions(code):
        parts = _TABLE.get(raw.name)
        if parts is None:
            raise DecodeError(f"{code.co_qualname}: no row for opcode {raw.name} at {raw.pc}")
        if callable(parts):
            parts = parts(raw.arg)
        if not parts:
            if prefix < 0:
                prefix = raw.pc
            if raw.name == "KW_NAMES":
                names = code.co_consts[raw.arg]
            elif raw.name != "PRECALL":
                raise DecodeError(f"{code.co_qualname}: opcode {raw.name} at {raw.pc} cannot stand there")
            continue
        if raw.name == "CALL_KW":
            op, _, names, _, load, first = drafts.pop()
            if op != "LOAD_CONST" or not first:
                raise DecodeError(f"{code.co_qualname}: CALL_KW at {raw.pc} without its names")
            prefix = load.pc
        if raw.name in ("CALL", "CALL_KW"):
            if prefix >= 0:
                raw = raw._replace(pc=prefix)
            drafts.append(("CALL", raw.arg, names, -1, raw, True))
            prefix, names = -1, ()
            continue
        if prefix >= 0:
            raise DecodeError(f"{code.co_qualname}: {raw.name} at {raw.pc} where a CALL was due")
        for place, part in enumerate(parts):
            arg, value, target = part.decode(code, raw)
            drafts.append((part.op, arg, value, target, raw, place == 0))
    return drafts


def _decode(code: CodeType) -> Code:
    if versions.VERSION not in versions.SUPPORTED:
        raise DecodeError(f"Python {versions.VERSION[0]}.{versions.VERSION[1]} has no table of opcodes")
    drafts = _drafts(code)
    table = exception_table(code)
    index_of: dict[int, int] = {}
    for index, draft in enumerate(drafts):
        index_of.setdefault(draft[4].pc, index)
    first_traceable = next((raw.pc for op, _, _, _, raw, _ in drafts if op == "RESUME"), 0)
    positions = list(code.co_positions())
    handlers = [-1] * (len(code.co_code) // 2)
    for row, entry in enumerate(table):
        handlers[entry.start // 2 : entry.end // 2] = [row] * ((entry.end - entry.start) // 2)
    instructions = []
    for index, (op, arg, value, target, raw, first) in enumerate(drafts):
        target, jump = _landing(code, drafts, index_of, op, target)
        place = positions[raw.own_pc // 2]
        line, end_line, col, end_col = (-1 if number is None else number for number in place)
        enterable = first and (raw.pc == 0 or raw.pc >= first_traceable)
        instructions.append(Instr(index, op, OP_IDS[op], arg, value, raw.pc, raw.own_pc, raw.next_pc, target, jump,
                                  line, end_line, col, end_col, enterable, handlers[raw.own_pc // 2]))
    return Code(name=code.co_name, qualname=code.co_qualname, filename=code.co_filename, stacksize=code.co_stacksize,
                nlocals=code.co_nlocals, locals=locals_layout(code), instructions=tuple(instructions), exception_table=table,
                first_traceable=first_traceable)


def _landing(code: CodeType, drafts: list[_Draft], index_of: dict[int, int], op: str, target: int) -> tuple[int, int]:
    """The target of a jump; that of FOR_ITER and SEND stands behind END_FOR and END_SEND, as CPython jumps in effect."""
    if target < 0:
        return -1, -1
    jump = index_of.get(target, -1)
    if jump < 0:
        raise DecodeError(f"{code.co_qualname}: {op} jumps to {target}, where no instruction begins")
    if op == "FOR_ITER" and drafts[jump][0] == "END_FOR":
        if drafts[jump][1] == 1:  # 3.13: END_FOR pops the item, POP_TOP the iterator
            jump += 1
        jump += 1
    elif op == "SEND" and drafts[jump][0] == "END_SEND":
        jump += 1
    return drafts[jump][4].pc, jump
