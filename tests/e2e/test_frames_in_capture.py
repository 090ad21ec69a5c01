"""sys._getframe in captured code: its names and lines, and frames that are kept."""

from __future__ import annotations

import logging
import sys
import typing
import weakref

import torch

import framejit
from support import check, check_rounds


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


def raises(x):
    raise KeyError(x)


def shown(frame):
    return frame.f_code.co_name, frame.f_lineno - frame.f_code.co_firstlineno, sorted(frame.f_locals)


def looks_into_its_own_traceback(x):
    try:
        raises(x)
    except KeyError as error:
        later = x + 1
        own = error.__traceback__.tb_frame
        first = shown(own)
        second = own.f_lineno - own.f_code.co_firstlineno, shown(error.__traceback__.tb_next.tb_frame)
        return later, first, second


def test_a_running_frame_that_a_traceback_has_shows_where_it_is_now():
    def once(function, round_):
        return function(torch.ones(2))

    check_rounds(once, looks_into_its_own_traceback, graphs=1, breaks=3, calls=4)


def looks_at_a_given_frame(x, holder):
    frame = holder[0]
    return x + 1, frame.f_lineno - frame.f_code.co_firstlineno, frame.f_back is None


def test_a_given_frame_that_has_ended_in_one_call_and_runs_in_the_next():
    def once(function, round_):
        holder = [sys._getframe()]
        return function(torch.ones(2), holder if round_ % 3 else ended)

    def ends():
        return [sys._getframe()]

    ended = ends()
    check_rounds(once, looks_at_a_given_frame, graphs=2, breaks=2, calls=12)


def writes_to_given_locals(x, error):
    frame = error.__traceback__.tb_next.tb_frame
    found = frame.f_locals
    found["x"], found["other"] = 5, 6
    return x + 1, frame.f_locals is found, found["x"] is x, sorted(found), frame.f_locals["x"] is x


def test_a_frame_writes_its_variables_each_time_the_dict_of_them_is_asked_for():
    def once(function, round_):
        x = torch.ones(2)
        try:
            raises(x)
        except KeyError as error:
            return function(x, error)

    check_rounds(once, writes_to_given_locals, graphs=1, breaks=3, calls=4)
