"""An object that is a key of a given dict or set, and found elsewhere too, is one key: asked alone or with all others."""

from __future__ import annotations

import pytest
import torch

import framejit
from support import Counter, recorded

LEFT = (framejit.events.Break, framejit.events.Fallback)


class Plain:
    pass


def popped(x, d, k):
    return d.pop(k, 5), len(d), x + 1


def stored(x, d, k):
    d[k] = 7
    return len(d), len(list(d)), x + 1


def deleted(x, d, k):
    del d[k]
    return list(d.values()), x + 1


def asked(x, d, k):
    first = d[k]
    return first, len(set(d)), k in d, d.get(k), list(d.items()) == [*d.items()], x + 1


def all_first(x, d, k):
    values = list(d.values())
    d[k] = 8
    return values, d.pop(k), k in d, len(d), x + 1


def in_tuples(x, d, k):
    t = {(key, 1): value for key, value in d.items()}
    return t[k, 1], t.get((x, 1)), (k, 2) in t, x + 1


def in_sets(x, d, k):
    s = set(d)
    s.discard(k)
    s.add(k)
    return len(s), k in s, s == set(d), len(s | {k}), len(s - {k}), x + 1


def found_twice(x, d, k):
    other = next(iter(d))
    return d[other], other is k, d.setdefault(k, 9), len({other: 1, k: 2}), len({other, k}), x + 1


MAKERS = {"functions": lambda: (lambda: 1), "objects": object, "instances": Plain, "tensors": lambda: torch.ones(2), "types": lambda: type("T", (), {})}


def calls(make):
    for _ in range(3):
        a, b = make(), make()
        yield {a: 1, b: 2}, a
    yield {b: 1, a: 2}, a
    yield {a: 1, b: 2}, b


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("fn", [popped, stored, deleted, asked, all_first, in_tuples, in_sets, found_twice], ids=lambda fn: fn.__name__)
def test_it_is_one_key(fn, kind):
    x, counter = torch.ones(1), Counter()
    with recorded(*LEFT) as seen, framejit.config.patch(strict=True):
        compiled = framejit.compile(fn, backend=counter)
        for theirs, key in list(calls(MAKERS[kind])):
            mine = dict(theirs)
            found, expected = compiled(x, mine, key), fn(x, theirs, key)
            assert found[:-1] == expected[:-1]
            assert [*map(id, mine)] == [*map(id, theirs)]
            assert list(mine.values()) == list(theirs.values())
    assert counter.runs == 5
    assert not seen or (kind == "functions" and fn in (in_tuples, in_sets))  # two keys of which each may be the other one


def discarded(x, s, k):
    s.discard(k)
    return len(s), k in s, x + 1


@pytest.mark.parametrize("kind", MAKERS)
def test_a_member_of_a_given_set(kind):
    x, counter = torch.ones(1), Counter()
    with recorded(*LEFT) as seen, framejit.config.patch(strict=True):
        compiled = framejit.compile(discarded, backend=counter)
        for _ in range(3):
            a, b = MAKERS[kind](), MAKERS[kind]()
            assert compiled(x, {a, b}, a)[:-1] == (1, False)
            assert compiled(x, {a}, b)[:-1] == (1, False)
    assert counter.runs == 6 and {record.reason.id for record in seen} <= {"UNKNOWN_TYPE"}  # a given set of objects
