"""Grad mode, autocast and the other modes of torch inside captured code, across breaks and exceptions."""

import torch

import framejit
from support import check

W = torch.nn.Parameter(torch.ones(4, 4))


def leaf():
    return (torch.ones(4, requires_grad=True),)


def rows():
    return (torch.ones(2, 4),)


@check(leaf)
def test_no_grad(x):
    with torch.no_grad():
        y = x * 2
        inside = torch.is_grad_enabled()
    z = x * 3
    return y, z, y.requires_grad, z.requires_grad, inside, torch.is_grad_enabled()


@check(leaf)
def test_nested_modes(x):
    with torch.no_grad():
        a = x + 1
        with torch.enable_grad():
            b = x + 2
            with torch.set_grad_enabled(False):
                c = x + 3
            d = x + 4
        e = x + 5
    return a, b, c, d, e


@torch.no_grad()
def decorated(x):
    return x * 2, torch.is_grad_enabled()


@check(leaf)
def test_decorated_function(x):
    return decorated(x), x + 1


@check(leaf)
def test_set_grad_enabled_as_a_call(x):
    torch.set_grad_enabled(False)
    y = x + 1
    torch.set_grad_enabled(True)
    return y, x + 2


@check(leaf)
def test_exception_leaves_the_mode(x):
    try:
        with torch.no_grad():
            y = x * 2
            raise ValueError("no")
    except ValueError:
        pass
    return y, x + 1, torch.is_grad_enabled()


@check(leaf, breaks=1)
def test_break_under_no_grad(x):
    with torch.no_grad():
        y = x * 2
        framejit.graph_break()
        z = x * 3 + y
        inside = torch.is_grad_enabled()
    return y, z, x + 1, inside, torch.is_grad_enabled()


def multiply(x):
    y = x @ W
    framejit.graph_break()
    return y @ W, torch.is_grad_enabled()


@check(rows, breaks=1)
def test_break_in_a_callee_under_no_grad(x):
    with torch.no_grad():
        y = multiply(x)
    return y, x @ W


@check(rows)
def test_autocast(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ W
        on = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
        with torch.autocast("cpu", enabled=False):
            z = x @ W
        v = torch.nn.functional.linear(x, W)
    return y, z, v, x @ W, on, torch.is_autocast_enabled("cpu")


@check(rows, breaks=1)
def test_break_under_autocast(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ W
        framejit.graph_break()
        z = x @ W
    return y, z, x @ W, torch.is_autocast_enabled("cpu")


@check(leaf)
def test_facts_about_capture(x):
    return x + 1, torch.jit.is_scripting(), torch.jit.is_tracing(), torch.get_default_dtype(), torch.is_inference_mode_enabled()


def test_compiling_is_seen():
    def f(x):
        return x + (1 if torch.compiler.is_compiling() else 2), framejit.is_compiling()

    got, flag = framejit.compile(f, backend="eager", fullgraph=True)(torch.zeros(1))
    assert got.item() == 1 and flag


def test_modes_of_the_caller_are_guarded():
    def f(x):
        return x * 2

    compiled = framejit.compile(f, backend="eager")
    x = torch.ones(2, requires_grad=True)
    assert compiled(x).requires_grad
    with torch.no_grad():
        assert not compiled(x).requires_grad
    assert compiled(x).requires_grad
    with torch.inference_mode():
        assert compiled(x).is_inference()
    torch.set_default_dtype(torch.float64)
    try:
        assert compiled(x).dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


def test_the_default_type_is_guarded():
    compiled = framejit.compile(lambda: torch.zeros(1) + torch.tensor(0.5), backend="eager")
    assert compiled().dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert compiled().dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_graph_that_raises_leaves_no_mode_behind():
    def f(x, i):
        with torch.no_grad():
            return x[i] * 2

    compiled = framejit.compile(f, backend="eager")
    x = torch.ones(3, requires_grad=True)
    assert not compiled(x, torch.tensor(1)).requires_grad
    try:
        compiled(x, torch.tensor(7))
    except IndexError:
        raised = True
    assert raised and torch.is_grad_enabled() and (x * 2).requires_grad


@check(rows)
def test_a_view_of_a_parameter_without_grad(x):
    with torch.no_grad():
        tokens = W[:1].expand(2, -1)
        y = torch.cat([tokens, x]) * 2
    return y, y.requires_grad
