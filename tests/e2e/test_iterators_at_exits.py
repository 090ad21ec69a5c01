"""Iterators that leave a region in the middle of a container that the region has changed."""

from __future__ import annotations

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
