"""Programs that were odd enough to be captured wrongly once."""

from __future__ import annotations

import math

import pytest
import torch

import framejit
from support import check, same

LOG = []


class Lasting:
    def __del__(self):
        LOG.append("died")


@check(breaks=2, graphs=1)
def test_what_an_exception_holds_dies_with_it_behind_a_break(x):
    LOG.clear()
    try:
        raise ValueError(Lasting())
    except ValueError:
        framejit.graph_break()
    LOG.append("behind")
    return x + 1, list(LOG)


@check(breaks=3, graphs=1)
def test_attributes_of_an_exception_die_with_it(x):
    LOG.clear()
    try:
        raise KeyError("key")
    except KeyError as error:
        error.held = Lasting()
        framejit.graph_break()
    LOG.append("behind")
    return x + 1, list(LOG)


class OwnError(Exception):
    def __init__(self, x, more=None):
        super().__init__(x, 1)
        self.more = more


def raises_behind_a_break(x):
    if x.sum() > 2:
        raise OwnError(x, more=3)
    return x + 1


def test_an_exception_with_its_own_init_behind_a_break():
    framejit.reset()
    compiled = framejit.compile(raises_behind_a_break, backend="eager")
    with framejit.config.patch(strict=True):
        for x in (torch.zeros(3), torch.ones(3), torch.ones(3) * 2, torch.zeros(3)):
            try:
                found = compiled(x)
            except OwnError as error:
                assert error.args[0] is x and error.args[1:] == (1,) and error.more == 3 and x.sum() > 2
            else:
                same(found, raises_behind_a_break(x))


class Comparing(type):
    """A metaclass that has its own say about which classes are equal, and notes who asks."""

    def __eq__(cls, other):
        LOG.append("compared")
        return cls is other

    def __hash__(cls):
        LOG.append("hashed")
        return 1


class Unhashable(type):
    def __eq__(cls, other):
        return cls is other


class Compared(metaclass=Comparing):
    def __init__(self, value):
        self.value = value

    def scaled(self, x):
        return x * self.value


class NeverHashed(metaclass=Unhashable):
    def __init__(self, value):
        self.value = value

    def scaled(self, x):
        return x * self.value


def uses(x, kind, given):
    made = kind(2)
    given.value = 3

    class Inner(kind):
        pass

    return made.scaled(x), given.scaled(x), isinstance(made, kind), isinstance(given, Inner), type(given) is kind, {kind} if kind is Compared else None


@pytest.mark.parametrize("kind", [Compared, NeverHashed])
def test_metaclasses_that_compare_are_asked_by_the_program_alone(kind):
    framejit.reset()
    with framejit.config.patch(strict=True):
        compiled = framejit.compile(uses, backend="eager")
        for _ in range(3):
            LOG.clear()
            found = compiled(torch.ones(2), kind, kind(1))
            asked = list(LOG)
            LOG.clear()
            wanted = uses(torch.ones(2), kind, kind(1))
            assert asked == LOG
            same(found, wanted)


def leaves_a_generator(numbers):
    def waits():
        try:
            yield 1
        finally:
            LOG.append("closed")

    for _ in waits():
        numbers.missing


@check(lambda: (torch.ones(2), 1), graphs=1)
def test_what_the_context_of_an_exception_holds_dies_with_it(x, number):
    LOG.clear()
    try:
        try:
            leaves_a_generator(number)
        except AttributeError:
            iter(number)
    except TypeError as error:
        name = type(error).__name__
    LOG.append("behind")
    return x + 1, name, list(LOG)


class Asking:
    """A descriptor that notes each time that it is asked for a method."""

    def __get__(self, instance, owner):
        LOG.append("asked")
        return lambda *args: 3


USES = (("round", round), ("abs", abs), ("int", int), ("float", float), ("bool", bool), ("index", hex), ("len", len), ("trunc", math.trunc))


@check(graphs=1, breaks=0)
def test_special_methods_are_asked_for_once(x):
    found = []
    for name, use in USES:
        LOG.clear()
        kind = type("Kind", (), {f"__{name}__": Asking()})
        try:
            use(kind())
        except TypeError as error:
            found.append(str(error))
        found.append((name, list(LOG)))
    return x + 1, found


class Swallows:
    def __init__(self, kinds=()):
        self.kinds = kinds

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return kind is not None and issubclass(kind, self.kinds)


@check(lambda: (torch.ones(2), ()), lambda: (torch.ones(2), ((), (KeyError,))), graphs=2, breaks=0)
def test_a_given_empty_tuple_of_classes_matches_nothing(x, kinds):
    found = []
    for swallows in (Swallows(), Swallows(kinds)):
        try:
            with swallows:
                raise LookupError
        except LookupError as error:
            found.append((isinstance(error, kinds), issubclass(LookupError, kinds)))
    group = ExceptionGroup("all", [ValueError(1)])
    return x + 1, found, group.subgroup(Swallows().kinds)
