"""Random programs and the small worlds they run in, for comparing the two machines."""

import builtins
import random
import types
from collections import OrderedDict

from framejit import _C
from framejit.core import reference
from framejit.core.program import KEEP, OPS, Instruction, Listing

SHARED = {"globals": {"x": 1, "__name__": "world"}, "builtins": {"len": len}}


def own_globals(function):
    """The function with globals that a program may look at but, being shared, not change."""
    return types.FunctionType(function.__code__, SHARED["globals"], function.__name__, function.__defaults__)


class Point:
    """Instances with inline values, a class attribute and a method."""

    origin = 0

    def __init__(self, x, y):
        self.x, self.y = x, y

    @own_globals
    def norm(self):
        return self.x * self.x + self.y * self.y


class Slotted:
    """Instances without a dict."""

    __slots__ = ("a", "b")


class Sub(dict):
    """A dict subclass whose methods must not be asked."""

    def __getitem__(self, key):
        raise AssertionError("user code ran")

    __len__ = __contains__ = __iter__ = keys = __getitem__


@own_globals
def outer(n):
    """A function with a closure and defaults."""

    def inner(a, b=2, *, c=3):
        return n, a, b, c

    return inner


@own_globals
def graph_two(*values):
    """A graph of two results."""
    return values[0], len(values)


@own_globals
def graph_list(*values):
    """A graph whose result is a list."""
    return [*values, None][:1]


@own_globals
def graph_fails(*values):
    """A graph that raises."""
    raise ValueError("graph")


@own_globals
def describe(*args, **kwargs):
    """A callable for CALL."""
    return len(args), tuple(kwargs)


@own_globals
def truthy(*values):
    """A predicate."""
    return len(values) % 2


@own_globals
def predicate_fails(*values):
    """A predicate that raises."""
    raise KeyError


NAN = float("nan")
CLASSES = [Point, Slotted, Sub, int, str, dict, list, tuple, float, bool, type, types.FunctionType, OrderedDict, Exception]
FUNCTIONS = [describe, graph_two, graph_list, graph_fails, truthy, predicate_fails, outer]
PLAIN = [0, 1, 2, -1, 2**40, 2**100, True, False, None, ..., 0.0, -0.0, 1.0, NAN, 1j, -0.0 + 1j, "", "x", "y", "z", "origin", "norm", "key",
         b"", b"x", (), (1, 2), (1.0, 2), (1, True), frozenset({1, 2}), frozenset({1.0, 2}), ("x", "y"), ("c",)]  # fmt: skip
MEMBERS = [Slotted.a, Slotted.b]
CODES = [outer.__code__, outer(1).__code__, Point.norm.__code__]
POOL = [*PLAIN, *CLASSES, *FUNCTIONS, *MEMBERS, *CODES, _C.MISSING, Point.norm, Point.origin]
UNCHANGED = [*SHARED.values(), vars(builtins), *(function.__annotations__ for function in (*FUNCTIONS, Point.norm))]
NAMES = ["x", "y", "z", "a", "b", "origin", "norm"]
POOL += [name for name in NAMES if name not in POOL]


def make_slots():
    """Fresh objects, the same ones every time."""
    point, slotted, sub, ordered = Point(1, 2.0), Slotted(), Sub(), OrderedDict(x=1, y=2, z=3)
    slotted.a = point
    dict.__setitem__(sub, "x", point)
    ordered.move_to_end("x")
    shared = [1, "x", point]
    return [
        point, Point(point, None), slotted, sub, ordered, {"x": 1, "y": shared, 1: 2.0}, {}, shared, [], (1, point, NAN), {1, "x"},
        set(), types.CellType(point), types.CellType(), outer(5), point.norm, shared.append, 3, -7, 2.5, NAN, "x", "text", b"x", True,
        None, Point, Exception("e"), _C.NULL, frozenset({1, 2}), 2j,
    ]  # fmt: skip


