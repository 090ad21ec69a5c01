"""Runs a function in the symbolic interpreter alone and makes its result and effects real in plain Python."""

from __future__ import annotations

import builtins
import copy
import types
from collections import OrderedDict, defaultdict, deque
from typing import Any

from framejit.core.guard import PREDICATES
from framejit.core.heap import MISSING, Heap
from framejit.core.state import ExitKind
from framejit.core.value import Const, Lazy, Node, Number, Pack, Ref, Value
from framejit.interp import ops, ops_calls  # noqa: F401 - the handlers of instructions
from framejit.interp.machine import Interpreter, Start
from framejit import capture as everything  # noqa: F401 - all models and rules
from framejit.objects import dict_view
from framejit.objects.constants import TUPLE
from framejit.objects.fold import VALUE
from framejit.objects.rebuild import REBUILDERS, rebuild
from framejit.rules import builtins_, slots, stdlib  # noqa: F401 - the tables of callables

EMPTY = object()
DICT_FIELD = ("dict",)


class Broken(AssertionError):
    """The capture ended before the function returned."""


class Realizer:
    """Values to objects; paths are read from the real frame before any effect is written."""

    def __init__(self, interp: Interpreter, slots: list[Any], func: Any):
        self.interp, self.slots, self.func, self.heap = interp, slots, func, interp.heap
        self.made: dict[int, Any] = {}
        self.alive: list[Any] = []

    def root(self, kind: str, arg: Any) -> Any:
        if kind == "SLOT":
            return self.slots[arg[0]]
        return {"FUNC": self.func, "GLOBALS": self.func.__globals__, "BUILTINS": vars(builtins), "HANDLED": None}[kind]

    def read(self, path: Any) -> Any:
        return path.read(self.root)

    def value(self, v: Any) -> Any:
        if id(v) in self.made:
            return self.made[id(v)]
        self.alive.append(v)
        if isinstance(v, Const):
            return v.obj
        if getattr(v, "path", None) is not None:
            return self.read(v.path)
        if isinstance(v, Pack):
            return self.made.setdefault(id(v), self.pack(v))
        assert isinstance(v, Ref), v
        return self.ref(v)

    def pack(self, v: Pack) -> Any:
        items = [self.value(item) for item in v.items]
        if v.cls is slice:
            return slice(*items)
        if v.cls is types.MethodType:
            return types.MethodType(*items)
        if v.cls in (types.BuiltinMethodType, types.MethodWrapperType):
            return items[0].__get__(items[1])
        return tuple.__new__(v.cls, items) if issubclass(v.cls, tuple) else v.cls(items)

    def ref(self, v: Ref) -> Any:
        cls = v.cls
        if cls in REBUILDERS:
            function, args = rebuild(self.heap, v)
            return self.made.setdefault(id(v), function(*map(self.value, args)))
        fields = self.heap.fields_of(v)
        if issubclass(cls, deque):
            most = fields.get(("maxlen",))
            real = cls(maxlen=None if most is None else most.obj)
        elif issubclass(cls, defaultdict):
            real = cls(self.value(fields.get(defaultdict.default_factory, Const(None))))
        elif VALUE in fields:
            real = cls.__new__(cls, self.value(fields[VALUE]))
        elif TUPLE in fields:
            real = tuple.__new__(cls, self.value(fields[TUPLE]))
        else:
            real = cls.__new__(cls) if not issubclass(cls, BaseException) else cls(*self.value(self.interp.getattr(v, "args")))
        self.made[id(v)] = real
        for field, value in fields.items():
            self.write(real, field, value)
        return real

    def write(self, real: Any, field: Any, value: Any) -> None:
        if field == Heap.ITEMS:
            self.contents(real, value)
        elif field == Heap.APPENDED:
            list.extend(real, map(self.value, value))
        elif field == DICT_FIELD:
            vars(real).update(self.value(value))
        elif isinstance(field, tuple) and field[0] == "k":
            if value is not MISSING:
                type(real).__setitem__(real, field[1], self.value(value))
            elif field[1] in real:
                del real[field[1]]
        elif isinstance(field, types.MemberDescriptorType) and not isinstance(real, (defaultdict, BaseException)):
            field.__set__(real, self.value(value))

    def contents(self, real: Any, value: Any) -> None:
        if isinstance(real, list):
            list.__setitem__(real, slice(None), list(map(self.value, value)))
        elif isinstance(real, deque):
            deque.extend(real, map(self.value, value))
        elif isinstance(real, dict):
            base = OrderedDict if isinstance(real, OrderedDict) else dict
            base.clear(real)
            for key, item in value.values():
                base.__setitem__(real, self.value(key), self.value(item))
        elif isinstance(real, set):
            set.clear(real)
            set.update(real, [self.value(key) for key, _ in value.values()])

    def scan(self, v: Any, seen: set[int]) -> None:
        """Read every path that a value needs, before effects change what is found there."""
        if isinstance(v, dict):
            v = tuple(v.values())
        if isinstance(v, tuple):
            for item in v:
                self.scan(item, seen)
        if not isinstance(v, Value) or id(v) in seen:
            return
        seen.add(id(v))
        if getattr(v, "path", None) is not None and not isinstance(v, Const):
            self.alive.append(v)
            self.made[id(v)] = self.read(v.path)
        elif isinstance(v, Pack):
            self.scan(v.items, seen)
        elif isinstance(v, Ref):
            self.scan(self.heap.fields_of(v), seen)

    def preload(self, field: Any) -> None:
        """Read every path inside a field before effects change what is found there."""
        if isinstance(field, (Const, Pack, Ref, Lazy, Node, Number)):
            found = self.value(field)
            self.made[id(field)] = found
        elif isinstance(field, tuple):
            for item in field:
                self.preload(item)
        elif isinstance(field, dict):
            for item in field.values():
                self.preload(item)

    def effects(self) -> None:
        dirty = list(self.heap.dirty())
        reals = [(self.value(ref), ref, names) for ref, names in dirty]
        for _, ref, names in reals:
            for name in names:
                self.preload(self.heap.get(ref, name))
        for real, ref, names in reals:
            if Heap.ITEMS in self.heap.fields_of(ref):
                names = [name for name in names if not (isinstance(name, tuple) and name[0] in ("k", "appended"))]
            for name in names:
                self.write(real, name, self.heap.get(ref, name))


