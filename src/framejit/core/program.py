"""Programs as rows of machine ops: the tables of the ops, a typed view of a program, its printer and its checker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from framejit import _C

EMPTY, KEEP = -1, -2
REPLAY, RANDOM = 1, 2  # the flags of CALL_GRAPH


class Op(NamedTuple):
    """A row of csrc/ops.def: its number and one letter per operand (the head of that file explains them)."""

    code: int
    name: str
    kinds: str
    doc: str


OPS: dict[str, Op] = {name: Op(code, name, spec.replace(" ", ""), doc) for code, (name, spec, doc) in enumerate(_C.OPS)}
OP_NAMES: tuple[str, ...] = tuple(OPS)
OPAQUE_KINDS: dict[str, int] = {name: kind for kind, (name, _) in enumerate(_C.OPAQUE)}
OPAQUE_NAMES: tuple[str, ...] = tuple(OPAQUE_KINDS)
EXITS = frozenset(OP_NAMES[OP_NAMES.index("RETURN") :])
ENDS = EXITS - {"SLOTS", "SET_HANDLED"}  # nothing follows these
CHECKS = frozenset(OP_NAMES[OP_NAMES.index("CHECK_SLOT_EMPTY") : OP_NAMES.index("DICT_STAMP") + 1])
EFFECTS = frozenset(OP_NAMES[OP_NAMES.index("STORE_ATTR") : OP_NAMES.index("CALL_EFFECT") + 1])


class Instruction(NamedTuple):
    """One machine op with its operands; `origin` says what asked for it."""

    op: str
    operands: tuple[Any, ...]
    origin: Any = None


class Malformed(ValueError):
    """A program breaks a rule of the machine."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A program as rows; `str` prints it."""

    name: str
    instructions: tuple[Instruction, ...]
    consts: tuple[Any, ...]
    nregs: int
    weak: tuple[int, ...] = ()
    slot_names: tuple[str, ...] = ()

    def pack(self) -> _C.Program:
        """The machine's form; ValueError when malformed."""
        rows = [(OPS[row.op].code, *row.operands) for row in self.instructions]
        return _C.Program(rows, self.consts, self.nregs, self.name, self.weak)

    def __str__(self) -> str:
        return "\n".join(lines(self))


def unpack(program: _C.Program, notes: Mapping[int, Any] | None = None, slot_names: tuple[str, ...] = ()) -> Listing:
    """The rows of a packed program; `notes` gives the origins by index."""
    origins = notes or {}
    rows = tuple(Instruction(OP_NAMES[row[0]], row[1:], origins.get(index)) for index, row in enumerate(program.instructions))
    return Listing(program.name, rows, program.consts, program.nregs, (), slot_names)


# ---- Printer --------------------------------------------------------------------------------------------------------

