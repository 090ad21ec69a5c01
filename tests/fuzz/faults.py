"""Faults put into framejit while a program runs: guards that fail though nothing has changed, regions cut after few instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

import framejit
from framejit import capture
from framejit.core.state import Exit

LIMITS = {"recompile_limit": 1000, "accumulated_recompile_limit": 10000}


class Guards:
    """Counts the guards that pass, and reports every n-th one as failed; a region made for a frame does take that frame."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.count = self.failed = 0
        self.alive: list[Callable[[], bool]] = []  # regions hold them weakly

    def predicate(self, weight: int) -> Callable[[], bool]:
        """The last check of a region with so many guards."""
        runs = 0

        def check() -> bool:
            nonlocal runs
            runs += 1
            before = self.count // self.every
            self.count += weight
            failed = runs > 1 and self.count // self.every != before
            self.failed += failed
            return not failed

        self.alive.append(check)
        return check

    def interpreter(self) -> type[capture.Interpreter]:
        """The interpreter of regions with such a check."""
        guards = self

        class Interpreter(capture.Interpreter):
            def run(self) -> Exit:
                leave = super().run()
                self.trace.guard(None, "PY", guards.predicate(len(self.trace.guards) + 1))
                return leave

        return Interpreter


@contextmanager
def faults(guards: int, instructions: int) -> Iterator[Guards]:
    """Every so many guards fail, regions end after so many instructions; 0 for neither."""
    failing = Guards(guards or 1)
    settings = dict(LIMITS) if guards or instructions else {}
    if instructions:
        settings.update(instruction_limit=instructions, capture_without_tensors=True)
    with mock.patch.object(capture, "Interpreter", failing.interpreter() if guards else capture.Interpreter):
        if not settings:
            yield failing
            return
        with framejit.config.patch(settings):
            yield failing
