"""Errors that come in front of what the other arguments would do, and what generators handle while they wait."""

from __future__ import annotations

import abc
import math
import sys
import weakref

import pytest
import torch

import framejit
from support import Counter, check


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


KEPT: list = []


def raising(k):
    try:
        framejit.graph_break()
        raise KeyError(k)
    except KeyError as error:
        KEPT.append(error)
    return sys.exc_info()[0]


def around_a_break(k):
    yield 1
    framejit.graph_break()
    try:
        raise KeyError(k)
    except KeyError as error:
        KEPT.append(error)
    yield sys.exc_info()[0]


def around_a_call(k):
    yield 1
    yield raising(k)


def in_its_own_handler(k):
    yield 1
    try:
        raise IndexError
    except IndexError:
        yield 1
        yield raising(k)
        framejit.graph_break()
        try:
            raise KeyError(7)
        except KeyError as error:
            KEPT.append(error)
        yield sys.exc_info()[0]
    yield raising(k)


def all_in_a_handler(x, body):
    try:
        raise ValueError(3)
    except ValueError:
        return x + 1, list(body(2))


def one_in_a_handler(x, body):
    generator = body(2)
    next(generator)
    try:
        raise ValueError(3)
    except ValueError:
        found = [next(generator)]
    return x + 1, found + list(generator)


def none_in_a_handler(x, body):
    return x + 1, list(body(2))


@pytest.mark.parametrize("body", [around_a_break, around_a_call, in_its_own_handler], ids=lambda body: body.__name__)
def test_generators_that_are_driven_in_a_handler(body):
    counter = Counter()
    for _ in range(2):
        for function in (none_in_a_handler, all_in_a_handler, one_in_a_handler, all_in_a_handler, none_in_a_handler):
            seen = []
            for run in (function, framejit.compile(function, backend=counter)):
                KEPT.clear()
                seen.append((run(torch.ones(2), body)[1], [repr(error.__context__) for error in KEPT]))
            assert seen[1] == seen[0]
    assert counter.graphs >= 1


class Abstract(abc.ABC):
    @abc.abstractmethod
    def missing(self): ...


class AbstractList(list, abc.ABC):
    @abc.abstractmethod
    def missing(self): ...


class TakesMore:
    def __new__(cls, *args):
        return object.__new__(cls, *args)


@check()
def test_what_object_says_of_its_arguments(x):
    return x + 1, tried(Abstract), tried(Abstract, 2), tried(AbstractList, [1]), tried(TakesMore, 1), tried(lambda: len(AbstractList([1])))
