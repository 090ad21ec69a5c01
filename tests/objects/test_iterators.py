"""Iterators, finished and unfinished ones that leave the region: eager against symbolic."""

from __future__ import annotations

import itertools
import operator

import pytest

from symbolic import check, outcome


class Stairs:
    """Iterable by the old protocol."""

    def __init__(self, n):
        self.n = n

    def __getitem__(self, i):
        if i >= self.n:
            raise IndexError(i)
        return i * 10

    def __len__(self):
        return self.n


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if not self.n:
            raise StopIteration
        self.n -= 1
        return self.n


def is_small(x):
    return x < 2


def unfinished(a):
    made = [
        iter(a), iter((1, 2, 3)), iter("abc"), iter(range(5)), enumerate(a, 5), zip(a, "xyz"), map(operator.add, a, a), filter(None, [0, 1, 2]),
        reversed(a), reversed((1, 2)), iter({1: 2, 3: 4}), iter({1: 2, 3: 4}.items()), reversed({1: 2, 3: 4}.values()), iter({7}), iter(b"ab"),
    ]  # fmt: skip
    return made, [next(it) for it in made]


def unfinished_itertools(a):
    made = [
        itertools.chain(a, "xy"), itertools.chain.from_iterable([[1], [2, 3]]), itertools.islice("abcdefgh", 1, None, 2), itertools.islice(a, 2),
        itertools.accumulate([1, 2, 3]), itertools.accumulate([1, 2, 3], operator.mul, initial=10), itertools.takewhile(bool, [1, 2, 0, 3]),
        itertools.dropwhile(is_small, [1, 2, 1, 3]), itertools.filterfalse(None, [0, 1, 0.0]), itertools.starmap(pow, [(2, 3), (3, 2)]),
        itertools.compress("abcd", [1, 0, 1, 1]), itertools.pairwise([1, 2, 3]), itertools.zip_longest("ab", "c", fillvalue="-"),
        itertools.product("ab", repeat=2), itertools.permutations([1, 2, 3], 2), itertools.combinations("abc", 2), itertools.repeat(1, 3),
        itertools.combinations_with_replacement("ab", 2),
    ]  # fmt: skip
    return [next(it) for it in made], made


def endless(n):
    c, r, y = itertools.count(5, 2), itertools.repeat("r"), itertools.cycle("ab")
    return [next(c) for _ in range(n)], [next(r) for _ in range(n)], [next(y) for _ in range(n)], next(c), list(zip(range(2), c))


def finished(a):
    it = iter(a)
    list(it)
    z = zip(a, a)
    list(z)
    return it, z, outcome(next, it), next(z, "end"), list(map(str, a)), list(itertools.chain())


def grouped(text):
    groups = [(k, list(g)) for k, g in itertools.groupby(text)]
    stale = [g for _, g in itertools.groupby(text)]
    return groups, [list(g) for g in stale], [(k, len(list(g))) for k, g in itertools.groupby([1, 3, 2], key=lambda v: v % 2)]


def protocols(n):
    s = Stairs(n)
    it = iter(s)
    next(it)
    return (
        list(s),
        list(reversed(s)),
        it,
        20 in s,
        [*Countdown(3)],
        sum(Stairs(3)),
        max(Countdown(4)),
        list(zip(Stairs(2), Countdown(5))),
    )


def until(n):
    state = [0]

    def step():
        state[0] += 1
        return state[0]

    return list(iter(step, n)), state, next(iter(step, 99))


def strict(a):
    return (
        outcome(lambda: list(zip(a, [1], strict=True))),
        outcome(lambda: list(zip([1], a, strict=True))),
        list(zip(a, a, strict=True)),
        list(zip()),
    )


def generators(n):
    def gen(k):
        for i in range(k):
            yield i

    g = gen(n)
    return (
        next(g),
        list(g),
        sum(x * x for x in gen(4)),
        list(enumerate(gen(2))),
        dict(zip("ab", gen(2))),
        tuple(gen(3)),
        any(x > 1 for x in gen(5)),
    )


def errors(n):
    return (
        outcome(iter, n), outcome(next, [1]), outcome(lambda: [*n]), outcome(lambda: list(zip([1], n))), outcome(lambda: sum(["a"], "")),
        outcome(lambda: map(str)), outcome(lambda: enumerate()), outcome(lambda: reversed({1})), outcome(next, iter(())), outcome(lambda: (1).__iter__()),
    )  # fmt: skip


PROGRAMS = [
    (unfinished, [1, 2, 3]), (unfinished_itertools, [1, 2, 3]), (endless, 3), (finished, [1, 2]), (grouped, "aabccc"), (protocols, 3), (until, 4),
    (strict, [1, 2]), (generators, 3), (errors, 5),
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0].__name__)
def test_iterators(program):
    check(*program)
