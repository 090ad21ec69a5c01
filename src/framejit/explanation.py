"""The report of `framejit.explain`: what was captured, what was not and why, and what is checked on every call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from framejit import events
from framejit.core.where import OWN_CODE, Where, format_chain
from framejit.reasons import R


@dataclass(frozen=True)
class BreakReport:
    """One place where capture stopped; `location` is "file:line" of the innermost user line."""

    reason: R
    guilty: str
    detail: str
    chain: tuple[Where, ...]

    @property
    def location(self) -> str:
        """The innermost user line, as "file:line"."""
        shown = [where for where in self.chain if where.code.co_filename != OWN_CODE]
        return str(shown[-1]) if shown else "?"

    @property
    def text(self) -> str:
        """The reason, the guilty value, the user's lines with carets, and a hint."""
        lines = [f"{self.reason.text} [{self.reason.id}]"]
        if self.guilty:
            lines.append(f"  guilty: {self.guilty}")
        if self.detail:
            lines.append(f"  detail: {self.detail}")
        if shown := format_chain(self.chain):
            lines.append(shown)
        lines.append(f"  hint: {self.reason.hint}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class GraphReport:
    """One graph as it went to the backend; `operators` names its calls in order, `code` is its Python code."""

    operators: tuple[str, ...]
    code: str
    graph_module: Any

    def __str__(self) -> str:
        return self.code


@dataclass
class Report:
    """What one call captured; seconds are wall time, `.programs` and `.guards` are text."""

    result: Any = None
    graphs: list[GraphReport] = field(default_factory=list)
    breaks: list[BreakReport] = field(default_factory=list)
    guards: list[str] = field(default_factory=list)
    programs: list[str] = field(default_factory=list)
    fallbacks: list[str] = field(default_factory=list)
    recompiles: int = 0
    regions: int = 0
    instructions: int = 0
    capture_seconds: float = 0.0
    backend_seconds: float = 0.0

    @property
    def operators(self) -> int:
        """Operators in all graphs together."""
        return sum(len(graph.operators) for graph in self.graphs)

    def summary(self) -> str:
        """One line of figures."""
        return (
            f"{len(self.graphs)} graphs, {self.operators} operators, {len(self.breaks)} breaks, "
            f"{len(self.guards)} guards, capture {self.capture_seconds:.3f} s, backend {self.backend_seconds:.3f} s"
        )

    def __str__(self) -> str:
        parts = [self.summary()]
        for number, row in enumerate(self.breaks, 1):
            parts.append(f"\nBreak {number}: {row.text}")
        for text in self.fallbacks:
            parts.append(f"\nNot captured: {text}")
        for number, graph in enumerate(self.graphs):
            parts.append(f"\nGraph {number} ({len(graph.operators)} operators):\n  " + "\n  ".join(graph.operators))
        if self.guards:
            parts.append(f"\nGuards ({len(self.guards)}):\n  " + "\n  ".join(self.guards))
        for text in self.programs:
            parts.append(f"\nProgram: {text}")
        return "\n".join(parts)


class Recorder:
    """Fills a report with what this thread captures inside a `with` block."""

    def __init__(self) -> None:
        self.report = Report()
        self._thread = threading.get_ident()
        self._stop: Callable[[], None] | None = None

    def __enter__(self) -> Report:
        self._stop = events.subscribe(self._record)
        return self.report

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._stop is not None
        self._stop()

    def _record(self, event: events.Event) -> None:
        if event.thread != self._thread:
            return
        report = self.report
        match event:
            case events.GraphCaptured():
                report.graphs.append(_graph(event.graph))
            case events.GraphCompiled():
                report.backend_seconds += event.seconds
            case events.Break():
                report.breaks.append(BreakReport(event.reason, event.guilty, event.detail, event.chain))
            case events.CaptureEnd():
                report.regions += 1
                report.instructions += event.instructions
                report.capture_seconds += event.seconds
                report.guards.extend(event.guards)
                report.programs.append(str(event.program[0]))
            case events.Recompile():
                report.recompiles += 1
            case events.Fallback():
                name = f"{event.code.co_qualname} ({event.code.co_filename}:{event.code.co_firstlineno})"
                report.fallbacks.append(f"{name}: {event.reason.text} [{event.reason.id}] {event.detail}".rstrip())


def _graph(graph_module: Any) -> GraphReport:
    names = tuple(
        node.target if isinstance(node.target, str) else _name(node.target)
        for node in graph_module.graph.nodes
        if node.op.startswith("call")
    )
    return GraphReport(names, graph_module.code.strip(), graph_module)


def _name(target: Any) -> str:
    name = getattr(target, "__name__", None) or repr(target)
    module = getattr(target, "__module__", None)
    return f"{module}.{name}" if module else str(name)
