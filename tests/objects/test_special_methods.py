"""Special methods that are None, answer wrongly, or belong to subclasses of numbers."""

from __future__ import annotations

import enum

import torch

from support import check


class Blocked:
    __iadd__ = None
    __bool__ = None
    __contains__ = None


class OddNumber(int):
    def __bool__(self):
        return 1

    def __abs__(self):
        return "abs"


class Negative:
    def __len__(self):
        return -1


class Self:
    def __bool__(self):
        return self


def attempt(function, *args):
    try:
        return function(*args)
    except (TypeError, ValueError) as error:
        return type(error), error.args


def add(blocked):
    blocked += 10
    return blocked


def contains(blocked):
    return 3 in blocked


@check(lambda: (torch.ones(2), Blocked(), OddNumber(3)))
def test_wrong_answers_raise(x, blocked, number):
    return (
        x + 1, attempt(add, blocked), attempt(bool, blocked), attempt(contains, blocked), attempt(bool, number),
        attempt(abs, number), attempt(bool, Negative()), attempt(len, Negative()), attempt(bool, Self()), attempt(3),
    )  # fmt: skip


@check()
def test_numbers_of_a_subclass_are_returned(x):
    number = OddNumber(4)
    number.name = "four"
    return x * number.real, number, number.name


class Shout(str):
    def __str__(self):
        return "other"


class Mode(str, enum.Enum):
    FAST = "fast"


class Odd(float):
    def __float__(self):
        return 0.5


class Bits(bytes):
    def __bytes__(self):
        return b"other"


@check(lambda: (torch.ones(2), Shout("a"), Odd(2.0), Bits(b"b")))
def test_the_value_within_a_subclass(x, text, number, bits):
    return x * 2, text == "a", text + "b", Mode.FAST == "fast", "fast" == Mode.FAST, {"fast": 1}.get(Mode.FAST), number * 2, bits + b"c", number == 2.0
