"""Weak references made and used inside captured code: their objects live and die as they do in CPython."""

from __future__ import annotations

import weakref

import torch

import framejit
from support import check
from things import Thing


class Equal(Thing):
    def __eq__(self, other):
        return self.value == other.value

    def __hash__(self):
        return hash(self.value)


class Tagged(weakref.ref):
    __slots__ = ("tag",)

    def __new__(cls, of, callback=None, tag=""):
        made = super().__new__(cls, of, callback)
        made.tag = tag
        return made

    def __init__(self, of, callback=None, tag=""):
        super().__init__(of, callback)


@check(lambda: (torch.arange(4.0), Thing(3)))
def test_references_to_what_lives(x, given):
    one = Thing(1)
    ref, other = weakref.ref(one), weakref.ref(given)
    holder = [Thing(2)]
    held = weakref.ref(holder[0])
    return x + 1, ref() is one, weakref.ref(one) is ref, other() is given, held().value, ref == weakref.ref(one), ref == held, ref.__callback__


@check()
def test_what_nobody_holds_is_dead(x):
    one = Thing(1)
    ref = weakref.ref(one)
    before = ref() is one
    del one

    def make():
        inner = Thing(2)
        return weakref.ref(inner), inner.value

    inside, _ = make()
    rebound = Thing(3)
    third = weakref.ref(rebound)
    rebound = None
    return x + 1, before, ref() is None, inside() is None, third() is None, ref == inside, ref == ref, weakref.ref(Thing())() is None


@check(graphs=None, breaks=0)
def test_equal_referents(x):
    one, other = Equal(1), Equal(1)
    refs = {weakref.ref(one): "a"}
    found = refs[weakref.ref(one)], weakref.ref(one) == weakref.ref(other)
    tagged = Tagged(one, tag="t")
    return x + 1, found, tagged.tag, tagged() is one, isinstance(tagged, weakref.ref), tagged == weakref.ref(other)


def attempt(function, *args):
    try:
        return function(*args)
    except TypeError as error:
        return error.args


@check()
def test_what_cannot_be_referred_to(x):
    return x + 1, attempt(weakref.ref, 3), attempt(weakref.ref, "a"), attempt(weakref.ref, [1]), weakref.ref(Thing)() is Thing, weakref.ref(attempt)() is attempt


def test_references_leave_the_region():
    def make(x, given):
        one = Thing(x + 1)
        gone = weakref.ref(Thing(2))
        return one, weakref.ref(one), weakref.ref(given), Tagged(one, tag="t"), gone

    framejit.reset()
    given = Thing(0)
    compiled = framejit.compile(make, backend="eager")
    for _ in range(2):
        one, ref, other, tagged, gone = compiled(torch.ones(2), given)
        assert ref() is one and other() is given and weakref.ref(one) is ref and gone() is None
        assert type(tagged) is Tagged and tagged.tag == "t" and tagged() is one
        del one
        assert ref() is None and tagged() is None


@check()
def test_a_callback_runs_when_its_object_dies(x):
    log = []
    one = Thing(1)
    ref = weakref.ref(one, lambda ref: log.append(ref() is None))
    y = x + 1
    log.append("before")
    del one
    log.append("behind")
    return y, log, ref() is None


@check()
def test_a_callback_runs_at_the_end_of_a_callee(x):
    log, refs = [], []

    def inner():
        one = Thing(1)
        refs.append(weakref.ref(one, lambda ref: log.append("died")))
        return one.value

    log.append(inner())
    return x + 1, log, refs[0]() is None


@check(breaks=1)
def test_a_local_that_is_dead_code_still_lives(x):
    one = Thing(1)
    ref = weakref.ref(one)
    y = x + 1
    framejit.graph_break()
    return y, ref() is None


@check(lambda: (torch.arange(4.0), Thing(3)))
def test_weak_containers(x, given):
    one = Thing(1)
    keys, values, members = weakref.WeakKeyDictionary(), weakref.WeakValueDictionary(), weakref.WeakSet([one])
    keys[one], keys[given] = 5, 6
    values["k"] = one
    members.add(given)
    found = [keys[one], len(keys), given in keys, Thing() in keys, values["k"] is one, "z" in values, len(values), one in members, len(members)]
    return x + 1, found, weakref.WeakMethod(one.method)()()
