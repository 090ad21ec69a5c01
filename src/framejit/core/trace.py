"""The trace: graph, inputs, guards and heap of one capture, all behind one trail."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from framejit.core.classes import ClassRecipe
from framejit.core.errors import Retrace
from framejit.core.guard import PREDICATES, Guard
from framejit.core.heap import MISSING, Heap, Trail
from framejit.core.path import Path, Roots
from framejit.core.value import Node, Number, Value

HEAP_TYPE, MUTABLE_FLAGS = 1 << 9, 1 << 9 | 1 << 8  # the second with Py_TPFLAGS_IMMUTABLETYPE


class Input:
    """A graph input: its placeholder and where the program finds it."""

    __slots__ = ("node", "path", "real", "value")

    def __init__(self, node: torch.fx.Node, path: Path, real: Any, value: Value):
        self.node, self.path, self.real, self.value = node, path, real, value

    @property
    def example(self) -> Any:
        """What the backend is given: the tensor, or the symbol of an int."""
        return self.real if issubclass(type(self.real), torch.Tensor) else self.node.meta["example_value"]


_META_KEYS: dict[Any, int] = {}
_NAMES: dict[Any, str] = {}  # operators' names in graphs


def meta_key(fake: torch.Tensor) -> int:
    """A small integer standing for a fake tensor's metadata; equal metadata, equal integer.

    0 stands for metadata that cannot be compared (symbolic sizes, sparse layouts): never cached.
    """
    if fake.layout is not torch.strided:
        return 0
    shape, stride = tuple(fake.shape), fake.stride()
    if not all(type(size) is int for size in shape) or not all(type(size) is int for size in stride):
        return 0
    key = (
        shape, stride, fake.dtype, fake.device, fake.requires_grad, fake.is_leaf, fake.storage_offset(),
        fake.is_conj(), fake.is_neg(), fake.is_inference(), fake._is_view(),
    )  # fmt: skip
    return _META_KEYS.setdefault(key, len(_META_KEYS) + 1)


class Trace:
    """Everything one capture has recorded so far."""

    def __init__(self, share_fakes: bool = True) -> None:
        self.roots = Roots()
        self.trail = Trail()
        self.heap = Heap(self.trail)
        self.guards: dict[Any, Guard] = {}
        self.type_rows: dict[tuple[type, str], Any] = {}
        self.bound: dict[Path, bool] = {}  # locals that must not be empty
        self.graph = torch.fx.Graph()
        self.first: torch.fx.Node | None = None  # the first operator: inputs stand before it
        self.shape_env = ShapeEnv(allow_scalar_outputs=False, allow_dynamic_output_shape_ops=False)
        self.fake_mode = FakeTensorMode(shape_env=self.shape_env, allow_non_fake_inputs=False, static_shapes=True)
        self.fake_mode.cache_enabled = False  # operators on equal operands run once anyway: filling it costs more than it saves
        self.inputs: dict[Path, Input] = {}
        self.known: dict[int, Value] = {}  # id(real object) -> its value, for aliasing
        self.classes: dict[type, ClassRecipe] = {}  # stand-ins of classes that the captured code defined
        self.wrappers: dict[int, Any] = {}  # id of what was made of stand-ins -> (constant, function, arguments, keywords)
        self.alive: list[Any] = []  # keeps the ids above valid
        self.flags: dict[str, bool] = {}  # mutates, random, modes: what the graph does beyond computing; handlers
        self.operators: dict[str, int] = {"count": 0}
        self.tainted = False
        self.share_fakes = share_fakes
        self.cache: dict[Any, Any] = {}
        self.shared: set[int] = set()

    def close(self) -> None:
        """Break the cycles at the end of a capture: the objects that it has seen must not wait for the collector."""
        heap = self.heap
        own = self.trail.log, self.known, self.alive, self.cache, self.bound
        for table in (*own, heap.fields, heap.initial, heap.written, heap.reads, heap.given):
            table.clear()
        self.roots.close()

    # -- guards ---------------------------------------------------------------------------------------------------

    def guard(self, path: Path | None, predicate: str, operand: Any = None, origin: Any = None) -> None:
        """Record a fact; the first one asked for of several equal ones stays."""
        key = (path, predicate, type(operand), operand if type(operand).__hash__ is not None and _plain(operand) else id(operand))
        if key not in self.guards:
            self.trail.put(self.guards, key, Guard(path, predicate, operand, origin))

    def note_bound(self, path: Path) -> None:
        """A local of a real frame was used, if only to be dropped: other frames may come where it is unbound."""
        if path.parent is None and path not in self.bound:
            self.trail.put(self.bound, path, True)

    def guard_type_attr(self, cls: type, name: str, found: Any, origin: Any = None) -> None:
        """Record that looking `name` up along the MRO of `cls` gives `found` (MISSING: nothing)."""
        key = (cls, name)
        if key not in self.type_rows:
            self.trail.put(self.type_rows, key, found)
            if cls in self.classes:
                self._guard_bases(cls, name, origin)
                return
            self.trail.put(self.guards, ("type", key), Guard(None, "TYPE_ATTR", (cls, name, found), origin))

    def _guard_bases(self, cls: type, name: str, origin: Any) -> None:
        """What a class that the capture defined inherits is what its real bases have."""
        for base in cls.__mro__:
            if base not in self.classes:
                if base.__flags__ & MUTABLE_FLAGS == HEAP_TYPE:
                    found = next((vars(owner)[name] for owner in base.__mro__ if name in vars(owner)), MISSING)
                    self.guard_type_attr(base, name, found, origin)
            elif name in vars(base):
                return

    def guard_descent(self, cls: type, base: type, place: bool | int, origin: Any = None) -> None:
        """Record whether `cls` descends from `base`, or at which place of its MRO that stands."""
        if base in self.classes:
            return  # nothing real descends from it
        if cls in self.classes:  # what it inherits of its real bases can change
            for real in cls.__mro__:
                if real not in self.classes and real.__flags__ & MUTABLE_FLAGS == HEAP_TYPE:
                    self.guard_descent(real, base, base in real.__mro__, origin)
            return
        key = ("descent", cls, base, place)
        if key not in self.guards:
            self.trail.put(self.guards, key, Guard(None, "TYPE_ATTR", (cls, base, place), origin))

    def forget_type_attr(self, cls: type, name: str | None) -> None:
        """A captured class was written to: what looking `name` (None: anything) up in it and its subclasses gave is asked again."""
        rows = self.type_rows
        for key in [key for key in rows if name in (None, key[1]) and cls in key[0].__mro__]:
            found = rows.pop(key)
            self.trail.on_undo(functools.partial(rows.__setitem__, key, found))

    # -- the graph ------------------------------------------------------------------------------------------------

    def placeholder(self, path: Path, real: Any, value: Value, example: Any, name: str = "arg") -> torch.fx.Node:
        """A new graph input fed from `path`."""
        graph = self.graph
        if self.first is None:
            node = self._create("placeholder", name, (), {}, name)
        else:
            with graph.inserting_before(self.first):
                node = self._create("placeholder", name, (), {}, name)
        node.meta["example_value"] = example
        self.trail.put(self.inputs, path, Input(node, path, real, value))
        self.trail.on_undo(lambda: graph.erase_node(node))
        return node

    def node(self, op: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], example: Any, where: Any = None) -> torch.fx.Node:
        """Append an operator to the graph."""
        name = _NAMES.get(target)
        if name is None:
            name = self.graph._target_to_str(target)
            if isinstance(target, str) or (getattr(target, "__module__", None) or "").startswith(("torch", "_operator")):
                _NAMES[target] = name
        node = self._create(op, target, args, kwargs, name)
        node.meta["example_value"] = example
        if where is not None:
            node.meta["where"] = where
        if self.first is None:
            self.first = node
        self.trail.on_undo(lambda: self._erase(node))
        self.trail.put(self.operators, "count", self.operators["count"] + 1)
        return node

    def _create(self, op: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> torch.fx.Node:
        """`Graph.create_node` without its search for symbolic arguments, which is half of its time."""
        graph = self.graph
        namespace = graph._graph_namespace
        unique = namespace.create_name(name, None)
        node = torch.fx.Node(graph, unique, op, target, args, kwargs, None)
        namespace.associate_name_with_obj(unique, node)
        graph._insert(node)
        graph._find_nodes_lookup_table.insert(node)
        graph._len += 1
        return node

    def _erase(self, node: torch.fx.Node) -> None:
        if self.first is node:
            self.first = None
        self.graph.erase_node(node)

    def flag(self, name: str) -> None:
        """Note what the graph does: `mutates`, `random`, `modes`."""
        if not self.flags.get(name):
            self.trail.put(self.flags, name, True)

    def touch(self, action: Callable[[], Any]) -> Any:
        """Run an operator that changes fake tensors in place; undoing it later taints the trace."""
        self.trail.on_undo(self._taint)
        return action()

    def _taint(self) -> None:
        self.tainted = True

    def check_shared(self, node: Node) -> None:
        """Before `node` is mutated: its fake must not stand for other nodes too, else start over unshared."""
        if self.share_fakes and (id(node.fake) in self.shared or node.fake._is_view()):
            raise Retrace("unshared_fakes")

    # -- aliasing -------------------------------------------------------------------------------------------------

    def remember(self, real: Any, value: Value) -> None:
        """Note the value that stands for a real object, so that a second path to it finds the same value."""
        self.alive.append(real)
        self.trail.put(self.known, id(real), value)

    def __str__(self) -> str:
        lines = [f"{str(guard)}" for guard in self.guards.values()]
        return "\n".join([*lines, str(self.graph)])

    def check(self) -> None:
        """Raise AssertionError when an invariant of the trace is broken."""
        self.graph.lint()
        for guard in self.guards.values():
            if guard.predicate not in PREDICATES:
                raise AssertionError(f"guard with unknown predicate: {guard}")
        for path, entry in self.inputs.items():
            if entry.path is not path:
                raise AssertionError(f"input {entry.node} is filed under another path: {path}")
        for table in self.heap.fields.values():
            for field, value in table.items():
                if value is None:
                    raise AssertionError(f"heap field {field} is None")

    def number_inputs(self) -> list[Number]:
        """The numbers that feed the graph."""
        return [entry.value for entry in self.inputs.values() if isinstance(entry.value, Number)]


_PLAIN = (int, float, str, bytes, bool, type(None), complex)


def _plain(operand: Any) -> bool:
    return type(operand) in _PLAIN


__all__ = ["MISSING", "Input", "Trace", "meta_key"]
