"""Raw opcodes of each CPython version to canonical ops: the only file that looks at the running version."""

import opcode
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple

VERSION: tuple[int, int] = sys.version_info[:2]
SUPPORTED: tuple[tuple[int, int], ...] = ((3, 11), (3, 12), (3, 13))
NULL_FIRST: bool = VERSION < (3, 13)  # a NULL stands before its callable, not after it
FRESH_LOCALS: bool = VERSION >= (3, 13)  # locals() of a function makes a new dict each time
MAKES_FRAMES = sys.version_info < (3, 12)  # whether the extension makes frame objects of calls that have ended


class Raw(NamedTuple):
    """One raw instruction: its argument with EXTENDED_ARG folded in, and where it stands."""

    name: str
    arg: int
    pc: int
    own_pc: int
    next_pc: int


# A decoder gives (arg, value, target) of a canonical instruction.
Decoded = tuple[int, Any, int]
Decoder = Callable[[CodeType, Raw], Decoded]


class Part(NamedTuple):
    """One canonical op that a raw opcode stands for."""

    op: str
    decode: Decoder


COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")
BINARY_SYMBOLS: tuple[str, ...] = tuple(symbol for _, symbol in opcode._nb_ops)  # type: ignore[attr-defined]
CONVERSIONS = ("", "s", "r", "a")


def none(code: CodeType, raw: Raw) -> Decoded:
    return raw.arg, None, -1


def number(code: CodeType, raw: Raw) -> Decoded:
    return raw.arg, raw.arg, -1


def fixed(value: Any, arg: int = 0) -> Decoder:
    return lambda code, raw: (arg, value, -1)


def const(code: CodeType, raw: Raw) -> Decoded:
    return raw.arg, code.co_consts[raw.arg], -1


def flag(code: CodeType, raw: Raw) -> Decoded:
    return raw.arg, bool(raw.arg & 1), -1


def name_at(shift: int, keep: int = 0) -> Decoder:
    """A name whose index stands above `shift` flag bits, of which `keep` become the argument."""
    return lambda code, raw: (raw.arg & keep, code.co_names[raw.arg >> shift], -1)


def binary(code: CodeType, raw: Raw) -> Decoded:
    return raw.arg, BINARY_SYMBOLS[raw.arg], -1


def compare_at(shift: int) -> Decoder:
    return lambda code, raw: (raw.arg >> shift, COMPARISONS[raw.arg >> shift], -1)


def forward(code: CodeType, raw: Raw) -> Decoded:
    return 0, None, raw.next_pc + 2 * raw.arg


def backward(code: CodeType, raw: Raw) -> Decoded:
    return 0, None, raw.next_pc - 2 * raw.arg


def backward_checked(code: CodeType, raw: Raw) -> Decoded:
    return 1, None, raw.next_pc - 2 * raw.arg


def unpack_ex(code: CodeType, raw: Raw) -> Decoded:
    return raw.arg, (raw.arg & 255, raw.arg >> 8), -1


def format_value(code: CodeType, raw: Raw) -> Decoded:
    return raw.arg, (CONVERSIONS[raw.arg & 3], bool(raw.arg & 4)), -1


Row = tuple[Part, ...] | Callable[[int], tuple[Part, ...]]  # a function where the raw argument picks the parts
TESTS = ("TRUE", "FALSE", "NONE", "NOT_NONE")
INTRINSICS_1 = (
    "PRINT IMPORT_STAR STOPITERATION_ERROR ASYNC_GEN_WRAP UNARY_POSITIVE LIST_TO_TUPLE TYPEVAR PARAMSPEC TYPEVARTUPLE "
    "SUBSCRIPT_GENERIC TYPEALIAS"
)
INTRINSICS_2 = "PREP_RERAISE_STAR TYPEVAR_WITH_BOUND TYPEVAR_WITH_CONSTRAINTS SET_FUNCTION_TYPE_PARAMS SET_TYPEPARAM_DEFAULT"
INTRINSIC_OPS = ("STOPITERATION_ERROR", "ASYNC_GEN_WRAP", "UNARY_POSITIVE", "LIST_TO_TUPLE", "PREP_RERAISE_STAR")


def one(op: str, decode: Decoder = none) -> tuple[Part, ...]:
    return (Part(op, decode),)


