"""Counts of what happened, by name, since the process started or `reset` was called."""

from __future__ import annotations

import threading
from collections import Counter

from framejit import events

_LOCK = threading.Lock()
counters: dict[str, Counter[str]] = {}
"""Counters by kind: `frames`, `graph_break` (by reason id), `fallback` (by reason id), `backend` (graphs by name) and
`microseconds` (spent in capture and in backends)."""


def _count(event: events.Event) -> None:
    rows: list[tuple[str, str, int]] = []
    match event:
        case events.CaptureStart():
            rows = [("frames", "captures", 1)]
        case events.CaptureEnd():
            rows = [
                ("frames", "regions", 1),
                ("frames", "guards", len(event.guards)),
                ("microseconds", "capture", round(event.seconds * 1e6)),
            ]
        case events.GraphCompiled():
            rows = [
                ("frames", "graphs", 1),
                ("frames", "operators", event.operators),
                ("backend", event.backend, 1),
                ("microseconds", "backend", round(event.seconds * 1e6)),
            ]
        case events.Break():
            rows = [("graph_break", event.reason.id, 1)]
        case events.Recompile():
            rows = [("frames", "recompiles", 1)]
        case events.Fallback():
            rows = [("fallback", event.reason.id, 1)]
        case events.Retraced():
            rows = [("frames", "retraces", 1)]
    with _LOCK:
        for kind, name, number in rows:
            counters.setdefault(kind, Counter())[name] += number


def clear() -> None:
    """Forget all counts."""
    with _LOCK:
        counters.clear()


def snapshot() -> dict[str, dict[str, int]]:
    """A copy of all counts."""
    with _LOCK:
        return {kind: dict(counter) for kind, counter in counters.items()}


events.subscribe(_count)
