"""One example program for each reason why a region ends; `docs/breaks.md` shows them, a test runs them.

Each row is a function with its arguments; the body is what the page shows.
"""

import ast
import decimal
import random
import struct
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

import framejit


class Program(NamedTuple):
    """The example of one reason."""

    function: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]
    settings: dict[str, Any]


PROGRAMS: dict[str, Program] = {}
x = lambda: (torch.arange(4.0),)  # noqa: E731


def example(
    reason: str, arguments: Callable[[], tuple[Any, ...]] = x, **settings: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the example of a reason, with arguments and settings it needs."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if reason in PROGRAMS:
            raise ValueError(f"two examples for {reason}")
        PROGRAMS[reason] = Program(function, arguments, settings)
        return function

    return register


@example("USER_BREAK")
def user_break(x):
    y = x + 1
    framejit.graph_break()
    return y * 2


@framejit.disable
def left_alone(x):
    return x * 2


@example("DISABLED_FUNCTION")
def disabled_function(x):
    return left_alone(x + 1)


@example("OPAQUE_CALL")
def opaque_call(x):
    return x + int(decimal.Decimal(2))


@example("OPAQUE_OPERATION", lambda: (torch.ones(2), decimal.Decimal(3)))
def opaque_operation(x, price):
    return x + int(2 * price)


@example("ATTRIBUTE_OF_OPAQUE")
def attribute_of_opaque(x):
    squares = (number * number for number in range(3))
    return x + next(squares), squares.gi_frame is None


class Settings:
    """Settings."""


@example("STORE_TO_OPAQUE")
def store_to_opaque(x):
    Settings.__doc__ = "Other settings."
    return x + 1


@example("UNKNOWN_ITERATOR", lambda: (torch.ones(2), struct.iter_unpack("b", b"ab")))
def unknown_iterator(x, numbers):
    for (number,) in numbers:
        x = x + number
    return x


@example("DATA_DEPENDENT_BRANCH")
def data_dependent_branch(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


@example("SCALAR_READ")
def scalar_read(x):
    return x * x.max().item()


@example("DYNAMIC_SHAPE_OPERATOR")
def dynamic_shape_operator(x):
    return x[x > 1] + 1


@example("FAKE_TENSOR_ERROR")
def fake_tensor_error(x):
    try:
        return x + torch.ones(3)
    except RuntimeError:
        return x


@example("IMPORT")
def import_that_runs(x):
    sys.modules.pop("this_is_not_loaded", None)
    try:
        import this_is_not_loaded  # noqa: F401
    except ImportError:
        x = x + 1
    return x


class Meta(type):
    def mro(cls):
        return super().mro()


@example("BUILD_CLASS")
def build_class(x):
    class Local(metaclass=Meta):
        K = 3

    return x * Local.K


@example("FRAME_INSPECTION")
def frame_inspection(x):
    y = x + 1
    return y, len(ast.parse("1 + 2").body)


def recovering():
    try:
        raise ValueError("handled")
    except ValueError:
        yield 1


def handling():
    """A generator that waits while it handles an exception."""
    generator = recovering()
    next(generator)
    return generator


@example("GENERATOR_OPERATION", lambda: (torch.ones(2), handling()))
def generator_operation(x, numbers):
    numbers.close()
    return x + 1


def keeps():
    try:
        raise ValueError("kept")
    except ValueError as error:
        yield error


@example("UNCAUGHT_EXCEPTION")
def uncaught_exception(x):
    waiting = keeps()
    return x + 1, next(waiting), waiting


@example("EXCEPTION_OPERATION", lambda: (torch.ones(2), ValueError("made long ago")))
def exception_operation(x, error):
    error.__init__("made again")
    return x + 1, error


@example("TENSOR_ATTRIBUTE_STORE")
def tensor_attribute_store(x):
    y = x * 2
    y.grad = None
    y.data = x
    return y


@example("BACKWARD", lambda: (torch.ones(2, requires_grad=True),))
def backward(x):
    (x * 2).sum().backward()
    return x.grad


@example("RANDOM_STATE")
def random_state(x):
    random.Random().random()  # seeded by the operating system
    return x + 1


@example("OUTPUT")
def output(x):
    print(end="")
    return x + 1


@example("CODE_TOO_LARGE", instruction_limit=500)
def code_too_large(x):
    for _ in range(100):
        x = x + 1
    return x


@example("INLINE_TOO_DEEP", inline_limit=20)
def inline_too_deep(x):
    def down(n):
        return x + n if n < 1 else down(n - 1)

    return down(30)
