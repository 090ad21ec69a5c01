"""The canonical instruction set and the decoded form of a code object."""

from bisect import bisect_right
from typing import Any, NamedTuple

# One row per canonical op: name, what `Instr.value` holds, stack effect (bottom to top, before -- after).
# After "|" stands the effect when the jump is taken, where it differs. `Instr.arg` is an int with the meaning told in the
# row after ";" (else the raw argument). `name[n]` is n entries. Stack order is CPython's own on every version; what differs:
#   * where a callable stands with a NULL: 3.11 and 3.12 `NULL callable`, 3.13 `callable NULL` (versions.NULL_FIRST). CALL and
#     CALL_EX get two entries `first second` below the arguments: the callable is the one that is not NULL; if neither is
#     NULL, it is `first`, called with `second` as its first argument;
#   * FOR_ITER and SEND jump behind END_FOR / END_SEND with their operands popped, on every version;
#   * on 3.13 `kwnames` are merged from the LOAD_CONST before CALL_KW, on 3.11 and 3.12 from KW_NAMES: they are never on the stack;
#   * a raw instruction that became several canonical ones: all share pc and next_pc, only the first is enterable.
CANONICAL: tuple[tuple[str, str, str], ...] = (
    ("NOP", "", "--"),
    ("RESUME", "0 start, 1 after yield, 2 after yield from, 3 after await", "--"),
    # locals, cells, constants
    ("LOAD_FAST", "slot (raw content: of a cell variable, the cell itself); empty raises UnboundLocalError", "-- value"),
    ("LOAD_FAST_AND_CLEAR", "slot; pushes NULL if empty, and empties the slot", "-- value"),
    ("STORE_FAST", "slot (a NULL empties it)", "value --"),
    ("DELETE_FAST", "slot; empty raises UnboundLocalError", "--"),
    ("MAKE_CELL", "slot: its content is put into a new cell", "--"),
    ("COPY_FREE_VARS", "count: the closure of the function goes to the last slots", "--"),
    ("LOAD_DEREF", "slot of the cell", "-- value"),
    ("STORE_DEREF", "slot of the cell", "value --"),
    ("DELETE_DEREF", "slot of the cell", "--"),
    ("LOAD_CONST", "the constant", "-- value"),
    # names
    ("LOAD_GLOBAL", "name; arg 1: a NULL is pushed too, before the value if NULL_FIRST, else after it", "-- value"),
    ("STORE_GLOBAL", "name", "value --"),
    ("DELETE_GLOBAL", "name", "--"),
    ("LOAD_NAME", "name", "-- value"),
    ("STORE_NAME", "name", "value --"),
    ("DELETE_NAME", "name", "--"),
    ("LOAD_LOCALS", "", "-- mapping"),
    ("LOAD_FROM_DICT_OR_DEREF", "slot of the cell", "mapping -- value"),
    ("LOAD_FROM_DICT_OR_GLOBALS", "name", "mapping -- value"),
    ("SETUP_ANNOTATIONS", "", "--"),
    # attributes
    ("LOAD_ATTR", "name", "owner -- value"),
    ("LOAD_METHOD", "name; pushes `function owner`, or the value with a NULL as LOAD_GLOBAL does", "owner -- first second"),
    ("LOAD_SUPER_ATTR", "name; arg 1: two arguments were written in super()", "super class self -- value"),
    ("LOAD_SUPER_METHOD", "name; arg as LOAD_SUPER_ATTR; pushes as LOAD_METHOD", "super class self -- first second"),
    ("STORE_ATTR", "name", "value owner --"),
    ("DELETE_ATTR", "name", "owner --"),
    # operators
    ("UNARY_POSITIVE", "", "value -- result"),
    ("UNARY_NEGATIVE", "", "value -- result"),
    ("UNARY_NOT", "", "value -- result"),
    ("UNARY_INVERT", "", "value -- result"),
    ("TO_BOOL", "", "value -- result"),
    ("BINARY_OP", "symbol, such as '+' or '+='; arg: CPython's NB_ number (in place from 13 on)", "left right -- result"),
    ("COMPARE_OP", "symbol; arg: Py_LT..Py_GE (< <= == != > >=)", "left right -- result"),
    ("IS_OP", "True if inverted (is not)", "left right -- result"),
    ("CONTAINS_OP", "True if inverted (not in)", "item container -- result"),
    ("BINARY_SUBSCR", "", "container key -- value"),
    ("STORE_SUBSCR", "", "value container key --"),
    ("DELETE_SUBSCR", "", "container key --"),
    # building
    ("BUILD_TUPLE", "count", "items[value] -- tuple"),
    ("BUILD_LIST", "count", "items[value] -- list"),
    ("BUILD_SET", "count", "items[value] -- set"),
    ("BUILD_MAP", "count of pairs", "key_values[2*value] -- dict"),
    ("BUILD_CONST_KEY_MAP", "count", "values[value] keys -- dict"),
    ("BUILD_STRING", "count", "pieces[value] -- string"),
    ("BUILD_SLICE", "2 or 3", "parts[value] -- slice"),
    ("LIST_APPEND", "i: the list is i entries below the item", "item --"),
    ("SET_ADD", "i: the set is i entries below the item", "item --"),
    ("MAP_ADD", "i: the dict is i entries below the key", "key item --"),
    ("LIST_EXTEND", "i: the list is i entries below the iterable", "iterable --"),
    ("SET_UPDATE", "i: the set is i entries below the iterable", "iterable --"),
    ("DICT_UPDATE", "i: the dict is i entries below the mapping", "mapping --"),
    ("DICT_MERGE", "i: the dict is i entries below the mapping; the callable (for messages) 2+i or so below", "mapping --"),
    ("LIST_TO_TUPLE", "", "list -- tuple"),
    ("FORMAT_VALUE", "(conversion: '', 's', 'r' or 'a'; has_spec); arg: 3.11's flags", "value spec[has_spec] -- string"),
    ("CONVERT_VALUE", "'s', 'r' or 'a'; arg 1, 2, 3 (3.13)", "value -- string"),
    ("UNPACK_SEQUENCE", "count (the first item ends on top)", "sequence -- items[value]"),
    ("UNPACK_EX", "(before, after)", "sequence -- items[before+1+after]"),
    ("MAKE_FUNCTION", "flags 1 defaults, 2 kwdefaults, 4 annotations, 8 closure (0 on 3.13)", "attributes[bits] code -- function"),
    ("SET_FUNCTION_ATTRIBUTE", "flag as MAKE_FUNCTION (3.13)", "attribute function -- function"),
    ("LOAD_BUILD_CLASS", "", "-- value"),
    ("LOAD_ASSERTION_ERROR", "", "-- value"),
    # the stack
    ("POP_TOP", "", "value --"),
    ("PUSH_NULL", "", "-- null"),
    ("COPY", "i: the i-th entry from the top, 1 is the top", "-- value"),
    ("SWAP", "i: exchanges the top and the i-th entry", "--"),
    # calls
    ("CALL", "tuple of keyword names (of the last arguments); arg: count of all arguments", "first second args[arg] -- result"),
    ("CALL_EX", "True if a dict of keywords is on top", "first second args kwargs[has_kwargs] -- result"),
    ("CALL_INTRINSIC", "name, such as 'TYPEVAR'; arg: 1 or 2 operands (3.12 on)", "operands[arg] -- result"),
    # jumps: target is set
    ("JUMP", "arg 1: CPython looks for signals here (a backward jump)", "--"),
    ("POP_JUMP_IF_TRUE", "", "value --"),
    ("POP_JUMP_IF_FALSE", "", "value --"),
    ("POP_JUMP_IF_NONE", "", "value --"),
    ("POP_JUMP_IF_NOT_NONE", "", "value --"),
    ("JUMP_IF_TRUE_OR_POP", "", "value -- | value -- value"),
    ("JUMP_IF_FALSE_OR_POP", "", "value -- | value -- value"),
    ("GET_ITER", "", "iterable -- iterator"),
    ("FOR_ITER", "", "iterator -- iterator item | iterator --"),
    ("END_FOR", "count of entries (only CPython's own fast paths come here)", "entries[value] --"),
    ("RETURN_VALUE", "", "value --"),
    # generators and coroutines
    ("RETURN_GENERATOR", "the generator is made here; execution goes on at next_pc when it is first resumed", "-- sent"),
    ("YIELD_VALUE", "", "value -- sent"),
    ("GET_YIELD_FROM_ITER", "", "iterable -- iterator"),
    ("SEND", "", "receiver sent -- receiver result | receiver sent -- value"),
    ("END_SEND", "(only CPython's own fast paths come here)", "receiver value -- value"),
    ("CLEANUP_THROW", "(3.12)", "receiver last exception -- none value"),
    ("GET_AWAITABLE", "0, or where it stands: 1 async with enter, 2 exit", "object -- awaitable"),
    ("GET_AITER", "", "object -- iterator"),
    ("GET_ANEXT", "", "iterator -- iterator awaitable"),
    ("END_ASYNC_FOR", "pops both if StopAsyncIteration, else raises", "iterator exception --"),
    ("ASYNC_GEN_WRAP", "", "value -- wrapped"),
    ("STOPITERATION_ERROR", "(3.12)", "exception -- exception"),
    # with, exceptions
    ("BEFORE_WITH", "", "manager -- exit result"),
    ("BEFORE_ASYNC_WITH", "", "manager -- exit awaitable"),
    ("WITH_EXCEPT_START", "calls exit with the exception", "exit lasti previous exception -- exit lasti previous exception result"),
    ("PUSH_EXC_INFO", "the exception becomes the handled one", "exception -- previous exception"),
    ("POP_EXCEPT", "the popped exception becomes the handled one", "previous --"),
    ("CHECK_EXC_MATCH", "", "exception kind -- exception result"),
    ("CHECK_EG_MATCH", "", "exception kind -- rest match"),
    ("PREP_RERAISE_STAR", "", "original exceptions -- exception"),
    ("RAISE_VARARGS", "0 bare raise, 1 exception, 2 exception and cause", "parts[value] --"),
    ("RERAISE", "0; else a lasti stands that many entries below the exception, and is restored", "exception --"),
    # match
    ("GET_LEN", "", "subject -- subject length"),
    ("MATCH_MAPPING", "", "subject -- subject result"),
    ("MATCH_SEQUENCE", "", "subject -- subject result"),
    ("MATCH_KEYS", "", "subject keys -- subject keys values"),
    ("MATCH_CLASS", "count of positional patterns", "subject class names -- attributes"),
    # imports and the interactive prompt
    ("IMPORT_NAME", "name", "level fromlist -- module"),
    ("IMPORT_FROM", "name", "module -- module value"),
    ("IMPORT_STAR", "", "module --"),
    ("PRINT_EXPR", "", "value --"),
)
OP_NAMES: tuple[str, ...] = tuple(row[0] for row in CANONICAL)
OP_IDS: dict[str, int] = {name: number for number, name in enumerate(OP_NAMES)}
assert len(OP_IDS) == len(CANONICAL), "a canonical op has two rows"


