"""Odd but plausible PyTorch programs: aliasing, modes, modules that change, shapes, numpy, transforms, threads; equal to eager."""

import asyncio
import copy
import dataclasses
import functools
import io
import pickle
import threading
import typing
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode

import framejit
from support import program, same


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm, self.drop = nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.5)
        self.register_buffer("count", torch.zeros(()))
        self.calls = 0

    def forward(self, x, scale=None, *, extra=None, **rest):
        self.count += 1
        self.calls += 1
        x = self.drop(self.norm(self.linear(x)))
        if scale is not None:
            x = x * scale
        if extra:
            x = x + extra["a"]
        for value in rest.values():
            x = x - value
        return {"out": x, "calls": self.calls}


# -- aliasing and mutation ------------------------------------------------------------------------------------------------


@program()
def test_views_and_inputs_are_returned(compiled):
    f = compiled(lambda x: (x, x[0], x.view(-1), x.t(), x.detach(), x, x[1:].unsqueeze(0)))
    g = compiled(lambda x: ((y := x + 1), y[0], y.T, y.view(-1)[1:], (y * 2)[0]))
    x, leaf = torch.arange(6.0).reshape(2, 3), torch.ones(2, 3, requires_grad=True)
    results = [f(x), f(x), f(leaf), g(x), g(x), g(torch.ones(4, 3))]
    results[2][1].sum().backward()
    results[3][0].zero_()
    results[4][1].add_(5)
    return x, leaf, results


@program()
def test_changes_in_place(compiled):
    def inputs(x):
        view = x[0]
        view.add_(1)
        x.mul_(2)
        view[1] = 7
        return view, x.sum()

    def inner(x):
        y = x * 2
        view = y[0]
        view.mul_(3)
        y.add_(1)
        return y, view

    def slices(x, n):
        x[0] = 1
        x[1:, 0] += 5
        x[x > 4] = 0
        x[..., -1] = torch.arange(x.shape[0])
        x[[0, 1], [1, 0]] = 9
        x[:n] *= 2
        return x.unbind(1)[0].zero_()

    inputs, inner, slices = compiled(inputs), compiled(inner), compiled(slices)
    x, leaf, z = torch.arange(6.0).reshape(2, 3), torch.ones(2, 3, requires_grad=True), torch.ones(3, 3)
    y, view = inner(leaf)
    (y.sum() + view.sum()).backward()
    return inputs(x), x, y, view, leaf, slices(x, 1), slices(z, 2), z


@program()
def test_the_same_and_overlapping_tensors(compiled):
    def f(a, b):
        a.add_(1)
        return b * 2, a is b

    f = compiled(f)
    x, y = torch.arange(5.0), torch.arange(5.0)
    return f(x, y), f(x, x), f(y, x), f(x[:3], x[2:]), f(x[:2], x[3:]), f(x, x.view(5)), x, y


@program()
def test_constants_are_made_anew(compiled):
    f = compiled(lambda x: ((c := torch.ones(2)), torch.tensor([1.0, 2.0]), c, x))
    first = f(torch.zeros(1))
    first[0].add_(1)
    first[1].add_(1)
    return first, f(torch.zeros(1))


@program()
def test_effects_before_an_operator_that_raises(compiled):
    log = []

    def f(x, i):
        log.append("before")
        x += 1
        y = x[i]
        log.append("after")
        x *= 2
        return y

    f, x, results = compiled(f), torch.arange(4.0), []
    for i in (1, 9, 2, 7):
        try:
            results.append(f(x, torch.tensor(i)))
        except IndexError as error:
            results.append(str(error))
    return results, log, x


@program()
def test_errors_of_operators_are_caught(compiled):
    def f(x, y):
        found = []
        for attempt in (
            lambda: x @ y, lambda: x.view(7), lambda: x.foo, lambda: x[10], lambda: x.sum(dim=9), lambda: torch.zeros(-1),
            lambda: float(x), lambda: torch.linalg.cholesky(-torch.eye(2)), lambda: F.embedding(torch.tensor([9]), x),
        ):
            try:
                found.append(attempt())
            except (RuntimeError, IndexError, AttributeError, ValueError) as error:
                found.append((type(error).__name__, str(error)))
        return found, x * 2

    f = compiled(f)
    return [f(torch.ones(2, 3), torch.ones(n)) for n in (4, 3, 4)]