PLAIN = (
    "NOP UNARY_NEGATIVE UNARY_NOT UNARY_INVERT BINARY_SUBSCR STORE_SUBSCR DELETE_SUBSCR LOAD_BUILD_CLASS LOAD_ASSERTION_ERROR "
    "POP_TOP PUSH_NULL GET_ITER RETURN_VALUE RETURN_GENERATOR YIELD_VALUE GET_YIELD_FROM_ITER GET_AITER GET_ANEXT END_ASYNC_FOR "
    "BEFORE_WITH BEFORE_ASYNC_WITH WITH_EXCEPT_START PUSH_EXC_INFO POP_EXCEPT CHECK_EXC_MATCH CHECK_EG_MATCH GET_LEN "
    "MATCH_MAPPING MATCH_SEQUENCE MATCH_KEYS SETUP_ANNOTATIONS"
)
NUMBERED = (
    "LOAD_FAST STORE_FAST DELETE_FAST MAKE_CELL COPY_FREE_VARS LOAD_DEREF STORE_DEREF DELETE_DEREF BUILD_TUPLE BUILD_LIST "
    "BUILD_SET BUILD_MAP BUILD_CONST_KEY_MAP BUILD_STRING BUILD_SLICE LIST_APPEND SET_ADD MAP_ADD LIST_EXTEND SET_UPDATE "
    "DICT_UPDATE DICT_MERGE UNPACK_SEQUENCE MAKE_FUNCTION COPY SWAP GET_AWAITABLE RAISE_VARARGS RERAISE MATCH_CLASS RESUME"
)
NAMED = "STORE_GLOBAL DELETE_GLOBAL LOAD_NAME STORE_NAME DELETE_NAME STORE_ATTR DELETE_ATTR IMPORT_NAME IMPORT_FROM"

# EXTENDED_ARG, CACHE, KW_NAMES, PRECALL and CALL_KW are folded in by decode.py: they stand for no canonical op of their own.
COMMON: dict[str, Row] = {
    **{name: one(name) for name in PLAIN.split()},
    **{name: one(name, number) for name in NUMBERED.split()},
    **{name: one(name, name_at(0)) for name in NAMED.split()},
    "CACHE": (),
    "EXTENDED_ARG": (),
    "LOAD_CONST": one("LOAD_CONST", const),
    "LOAD_GLOBAL": one("LOAD_GLOBAL", name_at(1, 1)),
    "BINARY_OP": one("BINARY_OP", binary),
    "IS_OP": one("IS_OP", flag),
    "CONTAINS_OP": one("CONTAINS_OP", flag),
    "UNPACK_EX": one("UNPACK_EX", unpack_ex),
    "CALL": one("CALL", fixed(())),  # decode.py puts in the argument count and the keyword names
    "CALL_FUNCTION_EX": one("CALL_EX", flag),
    "JUMP_FORWARD": one("JUMP", forward),
    "JUMP_BACKWARD": one("JUMP", backward_checked),
    "JUMP_BACKWARD_NO_INTERRUPT": one("JUMP", backward),
    "FOR_ITER": one("FOR_ITER", forward),
    "SEND": one("SEND", forward),
}

PY311: dict[str, Row] = {
    **COMMON,
    **{name: one(name) for name in "UNARY_POSITIVE LIST_TO_TUPLE ASYNC_GEN_WRAP PREP_RERAISE_STAR IMPORT_STAR PRINT_EXPR".split()},
    "KW_NAMES": (),
    "PRECALL": (),
    "LOAD_CLOSURE": one("LOAD_FAST", number),
    "LOAD_CLASSDEREF": (Part("LOAD_LOCALS", none), Part("LOAD_FROM_DICT_OR_DEREF", number)),
    "LOAD_ATTR": one("LOAD_ATTR", name_at(0)),
    "LOAD_METHOD": one("LOAD_METHOD", name_at(0)),
    "COMPARE_OP": one("COMPARE_OP", compare_at(0)),
    "FORMAT_VALUE": one("FORMAT_VALUE", format_value),
    "JUMP_IF_FALSE_OR_POP": one("JUMP_IF_FALSE_OR_POP", forward),
    "JUMP_IF_TRUE_OR_POP": one("JUMP_IF_TRUE_OR_POP", forward),
    **{f"POP_JUMP_FORWARD_IF_{test}": one(f"POP_JUMP_IF_{test}", forward) for test in TESTS},
    **{f"POP_JUMP_BACKWARD_IF_{test}": one(f"POP_JUMP_IF_{test}", backward_checked) for test in TESTS},
}


def intrinsic(operands: int, names: str) -> Callable[[int], tuple[Part, ...]]:
    """Canonical op by the number of an intrinsic function: one of its own, else CALL_INTRINSIC with its name."""
    table = names.split()

    def row(index: int) -> tuple[Part, ...]:
        name = table[index - 1]
        if name in INTRINSIC_OPS:
            return one(name)
        return one("CALL_INTRINSIC", fixed(name, operands))

    return row


def high(code: CodeType, raw: Raw) -> Decoded:
    return raw.arg >> 4, raw.arg >> 4, -1


def low(code: CodeType, raw: Raw) -> Decoded:
    return raw.arg & 15, raw.arg & 15, -1


