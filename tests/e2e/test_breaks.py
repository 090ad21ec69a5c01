"""Graph breaks at every depth and in every construct: same results as eager, and capture goes on behind them."""

import threading

import pytest
import torch

import framejit
from support import Counter, check, same

log = []


def note(value):
    framejit.graph_break()
    log.append(value)
    return value


def inner(x):
    x = x + 1
    framejit.graph_break()
    return x * 2


def middle(x):
    return inner(x.sin()).cos()


@check(graphs=2, breaks=1)
def test_nested_break_makes_two_graphs(x):
    return middle(x + 3) - 1


@check(graphs=3, breaks=2)
def test_callers_are_continued_and_broken_again(x):
    y = inner(x)
    z = middle(y) + 1
    return z * y


@check(graphs=4)
def test_break_in_a_loop(x):
    for i in range(6):
        x = x.sin() + i
        framejit.graph_break()
        x = x.cos()
    return x


@check(lambda: (torch.ones(3), 5), graphs=4)
def test_callee_breaks_in_a_loop(x, n):
    total = []
    for i in range(n):
        x = inner(x) + i
        total.append(i)
    return x, total


@check(lambda: (torch.ones(2), False), lambda: (torch.ones(2), True), breaks=1)
def test_break_in_try(x, bad):
    try:
        x = x.sin()
        framejit.graph_break()
        if bad:
            raise KeyError("k")
        x = x.cos()
    except KeyError:
        x = x - 1
    finally:
        x = x + 1
    return x


lock = threading.Lock()


@check(breaks=3)
def test_with_a_lock(x):
    with lock:
        x = x.sin() * 2
    return x.cos(), lock.locked()


class Thing:
    def __init__(self, x):
        self.x = x + 1
        framejit.graph_break()
        self.y = self.x * 2

    @property
    def value(self):
        framejit.graph_break()
        return self.y + 1

    def __enter__(self):
        framejit.graph_break()
        return self

    def __exit__(self, *exception):
        framejit.graph_break()
        return True


@check(breaks=2)
def test_break_in_init_and_property(x):
    thing = Thing(x)
    return thing.value + thing.y


@check(breaks=5)
def test_break_in_enter_and_exit(x):
    with Thing(x) as thing:
        y = thing.y * 3
        raise ValueError("swallowed")
    return y


@check(breaks=2)
def test_callers_catch_what_a_continuation_raises(x):
    def fails(y):
        y = y + 1
        framejit.graph_break()
        y = y * 2
        raise KeyError("after")

    try:
        fails(x)
    except KeyError as error:
        return x + 5, error.args


@check(breaks=4)
def test_break_in_a_comprehension_and_a_generator(x):
    values = [note(i) + 1 for i in range(3)]

    def generate():
        for i in range(3):
            yield note(i) * 2

    return x * sum(values) + sum(generate())


@check(lambda: (torch.ones(3), [1, 2]), breaks=1)
def test_effects_before_a_break_happen_once(x, items):
    items.append(3)
    y = x + len(items)
    framejit.graph_break()
    items.append(4)
    return y * len(items)


@check(lambda: (torch.tensor([1.0, -2.0]),), lambda: (torch.tensor([-1.0, -2.0]),), breaks=1)
def test_data_dependent_branch(x):
    y = x * 2
    if y.sum() > 0:
        return y + 1
    return y - 1


@check(breaks=1)
def test_scalar_read(x):
    n = int(x.sum().item())
    return x + n


@check(breaks=1)
def test_closure_made_before_a_break(x):
    k = 2

    def times(y):
        return y * k

    x = x + 1
    framejit.graph_break()
    k = 3
    return times(x)


@check(breaks=1)
def test_virtual_objects_cross_a_break(x):
    table = {"x": x + 1, "list": [1, x]}
    table["me"] = table
    pair = (table, [table])
    it = iter([1, 2, 3])
    next(it)
    framejit.graph_break()
    return table["x"] + next(it), pair[0] is table, pair[1][0] is table["me"], table["list"][1] is x


@check(breaks=1)
def test_unknown_iterator(x):
    for part in map(str, iter([1, 2].__iter__, 3)) if False else _opaque_items():
        x = x + part
    return x


def _opaque_items():
    framejit.graph_break()
    return iter({"a": 1, "b": 2}.values())


def test_one_helper_with_many_callers():
    framejit.reset()
    counter = Counter()
    functions = [eval(f"lambda x: inner(x) + {n}", {"inner": inner}) for n in range(10)]
    compiled = [framejit.compile(function, backend=counter) for function in functions]
    for _ in range(2):
        for function, call in zip(functions, compiled, strict=True):
            assert torch.equal(call(torch.ones(2)), function(torch.ones(2)))
    seen = counter.graphs
    for call in compiled:
        call(torch.ones(2))
    assert counter.graphs == seen


def test_fullgraph_shows_the_break():
    def f(x):
        return middle(x)

    with pytest.raises(framejit.CaptureError) as caught:
        framejit.compile(f, backend="eager", fullgraph=True)(torch.ones(2))
    text = str(caught.value)
    assert "framejit.graph_break()" in text and "USER_BREAK" in text and "inner" in text and "^" in text


def always_raises(x):
    x = x + 1
    framejit.graph_break()
    try:
        log.append(x.shape)
    finally:
        raise KeyError("k")


@check(breaks=2)
def test_a_callee_without_a_return_ends_in_its_callers_handler(x):
    log.clear()
    try:
        always_raises(x)
    except KeyError as error:
        log.append(error.args)
    log.append("after")
    return x * 2, list(log)


def test_a_break_behind_a_change_inside_of_an_instruction():
    """A shape that was changed in a key function cannot be taken back: the region ends in front of the whole sort."""
    counter = Counter()

    def sorts(x):
        view = x.view(2, 1)[0]

        def key(number):
            view.unsqueeze_(0)
            x.add_(1)
            framejit.graph_break()
            return number

        return sorted([3, 1], key=key), x * 2, view

    framejit.reset()
    with framejit.config.patch(strict=True):
        compiled = framejit.compile(sorts, backend=counter)
        for _ in range(2):
            same(compiled(torch.ones(2)), sorts(torch.ones(2)))
    assert counter.runs >= 1
