"""A break ends a region but never the capture of the frame: also where the frame's own handler takes what it raises."""

from __future__ import annotations

import asyncio
import contextlib
import decimal
import gc
import sys
import traceback
import weakref

import pytest
import torch
from support import Counter, same

import framejit

WORN = ValueError("worn")  # its traceback grows each time: CPython raises it


def opaque():
    return decimal.Decimal(2)


def described(error, seen=()):
    """The chain of an exception, with the frames and lines of each traceback."""
    if error is None or error in seen:
        return None
    lines = [(entry.name, entry.lineno) for entry in traceback.extract_tb(error.__traceback__) if entry.filename == __file__]
    seen = (*seen, error)
    return type(error), str(error), lines, described(error.__cause__, seen), described(error.__context__, seen), error.__suppress_context__


def raises(x, log):
    try:
        opaque()
        raise WORN
    except ValueError as error:
        log.append(error)
    return x.sin()


def raises_from(x, log):
    try:
        raise WORN from KeyError("cause")
    except ValueError as error:
        log.append(error)
    return x.sin()


def kept(x, log):
    try:
        raise ValueError("kept", 1)
    except ValueError as error:
        held = error
    return x.sin(), log.append(held)


def raises_in_handler(x, log):
    try:
        try:
            raise WORN
        except ValueError:
            opaque()
            raise KeyError("second")
    except KeyError as error:
        log.append(error)
    return x.sin()


def from_none(x, log):
    try:
        try:
            raise WORN
        except ValueError:
            raise KeyError(1) from None
    except KeyError as error:
        log.append(error)
    return x.sin()


def raises_again(x, log):
    try:
        try:
            raise WORN
        except ValueError:
            opaque()
            raise
    except ValueError as error:
        log.append(error)
    log.append(sys.exc_info()[1])
    return x.sin()


def wrong_handler(x, log):
    try:
        try:
            raise WORN
        except KeyError:
            log.append("never")
    except ValueError as error:
        log.append(error)
    return x.sin()


def finally_(x, log):
    try:
        try:
            try:
                opaque()
                raise WORN
            finally:
                log.append(1)
        finally:
            opaque()
    except ValueError as error:
        log.append(error)
    return x.sin()


class Manager:
    def __init__(self, log, swallow):
        self.log, self.swallow = log, swallow

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.log.append((kind, sys.exc_info()[0]))
        opaque()
        return self.swallow


def with_(x, log):
    try:
        with Manager(log, False):
            with Manager(log, True):
                raise WORN
            opaque()
            raise WORN
    except ValueError as error:
        log.append(error)
    return x.sin()


def in_a_loop(x, log):
    for number in range(4):
        try:
            if number % 2:
                raise WORN
            opaque()
        except ValueError as error:
            log.append(len(described(error)[2]))
            x = x + number
        finally:
            x = x - 1
    return x.sin()


def nothing_to_raise(x, log):
    try:
        raise  # noqa: PLE0704
    except RuntimeError as error:
        log.append(error)
    try:
        opaque()
        raise 5  # noqa: B016
    except TypeError as error:
        log.append(error)
    try:
        raise WORN from 5
    except TypeError as error:
        log.append(error)
    return x.sin()


class Bad(Exception):
    def __new__(cls):
        return 7


class Raises(Exception):
    def __init__(self):
        opaque()
        raise KeyError("in the constructor")


def bad_classes(x, log):
    for kind in (Bad, Raises):
        try:
            opaque()
            raise kind
        except (TypeError, KeyError) as error:
            log.append(error)
    return x.sin()


def stars(x, log):
    try:
        opaque()
        raise ExceptionGroup("group", [WORN, KeyError(1), OSError(2)])
    except* ValueError as error:
        log.append(repr(error))
    except* (KeyError, OSError) as error:
        log.append(repr(error))
    try:
        raise WORN
    except* ValueError as error:
        log.append(repr(error))
    return x.sin()


def unbound(x, log):
    def inner():
        return cell

    for _ in range(1):
        try:
            missing  # noqa: B018
        except UnboundLocalError as error:
            first = error
        try:
            cell  # noqa: B018
        except UnboundLocalError as error:
            second = error
        try:
            inner()
        except NameError as error:
            third = error
        try:
            del missing
        except UnboundLocalError as error:
            fourth = error
    missing = cell = 1
    log.extend([first, second, third, third.name, fourth, missing, cell])
    return x.sin()


def body(log):
    try:
        yield 1
        opaque()
        raise WORN
    except ValueError as error:
        log.append(error)
        yield 2
    finally:
        log.append("finally")


def generators(x, log):
    for number in body(log):
        x = x + number
    return x.sin()


@contextlib.contextmanager
def managed(log):
    try:
        yield
    except ValueError as error:
        log.append(error)
    finally:
        log.append("out")


def managers_of_generators(x, log):
    with managed(log):
        opaque()
        raise WORN
    return x.sin()


PROGRAMS = (
    raises, raises_from, kept, raises_in_handler, from_none, raises_again, wrong_handler, finally_, with_, in_a_loop, nothing_to_raise,
    bad_classes, stars, unbound, generators, managers_of_generators,
)  # fmt: skip


def told(log):
    return [described(item) if isinstance(item, BaseException) else item for item in log]


def run(function, *args):
    WORN.__traceback__ = WORN.__context__ = WORN.__cause__ = None
    WORN.__suppress_context__ = False
    log = []
    value = function(*args, log)
    return value, told(log), sys.exc_info()


def sines(counter):
    return sum(node.target in ("sin", torch.sin) for module in counter.modules for node in module.graph.nodes)


