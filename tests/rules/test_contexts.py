"""Contexts made, entered and asked in captured code, and what is left in the contexts that exist."""

from __future__ import annotations

import contextvars
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from support import Counter, check, check_rounds, same

import framejit

X = torch.ones(2)
LEVEL: contextvars.ContextVar[Any] = contextvars.ContextVar("level", default=1)
EMPTY: contextvars.ContextVar[Any] = contextvars.ContextVar("empty")
OTHER: contextvars.ContextVar[Any] = contextvars.ContextVar("other")


def contents(context: contextvars.Context) -> dict[str, Any]:
    """What a context holds, by the names of its variables."""
    return {variable.name: _plain(context[variable]) for variable in sorted(context, key=lambda one: one.name)}


def leaves(*, graphs: int = 1, breaks: int = 0, start: dict[Any, Any] | None = None) -> Callable[[Callable[..., Any]], Callable[[], None]]:
    """A test: the function is called with a tensor and a context that holds LEVEL = 4; its result and all contexts are as in eager."""

    def decorate(function: Callable[..., Any]) -> Callable[[], None]:
        def once(call: Callable[..., Any], round_: int) -> list[Any]:
            own, given = contextvars.Context(), contextvars.Context()
            for variable, value in (start or {}).items():
                own.run(variable.set, value)
            given.run(LEVEL.set, 4)
            tokens = own.run(lambda: (LEVEL.set(2), OTHER.set(3)))
            try:
                result = own.run(call, X, given, *tokens)
            except Exception as error:  # compared below
                result = type(error), len(error.args)
            after = []
            for token in tokens:
                try:
                    after.append(own.copy().run(token.var.reset, token))
                except (RuntimeError, ValueError) as error:
                    after.append(type(error))
            return [_plain(result), contents(own), contents(given), after]

        return lambda: check_rounds(once, function, graphs, breaks, 2)

    return decorate


def _plain(result: Any) -> Any:
    """Contexts and tokens of a result as what they tell."""
    if isinstance(result, (tuple, list)):
        return type(result)(map(_plain, result))
    if isinstance(result, contextvars.Context):
        return contents(result)
    if isinstance(result, contextvars.ContextVar):
        return result.name, contextvars.Context().run(result.get, "no default")
    if isinstance(result, contextvars.Token):
        old = result.old_value
        return _plain(result.var), "nothing" if old is contextvars.Token.MISSING else old, "used" in repr(result)
    return result


@check(graphs=1, breaks=0)
def test_a_variable_of_the_capture(x):
    variable = contextvars.ContextVar("own", default=x)
    plain = contextvars.ContextVar("plain")
    seen = [variable.get() is x, variable.name, plain.get(None)]
    try:
        plain.get()
    except LookupError as error:
        seen.append(error.args[0] is plain)
    token = plain.set(x + 1)
    seen += [plain.get(), token.var is plain, token.old_value is contextvars.Token.MISSING, {plain: 1}[plain]]
    plain.reset(token)
    return x, seen, plain.get(5)


@check(graphs=1, breaks=0)
def test_errors_in_making_variables(x):
    seen = []
    for make in (
        lambda: contextvars.ContextVar(3), lambda: contextvars.ContextVar(), lambda: contextvars.ContextVar("a", 1),
        lambda: contextvars.ContextVar("a", given=1), contextvars.Token, lambda: contextvars.Context(1), lambda: contextvars.Context(a=1),
        lambda: contextvars.copy_context(1), lambda: LEVEL.get(1, 2), lambda: LEVEL.set(), lambda: contextvars.Context().run(),
        lambda: hash(contextvars.Context()), lambda: contextvars.Context()[1], lambda: "a" in contextvars.Context(),
        lambda: contextvars.Context().get(None), lambda: setattr(LEVEL, "name", "b"), lambda: contextvars.Context().run(3),
    ):  # fmt: skip
        try:
            seen.append(make())
        except (TypeError, RuntimeError, AttributeError) as error:
            seen.append((type(error), error.args))
    return x + 1, seen


@leaves()
def test_run_in_a_copy(x, given, level, other):
    def inner(y, by=1):
        seen = LEVEL.get()
        LEVEL.set(by)
        EMPTY.set(y)
        return y * by, seen

    context = contextvars.copy_context()
    result = context.run(inner, x, by=7)
    return result, LEVEL.get(), EMPTY.get("none"), context[LEVEL], context[EMPTY], context.get(OTHER), OTHER in context


