"""`Services.operator`: runs a torch operator on fake tensors, appends its node, and gives back symbolic results."""

from __future__ import annotations

import enum
import logging
import operator as python_operator
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch._guards import Source
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)
from torch.fx.experimental.symbolic_shapes import DimDynamic, GuardOnDataDependentSymNode

from framejit.core.errors import Retrace
from framejit.core.services import Services
from framejit.core.trace import Trace, meta_key
from framejit.core.value import NONE, Const, Node, Number, Pack, Ref, Value
from framejit.objects.constants import tuple_items
from framejit.objects.fold import unwrap
from framejit.reasons import R
from framejit.rules import torch_state
from framejit.rules.operator_facts import (
    DATA_OPERATORS,
    REFLECTED,
    SUBTRACTIONS,
    TRAINING_FLAG,
    draws_random,
    mutates,
    name_of,
    takes_float,
    takes_numbers,
)

FAKE_LOG = logging.getLogger("torch._subclasses.fake_tensor")
LITERALS = frozenset({
    int, float, bool, complex, str, type(None), type(Ellipsis), torch.dtype, torch.device, torch.layout,
    torch.memory_format, slice,
})  # fmt: skip


class Same(NamedTuple):
    """The result is the operand with this number, the very object."""

    index: int  # type: ignore[assignment]


class Fresh(NamedTuple):
    """The result is a new tensor; `aliases` are the operands that share its storage."""

    fake: torch.Tensor
    meta: int
    aliases: tuple[int, ...]


class Many(NamedTuple):
    """The result is a tuple, named tuple or list of results."""

    cls: type
    items: tuple[Any, ...]


class Literal(NamedTuple):
    """The result is a Python object that follows from the operands' metadata."""

    obj: Any


class Outcome(NamedTuple):
    """What an operator does with operands of one kind: its result, and (operand, new fake, new meta) of those it changes."""

    result: Same | Fresh | Many | Literal
    mutated: tuple[tuple[int, torch.Tensor | None, int], ...]
    random: bool


class Operands:
    """The arguments of one call as fx arguments, with the key under which its outcome is cached."""

    __slots__ = ("s", "target", "args", "nodes", "key", "cacheable")

    def __init__(self, s: Services, target: Any, args: Sequence[Value]):
        self.s, self.target, self.args = s, target, args  # `args` only of a call without keywords
        self.nodes: list[Node] = []
        self.key: list[Any] = []
        self.cacheable = True

    def convert(self, value: Value) -> Any:
        """The fx argument for a value."""
        kind = type(value)
        if kind is Node:
            return self._node(value)  # type: ignore[arg-type]
        if kind is Const:
            return self._const(value.obj)  # type: ignore[attr-defined]
        if kind is Pack:
            return self._pack(value)  # type: ignore[arg-type]
        if kind is Ref:
            return self._ref(value)  # type: ignore[arg-type]
        if kind is Number:
            return self._number(value)  # type: ignore[arg-type]
        return self.convert(self.s.force(value))

    def _node(self, value: Node) -> Any:
        nodes = self.nodes
        if value in nodes:
            self.key.append(-nodes.index(value) - 1)
        else:
            nodes.append(value)
            self.key.append(value.meta)
            if not value.meta:
                self.cacheable = False
        return value.node

    def _const(self, obj: Any) -> Any:
        kind = type(obj)
        if kind not in LITERALS:
            if issubclass(type(obj), tuple):
                return self._items(kind, [self.s.wrap(item) for item in obj])
            obj = self._plain(obj)
        elif kind is slice:
            return self._pack(self.s.wrap(obj))  # type: ignore[arg-type]
        if (kind is float or (kind is int and 0 <= obj < 128)) and takes_numbers(self.target):
            self.key.append(("number", kind, None))  # whatever number it is, the outcome is of the same kind
        else:
            self.key.append((kind, obj))
        return obj

    def _plain(self, obj: Any) -> Any:
        if issubclass(type(obj), enum.Enum) and type(obj).__module__.startswith("torch"):
            return obj
        if issubclass(type(obj), (float, int)) and self.target not in DATA_OPERATORS:
            return float.__float__(obj) if issubclass(type(obj), float) else int.__index__(obj)
        if issubclass(type(obj), range):
            return list(obj)
        return self.s.unsupported(R.UNSUPPORTED_OPERATOR, obj, f"an argument of type {type(obj).__name__}")

    def _pack(self, value: Pack) -> Any:
        if value.cls is slice:
            self.key.append("slice")
            return slice(*[self.convert(item) for item in value.items])
        if issubclass(value.cls, tuple):
            return self._items(value.cls, value.items)
        return self.s.unsupported(R.UNSUPPORTED_OPERATOR, value, f"an argument of type {value.cls.__name__}")

    def _items(self, cls: type, items: Sequence[Value]) -> Any:
        self.key.append((cls, len(items)))
        return tuple([self.convert(item) for item in items])

    def _ref(self, value: Ref) -> Any:
        if value.cls is list:
            items = self.s.unpack(value)
            self.key.append((list, len(items)))
            return [self.convert(item) for item in items]
        if value.cls is dict:
            names = [self.s.constant(key) for key in self.s.unpack(value)]
            self.key.append((dict, *names))
            return {name: self.convert(self.s.getitem(value, Const(name))) for name in names}
        content = tuple_items(self.s, value)
        if content is not None:
            return self._items(value.cls, content)
        plain = unwrap(self.s, value)  # an instance of a user's subclass of a number
        if isinstance(plain, Const) and issubclass(type(plain.obj), (float, int)) and self.target not in DATA_OPERATORS:
            return self.convert(plain)
        return self.s.unsupported(R.UNSUPPORTED_OPERATOR, value, f"an argument of type {value.cls.__name__}")

    def _number(self, value: Number) -> Any:
        if value.cls is int and takes_numbers(self.target):
            self.key.append(("number", int))
            return int_input(self.s.trace, value)
        if value.cls is float and takes_float(self.target, [self.s.force(arg) for arg in self.args], value):
            self.key.append(("number", float))
            return float_input(self.s.trace, value)
        return self._const(self.s.constant(value))


