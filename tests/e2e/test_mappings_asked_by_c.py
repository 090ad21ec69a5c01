"""Mappings that C code goes through: a dict is read as it is unless its class iterates in its own way; keys are hashed and compared as often."""

from __future__ import annotations

import collections
import functools
import operator
from typing import Any

import pytest
import torch
from support import Counter, check

import framejit

LOG: list[Any] = []
X = torch.ones(2)


class Getting(dict):
    def __getitem__(self, key):
        LOG.append(("get", key))
        return 5


class Keyed(Getting):
    def keys(self):
        LOG.append("keys")
        return ["k"]


class Iterating(Keyed):
    def __iter__(self):
        LOG.append("iter")
        return iter(["i"])


class Iterated(dict):
    def __iter__(self):
        LOG.append("iter")
        return iter(["a"])


class Lazily(Iterating):
    def keys(self):
        for key in "ab":
            LOG.append(("key", key))
            yield key


class Ordered(collections.OrderedDict):
    def keys(self):
        LOG.append("keys")
        return ["k", "a"]

    def __getitem__(self, key):
        LOG.append(("get", key))
        return 6


class NoKeys(Iterating):
    def keys(self):
        return 5


def named(**kwargs):
    return kwargs


def merged(x, one):
    LOG.clear()
    return x + 1, {} | one, one | {"z": 1}, {**one}, LOG[:]


def updated(x, one):
    LOG.clear()
    first, second, ordered = {"a": 0}, {"a": 0}, collections.OrderedDict(a=0)
    first.update(one)
    second |= one
    ordered.update(one)
    return x + 1, first, second, list(ordered.items()), dict(one), LOG[:]


def copied(x, one):
    LOG.clear()
    return x + 1, dict.copy(one), collections.defaultdict(list, one), collections.defaultdict(list) | one, LOG[:]


def handed_on(x, one):
    LOG.clear()
    return x + 1, named(**one), named(q=1, **one), dict(**one), LOG[:]


@pytest.mark.parametrize("kind", [dict, Getting, Keyed, Iterating, Iterated, Lazily, Ordered, collections.OrderedDict])
@pytest.mark.parametrize("fn", [merged, updated, copied, handed_on], ids=lambda fn: fn.__name__)
def test_a_dict_is_asked_where_its_class_iterates(fn, kind):
    def made(x):
        return fn(x, kind(a=1))

    for function, given in ((fn, (kind(a=1),)), (made, ())):
        check(lambda given=given: (X, *given))(function)()


class Default(collections.defaultdict):
    def __init__(self, *args):
        LOG.append("made")
        super().__init__(*args)


@check(lambda: (X, Default(int, {"a": 1})))
def test_a_union_with_a_defaultdict_calls_its_class(x, given):
    LOG.clear()
    both = given | {"b": 2}, {"b": 2} | given, given | collections.defaultdict(list)
    return x + 1, [(type(one), one.default_factory, list(one.items())) for one in both], LOG[:]


@check(lambda: (X, NoKeys()))
def test_keys_that_are_none(x, given):
    try:
        return {} | given
    except TypeError as error:
        return x + 1, str(error)


def texts(*names):
    """A subclass of str that notes how often these special methods are asked."""

    def method(name):
        original = getattr(str, name)

        def call(self, *args):
            LOG.append(name)
            return original(self, *args)

        return call

    return type("Noted", (str,), {"__hash__": str.__hash__, **{name: method(name) for name in names}})


class Attributes:
    ab = 1


def looked_up(x, s):
    LOG.clear()
    d = {s: 1}
    return x + 1, d["ab"], "ab" in d, "zz" in d, {"ab": 2}[s], {(s, 1): 2}["ab", 1], "ab" in {s}, LOG[:]


def handed_to_a_function(x, s):
    LOG.clear()
    return x + 1, named(**{s: 1}), dict(**{s: 2}), functools.partial(named, **{s: 3})(), LOG[:]


def attributes(x, s):
    LOG.clear()
    value = Attributes()
    setattr(value, s, 3)
    found = getattr(value, s), hasattr(value, s), operator.attrgetter(s)(value)
    delattr(value, s)
    return x + 1, found, LOG[:]


def class_body(x, s):
    LOG.clear()
    return x + 1, type("T", (), {s: 1}).ab, LOG[:]


@pytest.mark.parametrize("names", [("__eq__", "__hash__"), ("__eq__",), ("__hash__",)], ids=["both", "eq", "hash"])
@pytest.mark.parametrize("fn", [looked_up, handed_to_a_function, attributes, class_body], ids=lambda fn: fn.__name__)
def test_a_key_is_hashed_and_compared_as_often(fn, names):
    kind = texts(*names)

    def made(x):
        return fn(x, kind("ab"))

    for function, given in ((fn, (kind("ab"),)), (made, ())):
        framejit.reset()
        counter = Counter()
        with framejit.config.patch(strict=True):
            compiled = framejit.compile(function, backend=counter)
            for _ in range(2):
                assert compiled(X, *given)[1:] == function(X, *given)[1:]
        assert counter.graphs >= 1 and counter.runs == 2
