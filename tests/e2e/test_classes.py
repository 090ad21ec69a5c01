"""Classes defined in captured code: used there, returned, and made anew by every call."""

from __future__ import annotations

import pytest
import torch

import framejit
from support import check


@check()
def test_a_local_class_is_used(x):
    class Scale:
        """Doc."""

        factor = 3
        count: int = 2
        names = []

        def apply(self, y):
            return y * self.factor + offset

        @property
        def twice(self):
            return self.value * 2

        @twice.setter
        def twice(self, new):
            self.value = new

        @staticmethod
        def add(a):
            return a + 1

        @classmethod
        def kind(cls):
            return cls

    offset = 1
    scale = Scale()
    scale.twice = 4
    Scale.names.append("one")
    facts = (
        type(scale) is Scale, isinstance(scale, Scale), scale.kind() is Scale, Scale.kind() is Scale, Scale.__name__,
        Scale.__qualname__, Scale.__module__, Scale.__doc__, Scale.__annotations__, scale.names, scale.twice, Scale.add(1),
    )  # fmt: skip
    return scale.apply(x), facts


@check()
def test_inheritance_super_and_comparison(x):
    class Base:
        def __init__(self, y):
            self.y = y

        def run(self):
            return self.y + 1

    class Derived(Base):
        def __init__(self, y):
            super().__init__(y)
            self.more = 2

        def run(self):
            return super().run() * self.more

        def __eq__(self, other):
            return self.more == other.more

    try:
        hash(Derived(x))
    except TypeError as error:
        text = str(error)
    return Derived(x).run(), Derived(1) == Derived(2), text, [base.__name__ for base in Derived.__mro__]


@check()
def test_a_local_exception(x):
    class Wrong(ValueError):
        pass

    try:
        raise Wrong(3)
    except Wrong as error:
        return x + error.args[0], type(error).__name__, issubclass(Wrong, ValueError)


@check()
def test_wrong_bases_raise(x):
    class A:
        pass

    try:

        class B(A, A):
            pass

    except TypeError as error:
        return x + 1, str(error)


def escaping(x, n):
    class Made:
        def __init__(self):
            self.n = n

        def get(self):
            return self.n

        def kind(self):
            return Made

        def cell(self):
            return __class__

    return Made, Made(), x + n


def broken(x):
    class Made:
        def get(self):
            return 1

    print(end="")
    made = Made()
    print(end="")
    return type(made) is Made, made.get() + x


@pytest.fixture
def recorded():
    framejit.reset()
    found = []
    unsubscribe = framejit.events.subscribe(found.append, framejit.events.Break)
    with framejit.config.patch(strict=True):
        yield found
    unsubscribe()


def test_classes_leave_the_region(recorded):
    compiled = framejit.compile(escaping, backend="eager")
    classes = []
    for _ in range(3):
        cls, made, y = compiled(torch.ones(2), 2)
        assert type(made) is cls and made.get() == 2 and made.kind() is cls and made.cell() is cls
        assert cls.__qualname__ == "escaping.<locals>.Made" and cls.__module__ == __name__
        assert torch.equal(y, torch.full((2,), 3.0))
        classes.append(cls)
    assert len(set(classes)) == 3 and not recorded


def test_a_class_survives_a_break(recorded):
    compiled = framejit.compile(broken, backend="eager")
    for _ in range(3):
        same, y = compiled(torch.ones(2))
        assert same and torch.equal(y, torch.full((2,), 2.0))
    assert {event.reason.id for event in recorded} == {"OUTPUT"}
