"""Calls with wrong arguments raise CPython's own errors."""

from __future__ import annotations

from support import check


def two(a, b):
    return a


def optional(a, b=1, *, c, d=2):
    return a


def only(a, b, /, c):
    return a


def three(a, b, c):
    return a


class Entered:
    def __enter__(self):
        return self


def attempt(function):
    try:
        return function()
    except TypeError as error:
        return str(error)


def enter(manager):
    with manager:
        return 1


@check()
def test_messages(x):
    return x + 1, [
        attempt(lambda: two()), attempt(lambda: two(1)), attempt(lambda: two(1, 2, 3)), attempt(lambda: two(1, 2, b=3)),
        attempt(lambda: two(1, c=3)), attempt(lambda: optional(1, 2, 3)), attempt(lambda: optional(1, 2, 3, c=4)),
        attempt(lambda: optional(1)), attempt(lambda: only(1, b=2, c=3)), attempt(lambda: three()), attempt(lambda: (lambda: 1)(2)),
        attempt(lambda: enter(Entered())), attempt(lambda: enter(3)), attempt(lambda: optional(1, 2, 3, 4, c=4, d=5)),
    ]  # fmt: skip
