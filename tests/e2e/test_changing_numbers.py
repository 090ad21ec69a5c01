"""Numbers that change from call to call: after the first change they are inputs of the program or the graph, not constants."""

from __future__ import annotations

import math

import pytest
import torch
from support import Counter, same

import framejit
from framejit import events

FLOATS = [0.1, 0.37, -2.5, 1e-30, 3e38, math.inf, -0.0, 0.7]


class Schedule(torch.nn.Module):
    """A float and an int attribute that the module itself changes."""

    def __init__(self):
        super().__init__()
        self.scale, self.step = 0.1, 0
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x):
        self.step += 1
        self.scale = self.scale * 0.9
        if self.scale > 1e-9:
            x = x + 1
        return self.layer(x) * self.scale + self.step


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_attributes_that_change_do_not_recompile(backend):
    torch.manual_seed(0)
    eager, module = Schedule(), Schedule()
    module.load_state_dict(eager.state_dict())
    captures = []
    unsubscribe = events.subscribe(captures.append, events.CaptureEnd)
    try:
        compiled = framejit.compile(module, backend=backend)
        for _ in range(12):
            x = torch.randn(2, 3)
            same(compiled(x), eager(x))
    finally:
        unsubscribe()
    assert (module.scale, module.step) == (eager.scale, eager.step)
    assert 1 <= len(captures) <= 2  # one where another module of the class has shown that they change


BODIES = {
    "mul": lambda x, a: x * a,
    "rmul": lambda x, a: a * x,
    "add": lambda x, a: a + x - a,
    "rsub": lambda x, a: a - x,
    "div": lambda x, a: x / a,
    "compare": lambda x, a: (x < a, a >= x),
    "functions": lambda x, a: torch.sub(torch.mul(x, a), a),
    "arithmetic": lambda x, a: x * (a * 2 + 1 if a < 0.3 else a),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.complex64], ids=str)
@pytest.mark.parametrize("body", BODIES)
def test_floats_are_inputs_beside_tensors_of_floats(body, dtype):
    if body == "compare" and dtype.is_complex:
        return
    framejit.reset()  # forgets which numbers the other data types have shown to change
    function, counter = BODIES[body], Counter()
    compiled = framejit.compile(function, backend=counter)
    x = torch.tensor([0.1, -1.7, 3e4, 0.0]).to(dtype)
    for number in FLOATS:
        same(compiled(x, number), function(x, number))
    assert counter.graphs == (3 if body == "arithmetic" else 2) and counter.runs == len(FLOATS)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, a: a / x,  # a reciprocal in eager
        lambda x, a: x**a,
        lambda x, a: x.sum() * a,  # no dimensions: the tensor of a float would promote it
        lambda x, a: x.int() * a,
        lambda x, a: x.to(torch.bfloat16).mean() + a,
        lambda x, a: torch.add(x, x, alpha=a),
        lambda x, a: torch.add(x, a, alpha=a),
        lambda x, a: torch.full((2,), a) + x.clamp(min=a).sum(),
        lambda x, a: x + round(a, 1) + len(f"{a:.3f}"),
    ],
)
def test_floats_stay_constants_where_a_tensor_would_compute_otherwise(function):
    counter = Counter()
    compiled = framejit.compile(function, backend=counter)
    x = torch.tensor([0.3, 2.0, 5.0])
    for number in (0.1, 0.25, 0.5, 2.0, 0.7):
        same(compiled(x, number), function(x, number))
    assert counter.runs == 5


def test_functions_that_take_no_number_on_the_left_say_so():
    compiled = framejit.compile(lambda x, a: torch.lt(a, x), backend="eager")
    for number in (0.1, 0.2, 0.3):
        with pytest.raises(TypeError, match="invalid combination of arguments"):
            compiled(torch.ones(2), number)


def test_gradients_and_inductor():
    def function(x, a):
        return (x * a).sin().sum(), a * 2

    compiled = framejit.compile(function, backend="inductor")
    for number in (0.1, 0.2, 0.3, 0.4):
        x, y = (torch.linspace(-1, 1, 8, requires_grad=True) for _ in range(2))
        (got, double), (expected, twice) = compiled(x, number), function(y, number)
        got.backward(), expected.backward()
        torch.testing.assert_close(got, expected)
        torch.testing.assert_close(x.grad, y.grad)
        assert double == twice and type(double) is float


def test_floats_can_be_kept_constant():
    counter = Counter()
    with framejit.config.patch(specialize_float=True):
        compiled = framejit.compile(lambda x, a: x * a, backend=counter)
        for number in (0.1, 0.2, 0.3):
            compiled(torch.ones(2), number)
    assert counter.graphs == 3


def test_a_float_that_turns_into_an_int_or_a_tensor():
    counter = Counter()
    compiled = framejit.compile(lambda x, a: x * a, backend=counter)
    x = torch.arange(3)
    for number in (0.5, 0.25, 2, True, torch.tensor(0.5), 0.75, math.nan, -0.0, 3):
        same(compiled(x, number), x * number)


SIGNS = {
    "abs": abs, "abs of a product": lambda v: abs(-0.0 * v), "abs of a truth": lambda v: abs(v > 0), "abs of an int": lambda v: abs(int(v * 4)),
    "round": lambda v: round(v, 1), "minus": lambda v: -v, "product": lambda v: v * -0.0, "remainder": lambda v: v % 1.0,
    "largest": lambda v: max(0.0, v), "smallest": lambda v: min([v, 0.0]), "order": lambda v: sorted([v, 0.0, -0.0]), "divmod": lambda v: divmod(v, 2.0),
    "or": lambda v: v or 5.0, "sum": lambda v: sum([v]), "text": str,
}  # fmt: skip


@pytest.mark.parametrize("body", SIGNS)
def test_zeros_keep_their_sign(body):
    framejit.reset()
    counter = Counter()

    def function(x, number):
        return x + 1, SIGNS[body](number)

    compiled = framejit.compile(function, backend=counter)
    for number in (1.5, 2.5, 3.5, 0.0, -0.0, -1.5, -3.0, 0.0, -0.0):
        assert repr(compiled(torch.ones(1), number)[1]) == repr(function(torch.ones(1), number)[1])
    assert counter.graphs >= 1