class NumberSource(Source):
    """Where the shape environment believes a number comes from."""

    def __init__(self, text: str):
        object.__setattr__(self, "text", text)

    @property
    def _name_template(self) -> str:
        return self.text


def int_input(trace: Trace, value: Number) -> torch.fx.Node:
    """The placeholder of an int that the program hands to the graph."""
    found = trace.inputs.get(value.path)
    if found is not None:
        return found.node
    source = NumberSource(f"number_{len(trace.inputs)}")
    symbol = trace.shape_env.create_unspecified_symint_and_symbol(value.hint, source, DimDynamic.DYNAMIC)
    node = trace.placeholder(value.path, value.hint, value, symbol, "number")
    node.meta["hint"] = value.hint
    return node


def float_tensor(number: float) -> torch.Tensor:
    """What a graph is given for a float that changes."""
    return torch.tensor(number, dtype=torch.float64, device="cpu")


def float_input(trace: Trace, value: Number) -> torch.fx.Node:
    """The placeholder of a float that the program hands to the graph as a tensor."""
    found = trace.inputs.get(value.path)
    if found is not None:
        return found.node
    real = float_tensor(value.hint)
    example = trace.fake_mode.from_tensor(real)
    node = trace.placeholder(value.path, real, value, example, "number")
    node.meta["hint"] = example
    return node


def operator(
    s: Services, op: str, target: Any, args: Sequence[Value], kwargs: dict[str, Value] | None = None
) -> Value:
    """Append `target(*args, **kwargs)` (or the method of that name) to the graph and return its symbolic result."""
    trace = s.trace
    operands = Operands(s, target, () if kwargs else args)
    convert, key = operands.convert, operands.key
    if target in REFLECTED and type(args[0]) is Number and args[0].cls is float:
        args = args[::-1]
    fx_args = tuple([convert(arg) for arg in args])
    fx_kwargs: dict[str, Any] = {}
    if kwargs:
        for name, value in kwargs.items():
            key.append(name)
            fx_kwargs[name] = convert(value)
    outcome: Outcome | None = None
    if operands.cacheable and trace.share_fakes:
        full_key = (target, torch_state.mode_key(s), *key)
        outcome = trace.cache.get(full_key)
        if outcome is None:
            outcome = trace.cache[full_key] = _Attempt(s, op, target, operands).run(fx_args, fx_kwargs)
    else:
        outcome = _Attempt(s, op, target, operands).run(fx_args, fx_kwargs)
    return _append(s, op, target, fx_args, fx_kwargs, operands.nodes, outcome)


FINAL = "changes for good"  # in the flags of the trace; in its cache, where what comes behind raises

# -- the graph's side ---------------------------------------------------------------------------------------------------


