"""Suspended generators and coroutines that are given to the captured function: advanced exactly as in eager, without a break."""

from __future__ import annotations

import gc
import inspect
import itertools
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import framejit
import given_uses
from given_uses import compared, everything, first, loop, stepped
from support import Counter, check, outcome, recorded, same

log: list[Any] = []


class Box:
    """Something to compare without looking into it."""

    __slots__ = ("content",)

    def __init__(self, content):
        self.content = content

    def __eq__(self, other):
        return type(other) is Box


def counts(n):
    for i in range(n):
        kept = [i]
        yield kept[0]


def plain():
    a = 1
    b = yield a
    c = yield b
    return a, b, c


def doubles(tensors):
    for one in tensors:
        yield one * 2


def accumulates(n):
    total = 0

    def add(k):
        nonlocal total
        total += k
        return total

    while total < n:
        yield add(total + 1)


def delegates(inner):
    before = yield "start"
    got = yield from inner
    yield got, before


def cleans(items):
    log.append("begin")
    try:
        yield from items
    finally:
        log.append("clean")


def catches(n):
    while n:
        try:
            n -= 1
            got = yield n
            log.append(got)
        except (KeyError, ValueError) as error:
            log.append(type(error).__name__)


def nested(n):
    for i, k in zip(counts(n), (k * k for k in range(n))):
        yield i, k


def defaults(n=3, *, step=2):
    """A docstring."""
    for i in range(0, n * step, step):
        yield {"i": i}


def raises(n):
    yield n
    raise ValueError(n)


class Owner:
    def __init__(self, n):
        self.n = n
        self.made = self.generate()

    def generate(self):
        while self.n:
            self.n -= 1
            yield self.n


KINDS: dict[str, Callable[[], Iterator[Any]]] = {
    "counts": lambda: counts(4),
    "plain": plain,
    "tensors": lambda: doubles([torch.ones(2), torch.zeros(2), torch.ones(1)]),
    "cells": lambda: accumulates(9),
    "expression": lambda: (i * 2 for i in [1, 2, 3]),
    "expression with a cell": lambda: (lambda k: (i * k for i in range(3)))(5),
    "yield from a list": lambda: delegates([1, 2]),
    "yield from a generator": lambda: delegates(counts(2)),
    "yield from twice": lambda: delegates(delegates(counts(2))),
    "try": lambda: cleans([5, 6]),
    "catches": lambda: catches(3),
    "nested": lambda: nested(3),
    "defaults": defaults,
    "method": lambda: Owner(3).made,
    "raises": lambda: raises(1),
    "enumerate": lambda: enumerate(counts(3)),
    "zip": lambda: zip(counts(3), (i for i in "abcd")),
    "map": lambda: map(lambda a: a + 1, counts(3)),
    "filter": lambda: filter(None, counts(4)),
    "islice": lambda: itertools.islice(counts(9), 1, 7, 2),
    "chain of one": lambda: itertools.chain(counts(2)),
    "accumulate": lambda: itertools.accumulate(counts(4)),
    "takewhile": lambda: itertools.takewhile(lambda a: a < 2, counts(4)),
    "starmap": lambda: itertools.starmap(pow, nested(3)),
}


def collected(x, it):
    return list(it), x + 1


def on_the_stack(x, it):
    found = []
    for value in it:
        found.append(value)
        x = x + 1
    return found, x * 2


USES = (*given_uses.USES, collected, on_the_stack)


def sends(x, it):
    return it.send(None), x + 1


def sends_more(x, it):
    found = [next(it, None)]
    for value in ("a", "b"):
        try:
            found.append(it.send(value))
        except StopIteration as stop:
            found.append(("stop", stop.value))
    return found, x + 1


def closes(x, it):
    return it.close(), next(it, "end"), x + 1


def closes_later(x, it):
    a = next(it, "end")
    it.close()
    return a, next(it, "end"), x + 1


def throws(x, it):
    found = []
    for _ in range(2):
        try:
            found.append(it.throw(KeyError("thrown")))
        except (KeyError, StopIteration) as error:
            found.append(str(error))
    return found, x + 1


