"""Python's random numbers inside captured code: the same numbers, and the same states behind them."""

from __future__ import annotations

import random

import torch

import framejit
from support import Counter, check


class Loaded(random.Random):
    def random(self):
        return 0.25


@check()
def test_seeded_here(x):
    rng = random.Random(3)
    values = [rng.random(), rng.randint(1, 6), rng.gauss(0, 1), rng.choice("abc"), rng.sample(range(100), 3), rng.getrandbits(70)]
    items = list(range(8))
    rng.shuffle(items)
    return x * rng.uniform(0, 2), values, items


@check()
def test_escapes(x):
    rng = random.Random("text")
    rng.random()
    rng.gauss(0, 1)
    return x + 1, rng.getstate(), rng, rng.__dict__


@check()
def test_module_is_seeded(x):
    random.seed(5)
    return x * random.random(), random.randrange(10), random.choices([1, 2, 3], k=4)


@check()
def test_unknown_state(x):
    return x * random.random() + random.uniform(1, 2), random.random()


@check(lambda: (torch.arange(4.0), random.Random(7)), lambda: (torch.arange(4.0), random.Random(8)))
def test_passed_in(x, rng):
    a = rng.random()
    return x * a, rng.randint(1, 1 << 40), a


@check(lambda: (torch.arange(4.0), random.Random(7)))
def test_saved_and_restored(x, rng):
    saved = rng.getstate()
    a = rng.random()
    rng.setstate(saved)
    b = rng.random()
    other = random.Random(0)
    other.setstate(saved)
    return x * a, x * b, other.random(), other, saved


@check(lambda: (torch.arange(4.0), random.Random(1), random.Random(2).getstate()))
def test_state_passed_in(x, rng, state):
    rng.setstate(state)
    return x * rng.random()


@check(lambda: (torch.arange(4.0), Loaded(1)))
def test_overridden(x, rng):
    return x * rng.random(), rng.uniform(0, 4), Loaded(2).random(), rng.getrandbits(8) * 0


@check(graphs=None, breaks=0, calls=6)
def test_branches(x):
    for _ in range(4):
        if random.random() < 0.5:
            x = x + 1
        else:
            x = x * 2
    return x


@check(breaks=0, calls=5)
def test_shuffled(x):
    order = list(range(6))
    random.shuffle(order)
    return x + 1, order


@check()
def test_wrong(x):
    rng = random.Random(0)
    found = []
    for function, *args in (
        (rng.getrandbits, -1), (rng.getrandbits, "x"), (rng.setstate, (3, (1, 2), None)), (rng.seed, []), (random.Random, []),
        (rng.randrange, 0), (rng.choice, []), (rng.setstate, (1, (), None)),
    ):  # fmt: skip
        try:
            found.append(function(*args))
        except Exception as error:
            found.append((type(error), error.args))
    return x + 1, found


def test_a_branch_on_a_drawn_number_breaks_only_once_it_was_seen_to_differ():
    def layers(x):
        for _ in range(3):
            if random.random() < 0.5:
                x = x + 1
        return x

    framejit.reset()
    compiled = framejit.compile(layers, backend=Counter())
    for seed in range(40):
        random.seed(seed)
        expected, state = layers(torch.ones(2)), random.getstate()
        random.seed(seed)
        assert torch.equal(compiled(torch.ones(2)), expected)
        assert random.getstate() == state
    random.seed(1)
    falls: list[object] = []
    unsubscribe = framejit.events.subscribe(falls.append, framejit.events.CaptureStart)
    for _ in range(40):
        compiled(torch.ones(2))
    unsubscribe()
    assert not falls


def test_a_miss_draws_nothing():
    def draw(x, flag):
        y = random.random()
        return x * y if flag else x - y

    framejit.reset()
    compiled = framejit.compile(draw, backend="eager")
    for flag in (True, False, True):
        random.seed(3)
        expected, state = draw(torch.ones(2), flag), random.getstate()
        random.seed(3)
        assert torch.equal(compiled(torch.ones(2), flag), expected) and random.getstate() == state
