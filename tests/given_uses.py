"""What is done to an iterator or generator that was advanced before it is given: eager and captured, without a break."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

import framejit
from support import Counter, outcome, recorded, same


def first(x, it):
    return next(it, "end"), x + 1


def everything(x, it):
    taken = list(itertools.islice(it, 20))
    return taken, next(it, "end") if len(taken) < 20 else None, x + 1


def between(x, it):
    a = next(it, None)
    x = x * 2
    return a, next(it, None), x


def loop(x, it):
    found = []
    for value in it:
        found.append(value)
        x = x + 1
        if len(found) == 2:
            break
    return found, x * 2


def wrapped(x, it):
    return list(zip(range(2), enumerate(it))), x + 1


def handed_on(x, it):
    a = next(it, None)
    return a, it, x + 1


USES = (first, everything, between, loop, wrapped, handed_on)


def stepped(it, steps):
    for _ in range(steps):
        with contextlib.suppress(ValueError):
            next(it, None)
    return it


def rest(it):
    return [outcome(lambda: list(itertools.islice(it, 8)), (), "")[:3] for _ in range(2)]


def compared(
    make: Callable[[], Iterator[Any]],
    uses: Sequence[Callable[..., Any]],
    breaks: bool = False,
    state: Callable[[Any], Any] = type,
    log: list[Any] | None = None,
) -> None:
    """Each use does the same in eager and captured, and leaves the iterator in the same state, `log` too; `breaks` allows breaks."""
    log = [] if log is None else log
    for steps, use in itertools.product((0, 1, 2, 7), uses):
        framejit.reset()
        counter, where = Counter(), f"{use.__name__} after {steps} steps"
        with recorded(framejit.events.Break) as seen, framejit.config.patch(strict=True):
            compiled = framejit.compile(use, backend=counter)
            for _ in range(2):
                log.clear()
                theirs = stepped(make(), steps)
                expected, after, logged = outcome(use, (torch.ones(2), theirs), ""), state(theirs), list(log)
                log.clear()
                mine = stepped(make(), steps)
                found = outcome(compiled, (torch.ones(2), mine), "")
                assert log == logged, f"{where}: {log} instead of {logged}"
                assert state(mine) == after, f"{where}: {state(mine)} instead of {after}"
                if use is handed_on and expected[0] == "value":
                    assert found[1][1] is mine
                    found, expected = (found[1][0], found[1][2]), (expected[1][0], expected[1][2])
                same(found[:3], expected[:3], where)
                same(rest(mine), rest(theirs), f"{where}: what is left")
        raised, told = expected[0] == "raised", [f"{record.reason.id} {record.detail}" for record in seen]
        assert breaks or raised or not told, f"{where}: {told}"
        assert counter.graphs or raised, f"{where}: no graph"
