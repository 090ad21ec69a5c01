"""Context variables in captured code."""

from __future__ import annotations

import contextvars

import pytest
import torch
from support import Counter, check

import framejit

X = torch.ones(2)
LEVEL: contextvars.ContextVar[int] = contextvars.ContextVar("level", default=1)
EMPTY: contextvars.ContextVar[object] = contextvars.ContextVar("empty")


@check(breaks=0)
def test_set_and_reset(x):
    token = LEVEL.set(5)
    inner = LEVEL.get()
    second = LEVEL.set(7)
    seen = LEVEL.get(), second.old_value, token.var is LEVEL, token.old_value is contextvars.Token.MISSING
    LEVEL.reset(second)
    seen += (LEVEL.get(),)
    LEVEL.reset(token)
    return x * inner, seen, LEVEL.get(), EMPTY.get("none")


@check(breaks=0)
def test_a_variable_without_a_value(x):
    try:
        EMPTY.get()
    except LookupError as error:
        return x + 1, error.args[0] is EMPTY


def test_what_is_set_stays_set_in_the_context_of_the_call():
    counter = Counter()

    def function(x, value):
        LEVEL.set(value)
        return x + LEVEL.get()

    compiled = framejit.compile(function, backend=counter, fullgraph=True)
    for value in (3, 4):
        context = contextvars.copy_context()
        assert context.run(compiled, X, value).tolist() == [1 + value] * 2
        assert context[LEVEL] == value and LEVEL.get() == 1


def test_a_value_that_changed_is_seen():
    compiled = framejit.compile(lambda x: x + LEVEL.get(), backend="eager", fullgraph=True)
    for value in (3, 3, 9):
        context = contextvars.copy_context()
        context.run(LEVEL.set, value)
        assert context.run(compiled, X).tolist() == [1 + value] * 2
    assert compiled(X).tolist() == [2, 2]


def test_a_token_that_leaves_the_capture_is_cpythons():
    def function(x):
        return x + 1, LEVEL.set(8)

    def run():
        _, token = framejit.compile(function, backend="eager")(X)
        assert LEVEL.get() == 8
        LEVEL.reset(token)
        assert LEVEL.get() == 1

    contextvars.copy_context().run(run)


@pytest.mark.parametrize("times", [1, 2])
def test_a_token_is_good_for_one_reset(times):
    def function(x):
        token = LEVEL.set(8)
        for _ in range(times):
            LEVEL.reset(token)
        return x + LEVEL.get()

    compiled = framejit.compile(function, backend="eager")
    if times == 1:
        assert compiled(X).tolist() == [2, 2]
    else:
        with pytest.raises(RuntimeError, match="already been used once"):
            contextvars.copy_context().run(compiled, X)