# How an op reads: {0} is its first operand, and so on; ops that are not here print as their name and operands.
TEXTS: dict[str, str] = {
    "LOAD_SLOT": "{0} = {slot}", "LOAD_CONST": "{0} = {1}", "LOAD_GLOBALS": "{0} = G", "LOAD_BUILTINS": "{0} = B",
    "LOAD_LOCALS": "{0} = NS", "LOAD_FUNC": "{0} = FUNC", "LOAD_HANDLED": "{0} = HANDLED",
    "LOAD_CALLER_SLOT": "{0} = C{1}[{2}]", "LOAD_CALLER_FUNC": "{0} = C{1}.FUNC", "LOAD_CALLER_EXTRA": "{0} = C{1}.EXTRA",
    "CHECK_CALLER": "CALLER {0} {1} pc={2} {3}", "CHECK_CALLER_EMPTY": "C{0}[{1}] unbound",
    "CHECK_CALLER_QUIET": "C{0}[{1}] quiet", "LEAVE": "leave pc={1}; then {0}",
    "LOAD_CELL": "{0} = {1}.cell_contents", "LOAD_TYPE": "{0} = type({1})",
    "LOAD_INSTANCE_DICT": "{0} = {1}.__dict__", "LOAD_DICT_ITEM": "{0} = {1}[{2}]",
    "LOAD_DICT_KEY": "{0} = key{2}({1})", "LOAD_DICT_VALUE": "{0} = value{2}({1})",
    "LOAD_ITEM": "{0} = {1}[{2}]", "LOAD_MEMBER": "{0} = {1}.{2}",
    "LOAD_ATTR": "{0} = {1}.{2}", "LOAD_CLOSURE": "{0} = {1}.__closure__[{2}]", "LOAD_SELF": "{0} = {1}.__self__",
    "LOAD_REFERENT": "{0} = {1}()",
    "LOAD_METHOD_FUNC": "{0} = {1}.__func__", "LOAD_LEN": "{0} = len({1})", "LOAD_SIZE": "{0} = {1}.size({2})",
    "LOAD_STRIDE": "{0} = {1}.stride({2})", "LOAD_OFFSET": "{0} = {1}.storage_offset()",
    "LOAD_MRO": "{0} = {1}.__mro__", "CHECK_SLOT_EMPTY": "{slot} unbound", "CHECK_SLOT_QUIET": "{slot} quiet",
    "CHECK_QUIET": "{0} quiet", "CHECK_ITEM_QUIET": "{0}[{1}] quiet", "CHECK_CELL_EMPTY": "{0} empty",
    "CHECK_TYPE": "{0} TYPE_IS {1}", "CHECK_IS": "{0} IS {1}", "CHECK_IS_NOT": "{0} IS_NOT {1}",
    "CHECK_EQ": "{0} EQ {1}", "CHECK_SAME": "{0} SAME {1}", "CHECK_NOT_SAME": "{0} NOT_SAME {1}",
    "CHECK_DISTINCT": "DISTINCT {0} of {1}", "CHECK_LEN": "{0} LEN {1}", "CHECK_DICT_MISSING": "{0} MISSING {1}",
    "CHECK_DICT_KEYS": "{0} KEYS {1}", "CHECK_TRUTH": "{0} TRUTH {1}", "CHECK_TYPE_ATTRS": "{0} ATTRS {2}",
    "CHECK_FUNC_CODE": "{0} CODE {1}", "CHECK_TENSOR": "{0} TENSOR {1}", "CHECK_TORCH_STATE": "TORCH_STATE", "CHECK_UNHANDLED": "UNHANDLED",
    "CHECK_PY": "{0}{1}", "CHECK_NO_OVERLAP": "NO_OVERLAP {0} of {1}",
    "DICT_GROUP": "group s{1} of {0}: {3}, else go on; then {2}", "DICT_STAMP": "stamp s{1} of {0}: {2}",
    "BINARY": "{0} = {2} {binary} {3}", "COMPARE": "{0} = {2} {compare} {3}", "UNARY": "{0} = {unary}{2}",
    "NOT": "{0} = not {1}", "IS": "{0} = {1} is {2}", "CALL_GRAPH": "{3} = {0}{2}{flags}",
    "BUILD_TUPLE": "{0} = tuple{1}", "BUILD_LIST": "{0} = list{1}", "BUILD_SET": "{0} = set{1}",
    "BUILD_DICT": "{0} = dict{1}", "BUILD_SLICE": "{0} = slice({1}, {2}, {3})", "BUILD_CELL": "{0} = cell({1})",
    "BUILD_METHOD": "{0} = method({1}, {2})", "BUILD_FUNCTION": "{0} = function {1}{2}",
    "BUILD_GENERATOR": "{0} = generator {1} pc={2} slots={3}", "BUILD_TRACEBACK": "{0} = traceback pc={2} {1}",
    "BUILD_FRAME": "{0} = frame {1} pc={2} from {3} slots={4}",
    "NEW": "{0} = new {1}", "CALL": "{0} = {1}{2} {3}",
    "STORE_ATTR": "{0}.{1} = {2}", "DEL_ATTR": "del {0}.{1}", "STORE_INSTANCE_DICT": "{0}.__dict__[{1}] = {2}",
    "DICT_SET": "{0}[{1}] = {2}", "DICT_DEL": "del {0}[{1}]", "DICT_CLEAR": "{0}.clear()",
    "LIST_ASSIGN": "{0}[:] = {1}", "LIST_APPEND": "{0}.append({1})", "SET_ADD": "{0}.add({1})",
    "SET_CLEAR": "{0}.clear()", "STORE_CELL": "{0}.cell_contents = {1}", "CALL_EFFECT": "{0}{1} {2}",
    "DROP": "drop {0}", "ON_ERROR": "on error {0}", "RETURN": "return {0}", "RETURN_AT": "return {0} pc={1}",
    "SLOTS": "frame slots={slots}", "SET_HANDLED": "handled {0}", "ENTER": "enter pc={0}", "NATIVE": "native pc={0}",
    "OPAQUE": "{opaque} {1} pc={2} next={3} target={4} {5}",
    "CALLEE": "callee {0} slots={5} pc={1} returned: {result} pc={2}; then {6}", "RAISE": "raise {0} pc={1}",
    "BRANCH": "branch {0}: {1} else {2}",
}  # fmt: skip
BINARY_TEXT = ("+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^")
COMPARE_TEXT = ("<", "<=", "==", "!=", ">", ">=")
RESULT_TEXT = ("push", "push {4} for None", "drop", "truth", "bool")