@leaves()
def test_run_in_a_given_context(x, given, level, other):
    seen = given.run(LEVEL.get), given.run(OTHER.get, None), LEVEL in given, len(given), OTHER in given
    given.run(LEVEL.set, x + 1)
    token = given.run(EMPTY.set, 1)
    return x + given[LEVEL], seen, given.get(EMPTY), [*given.values()] != [], token.var is EMPTY, len(given), LEVEL.get()


@leaves()
def test_what_a_function_does_before_it_raises_stays(x, given, level, other):
    def fails():
        LEVEL.set(9)
        raise ValueError("now")

    try:
        given.run(fails)
    except ValueError as error:
        x = x + len(error.args)
    copy = given.copy()
    try:
        copy.run(fails)
    except ValueError:
        OTHER.set(copy[LEVEL])
    return x, LEVEL.get()


@leaves()
def test_nested_contexts_and_copies(x, given, level, other):
    empty = contextvars.Context()
    copy = empty.copy()
    copy.run(LEVEL.set, x)

    def outer():
        LEVEL.set(5)
        inside = contextvars.copy_context()
        LEVEL.set(6)
        return inside.run(lambda: (LEVEL.get(), contextvars.copy_context().run(OTHER.get, 0))), LEVEL.get(), inside

    found = contextvars.Context().run(outer)
    deep = given.run(outer)
    return x + 1, len(empty), len(copy), copy[LEVEL] is x, found, deep, bool(empty), bool(copy)


@leaves()
def test_contexts_that_leave_the_capture(x, given, level, other):
    variable = contextvars.ContextVar("own", default=x)
    before = contextvars.copy_context()
    LEVEL.set(x * 2)
    middle = contextvars.copy_context()
    middle.run(variable.set, x + 3)
    after = given.copy()
    after.run(OTHER.set, middle)
    variable.set(1)
    return before, middle, after, contextvars.Context(), variable


@leaves()
def test_a_context_that_holds_itself(x, given, level, other):
    context = contextvars.Context()
    token = context.run(EMPTY.set, [context])
    return x + 1, context.run(EMPTY.get)[0] is context, token.var


@leaves()
def test_tokens_that_leave_the_capture(x, given, level, other):
    used = LEVEL.set(5)
    LEVEL.reset(used)
    fresh = EMPTY.set(1)
    more = EMPTY.set(x)
    of_given = given.run(EMPTY.set, 2)
    context = contextvars.copy_context()
    lone = contextvars.Context()
    in_context, in_lone = context.run(LEVEL.set, 3), lone.run(LEVEL.set, 3)
    return x + 1, used, fresh, more, of_given, in_context, in_lone


def test_tokens_that_left_the_capture_are_good_for_a_reset():
    def function(x, given):
        first, second = EMPTY.set(1), EMPTY.set(2)
        context = contextvars.Context()
        own = context.run(EMPTY.set, 3)
        return x + 1, first, second, contextvars.copy_context(), context, own, given.run(EMPTY.set, 4)

    def run(call):
        given = contextvars.Context()
        _, first, second, copy, context, own, of_given = call(X, given)
        seen = [EMPTY.get(), copy[EMPTY], context[EMPTY], given[EMPTY]]
        for token, where in ((own, copy), (of_given, copy)):
            with pytest.raises(ValueError, match="different Context"):
                where.run(EMPTY.reset, token)
        context.run(EMPTY.reset, own)
        given.run(EMPTY.reset, of_given)
        EMPTY.reset(second)
        seen += [EMPTY.get(), EMPTY in context, EMPTY in given]
        EMPTY.reset(first)
        return [*seen, EMPTY.get("none")]

    compiled = framejit.compile(function, backend="eager", fullgraph=True)
    for _ in range(2):
        assert contextvars.Context().run(run, compiled) == contextvars.Context().run(run, function)


@leaves()
def test_given_tokens(x, given, level, other):
    seen = level.var is LEVEL, level.old_value, other.old_value is contextvars.Token.MISSING, other.var.name
    LEVEL.reset(level)
    OTHER.reset(other)
    return x + LEVEL.get(), seen, OTHER.get("none")


