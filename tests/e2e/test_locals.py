"""`locals()`, `vars()` and `dir()` without arguments, and the f_locals of frames of the captured program."""

from __future__ import annotations

import sys

import torch
from support import check

import framejit


@check(breaks=0)
def test_locals_of_a_function(x):
    y = 3
    first = locals()
    z = y + 1
    before = list(first)
    del y
    second = locals()
    return x + z, before, second is first, list(second), dir(), vars() is first


@check(breaks=0)
def test_cells_and_free_variables(x):
    a = 1

    def inner():
        b = a + 1

        def deeper():
            return b

        return locals() | {"deeper": None}

    found = inner()
    a = 5
    return x + found["b"], found, sorted(inner()), "unbound" in locals()
    unbound = 1  # noqa: F841


def caller_has(name):
    return name in sys._getframe(1).f_locals


@check(breaks=0)
def test_f_locals_of_callers(x):
    def inner():
        secret = 1
        return caller_has("secret"), caller_has("x"), secret

    return x + 1, inner(), caller_has("inner")


@check(breaks=0)
def test_class_bodies_and_comprehensions(x):
    class Body:
        a = 1
        names = sorted(name for name in locals() if not name.startswith("_"))

    return x + 1, Body.names, [sorted(locals()) for _ in range(1)]


@check(breaks=1)
def test_a_dict_that_cpython_brings_up_to_date(x):
    y = x + 1
    names = locals()
    framejit.graph_break()
    z = 4
    locals()
    return y * z, sorted(names), names is locals()


@check(breaks=0)
def test_own_entries_stay(x):
    names = locals()
    names["own"], names["x"] = 1, 2
    locals()
    return x + 1, names["own"], isinstance(names["x"], torch.Tensor)