def const_text(value: Any) -> str:
    """A constant in a few words."""
    for kind in (type, _C.Program):
        if isinstance(value, kind):
            return str(getattr(value, "__qualname__", None) or getattr(value, "name", ""))
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if isinstance(name, str):
        return f"<{type(value).__name__} {name}>"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def register_text(register: int) -> str:
    """A register as it prints."""
    return "-" if register == EMPTY else "keep" if register == KEEP else f"r{register}"


def slot_text(listing: Listing, slot: int) -> str:
    """A slot by its name."""
    return f"L.{listing.slot_names[slot]}" if slot < len(listing.slot_names) else f"S[{slot}]"


def operand_text(listing: Listing, kind: str, value: Any) -> str:
    """One operand as it prints."""
    if kind in "dro":
        return register_text(value)
    if kind == "k":
        return const_text(listing.consts[value])
    if kind in "Ll":
        return f"@{value}" if value >= 0 else "off"
    if kind == "K":
        return " ".join(const_text(listing.consts[k]) for k in value)
    if kind == "D":
        return ", ".join(map(register_text, value)) or "nothing"
    if kind == "*":
        return "(" + ", ".join(map(register_text, value)) + ")"
    return str(value)


def slots_text(listing: Listing, registers: tuple[int, ...]) -> str:
    """A slot array, with a bar between locals and stack where the names tell."""
    texts = [register_text(r) for r in registers]
    n = len(listing.slot_names)
    if not n:
        return "[" + ", ".join(texts) + "]"
    return "[" + ", ".join(texts[:n]) + " | " + ", ".join(texts[n:]) + "]"


SPECIAL: dict[str, Callable[[Listing, tuple[Any, ...]], dict[str, str]]] = {
    "LOAD_SLOT": lambda listing, a: {"slot": slot_text(listing, a[1])},
    "CHECK_SLOT_EMPTY": lambda listing, a: {"slot": slot_text(listing, a[0])},
    "CHECK_SLOT_QUIET": lambda listing, a: {"slot": slot_text(listing, a[0])},
    "BINARY": lambda _, a: {"binary": "[]" if a[1] == 26 else BINARY_TEXT[a[1] % 13]},
    "COMPARE": lambda _, a: {"compare": COMPARE_TEXT[a[1]]},
    "UNARY": lambda _, a: {"unary": "-+~"[a[1]]},
    "CALL_GRAPH": lambda _, a: {"flags": (" replay" if a[1] & REPLAY else "") + (" random" if a[1] & RANDOM else "")},
    "SLOTS": lambda listing, a: {"slots": slots_text(listing, a[0])},
    "OPAQUE": lambda _, a: {"opaque": OPAQUE_NAMES[a[0]]},
    "CALLEE": lambda _, a: {"result": RESULT_TEXT[a[3]].format(*map(register_text, (0, 0, 0, 0, a[4])))},
}


def instruction_text(listing: Listing, index: int) -> str:
    """One instruction without its origin."""
    row = listing.instructions[index]
    kinds = OPS[row.op].kinds
    operands = [operand_text(listing, kind, value) for kind, value in zip(kinds, row.operands)]
    special = SPECIAL[row.op](listing, row.operands) if row.op in SPECIAL else {}
    text = TEXTS.get(row.op, row.op + " {}" * len(operands))
    return text.format(*operands, **special).rstrip()