@leaves(start={OTHER: 8, LEVEL: 9})
def test_given_tokens_bring_back_values(x, given, level, other):
    LEVEL.reset(level)
    found = LEVEL.get()
    token = LEVEL.set(x)
    OTHER.reset(other)
    LEVEL.reset(token)
    return x + 1, found, OTHER.get(), LEVEL.get()


@leaves()
def test_a_given_token_and_then_another_value(x, given, level, other):
    OTHER.reset(other)
    again = OTHER.set(5)
    old = again.old_value is contextvars.Token.MISSING
    OTHER.reset(again)
    middle = OTHER.get("none")
    OTHER.set(x)
    return x + 1, old, middle


@leaves()
def test_wrong_tokens(x, given, level, other):
    seen = []
    used = EMPTY.set(1)
    EMPTY.reset(used)
    away = contextvars.Context().run(EMPTY.set, 2)
    for variable, token in ((EMPTY, used), (EMPTY, away), (LEVEL, EMPTY.set(3)), (EMPTY, level)):
        try:
            variable.reset(token)
        except (RuntimeError, ValueError) as error:
            seen.append((type(error), len(error.args)))
    try:
        given.run(LEVEL.reset, EMPTY.set(4))
    except ValueError:
        seen.append("other variable")
    try:
        contextvars.copy_context().run(LEVEL.reset, level)
    except ValueError:
        seen.append("other context")
    LEVEL.reset(level)
    try:
        LEVEL.reset(level)
    except RuntimeError:
        seen.append("used")
    return x + 1, seen, EMPTY.get()


@leaves()
def test_a_context_is_entered_once(x, given, level, other):
    seen = []
    for context in (given, contextvars.Context()):
        try:
            context.run(context.run, int)
        except RuntimeError as error:
            seen.append(len(error.args))
        seen.append(context.run(int))
    return x + 1, seen


@leaves()
def test_the_order_of_variables_that_exist(x, given, level, other):
    EMPTY.set(x)
    copy = contextvars.copy_context()
    keys, values, items = [*copy], [*copy.values()], [*copy.items()]
    rest = iter(copy.items())
    first = next(rest)
    copy.run(EMPTY.set, 0)
    own = contextvars.Context()
    own.run(contextvars.ContextVar("own").set, 1)
    as_dict = {key.name: value for key, value in dict(copy).items()}
    return x + 1, keys, values, items, first, [*rest], as_dict, [one.name for one in own], [*given.keys()], len(copy)


def test_iterators_that_leave_the_capture():
    def function(x, context):
        context.run(LEVEL.set, 1)
        context.run(OTHER.set, 2)
        items = context.items()
        first = next(items)
        context.run(OTHER.set, 3)
        return x + 1, first, items, context.values()

    for call in (function, framejit.compile(function, backend="eager", fullgraph=True)):
        context = contextvars.Context()
        _, first, items, values = call(X, context)
        assert type(items) is type(context.items()) and type(values) is type(context.values())
        assert {first, *items} == {(LEVEL, 1), (OTHER, 2)} and sorted(values) == [1, 3]


def test_a_variable_that_more_contexts_hold_is_seen():
    def function(x, context):
        return x + len(context), [*context] == [LEVEL], LEVEL in contextvars.copy_context()

    compiled = framejit.compile(function, backend="eager", fullgraph=True)
    for count in (0, 1, 2, 1):
        context = contextvars.Context()
        for variable in (LEVEL, OTHER)[:count]:
            context.run(variable.set, 1)
        same(context.copy().run(compiled, X, context), context.copy().run(function, X, context))


@leaves(graphs=3, breaks=2)
def test_a_break_in_a_function_that_runs_in_a_context(x, given, level, other):
    def inner(y):
        LEVEL.set(5)
        framejit.graph_break()
        return y + LEVEL.get()

    LEVEL.set(3)
    y = x * 2
    z = given.run(inner, y)
    return z + LEVEL.get(), given[LEVEL]


def test_a_context_that_is_entered_is_left_to_cpython():
    def function(x, context):
        LEVEL.set(5)
        return x + context[LEVEL], context.get(OTHER)

    context = contextvars.Context()
    compiled = framejit.compile(function, backend="eager")
    for _ in range(2):
        same(context.run(compiled, X, context), (X + 5, None))

    def enters(x, context):
        with pytest.raises(RuntimeError, match="already entered"):
            context.run(int)
        return x + 1

    same(context.run(framejit.compile(enters, backend="eager"), X, context), X + 1)