ROOTS = {**SHARED, "func": outer, "handled": None}
# Not in random programs: what needs torch, what needs a frame, what only the frame machinery does.
ELSEWHERE = {
    "LOAD_SIZE", "LOAD_STRIDE", "LOAD_OFFSET", "CHECK_TENSOR", "CHECK_TORCH_STATE", "CHECK_NO_OVERLAP", "LOAD_LOCALS", "LOAD_CALLER_SLOT",
    "LOAD_CALLER_FUNC", "LOAD_CALLER_EXTRA", "CHECK_CALLER", "CHECK_CALLER_EMPTY", "CHECK_CALLER_QUIET", "CHECK_SLOT_QUIET",
    "CHECK_QUIET", "CHECK_ITEM_QUIET",
    "BUILD_GENERATOR", "BUILD_TRACEBACK", "BUILD_FRAME", "ON_ERROR",
}  # fmt: skip
LOADS = [name for name in OPS if name.startswith("LOAD_") and name not in ELSEWHERE]
CHECKS = [name for name in OPS if name.startswith("CHECK_") and name not in ELSEWHERE]
COMPUTES = ["BINARY", "COMPARE", "UNARY", "NOT", "IS"]
BUILDS = [*(name for name in OPS if name.startswith("BUILD_") and name not in ELSEWHERE), "NEW", "CALL"]
EFFECTS = [*sorted(reference.EFFECTS), "DROP"]
NUMBERS = (bool, int, float, str)


