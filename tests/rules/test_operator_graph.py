"""Operators of the graph: errors, caching, in-place changes, custom operators and numbers, on several backends."""

import warnings

import pytest
import torch
import torch.nn.functional as F

import framejit
from support import Counter, check

BACKENDS = ["eager", "aot_eager"]


def grid():
    return (torch.arange(6.0).reshape(2, 3),)


@check(lambda: (torch.ones(2, 3), torch.ones(2, 3)), graphs=0)
def test_wrong_shapes_raise_the_eager_error(x, y):
    return x @ y


@check(grid, breaks=1)
def test_wrong_shapes_are_catchable(x):
    y = x + 1
    try:
        y = y.view(5)
    except RuntimeError:
        y = y.view(6) * 2
    return y


@check(grid, breaks=1)
def test_index_error_of_a_view(x):
    y = x + 1
    try:
        return y[5]
    except IndexError:
        return y[1] * 2


@check(lambda: (torch.ones(3), torch.tensor([0, 2])), lambda: (torch.ones(3), torch.tensor([0, 7])))
def test_index_error_of_the_data(x, i):
    y = x + 1
    return y[i]


@check(grid, breaks=1)
def test_reading_a_value_breaks(x):
    return x * x.sum().item()


@check(grid, breaks=1)
def test_boolean_mask_breaks(x):
    return x[x > 2] * 2


@check(grid, breaks=1)
def test_branch_on_data_breaks(x):
    if x.sum() > 3:
        return x + 1
    return x - 1


@check(grid, breaks=1)
def test_nonzero_breaks(x):
    return x.nonzero() + 1


def test_warnings_are_shown_once_by_the_run():
    compiled = framejit.compile(lambda x: F.softmax(x) + 1, backend="eager")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        compiled(torch.ones(2, 2))
    assert [record.category for record in seen] == [UserWarning]


def test_repeated_operators_share_their_fakes():
    from framejit.rules import operator_graph

    runs = []
    attempt = operator_graph._Attempt.run

    def counted(self, args, kwargs):
        runs.append(self.target)
        return attempt(self, args, kwargs)

    def f(x):
        for _ in range(50):
            x = torch.relu(x + 1)
            x += 1
        return x

    operator_graph._Attempt.run = counted
    try:
        counter = Counter()
        x = torch.randn(3)
        torch.testing.assert_close(framejit.compile(f, backend=counter)(x), f(x))
    finally:
        operator_graph._Attempt.run = attempt
    assert counter.operators == 150 and len(runs) <= 6


@pytest.mark.parametrize("backend", BACKENDS)
def test_changes_in_place(backend):
    def f(x, w):
        y = x.clone()
        view = y[0]
        y.mul_(2)
        view.add_(w[0])
        x.sub_(1)
        z = torch.zeros(2, 3)
        z[:, 0] = w[:, 0]
        z.t_()
        return y, view, z, F.relu(z * 1, inplace=True)

    compiled = framejit.compile(f, backend=backend)
    w = torch.ones(2, 3, requires_grad=True)
    for _ in range(2):
        x, other = torch.arange(6.0).reshape(2, 3), torch.arange(6.0).reshape(2, 3)
        for got, want in zip((*compiled(x, w), x), (*f(other, w), other), strict=True):
            torch.testing.assert_close(got, want)
            assert got.requires_grad == want.requires_grad and got.stride() == want.stride()


@pytest.mark.parametrize("backend", BACKENDS)
def test_numbers_become_inputs(backend):
    def f(x, i):
        return x * i + (i + 1), i > 5, x == i

    counter = Counter()
    compiled = framejit.compile(f, backend=counter if backend == "eager" else backend)
    x = torch.arange(3.0)
    for i in (3, 4, 5, 6, 0, -1, 1, 2**40):
        got, want = compiled(x, i), f(x, i)
        torch.testing.assert_close(got[0], want[0])
        assert got[1] is want[1] and torch.equal(got[2], want[2])
    assert counter.graphs <= 3


@torch.library.custom_op("framejit_tests::double", mutates_args=())
def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@double.register_fake
def _(x):
    return torch.empty_like(x)


@torch.library.custom_op("framejit_tests::increase", mutates_args=("x",))
def increase(x: torch.Tensor) -> None:
    x.add_(1)


@check(grid)
def test_custom_operators(x):
    increase(x)
    y = double(x) + torch.ops.framejit_tests.double(x)
    return y, torch.ops.aten.add(x, 1), torch.ops.aten.mul.Tensor(x, x), torch.ops.aten.slice(x, 0, 0, 1)


def test_functions_allowed_in_the_graph():
    @framejit.allow_in_graph
    def scaled(x, scale=1):
        return x * scale

    counter = Counter()
    compiled = framejit.compile(lambda x: scaled(x, scale=3) + 1, backend=counter, fullgraph=True)
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 4.0))
    assert [node.target for node in counter.modules[0].graph.nodes][1] is scaled


def test_placeholders_and_operators_carry_fake_tensors():
    counter = Counter()
    framejit.compile(lambda x: x.split(1)[0] + 1, backend=counter)(torch.ones(2, 3))
    for node in counter.modules[0].graph.nodes:
        if node.op != "output":
            example = node.meta["example_value"]
            examples = example if isinstance(example, (list, tuple)) else [example]
            assert all(isinstance(item, torch._subclasses.FakeTensor) for item in examples)


@check(grid, lambda: (-torch.ones(2, 3),), graphs=1)
def test_checks_of_the_data(x):
    y = x + 1
    torch._check_tensor_all(y > 0, lambda: "must be positive")
    return y * 2
