"""A finished trace and its exit to a machine program."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple

import torch
import torch.fx

from framejit.core.errors import Retrace
from framejit.core.guard import Guard
from framejit.core.path import Path
from framejit.core.program import EMPTY, REPLAY
from framejit.core.state import Exit
from framejit.core.trace import Input, Trace
from framejit.core.value import Number
from framejit.lower import builders, classes, contexts
from framejit.lower.dropped import guard_dropped
from framejit.lower.effects import Effects, told_apart, written_classes
from framejit.lower.exits import Exits
from framejit.lower.guards import Head, Note
from framejit.lower.materialize import Materializer
from framejit.lower.pack import Instruction, Label, Packer, after
from framejit.objects import generator
from framejit.objects.object_ import StandIn
from framejit.rules import torch_state
from framejit.rules.operator_facts import draws_random, mutates
from framejit.rules.operator_graph import FINAL, float_tensor

assert builders and classes and contexts  # imported for their rows
MODE_SETTERS = {
    *torch_state.SETTERS.values(), torch.autocast_increment_nesting, torch.autocast_decrement_nesting, torch.clear_autocast_cache,
}  # fmt: skip


def _acts(node: torch.fx.Node) -> bool:
    """Whether an operator does more than give a result."""
    if node.op == "placeholder":
        return False
    if node.meta.get("acts"):
        return True
    return node.target in MODE_SETTERS or mutates(node.target, node.args, node.kwargs) or draws_random(node.target, node.args, node.kwargs)


class Lowered(NamedTuple):
    """A program and the notes of its instructions."""

    program: Any
    notes: dict[int, Note]


class Lowering:
    """First `prepare` finds out what the exit needs of the graph, then, with the graph compiled, `finish` packs."""

    def __init__(self, trace: Trace, leave: Exit, root: CodeType, pc: int, keep_locals: bool = False):
        self.trace, self.leave, self.root, self.pc = trace, leave, root, pc
        self.packer = Packer()
        self.head = Head(self.packer)
        self.materializer = Materializer(self.packer, self.head, trace, keep_locals)
        self.effects = Effects(self.materializer)
        self.exits = Exits(self.materializer, root, pc)
        self.guards: list[Guard] = []
        self._prepare()

    def _prepare(self) -> None:
        guard_dropped(self.trace)
        self.head.plan(list(self.trace.guards.values()))
        for path in self.trace.bound:
            self.head.want(path)
        self.exits.prepare(self.leave)
        self.effects.emit()
        self.rows = self.exits.emit()
        several = (*written_classes(self.trace.heap), *told_apart(self.trace))
        distinct = [Guard(None, "DISTINCT", operand) for operand in several]
        self.head.plan(distinct)
        self.guards = [*self.trace.guards.values(), *distinct]
        self._check_generators()
        if self.trace.classes:
            self._check_constants()

    def _check_constants(self) -> None:
        """A constant with a stand-in inside has become real: the last class that was captured is left to CPython."""
        captured = self.trace.classes
        for const in self.packer.consts:
            parts = const if issubclass(type(const), (tuple, frozenset)) else getattr(const, "__args__", None)
            for part in (const, getattr(const, "__origin__", None), *(parts if isinstance(parts, (tuple, frozenset)) else ())):
                if isinstance(part, StandIn) or (isinstance(part, type) and type(part).__hash__ is not None and part in captured):
                    raise Retrace(("break", max(recipe.step for recipe in captured.values())))

    def _check_generators(self) -> None:
        """A generator that dies in the region while it waits in a `try` or `with` is left to CPython, which finishes it."""
        heap = self.trace.heap
        for ref in self.trace.cache.get("generators", ()):
            frame = heap.get(ref, generator.FRAME)
            if frame is not None and id(ref) not in self.materializer.made and generator.cleans_up(ref.cls, frame):
                raise Retrace(("break", heap.get(ref, generator.MADE)))

    # -- the graph ----------------------------------------------------------------------------------------------------

    def close_graph(self) -> bool:
        """End the graph with its outputs and remove what nobody needs; False if it need not be called."""
        trace, graph = self.trace, self.trace.graph
        for setter, args in torch_state.finish(trace):
            self.effects.call(setter, *(self.materializer.const(arg) for arg in args))
        for node in reversed(list(graph.nodes)):
            if not node.users and node not in self.materializer.outputs and not _acts(node):
                graph.erase_node(node)
        outputs = self.materializer.outputs
        if not outputs and all(node.op == "placeholder" or node.target in MODE_SETTERS for node in graph.nodes):
            return False
        graph.output(tuple(outputs))
        kept = set(graph.nodes)
        self.inputs = [entry for entry in trace.inputs.values() if entry.node in kept]
        for entry in self.inputs:
            entry.node.target = entry.node.name  # unique, unlike the name it was asked for with
            self.head.want(entry.path)
        return True

    @property
    def tensors(self) -> list[Path]:
        """The paths of the graph's tensor inputs."""
        return [entry.path for entry in self.inputs if not isinstance(entry.value, Number)]

    # -- the program --------------------------------------------------------------------------------------------------

    def add_guards(self, guards: list[Guard]) -> None:
        """Facts found while the backend compiled."""
        self.head.plan(guards)
        self.guards.extend(guards)

    def finish(self, graph: Callable[..., Any] | None, flags: int) -> Lowered:
        """The program that calls `graph` (None: there is nothing to call)."""
        code: list[Instruction | Label] = self.head.emit(self.guards)
        failed, place = Label(), self.trace.cache.get(FINAL) if flags & REPLAY else None  # where an error goes on that is kept
        if graph is not None:
            registers = tuple([self._graph_input(entry, code) for entry in self.inputs])
            outputs = tuple(self.materializer.outputs.values())
            call = Instruction("CALL_GRAPH", (self.packer.const(graph, weak=False), flags, registers, outputs))
            code += [call] if place is None else [Instruction("ON_ERROR", (failed,)), call, Instruction("ON_ERROR", (-1,))]
        tail: list[Instruction | Label] = [] if place is None else [failed, Instruction("RAISE", (EMPTY, place))]
        code += [*after(self.materializer.late, self.materializer.code, self.effects.code), *self.materializer.last, *self.rows, *tail]
        program, notes = self.packer.pack(code, f"{self.root.co_qualname} pc={self.pc}", self.leave.depth)
        return Lowered(program, notes)

    def _graph_input(self, entry: Input, code: list[Instruction | Label]) -> int:
        """The register of a graph input; a float becomes a tensor."""
        register = self.head.registers[entry.path]
        if entry.value.cls is not float:
            return register
        made, function = self.packer.register(), self.packer.register()
        code.append(Instruction("LOAD_CONST", (function, self.packer.const(float_tensor, weak=False))))
        code.append(Instruction("CALL", (made, function, (register,), ())))
        return made

    def lines(self) -> tuple[str, ...]:
        """The guards as text."""
        return tuple(self.head.line(guard) for guard in self.guards)