@program()
def test_out_is_filled_or_resized(compiled):
    def f(x, out):
        result = torch.add(x, 1, out=out)
        empty = torch.empty(0)
        torch.mul(x, 2, out=empty)
        return result, result is out, empty

    f, out = compiled(f), torch.zeros(2)
    return f(torch.ones(2), out), out, f(torch.ones(2), torch.zeros(0))


@program()
def test_leaves_made_inside(compiled):
    def f(x):
        a, b = torch.ones(2, requires_grad=True), torch.tensor([1.0], requires_grad=True)
        return a, b, (a * x).sum() + b * 2, x.clone().requires_grad_()

    f = compiled(f)
    result = f(torch.ones(2))
    result[2].backward()
    return result, f(torch.ones(2))


# -- modes ----------------------------------------------------------------------------------------------------------------


@program()
def test_grad_modes_inside_and_outside(compiled):
    def f(x):
        with torch.no_grad():
            y = x * 2
            with torch.enable_grad():
                z = x * 3
        try:
            with torch.no_grad():
                raise ValueError
        except ValueError:
            return y, z, x * 4, torch.is_grad_enabled()

    f, decorated = compiled(f), compiled(torch.no_grad()(lambda x: x * 2))
    x = torch.ones(2, requires_grad=True)
    results = [f(x), decorated(x)]
    with torch.no_grad():
        results.append(f(x))
    with torch.inference_mode():
        results.append(f(x))
    return results, f(x), compiled(torch.inference_mode()(lambda x: x * 2))(x)


@program()
def test_modes_around_breaks(compiled):
    def f(x):
        with torch.no_grad():
            y = x * 2
            print(end="")
            with torch.enable_grad():
                print(end="")
                try:
                    print(end="")
                    raise ValueError
                except ValueError:
                    z = x * 4
        with torch.autocast("cpu", torch.bfloat16):
            a = x @ x
            print(end="")
            b = x @ x
        return y, z, a, b, x @ x, torch.is_grad_enabled(), torch.is_autocast_enabled("cpu")

    f, x = compiled(f), torch.ones(2, 2, requires_grad=True)
    return f(x), f(x)


@program()
def test_modes_after_an_error(compiled):
    def f(x, n):
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            print(end="")
            return x @ torch.ones(n, 2)

    f, results = compiled(f), []
    for n in (2, 3, 2, 3):
        try:
            results.append(f(torch.ones(2, 2, requires_grad=True), n))
        except RuntimeError as error:
            results.append(str(error))
        results.append((torch.is_grad_enabled(), torch.is_autocast_enabled("cpu")))
    return results


@program()
def test_inference_tensors(compiled):
    f = compiled(lambda x: (x * 2, x.is_inference(), torch.is_inference_mode_enabled()))
    x = torch.ones(2)
    with torch.inference_mode():
        made = torch.ones(2)
        inside = f(made), f(x)
    return inside, f(made), f(x)


@program()
def test_autocast_around(compiled):
    f = compiled(lambda x, w: (x @ w, torch.is_autocast_enabled("cpu")))
    g = compiled(torch.autocast("cpu", dtype=torch.bfloat16)(lambda x, w: x @ w))
    x, w = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)
    before = f(x, w)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = f(x, w), f(x, w)
    return before, inside, f(x, w), g(x, w)


@program()
def test_global_settings(compiled):
    f = compiled(lambda x: (torch.ones(3) * x, torch.get_default_dtype(), torch.are_deterministic_algorithms_enabled()))
    results = [f(torch.ones(3))]
    torch.set_default_dtype(torch.float64)
    results.append(f(torch.ones(3)))
    torch.set_default_dtype(torch.float32)
    torch.use_deterministic_algorithms(True)
    results.append(f(torch.ones(3)))
    torch.use_deterministic_algorithms(False)
    with torch.device("meta"):
        results.append(f(torch.ones(3))[0].device.type)
    return results, f(torch.ones(3))


@program()
def test_settings_changed_inside(compiled):
    def f(x):
        torch.set_default_dtype(torch.float64)
        a = torch.ones(2)
        torch.set_default_dtype(torch.float32)
        torch.manual_seed(3)
        b = torch.rand(2)
        generator = torch.Generator().manual_seed(5)
        c = torch.rand(2, generator=generator)
        with torch.random.fork_rng(devices=[]):
            d = torch.rand(2)
        return a, b, c, d, torch.rand(1), x + 1

    f = compiled(f)
    return f(torch.ones(2)), f(torch.ones(2))


