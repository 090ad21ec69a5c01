"""Exceptions that CPython raises in an opaque operation: the frame's own handler is found, and capture goes on there."""

from __future__ import annotations

import array
import sys
import traceback

import pytest
import torch
from support import Counter, check, same

import framejit


class Numbers(array.array):
    """An array of a class of the user's, whose methods in C are left to CPython."""


NUMBERS = Numbers("q", [1, 5])
X = torch.ones(2)


class Swallow:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.log.append((kind, str(error), [entry.lineno for entry in traceback.extract_tb(trace)]))
        return kind is ValueError


def handler(x, log):
    y = x + 1
    try:
        NUMBERS.index(7)
    except ValueError as error:
        log.append((str(error), sys.exc_info()[0], [entry.lineno for entry in traceback.extract_tb(error.__traceback__)]))
        y = y * 2
    return y.sin()


def nothing_handled_later(x, log):
    try:
        NUMBERS.index(7)
    except ValueError:
        y = x + 1
    log.append(sys.exc_info())
    return y * 3


def manager(x, log):
    y = x + 1
    with Swallow(log):
        NUMBERS.index(7)
        y = y + 100
    return y.sin()


def wrong_type(x, log):
    try:
        try:
            NUMBERS.index(7)
        except KeyError:
            x = x + 50
        finally:
            log.append("finally")
            x = x + 1
    except ValueError as error:
        log.append(error.__context__)
        x = x * 2
    return x.cos()


def chained(x, log):
    try:
        try:
            NUMBERS.index(7)
        except ValueError as error:
            y = x + 1
            raise KeyError("again") from error
    except KeyError as error:
        log.append((repr(error), repr(error.__cause__), repr(error.__context__)))
        y = y * 2
    return y.sin()


def generator(x, log):
    def produce():
        for index in (1, 7, 5):
            try:
                yield NUMBERS.index(index)
            except ValueError:
                yield -1

    for number in produce():
        x = x * 2 + number
    return x


def loop(x, log):
    for index in (1, 7, 5, 9):
        try:
            log.append(NUMBERS.index(index))
        except ValueError:
            x = x + index
            continue
        finally:
            x = x * 2
    return x


@pytest.mark.parametrize(
    ("function", "graphs"),
    [(handler, 2), (nothing_handled_later, 1), (manager, 2), (wrong_type, 1), (chained, 1), (generator, 1), (loop, 2)],
)
def test_capture_goes_on_in_the_handler(function, graphs):
    framejit.reset()
    counter = Counter()
    compiled = framejit.compile(function, backend=counter)
    with framejit.config.patch(strict=True):
        for _ in range(3):
            ours, theirs = [], []
            same(compiled(X, ours), function(X, theirs))
            assert str(ours) == str(theirs)
            assert sys.exc_info() == (None, None, None)
    assert counter.graphs >= graphs and counter.runs >= 3 * graphs


def test_an_exception_without_a_handler_leaves_the_frame_as_it_was():
    def function(x):
        y = x + 1
        NUMBERS.index(7)
        return y

    compiled = framejit.compile(function, backend="eager")
    for _ in range(3):
        with pytest.raises(ValueError) as found:
            compiled(X)
        lines = [entry.lineno for entry in traceback.extract_tb(found.value.__traceback__) if entry.name == "function"]
        assert lines == [function.__code__.co_firstlineno + 2]


def test_a_handler_of_a_frame_that_is_traced_is_left_to_cpython():
    events = []

    def tracer(frame, event, argument):
        if frame.f_code is handler.__code__:
            events.append((event, frame.f_lineno - handler.__code__.co_firstlineno))
        return tracer

    compiled = framejit.compile(handler, backend="eager")
    found = []
    for target in (handler, compiled):
        events.clear()
        sys.settrace(tracer)
        try:
            target(X, [])
        finally:
            sys.settrace(None)
        found.append(list(events))
    assert found[0] == found[1]


def test_a_frame_that_a_traceback_saw_lets_its_locals_go():
    """A handler's name is unbound at its end, also by a region that returns: the frame would keep the exception, and this the frame."""
    log = []

    class Ends:
        def __del__(self):
            log.append("end")

    def function(x):
        ends = Ends()  # noqa: F841
        try:
            NUMBERS.index(7)
        except ValueError as caught:
            framejit.graph_break()
            log.append(str(caught)[:5])
        return x + 1

    compiled = framejit.compile(function, backend="eager")
    for _ in range(3):
        log.clear()
        compiled(X)
        assert log == ["array", "end"]


def test_final_locals_are_seen_in_the_frame_of_a_traceback():
    frames = []

    def function(x):
        text = "first"
        try:
            NUMBERS.index(7)
        except ValueError as error:
            frames.append(error.__traceback__.tb_frame)
        text = "last"
        y = x + 1
        return y

    for target in (function, framejit.compile(function, backend="eager")):
        frames.clear()
        target(X)
        assert frames[0].f_locals["text"] == "last" and torch.equal(frames[0].f_locals["y"], X + 1) and "error" not in frames[0].f_locals


@check(lambda: (torch.ones(4, requires_grad=True),), breaks=2)
def test_what_raises_behind_a_change_that_autograd_notes(w):
    """The change cannot be undone to run the frame again, so the operator that may raise is done by itself."""
    base, seen = w * 1, []
    framejit.graph_break()
    base *= 2
    try:
        base[1:3] = base.detach()[:2]
    except RuntimeError as error:
        seen.append(str(error))
    return seen, base.detach()


notes: list[object] = []


def moves(y, n):
    y[n : n + 2] = y[:2]  # raises where the two parts share memory
    return y + 1


def started_under_a_handler(w, n):
    y = w * 2
    try:
        with torch.no_grad():
            framejit.graph_break()
    except RuntimeError as error:
        notes.append(str(error))
    return moves(y, n)


def with_notes(w, n):
    y = w * 2
    framejit.graph_break()
    notes.append("before")
    y[0] = 3
    moves(y, n)
    notes.append("behind")
    return y


def caught_outside_of_a_call(w, n):
    y = w * 2
    framejit.graph_break()
    try:
        return moves(y, n)
    except RuntimeError as error:
        notes.append(str(error))


def behind_a_handler(w, n):
    y = w * 2
    framejit.graph_break()
    y += 1
    try:
        y = y * 2
    finally:
        notes.append("finally")
    y *= 2
    return moves(y, n)


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("use", [started_under_a_handler, with_notes, caught_outside_of_a_call, behind_a_handler])
def test_where_an_error_of_a_graph_that_is_not_run_again_goes(use, n):
    framejit.reset()
    compiled, seen = framejit.compile(use, backend="eager"), []
    for run in (use, compiled, compiled):
        notes.clear()
        try:
            found = run(torch.ones(4, requires_grad=True), n)
        except RuntimeError as error:
            found = error.args
        seen.append((str(found), list(notes), torch.is_grad_enabled()))
        torch.set_grad_enabled(True)
    assert seen[1:] == [seen[0], seen[0]]
