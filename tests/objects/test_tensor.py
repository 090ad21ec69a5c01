"""Tensors: attributes, operators, indexing, methods and in-place changes, in one graph each."""

import torch

from support import check


def grid():
    return (torch.arange(12.0).reshape(3, 4),)


def pair():
    return torch.arange(6.0).reshape(2, 3), torch.arange(3.0)


@check(grid)
def test_metadata(x):
    facts = (x.shape, x.size(), x.size(1), x.stride(), x.stride(0), x.dtype, x.device, x.ndim, x.dim(), x.numel(), x.nelement())
    flags = (x.requires_grad, x.is_leaf, x.layout, x.is_cuda, x.is_contiguous(), x.is_floating_point(), x.is_sparse, x.element_size())
    return x + 1, facts, flags, len(x), x.itemsize, x.nbytes, x.type(), x.grad, x.grad_fn, x.get_device()


@check(grid)
def test_views_by_attribute(x):
    return x.T, x.mT, x.mH, x.data + 1, x.real, (x * 1j).imag, (x * 1j).real


@check(grid)
def test_sizes_are_tuples(x):
    shape = x.shape
    rows, columns = shape
    rest = shape[1:]
    return (
        x.view(*shape[:-1], 2, 2),
        x.reshape((-1,) + rest),
        shape + (1,),
        (1,) + shape,
        type(rest) is torch.Size,
        shape == (3, 4),
        shape.numel(),
        [*shape, -1],
        torch.Size([1, 2]),
        rows * columns,
        list(shape),
        tuple(shape),
        shape[-1],
        shape.index(4),
    )


@check(pair)
def test_operators(x, y):
    return (
        x + y, x - y, x * y, x / (y + 1), x // (y + 1), x % (y + 1), x**2, 2**x, -x, +x, abs(x), 1 - x, 3 / (x + 1),
        7 // (x + 1), 7 % (x + 1),
        x @ y, x @ x.T, x == y, x != y, x < y, x <= 1, 1 > x, x >= y, x == None, x != "a",  # noqa: E711
    )  # fmt: skip


@check(lambda: (torch.arange(6), torch.tensor([True, False, True, True, False, True])))
def test_integer_and_bool_operators(x, m):
    return x & 3, x | 8, x ^ 5, ~x, ~m, x << 1, x >> 1, 1 << x, m & (x > 2), m | False, m ^ m, x * True, x + 1.5, x / 2, divmod(7, 2)


class Scale:
    def __init__(self, k):
        self.k = k

    def __radd__(self, other):
        return other + self.k

    def __rmul__(self, other):
        return other * self.k


@check(pair)
def test_reflected_operators_of_others(x, y):
    try:
        x + "a"
    except TypeError:
        caught = True
    return x + Scale(2), y * Scale(3), caught


@check(grid)
def test_indexing(x):
    i = torch.tensor([0, 2])
    return (
        x[0], x[-1, 2], x[1:], x[:, ::2], x[..., 0], x[None], x[:, None, 1], x[i], x[:, i], x[[0, 1]], x[i, torch.tensor([1, 3])],
        x[0][1], x[torch.tensor(1)], x[True], x[(slice(None), 1)], x[-2:, -1],
    )  # fmt: skip


@check(grid)
def test_item_assignment(x):
    y = x.clone()
    y[0] = 1.0
    y[:, 1] = y[:, 2]
    y[torch.tensor([0, 1]), 0] += 5
    y[y > 6] = -1
    z = torch.zeros(3, 2)
    z[...] = x[:, :2]
    z[1, 1] = x.sum()
    return y, z


@check(grid)
def test_inplace_on_an_argument(x):
    y = x.view(-1)
    x.add_(1).mul_(2)
    y[0] = 100
    x += 1
    x[1] -= 3
    return x, y, x is y


@check(pair)
def test_inplace_operators(x, y):
    a = x.clone()
    b = a
    b += y
    b -= 1
    b *= 2
    b /= 3
    b **= 2
    b //= 2
    b %= 5
    n = torch.arange(4)
    n &= 3
    n |= 4
    n ^= 1
    n <<= 2
    n >>= 1
    return a, b, n, a is b


@check(grid)
def test_unpacking_and_iteration(x):
    a, b, c = x
    rows = [row * 2 for row in x]
    first, *others = x
    total = sum(row.sum() for row in x)
    return a + b + c, rows, first, others, total, list(zip(x, range(3))), [i for i, row in enumerate(x)], max(3, len(x)), reversed(x)


@check(grid)
def test_several_results(x):
    values, indices = x.max(dim=1)
    top = x.topk(2)
    left, right = x.split(2, dim=1)
    chunks = x.chunk(2)
    result = torch.sort(x, descending=True)
    mean_and_std = torch.std_mean(x)
    return values, indices, top.values, top, left, right, chunks, result.indices, result[0], mean_and_std, x.unbind(1), x.min(0)


@check(grid)
def test_methods_that_return_the_tensor_itself(x):
    return x.contiguous() is x, x.to(torch.float32) is x, x.float() is x, x.to("cpu") is x, x.double() is x, x.add_(1) is x, x.detach() is x


