"""Generators at the ends of their lives, and what collecting the items of an iterable does besides."""

import contextlib
import inspect
from collections import deque

import framejit
import torch
from support import check

log = []


def guarded(n):
    try:
        yield n
        yield n + 1
    finally:
        log.append(n)


@contextlib.contextmanager
def managed(n):
    log.append(n)
    yield n
    log.append(-n)


@check(breaks=1)
def test_finished_generators_are_of_their_function(x):
    def squares(n):
        for i in range(n):
            yield i * i

    generator = squares(3)
    total = sum(generator)
    x = x + total
    framejit.graph_break()
    return x, generator.__name__, generator.gi_code is squares.__code__, list(generator)


@check(breaks=None, graphs=2)
def test_a_dropped_generator_runs_its_finally_where_it_dies(x):
    log.clear()
    generator = guarded(5)
    first = next(generator)
    x = x + first
    generator = None
    seen = list(log)
    return x * 2, seen


@check(breaks=None, graphs=1)
def test_a_generator_left_in_a_loop_is_finished_at_the_return(x):
    log.clear()

    def body(x):
        for item in guarded(3):
            return x + item

    result = body(x)
    log.append("after")
    return result, list(log)


@check()
def test_generators_that_end_in_the_region_need_no_break(x):
    log.clear()
    with managed(3) as n:
        x = x + n
    return x, list(guarded(1)), list(log)


class Sized:
    def __init__(self, *items):
        self.items = items

    def __len__(self):
        log.append("len")
        return len(self.items)

    def __iter__(self):
        log.append("iter")
        return iter(self.items)


class Hinted(Sized):
    __len__ = None

    def __length_hint__(self):
        log.append("hint")
        return NotImplemented


@check()
def test_collecting_asks_for_the_length(x):
    log.clear()
    found = []
    for thing in (Sized(1, 2), Hinted(3)):
        found.append([list(thing), [*thing], (*thing,), tuple(thing), sorted(thing), set(thing), dict.fromkeys(thing), max(*thing, 0), [k for k in thing]])
        found[0] += thing
        found[0][:1] = thing
        found.append("".join(map(str, thing)))
    first, *rest = Sized(1, 2)
    return x + first, found, rest, list(log)


class Unsized(Sized):
    def __len__(self):
        raise ValueError("no length")


@check()
def test_collecting_passes_errors_of_the_length_on(x):
    try:
        list(Unsized(1))
    except ValueError as error:
        return x + 1, error.args


@check()
def test_items_are_used_one_by_one(x):
    log.clear()

    def note(item):
        log.append(item)
        return item

    class Number:
        def __init__(self, value):
            self.value = value

        def __add__(self, other):
            return Number(note(("add", self.value, other.value)) and self.value + other.value)

        __radd__ = lambda self, other: self

        def __lt__(self, other):
            return note(("less", self.value, other.value)) and self.value < other.value

    caught = []
    for run in (
        lambda: sum(note(k) for k in (1, None, 2)),
        lambda: sum(Number(note(k)) for k in (1, 2, 3)).value,
        lambda: min(Number(note(k)) for k in (2, 1)).value,
        lambda: max((note(k) for k in (1, 2)), key=lambda k: note(-k)),
        lambda: dict((note(k), 1) if k else None for k in (2, 0, 3)),
        lambda: max((note(k) for k in ()), default=7),
        lambda: sum([0.1] * 10) + sum([True, 2], 0.5),
    ):
        try:
            caught.append(run())
        except TypeError as error:
            caught.append(str(error))
    return x + 1, caught, list(log)


@check()
def test_errors_in_the_middle_leave_what_came_before(x):
    def items():
        yield 1
        raise KeyError(2)

    filled = deque(), [], {}
    for fill in (filled[0].extend, filled[1].extend, lambda source: filled[2].update((k, k) for k in source)):
        try:
            fill(items())
        except KeyError as error:
            log.append(error.args)
    return x + 1, filled


@check()
def test_a_generator_that_raises_stop_iteration_names_its_cause(x):
    def numbers():
        try:
            yield 1
        except KeyError:
            next(iter(()))

    running = numbers()
    next(running)
    try:
        running.throw(KeyError(2))
    except RuntimeError as error:
        cause = error.__cause__
        return x + 1, str(error), type(cause), cause is error.__context__, error.__suppress_context__, type(cause.__context__)


@contextlib.contextmanager
def noting(log):
    log.append("enter")
    try:
        yield
    finally:
        log.append("leave")


@check()
def test_stop_iteration_passes_a_context_manager(x):
    log = []
    try:
        with noting(log):
            next(iter(()))
    except StopIteration as error:
        return x + 1, log, error.args


def closes(log):
    try:
        yield 1
    finally:
        log.append("closed")


@check(lambda: (torch.ones(2), True, []), lambda: (torch.ones(2), False, []), graphs=3, breaks=2)
def test_what_lies_in_a_dead_local_stays_there(x, simple, log):
    if not simple:
        running = closes(log)
        x = x + next(running)
    framejit.graph_break()
    y = x * 2
    framejit.graph_break()
    log.append("end")
    z = y + len(log)
    return z, list(log)


@check(lambda: (torch.ones(2), True, []), lambda: (torch.ones(2), False, []), graphs=4, breaks=2)
def test_what_a_deleted_local_held_is_gone(x, simple, log):
    if not simple:
        running = closes(log)
        x = x + next(running)
    framejit.graph_break()
    running = x * 2
    del running
    log.append("deleted")
    framejit.graph_break()
    return x + len(log), list(log)


@check(breaks=0)
def test_the_context_of_what_is_thrown_through_yield_from(x):
    def inner():
        yield

    def outer():
        try:
            raise KeyError("a")
        except KeyError:
            yield from inner()

    generator = outer()
    generator.send(None)
    try:
        generator.throw(ValueError)
    except ValueError as error:
        return x + 1, repr(error.__context__)


async def waits(n):
    return n


async def gives(n):
    yield n


def refused(send):
    try:
        send(1)
    except TypeError as error:
        return str(error)


@check(breaks=4)
def test_built_ones_have_not_started(x):
    one, other, third = guarded(1), waits(2), gives(3)
    framejit.graph_break()
    y = x + 1
    states = inspect.getgeneratorstate(one), inspect.getcoroutinestate(other)
    told = refused(one.send), refused(other.send), refused(third.asend(1).send)
    other.close()
    return y, states, told, list(one)
