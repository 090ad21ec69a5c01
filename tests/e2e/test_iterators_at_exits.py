"""Iterators that leave a region in the middle of a container that the region has changed."""

from __future__ import annotations

import itertools
from collections import OrderedDict, deque

import torch

from support import check


def pause():
    print(end="")


@check(lambda: (torch.ones(2), []), graphs=1, breaks=2)
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


@check(lambda: (torch.ones(2), [1], Holder()), graphs=1, breaks=1)
def test_an_iterator_is_stored(x, items, holder):
    rest = iter(items)
    holder.pair = (next(rest), rest)
    items.append(2)
    items.append(3)
    pause()
    found = list(holder.pair[1])
    holder.pair = None
    return x + 1, found


@check(lambda: (torch.ones(2), [1, 1, 2, 3, 3]), graphs=2, breaks=1)
def test_a_groupby_and_its_groups(x, items):
    groups = itertools.groupby(items)
    first, one = next(groups)
    second, two = next(groups)
    y = x + first + second
    pause()
    return y * 2, list(one), list(two), [(key, list(group)) for key, group in groups]


@check(lambda: (torch.ones(2), [1, 1, 2, 3, 3]), graphs=2, breaks=1)
def test_a_group_that_was_begun(x, items):
    groups = itertools.groupby(items, key=lambda item: item * 10)
    first, one = next(groups)
    y = x + next(one)
    pause()
    return y * 2, first, [(key, len(list(group))) for key, group in groups], list(one)


@check(lambda: (torch.ones(2), {1, 2, 3}, {"a": 1, "b": 2}, deque([1, 2]), OrderedDict(a=1, b=2)), graphs=0, breaks=11)
def test_what_changed_is_noticed_by_iterators_behind_the_region(x, members, table, queue, ordered):
    said = []
    for container, change in (
        (members, lambda: members.discard(3)), (table, lambda: table.update(c=3)), (table.items(), lambda: table.pop("c")), (queue, lambda: queue.append(3)),
        (reversed(queue), lambda: queue.append(4)), (ordered, lambda: ordered.update(c=3)), ({5, 6}, lambda: None), (dict(k=1), lambda: None),
    ):  # fmt: skip
        iterator = iter(container)
        seen = [next(iterator)]
        change()
        pause()
        try:
            seen += iterator
        except RuntimeError as error:
            seen.append(str(error))
        said.append(seen)
    y = x + len(said)
    return y, said


@check(lambda: (torch.ones(2), {"a": 1, "b": 2}), graphs=2, breaks=4)
def test_an_entry_that_went_and_one_that_came(x, table):
    iterator = iter(table)
    first = next(iterator)
    del table[first]
    table["c"] = 3
    y = x + len(table)
    pause()
    return y * 2, first, list(iterator)


@check(breaks=0)
def test_iterators_of_dicts_that_are_exhausted(x):
    table = {1: 2}
    ended = iter(table), iter(table.items()), iter(table.values()), reversed(table), reversed(table.items()), reversed(table.values())
    for each in ended:
        list(each)
    table[3] = 4
    return x + 1, ended
