"""CHECK_SLOT_QUIET, CHECK_QUIET: the C++ look at a value says what `lifetime.ending` says, and asks Python where it cannot tell."""

import collections
import sys
import types
import weakref

import pytest
import torch

from framejit import _C
from framejit.core import lifetime
from framejit.core.program import Instruction, Listing


class Plain:
    def __init__(self, **names):
        vars(self).update(names)


class Slotted:
    __slots__ = ("a", "__weakref__")


class Finalized:
    def __del__(self):
        raise AssertionError("not here")

    __class__ = property(lambda self: int)


def generator():
    yield 1


class Own(list):
    pass


def referred():
    value = Plain()
    value.kept = weakref.ref(value, print)
    return value


def proxied():
    value = Slotted()
    KEPT.append(weakref.proxy(value))
    return value


def slotted():
    value = Slotted()
    value.a = FINALIZED
    return value


def traceback_of(value):
    try:
        raise_with(value)
    except ValueError as error:
        return error.__traceback__.tb_next


def raise_with(value):
    kept = [value]
    raise ValueError(len(kept))


KEPT: list = []
FINALIZED = Finalized()
Finalized.__del__ = lambda self: None
QUIET = [
    1, None, "x", 2.5, (), [1, [2]], {"a": (1, 2)}, {1, 2}, torch.ones(2), torch.nn.Linear(2, 2), torch.nn.Parameter(torch.ones(1)), Plain(a=[1]),
    generator, Plain, Finalized, types, ValueError(1), len, [].append, Plain(a=1).__init__, iter([1]), collections.deque([1]), Slotted(),
    types.SimpleNamespace(a=1), range(3), print, Own([1]), [FINALIZED] * 65, [[[[[1]]]]], open(__file__, encoding="utf-8"), torch.Size([1]),
]  # fmt: skip
LOUD = [
    FINALIZED, [FINALIZED], (1, [FINALIZED]), {"a": {"b": [FINALIZED]}}, {FINALIZED: 1}, Plain(a=FINALIZED), Plain(a=[FINALIZED]), slotted(),
    generator(), [generator()], types.CellType(FINALIZED), ValueError([FINALIZED]), referred(), [referred()], proxied(), Own([FINALIZED]),
    iter([FINALIZED]), types.MethodType(generator, FINALIZED),
]  # fmt: skip


def run(value, ask, *slots):
    rows = (Instruction("CHECK_SLOT_QUIET", (0, 0)), Instruction("LOAD_CONST", (0, 0)), Instruction("RETURN", (0,)))
    return _C.run(Listing("test", rows, (ask,), 2, ()).pack(), (value, *slots))[0]


@pytest.mark.parametrize("value", [*QUIET, _C.NULL], ids=lambda value: type(value).__name__)
def test_quiet(value):
    assert value is _C.NULL or lifetime.is_quiet(value)
    assert run(value, lifetime.is_quiet) == "exit"


@pytest.mark.parametrize("value", LOUD, ids=lambda value: type(value).__name__)
def test_loud(value):
    asked = []
    assert not lifetime.is_quiet(value)
    assert run(value, lifetime.is_quiet) == "miss"
    assert run(value, lambda found: asked.append(found) or True) == "exit"
    assert asked == [value] or asked[0] is value


def test_frames_that_have_ended_hold_their_variables():
    for value in (traceback_of(1), traceback_of(1).tb_frame, sys._getframe(), [traceback_of(1)]):
        assert lifetime.is_quiet(value)
        assert run(value, lifetime.is_quiet) == "exit"
    for value in (traceback_of(FINALIZED), traceback_of(FINALIZED).tb_frame, [traceback_of(FINALIZED)], Plain(a=traceback_of(FINALIZED))):
        assert not lifetime.is_quiet(value)
        assert run(value, lifetime.is_quiet) == "miss"


def test_python_is_asked_about_doubtful_ones_only():
    asked = []
    for value in QUIET:
        run(value, lambda found: asked.append(found) or True)
    assert {type(value) for value in asked} <= {ValueError, type(KEPT), types.CellType}
    with pytest.raises(KeyboardInterrupt):
        run(FINALIZED, lambda found: (_ for _ in ()).throw(KeyboardInterrupt))
    assert run(FINALIZED, lambda found: 1 / 0) == "miss"


def test_an_unbound_slot_beyond_the_frame():
    rows = (Instruction("CHECK_SLOT_QUIET", (3, 0)), Instruction("LOAD_CONST", (0, 0)), Instruction("RETURN", (0,)))
    assert _C.run(Listing("test", rows, (None,), 2, ()).pack(), (1,))[0] == "exit"


def test_a_value_in_a_register_is_asked_as_one_in_a_slot():
    for value in (*QUIET, *LOUD):
        rows = (
            Instruction("LOAD_SLOT", (0, 0)), Instruction("CHECK_QUIET", (0, 0)), Instruction("LOAD_CONST", (0, 0)), Instruction("RETURN", (0,)),
        )  # fmt: skip
        packed = Listing("test", rows, (lifetime.is_quiet,), 2, ()).pack()
        assert _C.run(packed, (value,))[0] == run(value, lifetime.is_quiet)
