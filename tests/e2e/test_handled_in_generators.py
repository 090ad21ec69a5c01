"""The exception that a generator handles stays its own between yields."""

from __future__ import annotations

import contextlib

from support import check


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