@program()
def test_random_numbers(compiled):
    def f(x, training):
        return (
            F.dropout(x, 0.5, training), F.alpha_dropout(x, 0.5, training), torch.bernoulli(x * 0.5), x.clone().uniform_(),
            torch.randperm(4), torch.randint(5, (3,)), torch.normal(0.0, 1.0, (2,)),
        )  # fmt: skip

    f = compiled(f)
    return [f(torch.ones(4, 4), training) for training in (True, False, True)]


# -- modules that change between calls --------------------------------------------------------------------------------------


@program()
def test_module_is_changed_between_calls(compiled):
    model, x = Net(), torch.randn(4, 3)
    call, results = compiled(model), []
    changes = [
        lambda: model.eval(), lambda: model.train(), lambda: setattr(model.drop, "p", 0.1), lambda: setattr(model.norm, "eps", 0.1),
        lambda: model.eval(), lambda: setattr(model.linear, "weight", nn.Parameter(torch.ones(3, 3))),
        lambda: model.linear.weight.requires_grad_(False), lambda: setattr(model, "linear", nn.Identity()),
        lambda: setattr(model, "linear", nn.Linear(3, 3, bias=False)), lambda: model.load_state_dict({k: v + 1 for k, v in model.state_dict().items()}),
        lambda: setattr(model, "forward", lambda x: x * 100), lambda: delattr(model, "forward"),
        lambda: setattr(model, "__class__", type("Sub", (Net,), {"forward": lambda self, x: x - 1})),
    ]  # fmt: skip
    for change in changes:
        change()
        results.append(call(x))
    return results, model, model.calls


@program()
def test_forward_takes_all_kinds_of_arguments(compiled):
    model, x = Net().eval(), torch.randn(4, 3)
    call = compiled(model)
    results = [call(x), call(x, 2.0), call(x, scale=torch.tensor(3.0)), call(x, extra={"a": x}), call(x, extra={}), call(x=x, b=x, c=1)]
    for wrong in (lambda: call(), lambda: call(1, 2, 3), lambda: call(torch.ones(1, 2)), lambda: call("a")):
        try:
            results.append(wrong())
        except (TypeError, RuntimeError) as error:
            results.append((type(error).__name__, str(error)))
    return results