def _append(
    s: Services, op: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], nodes: list[Node], outcome: Outcome
) -> Value:
    result = outcome.result
    if not outcome.mutated:
        if type(result) is Same:
            return nodes[result.index]
        if type(result) is Literal and result.obj is not None:
            return s.wrap(result.obj)
    trace = s.trace
    _note_changes_for_good(s, target, nodes, outcome)
    example = result.fake if type(result) is Fresh else None
    node = trace.node(op, target, args, kwargs, example, s.where())  # type: ignore[attr-defined]
    if outcome.random:
        node.meta["acts"] = True
        trace.flag("random")
    if outcome.mutated:
        node.meta["acts"] = True
        _refuse_views_of_leaves(s, target, nodes, outcome.mutated)
        _mutate(trace, nodes, outcome.mutated)
    if type(result) is Fresh:
        return _tensor(node, result, nodes)
    if type(result) is Literal:
        if not outcome.mutated:  # called for an effect that is not seen here
            node.meta["acts"] = True
            if target is not torch._assert_async:
                trace.flag("mutates")
                trace.flag("mutates_inputs")
        return NONE if result.obj is None else s.wrap(result.obj)
    node.meta["example_value"] = _example(result, nodes)
    return _result(s, node, result, nodes)


def _tensor(node: torch.fx.Node, result: Fresh, nodes: list[Node]) -> Node:
    if result.aliases:
        _share(node, [nodes[index].node for index in result.aliases])
    return Node(torch.Tensor, node, result.fake, None, result.meta)


def _share(node: torch.fx.Node, owners: list[torch.fx.Node]) -> None:
    """Note that `node` shares storage with its owners: `storage` is the placeholder or operator that made it."""
    roots = [owner.meta.setdefault("storage", owner) for owner in owners]
    node.meta["storage"] = next((root for root in roots if root.op == "placeholder"), roots[0])


def _result(s: Services, node: torch.fx.Node, result: Any, nodes: list[Node]) -> Value:
    if type(result) is Same:
        return nodes[result.index]
    if type(result) is Literal:
        return s.wrap(result.obj)
    if type(result) is Fresh:
        return _tensor(node, result, nodes)
    values = []
    for index, item in enumerate(result.items):
        child = node
        if type(item) in (Fresh, Many):
            child = s.trace.node("call_function", python_operator.getitem, (node, index), {}, _example(item, nodes))
        values.append(_result(s, child, item, nodes))
    if result.cls is list:
        return s.heap.new(list, {s.heap.ITEMS: tuple(values)})
    return Pack(result.cls, tuple(values))


def _example(result: Any, nodes: list[Node]) -> Any:
    if type(result) is Fresh:
        return result.fake
    if type(result) is Same:
        return nodes[result.index].fake
    if type(result) is Literal:
        return result.obj
    return [_example(item, nodes) for item in result.items]


def _refuse_views_of_leaves(s: Services, target: Any, nodes: list[Node], mutated: tuple[tuple[int, Any, int], ...]) -> None:
    """A view of a leaf that requires grad cannot be changed: CPython raises it; fakes are no views, and would not."""
    for index, _, _ in mutated:
        value = nodes[index]
        root = value.node.meta.get("storage", value.node)
        if root is value.node or root.op != "placeholder" or not value.fake.requires_grad:
            continue
        base = root.meta["example_value"]
        if base.requires_grad and base.is_leaf and torch_state.read(s, "grad"):
            s.unsupported(R.UNSUPPORTED_OPERATOR, target, "it changes a view of a leaf that requires grad")


def _mutate(trace: Trace, nodes: list[Node], mutated: tuple[tuple[int, Any, int], ...]) -> None:
    trace.flag("mutates")
    for index, fake, meta in mutated:
        value = nodes[index]
        root = value.node.meta.get("storage", value.node)
        if root.op == "placeholder":
            root.meta["mutated"] = True
            trace.flag("mutates_inputs")
        if fake is not None:
            if "storage" in value.node.meta:  # views of it change along
                raise Retrace("unshared_fakes")
            _replace(trace, value, fake, meta)


def _note_changes_for_good(s: Services, target: Any, nodes: list[Node], outcome: Outcome) -> None:
    """Behind a change for good the graph is not run again where it raises: an operator that must not lose more is done by itself."""
    trace = s.trace
    if trace.flags.get(FINAL):
        place = s.place_in_root()
        if place is None or s.is_caught() or any(trace.heap.dirty()):
            s.unsupported(R.UNSUPPORTED_OPERATOR, target, "what was changed before could not be changed back if it raises")
        if trace.cache.get(FINAL) is None:
            trace.trail.put(trace.cache, FINAL, place)
    if any(_changes_for_good(trace, nodes[index], fake) for index, fake, _ in outcome.mutated):
        trace.flag(FINAL)