@pytest.mark.parametrize("function", PROGRAMS)
def test_capture_goes_on_behind_the_handler(function):
    framejit.reset()
    counter = Counter()
    x = torch.arange(3.0)
    with framejit.config.patch(strict=True):
        compiled = framejit.compile(function, backend=counter)
        for _ in range(3):
            same(run(compiled, x), run(function, x))
    assert sines(counter) == 1


def thrown_at(x, log):
    """A generator: what is thrown into it is handled in its own frame."""
    try:
        yield x + 1
    except ValueError as error:
        log.append(error)
        x = x.sin()
    yield x


def test_capture_goes_on_where_an_exception_is_thrown_into_a_generator():
    def drive(function, log):
        generator = function(torch.arange(3.0), log)
        return [next(generator), generator.throw(WORN), next(generator, "end")], log

    framejit.reset()
    counter = Counter()
    with framejit.config.patch(strict=True):
        compiled = framejit.compile(thrown_at, backend=counter)
        for _ in range(3):
            found, wanted = run(lambda log: drive(compiled, log)), run(lambda log: drive(thrown_at, log))
            same(found[0][0], wanted[0][0])
            assert found[1] == wanted[1]
    assert sines(counter) == 1


async def double(x):
    return x * 2


async def later(x):
    await asyncio.sleep(0)
    return x + 1


class Numbers:
    def __init__(self):
        self.left = 3

    def __aiter__(self):
        return self

    async def __anext__(self):
        if not self.left:
            raise StopAsyncIteration
        self.left -= 1
        return self.left


class Block:
    async def __aenter__(self):
        opaque()
        return 4

    async def __aexit__(self, kind, error, trace):
        opaque()
        return kind is ValueError


async def awaits(x, log):
    return (await double(x)).sin()


async def awaits_later(x, log):
    y = await later(x)
    return (y + await double(y)).sin()


async def loops(x, log):
    async for number in Numbers():
        x = x + number
    return x.sin()


async def blocks(x, log):
    async with Block() as number:
        x = x + number
        raise WORN
    return x.sin()


async def not_awaitable(x, log):
    try:
        await 5
    except TypeError as error:
        log.append(error)
    try:
        async for _ in 5:
            pass
    except TypeError as error:
        log.append(error)
    try:
        async with 5:
            pass
    except TypeError as error:
        log.append(error)
    return x.sin()


@pytest.mark.parametrize("function", [awaits, awaits_later, loops, blocks, not_awaitable])
def test_capture_goes_on_behind_await(function):
    framejit.reset()
    counter = Counter()
    x = torch.arange(3.0)
    with framejit.config.patch(strict=True):
        compiled = framejit.compile(function, backend=counter)
        for _ in range(3):
            found, wanted = (run(lambda log, call=call: asyncio.run(call(x, log))) for call in (compiled, function))
            same(found, wanted)
    assert sines(counter) == 1


class Held:
    """Something that a frame holds in a local."""


def handles_a_part(x, log):
    held = Held()
    log.append(weakref.ref(held))
    try:
        try:
            raise ExceptionGroup("parts", [ValueError(1), TypeError(2)])
        except* ValueError:
            opaque()
    except Exception as error:
        log.append(type(error))
    return x.sin()


def looks_at_its_traceback(x, log):
    held = Held()
    log.append(weakref.ref(held))
    try:
        raise KeyError(1)
    except KeyError as error:
        opaque()
        log.append(error.__traceback__ is None)
    return x.sin()


@pytest.mark.parametrize("function", [handles_a_part, looks_at_its_traceback])
def test_no_traceback_is_kept(function):
    """A region asks of a traceback what it is, not which one: it would keep its frames alive, and never run again."""
    framejit.reset()
    counter = Counter()
    x = torch.arange(3.0)
    compiled = framejit.compile(function, backend=counter)
    for _ in range(3):
        log = []
        compiled(x, log)
        gc.collect()
        assert log[0]() is None
    assert sines(counter) == 1


def makes():
    return ExceptionGroup("outer", [ValueError(1), ExceptionGroup("inner", [TypeError(2), KeyError(3)]), OSError(4)])


def lets_a_part_through(x, log):
    try:
        try:
            raise makes()
        except* TypeError:
            opaque()
        except* OSError as found:
            log.append(found)
            opaque()
    except ExceptionGroup as error:
        log.append(error)
    return x.sin()


def raises_a_part_again(x, log):
    try:
        try:
            raise makes()
        except* (TypeError, ValueError):
            opaque()
            raise
    except ExceptionGroup as error:
        log.append(error)
    return x.sin()


def raises_others(x, log):
    try:
        try:
            raise makes()
        except* TypeError as found:
            opaque()
            raise KeyError("other") from found
        except* ValueError:
            raise
        except* OSError:
            opaque()
            raise LookupError("context")
    except ExceptionGroup as error:
        log.append(error)
    return x.sin()


def of_one(x, log):
    try:
        try:
            raise KeyError("naked")
        except* KeyError as found:
            opaque()
            log.append(found)
            raise
    except ExceptionGroup as error:
        log.append(error)
    return x.sin()


def members(error):
    if not isinstance(error, BaseExceptionGroup):
        return described(error)
    return described(error), [members(item) for item in error.exceptions]


@pytest.mark.parametrize("function", [lets_a_part_through, raises_a_part_again, raises_others, of_one])
def test_groups_are_handled_in_part(function):
    framejit.reset()
    counter = Counter()
    x = torch.arange(3.0)
    compiled = framejit.compile(function, backend=counter)
    for _ in range(3):
        logs = [], []
        for log, call in zip(logs, (compiled, function), strict=True):
            assert torch.equal(call(x, log), x.sin())
        assert [members(item) for item in logs[0]] == [members(item) for item in logs[1]]
    assert sines(counter) == 1