class Instr(NamedTuple):
    """One canonical instruction; pcs are byte offsets as in `dis`."""

    index: int  # type: ignore[assignment]  # (not tuple.index) position in Code.instructions
    op: str
    opid: int  # index of op in CANONICAL
    arg: int
    value: Any
    pc: int  # where it begins, EXTENDED_ARG or KW_NAMES prefix included
    own_pc: int  # the opcode proper (what tracebacks and the exception table go by)
    next_pc: int
    target: int  # pc jumped to, or -1
    jump: int  # index of the instruction jumped to, or -1
    line: int  # -1 where CPython has none
    end_line: int
    col: int
    end_col: int
    enterable: bool  # a frame may be entered at pc, before this instruction
    handler: int  # index into Code.exception_table, or -1

    def __str__(self) -> str:
        value = "" if self.value is None and self.op != "LOAD_CONST" else f" {self.value!r}"
        target = "" if self.target < 0 else f" -> {self.target}"
        return f"{self.pc:5} {self.op}{value}{target}"


class ExceptionEntry(NamedTuple):
    """One row of the exception table: code in [start, end) is handled at target, with the stack cut to depth."""

    start: int
    end: int
    target: int
    depth: int
    lasti: bool  # the raising instruction's offset is pushed before the exception


class Local(NamedTuple):
    """One entry of CPython's localsplus."""

    name: str
    kind: str  # "local", "cell" (arguments that are cells too), "free"
    argument: bool


