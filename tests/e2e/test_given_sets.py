"""Sets of objects and of tensors that are there before the region: members are told apart by identity and come in their own order."""

import torch

import framejit
from support import Counter


class Item:
    def __init__(self, number):
        self.number = number

    def __repr__(self):
        return f"Item({self.number})"

    __slots__ = ("number", "__weakref__")


class Bag(set):
    pass


def numbers(items):
    return sorted(item.number for item in items)


def some(kind, count=3):
    items = [Item(number) for number in range(count)]
    return kind(items), items[0], Item(9)


def captured(program):
    """The program compiled, and lists of its breaks and graphs."""
    framejit.reset()
    counter, breaks = Counter(), []
    unsubscribe = framejit.events.subscribe(breaks.append, framejit.events.Break)
    return framejit.compile(program, backend=counter), counter, breaks, unsubscribe


def agrees(*kinds, count=3):
    """Make a test of a program on fresh sets of these kinds: what it gives and leaves is as in eager, in a graph per kind."""

    def decorate(program):
        def test():
            compiled, counter, breaks, unsubscribe = captured(program)
            try:
                for kind in kinds * 3:
                    found = []
                    for run in (program, compiled):
                        items, member, other = some(kind, count)
                        result, *more = run(torch.ones(2), items, member, other)
                        found.append((result.tolist(), more, numbers(items), type(items)))
                    assert found[0] == found[1]
            finally:
                unsubscribe()
            assert breaks == [] and counter.graphs == len(kinds)

        return test

    return decorate


@agrees(set, Bag)
def test_membership(x, items, member, other):
    seen = [member in items, other in items, len(items), bool(items)]
    return x + len(items), seen, other not in items, [one in items for one in (other, member)]


@agrees(set, frozenset, Bag, count=1)
def test_algebra(x, items, member, other):
    seen = [member in items, other in items, len(items), bool(items), None in items, items == {member}]
    return x + len(items), seen, items >= {member}, items.isdisjoint([other]), len(items | {other, member}), len(items - {member})


@agrees(set, Bag, count=1)
def test_what_is_added_and_removed(x, items, member, other):
    items.add(other)
    items.add(other)
    items.discard(member)
    items.add(Item(20))
    try:
        items.remove(member)
    except KeyError as error:
        x = x + len(error.args)
    items |= {other, member}
    items.difference_update([other])
    return x * len(items), member in items


@agrees(set, count=1)
def test_left_alone_behind_what_is_removed(x, items, member, other):
    items.discard(member)
    items.discard(other)
    return x + sum(sorted(item.number for item in items)), len(items)


@agrees(set, count=1)
def test_emptied(x, items, member, other):
    items.clear()
    items.add(member)
    return x + len(items), [item.number for item in items]


def test_the_order_is_that_of_the_real_set():
    def program(x, items):
        seen = list(items)
        for item in items:
            x = x * 2 + item.number
        first = next(iter(items))
        items.discard(first)
        return x, seen, list(items), first

    compiled, counter, breaks, unsubscribe = captured(program)
    try:
        for _ in range(8):
            items = {Item(torch.full((2,), number)) for number in range(6)}
            expected, order = torch.ones(2), list(items)
            for item in order:
                expected = expected * 2 + item.number
            result, seen, left, first = compiled(torch.ones(2), items)
            assert seen == order and first is order[0] and torch.equal(result, expected) and left == list(items) == order[1:]
    finally:
        unsubscribe()
    assert breaks == [] and counter.graphs == 1


def test_sets_of_tensors():
    def program(x, tensors, one):
        total = sum(t.sum() for t in tensors)
        known = one in tensors, x in tensors, len(tensors)
        tensors.discard(one)
        tensors.add(x)
        return total * 2, known

    compiled, counter, breaks, unsubscribe = captured(program)
    try:
        for call in range(4):
            tensors = {torch.ones(2) * (call + place) for place in range(3)}
            one, x = next(iter(tensors)), torch.zeros(2)
            expected = sum(t.sum() for t in tensors) * 2
            result, known = compiled(x, tensors, one)
            assert torch.equal(result, expected) and known == (True, False, 3)
            assert x in tensors and one not in tensors and len(tensors) == 3
    finally:
        unsubscribe()
    assert breaks == [] and counter.graphs == 1
