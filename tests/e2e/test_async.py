"""Coroutines driven inside the captured function: await, async with, async for."""

import warnings

import framejit
from support import check


class Manager:
    def __init__(self, log):
        self.log = log

    async def __aenter__(self):
        self.log.append("enter")
        return 5

    async def __aexit__(self, kind, value, traceback):
        self.log.append(kind and kind.__name__)
        return True


class Count:
    def __init__(self, n):
        self.i, self.n = 0, n

    def __aiter__(self):
        return self

    async def __anext__(self):
        if self.i >= self.n:
            raise StopAsyncIteration
        self.i += 1
        return self.i


async def double(x):
    return x * 2


async def body(x, log):
    async with Manager(log) as five:
        x = await double(x + five)
        raise KeyError("swallowed")
    async for i in Count(3):
        x = x + i
    else:
        log.append("done")
    return x


def drive(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value


@check()
def test_coroutines(x):
    log = []
    return drive(body(x, log)), log


@check()
def test_wrong_protocols(x):
    async def bad_with():
        async with 3:
            pass

    async def bad_for():
        async for _ in [1]:
            pass

    found = []
    for coroutine in (bad_with(), bad_for()):
        try:
            drive(coroutine)
        except (TypeError, AttributeError) as error:
            found.append(str(error))
    return x + 1, found


@check(graphs=2, breaks=1)
def test_a_finished_coroutine_survives_its_region(x):
    running = double(3)
    try:
        running.send(None)
    except StopIteration as stop:
        x = x + stop.value
    kept = [running]
    framejit.graph_break()
    try:
        kept[0].send(None)
    except RuntimeError as error:
        return x * 2, error.args


@check(graphs=0, breaks=3)
def test_a_coroutine_that_nobody_awaits_warns(x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        double(x)
        return [str(entry.message) for entry in caught]


class Step:
    def __init__(self, n=1):
        self.n = n

    def __await__(self):
        return (yield self.n)


class Wrong:
    def __init__(self, given):
        self.given = given

    def __await__(self):
        return self.given


async def waits(awaitable):
    return await awaitable


@check()
def test_errors_of_coroutines_are_worded_as_coroutines(x):
    def closed():
        running = waits(Step())
        running.close()
        return running

    def suspended():
        running = waits(Step())
        running.send(None)
        return running

    async def stops():
        next(iter(()))

    said = []
    for attempt in (
        lambda: closed().send(None), lambda: closed().throw(KeyError(1)), lambda: waits(suspended()).send(None), lambda: waits(object()).send(None),
        lambda: waits(Wrong([])).send(None), lambda: waits(Wrong(suspended())).send(None), lambda: stops().send(None),
    ):  # fmt: skip
        try:
            attempt()
        except Exception as error:
            said.append((type(error), str(error), type(error.__cause__)))
    return x + len(said), said


async def ignores():
    try:
        await Step()
    except GeneratorExit:
        await Step()


@check(graphs=1, breaks=2)
def test_a_coroutine_that_ignores_its_end(x):
    running = ignores()
    running.send(None)
    try:
        running.close()
    except RuntimeError as error:
        return x + 1, str(error)


@check(graphs=1, breaks=2)
def test_a_coroutine_that_is_sent_something_too_early(x):
    try:
        waits(Step()).send(2)
    except TypeError as error:
        return x + 1, str(error)


@check()
def test_yield_from_a_coroutine_in_a_generator(x):
    running = double(3)

    def body():
        yield from running

    try:
        list(body())
    except TypeError as error:
        running.close()
        return x + 1, str(error)