def throws_the_end(x, it):
    try:
        return it.throw(GeneratorExit), x + 1
    except (GeneratorExit, StopIteration) as error:
        return type(error).__name__, x * 2


METHODS = (sends, sends_more, closes, closes_later, throws, throws_the_end)


def state(it: Any) -> Any:
    """What can be seen of a generator from outside."""
    if not isinstance(it, types.GeneratorType):
        return None
    inner = it.gi_yieldfrom
    frame = it.gi_frame
    place = None if frame is None else (frame.f_lineno, frame.f_lasti)
    return inspect.getgeneratorstate(it), place, frame is not None and bindings(it), type(inner), state(inner), it.__qualname__


def bindings(it: Any) -> dict[str, Any]:
    names = [*it.gi_code.co_cellvars, *it.gi_code.co_freevars, *it.gi_code.co_varnames]
    found = dict(it.gi_frame.f_locals)
    return {name: str(found[name]) if isinstance(found[name], (int, list, str)) else type(found[name]) for name in names if name in found}


@pytest.mark.parametrize("kind", KINDS)
def test_advanced_without_a_break(kind):
    compared(KINDS[kind], USES, False, state, log)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if isinstance(KINDS[kind](), types.GeneratorType)])
def test_methods(kind):
    compared(KINDS[kind], METHODS, kind == "nested", state, log)  # its end drops iterators that the region did not look at


# -- where they are found -----------------------------------------------------------------------------------------------


class Holder:
    def __init__(self, it):
        self.it = it
        self.taken = []

    def take(self, x):
        self.taken.append(next(self.it))
        return x + 1


def _with(make):
    return lambda: (torch.arange(3.0), make())


@check(lambda: (torch.arange(3.0), Holder(counts(3))), lambda: (torch.arange(3.0), Holder(stepped(counts(3), 1))))
def test_an_attribute(x, holder):
    for value in holder.it:
        x = x + value
        break
    return holder.take(x), list(holder.it), holder.taken


shared = counts(100_000)


def test_a_global_is_one_region_per_state():
    framejit.reset()
    counter = Counter()

    def take(x):
        return x + next(shared)

    with recorded(framejit.events.Break) as seen, framejit.config.patch(strict=True):
        compiled = framejit.compile(take, backend=counter)
        for i in range(12):
            same(compiled(torch.zeros(1)), torch.zeros(1) + i)
    assert not seen and counter.graphs <= 3 and next(shared) == 12


def test_a_closure():
    it = doubles([torch.ones(1), torch.ones(1) * 2])

    def take(x):
        return next(it) + x

    with recorded(framejit.events.Break) as seen, framejit.config.patch(strict=True):
        compiled = framejit.compile(take, backend="eager")
        same([compiled(torch.ones(1)), compiled(torch.ones(1))], [torch.ones(1) * 3, torch.ones(1) * 5])
        with pytest.raises(StopIteration):
            compiled(torch.ones(1))
    assert {each.reason.id for each in seen} <= {"UNCAUGHT_EXCEPTION", "GENERATOR_OPERATION"}  # the second of the body, run by CPython


@check(breaks=1, graphs=2)
def test_behind_a_break(x):
    it = (i * 2 for i in range(4))
    x = x + next(it)
    framejit.graph_break()
    return x + next(it), list(it)


@check(breaks=3)
def test_a_break_in_each_turn(x):
    total = 0
    for value in counts(3):
        x = x + value
        framejit.graph_break()
        total += value
    return x, total


@check(_with(lambda: (stepped(counts(5), 1), enumerate(stepped(counts(5), 2)))))
def test_containers(x, its):
    return [next(its[0]), *its[1]], x + 1


@check(_with(lambda: stepped(delegates(counts(3)), 1)))
def test_the_inner_one_is_advanced_too(x, it):
    inner = it.gi_yieldfrom
    a = it.send("sent")
    return a, next(it), x + 1, inner is None, it.gi_yieldfrom is not None


@check(_with(lambda: [counts(3)] * 2))
def test_one_by_two_names(x, its):
    first, second = its
    return next(first), next(second), first is second, x + 1


