"""Objects that see each attribute asked of them: capturing asks them for nothing that the program does not."""

from __future__ import annotations

import operator
import collections

import pytest
import torch

import framejit
from support import check

asked: list[object] = []
watching = [False]
BASES = (
    object, int, float, str, bytes, complex, list, dict, tuple, set, frozenset, collections.OrderedDict, collections.deque,
    collections.defaultdict, collections.Counter, ValueError, torch.nn.Module,
)  # fmt: skip


def by_attribute(base):
    def get(self, name):
        if watching[0]:
            asked.append(name)
        return base.__getattribute__(self, name)

    return type("Spy", (base,), {"__getattribute__": get, "shared": 5})


def by_class(base):
    class Spy(base):
        shared = 5

        @property
        def __class__(self):
            if watching[0]:
                asked.append("__class__")
            return Spy

        if not issubclass(base, (str, bytes)):  # what a failed conversion says of them shows it

            def __repr__(self):
                if watching[0]:
                    asked.append("repr")
                return "spy"

    return Spy


@framejit.disable
def opaque(value):
    return value


def reads(spy, x):
    found = [spy.shared, getattr(spy, "missing", 3), hasattr(spy, "shared"), type(spy).__name__, spy is None, callable(spy)]
    return [*found, isinstance(spy, int), isinstance(spy, (list, dict))], x + 1


def holds(spy, x):
    listed, named, paired = [spy], {"k": spy}, (spy, 1)
    return listed, named, paired, id(spy) == id(listed[0]), spy in listed, x + 1


def hashes(spy, x):
    try:
        return hash(spy) == hash(spy), x + 1
    except TypeError as error:
        return str(error), x + 1


def converts(spy, x):
    found = []
    for function in (len, iter, int, float, abs, list, tuple, sorted, sum, bool):
        try:
            found.append(type(function(spy)).__name__)
        except (TypeError, ValueError) as error:
            found.append(str(error))
    return found, x + 1


def writes(spy, x):
    spy.own = 3
    found = spy.own
    del spy.own
    return found, spy.__dict__ is vars(spy), spy.__class__, x + 1


def raises(spy, x):
    try:
        raise spy
    except Exception as error:
        return type(error), x + 1


def breaks(spy, x):
    opaque(1)
    kept = spy
    opaque(2)
    del kept
    match spy:
        case int():
            found = 1
        case {}:
            found = 2
        case []:
            found = 3
        case _:
            found = 4
    return found, x + 1


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("spying", [by_attribute, by_class])
@pytest.mark.parametrize("use", [reads, holds, hashes, converts, writes, raises, breaks])
def test_asked(use, spying, base):
    framejit.reset()
    spy = spying(base)()
    compiled = framejit.compile(use, backend="eager")
    closed = framejit.compile(lambda x: use(spy, x), backend="eager")
    seen = []
    for run in (lambda x: use(spy, x), lambda x: compiled(spy, x), lambda x: compiled(spy, x), closed):
        asked.clear()
        watching[0] = True
        try:
            run(torch.ones(2))
        except AttributeError as error:
            asked.append(str(error))
        finally:
            watching[0] = False
        seen.append(list(asked))
    assert seen[1:] == [seen[0]] * 3


class Descriptor:
    def __getattribute__(self, name):
        if watching[0]:
            asked.append(name)
        return object.__getattribute__(self, name)

    def __get__(self, instance, owner):
        return 7


class Described:
    one = Descriptor()


def test_descriptors_are_asked_for_nothing():
    asked.clear()
    watching[0] = True
    try:
        found = framejit.compile(lambda x: (Described().one, Described.one, getattr(Described(), "one"), x + 1), backend="eager")(torch.ones(2))
    finally:
        watching[0] = False
    assert found[:3] == (7, 7, 7) and not asked


asked_of_class = []


class Asked(type):
    """A metaclass that has an answer to everything."""

    def __getattr__(cls, name):
        asked_of_class.append(name)
        return name * 2


class OfAsked(metaclass=Asked):
    value = 3


@check(lambda: (torch.ones(2), [OfAsked(), OfAsked()]))
def test_metaclasses_are_asked_for_nothing_that_the_program_does_not_ask(x, items):
    asked_of_class.clear()
    made = OfAsked()
    found = [made.value, OfAsked.value, OfAsked.foo, operator.length_hint(made, 4)]
    made = None
    items[0] = 3
    items.clear()
    return x + 1, found, list(asked_of_class)