class Code:
    """A decoded code object; holds no reference to the code object itself."""

    __slots__ = (
        "__weakref__", "by_pc", "cached_flow", "exception_table", "filename", "first_traceable", "instructions", "locals", "name",
        "nlocals", "nlocalsplus", "qualname", "starts", "stacksize",
    )

    def __init__(self, *, name: str, qualname: str, filename: str, stacksize: int, nlocals: int, locals: tuple[Local, ...],
                 instructions: tuple[Instr, ...], exception_table: tuple[ExceptionEntry, ...], first_traceable: int) -> None:
        self.name, self.qualname, self.filename = name, qualname, filename
        self.stacksize, self.nlocals, self.locals = stacksize, nlocals, locals
        self.nlocalsplus = len(locals)
        self.instructions, self.exception_table = instructions, exception_table
        self.first_traceable = first_traceable
        self.by_pc: dict[int, int] = {}
        for ins in reversed(instructions):  # the first of several at one pc wins
            self.by_pc[ins.pc] = ins.index
        self.starts = [entry.start for entry in exception_table]
        self.cached_flow: Any = None  # flow.analyze keeps its result here

    def at(self, pc: int) -> Instr:
        """The instruction that begins at pc (KeyError where none does)."""
        return self.instructions[self.by_pc[pc]]

    def lookup(self, pc: int) -> ExceptionEntry | None:
        """The row that handles an exception raised at pc."""
        row = bisect_right(self.starts, pc) - 1
        if row >= 0 and pc < self.exception_table[row].end:
            return self.exception_table[row]
        return None

    def __str__(self) -> str:
        return "\n".join([f"code {self.qualname} slots=[{', '.join(local.name for local in self.locals)}]", *map(str, self.instructions)])


