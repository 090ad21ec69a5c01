"""Context managers that a break leaves open, and suspended coroutines that are given: left and advanced as in eager, without a break."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

import framejit
from support import check

log: list[Any] = []


def _with(make):
    return lambda: (torch.arange(3.0), make())


class Box:
    """Something to compare without looking into it."""

    __slots__ = ("content",)

    def __init__(self, content):
        self.content = content

    def __eq__(self, other):
        return type(other) is Box


@contextlib.contextmanager
def scaled(k):
    log.append(("enter", k))
    try:
        yield k * 2
    finally:
        log.append(("exit", k))


@contextlib.contextmanager
def swallows():
    with contextlib.suppress(KeyError):
        yield


@check(breaks=1, graphs=2)
def test_a_manager_that_is_left_behind_a_break(x):
    log.clear()
    with scaled(3) as k:
        x = x * k
        framejit.graph_break()
        x = x + 1
    return x - 1, [*log]


@check(breaks=1, graphs=2)
def test_managers_in_managers(x):
    log.clear()
    with scaled(3) as k, scaled(4) as m:
        with torch.no_grad():
            x = x * k
            framejit.graph_break()
            x = x + m
    return x - 1, [*log], torch.is_grad_enabled()


@check(breaks=1)
def test_a_manager_left_by_return(x):
    log.clear()
    with scaled(3) as k:
        framejit.graph_break()
        return x * k, [*log]


@check(breaks=1)
def test_a_manager_that_swallows_behind_a_break(x):
    with swallows():
        x = x * 2
        framejit.graph_break()
        x = x + 1
        raise KeyError("swallowed")
    return x


@check(_with(lambda: scaled(2)))
def test_a_manager_that_is_given(x, manager):
    log.clear()
    with manager as k:
        x = x * k
    return x, [*log]


class Step:
    def __init__(self, value):
        self.value = value

    def __await__(self):
        return (yield self.value)


async def waits(n):
    total = 0
    for i in range(n):
        total += await Step(i)
    return total


def started(n, steps):
    running = waits(n)
    for i in range(steps):
        running.send(10 if i else None)
    return running


@check(*(_with(lambda steps=steps: Box(started(3, steps))) for steps in (1, 2)))
def test_a_coroutine(x, box):
    running = box.content
    found = []
    try:
        while len(found) < 5:
            found.append(running.send(5))
    except StopIteration as stop:
        return found, stop.value, x + 1, running.cr_frame is None


@check(_with(lambda: Box(started(3, 1))))
def test_a_coroutine_is_closed(x, box):
    running = box.content
    running.close()
    try:
        running.send(None)
    except RuntimeError as error:
        return str(error), x + 1


@check(_with(lambda: Box(waits(3))))
def test_a_coroutine_that_is_awaited(x, box):
    running = box.content
    async def outer():
        return await running, "done"

    waiting, found = outer(), []
    for _ in range(5):
        try:
            found.append(waiting.send(3 if found else None))
        except StopIteration as stop:
            return found, stop.value, x + 1


@check(_with(lambda: Box(started(3, 2))))
def test_a_coroutine_that_is_awaited_already(x, box):
    running = box.content
    async def outer():
        return await running

    waiting = running.cr_await is not None
    try:
        outer().send(None)
    except RuntimeError as error:
        return waiting, str(error), x + 1
