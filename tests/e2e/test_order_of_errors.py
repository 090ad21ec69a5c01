"""Errors that come in front of what the other arguments would do, and what generators handle while they wait."""

from __future__ import annotations

import math
import sys
import weakref

import torch

from support import check


class Converted:
    def __init__(self):
        self.asked = False

    def __float__(self):
        self.asked = True
        return 1 / 0


class Unhashable:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        if self.n == other.n == 0:
            raise RuntimeError("compared")
        return self.n == other.n


class ThroughProxy:
    def __init__(self, value):
        self.value = value

    def __iter__(self):
        return weakref.proxy(self.value)


def tried(function, *args):
    try:
        return function(*args)
    except (TypeError, RuntimeError) as error:
        return type(error), str(error)


@check()
def test_a_wrong_first_argument(x):
    found = []
    for function in (math.atan2, math.copysign, math.remainder, math.fmod, math.pow):
        second = Converted()
        found.append((tried(function, "text", second), second.asked))
    return x + 1, found


@check()
def test_items_of_dicts_are_compared_not_hashed(x):
    one, same, more = {1: Unhashable(1)}, {1: Unhashable(1)}, {1: Unhashable(1), 2: Unhashable(2)}
    raising, other = {1: Unhashable(0)}, {1: Unhashable(0)}
    return (
        x + 1, one.items() == same.items(), one.items() != same.items(), one.items() <= more.items(), one.items() < more.items(),
        more.items() > one.items(), more.items() >= same.items(), one.items() == more.items(), one.items() < same.items(),
        tried(lambda: raising.items() == other.items()), tried(lambda: raising.items() < more.items()), raising.items() == raising.items(),
    )  # fmt: skip


@check()
def test_a_list_of_what_iter_gives_is_not_asked_for_its_iterator_again(x):
    held = lambda: 0  # noqa: E731
    return x + 1, tried(list, ThroughProxy(held)), tried(tuple, ThroughProxy(held)), tried(sorted, ThroughProxy(held))


def storing(seen):
    try:
        seen.append(sys.exc_info()[0])
        yield
    except ValueError as error:
        seen.append((sys.exc_info()[0], error.__context__))
        yield
        seen.append(sys.exc_info()[0])
        try:
            raise KeyError("inner")
        except KeyError as inner:
            seen.append(inner.__context__ is error)
            yield
        seen.append(sys.exc_info()[1] is error)
        yield
        raise


@check()
def test_a_generator_keeps_what_it_handles_where_its_caller_handles_the_same(x):
    seen = []
    generator = storing(seen)
    next(generator)
    try:
        raise ValueError("thrown")
    except ValueError as error:
        generator.throw(error)
        next(generator)
    next(generator)
    seen.append(sys.exc_info())
    try:
        next(generator)
    except ValueError as error:
        seen.append((str(error), error.__context__))
    return x + torch.ones(1), seen
