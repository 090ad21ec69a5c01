"""Checks that a region remembers as words of memory: after enough calls every change that matters is still seen."""

import gc
import inspect
import weakref
from collections import OrderedDict

import pytest
import torch
from torch import nn

import framejit
from framejit import _C

WARM = 8  # calls before checks are remembered, and some that use it
SCALE = 2.0


class Slotted:
    """An object without a dict."""

    __slots__ = ("value", "other")

    def __init__(self, value):
        self.value, self.other = value, None


class Options:
    """An object with a dict."""

    factor = 1.0

    def __init__(self):
        self.bias, self.names, self.sizes = 0.5, ["a", "b"], {"a": 1.0, "b": 1000.0}


class Layer(nn.Module):
    """A module with a bit of everything beside its parameters."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.options, self.slotted, self.pair = Options(), Slotted(3.0), (1000.5, [2000.5])
        self.numbers, self.members, self.ordered = [3000.5, 4000], {1, 2}, OrderedDict(a=1.0, b=2.0)
        self.function = make_function(1.5)

    def forward(self, x):
        y = self.linear(x) * self.options.factor + self.options.bias + len(self.members)
        for name in self.options.names:
            y = y + self.options.sizes.get(name, 0.0)
        for value in self.ordered.values():
            y = y * 0.5 + value
        return self.function(y) * SCALE + self.pair[0] + self.pair[1][0] + self.slotted.value + self.numbers[0] + self.numbers[-1]


def make_function(offset, more=1.0):
    def function(y, last=0.0):
        return y + offset + last + more

    def change(value):
        nonlocal offset
        offset = value

    function.change = change
    return function


class Model(nn.Module):
    """Some layers, so that there are enough checks to be remembered."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def described(y, last: float = 0.25, *, more: int = 2):
    return y


DESCRIBED = (described.__code__, "described")


def described_otherwise(y, extra=1, last=0.25, *, more=2):
    return y


class Describing(nn.Module):
    """A module that asks functions and classes what they are, and what is handled."""

    def __init__(self):
        super().__init__()
        self.options, self.slotted, self.spare = Options(), Slotted(3.0), Slotted(4.0)

    def forward(self, x, given):
        signature = inspect.signature(described)
        last, more = signature.parameters["last"], signature.parameters["more"]
        y = x * last.default + more.default + len(signature.parameters) + len(str(last.annotation))
        y = y + len(described.__name__) + 10.0 * len(type(self.options).__name__) + described.__code__.co_argcount
        self.slotted.value = y
        if given.value is y or self.spare.value is y:
            y = -y
        try:
            raise KeyError
        except KeyError as error:
            return y if error.__context__ is None else y + 1000


class Other(Layer):
    """The class that a layer becomes."""

    def forward(self, x):
        return -super().forward(x)


def _global(layer, i):
    global SCALE
    SCALE = float(i)


def _code(layer, i):
    layer.function.__code__ = make_function(0.0).__code__ if i % 2 else (lambda offset, more: lambda y, last=0.0: y - offset * more)(1, 2).__code__


def _forward_of_class(layer, i):
    if i % 2:
        nn.Linear.forward = lambda self, x: x @ self.weight.t()
    else:
        nn.Linear.forward = LINEAR_FORWARD


