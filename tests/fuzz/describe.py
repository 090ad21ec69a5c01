"""What can be observed of a set of values, as lines of text that two runs can be compared by."""

from __future__ import annotations

import dis
import functools
import itertools
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Any

import torch

FILE = "<fuzz>"
LIMIT = 4000
HASHED_BY_VALUE = (int, float, str, bytes, bool, type(None))
PLAIN = (int, float, str, bytes, bool, complex, type(None), type(...), range, slice, torch.dtype, torch.Size, torch.device)


class Describer:
    """Numbers objects in the order in which they are met, so that aliasing and identity show."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.numbers: dict[int, int] = {}
        self.storages: dict[int, int] = {}
        self.alive: list[Any] = []

    def value(self, path: str, value: Any) -> None:
        """Add the lines of one value."""
        if len(self.lines) > LIMIT:
            return
        cls = type(value)
        if cls in PLAIN:
            self.lines.append(f"{path} = {cls.__name__} {value!r}")
            return
        known = self.numbers.get(id(value))
        if known is not None:
            self.lines.append(f"{path} is object {known}")
            return
        number = self.numbers[id(value)] = len(self.numbers)
        self.alive.append(value)
        self.lines.append(f"{path} = {cls.__qualname__} #{number}")
        row = next((ROWS[base] for base in cls.__mro__ if base in ROWS), None)
        if row is not None:
            row(self, path, value)
        self.attributes(path, value)

    def attributes(self, path: str, value: Any) -> None:
        """The fields of an object of a class that the program defines."""
        fields = getattr(value, "__dict__", None)
        if type(fields) is dict and not isinstance(value, (type, types.FunctionType, types.ModuleType, torch.Tensor)):
            for key, field in fields.items():
                self.value(f"{path}.{key}", field)
        for base in type(value).__mro__:
            slots = base.__dict__.get("__slots__", ()) if base.__module__ == "fuzzed" else ()
            for name in slots:
                member = base.__dict__[name]
                try:
                    self.value(f"{path}.{name}", member.__get__(value))
                except AttributeError:
                    self.lines.append(f"{path}.{name} is unset")


ROWS: dict[type, Callable[[Describer, str, Any], None]] = {}


def row(*types_: type) -> Callable[[Callable[[Describer, str, Any], None]], Callable[[Describer, str, Any], None]]:
    """Register how values of these types are described."""

    def register(function: Callable[[Describer, str, Any], None]) -> Callable[[Describer, str, Any], None]:
        ROWS.update(dict.fromkeys(types_, function))
        return function

    return register


@row(list, tuple, deque)
def _(out: Describer, path: str, value: Any) -> None:
    items = list(next(base for base in (list, tuple, deque) if isinstance(value, base)).__iter__(value))
    out.lines.append(f"{path} has {len(items)} items")
    for index, item in enumerate(items):
        out.value(f"{path}[{index}]", item)


@row(dict)
def _(out: Describer, path: str, value: Any) -> None:
    order = OrderedDict if isinstance(value, OrderedDict) else dict  # the dict under an OrderedDict has another order
    for index, (key, item) in enumerate(order.items(value)):
        out.value(f"{path}.key{index}", key)
        out.value(f"{path}[{key!r}]" if type(key) in PLAIN else f"{path}.item{index}", item)
    if hasattr(value, "default_factory"):
        out.value(f"{path}.default_factory", value.default_factory)


@row(set, frozenset)
def _(out: Describer, path: str, value: Any) -> None:
    steady = all(type(item) in HASHED_BY_VALUE for item in value)  # others are hashed by their address
    for index, item in enumerate(value if steady else sorted(value, key=lambda item: (type(item).__name__, str(item)))):
        out.value(f"{path}.item{index}", item)


def _history(value: torch.Tensor) -> str:
    """What autograd says of the tensor; of a view made without it and changed with it, it refuses to speak."""
    try:
        return f"leaf {value.is_leaf} grad {type(value.grad_fn).__name__}"
    except RuntimeError as error:
        return str(error)


@row(torch.Tensor)
def _(out: Describer, path: str, value: Any) -> None:
    storage = value.untyped_storage()
    number = out.storages.setdefault(storage.data_ptr(), len(out.storages)) if storage.nbytes() else -1
    out.lines.append(
        f"{path}: {value.dtype} {tuple(value.shape)} {value.stride()} offset {value.storage_offset()} storage {number} "
        f"requires_grad {value.requires_grad} {_history(value)}"
    )
    out.lines.append(f"{path}: {value.detach().tolist()!r}")


@row(int, float, str)
def _(out: Describer, path: str, value: Any) -> None:
    base = next(base for base in type(value).__mro__ if base in (int, float, str))
    out.lines.append(f"{path}: {base.__repr__(value)}")


@row(types.FunctionType)
def _(out: Describer, path: str, value: Any) -> None:
    out.lines.append(f"{path}: {value.__qualname__} line {value.__code__.co_firstlineno}")
    for index, cell in enumerate(value.__closure__ or ()):
        out.value(f"{path}.cell{index}", cell)
    out.value(f"{path}.__defaults__", value.__defaults__)
    for key, item in value.__dict__.items():
        out.value(f"{path}.{key}", item)


@row(types.CellType)
def _(out: Describer, path: str, value: Any) -> None:
    try:
        content = value.cell_contents
    except ValueError:
        out.lines.append(f"{path} is empty")
    else:
        out.value(f"{path}.contents", content)


@row(types.MethodType)
def _(out: Describer, path: str, value: Any) -> None:
    out.value(f"{path}.__self__", value.__self__)
    out.value(f"{path}.__func__", value.__func__)


@row(functools.partial)
def _(out: Describer, path: str, value: Any) -> None:
    out.value(f"{path}.func", value.func)
    out.value(f"{path}.args", value.args)
    out.value(f"{path}.keywords", value.keywords)


@row(type)
def _(out: Describer, path: str, value: Any) -> None:
    out.lines.append(f"{path}: {value.__qualname__}")
    if value.__module__ == "fuzzed":
        for key, item in vars(value).items():
            if not key.startswith("__") and not callable(item):
                out.value(f"{path}.{key}", item)


@row(BaseException)
def _(out: Describer, path: str, value: Any) -> None:
    out.value(f"{path}.args", value.args)
    lines = [(code.co_name, line) for code, line in _positions(value) if code.co_filename == FILE]
    out.lines.append(f"{path}: traceback {lines}")
    for name in ("__cause__", "__context__", "__suppress_context__"):
        out.value(f"{path}.{name}", getattr(value, name))


def _positions(error: BaseException) -> Iterator[tuple[types.CodeType, int]]:
    """Where the frames of a traceback stand; one that read an unbound local stands at that instruction.

    CPython gives the one in front of it once it has made one of the two, which it does after a few calls.
    """
    trace = error.__traceback__
    while trace is not None:
        code, line, following = trace.tb_frame.f_code, trace.tb_lineno, trace.tb_next
        if following is None and isinstance(error, UnboundLocalError):
            at = list(dis.get_instructions(code))
            place = next((place for place, ins in enumerate(at) if ins.offset == trace.tb_lasti), 0)
            pair = [(ins.opname, ins.argval) for ins in at[place : place + 2]]
            if len(pair) == 2 and pair[0] != ("LOAD_FAST", _unbound(error)) and pair[1] == ("LOAD_FAST", _unbound(error)):
                line = next((entry[2] for entry in code.co_lines() if entry[0] <= at[place + 1].offset < entry[1]), line) or line
        yield code, line
        trace = following


def _unbound(error: UnboundLocalError) -> str:
    """The name of the variable."""
    return str(error).split("'")[1] if "'" in str(error) else ""


@row(types.GeneratorType)
def _(out: Describer, path: str, value: Any) -> None:
    frame = value.gi_frame
    out.lines.append(f"{path}: {value.__qualname__} at line {frame.f_lineno if frame is not None else None}")
    if value.gi_running:
        return
    for index, item in enumerate(_drain(value)):
        out.value(f"{path}.next{index}", item)


@row(type(iter([])), type(iter(())), type(iter({})), type(iter({}.items())), map, filter, zip, enumerate, reversed, itertools.count)
def _(out: Describer, path: str, value: Any) -> None:
    for index, item in enumerate(_drain(value)):
        out.value(f"{path}.next{index}", item)


def _drain(iterator: Any) -> list[Any]:
    items = []
    try:
        items.extend(itertools.islice(iterator, 5))
    except Exception as error:  # noqa: BLE001 - part of what is observed
        items.append(error.with_traceback(error.__traceback__.tb_next))  # the frame of this function would hold what it returns
    return items


def describe(**values: Any) -> list[str]:
    """Lines that are equal for two runs if and only if nothing observable differs."""
    describer = Describer()
    for name, value in values.items():
        describer.value(name, value)
    return describer.lines


def difference(eager: list[str], captured: list[str], count: int = 4) -> str:
    """The first lines that differ; empty if none does."""
    found = []
    for left, right in itertools.zip_longest(eager, captured, fillvalue="(nothing)"):
        if left != right:
            found.append(f"eager:    {left}\ncaptured: {right}")
            if len(found) == count:
                break
    return "\n".join(found)
