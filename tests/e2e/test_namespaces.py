"""types.SimpleNamespace made, changed, shown and compared in captured code."""

import copy
import types
from types import SimpleNamespace

import torch

from support import check


class Options(SimpleNamespace):
    scale = 2

    def scaled(self):
        return self.value * self.scale


@check()
def test_made_and_changed(x):
    options = SimpleNamespace(a=1, b=[2])
    options.c = x.dim()
    options.b.append(len(vars(options)))
    del options.a
    return x + options.c, options, vars(options), hasattr(options, "a"), options.__dict__ is vars(options)


@check()
def test_nested(x):
    options = SimpleNamespace(model=SimpleNamespace(size=2, names=("a", "b")), rate=0.5)
    options.model.size += 3
    return x * options.model.size * options.rate, repr(options), str(options), f"{options.model}", options


@check()
def test_shown_inside_of_itself(x):
    options = SimpleNamespace(a=1)
    options.me = [options]
    return x + 1, repr(options)


@check()
def test_compared(x):
    one, other = SimpleNamespace(a=1, b="x"), SimpleNamespace(b="x", a=1)
    found = [one == other, one != other, one == 3, one == Options(a=1, b="x")]
    other.a = 2
    try:
        found.append(one < other)
    except TypeError as error:
        found.append(str(error))
    try:
        found.append(hash(one))
    except TypeError as error:
        found.append(str(error))
    return x + 1, found, one == other


@check()
def test_subclass(x):
    options = Options(value=3)
    return x + options.scaled(), options, repr(options), type(options).__name__, isinstance(options, SimpleNamespace)


@check()
def test_wrong_arguments(x):
    found = []
    for attempt in (lambda: SimpleNamespace(1), lambda: SimpleNamespace(**{"a b": 1}), lambda: SimpleNamespace(a=1).b, lambda: SimpleNamespace()[0]):
        try:
            found.append(repr(attempt()))
        except (TypeError, AttributeError) as error:
            found.append(str(error))
    return x + 1, found


@check()
def test_copies(x):
    options = SimpleNamespace(a=[1], b=2)
    shallow, deep = copy.copy(options), copy.deepcopy(options)
    options.a.append(3)
    return x + 1, options, shallow, deep, shallow.a is options.a, shallow == options


@check(lambda: (torch.ones(2), SimpleNamespace(step=1, log=[])), lambda: (torch.ones(2), SimpleNamespace(step=2, log=[5])), graphs=2, breaks=0)
def test_given(x, options):
    options.step += 1
    options.new = types.SimpleNamespace(**vars(options))
    options.log.append(options.step)
    return x * options.step, options == options.new, repr(options.new)