def line_breaks(listing: Listing, index: int, current: int) -> bool:
    """Whether an instruction starts a line: all do but checks of the register that the line is about."""
    row = listing.instructions[index]
    plain = row.op in CHECKS and row.op not in ("DICT_GROUP", "DICT_STAMP")
    return not (plain and OPS[row.op].kinds[:1] == "r" and row.operands[0] == current)


def lines(listing: Listing) -> list[str]:
    """The printed program, a load and the checks of what it loaded on one line."""
    targets = {v for row in listing.instructions for kind, v in zip(OPS[row.op].kinds, row.operands) if kind in "Ll"}
    result = [f"region {listing.name}"]
    current = -1
    texts: list[str] = []
    origin: Any = None

    def flush() -> None:
        if texts:
            line = "  " + texts[0] + ("     check " + " ; ".join(texts[1:]) if texts[1:] else "")
            result.append(f"{line:<67} # {origin}" if origin is not None else line)

    for index, row in enumerate(listing.instructions):
        text = instruction_text(listing, index)
        if index in targets or line_breaks(listing, index, current):
            flush()
            if index in targets:
                result.append(f" @{index}:")
            current = row.operands[0] if OPS[row.op].kinds[:1] == "d" else -1
            texts, origin = ["check " + text if row.op.startswith("CHECK") else text], row.origin
        else:
            texts.append(text.removeprefix(f"r{current} "))
            origin = origin if origin is not None else row.origin
    flush()
    return result


# ---- Checker --------------------------------------------------------------------------------------------------------


def registers_read(row: Instruction) -> list[int]:
    """The registers an instruction reads."""
    read: list[int] = []
    for kind, value in zip(OPS[row.op].kinds, row.operands):
        if kind in "ro":
            read.append(value)
        elif kind == "*" and row.op != "DICT_GROUP":
            read.extend(value)
    return [r for r in read if r >= 0]


def registers_set(row: Instruction) -> list[int]:
    """The registers an instruction sets."""
    found: list[int] = []
    for kind, value in zip(OPS[row.op].kinds, row.operands):
        if kind == "d":
            found.append(value)
        elif kind == "D" or (kind == "*" and row.op == "DICT_GROUP"):
            found.extend(r for r in value if r >= 0)
    return found


def jumps(row: Instruction) -> list[int]:
    """Where an instruction may jump, an error sequence included."""
    return [v for kind, v in zip(OPS[row.op].kinds, row.operands) if kind in "Ll" and v >= 0]


def error_sequences(listing: Listing) -> set[int]:
    """The instructions that run with an exception set."""
    found: set[int] = set()
    work = [row.operands[0] for row in listing.instructions if row.op == "ON_ERROR" and row.operands[0] >= 0]
    while work:
        index = work.pop()
        if index not in found:
            found.add(index)
            row = listing.instructions[index]
            work.extend(jumps(row))
            if row.op not in ENDS:
                work.append(index + 1)
    return found


def check_order(listing: Listing) -> Iterable[str]:
    """Broken rules of order: what is read must be read before the graph runs and before any effect."""
    graph = effect = False
    handlers = error_sequences(listing)
    exits: set[int] = set()
    for index, row in enumerate(listing.instructions):
        where = f"instruction {index}, {instruction_text(listing, index)}: "
        frame_load = row.op in ("LOAD_SLOT", "LOAD_GLOBALS", "LOAD_BUILTINS", "LOAD_LOCALS", "LOAD_HANDLED")
        if (graph or effect) and (row.op in CHECKS or frame_load) and index not in exits:
            yield where + "what an exit needs is loaded and checked before the graph and before effects"
        if row.op == "RAISE" and (row.operands[0] == EMPTY) != (index in handlers):
            yield where + "only an error sequence raises the exception that is set"
        if row.op == "CALL_GRAPH" and row.operands[1] & REPLAY and effect and index not in exits:
            yield where + "no replay after an effect"
        graph = graph or row.op == "CALL_GRAPH"
        effect = effect or row.op in EFFECTS


def check(listing: Listing) -> None:
    """Raise Malformed with every broken rule; the machine's own validation comes first."""
    try:
        listing.pack()
    except ValueError as error:
        raise Malformed(f"{error}\n{listing}") from None
    problems = list(check_order(listing))
    if problems:
        raise Malformed("\n".join([*problems, str(listing)]))