class Growing(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.named = nn.ModuleList([nn.Linear(2, 2)]), nn.ModuleDict({"a": nn.Linear(2, 2)})
        self.scales = nn.ParameterDict({"x": nn.Parameter(torch.ones(2))})

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        for name, layer in self.named.items():
            x = layer(x) + len(name)
        for scale in self.scales.values():
            x = x * scale
        return x


@program()
def test_containers_grow_and_shrink(compiled):
    model, x = Growing(), torch.randn(1, 2)
    call = compiled(model)
    results = [call(x)]
    for change in (
        lambda: model.layers.append(nn.Linear(2, 2)), lambda: model.layers.insert(0, nn.ReLU()), lambda: model.named.update({"bb": nn.Sigmoid()}),
        lambda: model.named.pop("a"), lambda: model.scales.update({"y": nn.Parameter(torch.zeros(2) + 3)}), lambda: model.named.clear(),
    ):  # fmt: skip
        change()
        results.append(call(x))
    return results


@program()
def test_copies_and_pickles_of_compiled_modules(compiled):
    call, x = compiled(Net().eval()), torch.randn(2, 3)
    results = [call(x)]
    other = copy.deepcopy(call)
    with torch.no_grad():
        other.linear.weight.add_(1)
    third = pickle.loads(pickle.dumps(other))
    results += [other(x), call(x), third(x)]
    file = io.BytesIO()
    torch.save(call.state_dict(), file)
    file.seek(0)
    third.load_state_dict(torch.load(file))
    return results, third(x), call.calls, third.calls


class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("sum", torch.zeros(2))
        self.register_buffer("last", None)
        self.seen = [torch.zeros(2)]

    def forward(self, x):
        self.sum = self.sum + x
        self.sum.mul_(2)
        self.last = x if self.last is None else self.last + x
        self.seen.append(self.seen[-1] + x)
        if not hasattr(self, "late"):
            self.register_buffer("late", self.sum * 2)
            self.scale = nn.Parameter(torch.ones(2))
        return self.sum + self.last + self.late * self.scale


@program()
def test_buffers_and_parameters_made_in_forward(compiled):
    model = Stateful()
    call = compiled(model)
    return [call(torch.ones(2)) for _ in range(4)], model, model.seen


@program()
def test_compiled_functions_call_each_other(compiled):
    inner = compiled(lambda x: x.sin())

    def middle(x):
        print(end="")
        return inner(x) + 1

    middle = compiled(middle)
    outer = compiled(lambda x: middle(inner(x) + middle(x)) * 2)
    fold = compiled(lambda x, n: x if n == 0 else fold(x * 2, n - 1) + 1)
    return outer(torch.ones(2)), outer(torch.ones(3)), fold(torch.ones(2), 5), fold(torch.ones(2), 30)


# -- kinds of inputs, outputs and callables ---------------------------------------------------------------------------------


@dataclasses.dataclass
class Point:
    x: torch.Tensor
    scale: float = 1.0
    other: typing.Any = None


@dataclasses.dataclass(slots=True)
class Slotted:
    x: torch.Tensor


class Pair(typing.NamedTuple):
    x: torch.Tensor
    y: int = 2


@program()
def test_structures(compiled):
    def f(point, slotted, pair):
        point.other = point.x + 1
        point.scale += 1
        slotted.x = slotted.x * 2
        return Point(point.x * point.scale, other=slotted.x), Pair(pair.x * 2), pair._replace(y=5), point, dataclasses.asdict(point)

    f, x = compiled(f), torch.ones(2)
    return [f(Point(x, i), Slotted(x), Pair(x, i)) for i in range(3)]


@program()
def test_numpy(compiled):
    def f(x, array, number):
        inside = x.numpy()
        inside += 1
        return numpy.sin(inside), torch.from_numpy(array) + x, inside * number, x * number, torch.tensor(number), x[: int(number)], number + 1, number > 1, -number, round(number)

    f, x = compiled(f), torch.ones(3, dtype=torch.float64)
    numbers = (numpy.float64(2), numpy.float32(3), numpy.int64(3), numpy.float64(4), 5)
    return [[repr(item) for item in f(x, numpy.arange(3.0), number)] for number in numbers], x


LOOKUPS = []


@functools.lru_cache(maxsize=None)
def table(n):
    LOOKUPS.append(n)
    return torch.ones(n)


@program()
def test_remembered_results(compiled):
    LOOKUPS.clear()
    table.cache_clear()
    f = compiled(lambda x: (x + table(2), table(2) is table(2)))
    return f(torch.ones(2)), f(torch.ones(2)), list(LOOKUPS), table.cache_info()


@program()
def test_kinds_of_callables(compiled):
    class Scale:
        shared = 3.0

        def __init__(self, factor):
            self.factor = factor

        @compiled
        def method(self, x):
            return x * self.factor + self.helper(x) + self.made(x) + self.twice

        @staticmethod
        @compiled
        def helper(x):
            return x + 1

        @classmethod
        @compiled
        def made(cls, x):
            return x * cls.shared

        @property
        def twice(self):
            return self.factor * 2

        def __call__(self, x):
            return x - self.factor

    class Shifted(Scale):
        shared = 4.0

        def method(self, x):
            return super().method(x) + 1

    one, two, x = Scale(2.0), Shifted(3.0), torch.ones(2)
    partial = compiled(functools.partial(lambda a, b, c=1: a * b + c, torch.ones(2) * 3, c=2))
    results = [one.method(x), two.method(x), Scale.helper(x), Shifted.made(x), partial(x), compiled(one)(x), compiled(two.method)(x)]
    Scale.shared, one.factor = 7.0, 5.0
    return results, one.method(x), two.method(x), compiled(one)(x)


@program()
def test_generators_and_coroutines(compiled):
    @compiled
    def numbers(x):
        with torch.no_grad():
            for i in range(3):
                sent = yield x * i
                x = x if sent is None else x + sent

    @compiled
    async def twice(x):
        await asyncio.sleep(0)
        async with asyncio.Lock():
            return x * 2 + 1

    async def main():
        return await asyncio.gather(twice(torch.ones(2)), twice(torch.ones(3)))

    x = torch.ones(2, requires_grad=True)
    running = numbers(x)
    return next(running), running.send(x), [t + 1 for t in running], torch.is_grad_enabled(), asyncio.run(main()), list(numbers(x))


@program()
def test_control_flow_by_data(compiled):
    def f(x):
        found = []
        while x.sum() > 1:
            x = x / 2
            found.append(x.max().item())
        if (x > 0).all() and not x.isnan().any():
            found.append("positive")
        return found, x.nonzero(), x[x > 0.1], x.tolist(), x.unique(), torch.zeros(int((x > 0.2).sum())), [1, 2, 3][x.argmin()], [float(v) for v in x]

    f = compiled(f)
    return f(torch.tensor([1.0, 2, 3])), f(torch.tensor([0.1, 0.2])), f(torch.tensor([5.0]))


@program()
def test_inputs_may_have_any_name(compiled):
    f = compiled(lambda self, input, out, dtype: self + input * out)
    return f(torch.ones(1), torch.ones(1), torch.ones(1), 1), f(self=torch.ones(1), input=torch.ones(1), out=2, dtype=None)


@program()
def test_changes_in_place_that_forbid_a_backward_pass(compiled):
    model = compiled(nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True), nn.Dropout(0.5, inplace=True)))
    return model(torch.ones(2, 2, requires_grad=True))