class Author:
    """Writes one program, running it on the reference as it goes so that most instructions hold."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.rows = []
        self.machine = reference.Machine(Listing("", (), tuple(POOL), 40), make_slots(), ROOTS, [_C.NULL] * 40)
        self.set = []
        self.stamps = 0

    def const(self, wanted=None):
        """A constant of the pool, of a kind."""
        while True:
            value = self.random.choice(POOL if wanted is None else wanted)
            return next(k for k, other in enumerate(POOL) if other is value)

    def register(self):
        """A register that is set, the later the likelier."""
        n = len(self.set)
        return self.set[max(self.random.randrange(n), self.random.randrange(n))]

    def registers(self, most=4):
        """Some registers that are set."""
        return tuple(self.register() for _ in range(self.random.randrange(most + 1)))

    def destination(self):
        """Any register."""
        return self.random.randrange(40)

    def operand(self, op, position, kind):
        """An operand by its kind, made to fit the op."""
        r = self.random
        if kind == "d":
            return self.destination()
        if kind == "r":
            return self.register()
        if kind == "o":
            return r.choice([-1, self.register()])
        if kind == "*":
            return self.registers()
        if kind == "K":
            return ()
        if kind == "k":
            return self.const(WANTED.get(op))
        if op == "LOAD_SLOT" or op == "CHECK_SLOT_EMPTY":
            return r.randrange(len(self.machine.slots) + 1)
        if op in RANGES:
            return r.randrange(RANGES[op])
        return r.choice([0, 0, 1, 2, 3, -1])

    def candidate(self, op):
        """A row of this op."""
        operands = [self.operand(op, i, kind) for i, kind in enumerate(OPS[op].kinds)]
        if op == "BUILD_DICT":
            operands[1] = operands[1][: len(operands[1]) // 2 * 2]
        if op == "BUILD_FUNCTION":
            operands[1] = self.const([CODES[0]])
            operands[2] = (self.globals_register(), -1, -1, -1, -1, -1, -1)
        if op == "CHECK_TYPE_ATTRS":
            names = [self.const(NAMES) for _ in range(self.random.randrange(3))]
            operands[2] = tuple(k for name in names for k in (name, self.const([_C.MISSING, Point.norm, Point.origin, Slotted.a])))
            if self.random.random() < 0.5:
                operands[2] += (self.const([Point, Slotted, dict]), self.const([True, False, 0, 1, 2]))
            operands[1] = self.stamps
            self.stamps += 1
        if op in ("CALL", "CALL_EFFECT") and self.random.random() < 0.3 and operands[-2]:
            operands[-1] = (self.const([("c",)]),)
        return Instruction(op, tuple(operands))

    def globals_register(self):
        """A register that holds a dict for globals."""
        return next((r for r in self.set if type(self.machine.regs[r]) is dict), self.set[0])

    def tolerable(self, row):
        """Whether the row keeps to what its op is for: computes on plain values, no cycles, no new strings without end."""
        values = [self.machine.regs[r] for kind, r in zip(OPS[row.op].kinds, row.operands) if kind == "r"]
        if row.op == "BINARY" and (row.operands[1] % 13 in (3, 5, 8) or row.operands[1] == 26):
            return all(type(v) in (bool, float) for v in values)
        if row.op in COMPUTES and row.op != "IS":
            return all(type(v) in NUMBERS for v in values)
        if row.op == "BUILD_FUNCTION":
            return type(self.machine.regs[row.operands[2][0]]) is dict
        if row.op in EFFECTS and values and any(values[0] is shared for shared in UNCHANGED):
            return False
        if row.op in ("CALL", "CALL_EFFECT"):
            return values[0] in FUNCTIONS or values[0] is Point
        if row.op == "NEW":
            return isinstance(values[0], type) and values[0] in (Point, Slotted, Sub, dict, list, Exception)
        if row.op == "BUILD_METHOD":
            return callable(values[0])
        if row.op in ("STORE_ATTR", "DEL_ATTR"):
            return isinstance(values[0], (Point, Slotted))
        if row.op in ("LOAD_INSTANCE_DICT", "STORE_INSTANCE_DICT"):
            return not any(values[0] is shared for shared in POOL)
        return True

    def holds(self, row):
        """Run the row on the reference; False when it does not hold or raises."""
        try:
            value = reference.HANDLERS[row.op](self.machine, *row.operands)
        except (reference.Miss, Exception):
            return False
        if row.op in reference.SETTERS:
            self.put(row.operands[0], value)
        return True

    def put(self, register, value):
        """Set a register."""
        self.machine.regs[register] = value
        if register in self.set:
            self.set.remove(register)
        self.set.append(register)

    def add(self, op):
        """Append a row of this op; mostly one that holds. False once a row does not."""
        for _ in range(8):
            row = self.candidate(op)
            if not self.tolerable(row):
                continue
            if row.op == "DROP" and len(self.set) - len(set(row.operands[0])) < 2:
                continue
            if self.holds(row):
                self.rows.append(row)
                if row.op == "DROP":
                    self.set = [r for r in self.set if r not in row.operands[0]]
                return True
            if self.random.random() < 0.005:
                self.rows.append(row)
                for r in [row.operands[0]] if row.op in reference.SETTERS else []:
                    self.put(r, 0)
                return False
        return True

    def group(self):
        """A dict's look-ups behind its version."""
        holders = [r for r in self.set if isinstance(self.machine.regs[r], dict)]
        if not holders:
            return True
        holder = self.random.choice(holders)
        container = self.machine.regs[holder]
        keys = [key for key in dict.keys(container) if key in NAMES]
        loaded = {}
        start, stamp = len(self.rows), self.stamps
        self.stamps += 1
        self.rows.append(None)
        for key in keys[: self.random.randrange(3)]:
            d = self.destination()
            if d != holder and d not in loaded:
                loaded[d] = dict.__getitem__(container, key)
                self.rows.append(Instruction("LOAD_DICT_ITEM", (d, holder, self.const([key]))))
        self.rows.append(Instruction("CHECK_LEN", (holder, dict.__len__(container))))
        self.rows.append(Instruction("DICT_STAMP", (holder, stamp, tuple(loaded))))
        self.rows[start] = Instruction("DICT_GROUP", (holder, stamp, len(self.rows), tuple(loaded)))
        for d, value in loaded.items():
            self.put(d, value)
        return True

    def graph(self):
        """A graph call, mostly replayable."""
        outputs = self.random.choice([(self.destination(), -1), (0, 1)])
        k = self.const([graph_two] * 8 + [graph_list, graph_fails])
        flags, inputs = self.random.choice([1, 1, 1, 0]), (self.register(), *self.registers())
        row = Instruction("CALL_GRAPH", (k, flags, inputs, outputs))
        self.rows.append(row)
        held = self.holds(row)
        for d in outputs:
            if d >= 0:
                self.put(d, self.machine.regs[d])
        return held

    def write(self):
        """The program."""
        r = self.random
        for _ in range(4):
            self.holds(row := Instruction("LOAD_SLOT", (self.destination(), r.randrange(28))))
            self.rows.append(row)
        go_on = True
        for _ in range(r.randrange(20)):
            kinds = [LOADS, LOADS, CHECKS, COMPUTES]
            go_on = go_on and (self.group() if r.random() < 0.15 else self.add(r.choice(r.choice(kinds))))
        if r.random() < 0.7:
            go_on = go_on and self.graph()
        for _ in range(r.randrange(8)):
            go_on = go_on and self.add(r.choice(r.choice([BUILDS, COMPUTES])))
        for _ in range(r.randrange(8)):
            go_on = go_on and self.add(r.choice(EFFECTS))
        self.rows.append(Instruction("SLOTS", ((*self.set[-6:], -1, KEEP),)))
        self.rows.append(Instruction("RETURN", (self.set[-1],)))
        return Listing("fuzz", tuple(self.rows), tuple(POOL), 40)


