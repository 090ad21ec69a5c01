"""Where a real value is found: a root in the running frame and the steps that lead from it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
from typing import Any, NamedTuple

from framejit import _C


class Step(NamedTuple):
    """One kind of step: how Python reads it, how it is printed, and the machine op that performs it."""

    name: str
    read: Callable[[Any, Any], Any]
    text: Callable[[str, Any], str]
    op: str
    binary: bool = False


STEPS: dict[str, Step] = {}


def step(name: str, read: Callable[[Any, Any], Any], text: Callable[[str, Any], str], op: str, binary: bool = False) -> str:
    """Register a kind of step and return its name."""
    if name in STEPS:
        raise ValueError(f"duplicate step {name}")
    STEPS[name] = Step(name, read, text, op, binary)
    return name


def _root(_obj: Any, _arg: Any) -> Any:
    raise TypeError("a root has no parent to be read from")


FUNC_FIELDS = ("__code__", "__globals__", "__defaults__", "__kwdefaults__", "__closure__", "__annotations__")
BINARY_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "/": operator.truediv, "**": operator.pow, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift, "[]": operator.getitem,
}  # fmt: skip
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
UNARY_OPERATORS: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert, "not": operator.not_}

# Roots. SLOT: (index, name) in the frame's flat array; CONST: an object known by identity. CALLER_*: of the frame that
# waits (depth, ...) calls above for the one the region starts in.
SLOT = step("SLOT", _root, lambda _p, a: f"L.{a[1]}" if a[1] else f"S[{a[0]}]", "LOAD_SLOT")
NAMED = (FunctionType, BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType, GetSetDescriptorType, MemberDescriptorType)
NAME_OF: Callable[[type], str] = vars(type)["__name__"].__get__


def _name(obj: Any) -> str:
    """What a constant is called, without running code of its class."""
    kind = type(obj)
    name: str = obj.__name__ if kind in NAMED else NAME_OF(obj if issubclass(kind, type) else kind)
    return name


CONST = step("CONST", _root, lambda _p, a: f"<{_name(a)}>", "LOAD_CONST")
FUNC = step("FUNC", _root, lambda _p, _a: "FUNC", "LOAD_FUNC")
GLOBALS = step("GLOBALS", _root, lambda _p, _a: "G", "LOAD_GLOBALS")
BUILTINS = step("BUILTINS", _root, lambda _p, _a: "B", "LOAD_BUILTINS")
CALLER_SLOT = step("CALLER_SLOT", _root, lambda _p, a: f"C{a[0]}.{a[2]}" if a[2] else f"C{a[0]}[{a[1]}]", "LOAD_CALLER_SLOT")
CALLER_FUNC = step("CALLER_FUNC", _root, lambda _p, a: f"C{a[0]}.FUNC", "LOAD_CALLER_FUNC")
CALLER_EXTRA = step("CALLER_EXTRA", _root, lambda _p, a: f"C{a[0]}.EXTRA", "LOAD_CALLER_EXTRA")
FRAME_SLOTS = (SLOT, CALLER_SLOT)
HANDLED = step("HANDLED", _root, lambda _p, _a: "HANDLED", "LOAD_HANDLED")

# Steps.
DICT = step("DICT", lambda o, _a: _dict_of(o), lambda p, _a: f"{p}.__dict__", "LOAD_INSTANCE_DICT")
DICT_ITEM = step("DICT_ITEM", lambda o, a: dict.__getitem__(o, a), lambda p, a: _item_text(p, a), "LOAD_DICT_ITEM")
DICT_KEY = step("DICT_KEY", lambda o, a: list(dict.keys(o))[a], lambda p, a: f"key{a}({p})", "LOAD_DICT_KEY")
DICT_VALUE = step("DICT_VALUE", lambda o, a: list(dict.values(o))[a], lambda p, a: f"value{a}({p})", "LOAD_DICT_VALUE")
ITEM = step("ITEM", lambda o, a: (list if isinstance(o, list) else tuple).__getitem__(o, a), lambda p, a: f"{p}[{a}]", "LOAD_ITEM")
MEMBER = step("MEMBER", lambda o, a: a.__get__(o, type(o)), lambda p, a: f"{p}.{a.__name__}", "LOAD_MEMBER")
ATTR = step("ATTR", getattr, lambda p, a: f"{p}.{a}", "LOAD_ATTR")
TYPE = step("TYPE", lambda o, _a: type(o), lambda p, _a: f"type({p})", "LOAD_TYPE")
CELL = step("CELL", lambda o, _a: o.cell_contents, lambda p, _a: f"{p}.cell_contents", "LOAD_CELL")
CLOSURE = step("CLOSURE", lambda o, a: o.__closure__[a], lambda p, a: f"{p}.__closure__[{a}]", "LOAD_CLOSURE")
FUNC_FIELD = step("FUNC_FIELD", lambda o, a: getattr(o, FUNC_FIELDS[a]), lambda p, a: f"{p}.{FUNC_FIELDS[a]}", "LOAD_FUNC_FIELD")
REFERENT = step("REFERENT", lambda o, _a: o(), lambda p, _a: f"{p}()", "LOAD_REFERENT")
METHOD_SELF = step("METHOD_SELF", lambda o, _a: o.__self__, lambda p, _a: f"{p}.__self__", "LOAD_SELF")
METHOD_FUNC = step("METHOD_FUNC", lambda o, _a: o.__func__, lambda p, _a: f"{p}.__func__", "LOAD_METHOD_FUNC")
LEN = step("LEN", lambda o, _a: len(o), lambda p, _a: f"len({p})", "LOAD_LEN")

# Computed values: pure arithmetic on exact ints, floats, bools and strings; the argument is (operator, other path).
BINARY = step("BINARY", lambda o, a: BINARY_OPERATORS[a[0]](o, a[1]), lambda p, a: f"({p} {a[0]} {a[1]})", "BINARY", True)
COMPARE = step("COMPARE", lambda o, a: COMPARISONS[a[0]](o, a[1]), lambda p, a: f"({p} {a[0]} {a[1]})", "COMPARE", True)
UNARY = step("UNARY", lambda o, a: UNARY_OPERATORS[a](o), lambda p, a: f"({a} {p})", "UNARY")
# What a function makes of the value and some constants or values at other paths: it changes nothing that anybody else sees. The argument
# is a Called.
CALLED = step("CALLED", lambda o, a: a.function(o, *a.args), lambda _p, a: a.text, "CALL")


class Called(NamedTuple):
    """The function of a CALLED step, constants and paths behind its first argument, what stands for it in texts, whether by chance."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    text: str
    drawn: bool = False