def test_the_text_of_an_error_tells_the_token():
    def function(x):
        token = EMPTY.set(1)
        try:
            OTHER.reset(token)
        except ValueError as error:
            return x + 1, str(error), token
        return x

    def run(call):
        _, text, token = call(X)
        assert text == f"{token!r} was created by a different ContextVar"

    for call in (function, framejit.compile(function, backend="eager")):
        contextvars.Context().run(run, call)


def test_a_tensor_in_a_variable_is_not_kept_alive():
    def function(x):
        return x + EMPTY.get()

    compiled = framejit.compile(function, backend="eager", fullgraph=True)

    def run(value):
        EMPTY.set(value)
        return compiled(X)

    for value in (2.0, 3.0, 4.0):
        tensor = torch.full((2,), value)
        context = contextvars.Context()
        assert context.run(run, tensor).tolist() == [1 + value] * 2
        del context
        assert not [one for one in gc.get_referrers(tensor) if type(one) in (tuple, dict)]


def test_a_value_that_dies_when_it_is_replaced_dies_there():
    class Last:
        def __del__(self):
            seen.append("dies")

    def function(x):
        EMPTY.set(1)
        seen.append("set")
        return x + 1

    found = []
    for call in (function, framejit.compile(function, backend="eager")):
        seen: list[str] = []

        def run(call=call):
            EMPTY.set(Last())
            call(X)

        contextvars.Context().run(run)
        found.append(seen)
    assert found[0] == found[1]


@pytest.mark.parametrize("early", [True, False], ids=["before the break", "behind the break"])
def test_what_a_token_and_its_context_hold_dies_with_the_last_of_them(early):
    class Last:
        def __del__(self):
            seen.append("dies")

    def function(x):
        context, last = contextvars.Context(), Last()
        if early:
            token = context.run(EMPTY.set, last)
        framejit.graph_break()
        if not early:
            token = context.run(EMPTY.set, last)
        del context, last
        seen.append("context")
        del token
        seen.append("token")
        return x + 1

    counter = Counter()
    compiled = framejit.compile(function, backend=counter)
    for call in (function, compiled, compiled):
        seen: list[str] = []
        assert call(X).tolist() == [2, 2]
        assert seen == ["context", "dies", "token"]
    assert (counter.graphs, counter.runs) == (1, 2)


@check(graphs=1, breaks=0)
def test_generators_see_the_context_they_run_in(x):
    def levels():
        for _ in range(3):
            yield LEVEL.get()

    generator = levels()
    context = contextvars.Context()
    context.run(LEVEL.set, 9)
    return x + 1, next(generator), context.run(next, generator), next(generator)


@leaves()
def test_what_contexts_hold_lives(x, given, level, other):
    class Held:
        pass

    def refer(context):
        held = Held()
        context.run(EMPTY.set, held)
        return weakref.ref(held, lambda ref: seen.append("dies"))

    seen: list[str] = []
    own = contextvars.Context()
    refs = [refer(context) for context in (given, own, contextvars.Context())]
    EMPTY.set(Held())
    refs.append(weakref.ref(EMPTY.get()))
    alive = [ref() is not None for ref in refs]
    given.run(EMPTY.set, 1)
    own.run(EMPTY.set, 1)
    EMPTY.set(1)
    return x + 1, alive, [ref() is None for ref in refs], seen


@leaves()
def test_contexts_are_compared_by_what_they_hold(x, given, level, other):
    class Always:
        def __eq__(self, other):
            seen.append("asked")
            return True

    seen: list[str] = []
    one, two = contextvars.Context(), contextvars.Context()
    found = [one == two, one == one, one != two, one == given, given == given.copy(), one == 1]
    one.run(LEVEL.set, float("nan"))
    found += [one == two, one == one.copy()]
    two.run(LEVEL.set, 4)
    found += [one == two, two == given, given != two]
    one.run(LEVEL.set, Always())
    return x + 1, found, one == two, two == one, one == one.copy(), seen


@leaves()
def test_special_methods_by_name(x, given, level, other):
    keys = iter(given)
    found = contextvars.Context.__getitem__(given, LEVEL), given.__contains__(OTHER), given.__len__(), given.__eq__(given), given.__eq__(1)
    return x + 1, found, keys.__next__() is LEVEL, [*given.__iter__()] == [LEVEL]
