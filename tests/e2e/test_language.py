"""Statements and expressions of Python in one graph, compared with eager."""

import torch

from support import check


@check()
def test_arithmetic(x):
    return (x + 1) * 2 - x / 3


@check(lambda: (torch.ones(2), 3), lambda: (torch.ones(2), -3))
def test_branch_on_an_argument(x, n):
    if n > 0:
        return x + n
    elif n < 0:
        return x - n
    return x


@check()
def test_loops(x):
    for i in range(3):
        if i == 1:
            continue
        x = x + i
    else:
        x = x * 2
    n = 0
    while True:
        n += 1
        if n > 3:
            break
    return x + n


@check()
def test_containers(x):
    items = [x, x + 1]
    items.append(x * 2)
    items[0] = x - 1
    first, *rest = items
    table = {"a": first, **{"b": rest[0]}}
    table["c"] = rest[-1]
    del table["a"]
    return [table[key] for key in sorted(table)], (first, *rest), {1, 2} | {3}, len(items)


@check()
def test_comprehensions(x):
    k = 2
    return [x + i * k for i in range(4) if i % 2], {i: x * i for i in range(2)}, {i % 2 for i in range(5)}, sum(i for i in range(4))


@check()
def test_closures(x):
    total = 0

    def add(y):
        nonlocal total
        total += 1
        return y + total

    return add(add(x)), total


@check()
def test_defaults_and_star_arguments(x):
    def f(a, /, b=2, *args, c, d=4, **rest):
        return a + b * c - d, args, rest

    return f(x, c=1), f(x, 3, 4, 5, c=2, e=6), f(*[x, 1], **{"c": 2})


@check()
def test_lambda_and_recursion(x):
    fact = lambda n: 1 if n < 2 else n * fact(n - 1)  # noqa: E731
    return x * fact(5)


@check()
def test_strings(x):
    name = f"{'a':>3}|{3.14159:.2f}|{[1, 'b']!r}"
    return x + len(name), name.upper().split("|"), "%d-%s" % (3, "z")


@check()
def test_slices_and_subscripts(x):
    items = list(range(10))
    items[2:4] = [7, 7, 7]
    del items[0]
    return x[1:3], x[..., None], items[::2], items[-1]


@check()
def test_chained_comparison_and_walrus(x):
    if 0 < (n := 3) < 5 and not (n == 4):
        return x + n
    return x


@check(lambda: (torch.ones(2), {"kind": "pair", "of": (1, 2)}), lambda: (torch.ones(2), [1, 2, 3]), lambda: (torch.ones(2), 5))
def test_match(x, subject):
    match subject:
        case {"kind": "pair", "of": (a, b), **rest}:
            return x + a + b, rest
        case [first, *others]:
            return x * first, others
        case int(n) if n > 3:
            return x - n
        case _:
            return x


@check()
def test_assert_and_delete(x):
    y = x + 1
    assert y is not x, "same"
    z = y * 2
    del y
    return z


counter = 0


@check(calls=1)
def test_globals_are_written(x):
    global counter
    counter = 5
    return x + counter


@check()
def test_tuples_compare_and_unpack(x):
    (a, b), c = (1, 2), 3
    return x + a, (a, b) < (b, c), (1, 2) == (1, 2.0), [1] + [2] * 2, b if c else a


@check(lambda: (torch.ones(3), [1, 2, 3]))
def test_argument_list_is_mutated(x, items):
    items.append(4)
    items[0] = "zero"
    items.extend(i * 2 for i in range(2))
    return x + len(items)


@check(lambda: (torch.ones(3), {"a": 1, "b": 2}))
def test_argument_dict_is_mutated(x, table):
    table["c"] = x + 1
    table.pop("a")
    table.setdefault("d", []).append(2)
    return x + len(table)


@check(lambda: (torch.zeros(3),))
def test_tensor_argument_is_mutated(x):
    x.add_(1)
    y = x * 2
    x[0] = 7
    return y
