"""sys._getframe in captured code: its names and lines, and frames that are kept."""

from __future__ import annotations

import logging
import sys
import typing
import weakref

import torch

import framejit
from support import check


def caller(depth):
    return sys._getframe(depth + 1).f_globals["__name__"], sys._getframe(1).f_lineno - sys._getframe(1).f_code.co_firstlineno


@check()
def test_names_and_lines_of_callers(x):
    found = caller(0)
    return x + 1, found, sys._getframe().f_code.co_name


@check()
def test_library_code_that_asks_for_its_caller(x):
    T = typing.TypeVar("T")
    try:
        raise ValueError("seen")
    except ValueError:
        text = str(sys.exception())
    return x + 1, T.__name__, T.__module__, text, sys.exception()


def kept():
    frame = sys._getframe()
    return frame.f_code.co_name, frame


@check(graphs=1, breaks=2)
def test_a_frame_that_is_kept(x):
    name, frame = kept()
    return x + 1, name, type(frame).__name__, frame.f_code.co_name


def line_at(up):
    frame = sys._getframe(up + 1)
    return frame.f_code.co_name, frame.f_lineno - frame.f_code.co_firstlineno


def line_of_caller(up):
    framejit.graph_break()
    found = line_at(up)
    framejit.graph_break()  # the region does not come to the frame that waits
    return found


def hands_on(up):
    return line_of_caller(up)


@check(graphs=1)
def test_the_line_where_a_frame_waits_that_is_older_than_the_region(x):
    first = line_of_caller(1)
    second = line_of_caller(1)
    third = hands_on(2)
    fourth = hands_on(2)
    return x + 1, first, second, third, fourth


def sets_a_level(x, logger, level):
    logger.setLevel(level)
    return x + 1, logger.isEnabledFor(15)


def test_levels_of_loggers_are_set_at_each_call():
    framejit.reset()
    logger = logging.getLogger("framejit.tests.levels")
    compiled = framejit.compile(sets_a_level, backend="eager")
    with framejit.config.patch(strict=True):
        for level in (10, 20, 10, 20, 30, 10):
            assert compiled(torch.ones(2), logger, level)[1] is (level <= 15)


class Ended:
    pass


def has_a_finalizer(x, log):
    ended = Ended()
    finalizer = weakref.finalize(ended, log.append, "ended")
    alive = finalizer.alive
    del ended
    log.append("behind")
    return x + 1, alive, finalizer.alive, log


def test_finalizers_of_weakref_are_made_and_run():
    framejit.reset()
    compiled = framejit.compile(has_a_finalizer, backend="eager")
    with framejit.config.patch(strict=True):
        for _ in range(3):
            assert compiled(torch.ones(2), [])[1:] == (True, False, ["ended", "behind"])
