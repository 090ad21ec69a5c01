"""Graphs handed to backends, without capture: forward, backward, mutation, aliasing, metadata, errors."""

import random

import pytest
import torch
from torch import fx

import framejit
from framejit.backends.build import compile_graph
from framejit.backends.registry import find
from framejit.core.errors import BackendError
from framejit.core.options import CompileOptions
from framejit.events import CompileId, GraphCaptured, GraphCompiled, subscribe


def custom(graph_module, example_inputs):
    return graph_module.forward


class Whole:
    def __call__(self, graph_module, example_inputs):
        return graph_module


BACKENDS = ["eager", "aot_eager", "inductor", custom, Whole()]
ID = CompileId(7, 3)


def build(fn, inputs, backend="eager", **options):
    options = CompileOptions(backend, options=tuple(options.pop("options", {}).items()), **options)
    return compile_graph(options, fx.symbolic_trace(fn), inputs, ID)


def linear(x, w):
    y = torch.relu(x @ w)
    return y, (y * 2).sum()


@pytest.fixture(params=BACKENDS, ids=str)
def backend(request):
    return request.param


def test_forward_and_backward_reach_lifted_parameters(backend):
    w, x = torch.nn.Parameter(torch.randn(4, 4)), torch.randn(3, 4)
    compiled = build(linear, [x, w], backend)
    got = compiled.fn(x, w)
    got[1].backward()
    grad, w.grad = w.grad, None
    want = linear(x, w)
    want[1].backward()
    torch.testing.assert_close(list(got), list(want))
    torch.testing.assert_close(grad, w.grad)
    assert compiled.operators == 4


def test_parameters_are_inputs_not_constants(backend):
    w, x = torch.nn.Parameter(torch.randn(4, 4)), torch.randn(3, 4)
    with torch.no_grad():
        compiled = build(linear, [x, w], backend)
        other = torch.randn(4, 4)
        torch.testing.assert_close(list(compiled.fn(x, other)), list(linear(x, other)))


def test_inputs_are_mutated_and_outputs_alias_them(backend):
    def fn(x, w):
        x.add_(1)
        return x.view(-1), x, w.t()

    x, w = torch.randn(3, 4), torch.randn(2, 2)
    compiled = build(fn, [x.clone(), w], backend)
    eager = x.clone()
    got, want = compiled.fn(x, w), fn(eager, w)
    torch.testing.assert_close(list(got), list(want))
    torch.testing.assert_close(x, eager)
    assert got[1] is x
    assert got[0].data_ptr() == x.data_ptr() and got[2].data_ptr() == w.data_ptr()


def test_a_mutated_input_that_needs_grad(backend):
    def fn(x, w):
        y = x * 2
        y.mul_(w)
        return (y.sum(),)

    x, w = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    build(fn, [x, w], backend).fn(x, w)[0].backward()
    got, x.grad, w.grad = (x.grad, w.grad), None, None
    fn(x, w)[0].backward()
    torch.testing.assert_close(got, (x.grad, w.grad))


def test_the_graph_is_compiled_for_the_grad_mode_of_its_call(backend):
    w, x = torch.nn.Parameter(torch.randn(4, 4)), torch.randn(3, 4)
    with torch.no_grad():
        assert not build(linear, [x, w], backend).fn(x, w)[1].requires_grad
    assert build(linear, [x, w], backend).fn(x, w)[1].requires_grad


def test_random_states_are_as_before(backend):
    x, w = torch.randn(3, 4), torch.randn(4, 4)
    before = torch.get_rng_state(), random.getstate()
    build(lambda x, w: (torch.nn.functional.dropout(x @ w),), [x, w], backend)
    assert torch.equal(before[0], torch.get_rng_state()) and before[1] == random.getstate()


def test_custom_backends_see_the_real_inputs_and_the_metadata():
    seen = []

    def look(graph_module, example_inputs):
        seen.extend(example_inputs)
        nodes = list(graph_module.graph.nodes)
        seen.append([tuple(node.meta["example_value"].shape) for node in nodes if node.op == "placeholder"])
        return graph_module.forward

    x, w = torch.randn(3, 4), torch.randn(4, 4)
    build(linear, [x, w], look)
    assert seen[0] is x and seen[1] is w and seen[2] == [(3, 4), (4, 4)]