@program("eager")
def test_beside_torch_compile(compiled):
    inner, layer = torch.compile(lambda x: x.sin(), backend="eager"), torch.compile(nn.Linear(2, 2), backend="eager")
    around = torch.compile(compiled(lambda x: x.cos()), backend="eager")
    f = compiled(lambda x: inner(x) * 2 + layer(x))
    return f(torch.ones(1, 2)), f(torch.ones(3, 2)), around(torch.ones(2)), compiled(layer)(torch.ones(1, 2))


# -- shapes, layouts, dtypes --------------------------------------------------------------------------------------------------

TENSORS = {
    "sizes": [torch.ones(n) for n in (2, 3, 4, 5, 1, 0)],
    "empty": [torch.ones(0, 3), torch.ones(3, 0), torch.ones(2, 0, 3)],
    "strides": [torch.ones(3, 2).t(), torch.ones(4, 1).expand(4, 3), torch.arange(10)[::2], torch.ones(6)[1:4]],
    "channels last": [torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last), torch.ones(2, 3, 4, 6)],
    "dtypes": [torch.ones(3, dtype=t) for t in (torch.int32, torch.bfloat16, torch.float16, torch.uint8, torch.complex64, torch.float64)],
    "conjugates": [torch.ones(3, dtype=torch.complex64).conj(), torch.ones(3, dtype=torch.complex64).conj().imag],
    "scalars": [torch.tensor(v) for v in (1, 2.0, 1j, 3)],
}


@pytest.mark.parametrize("name", TENSORS)
def test_shapes_layouts_and_dtypes(name):
    def run(compiled):
        def f(x, n):
            y = x.reshape(-1) if x.dim() > 1 else x
            if x.numel() > 3:
                y = y * 2
            return (
                y + x.numel() + n, x.shape, x.stride(), x.is_contiguous(), x * 1, x.sum(), x.new_zeros(x.shape), x.clone(),
                torch.empty_like(x).stride(), x.contiguous() is x, x.to(x.dtype) is x, x.view_as(x), list(x.shape), x.abs(),
            )  # fmt: skip

        f = compiled(f)
        return [f(x, n) for x in TENSORS[name] for n in (2, 2.5, True)]

    program()(run)()


@program()
def test_sizes_in_arithmetic(compiled):
    def f(x):
        b, s = x.shape[:2]
        return (
            torch.arange(s), torch.full((s, s), -1.0).triu(1), x.view(b * s, -1).reshape(b, -1, x.size(-1)), x / s**0.5, x[:, -1:],
            F.pad(x, (0, 0, 0, 8 - s)), [x[:, i] for i in range(s)], x.split(2, 1), s % 2 == 0, min(s, 3), f"{b}x{s}", s / 2,
            torch.ones(s // 2 + 1), torch.tensor([b, s]), tuple(x.shape) == (b, s, 4), {s: 1}, divmod(s, 2), type(s) is int,
        )  # fmt: skip

    f = compiled(f)
    return [f(torch.arange(float(b * s * 4)).view(b, s, 4)) for b, s in ((2, 3), (2, 4), (3, 5), (1, 2), (4, 1), (2, 7))]


@program()
def test_numbers_that_change(compiled):
    f = compiled(lambda x, i, v, flag, s: (x * i + v if flag else x - len(s), i + 1, v * 2, s + "x", x[i % 3], x + i, v == v))
    rows = [(1, 0.5), (2, 0.25), (2**40, float("nan")), (0, -0.0), (5, 0.0), (True, 1), (-3, float("inf"))]
    return [f(torch.arange(3.0), i, v, i != 2, "a" * (index % 2)) for index, (i, v) in enumerate(rows)]


# -- transforms, modes, threads -------------------------------------------------------------------------------------------------


@program()
def test_under_transforms(compiled):
    f, x = compiled(lambda x: (x.sin() * 2).sum()), torch.randn(3)
    inside = compiled(lambda x: torch.func.grad(lambda t: (t**2).sum())(x) + torch.vmap(lambda t: t * 2)(x))
    return (
        f(x), torch.func.grad(f)(x), torch.vmap(f)(torch.ones(2, 3)), torch.func.jacrev(f)(x), torch.func.jvp(f, (x,), (x,)),
        torch.func.hessian(f)(x), torch.func.functionalize(f)(x), f(x), inside(x), inside(torch.ones(4)),
    )  # fmt: skip


@program("eager", "inductor")
def test_forward_mode_keeps_tangents(compiled):
    f, x = compiled(lambda x: x * 2), torch.arange(3.0)
    before = f(x)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones(3))
        inside = [forward_ad.unpack_dual(f(dual)).tangent, f(x), forward_ad.unpack_dual(f(dual)).tangent]
    return before, inside, f(x)


