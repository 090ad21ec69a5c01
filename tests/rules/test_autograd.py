"""torch.autograd functions, backward and hooks around captured code."""

import torch

from support import check


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x * x * scale + (1 if torch.is_grad_enabled() else 0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g * ctx.scale, None


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2, x.sum()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g, h):
        return 2 * g + h


def plain():
    return (torch.arange(3.0),)


def leaf():
    return (torch.arange(3.0, requires_grad=True),)


@check(plain)
def test_function_without_gradient(x):
    return Square.apply(x, 3) + 1, Twice.apply(x), torch.is_grad_enabled()


@check(leaf)
def test_function_under_no_grad(x):
    with torch.no_grad():
        y = Square.apply(x, 3)
    return y, x * 2


@check(leaf, breaks=3)
def test_function_with_gradient(x):
    y = Square.apply(x + 1, 3)
    (y * 2).sum().backward()
    return y, x.grad


@check(leaf, breaks=1)
def test_backward_inside(x):
    loss = (x * x).sum()
    loss.backward()
    return x.grad * 2, loss


@check(leaf, breaks=1)
def test_gradients_inside(x):
    (g,) = torch.autograd.grad((x**3).sum(), x)
    return g + 1


@check(leaf, breaks=1)
def test_hook_on_a_tensor_inside(x):
    y = x * 2
    y.register_hook(lambda g: g * 10)
    return y + 1


@check(leaf)
def test_reading_gradients(x):
    return x * 2, x.grad, x.detach().requires_grad
