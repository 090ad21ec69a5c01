"""Objects that run Python code when they die: it runs where CPython drops the last reference, not at the end of the region."""

from __future__ import annotations

import collections
import contextlib
import textwrap
import weakref

import pytest
import torch

import framejit

log: list[object] = []
note = log.append


class Box:
    pass


class Dying:
    def __del__(self):
        note("dies")


@contextlib.contextmanager
def entered():
    note("in")
    yield
    note("out")


def waits(seen):
    try:
        with entered():
            yield seen
    finally:
        note("closed")


@framejit.disable
def suspended():
    generator = waits(1)
    next(generator)
    return generator


@framejit.disable
def watched():
    box = Box()
    weakref.finalize(box, note, "finalized").atexit = False
    return box


def fails():
    for item in waits(2):
        raise KeyError(item)


def drops(value):
    return 1


def doubles(value):
    return [value, value]


def raises(value):
    raise KeyError


PROGRAMS = {
    "argument": "drops(suspended())",
    "item of a list": "held = [suspended()]; note(3); held[0] = 1",
    "list": "held = [suspended()]; held = None",
    "local and list": "one = suspended(); held = [one]; del one; note(3); del held",
    "twice in a list": "held = doubles(suspended()); note(3); held = 1",
    "popped": "held = [suspended()]; note(3); held.pop()",
    "attribute": "box = Box(); box.held = suspended(); note(3); box.held = 1",
    "object": "box = Box(); box.held = suspended(); note(3); del box",
    "dict": "held = {1: suspended()}; note(3); held.clear()",
    "item of a dict": "held = {1: suspended()}; note(3); held.pop(1)",
    "set": "held = {suspended()}; note(3); held.clear()",
    "tuple": "held = (suspended(), 1); note(3); held = held[1:]",
    "default": "function = lambda one=suspended(): one; note(3); function = 3",
    "closure": "one = suspended(); function = lambda: one; note(function() is one); one = 3",
    "global attribute": "BOX.held = suspended(); note(3); BOX.held = 1",
    "deleted attribute": "BOX.held = suspended(); note(3); del BOX.held",
    "popped from a global list": "LIST.append(suspended()); note(3); LIST.pop()",
    "moved from a global list": "LIST.append(suspended()); note(3); one = LIST.pop(); note(5); one = 1",
    "cleared global list": "LIST.append(suspended()); note(3); LIST.clear()",
    "item of a global list": "LIST.append(suspended()); note(3); LIST[0] = 2; note(5); LIST.clear()",
    "slice of a global list": "LIST.append(suspended()); note(3); LIST[:] = [1]; note(5); LIST.clear()",
    "item of a global dict": "DICT['a'] = suspended(); note(3); DICT['a'] = 2",
    "updated global dict": "DICT['a'] = suspended(); note(3); DICT.update(a=2)",
    "cleared global dict": "DICT['a'] = suspended(); note(3); DICT.clear()",
    "cleared global set": "SET.add(suspended()); note(3); SET.clear()",
    "ordered dict": "ORDERED['a'] = suspended(); note(3); ORDERED.popitem()",
    "deque": "DEQUE.append(suspended()); note(3); DEQUE.popleft()",
    "global": "global HELD\nHELD = suspended(); note(3); HELD = 2",
    "local behind a break": "one = suspended(); framejit.graph_break(); note(3); one = 1",
    "dead list behind a break": "held = [suspended()]; framejit.graph_break(); note(3); held = 1",
    "list behind a break": "held = [suspended()]; framejit.graph_break(); note(3); held[0] = 1",
    "cell behind a break": "one = suspended(); framejit.graph_break()\ndef reads():\n    return one\nnote(3); one = 1",
    "object behind a break": "box = Box(); box.held = suspended(); framejit.graph_break(); note(3); del box",
    "swapped": "one, two = suspended(), suspended(); note(3); one, two = two, one; note(5); one = 1",
    "loop variable": "for one in [suspended(), suspended()]:\n    note(3)",
    "local of a callee": "def inner():\n    one = suspended()\n    note(3)\nnote(inner())",
    "finalizer": "one = Dying(); note(3); one = 1",
    "finalizer in a list": "held = [Dying()]; note(3); held = 1",
    "callback": "one = watched(); note(3); one = 1",
    "exception without a name": "try:\n    fails()\nexcept KeyError:\n    note(3)",
    "exception with a name": "try:\n    fails()\nexcept KeyError as error:\n    note(3)",
    "exception in a list": "try:\n    fails()\nexcept KeyError as error:\n    note(3); held = [error]\nnote(5); held.clear()",
    "exception of an argument": "try:\n    raises(suspended())\nexcept KeyError as error:\n    note(3)",
    "exception replaced": "try:\n    try:\n        fails()\n    except KeyError:\n        raise ValueError\nexcept ValueError:\n    note(3)",
    "exception suppressed": "with contextlib.suppress(KeyError):\n    fails()",
    "exceptions in a loop": "for _ in range(2):\n    try:\n        fails()\n    except KeyError as error:\n        note(3); continue",
    "exception in a callee": "def inner():\n    try:\n        fails()\n    except KeyError:\n        return 1\nnote(inner())",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_dropped(name):
    lines = [part for line in PROGRAMS[name].splitlines() for part in _split(line)]
    source = "def run(x):\n" + textwrap.indent("\n".join([*lines, "note(4)", "return x + 1"]), "    ")
    names = {**globals(), "BOX": Box(), "LIST": [], "DICT": {}, "SET": set(), "ORDERED": collections.OrderedDict(), "DEQUE": collections.deque()}
    exec(source, names)
    framejit.reset()
    compiled = framejit.compile(names["run"], backend="eager")
    seen = []
    for run in (names["run"], compiled, compiled):
        log.clear()
        run(torch.ones(2))
        seen.append(list(log))
    assert seen[1:] == [seen[0], seen[0]], source


def _split(line):
    indent = line[: len(line) - len(line.lstrip())]
    return [indent + part for part in line.strip().split("; ")]


def handles(x, deep):
    try:
        if deep:
            fails()
        int(opaque_text())
    except (KeyError, ValueError):
        note(3)
    note(4)
    return x + 1


@framejit.disable
def opaque_text():
    return "x"


def test_an_exception_with_frames_comes_to_a_handler_that_knows_none():
    framejit.reset()
    compiled = framejit.compile(handles, backend="eager")
    for deep in (False, True, False, True):
        seen = []
        for run in (handles, compiled):
            log.clear()
            run(torch.ones(2), deep)
            seen.append(list(log))
        assert seen[0] == seen[1]
