"""Stores to attributes of classes that exist: effects, seen by later reads."""

from __future__ import annotations

import torch

import framejit
from support import check


class Base:
    shared = 1

    def get(self):
        return self.shared


class Derived(Base):
    pass


LOCAL = []


def fresh():
    class Local(Base):
        own = 0

    LOCAL[:] = [Local]
    return (torch.arange(3.0),)


@check(fresh)
def test_a_store_is_seen_by_later_reads(x):
    cls = LOCAL[0]
    cls.own = 5
    cls.added = x + 1
    cls.twice = lambda self: self.own * 2
    made = cls()
    before = cls.own
    cls.own = cls.own + 1
    return before, cls.own, made.own, made.added, made.twice(), cls.__dict__["own"], "added" in vars(cls), hasattr(cls, "other")


@check(fresh)
def test_deleting_and_inheriting(x):
    cls = LOCAL[0]
    made = cls()
    cls.shared = 2
    first = made.get()
    del cls.shared
    second = made.get()
    cls.come = 1
    del cls.come
    try:
        del cls.missing
    except AttributeError as error:
        text = str(error)
    return x + 1, first, second, hasattr(cls, "come"), text


def store(x):
    Base.shared = 7
    Derived.extra = x + 1
    return Derived().get(), Derived.extra


def test_the_effect_is_real():
    events = []
    unsubscribe = framejit.events.subscribe(events.append, framejit.events.Break)
    compiled = framejit.compile(store, backend="eager")
    try:
        for _ in range(3):
            Base.shared = 1
            found, extra = compiled(torch.ones(2))
            assert found == 7 and Base.shared == 7 and Derived().get() == 7 and Derived.extra is extra and "shared" not in vars(Derived)
        assert [name for name in vars(Derived) if not name.startswith("__")] == ["extra"]
    finally:
        unsubscribe()
        Base.shared = 1
        del Derived.extra
    assert not events, [str(event) for event in events]


def count(x):
    Base.shared += 1
    return x * Base.shared


def test_a_counter_counts():
    compiled = framejit.compile(count, backend="eager")
    Base.shared = 1
    try:
        for number in range(2, 6):
            assert compiled(torch.ones(1)).item() == number and Base.shared == number
    finally:
        Base.shared = 1


def helper():
    """Doc."""


@check(lambda: (torch.ones(2),))
def test_names_and_docs_of_functions(x):
    helper.__name__ = "other"
    helper.__doc__ = "new"

    def local():
        pass

    local.__qualname__ = "here"
    try:
        helper.__name__ = 3
    except TypeError as error:
        text = str(error)
    found = helper.__name__, helper.__doc__, local.__qualname__, text
    helper.__name__ = "helper"
    return x + 1, found


def rename(x):
    helper.__name__ = "renamed"
    return x + 1


def test_a_function_is_renamed():
    compiled = framejit.compile(rename, backend="eager")
    for _ in range(2):
        helper.__name__ = "helper"
        compiled(torch.ones(1))
        assert helper.__name__ == "renamed"


def identities(x):
    class A:
        pass

    return A, id(A), hash(A), x + 1


def test_ids_of_captured_classes():
    compiled = framejit.compile(identities, backend="eager")
    for _ in range(2):
        cls, number, key, _ = compiled(torch.ones(1))
        assert id(cls) == number and hash(cls) == key


@check(lambda: (torch.ones(2),))
def test_the_dict_of_an_exception(x):
    error = ValueError(1)
    error.__dict__ = {"a": 1}
    texts = []
    for act in (lambda: delattr(error, "__dict__"), lambda: setattr(error, "__dict__", 3)):
        try:
            act()
        except TypeError as wrong:
            texts.append(str(wrong))
    return x + error.a, texts, error
