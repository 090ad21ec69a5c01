"""sys._getframe in captured code: its names and lines, and frames that are kept."""

from __future__ import annotations

import sys
import typing

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
