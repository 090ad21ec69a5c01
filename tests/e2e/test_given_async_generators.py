"""Asynchronous generators, and generators made awaitable, that are given: driven within the region exactly as far as in eager."""

import asyncio
import types

import torch

import framejit
from support import Counter, check

log = []


def drive(coroutine):
    """Run to the end what awaits nothing that waits."""
    try:
        while True:
            coroutine.send(None)
    except StopIteration as stop:
        return stop.value


async def counts(stop=9):
    value = 0
    while value < stop:
        sent = yield value
        value += sent or 1


async def cleans(first=0):
    try:
        try:
            yield first
            yield first + 1
        except KeyError as error:
            log.append(error.args)
        yield 9
    finally:
        log.append("clean")


async def fails():
    yield 1
    raise ValueError("failed")


@types.coroutine
def pauses(value):
    got = yield value
    return got


async def waits(value):
    while True:
        value += await pauses(value)
        yield value


def stepped(make, steps):
    """Such a generator after some steps."""
    made = make()
    for _ in range(steps):
        drive(made.__anext__())
    return made


async def rest(generator):
    return [item async for item in generator]


def seen(generator):
    """Where it stands, and what it still gives."""
    state = generator.ag_running, generator.ag_frame is None, generator.ag_await
    try:
        return state, drive(rest(generator)), [*log]
    except Exception as error:
        return state, repr(error), [*log]


def agrees(*makes, graphs=None, breaks=()):
    """Make a test of `f(x, generator)`: what it gives, and leaves of the generator, is as in eager."""

    def decorate(program):
        def test():
            framejit.reset()
            counter, found_breaks = Counter(), []
            unsubscribe = framejit.events.subscribe(found_breaks.append, framejit.events.Break)
            try:
                with framejit.config.patch(strict=True):
                    compiled = framejit.compile(program, backend=counter)
                    for make in makes * 3:
                        facts = []
                        for run in (program, compiled):
                            log.clear()
                            generator = make()
                            result, *more = run(torch.ones(2), generator)
                            facts.append((result.tolist(), more, seen(generator)))
                        assert facts[0] == facts[1]
            finally:
                unsubscribe()
            assert [one.reason.id for one in found_breaks] == list(breaks)
            assert counter.graphs == (len(makes) if graphs is None else graphs)

        return test

    return decorate


@agrees(counts, lambda: stepped(counts, 2), graphs=2)
def test_asked_for_the_next_item(x, items):
    async def body(x):
        x = x + await anext(items)
        x = x * 2 + await items.asend(2)
        return x + await items.__anext__(), await anext(items, "end")

    return drive(body(x))


@agrees(counts, lambda: stepped(counts, 3), lambda: stepped(lambda: counts(2), 1))
def test_a_loop_to_its_end(x, items):
    async def body(x):
        async for item in items:
            x = x * 2 + item
        return x, await anext(items, "end")

    return drive(body(x))


@agrees(cleans, lambda: stepped(cleans, 1))
def test_closed(x, items):
    async def body(x):
        await items.aclose()
        x = x + len(log)
        await items.aclose()
        return x, await anext(items, "closed")

    return drive(body(x))


@agrees(lambda: stepped(cleans, 1))
def test_thrown_into(x, items):
    async def body(x):
        x = x + await items.athrow(KeyError("thrown"))
        return x * 2, [*log]

    return drive(body(x))


@agrees(fails, lambda: stepped(fails, 1), graphs=2)
def test_its_error_ends_it(x, items):
    async def body(x):
        try:
            async for item in items:
                x = x + item
        except ValueError as error:
            return x * 2, str(error)

    return drive(body(x))


@agrees(lambda: counts(1))
def test_only_asked_for_an_awaitable(x, items):
    step = items.asend(None)
    step.close()
    return x + 1, items.ag_running


@agrees(lambda: waits(1))
def test_what_its_body_awaits_comes_through(x, items):
    async def body():
        return await anext(items)

    running = body()
    waited = running.send(None)
    try:
        running.send(torch.ones(2) * 2)
    except StopIteration as stop:
        return x + stop.value + waited, waited


@check(lambda: (torch.ones(2), pauses(3)), calls=3, graphs=1, breaks=0)
def test_a_given_generator_that_is_awaitable(x, given):
    async def body():
        return await given

    running = body()
    waited = running.send(None)
    try:
        running.send(x)
    except StopIteration as stop:
        return stop.value + waited


def plain():
    yield 1


@check(lambda: (torch.ones(2), plain()), calls=2)
def test_generators_that_are_not_awaitable(x, given):
    async def body(one):
        return await one

    found = []
    for one in (given, plain()):
        try:
            drive(body(one))
        except TypeError as error:
            found.append(str(error))
    return x + 1, found


def test_in_an_event_loop():
    def program(x, items):
        async def body(x):
            return x + await anext(items) + await anext(items)

        return body(x)

    framejit.reset()
    seen_breaks = []
    unsubscribe = framejit.events.subscribe(seen_breaks.append, framejit.events.Break)
    compiled = framejit.compile(lambda x, items: drive(program(x, items)), backend="eager")

    async def main(run):
        items = counts()
        first = await anext(items)
        result = run(torch.ones(2), items)
        return first, result.tolist(), [item async for item in items]

    try:
        for _ in range(2):
            assert asyncio.run(main(compiled)) == asyncio.run(main(lambda x, items: drive(program(x, items))))
    finally:
        unsubscribe()
    assert seen_breaks == []
