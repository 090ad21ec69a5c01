"""The machine in Python: the meaning of every op up to an exit, against which the C++ machine is tested."""

from __future__ import annotations

import gc
import operator
import struct
import types
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from framejit import _C
from framejit.core.guard import class_fact
from framejit.core.path import FUNC_FIELDS
from framejit.core.program import EFFECTS, EXITS, OPS, REPLAY, Listing, unpack

SETTERS = frozenset(name for name, row in OPS.items() if row.kinds.startswith("d"))
HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE


class Miss(Exception):
    """A load or check that does not hold."""


@dataclass(slots=True)
class Machine:
    """One run; ops find their operands' values here."""

    listing: Listing
    slots: Sequence[Any]
    roots: dict[str, Any]
    regs: list[Any] = field(default_factory=list)

    def const(self, k: int) -> Any:
        """A constant."""
        return self.listing.consts[k]

    def reads(self, registers: Sequence[int]) -> list[Any]:
        """The values of some registers."""
        return [self.regs[r] for r in registers]

    def optional(self, register: int) -> Any:
        """A register's value, NULL for an empty one."""
        return _C.NULL if register < 0 else self.regs[register]

    def root(self, name: str) -> Any:
        """What the frame has under a name, else a miss."""
        return need(self.roots.get(name) is not None, self.roots.get(name))


Run = Callable[..., Any]
HANDLERS: dict[str, Run] = {}


def op(name: str) -> Callable[[Run], Run]:
    """Register what an op does; it returns the value of its destination."""

    def register(run: Run) -> Run:
        if name in HANDLERS:
            raise ValueError(f"duplicate op {name}")
        HANDLERS[name] = run
        return run

    return register


def need(holds: bool, value: Any = None) -> Any:
    """The value, or a miss."""
    if not holds:
        raise Miss
    return value


def effect(happens: bool, wanted: str, value: Any) -> None:
    """A TypeError for an effect on something else than its op is for."""
    if not happens:
        raise TypeError(f"not a {wanted}: '{type(value).__name__}'")