LINEAR_FORWARD = nn.Linear.forward
CHANGES = {
    "attribute of a class": lambda layer, i: setattr(Options, "factor", float(i)),
    "attribute over a class": lambda layer, i: setattr(layer.options, "factor", float(i)),
    "attribute": lambda layer, i: setattr(layer.options, "bias", float(i)),
    "dict of an object": lambda layer, i: setattr(layer.options, "__dict__", {**vars(layer.options), "bias": float(i)}),
    "item of a dict": lambda layer, i: layer.options.sizes.update(a=float(i)),
    "item of no dict": lambda layer, i: layer.options.sizes.pop("b", None),
    "length of a list": lambda layer, i: layer.options.names.append("a"),
    "item of a list": lambda layer, i: layer.numbers.__setitem__(0, float(i)),
    "int in a list": lambda layer, i: layer.numbers.__setitem__(-1, 5000 + i),
    "text in a list": lambda layer, i: layer.options.names.__setitem__(0, "ab"[i % 2]),
    "item in a list in a tuple": lambda layer, i: layer.pair[1].__setitem__(0, float(i)),
    "tuple": lambda layer, i: setattr(layer, "pair", (float(i), layer.pair[1])),
    "slot": lambda layer, i: setattr(layer.slotted, "value", float(i)),
    "object with a slot": lambda layer, i: setattr(layer, "slotted", Slotted(float(i))),
    "length of a set": lambda layer, i: layer.members.add(i + 10),
    "order": lambda layer, i: layer.ordered.move_to_end(next(iter(layer.ordered))),
    "cell": lambda layer, i: layer.function.change(float(i)),
    "function": lambda layer, i: setattr(layer, "function", make_function(1.5, float(i))),
    "defaults": lambda layer, i: setattr(layer.function, "__defaults__", (float(i),)),
    "code": _code,
    "global": _global,
    "function of a class": _forward_of_class,
    "parameter": lambda layer, i: setattr(layer.linear, "weight", nn.Parameter(torch.full((4, 4), float(i)))),
    "data of a parameter": lambda layer, i: setattr(layer.linear.weight, "data", torch.full((4, 4), float(i), dtype=torch.float32)),
    "dtype of a parameter": lambda layer, i: layer.to(torch.float64 if i % 2 else torch.float32),
    "gradient of a parameter": lambda layer, i: layer.linear.weight.requires_grad_(i % 2 == 0),
    "no bias": lambda layer, i: setattr(layer.linear, "bias", None),
    "module": lambda layer, i: setattr(layer, "linear", nn.Linear(4, 4)),
    "another kind of module": lambda layer, i: setattr(layer, "linear", nn.Identity() if i % 2 else nn.ReLU()),
    "hook": lambda layer, i: layer.linear.register_forward_hook(lambda module, args, output: output + i),
    "class": lambda layer, i: setattr(layer, "__class__", Other if i % 2 else Layer),
}


@pytest.fixture(autouse=True)
def _restored():
    global SCALE
    yield
    SCALE, Options.factor, nn.Linear.forward = 2.0, 1.0, LINEAR_FORWARD


def _agree(model, compiled, x):
    want = got = None
    try:
        want = model(x)
    except RuntimeError as error:  # mixed dtypes
        with pytest.raises(type(error)):
            compiled(x)
        return
    got = compiled(x)
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-3)
    assert got.requires_grad == want.requires_grad


@pytest.mark.parametrize("name", CHANGES)
def test_changes_are_seen(name):
    torch.manual_seed(0)
    model, x = Model(), torch.randn(2, 4)
    compiled = framejit.compile(model, backend="eager")
    for _ in range(WARM):
        _agree(model, compiled, x)
    for i in range(4):
        CHANGES[name](model.layers[i % 2], i)
        for _ in range(3 if i else WARM):
            _agree(model, compiled, x)


def test_all_changes_one_after_another():
    torch.manual_seed(0)
    model, x = Model(), torch.randn(2, 4)
    compiled = framejit.compile(model, backend="eager")
    for i, name in enumerate(CHANGES):
        if name not in ("dtype of a parameter", "another kind of module", "no bias", "module"):
            CHANGES[name](model.layers[i % 3], i)
            for _ in range(WARM):
                _agree(model, compiled, x)


def test_inputs_and_modes_are_checked_each_time():
    model, x = Model(), torch.randn(2, 4)
    compiled = framejit.compile(model, backend="eager", dynamic=False)
    for i in range(WARM):
        _agree(model, compiled, x)
        _agree(model, compiled, torch.randn(i + 1, 4))
        with torch.no_grad():
            _agree(model, compiled, x)


def _words(function):
    return [program.words for _, _, _, programs in _C.regions(function.__code__) for program in programs]


def test_checks_are_remembered_after_some_calls_and_given_up_where_they_never_last():
    def call(x):
        return model(x)

    def counts(x):
        model.layers[0].options.bias += 1.0
        return model(x)

    model, x = Model(), torch.randn(2, 4)
    compiled = framejit.compile(call, backend="eager")
    compiled(x)
    assert _words(call) == [0]
    for _ in range(WARM):
        compiled(x)
    assert _words(call)[0] > 50
    compiled = framejit.compile(counts, backend="eager")
    for _ in range(6 * WARM):
        compiled(x)
    assert model.layers[0].options.bias == 0.5 + 6 * WARM


