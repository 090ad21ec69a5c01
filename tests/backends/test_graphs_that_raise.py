"""Backends whose compiled graphs fail when they run: a wrong result is an error, an exception of theirs is told of."""

import warnings

import pytest
import torch

import framejit
from framejit.core.errors import BackendError


class Failing:
    """Compiles graphs that raise, or return `result(outputs)`."""

    def __init__(self, result):
        self.result = result

    def __call__(self, graph_module, example_inputs):
        return lambda *inputs: self.result(graph_module(*inputs))


def raising(outputs):
    raise RuntimeError("out of order")


def two(x):
    return x + 1, x * 2


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (lambda outputs: outputs[:1], "returned 1 values, not 2"),
        (lambda outputs: [*outputs, 3], "returned 3 values, not 2"),
        (lambda outputs: outputs[0], "tuple or list, not 'Tensor'"),
        (lambda outputs: None, "tuple or list, not 'NoneType'"),
    ],
)
def test_results_of_another_kind_are_an_error_that_names_the_backend(result, words):
    compiled = framejit.compile(two, backend=Failing(result))
    for _ in range(2):
        with pytest.raises(BackendError, match="backend 'Failing'") as caught:
            compiled(torch.ones(2))
        assert words in str(caught.value)
        assert type(caught.value.__cause__) is framejit._C.GraphResultError


def inner(x):
    return x + 1


def outer(x):
    return inner(x) * 2


@pytest.mark.parametrize("fn", [two, outer], ids=["root", "nested"])
def test_an_exception_that_plain_python_does_not_raise_is_told_of(fn):
    compiled, x = framejit.compile(fn, backend=Failing(raising)), torch.ones(2)
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match=f"backend 'Failing' compiled for {fn.__name__} .* RuntimeError: out of order"):
            got = compiled(x)
        torch.testing.assert_close(got, fn(x))


def test_as_an_error_the_warning_reaches_the_caller():
    compiled = framejit.compile(two, backend=Failing(raising))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="out of order"):
            compiled(torch.ones(2))


def guarded(x, index):
    try:
        return x[index]
    except IndexError:
        return None


def suppressed(x, index):
    return guarded(x, index)


@pytest.mark.parametrize("fn", [guarded, suppressed, lambda x, index: x[index]], ids=["handled", "handled within", "not handled"])
def test_exceptions_of_the_program_are_not(fn):
    compiled, index = framejit.compile(fn, backend="eager"), torch.tensor([7])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            if fn in (guarded, suppressed):
                assert compiled(torch.ones(2), index) is None
            else:
                with pytest.raises(IndexError):
                    compiled(torch.ones(2), index)
    assert framejit._C.stats()["replays"] > 0


def test_generators_are_told_of_as_well():
    def numbers(x):
        yield x + 1
        yield x + 2

    with pytest.warns(RuntimeWarning, match="compiled for .*numbers"):
        got = list(framejit.compile(numbers, backend=Failing(raising))(torch.ones(2)))
    torch.testing.assert_close(got, [torch.ones(2) + 1, torch.ones(2) + 2])


def test_what_a_graph_changed_before_it_raised_is_taken_back():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(()))

        def forward(self, x, y):
            self.seen += 1
            try:
                y.clamp_(-5, 5)
            except RuntimeError:
                return x + self.seen
            return x

    def overlapping():
        return [torch.ones(1).expand(4), torch.ones(2, 1).expand(2, 3), torch.arange(6.0).as_strided((3, 3), (1, 1)), torch.ones(3)]

    eager, model = Net(), Net()
    compiled = framejit.compile(model, backend="eager")
    for a, b in zip(overlapping() * 2, overlapping() * 2, strict=True):
        torch.testing.assert_close(compiled(torch.ones(2), a), eager(torch.ones(2), b))
        torch.testing.assert_close((model.seen, a), (eager.seen, b))


def test_an_exception_in_a_frame_that_waits_is_no_fault_of_the_backend():
    def outer(x, y):
        n = sum([framejit.graph_break() or k for k in (1, 2)])
        try:
            return y.clamp_(-5, n)
        except RuntimeError:
            return x + n

    compiled = framejit.compile(outer, backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            torch.testing.assert_close(compiled(torch.ones(2), torch.ones(1).expand(4)), torch.ones(2) + 3)