def exactly_equal(a: Any, b: Any) -> bool:
    """By exact type and bits, recursively; values of other than plain types equal only themselves."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is float:
        return struct.pack("d", a) == struct.pack("d", b)
    if kind is complex:
        return exactly_equal(a.real, b.real) and exactly_equal(a.imag, b.imag)
    if kind is tuple:
        return len(a) == len(b) and all(map(exactly_equal, a, b))
    if kind is frozenset:
        return len(a) == len(b) and all(_count(a, item) == _count(b, item) for item in a)
    return kind in (int, str, bytes) and bool(a == b)


def _count(items: frozenset[Any], item: Any) -> int:
    return sum(exactly_equal(other, item) for other in items)


# ---- Loads ----------------------------------------------------------------------------------------------------------


@op("LOAD_SLOT")
def _(m: Machine, d: int, slot: int) -> Any:
    need(slot < len(m.slots) and m.slots[slot] is not _C.NULL)
    return m.slots[slot]


@op("LOAD_CONST")
def _(m: Machine, d: int, k: int) -> Any:
    return m.const(k)


def _load_root(name: str) -> Run:
    return lambda m, d: m.root(name)


for _op, _name in (("GLOBALS", "globals"), ("BUILTINS", "builtins"), ("LOCALS", "locals"), ("FUNC", "func")):
    op(f"LOAD_{_op}")(_load_root(_name))


@op("LOAD_HANDLED")
def _(m: Machine, d: int) -> Any:
    return m.roots.get("handled")


def _no_caller(m: Machine, *operands: Any) -> NoReturn:
    raise Miss  # the reference runs one frame


for _op in ("LOAD_CALLER_SLOT", "LOAD_CALLER_FUNC", "LOAD_CALLER_EXTRA", "CHECK_CALLER", "CHECK_CALLER_EMPTY", "CHECK_CALLER_QUIET"):
    op(_op)(_no_caller)


@op("LOAD_CELL")
def _(m: Machine, d: int, r: int) -> Any:
    cell = m.regs[r]
    need(isinstance(cell, types.CellType) and _full(cell))
    return cell.cell_contents


def _full(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


@op("LOAD_TYPE")
def _(m: Machine, d: int, r: int) -> Any:
    return type(m.regs[r])


def instance_dict(value: Any) -> dict[str, Any]:
    """The raw dict of an instance, or of a class written in Python."""
    if isinstance(value, type):
        return need(bool(value.__flags__ & HEAP_TYPE)) or gc.get_referents(vars(value))[0]
    try:
        found = _C.instance_dict(value)
    except AttributeError:
        raise Miss from None
    return need(type(found) is dict, found)


@op("LOAD_INSTANCE_DICT")
def _(m: Machine, d: int, r: int) -> Any:
    return instance_dict(m.regs[r])


@op("LOAD_DICT_ITEM")
def _(m: Machine, d: int, r: int, k: int) -> Any:
    container = m.regs[r]
    need(isinstance(container, dict) and dict.__contains__(container, m.const(k)))
    return dict.__getitem__(container, m.const(k))


def keys(container: Any) -> list[Any]:
    """The keys of a dict in its own order."""
    return list(OrderedDict.keys(container) if isinstance(container, OrderedDict) else dict.keys(container))


@op("LOAD_DICT_KEY")
def _(m: Machine, d: int, r: int, i: int) -> Any:
    need(isinstance(m.regs[r], dict) and 0 <= i < len(keys(m.regs[r])))
    return keys(m.regs[r])[i]


@op("LOAD_DICT_VALUE")
def _(m: Machine, d: int, r: int, i: int) -> Any:
    need(isinstance(m.regs[r], dict) and 0 <= i < dict.__len__(m.regs[r]))
    return list(dict.values(m.regs[r]))[i]


@op("LOAD_ITEM")
def _(m: Machine, d: int, r: int, i: int) -> Any:
    container = m.regs[r]
    kind: Any = list if isinstance(container, list) else tuple
    need(isinstance(container, kind) and -kind.__len__(container) <= i < kind.__len__(container))
    return kind.__getitem__(container, i)


@op("LOAD_MEMBER")
def _(m: Machine, d: int, r: int, k: int) -> Any:
    need(isinstance(m.regs[r], m.const(k).__objclass__))
    try:
        return m.const(k).__get__(m.regs[r])
    except AttributeError:
        raise Miss from None


@op("LOAD_ATTR")
def _(m: Machine, d: int, r: int, k: int) -> Any:
    try:
        return getattr(m.regs[r], m.const(k))
    except AttributeError:
        raise Miss from None


@op("LOAD_CLOSURE")
def _(m: Machine, d: int, r: int, i: int) -> Any:
    function = m.regs[r]
    need(isinstance(function, types.FunctionType) and 0 <= i < len(function.__closure__ or ()))
    return function.__closure__[i]


@op("LOAD_FUNC_FIELD")
def _(m: Machine, d: int, r: int, i: int) -> Any:
    need(isinstance(m.regs[r], types.FunctionType) and 0 <= i < len(FUNC_FIELDS))
    return getattr(m.regs[r], FUNC_FIELDS[i])


@op("LOAD_REFERENT")
def _(m: Machine, d: int, r: int) -> Any:
    return need(isinstance(m.regs[r], weakref.ref), m.regs[r]())


@op("LOAD_SELF")
def _(m: Machine, d: int, r: int) -> Any:
    method = m.regs[r]
    need(isinstance(method, (types.MethodType, types.BuiltinFunctionType)))
    return need(method.__self__ is not None, method.__self__)


@op("LOAD_METHOD_FUNC")
def _(m: Machine, d: int, r: int) -> Any:
    return need(isinstance(m.regs[r], types.MethodType), getattr(m.regs[r], "__func__", None))


def raw_length(value: Any) -> int:
    """Length of a builtin container, subclasses included, by its own storage."""
    kinds: tuple[Any, ...] = (list, tuple, dict, set, frozenset, str, bytes)
    kind = next((kind for kind in kinds if isinstance(value, kind)), None)
    return need(kind is not None) or kind.__len__(value)  # type: ignore[union-attr]


@op("LOAD_LEN")
def _(m: Machine, d: int, r: int) -> Any:
    return raw_length(m.regs[r])


def _tensor_number(read: Callable[[Any, int], int]) -> Run:
    def run(m: Machine, d: int, r: int, i: int = 0) -> Any:
        need(hasattr(m.regs[r], "storage_offset") and 0 <= i <= m.regs[r].dim())
        try:
            return read(m.regs[r], i)
        except IndexError:
            raise Miss from None

    return run


op("LOAD_SIZE")(_tensor_number(lambda tensor, i: tensor.shape[i]))
op("LOAD_STRIDE")(_tensor_number(lambda tensor, i: tensor.stride()[i]))
op("LOAD_OFFSET")(_tensor_number(lambda tensor, i: tensor.storage_offset()))


@op("LOAD_MRO")
def _(m: Machine, d: int, r: int) -> Any:
    return need(isinstance(m.regs[r], type), getattr(m.regs[r], "__mro__", None))


# ---- Checks ---------------------------------------------------------------------------------------------------------


@op("CHECK_SLOT_EMPTY")
def _(m: Machine, slot: int) -> None:
    need(slot >= len(m.slots) or m.slots[slot] is _C.NULL)


@op("CHECK_SLOT_QUIET")
def _(m: Machine, slot: int, ask: Any) -> None:
    need(slot >= len(m.slots) or m.slots[slot] is _C.NULL or ask(m.slots[slot]))


@op("CHECK_QUIET")
def _(m: Machine, value: int, ask: Any) -> None:
    need(ask(m.regs[value]))


@op("CHECK_ITEM_QUIET")
def _(m: Machine, holder: int, key: Any, ask: Any) -> None:
    need(ask(dict.get(m.regs[holder], key)))


@op("CHECK_CELL_EMPTY")
def _(m: Machine, r: int) -> None:
    need(isinstance(m.regs[r], types.CellType) and not _full(m.regs[r]))


def truth(value: Any) -> bool:
    """Truth of a value of a builtin type, else a miss."""
    plain = (type(None), bool, int, float, complex, list, tuple, dict, set, frozenset, str, bytes)
    return need(type(value) in plain) or bool(value)


def _check(name: str, holds: Callable[[Any, Any], bool], constant: bool = True) -> None:
    def run(m: Machine, r: int, operand: int) -> None:
        need(holds(m.regs[r], m.const(operand) if constant else operand))

    op(name)(run)


_check("CHECK_TYPE", lambda value, expected: type(value) is expected)
_check("CHECK_IS", lambda value, expected: value is expected)
_check("CHECK_IS_NOT", lambda value, expected: value is not expected)
_check("CHECK_EQ", exactly_equal)
_check("CHECK_LEN", lambda value, expected: raw_length(value) == expected, constant=False)
_check("CHECK_DICT_MISSING", lambda value, key: isinstance(value, dict) and not dict.__contains__(value, key))
_check("CHECK_DICT_KEYS", lambda value, expected: isinstance(value, dict) and exactly_equal(tuple(keys(value)), expected))
_check("CHECK_TRUTH", lambda value, expected: truth(value) is (expected != 0), constant=False)
_check("CHECK_FUNC_CODE", lambda value, code: isinstance(value, types.FunctionType) and value.__code__ is code)
_check("CHECK_TENSOR", lambda value, expected: expected.check(value))


@op("CHECK_SAME")
def _(m: Machine, a: int, b: int) -> None:
    need(m.regs[a] is m.regs[b])


@op("CHECK_NOT_SAME")
def _(m: Machine, a: int, b: int) -> None:
    need(m.regs[a] is not m.regs[b])


@op("CHECK_DISTINCT")
def _(m: Machine, first: int, registers: tuple[int, ...]) -> None:
    values = m.reads(registers)
    need(all(a is not b for i, a in enumerate(values[: max(first, 0)]) for b in values[i + 1 :]))


@op("CHECK_TYPE_ATTRS")
def _(m: Machine, k: int, stamp: int, pairs: tuple[int, ...]) -> None:
    for name, expected in zip(map(m.const, pairs[::2]), map(m.const, pairs[1::2])):
        need(class_fact(m.const(k), name, expected, _C.MISSING))


@op("CHECK_UNHANDLED")
def _(m: Machine) -> None:
    need(not _C.drivers_handle())


@op("CHECK_TORCH_STATE")
def _(m: Machine, k: int) -> None:
    need(m.const(k).check())


@op("CHECK_PY")
def _(m: Machine, k: int, registers: tuple[int, ...]) -> None:
    need(bool(m.const(k)(*m.reads(registers))))


@op("CHECK_NO_OVERLAP")
def _(m: Machine, first: int, registers: tuple[int, ...]) -> None:
    ranges = [_extent(tensor) for tensor in m.reads(registers)]
    need(all(a[1] <= b[0] or b[1] <= a[0] for i, a in enumerate(ranges[: max(first, 0)]) for b in ranges[i + 1 :]))


def _extent(tensor: Any) -> tuple[int, int]:
    need(hasattr(tensor, "storage_offset"))
    if tensor.numel() == 0:
        return 0, 0
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return tensor.data_ptr(), tensor.data_ptr() + (last + 1) * tensor.element_size()


@op("DICT_GROUP")
def _(m: Machine, r: int, stamp: int, target: int, registers: tuple[int, ...]) -> None:
    """Only a fast path: what it skips holds and gives the same."""


@op("DICT_STAMP")
def _(m: Machine, r: int, stamp: int, registers: tuple[int, ...]) -> None:
    """Only a fast path."""


# ---- Computes, the graph, builds --------------------------------------------------------------------------------------

BINARY = (
    operator.add, operator.and_, operator.floordiv, operator.lshift, operator.matmul, operator.mul, operator.mod,
    operator.or_, operator.pow, operator.rshift, operator.sub, operator.truediv, operator.xor,
)  # fmt: skip
COMPARE = (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge)
UNARY = (operator.neg, operator.pos, operator.invert)


@op("BINARY")
def _(m: Machine, d: int, i: int, a: int, b: int) -> Any:
    return (operator.getitem if i == 26 else BINARY[i % 13])(m.regs[a], m.regs[b])


@op("COMPARE")
def _(m: Machine, d: int, i: int, a: int, b: int) -> Any:
    return COMPARE[i](m.regs[a], m.regs[b])


@op("UNARY")
def _(m: Machine, d: int, i: int, r: int) -> Any:
    return UNARY[i](m.regs[r])


@op("NOT")
def _(m: Machine, d: int, r: int) -> Any:
    return not m.regs[r]


@op("IS")
def _(m: Machine, d: int, a: int, b: int) -> Any:
    return m.regs[a] is m.regs[b]


@op("CALL_GRAPH")
def _(m: Machine, k: int, flags: int, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> None:
    result = m.const(k)(*m.reads(inputs))
    if not isinstance(result, (tuple, list)):
        raise _C.GraphResultError(f"a compiled graph must return a tuple or list, not '{type(result).__name__}'")
    if len(result) != len(outputs):
        raise _C.GraphResultError(f"a compiled graph returned {len(result)} values, not {len(outputs)}")
    for d, value in zip(outputs, result):
        if d >= 0:
            m.regs[d] = value


@op("BUILD_TUPLE")
def _(m: Machine, d: int, items: tuple[int, ...]) -> Any:
    return tuple(m.reads(items))


@op("BUILD_LIST")
def _(m: Machine, d: int, items: tuple[int, ...]) -> Any:
    return m.reads(items)


@op("BUILD_SET")
def _(m: Machine, d: int, items: tuple[int, ...]) -> Any:
    return set(m.reads(items))


@op("BUILD_DICT")
def _(m: Machine, d: int, items: tuple[int, ...]) -> Any:
    return dict(zip(m.reads(items[::2]), m.reads(items[1::2])))


@op("BUILD_SLICE")
def _(m: Machine, d: int, a: int, b: int, c: int) -> Any:
    return slice(m.regs[a], m.regs[b], m.regs[c])


@op("BUILD_CELL")
def _(m: Machine, d: int, r: int) -> Any:
    return types.CellType() if r < 0 else types.CellType(m.regs[r])


@op("BUILD_METHOD")
def _(m: Machine, d: int, function: int, self: int) -> Any:
    if callable(m.regs[function]):
        return types.MethodType(m.regs[function], m.regs[self])
    return classmethod(m.regs[function]).__get__(None, m.regs[self])  # which binds what cannot be called too


@op("BUILD_FUNCTION")
def _(m: Machine, d: int, k: int, parts: tuple[int, ...]) -> Any:
    values = [m.optional(r) for r in parts]
    given: list[Any] = [None if value is _C.NULL else value for value in values]
    module_globals, name, qualname, defaults, kwdefaults, closure, annotations = given
    made = types.FunctionType(m.const(k), module_globals, name, defaults, closure)
    made.__qualname__ = qualname or m.const(k).co_qualname
    made.__kwdefaults__, made.__annotations__ = kwdefaults, annotations or {}
    return made


@op("NEW")
def _(m: Machine, d: int, r: int) -> Any:
    kind = m.regs[r]
    base = next(base for base in kind.__mro__ if not base.__flags__ & HEAP_TYPE)
    return base.__new__(kind)


def _call(m: Machine, callable_: Any, registers: tuple[int, ...], names: tuple[int, ...]) -> Any:
    args = m.reads(registers)
    keywords = m.const(names[0]) if names else ()
    positional = len(args) - len(keywords)
    return callable_(*args[:positional], **dict(zip(keywords, args[positional:])))


@op("CALL")
def _(m: Machine, d: int, r: int, registers: tuple[int, ...], names: tuple[int, ...]) -> Any:
    return _call(m, m.regs[r], registers, names)


# ---- Effects --------------------------------------------------------------------------------------------------------


@op("STORE_ATTR")
def _(m: Machine, r: int, k: int, value: int) -> None:
    (type if isinstance(m.regs[r], type) else object).__setattr__(m.regs[r], m.const(k), m.regs[value])


@op("DEL_ATTR")
def _(m: Machine, r: int, k: int) -> None:
    (type if isinstance(m.regs[r], type) else object).__delattr__(m.regs[r], m.const(k))


@op("STORE_INSTANCE_DICT")
def _(m: Machine, r: int, k: int, value: int) -> None:
    effect(not isinstance(m.regs[r], type), "object with a dict", m.regs[r])
    try:
        instance_dict(m.regs[r])[m.const(k)] = m.regs[value]
    except Miss:
        effect(False, "object with a dict", m.regs[r])


def _dict_of(value: Any) -> Any:
    effect(isinstance(value, dict), "dict", value)
    return OrderedDict if isinstance(value, OrderedDict) else dict


@op("DICT_SET")
def _(m: Machine, r: int, key: int, value: int) -> None:
    _dict_of(m.regs[r]).__setitem__(m.regs[r], m.regs[key], m.regs[value])


@op("DICT_DEL")
def _(m: Machine, r: int, key: int) -> None:
    _dict_of(m.regs[r]).__delitem__(m.regs[r], m.regs[key])


@op("DICT_CLEAR")
def _(m: Machine, r: int) -> None:
    _dict_of(m.regs[r]).clear(m.regs[r])


@op("LIST_ASSIGN")
def _(m: Machine, r: int, items: tuple[int, ...]) -> None:
    effect(isinstance(m.regs[r], list), "list", m.regs[r])
    list.__setitem__(m.regs[r], slice(None), m.reads(items))


@op("LIST_APPEND")
def _(m: Machine, r: int, value: int) -> None:
    effect(isinstance(m.regs[r], list), "list", m.regs[r])
    list.append(m.regs[r], m.regs[value])


@op("SET_ADD")
def _(m: Machine, r: int, value: int) -> None:
    effect(isinstance(m.regs[r], set), "set", m.regs[r])
    set.add(m.regs[r], m.regs[value])


@op("SET_CLEAR")
def _(m: Machine, r: int) -> None:
    effect(isinstance(m.regs[r], set), "set", m.regs[r])
    set.clear(m.regs[r])


@op("STORE_CELL")
def _(m: Machine, r: int, value: int) -> None:
    cell = m.regs[r]
    effect(isinstance(cell, types.CellType), "cell", cell)
    if value >= 0:
        cell.cell_contents = m.regs[value]
    elif _full(cell):
        del cell.cell_contents


@op("CALL_EFFECT")
def _(m: Machine, r: int, registers: tuple[int, ...], names: tuple[int, ...]) -> None:
    _call(m, m.regs[r], registers, names)


@op("DROP")
def _(m: Machine, registers: tuple[int, ...]) -> None:
    for r in registers:
        m.regs[r] = _C.NULL


@op("ON_ERROR")
def _(m: Machine, target: int) -> None:
    """Says where the hook goes on; the outcome of a run is the exception itself."""


@op("BUILD_GENERATOR")
def _(m: Machine, *operands: Any) -> NoReturn:
    raise NotImplementedError("a suspended generator is made by the frame machinery")


@op("BUILD_FRAME")
@op("BUILD_TRACEBACK")
def _(m: Machine, *operands: Any) -> NoReturn:
    raise NotImplementedError("the reference has no frame to show")


# ---- Runs -----------------------------------------------------------------------------------------------------------


def run(program: _C.Program, slots: Sequence[Any], **roots: Any) -> tuple[Any, ...]:
    """What `_C.run` returns: ('exit', index, registers), ('miss', index), ('replay',), or an exception."""
    listing = unpack(program)
    m = Machine(listing, slots, roots, [_C.NULL] * listing.nregs)
    replayable, committed = False, False
    for index, row in enumerate(listing.instructions):
        if row.op in EXITS:
            return "exit", index, m.regs
        if row.op == "CALL_GRAPH":
            replayable = not committed and bool(row.operands[1] & REPLAY)
            committed = not replayable
        committed = committed or row.op in EFFECTS
        try:
            value = HANDLERS[row.op](m, *row.operands)
        except Miss:
            if committed:
                raise RuntimeError(f"framejit: {row.op} failed after the effects of a region") from None
            return ("replay",) if replayable else ("miss", index)
        except Exception:
            if committed:
                raise
            return ("replay",) if replayable else ("miss", index)
        if row.op in SETTERS:
            m.regs[row.operands[0]] = value
    raise AssertionError("a program ends in an exit")
