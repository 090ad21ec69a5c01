"""Async functions and generators that are compiled themselves: what they await runs in their regions until it waits."""

from __future__ import annotations

import asyncio

import pytest
import torch

import framejit
from support import Counter, same

SPLITS = ("GENERATOR_OPERATION",)  # where a body starts, waits and ends


async def doubled(x):
    return x * 2


async def slowly(x, log):
    log.append("before")
    try:
        await asyncio.sleep(0)
        log.append("between")
        await asyncio.sleep(0)
    finally:
        log.append("behind")
    return x + 1


class Block:
    def __init__(self, log):
        self.log = log

    async def __aenter__(self):
        self.log.append("enter")
        return 5

    async def __aexit__(self, kind, value, traceback):
        self.log.append(kind and kind.__name__)
        return True


class Countdown:
    def __init__(self, number):
        self.number = number

    def __aiter__(self):
        return self

    async def __anext__(self):
        if not self.number:
            raise StopAsyncIteration
        self.number -= 1
        return self.number


async def awaits(x, log):
    y = await doubled(x)
    return await doubled(y + 1)


async def enters(x, log):
    async with Block(log) as five:
        x = await doubled(x + five)
        raise KeyError("swallowed")
    return x.sin()


async def loops(x, log):
    async for number in Countdown(3):
        x = x + number
    log.append([number async for number in Countdown(2)])
    return x * 2


async def with_default(x, log):
    it = Countdown(1)
    for _ in range(3):
        log.append(await anext(it, "end"))
    return x + 1


async def fails(x, log):
    try:
        await raises(x)
    except ValueError as error:
        log.append(str(error))
    return x.sin()


async def raises(x):
    raise ValueError(tuple(x.shape))


async def waits(x, log):
    y = x * 2
    z = await slowly(y, log)
    return z + await slowly(x, log)


async def waits_for_both(x, log):
    one, other = await asyncio.gather(slowly(x, log), slowly(x * 2, log))
    return one + other


async def is_cancelled(x, log):
    try:
        await asyncio.wait_for(forever(log), 0.01)
    except asyncio.TimeoutError:
        log.append("late")
    return x.sin()


async def forever(log):
    try:
        await asyncio.sleep(100)
    finally:
        log.append("stopped")


STRAIGHT = (awaits, enters, loops, with_default, fails)


def run(function, x):
    log = []
    return asyncio.run(function(x, log)), log


@pytest.mark.parametrize("function", STRAIGHT)
def test_one_region_where_nothing_waits(function):
    framejit.reset()
    counter, seen = Counter(), []
    x = torch.arange(3.0)
    with framejit.config.patch(strict=True):
        compiled = framejit.compile(function, backend=counter)
        unsubscribe = framejit.events.subscribe(seen.append, framejit.events.Break)
        for _ in range(3):
            same(run(compiled, x), run(function, x))
        unsubscribe()
    assert counter.graphs == 1
    assert {record.reason.id for record in seen} <= set(SPLITS), seen


@pytest.mark.parametrize("function", [waits, waits_for_both, is_cancelled])
def test_what_waits_in_an_event_loop(function):
    framejit.reset()
    counter = Counter()
    x = torch.arange(3.0)
    with framejit.config.patch(strict=True):
        compiled = framejit.compile(function, backend=counter)
        for _ in range(4):
            same(run(compiled, x), run(function, x))
    assert counter.graphs >= 1


def inner(x):
    got = yield x + 1
    try:
        got = yield x * got
    except KeyError as error:
        got = yield error.args
    return got


def outer(x):
    found = yield from inner(x * 2)
    yield from [1, 2]
    return found, x.sin()


def told(generator):
    steps = [next(generator), generator.send(3), generator.throw(KeyError("thrown")), generator.send("last"), next(generator)]
    try:
        generator.send(None)
    except StopIteration as stop:
        return [*steps, stop.value]


def closed(generator):
    steps = [next(generator), generator.send(3)]
    generator.close()
    return steps, generator.gi_frame


def left(generator):
    return next(generator), generator.gi_yieldfrom.__name__, generator.gi_frame.f_lineno


@pytest.mark.parametrize("use", [told, closed, left])
def test_yield_from(use):
    framejit.reset()
    with framejit.config.patch(strict=True):
        compiled = framejit.compile(outer, backend="eager")
        for _ in range(3):
            same(use(compiled(torch.arange(3.0))), use(outer(torch.arange(3.0))))


class Shown:
    """Shows another dict than the one that it has."""

    __dict__ = {"number": 1}

    def __init__(self):
        self.number = 5


def reads(x, shown):
    return x * shown.number, shown.__dict__


def test_a_dict_that_the_class_hides():
    framejit.reset()
    with framejit.config.patch(strict=True):
        compiled = framejit.compile(reads, backend="eager")
        for _ in range(2):
            same(compiled(torch.ones(2), Shown()), reads(torch.ones(2), Shown()))


def test_what_a_compiled_function_returned_outlives_it():
    graphs = []

    def backend(graph_module, example_inputs):
        graphs.append(graph_module)
        return graph_module.forward

    def numbers(x):
        yield x + 1
        yield x + 2

    async def later(x):
        return x * 3

    x = torch.ones(2)
    torch.testing.assert_close(list(framejit.compile(numbers, backend=backend)(x)), [x + 1, x + 2])
    assert len(graphs) == 2
    torch.testing.assert_close(asyncio.run(framejit.compile(later, backend=backend)(x)), x * 3)
    assert len(graphs) == 3
