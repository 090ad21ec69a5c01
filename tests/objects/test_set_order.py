"""Sets are iterated in the order that CPython gives them, whatever was done to them."""

from __future__ import annotations

import random

import pytest
import torch
from support import Counter, check

import framejit

X = torch.ones(2)
WORDS = ["a", "bb", "c", "dd", "e", "ff", "g", "hh", "i", "jj", "k", "ll", "m", "nn", 0, 8, 16, 1, 9, 32, 64, -1, -2, (1, "a"), None, 2.5]


def operations(seed, s, t, words, pick):
    """Random operations on two sets; what can be seen of them after each."""
    chosen, seen = random.Random(seed), []
    for _ in range(12):
        match chosen.randrange(16):
            case 0 | 1 | 2:
                s.add(chosen.choice(words))
            case 3 | 4:
                s.discard(chosen.choice(words))
            case 5:
                s = s | t
            case 6:
                s &= frozenset(words[::2]) | t
            case 7:
                s.update(words[3:9], {"x": 1, "a": 2})
            case 8:
                s, t = t, s - {8, "a"}
            case 9:
                s = set(list(t) + words[:4])
            case 10:
                t ^= s
            case 11:
                t = s.copy()
            case 12:
                seen.append(s.pop() if s else None)
            case 13:
                s.symmetric_difference_update(words[1:7])
            case 14:
                t = {*s, *words[:2], 8, 0}
            case 15:
                s = s.union(t, words[::3]).difference(dict.fromkeys(words[:5]))
        seen.append((list(s), list(t), sorted(map(str, frozenset(s) & frozenset(t))), repr(frozenset(t) - s)))
    return pick + 1, seen, s, t, frozenset(s | t)


def text(found):
    return str(found[1:]), [type(part) for part in found]


@pytest.mark.parametrize("seed", range(40))
def test_random_operations_on_new_sets(seed):
    def program(x, words):
        return operations(seed, set(words[:3]), {*words[1:6]}, words, x)

    random.seed(seed)
    words = random.sample(WORDS, 12)
    counter = Counter()
    with framejit.config.patch(strict=True):
        found = framejit.compile(program, backend=counter, fullgraph=True)(X, words)
    assert text(found) == text(program(X, words)) and counter.runs == 1


@pytest.mark.parametrize("seed", range(40))
def test_random_operations_on_sets_given(seed):
    """Where the order of a changed input is asked and not known, the capture breaks; what it gives is right."""

    def program(x, s, t, words):
        return operations(seed, s, t, words, x)

    random.seed(seed)
    words = random.sample(WORDS, 12)

    def arguments():
        s, t = set(WORDS[: seed % 20]), set(words)
        for word in words[: seed % 7]:
            s.discard(word)
        return X, s, t, words

    compiled = framejit.compile(program, backend="eager")
    for _ in range(2):
        ours, theirs = arguments(), arguments()
        with framejit.config.patch(strict=True):
            found, expected = compiled(*ours), program(*theirs)
        assert text(found) == text(expected)
        assert str(ours[1:]) == str(theirs[1:])


@check(lambda: (X, {"a", "b", 8, 0}, frozenset([0, 8, 16])), lambda: (X, {0, 8, "b", "a"}, frozenset([16, 8, 0])))
def test_equal_sets_in_another_order_are_captured_again(x, s, f):
    return x + 1, list(s), list(f), [*map(str, f)]


@check(lambda: (X, {True, 2}), breaks=0)
def test_a_member_replaced_by_an_equal_one(x, s):
    s.discard(1)
    s.add(1.0)
    t = {1}
    t.discard(True)
    t.add(True)
    return x + 1, s, t


@check(breaks=0)
def test_frozensets_in_the_code_are_the_codes(x):
    f = {"a", "b", "c"}
    return x + 1, "b" in {"a", "b", "z"}, f, list(f)


def test_what_was_removed_before_the_call_still_counts():
    """A removed member keeps its slot in the table of a set, so that what comes later lies elsewhere than in a copy."""

    def program(x, s, new):
        s.update(new)
        return x + 1, list(s), list(s | {5, 13}), list(s.copy())

    numbers = [0, 8, 16, 24, 1, 9, 17, 2, 10, 3, 11, 32, 64]
    for seed in range(60):
        chosen = random.Random(seed)
        first, gone, new = chosen.sample(numbers, 4), chosen.randrange(1, 3), chosen.sample(numbers, 3)
        compiled = framejit.compile(program, backend="eager")
        seen = []
        for run in (program, compiled, compiled):
            s = set()
            for number in first:
                s.add(number)
            for number in first[:gone]:
                s.discard(number)
            seen.append((run(X, s, new)[1:], list(s)))
        assert seen[1:] == [seen[0], seen[0]], (first, gone, new)


def test_only_sets_have_slots():
    with pytest.raises(TypeError, match="set or frozenset, not list"):
        framejit._C.set_slots([])
