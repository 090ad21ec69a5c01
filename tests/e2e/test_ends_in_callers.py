"""A region that goes on in the callers of its frame lets go of what their variables hold: each clean-up runs at its place."""

from __future__ import annotations

import contextlib
import gc
import weakref

import pytest

import framejit
from framejit import events

LOG: list = []
DONE: list = []


class Finalized:
    def __del__(self):
        LOG.append(("deleted", len(DONE)))


def opened():
    def cleaning():
        try:
            yield 1
        finally:
            LOG.append(("ended", len(DONE)))

    generator = cleaning()
    next(generator)
    return generator


def step():
    DONE.append(0)
    framejit.graph_break()
    DONE.append(1)


def overwrites(make):
    a = make()
    step()
    a = None
    DONE.append(2)
    return a


def deletes(make):
    a = make()
    step()
    del a
    DONE.append(2)


def holds(make):
    b = make()
    framejit.graph_break()
    DONE.append(3)
    return b is None


def returns(make):
    holds(make)
    DONE.append(4)


def returns_twice(make):
    returns(make)
    DONE.append(5)


def binds_late(make):
    for k in (0, 1):
        if k == 1:
            c = make()
            DONE.append(c is None)
        framejit.graph_break()
        DONE.append(6)


def ends_with_late_ones(make):
    binds_late(make)
    DONE.append(7)


def raises(make):
    d = make()
    framejit.graph_break()
    DONE.append(d is None)
    raise KeyError


def catches(make):
    try:
        raises(make)
    except KeyError:
        DONE.append(9)
    DONE.append(10)


MAKERS = [framejit.disable(make) for make in (lambda: 3, opened, lambda: Finalized(), lambda: [{"a": opened()}], lambda: [1])]

ORDERS = [(0, 1), (0, 2), (0, 3), (1, 0), (4, 2)]


@pytest.mark.parametrize("fn", [overwrites, deletes, returns, returns_twice, ends_with_late_ones, catches], ids=lambda fn: fn.__name__)
def test_the_clean_up_runs_at_its_place_whatever_the_region_was_made_for(fn, monkeypatch):
    monkeypatch.setattr(framejit.config, "capture_without_tensors", True)
    for order in ORDERS:
        framejit.reset()
        compiled = framejit.compile(fn, backend="eager")
        regions: list = []
        unsubscribe = events.subscribe(lambda event: regions.append(event.pc), events.CaptureEnd)
        for kind in (*order, order[0]):
            seen = []
            for run in (fn, compiled):
                LOG.clear()
                DONE.clear()
                run(MAKERS[kind])
                seen.append((LOG[:], DONE[:]))
            assert seen[0] == seen[1], order
        unsubscribe()
        assert len(regions) >= 2


class Problem(Exception):
    pass


def keeps_what_it_caught(errors, n):
    held = [n]
    try:
        raise Problem(held)
    except Problem as caught:
        framejit.graph_break()
        errors.append(caught)
        held = errors
    last = n
    return last


def calls_what_catches(errors, n):
    given = keeps_what_it_caught(errors, n)
    given = n
    return given


def seen_frame(error):
    """What a frame that has ended shows to whoever has the exception: names and identities of its variables, and its line."""
    frame, found = error.__traceback__.tb_frame, error.__traceback__
    return frame.f_code.co_name, sorted(frame.f_locals), frame.f_locals["held"] is frame.f_locals["errors"], frame.f_lineno, found.tb_lineno


def test_a_frame_that_a_traceback_has_seen_ends_with_its_final_variables_and_goes_with_the_exception(monkeypatch):
    monkeypatch.setattr(framejit.config, "capture_without_tensors", True)
    compiled = framejit.compile(calls_what_catches, backend="eager")
    ends: list = []
    unsubscribe = events.subscribe(lambda event: ends.append(event.pc), events.CaptureEnd)
    gc.collect()
    gc.disable()
    try:
        for n in (1, 1, 2, 3):
            seen = []
            for run in (calls_what_catches, compiled):
                errors: list = []
                result = run(errors, n)
                shown, there = seen_frame(errors[0]), weakref.ref(errors.pop())
                seen.append((result, shown, there() is None))
            assert seen[0] == seen[1]
            assert seen[0][2], "the exception is gone with the last reference to it"
    finally:
        gc.enable()
        unsubscribe()
    assert len(ends) >= 3


@contextlib.contextmanager
def breaking(n):
    try:
        yield n
    except ValueError as error:
        framejit.graph_break()
        if n == 2:
            raise KeyError(n) from error
    finally:
        framejit.graph_break()


def managed(n):
    with breaking(n) as one, breaking(one + 1):
        framejit.graph_break()
        if n:
            raise ValueError(n)
    return "left"


def calls_managed(n):
    try:
        return managed(n)
    except KeyError as error:
        return type(error.__cause__), type(error.__context__)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (1, 1, 1), (2, 2, 0)])
def test_an_exception_that_leaves_a_frame_keeps_the_entries_of_its_traceback(order, monkeypatch):
    monkeypatch.setattr(framejit.config, "capture_without_tensors", True)
    framejit.reset()
    compiled = framejit.compile(calls_managed, backend="eager")
    for _ in range(3):
        for n in order:
            assert compiled(n) == calls_managed(n)
