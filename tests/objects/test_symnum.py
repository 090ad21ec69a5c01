"""Integers that changed between calls: computed by the program, compared, and guarded only where the code asks."""

import torch

import framejit
from support import Counter, check


def runs(function, numbers, graphs):
    counter = Counter()
    compiled = framejit.compile(function, backend=counter)
    x = torch.arange(4.0)
    with framejit.config.patch(strict=True):
        for number in numbers:
            want = function(x, number)
            got = compiled(x, number)
            assert type(got) is type(want) and all(
                torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b and type(a) is type(b) for a, b in zip(got, want, strict=True)
            ), (number, got, want)
    assert counter.graphs <= graphs, counter.graphs


def test_arithmetic():
    def f(x, i):
        return x * 2, i + 1, i - 1, 2 * i, i // 2, i % 3, i / 4, i**2, -i, ~i, +i, i & 3, i | 8, i ^ 1, i << 1, i >> 1

    runs(f, (3, 4, 5, 100, -7, 2**70), 2)


def test_comparisons_are_values():
    def f(x, i):
        return x + 1, i > 3, i == 4, i != 5, 2 <= i

    runs(f, (3, 4, 5, 100, -7), 2)


def test_branches_are_guarded():
    def f(x, i):
        if i * 2 > 10:
            return (x + i,)
        return (x - i,)

    runs(f, (1, 2, 3, 4, 6, 7, 8, 5), 3)


def test_truth_and_division():
    def f(x, i):
        y = x + 1 if i else x - 1
        return y, 12 // i if i else 0, not i

    runs(f, (1, 2, 3, 0, 4, -3), 3)


def test_numbers_as_indices_are_constants():
    def f(x, i):
        return x[i], x[:i], [1, 2, 3, 4][i]

    runs(f, (0, 1, 2, 3), 5)


def test_counter_attribute():
    class State:
        count = 0

    state = State()

    def f(x):
        state.count += 1
        return x + state.count

    counter = Counter()
    compiled = framejit.compile(f, backend=counter)
    for step in range(1, 12):
        assert torch.equal(compiled(torch.zeros(2)), torch.full((2,), float(step)))
    assert state.count == 11 and counter.graphs <= 3


@check(*[lambda n=n: (torch.ones(2), n) for n in (2, 3, 5)], calls=1)
def test_complex_numbers_and_numbers_that_change(x, n):
    c = complex(1, 2)
    sums = c + n, n * c, c == n, n - c, (c + n).real, n.real, n.numerator, n.imag, n.denominator, -c
    return x * n, sums, int((c + n).real)


@check(*[lambda f=f: (torch.ones(2), f) for f in (0.5, 1.5, 2.5)], calls=1)
def test_floats_that_change_have_the_attributes_of_floats(x, f):
    return x * f, f.real, f.imag, hasattr(f, "numerator"), f + 1j
