"""Iterators that leave a region in the middle of a container that the region has changed."""

from __future__ import annotations

import itertools

import torch

from support import check


def pause():
    print(end="")


@check(lambda: (torch.ones(2), []), graphs=1, breaks=3)
def test_a_list_filled_before_it_is_iterated(x, items):
    items.append(1)
    items.append(2)
    seen = []
    for item in items:
        pause()
        seen.append(item)
    return x + len(seen), seen, items


@check(lambda: (torch.ones(2), {}), graphs=1, breaks=3)
def test_a_dict_filled_before_it_is_iterated(x, table):
    table["a"] = 1
    table["b"] = 2
    seen = []
    for key, value in table.items():
        pause()
        seen.append((key, value))
    return x + len(seen), seen


class Holder:
    pass


@check(lambda: (torch.ones(2), [1], Holder()), graphs=1, breaks=2)
def test_an_iterator_is_stored(x, items, holder):
    rest = iter(items)
    holder.pair = (next(rest), rest)
    items.append(2)
    items.append(3)
    pause()
    found = list(holder.pair[1])
    holder.pair = None
    return x + 1, found


@check(lambda: (torch.ones(2), [1, 1, 2, 3, 3]), graphs=2, breaks=6)
def test_a_groupby_and_its_groups(x, items):
    groups = itertools.groupby(items)
    first, one = next(groups)
    second, two = next(groups)
    y = x + first + second
    pause()
    return y * 2, list(one), list(two), [(key, list(group)) for key, group in groups]


@check(lambda: (torch.ones(2), [1, 1, 2, 3, 3]), graphs=2, breaks=6)
def test_a_group_that_was_begun(x, items):
    groups = itertools.groupby(items, key=lambda item: item * 10)
    first, one = next(groups)
    y = x + next(one)
    pause()
    return y * 2, first, [(key, len(list(group))) for key, group in groups], list(one)
