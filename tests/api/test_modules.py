"""Compiled modules stay modules."""

import abc
import copy
import gc
import pickle
import weakref

import pytest
import torch
from torch import nn

import framejit


class Model(nn.Module):
    __slots__ = ("slot",)

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.register_buffer("offset", torch.ones(1))
        self.calls = 1
        self.slot = 4

    @property
    def doubled(self):
        return self.calls * 2

    def forward(self, x, scale=1.0):
        return self.linear(x) * scale + self.offset


@pytest.fixture(autouse=True)
def fresh():
    framejit.reset()
    yield
    framejit.reset()


@pytest.fixture
def model():
    return Model()


@pytest.fixture
def graphs():
    return []


@pytest.fixture
def backend(graphs):
    def count(graph_module, example_inputs):
        graphs.append(graph_module)
        return graph_module.forward

    return count


@pytest.fixture
def compiled(model, backend):
    return framejit.compile(model, backend=backend)


X = torch.randn(3, 2)


def test_it_is_an_instance_with_the_same_state(model, compiled):
    assert isinstance(compiled, Model) and isinstance(compiled, nn.Module) and compiled is not model
    assert list(compiled.state_dict()) == list(model.state_dict()) == ["offset", "linear.weight", "linear.bias"]
    assert all(a is b for a, b in zip(compiled.parameters(), model.parameters(), strict=True))
    assert repr(compiled) == repr(model)
    assert compiled._orig_mod is model
    compiled.load_state_dict(Model().state_dict())
    assert model.linear.weight is compiled.linear.weight


def test_the_call_runs_graphs_and_agrees(model, compiled, graphs):
    torch.testing.assert_close(compiled(X), model(X))
    torch.testing.assert_close(compiled(X, scale=2.0), model(X, scale=2.0))
    assert len(graphs) >= 1
    before = len(graphs)
    compiled(X)
    assert len(graphs) == before


def test_attributes_reach_the_module(model, compiled):
    compiled.calls = 10
    assert model.calls == 10 and compiled.doubled == 20
    model.other = 3
    assert compiled.other == 3
    del compiled.other
    assert not hasattr(model, "other")
    compiled.slot = 9
    assert model.slot == 9
    del compiled.slot
    assert not hasattr(model, "slot") and not hasattr(compiled, "slot")
    compiled.extra = nn.Linear(1, 1)
    assert "extra.weight" in model.state_dict()


def test_train_eval_to_and_grad(model, compiled):
    assert compiled.eval() is compiled and not model.training and not model.linear.training
    compiled.double()
    assert model.linear.weight.dtype == torch.float64
    compiled.float().train()
    compiled(X).sum().backward()
    got = model.linear.weight.grad.clone()
    compiled.zero_grad()
    model(X).sum().backward()
    torch.testing.assert_close(got, model.linear.weight.grad)


def test_changes_of_the_module_are_seen(model, compiled):
    compiled(X)
    with torch.no_grad():
        model.linear.weight.mul_(2)
    torch.testing.assert_close(compiled(X), model(X))
    model.linear = nn.Linear(2, 2)
    torch.testing.assert_close(compiled(X), model(X))
    model.forward = lambda x: x * 7
    torch.testing.assert_close(compiled(X), X * 7)


@pytest.mark.parametrize("on", ["compiled", "model"])
def test_hooks_registered_after_the_first_call_run(model, compiled, on):
    compiled(X)
    target = {"compiled": compiled, "model": model}[on]
    seen = []
    handles = [
        target.register_forward_pre_hook(lambda module, args: seen.append("before")),
        target.register_forward_hook(lambda module, args, out: seen.append(type(module)) or out + 1),
    ]
    got = compiled(X)
    assert seen == ["before", Model]
    for handle in handles:
        handle.remove()
    torch.testing.assert_close(got, model(X) + 1)
    torch.testing.assert_close(compiled(X), model(X))
    assert len(seen) == 2


def test_deepcopy_gives_an_independent_compiled_module(model, compiled, graphs):
    compiled(X)
    other = copy.deepcopy(compiled)
    assert type(other) is type(compiled) and other.linear.weight is not model.linear.weight
    with torch.no_grad():
        other.linear.weight.zero_()
    torch.testing.assert_close(compiled(X), model(X))
    torch.testing.assert_close(other(X), other._orig_mod(X))
    shallow = copy.copy(compiled)
    assert shallow.linear is model.linear and shallow._orig_mod is not model


def test_pickle_of_the_original_and_of_the_compiled_module(model):
    compiled = framejit.compile(model, backend="eager")
    compiled(X)
    again = pickle.loads(pickle.dumps(model))
    assert type(again) is Model
    torch.testing.assert_close(again(X), model(X))
    both = pickle.loads(pickle.dumps(compiled))
    assert isinstance(both, Model) and type(both) is not Model
    torch.testing.assert_close(both(X), model(X))


def test_it_can_be_a_submodule(compiled, model, graphs):
    parent = nn.Sequential(compiled, nn.ReLU())
    assert list(parent.state_dict()) == ["0.offset", "0.linear.weight", "0.linear.bias"]
    torch.testing.assert_close(parent(X), model(X).relu())
    assert len(graphs) == 1


def test_compiling_a_compiled_module_compiles_the_original(compiled, model):
    assert framejit.compile(compiled, backend="eager")._orig_mod is model


def test_one_subclass_for_each_class(model, backend):
    first, second = framejit.compile(model, backend=backend), framejit.compile(Model(), backend=backend)
    assert type(first) is type(second)


def test_many_modules_of_one_class_do_not_share_a_recompile_limit(backend, graphs):
    for _ in range(12):
        model = Model()
        torch.testing.assert_close(framejit.compile(model, backend=backend)(X), model(X))
    assert len(graphs) == 12
    assert "fallback" not in framejit.stats()


def test_classes_with_their_own_ideas_of_subclassing(backend):
    class Strict(nn.Module):
        def __init_subclass__(cls, *, label=None):
            if label is None:
                raise TypeError("a subclass needs a label")

    class Labelled(Strict, label="a"):
        def forward(self, x):
            return x + 1

    class Abstract(nn.Module, abc.ABC):
        @abc.abstractmethod
        def forward(self, x): ...

    class Concrete(Abstract):
        def forward(self, x):
            return x + 2

    torch.testing.assert_close(framejit.compile(Labelled(), backend=backend)(X), X + 1)
    compiled = framejit.compile(Concrete(), backend=backend)
    torch.testing.assert_close(compiled(X), X + 2)
    assert isinstance(compiled, Abstract)


def test_graph_modules_and_scripted_modules(backend):
    linear = nn.Linear(2, 2)
    torch.testing.assert_close(framejit.compile(torch.fx.symbolic_trace(linear), backend=backend)(X), linear(X))
    torch.testing.assert_close(framejit.compile(torch.jit.trace(linear, X), backend=backend)(X), linear(X))


def test_weights_are_freed_with_the_module():
    model = Model()
    weight = weakref.ref(model.linear.weight)
    compiled = framejit.compile(model, backend="eager")
    compiled(X)
    del model, compiled
    gc.collect()
    assert weight() is None


def test_a_disabled_module_is_not_captured(model, backend, graphs):
    quiet = framejit.disable(model)
    assert isinstance(quiet, Model)

    @framejit.compile(backend=backend)
    def outer(x):
        return quiet(x + 1) * 2

    torch.testing.assert_close(outer(X), model(X + 1) * 2)
    calls = [node.target for graph in graphs for node in graph.graph.nodes if node.op.startswith("call")]
    assert len(graphs) == 2 and len(calls) == 2
