"""Deques that are given to the captured function: read, changed and iterated without a break."""

from __future__ import annotations

import collections
from collections import deque

import torch

import framejit
from support import Counter, check, same


def _queue(*items, most=None, cls=deque):
    return lambda: (torch.arange(3.0), cls(items, most))


@check(_queue(1, 2.5, "c"), _queue(1, 2.5, "c", most=5))
def test_read(x, queue):
    return len(queue), queue[0], queue[-1], list(queue), 1 in queue, queue.maxlen, bool(queue), x * queue[0]


@check(_queue(1, 2, 3), _queue(1, 2, 3, most=3))
def test_ends(x, queue):
    queue.append(x + 1)
    queue.appendleft(queue.pop())
    queue.popleft()
    queue.extend("ab")
    queue.rotate(1)
    return x * 2


@check(_queue(1, 2, 3, most=3))
def test_pushed_out(x, queue):
    queue.append(x.sin())
    return sum(queue)


@check(_queue(torch.ones(3), torch.zeros(3)))
def test_tensors(x, queue):
    first = queue.popleft()
    queue.append(first + x)
    return torch.stack(list(queue)), first


@check(_queue(1, 2, 3))
def test_items(x, queue):
    queue[1] = "two"
    del queue[0]
    return queue.index(3), queue.count(3), queue, x + 1


@check(lambda: (torch.ones(2), *[deque([1, 2])] * 2), lambda: (torch.ones(2), deque([1, 2]), deque([1, 2])), graphs=2, breaks=0)
def test_one_deque_or_two(x, one, other):
    one.append(3)
    return x + len(other), other


class Queue(deque):
    label = "q"


@check(_queue(1, 2, 3, cls=Queue))
def test_subclass(x, queue):
    queue.append(queue.label)
    return queue, x + 1


@check(_queue(1, 2, 3))
def test_copies_and_comparisons(x, queue):
    copied = queue.copy()
    return copied, copied == queue, copied is queue, queue + copied, reversed(queue), x + 1


@check(_queue(1, 2, 3))
def test_changed_while_iterated(x, queue):
    y = x + 1
    try:
        for item in queue:
            queue.append(item)
    except RuntimeError as error:
        return str(error), y


@check(lambda: (torch.ones(2), collections.ChainMap({"q": deque("ab")})))
def test_inside(x, names):
    names["q"].append("c")
    return x + len(names["q"])


def test_an_iterator_outside_goes_on_where_only_an_item_changed():
    def replace(x, queue):
        queue[2] = x + 1

    queue = deque([1, 2, 3])
    items = iter(queue)
    next(items)
    framejit.compile(replace, backend=Counter())(torch.ones(2), queue)
    assert next(items) == 2
    same(next(items), torch.ones(2) + 1)


def test_a_deque_that_grows_from_call_to_call_is_captured_a_few_times():
    def push(x, queue):
        queue.append(x)
        return x + 1

    framejit.reset()
    counter, queue = Counter(), deque()
    compiled = framejit.compile(push, backend=counter)
    for _ in range(30):
        compiled(torch.ones(2), queue)
    assert len(queue) == 30 and counter.graphs <= 3