WANTED = {
    "LOAD_MEMBER": MEMBERS, "LOAD_ATTR": NAMES, "STORE_ATTR": NAMES, "DEL_ATTR": NAMES, "STORE_INSTANCE_DICT": NAMES,
    "CHECK_TYPE": CLASSES, "CHECK_FUNC_CODE": CODES, "CHECK_DICT_KEYS": [(), ("x", "y"), (1, 2)], "CHECK_PY": [truthy, predicate_fails],
    "CHECK_TYPE_ATTRS": [Point, Slotted, Sub], "LOAD_DICT_ITEM": NAMES, "BUILD_FUNCTION": CODES,
}  # fmt: skip
RANGES = {"BINARY": 27, "COMPARE": 6, "UNARY": 3, "LOAD_FUNC_FIELD": 7, "LOAD_CLOSURE": 2}


def shallow(value):
    """An item of a set, which has no order to number what it refers to."""
    if isinstance(value, tuple):
        return f"({', '.join(map(shallow, value))})"
    plain = isinstance(value, (bool, int, float, complex, str, bytes))
    return repr(value) if plain else type(value).__name__


class Snapshot:
    """Objects as plain data: equal for two worlds in the same state, aliasing included."""

    def __init__(self):
        self.seen = {}
        self.keep = []

    def of(self, value):
        """One object."""
        known = next((k for k, other in enumerate(POOL) if other is value), None)
        if known is not None or value is _C.NULL:
            return "pool", known
        if isinstance(value, (bool, int, float, complex, str, bytes)):
            return type(value).__name__, repr(value)
        if id(value) in self.seen:
            return "seen", self.seen[id(value)]
        self.seen[id(value)] = len(self.seen)
        self.keep.append(value)
        return type(value).__name__, self.parts(value)

    def parts(self, value):
        """What an object is made of."""
        if isinstance(value, OrderedDict):
            return [(self.of(k), self.of(OrderedDict.__getitem__(value, k))) for k in OrderedDict.keys(value)]
        if isinstance(value, dict):
            return [(self.of(k), self.of(dict.__getitem__(value, k))) for k in dict.keys(value)]
        if isinstance(value, (list, tuple)):
            return [self.of(item) for item in value]
        if isinstance(value, (set, frozenset)):
            return sorted(map(shallow, value))
        if isinstance(value, types.CellType):
            return self.of(value.cell_contents) if reference._full(value) else None
        if isinstance(value, types.FunctionType):
            fields = (value.__code__, value.__globals__, value.__defaults__, value.__kwdefaults__, value.__closure__, value.__qualname__)
            return [self.of(field) for field in fields]
        if isinstance(value, types.MethodType):
            return self.of(value.__func__), self.of(value.__self__)
        if isinstance(value, slice):
            return [self.of(v) for v in (value.start, value.stop, value.step)]
        if isinstance(value, Slotted):
            return [self.of(getattr(value, name, None)) for name in Slotted.__slots__]
        if isinstance(value, (Point, Exception)):
            return self.of(value.__dict__)
        return None


def outcome(run, program, slots):
    """What a run did, as plain data: its result and the registers that the exit reads."""
    try:
        result = run(program, slots, **ROOTS)
    except Exception as error:
        return ("raises", type(error).__name__), []
    if result[0] != "exit":
        return result, []
    registers = program.instructions[result[1]][1]
    return result[:2], [result[2][r] for r in (registers if isinstance(registers, tuple) else (registers,)) if r >= 0]


def compare(seed):
    """Run a program twice on a world of each machine, the second time on what the first left; returns what was seen."""
    listing = Author(seed).write()
    program = listing.pack()
    mine, theirs = make_slots(), make_slots()
    outcomes = []
    for _ in range(2):
        expected, values = outcome(reference.run, program, mine)
        found, got = outcome(_C.run, program, theirs)
        assert found == expected, f"seed {seed}: {found} instead of {expected}\n{listing}"
        left, right = Snapshot().of([*mine, values]), Snapshot().of([*theirs, got])
        assert left == right, f"seed {seed}: worlds differ\n{listing}"
        outcomes.append(found)
    return outcomes, listing