class DecodeError(ValueError):
    """The code object holds something that the tables do not describe."""


def _widths(header: str) -> tuple[int, int] | None:
    before, _, after = header.partition("--")
    if "[" in header:
        return None
    return len(before.split()), len(after.split())


_FALL = [_widths(effect.split("|")[0]) for _, _, effect in CANONICAL]
_JUMP = [_widths(effect.split("|")[-1]) for _, _, effect in CANONICAL]
_VARIADIC = {
    "BUILD_TUPLE": lambda ins: (ins.value, 1),
    "BUILD_LIST": lambda ins: (ins.value, 1),
    "BUILD_SET": lambda ins: (ins.value, 1),
    "BUILD_MAP": lambda ins: (2 * ins.value, 1),
    "BUILD_CONST_KEY_MAP": lambda ins: (ins.value + 1, 1),
    "BUILD_STRING": lambda ins: (ins.value, 1),
    "BUILD_SLICE": lambda ins: (ins.value, 1),
    "FORMAT_VALUE": lambda ins: (1 + ins.value[1], 1),
    "UNPACK_SEQUENCE": lambda ins: (1, ins.value),
    "UNPACK_EX": lambda ins: (1, ins.value[0] + 1 + ins.value[1]),
    "MAKE_FUNCTION": lambda ins: (1 + ins.value.bit_count(), 1),
    "CALL": lambda ins: (2 + ins.arg, 1),
    "CALL_EX": lambda ins: (3 + ins.value, 1),
    "CALL_INTRINSIC": lambda ins: (ins.arg, 1),
    "END_FOR": lambda ins: (ins.value, 0),
    "RAISE_VARARGS": lambda ins: (ins.value, 0),
}


def stack_effect(ins: Instr, jump: bool = False) -> tuple[int, int]:
    """How many entries the instruction pops and pushes, falling through or jumping."""
    fixed = (_JUMP if jump else _FALL)[ins.opid]
    if fixed is None:
        return _VARIADIC[ins.op](ins)
    if ins.op == "LOAD_GLOBAL":
        return 0, 1 + ins.arg
    return fixed