def test_a_custom_backend_may_use_aot_autograd_itself():
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    graphs = []

    def inner(graph_module, example_inputs):
        graphs.append([node.target for node in graph_module.graph.nodes if node.op == "call_function"])
        assert all(isinstance(size, int) for value in example_inputs for size in value.shape)
        return make_boxed_func(graph_module.forward)

    x, w = torch.randn(3, 4), torch.randn(4, 4, requires_grad=True)
    got = build(linear, [x, w], aot_autograd(fw_compiler=inner)).fn(x, w)
    got[1].backward()
    assert torch.ops.aten.relu.default in graphs[0] and len(graphs) == 2


def test_mode_and_options_are_passed_on_as_torch_does():
    seen = []

    def look(graph_module, example_inputs, **keywords):
        seen.append(keywords)
        return graph_module.forward

    inputs = [torch.randn(3, 4), torch.randn(4, 4)]
    build(linear, inputs, look)
    build(linear, inputs, look, mode="default")
    build(linear, inputs, look, mode="fast")
    build(linear, inputs, look, options={"level": 3})
    assert seen == [{}, {}, {"mode": "fast"}, {"options": {"level": 3}}]


def test_inductor_applies_options_while_it_compiles():
    import torch._inductor.config as settings
    from torch._inductor import compile_fx

    seen = []
    real = compile_fx._compile_fx_main

    def look(*args, **kwargs):
        seen.append((settings.max_autotune, settings.epilogue_fusion))
        return real(*args, **kwargs)

    before = settings.max_autotune, settings.epilogue_fusion
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compile_fx, "_compile_fx_main", look)
        options = {"epilogue_fusion": not before[1]}
        x, w = torch.randn(3, 4), torch.randn(4, 4)
        build(linear, [x, w], "inductor", options=options).fn(x, w)
    assert seen == [(before[0], not before[1])]
    assert (settings.max_autotune, settings.epilogue_fusion) == before


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_backends_without_options_say_that_they_ignore_them(backend):
    with pytest.warns(UserWarning, match="ignores mode"):
        build(linear, [torch.randn(3, 4), torch.randn(4, 4)], backend, mode="fast")


def test_an_error_of_the_backend_names_it():
    def broken(graph_module, example_inputs):
        raise ValueError("no such target")

    inputs = [torch.randn(3, 4), torch.randn(4, 4)]
    with pytest.raises(BackendError, match="'broken' raised ValueError: no such target") as caught:
        build(linear, inputs, broken)
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(BackendError, match="returned int"):
        build(linear, inputs, lambda graph_module, example_inputs: 3)

    def stopped(graph_module, example_inputs):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(linear, inputs, stopped)


def test_events_tell_of_the_graph_before_and_of_the_time_after():
    seen = []
    stop = subscribe(seen.append)
    try:
        build(linear, [torch.randn(3, 4), torch.randn(4, 4)])
    finally:
        stop()
    assert [type(event) for event in seen] == [GraphCaptured, GraphCompiled]
    assert seen[1].operators == 4 and seen[1].backend == "eager" and seen[1].compile_id == ID


def test_the_declared_order_of_mutation_is_true():
    """A graph that fails after it changed an input: eager has changed it, aot_eager has not."""

    def fn(x, w):
        x.add_(1)
        return (x @ w,)

    for name in ("eager", "aot_eager"):
        x = torch.zeros(3, 4)
        compiled = build(fn, [x.clone(), torch.randn(4, 4)], name)
        with pytest.raises(RuntimeError):
            compiled.fn(x, torch.randn(5, 5))
        assert bool(x.any()) == compiled.mutates_in_order == find(name).mutates_in_order


def test_unspecialised_ints_are_symbols_of_the_captures_environment():
    from torch._dynamo.source import ConstantSource
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv

    env = ShapeEnv()
    source = ConstantSource("n")
    symbol = env.create_symbol(5, source, dynamic_dim=DimDynamic.DYNAMIC)
    number = env.create_symintnode(symbol, hint=5, source=source)

    for backend in ("eager", "aot_eager", "inductor"):
        graph_module = fx.symbolic_trace(lambda x, n: (x + n,))
        mode = FakeTensorMode(shape_env=env, static_shapes=True)
        compiled = compile_graph(CompileOptions(backend), graph_module, [torch.zeros(3), number], ID, mode)
        torch.testing.assert_close(compiled.fn(torch.zeros(3), 9)[0], torch.full((3,), 9.0))


def test_the_package_exports_the_errors():
    assert framejit.BackendError is BackendError