@check(_with(lambda: itertools.tee(counts(3))))
def test_behind_a_tee(x, its):
    x = x * 2
    return next(its[0]), x, next(its[0])


# -- what they hold -----------------------------------------------------------------------------------------------------


def test_values_of_the_region_stay_in_the_frame():
    def body(x):
        y = x
        while True:
            y = yield y * 2

    def use(it, x):
        return it.send(x + 1)

    for compiled in (use, framejit.compile(use, backend="eager")):
        it = body(torch.ones(2))
        next(it)
        with recorded(framejit.events.Break) as seen:
            found = compiled(it, torch.ones(2))
        same([found, it.gi_frame.f_locals["y"]], [torch.ones(2) * 4, torch.ones(2) * 2])
        assert not seen


def shares():
    count = 0

    def bump():
        nonlocal count
        count += 1
        return count

    def body():
        yield bump

    return body(), Box(bump)


@check(lambda: (torch.ones(1), *shares()))
def test_cells_are_shared(x, it, box):
    bump = box.content
    a = bump()
    other = next(it)
    return a, other(), other is bump, bump(), x + 1


def grows(table):
    for key in table:
        table[key] += 1
        yield key, table[key]


@check(_with(lambda: (lambda table: (table, grows(table)))({"a": 1, "b": 2})))
def test_what_the_body_writes(x, found):
    table, it = found
    a = next(it)
    table["a"] = 10
    return a, list(it), table, x + 1


class Dies:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        log.append(self.name)


def holds(names):
    for name in names:
        thing = Dies(name)
        yield len(log)
    del thing
    yield len(log)


def finalized(use, make):
    """What happens, with the log of finalizers, in eager and captured."""
    results = []
    for compiled in (use, framejit.compile(use, backend="eager")):
        log.clear()
        it = make()
        results.append((outcome(compiled, (torch.ones(1), it), "")[:3], [*log]))
        del it
        gc.collect()
        results[-1] += ([*log],)
    same(results[1], results[0])


def takes_two(x, it):
    a = next(it)
    log.append("between")
    return a, next(it), x + 1


def drops(x, it):
    x = x + 1
    log.append("before")
    del it
    log.append("after")
    return x


def in_a_try(log):
    try:
        yield 1
    finally:
        log.append("finally")


@pytest.mark.parametrize("steps", (0, 1, 2))
def test_finalizers_run_where_they_do(steps):
    for use in (first, takes_two, drops, collected, closes):
        framejit.reset()
        finalized(use, lambda: stepped(holds("abc"), steps))


def test_a_clean_up_runs_where_it_does():
    for use, steps in itertools.product((first, drops, collected, closes, loop, throws), (0, 1, 2)):
        framejit.reset()
        finalized(use, lambda: stepped(in_a_try(log), steps))
        finalized(use, lambda: stepped(delegates(in_a_try(log)), steps))


def lets_go(x, box):
    it = box.pop()
    log.append(next(it))
    for _ in it:
        break
    it = None
    log.append("dropped")
    return x + 1


def test_the_last_reference_is_in_the_frame():
    for make in (lambda: [counts(5)], lambda: [holds("ab")], lambda: [cleans([5, 6, 7])]):
        framejit.reset()
        finalized(lets_go, make)


def test_nothing_is_kept_alive():
    thing = torch.ones(3)
    it = doubles([thing, thing])
    gone = weakref.ref(thing), weakref.ref(it)
    compiled = framejit.compile(first, backend="eager")
    compiled(torch.ones(1), it)
    compiled(torch.ones(1), it)
    compiled(torch.ones(1), it)
    del thing, it
    assert gone[0]() is None and gone[1]() is None


# -- what is left to CPython --------------------------------------------------------------------------------------------


def handling():
    try:
        raise KeyError("handled")
    except KeyError as error:
        yield 1
        yield repr(error)


def looks():
    there = 1
    yield sorted(locals())
    yield there


@check(_with(lambda: stepped(handling(), 1)), breaks=1)
def test_one_that_handles_an_exception(x, it):
    x = x * 2
    return next(it), x + 1