def test_two_models_with_one_code():
    def call(model, x):
        return model(x) + 1

    models, x = [Model(), Model()], torch.randn(2, 4)
    compiled = framejit.compile(call, backend="eager")
    for i in range(6 * WARM):
        model = models[i // WARM % 2 if i < 4 * WARM else i % 2]
        torch.testing.assert_close(compiled(model, x), call(model, x))


def test_new_objects_in_old_places():
    model, x = Model(), torch.randn(2, 4)
    compiled = framejit.compile(model, backend="eager")
    options = model.layers[0].options
    for i in range(60):
        options.names[:] = [f"a{i}"[:1 + i % 2], "b"]
        model.layers[1].numbers[0] = 5000.5 + i % 3
        model.layers[2].function = make_function(float(i % 4))
        _agree(model, compiled, x)


def test_nothing_is_kept_alive():
    model, x = Model(), torch.randn(2, 4)
    compiled = framejit.compile(model, backend="eager")
    for _ in range(WARM):
        compiled(x)
    options = weakref.ref(model.layers[0].options)
    model.layers[0].options = Options()
    assert options() is None
    refs = [weakref.ref(part) for part in (model, model.layers[1], model.layers[1].linear.weight, model.layers[1].function)]
    del model, compiled
    gc.collect()
    assert [ref() for ref in refs] == [None] * len(refs)


def _wrapped(i):
    described.__wrapped__ = described_otherwise


def _code_of_described(i):
    described.__code__ = described_otherwise.__code__


DESCRIPTIONS = {
    "defaults": lambda i: setattr(described, "__defaults__", (float(i),)),
    "keyword defaults": lambda i: setattr(described, "__kwdefaults__", {"more": i}),
    "keyword default": lambda i: described.__kwdefaults__.update(more=i + 5),
    "annotations": lambda i: setattr(described, "__annotations__", {"last": "a" * i}),
    "annotation": lambda i: described.__annotations__.update(last="b" * i),
    "no annotation": lambda i: described.__annotations__.pop("last", None),
    "wrapped": _wrapped,
    "signature": lambda i: setattr(described, "__signature__", inspect.signature(described).replace(return_annotation=float)),
    "code": _code_of_described,
    "name of a function": lambda i: setattr(described, "__name__", "f" * i),
    "name of a class": lambda i: setattr(Options, "__name__", "O" * (i + 1)),
    "text of a class": lambda i: setattr(Options, "__qualname__", "O" * i),
}


@pytest.fixture
def _as_it_was():
    yield
    described.__code__, described.__name__ = DESCRIBED
    described.__defaults__, described.__kwdefaults__ = (0.25,), {"more": 2}
    described.__annotations__ = {"last": float, "more": int}
    vars(described).clear()
    Options.__name__ = Options.__qualname__ = "Options"


def _same(model, compiled, x, given):
    torch.testing.assert_close(compiled(x, given), model(x, given))


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_functions_and_classes_that_are_described_otherwise(name, _as_it_was):
    model, x, given = Describing(), torch.randn(2, 4), Slotted(1.0)

    def call(x, given):
        return model(x, given)

    compiled = framejit.compile(call, backend="eager")
    for _ in range(WARM):
        _same(model, compiled, x, given)
    assert _words(call)[0] > 16
    for i in (1, 2, 3):
        DESCRIPTIONS[name](i)
        for _ in range(WARM):
            _same(model, compiled, x, given)


def test_a_handled_exception_and_other_names_of_one_object_are_looked_for_each_time():
    model, x, given = Describing(), torch.randn(2, 4), Slotted(1.0)
    compiled = framejit.compile(model, backend="eager")
    for _ in range(WARM):
        _same(model, compiled, x, given)
    usual = compiled(x, given)
    try:
        raise ValueError
    except ValueError:
        _same(model, compiled, x, given)
        assert torch.equal(compiled(x, given), usual + 1000)
    driven = _driver(compiled, x, given)
    next(driven)
    assert torch.equal(driven.send(None), usual + 1000)
    for _ in range(WARM):
        assert torch.equal(compiled(x, given), usual)
    _same(model, compiled, x, model.slotted)
    assert torch.equal(compiled(x, model.slotted), -usual)
    for _ in range(WARM):
        _same(model, compiled, x, given)
    model.spare = model.slotted
    for _ in range(WARM):
        _same(model, compiled, x, given)
        assert torch.equal(compiled(x, given), -usual)


def _driver(compiled, x, given):
    try:
        raise ValueError
    except ValueError:
        yield
        yield compiled(x, given)