class Logged(TorchDispatchMode):
    def __init__(self, log):
        super().__init__()
        self.log = log

    def __torch_dispatch__(self, function, kinds, args=(), kwargs=None):
        self.log.append(str(function))
        return function(*args, **(kwargs or {}))


@program()
def test_under_modes_of_torch(compiled):
    f, log = compiled(lambda x: x * 2 + torch.ones(3)), []
    results = [f(torch.ones(3))]
    with FakeTensorMode():
        made = f(torch.ones(3))
        results.append((type(made).__name__, made.shape))
    with Logged(log):
        f(torch.ones(3))
    results.append([node.name for node in torch.fx.experimental.proxy_tensor.make_fx(f)(torch.ones(3)).graph.nodes])
    return results, log, f(torch.ones(3))


@program()
def test_threads(compiled):
    linear = nn.Linear(3, 3)

    def f(x, k):
        with torch.no_grad():
            y = linear(x) * k
        print(end="")
        return y.sum() + x.shape[0], torch.is_grad_enabled()

    f = compiled(f)
    with torch.no_grad(), ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda i: [f(torch.ones(i % 3 + 1, 3), i % 2) for _ in range(4)], range(8)))
    backward = f(torch.ones(1, 3), 1)[0].detach().requires_grad_()
    thread = threading.Thread(target=(backward * 2).backward)
    thread.start()
    thread.join()
    return results, backward


def test_errors_in_forward_show_the_users_lines():
    class Wrong(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(3, 2), nn.Linear(3, 2)

        def forward(self, x):
            x = self.first(x)
            x = x + 1
            return self.second(x)

    def lines(call):
        try:
            call(torch.ones(1, 3))
        except RuntimeError as error:
            entries, tb = [], error.__traceback__
            while tb is not None:
                entries.append((tb.tb_frame.f_code, tb.tb_lineno))
                tb = tb.tb_next
            return str(error), [(code.co_name, line) for code, line in entries if code.co_filename == __file__]

    model = Wrong()
    expected = lines(model)
    call = framejit.compile(model, backend="eager")
    assert lines(call) == expected
    assert lines(call) == expected


def view_without_grad(changed):
    base = torch.ones(4, requires_grad=True) * 1
    with torch.no_grad():
        view = base[1:]
        view *= 2
    if changed:
        base.mul_(2)
    return view


@pytest.mark.parametrize("changed", [False, True])
def test_views_whose_history_is_out_of_date(changed):
    def program(x):
        y = x.detach() + 1
        framejit.graph_break()
        return y * x.shape[0], x

    compiled = framejit.compile(program, backend="eager")
    for _ in range(2):
        same(compiled(view_without_grad(changed))[0], program(view_without_grad(changed))[0])
    with framejit.config.patch(strict=True):
        framejit.compile(program, backend="eager")(view_without_grad(changed))


def test_a_view_that_is_brought_up_to_date_by_a_break():
    def program(w):
        base = torch.zeros(4)
        view = base[1:]
        framejit.graph_break()
        base.add_(w)
        framejit.graph_break()
        return view * 2, view.requires_grad

    w = torch.ones(4, requires_grad=True)
    with framejit.config.patch(strict=True):
        same(framejit.compile(program, backend="eager")(w), program(w))