def _dict_of(value: Any) -> Any:
    return vars(value) if isinstance(value, type) else _C.instance_dict(value)


def _item_text(parent: str, key: Any) -> str:
    if parent.endswith(".__dict__") and isinstance(key, str):
        return f"{parent[:-9]}.{key}"
    if parent in ("G", "B"):
        return f"{parent}.{key}"
    return f"{parent}[{key!r}]"


class Path:
    """A root or a step from a parent path; interned under its parent, so equal paths are the same object."""

    __slots__ = ("parent", "kind", "arg", "children", "text", "__weakref__")

    def __init__(self, parent: Path | None, kind: str, arg: Any):
        self.parent, self.kind, self.arg = parent, kind, arg
        self.children: dict[Any, Path] = {}
        self.text = ""

    def to(self, kind: str, arg: Any = None) -> Path:
        """The path one step further."""
        key: tuple[Any, ...] = (kind, type(arg), arg)
        if kind == MEMBER:
            key = (kind, id(arg))
        elif kind in (BINARY, COMPARE):
            key = (kind, id(arg[1]), arg[0])
        found = self.children.get(key)
        if found is None:
            found = self.children[key] = Path(self, kind, arg)
        return found

    def attribute(self, name: str) -> Path:
        """The entry `name` of the instance dict."""
        return self.to(DICT).to(DICT_ITEM, name)

    def read(self, roots: Callable[[str, Any], Any]) -> Any:
        """The value found here now, given a reader of roots: the specification of the machine's loads."""
        if self.parent is None:
            return self.arg if self.kind == CONST else roots(self.kind, self.arg)
        arg = self.arg
        if STEPS[self.kind].binary:
            arg = (arg[0], arg[1].read(roots))
        elif self.kind == CALLED:
            arg = arg._replace(args=tuple(one.read(roots) if isinstance(one, Path) else one for one in arg.args))
        return STEPS[self.kind].read(self.parent.read(roots), arg)

    def __str__(self) -> str:
        if not self.text:
            plain = self.parent is None or self.kind == CALLED
            self.text = STEPS[self.kind].text("" if plain else str(self.parent), self.arg)
        return self.text

    def is_drawn(self) -> bool:
        """Whether a random number takes part in the value, which the next run need not see again."""
        path: Path | None = self
        while path is not None:
            if path.kind == CALLED and (path.arg.drawn or any(isinstance(one, Path) and one.is_drawn() for one in path.arg.args)):
                return True
            if STEPS[path.kind].binary and path.arg[1].is_drawn():
                return True
            path = path.parent
        return False

    __repr__ = __str__


class Roots:
    """The interned roots of one capture."""

    __slots__ = ("table", "consts", "dicts")

    def __init__(self) -> None:
        self.table: dict[Any, Path] = {}
        self.consts: dict[int, Path] = {}
        self.dicts: dict[int, Path] = {}

    def root(self, kind: str, arg: Any = None) -> Path:
        """The root of this kind."""
        key = (kind, arg)
        found = self.table.get(key)
        if found is None:
            found = self.table[key] = Path(None, kind, arg)
        return found

    def const(self, obj: Any) -> Path:
        """The root that is the object itself."""
        found = self.consts.get(id(obj))
        if found is None:
            found = self.consts[id(obj)] = Path(None, CONST, obj)
        return found

    def close(self) -> None:
        """Let go of all paths: those that are still needed know their parents, but not what leads on from them."""
        waiting = [*self.table.values(), *self.consts.values()]
        while waiting:
            children = waiting.pop().children
            waiting += children.values()
            children.clear()

    def globals_of(self, function: FunctionType, path: Path) -> Path:
        """The path of a function's globals; one path for all functions that share the dict."""
        found = self.dicts.get(id(function.__globals__))
        if found is None:
            found = self.dicts[id(function.__globals__)] = path.to(FUNC_FIELD, 1)
        return found
