"""The exception that a generator handles stays its own between yields."""

from __future__ import annotations

import contextlib
import sys
from itertools import permutations

import framejit
from support import check, recorded


def reraising():
    try:
        raise ValueError("first")
    except ValueError:
        try:
            yield 1
        except KeyError as error:
            yield repr(error.__context__)
        raise


@check()
def test_raise_after_a_yield(x):
    body = reraising()
    found = [next(body)]
    found.append(body.throw(KeyError("thrown")))
    try:
        next(body)
    except ValueError as error:
        found.append(str(error))
    return x + 1, found


def outer():
    try:
        yield 1
    finally:
        yield 2


@check()
def test_the_caller_handles_another(x):
    found = []
    for body in (outer(), reraising()):
        next(body)
        try:
            raise TypeError("caller")
        except TypeError as error:
            try:
                found.append(body.throw(KeyError("thrown")))
                next(body)
            except (ValueError, KeyError) as other:
                found.append((type(other).__name__, type(other.__context__).__name__))
    return x + 1, found


class NoSetter:
    @property
    def value(self):
        return 1

    other = property(None)


@check()
def test_properties_without_functions(x):
    made, found = NoSetter(), []
    for action in (lambda: setattr(made, "value", 1), lambda: delattr(made, "value"), lambda: made.other):
        try:
            action()
        except AttributeError as error:
            found.append(str(error))
    try:
        compile("def f(a, a): pass", "<here>", "exec")
    except SyntaxError as error:
        found += [error.lineno, error.offset, error.filename, str(error)]
    return x + 1, found


@contextlib.contextmanager
def translated():
    try:
        yield 3
    except KeyError as error:
        raise ValueError("translated") from error
    except TypeError:
        pass


@check()
def test_a_generator_context_manager_sees_exceptions(x):
    found = []
    for error in (KeyError("a"), TypeError("b"), None):
        try:
            with translated() as value:
                if error is not None:
                    raise error
                x = x + value
        except ValueError as other:
            found.append((str(other), type(other.__cause__).__name__))
    return x, found


def says_what_is_handled(n):
    for i in range(n):
        try:
            raise KeyError(i)
        except KeyError as error:
            yield type(error.__context__), sys.exc_info()[0]
        yield sys.exc_info()[0]
        try:
            raise
        except RuntimeError:
            yield "nothing"
        except ValueError as error:
            yield repr(error)


def driven_in_a_handler(function, at):
    body, found = function(2), []
    for turn in range(4):
        try:
            if turn in at:
                raise ValueError(turn)
        except ValueError:
            found.append(next(body))
        else:
            found.append(next(body))
    return found


def test_what_the_driver_handles_is_asked_each_time_the_generator_comes_out_of_its_own_handler():
    with framejit.config.patch(capture_without_tensors=True):
        for order in permutations(((), (1,), (2, 3))):
            framejit.reset()
            compiled = framejit.compile(says_what_is_handled, backend="eager")
            with recorded(framejit.events.Recompile) as told:
                for at in order:
                    for _ in range(4):
                        assert driven_in_a_handler(compiled, at) == driven_in_a_handler(says_what_is_handled, at)
        assert any("no exception" in str(failure) for record in told for failure in record.failures)
