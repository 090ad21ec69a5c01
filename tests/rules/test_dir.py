"""dir() of modules, classes and objects."""

from __future__ import annotations

import enum
import math
import types

import torch
from support import Counter, check

import framejit

X = torch.ones(2)


class Base:
    a = 1

    def method(self):
        return 1


class Derived(Base):
    __slots__ = ("slot",)
    b = 2


class Told:
    def __dir__(self):
        return ["z", "a", "m"]


class Level(enum.Enum):
    LOW = 1

    @property
    def extra(self):
        return 2


@check(breaks=0)
def test_modules_classes_and_objects(x):
    one = Derived()
    one.own = 3
    return x + 1, dir(math), dir(Derived), dir(one), dir(Told()), dir(3), dir(list), dir(int), dir(type(x))[:3]


@check(breaks=0)
def test_classes_made_in_the_capture(x):
    class Local(Base):
        inner = 1

    Local.later = 2
    return x + 1, dir(Local), dir(Local())


@check(breaks=0)
def test_enums(x):
    return x + 1, dir(Level), dir(Level.LOW)


def test_a_class_that_gets_another_name_is_captured_again():
    counter = Counter()
    compiled = framejit.compile(lambda x: (x + 1, dir(Base)), backend=counter, fullgraph=True)
    before = compiled(X)[1]
    Base.added = 1
    try:
        assert compiled(X)[1] == dir(Base) != before
    finally:
        del Base.added
    assert compiled(X)[1] == before and counter.graphs == 2


def test_a_module_with_its_own_dir():
    module = types.ModuleType("told")
    module.__dir__ = lambda: ["b", "a"]
    assert framejit.compile(lambda x: (x + 1, dir(module)), backend="eager", fullgraph=True)(X)[1] == ["a", "b"]