def _changes_for_good(trace: Trace, value: Node, changed: torch.Tensor | None) -> bool:
    """Whether the value is an input, or shares its memory, and autograd notes the change: old values cannot be written back."""
    root = value.node.meta.get("storage", value.node)
    real = next((entry.real for entry in trace.inputs.values() if entry.node is root), None) if root.op == "placeholder" else None
    after = value.fake if changed is None else changed
    return isinstance(real, torch.Tensor) and (not real.is_leaf or bool(real.requires_grad) is not bool(after.requires_grad))


def _replace(trace: Trace, value: Node, fake: torch.Tensor, meta: int) -> None:
    old = value.fake, value.meta

    def undo() -> None:
        value.fake, value.meta = old

    trace.trail.on_undo(undo)
    value.fake, value.meta = fake, meta


# -- the fake tensors' side -----------------------------------------------------------------------------------------------


class _Attempt:
    """One run of an operator on the operands' fake tensors."""

    def __init__(self, s: Services, op: str, target: Any, operands: Operands):
        self.s, self.op, self.target, self.nodes = s, op, target, operands.nodes
        self.fakes: list[torch.Tensor] = []
        self.table: dict[torch.fx.Node, Any] = {}

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Outcome:
        trace = self.s.trace
        changes = mutates(self.target, args, kwargs)
        if changes and not trace.share_fakes:
            return trace.touch(lambda: self._run(args, kwargs, changes))
        return self._run(args, kwargs, changes)

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any], changes: bool) -> Outcome:
        trace = self.s.trace
        with trace.fake_mode, torch_state.applied(self.s):
            self._take_fakes(changes)
            versions = [_version(fake) for fake in self.fakes]
            metas = [meta_key(fake) for fake in self.fakes] if changes else []
            real_args = [self._substitute(arg) for arg in args]
            real_kwargs = {name: self._substitute(arg) for name, arg in kwargs.items()}
            if name_of(self.target) in SUBTRACTIONS and any(map(_is_bool, real_args)):
                self.s.unsupported(R.UNSUPPORTED_OPERATOR, self.guilty, "bools cannot be subtracted, which fakes do not know")
            sizes = [fake.shape for fake in self.fakes] if kwargs.get("out") is not None else []
            result = self._call(real_args, real_kwargs)
            if any(fake.shape != size for fake, size in zip(self.fakes, sizes)):
                self.s.unsupported(R.UNSUPPORTED_OPERATOR, self.guilty, "it resizes a tensor given as out")
            template = self._template(result)
        mutated = []
        for index, fake in enumerate(self.fakes):
            if _version(fake) != versions[index] or (changes and versions[index] is None):
                meta = meta_key(fake) if changes else 0
                changed = trace.share_fakes and changes and meta != metas[index]
                mutated.append((index, fake if changed else None, meta if changed else 0))
        if changes and not mutated:  # running statistics: changed without a new version
            nodes = set(args[1:3]) if self.target in TRAINING_FLAG else self.table.keys()
            mutated = [(index, None, 0) for index, node in enumerate(self.table) if node in nodes]
        return Outcome(template, tuple(mutated), draws_random(self.target, args, kwargs))

    def _take_fakes(self, changes: bool) -> None:
        """Each operand's own fake, or a stand-in where a shared one would be changed."""
        trace = self.s.trace
        for value in self.nodes:
            fake = _stand_in(value.fake) if changes and trace.share_fakes else value.fake
            self.fakes.append(fake)
            self.table[value.node] = fake
            if changes and not trace.share_fakes and not value.node.meta.get("kept"):
                value.node.meta.update(example_value=_stand_in(fake), kept=True)

    def _substitute(self, arg: Any) -> Any:
        kind = type(arg)
        if kind is torch.fx.Node:
            found = self.table.get(arg)
            return arg.meta["hint"] if found is None else found
        if kind is tuple or kind is list:
            return kind([self._substitute(item) for item in arg])
        if kind is slice:
            return slice(self._substitute(arg.start), self._substitute(arg.stop), self._substitute(arg.step))
        if kind is dict:
            return {name: self._substitute(item) for name, item in arg.items()}
        return arg

    @property
    def guilty(self) -> Any:
        """The operator, for messages."""
        return getattr(torch.Tensor, self.target, self.target) if isinstance(self.target, str) else self.target

    def _call(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        s, show = self.s, warnings.showwarning
        warnings.showwarning, FAKE_LOG.disabled = _quiet, True  # the run on real tensors warns and raises
        try:
            if self.op == "call_method":
                return getattr(args[0], self.target)(*args[1:], **kwargs)
            return self.target(*args, **kwargs)
        except DataDependentOutputException as error:
            return s.unsupported(R.SCALAR_READ, self.guilty, str(error.func))
        except (DynamicOutputShapeException, GuardOnDataDependentSymNode) as error:
            return s.unsupported(R.DYNAMIC_SHAPE_OPERATOR, self.guilty, _first_line(error))
        except (UnsupportedOperatorException, UnsupportedFakeTensorException) as error:
            return s.unsupported(R.UNSUPPORTED_OPERATOR, self.guilty, _first_line(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, eager meets the same
            return s.unsupported(R.FAKE_TENSOR_ERROR, self.guilty, f"{type(error).__name__}: {_first_line(error)}")
        finally:
            warnings.showwarning, FAKE_LOG.disabled = show, False

    def _template(self, result: Any) -> Any:
        if isinstance(result, torch.Tensor):
            found = [index for index, fake in enumerate(self.fakes) if result is fake]
            if len(found) > 1:  # one fake stands for several operands
                raise Retrace("unshared_fakes")
            return Same(found[0]) if found else self._fresh(result)
        if isinstance(result, torch.Size):
            if not all(type(size) is int for size in result):
                self.s.unsupported(R.DYNAMIC_SHAPE_OPERATOR, self.guilty)
            return Literal(result)
        if isinstance(result, (tuple, list)):
            items = tuple(self._template(item) for item in result)
            if all(type(item) is Literal for item in items) and type(result) in (tuple, list):
                return Literal(result)
            return Many(type(result), items)
        if isinstance(result, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return self.s.unsupported(R.SCALAR_READ, self.guilty)
        if result is None or type(result) in LITERALS or result is NotImplemented:
            return Literal(result)
        return self.s.unsupported(R.UNSUPPORTED_OPERATOR, self.guilty, f"a result of type {type(result).__name__}")

    def _fresh(self, fake: torch.Tensor) -> Fresh:
        if not isinstance(fake, FakeTensor):
            self.s.unsupported(R.UNSUPPORTED_OPERATOR, self.guilty, f"a result of type {type(fake).__name__}")
        if fake.requires_grad and fake.is_leaf and not _seen_without_grad(fake):
            self.s.unsupported(R.UNSUPPORTED_OPERATOR, self.guilty, "it makes a leaf, whose gradient AOTAutograd would lose")
        if fake.layout is not torch.strided:
            return Fresh(fake, 0, ())
        if not all(type(size) is int for size in fake.shape):
            self.s.unsupported(R.DYNAMIC_SHAPE_OPERATOR, self.guilty)
        storage = fake.untyped_storage()._cdata
        aliases = tuple(
            index
            for index, operand in enumerate(self.fakes)
            if operand.layout is torch.strided and operand.untyped_storage()._cdata == storage
        )
        # A fake that knows its value makes later operators' shapes hang on it: never cached.
        return Fresh(fake, 0 if fake.constant is not None else meta_key(fake), aliases)


def _quiet(*_warning: Any, **_rest: Any) -> None:
    """Shows no warning."""


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


def _is_bool(operand: Any) -> bool:
    return type(operand) is bool or (isinstance(operand, torch.Tensor) and operand.dtype is torch.bool)


def _version(fake: torch.Tensor) -> int | None:
    return None if fake.is_inference() else fake._version


def _stand_in(fake: torch.Tensor) -> torch.Tensor:
    """Another fake tensor with the same metadata, which may be changed; called under the fake mode."""
    if fake.layout is not torch.strided or fake.is_conj() or fake.is_neg():
        raise Retrace("unshared_fakes")
    new = torch.empty_strided(fake.shape, fake.stride(), dtype=fake.dtype, device=fake.device)
    if fake.requires_grad:
        new.requires_grad_()
        if not fake.is_leaf:
            with torch.enable_grad():
                new = new.clone()
                if fake._is_view() or new.stride() != fake.stride():
                    extent = 1 + sum((size - 1) * stride for size, stride in zip(fake.shape, fake.stride()) if size)
                    base = torch.empty((extent,), dtype=fake.dtype, device=fake.device, requires_grad=True).clone()
                    new = base.as_strided(fake.shape, fake.stride())
    return new


def _seen_without_grad(fake: torch.Tensor) -> bool:
    """Whether a leaf is a view made under no_grad: it has its base's `requires_grad` and no gradient of its own."""
    base = fake._base if fake._is_view() else None
    return base is not None and base.requires_grad