@check(_with(handling), graphs=2, breaks=1)
def test_one_that_comes_to_handle_an_exception(x, it):
    x = x * 2
    return next(it), x + 1


@check(_with(looks), breaks=1)
def test_one_that_looks_at_its_locals(x, it):
    x = x * 2
    return next(it), next(it), x


def test_a_frame_that_is_held():
    for compiled in (everything, framejit.compile(everything, backend="eager")):
        it = counts(3)
        next(it)
        frame = it.gi_frame
        taken, end, _ = compiled(torch.ones(1), it)
        assert taken == [1, 2] and end == "end" and frame.f_locals["i"] == 2 and it.gi_frame is None
    it = counts(3)
    names = it.gi_frame.f_locals
    assert compiled(torch.ones(1), it)[0] == [0, 1, 2] and names == {"n": 3}


def test_one_that_runs():
    def body():
        x = torch.ones(1)
        for compiled in (first, framejit.compile(first, backend="eager")):
            try:
                yield compiled(x, running)
            except ValueError as error:
                yield str(error)

    running = body()
    assert next(running) == next(running) == "generator already executing"


def prints(log):
    yield 1
    framejit.graph_break()
    yield 2


@check(_with(lambda: prints(log)), breaks=1)
def test_a_break_in_the_body(x, it):
    x = x * 2
    return list(it), x


@check(_with(lambda: counts(4)), breaks=1)
def test_a_frame_that_was_shown(x, it):
    shown = it.gi_frame is None
    x = x * 2
    return shown, next(it), x


def test_a_frame_that_is_shown():
    def use(x, it):
        states = [inspect.getgeneratorstate(it)]
        for _ in range(2):
            x = x * 2
            next(it, None)
            states.append(inspect.getgeneratorstate(it))
        return states, it.gi_frame, x

    same(framejit.compile(use, backend="eager")(torch.ones(1), counts(1)), use(torch.ones(1), counts(1)))


@check(_with(lambda: stepped(counts(1), 1)))
def test_states(x, it):
    before = inspect.getgeneratorstate(it), it.gi_running, it.gi_suspended, it.gi_code.co_name, it.__name__
    return before, next(it, None), inspect.getgeneratorstate(it), it.gi_frame, it.gi_code is counts.__code__, x + 1


@check(_with(lambda: counts(1)))
def test_names(x, it):
    it.__name__ = "other"
    return next(it), it.__name__, it.__qualname__, x + 1


def test_a_compiled_generator_is_another_type():
    compiled = framejit.compile(counts, backend="eager")
    it = compiled(3)
    assert next(it) == 0 and framejit.compile(first, backend="eager")(torch.ones(1), it)[0] == 1 and list(it) == [2]


def many():
    for i in range(3):
        yield i
    yield "a"
    yield "b"
    yield "c"
    yield from range(5, 8)
    yield "d"
    yield "e"


def test_many_places_do_not_recompile_for_ever():
    framejit.reset()
    counter, it, ended = Counter(), many(), []
    unsubscribe = framejit.events.subscribe(ended.append, framejit.events.Fallback)
    compiled = framejit.compile(first, backend=counter)
    expected = [*many(), *["end"] * 4]
    assert [compiled(torch.ones(1), it)[0] for _ in expected] == expected
    unsubscribe()
    assert counter.graphs <= 8 and not ended


def test_loops_of_many_lengths():
    framejit.reset()
    counter, ended, data = Counter(), [], [torch.ones(1) * k for k in range(40)]

    def total(x, it):
        for each in it:
            x = x + each
        return x

    unsubscribe = framejit.events.subscribe(ended.append, framejit.events.Fallback)
    compiled = framejit.compile(total, backend=counter)
    for length in (3, 7, 12, 25, 31, 40, 5, 1, 18, 39, 2):
        same(compiled(torch.ones(1), doubles(data[:length])), total(torch.ones(1), doubles(data[:length])))
    unsubscribe()
    assert not ended, ended
    assert max(len(module.graph.nodes) for module in counter.modules) < 150 and counter.graphs < 25
