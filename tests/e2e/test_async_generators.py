"""Asynchronous generators and what awaits them, driven inside the captured function."""

from __future__ import annotations

import contextlib

import pytest
import torch

import framejit
from support import Counter, check, same


class Pause:
    def __init__(self, value):
        self.value = value

    def __await__(self):
        return (yield self.value) or self.value


class Absorbing:
    async def __aenter__(self):
        return await Pause("enter")

    async def __aexit__(self, kind, value, traceback):
        return kind is ValueError


async def counts(n):
    for i in range(n):
        yield await Pause(i)


async def cleans():
    try:
        yield 1
        yield 2
    except ValueError as error:
        yield f"caught {error}"
    finally:
        await Pause("cleaned")


async def echoes():
    sent = yield
    while True:
        sent = yield sent


async def stops(kind):
    yield 1
    raise kind(3)


async def holds_on():
    try:
        yield 1
    finally:
        yield 5


@contextlib.asynccontextmanager
async def managed(n):
    await Pause(n)
    try:
        yield n + 1
    except ValueError:
        pass
    finally:
        await Pause("out")


async def said(awaited):
    try:
        return await awaited
    except Exception as error:
        return repr(error), repr(error.__cause__)


def drive(coroutine):
    paused = []
    try:
        while True:
            paused.append(coroutine.send(None))
    except StopIteration as stop:
        return stop.value, paused


async def loops():
    found = [item async for item in counts(3)]
    async for item in counts(4):
        if item == 2:
            break
    else:
        found.append("else")
    return found, {item: item async for item in counts(2)}, item


async def expressions():
    doubled = (item * 2 async for item in counts(3) if item)
    return [item async for item in doubled], await anext(counts(2)), await anext(aiter(counts(2)))


async def steps():
    generator = counts(3)
    return await generator.__anext__(), await generator.asend(None), await generator.aclose(), await said(anext(generator))


async def throws():
    generator = cleans()
    first = await anext(generator)
    caught = await generator.athrow(ValueError("q"))
    return first, caught, await said(anext(generator)), await said(generator.athrow(KeyError, 3))


async def leaves_early():
    generator = cleans()
    async for _ in generator:
        break
    return await said(generator.asend(3)), await generator.aclose(), await said(generator.asend(3))


async def sends():
    generator = echoes()
    wrong, none = await said(generator.asend(1)), await generator.asend(None)
    step = generator.asend(8)
    return wrong, none, await generator.asend(7), await step, await said(step), await said(generator.athrow(KeyError, 3)), await said(anext(generator))


async def ends():
    found = []
    for kind in (StopIteration, StopAsyncIteration, KeyError):
        generator = stops(kind)
        found += [await said(anext(generator)), await said(anext(generator)), await said(anext(generator))]
    return found


async def ignores_its_end():
    generator = holds_on()
    closing = generator.aclose()
    return await anext(generator), await said(closing), await said(closing)


async def runs_twice():
    generator = counts(3)
    step = generator.__anext__()
    paused = step.send(None)
    found = [await said(anext(generator)), await said(generator.aclose()), await said(generator.athrow(KeyError))]
    try:
        step.throw(ValueError(3))
    except ValueError as error:
        found.append(repr(error))
    step.close()
    return paused, found, await said(step), generator.__name__


async def wrong_uses():
    found = []
    for attempt in (lambda: iter(counts(2)), lambda: next(counts(2)), lambda: list(counts(2)), lambda: anext(3), lambda: aiter(3)):
        try:
            attempt()
        except TypeError as error:
            found.append(str(error))
    return found, await said(counts(2))


async def contexts():
    async with Absorbing() as entered:
        async with managed(3) as one:
            raise ValueError
    async with managed(4) as two:
        raise ValueError
    async with contextlib.AsyncExitStack() as stack:
        three = await stack.enter_async_context(managed(1))
    async with contextlib.aclosing(counts(3)) as generator:
        async for four in generator:
            break
    return entered, one, two, three, four


USES = [loops, expressions, steps, throws, leaves_early, sends, ends, runs_twice, wrong_uses, contexts]


@pytest.mark.parametrize("use", USES)
def test_driven_inside(use):
    def run(x):
        return x + 1, drive(use())

    framejit.reset()
    counter = Counter()
    compiled = framejit.compile(run, backend=counter, fullgraph=True)
    for _ in range(2):
        same(compiled(torch.ones(2)), run(torch.ones(2)))
    assert counter.graphs == 1


def alive_at_a_break(x):
    generator = counts(3)
    first = generator.__anext__()
    paused = first.send(None)
    framejit.graph_break()
    try:
        first.send(5)
    except StopIteration as stop:
        return x + stop.value, paused, drive(generator.__anext__())


def leaves(x):
    generator = echoes()
    drive(generator.asend(None))
    return x + 1, generator


def comes(x, generator):
    return x + 1, [drive(anext(generator)) for _ in range(2)]


@pytest.mark.parametrize("use", [
    alive_at_a_break,
    lambda x: (x + 1, drive(ignores_its_end())),
    lambda x: drive(leaves(x)[1].asend(4)),
    lambda x: comes(x, counts(4)),
])  # fmt: skip
def test_those_that_CPython_has_to_run(use):
    framejit.reset()
    same(framejit.compile(use, backend="eager")(torch.ones(2)), use(torch.ones(2)))
    same(drive(framejit.compile(leaves, backend="eager")(torch.ones(2))[1].asend(4)), (4, []))
    same(framejit.compile(comes, backend="eager")(torch.ones(2), counts(4)), comes(torch.ones(2), counts(4)))


class Delegate:
    def __init__(self, log):
        self.log = log

    def __iter__(self):
        return self

    def __next__(self):
        return 3

    def send(self, value):
        self.log.append(("send", value))
        return 4

    def throw(self, *args):
        self.log.append(("throw", len(args)))
        if args[0] is KeyError:
            raise StopIteration(7)
        return 5

    def close(self):
        self.log.append("close")


@check(breaks=0)
def test_what_a_generator_waits_for_is_thrown_into_and_closed(x):
    log = []

    def inner():
        try:
            log.append((yield 1))
        except ValueError as error:
            log.append(str(error))
            yield 2
        finally:
            log.append("done")
        return 5

    def outer(inside):
        result = yield from inside
        log.append(result)
        yield result

    async def waits():
        return await Pause(6)

    generator = outer(inner())
    seen = [next(generator), generator.throw(ValueError("q")), next(generator)]
    closed = outer(inner())
    seen.append(next(closed))
    closed.close()
    fails = outer(inner())
    seen.append(next(fails))
    try:
        fails.throw(KeyError("k"))
    except KeyError as error:
        seen.append(str(error))
    to_object = outer(Delegate(log))
    seen += [next(to_object), to_object.send(8), to_object.throw(IndexError), to_object.throw(KeyError)]
    to_close = outer(Delegate(log))
    next(to_close)
    to_close.close()
    to_list = outer([1, 2])
    next(to_list)
    try:
        to_list.throw(KeyError)
    except KeyError:
        log.append("raised")
    coroutine = waits()
    coroutine.send(None)
    try:
        coroutine.throw(ValueError("w"))
    except ValueError as error:
        log.append(str(error))
    return x + 1, seen, log