def capture(fn: Any, *args: Any) -> Any:
    """The result of `fn(*args)` computed symbolically; its effects are written to the arguments."""
    code = fn.__code__
    slots = [*args, *[EMPTY] * (code.co_nlocals - len(args))]
    cells = [name for name in code.co_cellvars if name not in code.co_varnames]
    slots += [EMPTY] * len(cells) + list(fn.__closure__ or ())
    if fn.__closure__:
        slots[len(slots) - len(fn.__closure__) :] = [EMPTY] * len(fn.__closure__)
    interp = Interpreter(Start(code, fn, 0, slots, fn.__globals__, vars(builtins), EMPTY))
    found = interp.run()
    if found.kind is not ExitKind.RETURN:
        raise Broken(f"{found.reason} {found.guilty} {found.detail} at {[str(line) for line in found.lines]}")
    interp.trace.graph.lint()
    realizer = Realizer(interp, slots, fn)
    for guard in interp.trace.guards.values():
        if guard.path is not None:
            operand = realizer.read(guard.operand) if guard.predicate in ("SAME", "NOT_SAME") else guard.operand
            assert PREDICATES[guard.predicate].check(realizer.read(guard.path), operand), str(guard)
    realizer.scan(found.value, set())
    realizer.effects()
    return realizer.value(found.value)


def describe(value: Any, seen: dict[int, int] | None = None) -> Any:
    """Types, contents, order and sharing of an object, comparable by ==."""
    seen = {} if seen is None else seen
    if isinstance(value, (int, float, complex, str, bytes, type(None), type, range, slice)):
        return type(value), repr(value)
    kind = type(value)
    if kind not in (tuple, frozenset):
        if id(value) in seen:
            return "again", seen[id(value)]
        seen[id(value)] = len(seen)
    if isinstance(value, BaseException):
        return kind, [describe(arg, seen) for arg in value.args]
    if isinstance(value, dict):
        own = [describe(vars(value), seen)] if hasattr(value, "__dict__") else []
        return (
            kind,
            [
                (describe(k, seen), describe(v, seen))
                for k, v in (OrderedDict if isinstance(value, OrderedDict) else dict).items(value)
            ],
            own,
        )
    if isinstance(value, (list, tuple, deque)):
        more = (value.maxlen,) if isinstance(value, deque) else ()
        return kind, [describe(item, seen) for item in value], more
    if isinstance(value, (set, frozenset)):
        return kind, sorted((describe(item, seen) for item in value), key=repr)
    if hasattr(value, "__next__"):
        return kind, [describe(item, seen) for item in value]
    if hasattr(value, "__dict__") and not callable(value):
        return kind, describe(vars(value), seen)
    if kind in dict_view.VIEWS:
        return kind, [describe(item, seen) for item in value]
    return kind, repr(value) if not callable(value) else getattr(value, "__qualname__", "")


def outcome(action: Any, *args: Any) -> Any:
    """What a call gives or raises."""
    try:
        return "returns", action(*args)
    except Exception as error:
        return "raises", type(error), error.args


def check(fn: Any, *args: Any) -> Any:
    """Run `fn` eagerly and symbolically on copies of the arguments; results and arguments must agree."""
    mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
    expected = fn(*mine)
    found = capture(fn, *theirs)
    assert describe((found, theirs)) == describe((expected, mine))
    return found


assert issubclass(Const, Value)
