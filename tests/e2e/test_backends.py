"""Captured programs on every backend: values, gradients, mutation, aliasing, modes, random numbers."""

import warnings

import pytest
import torch
from torch import nn

import framejit

BACKENDS = ["eager", "aot_eager", "inductor"]


@pytest.fixture(autouse=True)
def fresh():
    framejit.reset()
    torch.manual_seed(0)
    with framejit.config.patch(strict=True), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield
    framejit.reset()


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


def graphs():
    return framejit.stats().get("frames", {}).get("graphs", 0)


def test_a_training_step_equals_eager(backend):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 4)

        def forward(self, x, target):
            return nn.functional.cross_entropy(self.second(self.first(x).relu()), target)

    def run(wrap):
        torch.manual_seed(1)
        net = Net()
        call = wrap(net)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        losses = []
        for _ in range(4):
            optimizer.zero_grad()
            loss = call(torch.randn(5, 8), torch.randint(0, 4, (5,)))
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return torch.stack(losses), [parameter.detach() for parameter in net.parameters()]

    want = run(lambda net: net)
    got = run(lambda net: framejit.compile(net, backend=backend))
    torch.testing.assert_close(got, want)
    assert graphs() == 1


def test_grad_mode_switches_between_calls(backend):
    linear = nn.Linear(3, 3)
    compiled = framejit.compile(lambda x: linear(x).sin(), backend=backend)
    x = torch.randn(2, 3)
    with torch.no_grad():
        assert not compiled(x).requires_grad
    assert compiled(x).requires_grad
    with torch.no_grad():
        assert not compiled(x).requires_grad
    torch.testing.assert_close(compiled(x), linear(x).sin())
    assert graphs() == 2


def test_inputs_mutated_in_place(backend):
    def fn(x, y):
        x.add_(y)
        y[0] = x.sum()
        return x * 2, y

    compiled = framejit.compile(fn, backend=backend)
    for _ in range(2):
        a, b = torch.randn(4), torch.randn(4)
        eager = a.clone(), b.clone()
        got, want = compiled(a, b), fn(*eager)
        torch.testing.assert_close((got, a, b), (want, *eager))
        assert got[1] is b
    assert graphs() == 1


def test_one_view_of_two_is_mutated(backend):
    def fn(x, y):
        x.mul_(2)
        return y + 1

    compiled = framejit.compile(fn, backend=backend)
    apart = torch.ones(4), torch.ones(4)
    torch.testing.assert_close(compiled(*apart), torch.full((4,), 2.0))
    base = torch.ones(6)
    torch.testing.assert_close(compiled(base[:4], base[1:5]), torch.tensor([3.0, 3.0, 3.0, 2.0]))
    base = torch.ones(4)
    torch.testing.assert_close(compiled(base, base), torch.full((4,), 3.0))
    torch.testing.assert_close(compiled(*apart), torch.full((4,), 2.0))


def test_outputs_alias_inputs_and_each_other(backend):
    def fn(x):
        y = x + 1
        return x.view(2, 2), y, y.t(), x

    x = torch.randn(2, 2)
    view, y, transposed, same = framejit.compile(fn, backend=backend)(x)
    assert same is x and view.data_ptr() == x.data_ptr()
    assert transposed.data_ptr() == y.data_ptr()
    y.zero_()
    assert not transposed.any()


def test_buffers_updated_by_batch_norm(backend):
    def run(wrap):
        torch.manual_seed(2)
        norm = nn.BatchNorm1d(4)
        call = wrap(norm)
        out = [call(torch.randn(6, 4)) for _ in range(3)]
        norm.eval()
        out.append(call(torch.randn(6, 4)))
        return out, norm.running_mean, norm.running_var, norm.num_batches_tracked

    got, want = run(lambda norm: framejit.compile(norm, backend=backend)), run(lambda norm: norm)
    torch.testing.assert_close(got, want)
    assert graphs() >= 2


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_random_numbers_are_those_of_eager(backend):
    def fn(x):
        return nn.functional.dropout(x, 0.5) + torch.rand(3)

    compiled = framejit.compile(fn, backend=backend)
    x = torch.ones(3)
    torch.manual_seed(3)
    got = compiled(x), compiled(x)
    torch.manual_seed(3)
    torch.testing.assert_close(got, (fn(x), fn(x)))
    assert graphs() == 1


