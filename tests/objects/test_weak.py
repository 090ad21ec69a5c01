"""Weak references in captured code: what they refer to, and when it is gone."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from support import Counter, check

import framejit

X = torch.ones(2)


class Thing:
    def __init__(self, value=1):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, Thing) and self.value == other.value

    __hash__ = None


class Slots:
    __slots__ = ("a",)


@check(breaks=0)
def test_a_reference_to_an_object_of_the_capture(x):
    thing = Thing(3)
    reference = weakref.ref(thing)
    return x + reference().value, reference() is thing, reference is weakref.ref(thing), bool(reference)


@check(breaks=0)
def test_what_was_dropped_is_gone(x):
    thing = Thing(3)
    reference = weakref.ref(thing)
    alive = reference() is thing
    del thing
    return x + 1, alive, reference() is None, reference() is None


@check(lambda: (X, [Thing(2)]), breaks=1)
def test_what_a_container_may_have_dropped_is_asked_again(x, things):
    reference = weakref.ref(things[0])
    before = reference().value
    things.clear()
    return x + before, reference() is None


def given():
    thing = Thing(4)
    return X, thing, weakref.ref(thing)


@check(given, breaks=0)
def test_a_reference_given(x, thing, reference):
    return x + reference().value, reference() is thing


def test_a_reference_given_is_captured_once_and_keeps_nothing_alive():
    counter = Counter()
    compiled = framejit.compile(lambda x, reference: x + (0 if reference() is None else reference().value), backend=counter, fullgraph=True)
    for value in (1, 1, 1):
        thing = Thing(value)
        reference = weakref.ref(thing)
        assert compiled(X, reference).tolist() == [2, 2]
        del thing
        gc.collect()
        assert reference() is None and compiled(X, reference).tolist() == [1, 1]
    assert counter.graphs == 2


def test_a_reference_that_leaves_the_capture():
    def function(x, thing):
        return x + 1, weakref.ref(thing), weakref.ref(Thing(1))

    thing = Thing(2)
    _, kept, lost = framejit.compile(function, backend="eager")(X, thing)
    assert kept() is thing and kept is weakref.ref(thing) and lost() is None


@pytest.mark.parametrize("target", [3, Slots(), (1, 2)])
def test_objects_without_weak_references(target):
    def function(x, target):
        try:
            weakref.ref(target)
        except TypeError as error:
            return x + 1, str(error)

    assert framejit.compile(function, backend="eager")(X, target)[1] == function(X, target)[1]