def super_name(code: CodeType, raw: Raw) -> Decoded:
    return raw.arg >> 1 & 1, code.co_names[raw.arg >> 2], -1


def resume_where(code: CodeType, raw: Raw) -> Decoded:
    return raw.arg, raw.arg & 3, -1


def conversion(code: CodeType, raw: Raw) -> Decoded:
    return raw.arg, CONVERSIONS[raw.arg], -1


PY312: dict[str, Row] = {
    **COMMON,
    **{name: one(name) for name in "LOAD_LOCALS CLEANUP_THROW END_SEND".split()},
    "KW_NAMES": (),
    "LOAD_CLOSURE": one("LOAD_FAST", number),
    "LOAD_FAST_CHECK": one("LOAD_FAST", number),
    "LOAD_FAST_AND_CLEAR": one("LOAD_FAST_AND_CLEAR", number),
    "LOAD_FROM_DICT_OR_DEREF": one("LOAD_FROM_DICT_OR_DEREF", number),
    "LOAD_FROM_DICT_OR_GLOBALS": one("LOAD_FROM_DICT_OR_GLOBALS", name_at(0)),
    "LOAD_ATTR": lambda arg: one("LOAD_METHOD" if arg & 1 else "LOAD_ATTR", name_at(1)),
    "LOAD_SUPER_ATTR": lambda arg: one("LOAD_SUPER_METHOD" if arg & 1 else "LOAD_SUPER_ATTR", super_name),
    "COMPARE_OP": one("COMPARE_OP", compare_at(4)),
    "BINARY_SLICE": (Part("BUILD_SLICE", fixed(2, 2)), Part("BINARY_SUBSCR", none)),
    "STORE_SLICE": (Part("BUILD_SLICE", fixed(2, 2)), Part("STORE_SUBSCR", none)),
    "FORMAT_VALUE": one("FORMAT_VALUE", format_value),
    "RETURN_CONST": (Part("LOAD_CONST", const), Part("RETURN_VALUE", none)),
    "END_FOR": one("END_FOR", fixed(2, 2)),
    "CALL_INTRINSIC_1": intrinsic(1, INTRINSICS_1),
    "CALL_INTRINSIC_2": intrinsic(2, INTRINSICS_2),
    **{f"POP_JUMP_IF_{test}": one(f"POP_JUMP_IF_{test}", forward) for test in TESTS},
}

PY313: dict[str, Row] = {
    **{name: row for name, row in PY312.items() if name not in ("KW_NAMES", "LOAD_CLOSURE", "FORMAT_VALUE")},
    "CALL_KW": one("CALL", fixed(())),  # the same
    "RESUME": one("RESUME", resume_where),
    "TO_BOOL": one("TO_BOOL"),
    "COMPARE_OP": lambda arg: one("COMPARE_OP", compare_at(5)) + (one("TO_BOOL") if arg & 16 else ()),
    "LOAD_FAST_LOAD_FAST": (Part("LOAD_FAST", high), Part("LOAD_FAST", low)),
    "STORE_FAST_LOAD_FAST": (Part("STORE_FAST", high), Part("LOAD_FAST", low)),
    "STORE_FAST_STORE_FAST": (Part("STORE_FAST", high), Part("STORE_FAST", low)),
    "CONVERT_VALUE": one("CONVERT_VALUE", conversion),
    "FORMAT_SIMPLE": one("FORMAT_VALUE", fixed(("", False))),
    "FORMAT_WITH_SPEC": one("FORMAT_VALUE", fixed(("", True), 4)),
    "MAKE_FUNCTION": one("MAKE_FUNCTION", fixed(0)),
    "SET_FUNCTION_ATTRIBUTE": one("SET_FUNCTION_ATTRIBUTE", number),
    "END_FOR": one("END_FOR", fixed(1, 1)),
}

TABLES: dict[tuple[int, int], dict[str, Row]] = {(3, 11): PY311, (3, 12): PY312, (3, 13): PY313}
# What the interpreter keeps for itself: co_code never shows it.
INTERNAL = ("INTERPRETER_EXIT", "EXIT_INIT_CHECK", "RESERVED", "ENTER_EXECUTOR")


def raw_opcodes() -> tuple[str, ...]:
    """The opcodes of the running Python that compiled code can hold (pseudo opcodes and instrumented forms left out)."""
    return tuple(name for name, number in opcode.opmap.items()
                 if number < 256 and name not in INTERNAL and not name.startswith("INSTRUMENTED_"))


def cache_sizes() -> dict[str, int]:
    """Code units of inline cache after each opcode."""
    entries: Any = opcode._inline_cache_entries  # type: ignore[attr-defined]
    if isinstance(entries, dict):
        return {name: entries.get(name, 0) for name in opcode.opmap}
    return {name: entries[number] for name, number in opcode.opmap.items() if number < 256}