def test_autocast_around_and_inside(backend):
    def inside(x):
        with torch.autocast("cpu", torch.bfloat16):
            y = x @ x
        return y, x @ x

    compiled = framejit.compile(inside, backend=backend)
    x = torch.randn(4, 4)
    got, want = compiled(x), inside(x)
    assert [t.dtype for t in got] == [t.dtype for t in want] == [torch.bfloat16, torch.float32]
    around = framejit.compile(lambda x: x @ x, backend=backend)
    assert around(x).dtype == torch.float32
    with torch.autocast("cpu", torch.bfloat16):
        assert around(x).dtype == torch.bfloat16
    assert not torch.is_autocast_enabled("cpu")
    assert around(x).dtype == torch.float32


def test_inference_mode(backend):
    compiled = framejit.compile(lambda x: x.sin() + 1, backend=backend)
    x = torch.randn(3)
    with torch.inference_mode():
        got = compiled(x)
        assert got.is_inference()
    assert not compiled(x).is_inference()
    torch.testing.assert_close(got.clone(), x.sin() + 1)


def test_a_graph_that_raises_gives_the_eager_error(backend):
    def fn(x, index):
        y = x + 1
        z = torch.embedding(y, index)
        return z * 2

    compiled = framejit.compile(fn, backend=backend)
    table = torch.randn(3, 2)
    torch.testing.assert_close(compiled(table, torch.tensor([1])), fn(table, torch.tensor([1])))
    bad = torch.tensor([7])
    with pytest.raises(Exception) as want:
        fn(table, bad)
    with pytest.raises(type(want.value)) as got:
        compiled(table, bad)
    assert got.traceback[-1].lineno == want.traceback[-1].lineno
    assert got.traceback[-1].frame.code.raw is fn.__code__


def test_no_tensor_outputs_and_no_inputs(backend):
    assert framejit.compile(lambda: 3, backend=backend)() == 3
    torch.testing.assert_close(framejit.compile(lambda: torch.ones(2) * 2, backend=backend)(), torch.full((2,), 2.0))
    x = torch.ones(2)
    assert framejit.compile(lambda x: (x + 1, "text", None, [3]), backend=backend)(x)[1:] == ("text", None, [3])


def test_dtypes_devices_and_shapes_recompile(backend):
    compiled = framejit.compile(lambda x: x * 2 + 1, backend=backend)
    inputs = [torch.ones(2), torch.ones(3), torch.ones(2, dtype=torch.int64), torch.ones(2, 2).t(), torch.ones(2)]
    for x in inputs:
        got = compiled(x)
        torch.testing.assert_close(got, x * 2 + 1)
        assert got.dtype == (x * 2 + 1).dtype
    assert graphs() == 4


def test_a_changed_int_becomes_an_input(backend):
    compiled = framejit.compile(lambda x, n: x + n, backend=backend)
    for n in range(2, 9):
        torch.testing.assert_close(compiled(torch.zeros(3), n), torch.full((3,), float(n)))
    assert graphs() == 2


def test_mode_and_options_reach_inductor():
    for arguments in (dict(mode="max-autotune-no-cudagraphs"), dict(options={"epilogue_fusion": False})):
        compiled = framejit.compile(lambda x: x.sin() + 1, **arguments)
        torch.testing.assert_close(compiled(torch.ones(3)), torch.ones(3).sin() + 1)


def test_torchs_own_backends_take_the_graphs():
    compiled = framejit.compile(lambda x: x.sin() + 1, backend="aot_eager_decomp_partition")
    x = torch.randn(3, requires_grad=True)
    compiled(x).sum().backward()
    torch.testing.assert_close(x.grad, x.detach().cos())