@check(grid)
def test_identity_and_containers(x):
    y = x + 1
    d = {x: 1, y: 2}
    return d[x], d[y], x is y, x in [y, x][1:], [x, y].index(x), y, isinstance(x, torch.Tensor), isinstance(y, torch.nn.Parameter)


@check(lambda: (lambda t: (t, t))(torch.ones(3)), lambda: (torch.ones(3), torch.ones(3)))
def test_aliased_arguments(x, y):
    x.add_(1)
    return y * 2, x is y


@check(grid)
def test_factories(x):
    return (
        torch.zeros(2, 3), torch.ones_like(x), torch.full((2,), 7), torch.arange(3), torch.tensor([[1.0, 2], [3, 4]]), torch.eye(2),
        torch.tensor(3), torch.as_tensor(x) is x, torch.as_tensor(2.5), x.new_zeros(2), torch.linspace(0, 1, 3, dtype=x.dtype),
        torch.empty(0), torch.scalar_tensor(2), torch.zeros(x.shape), torch.zeros(x.size(0), device=x.device), torch.zeros(size=(1,)),
    )  # fmt: skip


@check(grid)
def test_random_operators(x):
    a = torch.rand(3)
    b = torch.nn.functional.dropout(x, 0.5)
    torch.randn(2)
    return a, b, torch.randint(0, 10, (3,)), torch.bernoulli(torch.full((4,), 0.5)), x.clone().uniform_()


@check(grid)
def test_functions(x):
    return (
        torch.cat([x, x]), torch.stack((x, x), dim=1), torch.where(x > 3, x, 0.0), torch.einsum("ij,kj->ik", x, x), torch.relu(x),
        torch.nn.functional.gelu(x), torch.softmax(x, -1), torch.linalg.norm(x), torch.fft.rfft(x).abs(), torch.special.expit(x),
        torch.clamp(x, min=1), x.clamp(max=2), torch.allclose is not None, torch.broadcast_tensors(x, x[0]),
        torch.meshgrid(x[0], x[1], indexing="ij"),
        torch.is_tensor(x), torch.is_floating_point(x), torch.numel(x), torch.promote_types(torch.int32, torch.float16),
    )  # fmt: skip


@check(grid)
def test_out_argument(x):
    out = torch.empty(3, 4)
    result = torch.add(x, 1, out=out)
    return out, result is out


@check(lambda: (torch.ones(3, requires_grad=True), torch.zeros(3)))
def test_requires_grad_follows_the_operators(x, y):
    z = y.clone()
    before = z.requires_grad
    z.add_(x)
    w = torch.zeros(2, 3)
    w[0] = x
    return before, z.requires_grad, z, w.requires_grad, w, x.detach().requires_grad, (x * 2).is_leaf, x.is_leaf


@check(lambda: (torch.ones(2, 3, requires_grad=True),))
def test_views_follow_inplace_changes(x):
    base = torch.zeros(2, 3)
    view = base[0]
    base.add_(x)
    view.mul_(2)
    return base, view, view.requires_grad


@check(grid)
def test_metadata_changed_in_place(x):
    y = x.clone()
    z = y * 1
    y.t_()
    y.unsqueeze_(0)
    z.squeeze_()
    return y, y.shape, y.stride(), z


@check(lambda: (torch.zeros(2, 3).as_strided((2, 3), (0, 1)),), lambda: (torch.zeros(3, 2).t(),), lambda: (torch.zeros(4, 3)[::2],))
def test_strided_arguments(x):
    return x + 1, x.contiguous(), x.stride(), x.is_contiguous(), x.reshape(-1)


@check(lambda: (torch.zeros(3, dtype=torch.complex64).conj(), torch.ones(2, 2, dtype=torch.float64)[0]))
def test_conjugated_and_viewed_arguments(x, y):
    return x * 1, x.is_conj(), y + 1, x.resolve_conj()


def marked():
    x = torch.ones(2)
    x.tag = "a"
    return (x,)


@check(lambda: (torch.ones(2),), marked)
def test_attributes_set_on_tensors(x):
    return x + 1, hasattr(x, "tag"), getattr(x, "tag", None)


@check(grid)
def test_devices_and_types(x):
    device = torch.device("cpu")
    info = torch.finfo(x.dtype)
    return (
        x.device == device, x.device.type, x.device.index, x.dtype == torch.float32, x.dtype.is_floating_point, info.min, info.eps,
        torch.iinfo(torch.int32).max, str(x.dtype), x.to(device, torch.float64), x.type(torch.int32), {x.dtype: 1}[torch.float32],
        x.masked_fill(x > 3, torch.finfo(x.dtype).min),
    )  # fmt: skip


@check(lambda: (torch.ones(2), 3, 2.5), lambda: (torch.ones(2), 4, 2.5), lambda: (torch.ones(2), 5, 2.5), lambda: (torch.ones(2), 6, 1.5))
def test_numbers_that_change(x, i, f):
    j = i * 2 + 1
    if j > 100:
        return x
    return x + i, x * j, i / x, x - (i - 1), x * f, i, j, -i, j // 2, x == i


class Small:
    scale = float("0.5")


class Large:
    scale = float("0.5")  # equal, and another object


@check(lambda: (torch.ones(2), Small(), Large()))
def test_equal_class_attributes_are_told_apart(x, small, large):
    return x * small.scale + large.scale
