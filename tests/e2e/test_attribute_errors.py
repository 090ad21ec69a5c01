"""An AttributeError out of a property, a descriptor or `__getattribute__` leads to `__getattr__`, as in CPython."""

import torch

from support import check

X = torch.arange(3.0)


class Fallback:
    def __getattr__(self, name):
        return {"plain": 2, "broken": 3, "descriptor": 5, "hidden": 7}[name]


class Raising(Fallback):
    @property
    def plain(self):
        raise AttributeError("plain")

    @property
    def broken(self):
        print("a break")
        raise AttributeError("broken")


class Descriptor:
    def __get__(self, instance, owner):
        return self.nothing_like_it


class Described(Fallback):
    descriptor = Descriptor()


class Guarded(Fallback):
    def __getattribute__(self, name):
        if name == "hidden":
            raise AttributeError(name)
        return object.__getattribute__(self, name)


class Bare:
    @property
    def missing(self):
        raise AttributeError("the user's own words")


@check(lambda: (X, Raising()))
def test_a_property(x, value):
    return x + value.plain


@check(lambda: (X, Raising()), breaks=1)
def test_a_property_with_a_break_inside(x, value):
    return x + value.broken


@check(lambda: (X, Described()))
def test_a_descriptor(x, value):
    return x + value.descriptor


@check(lambda: (X, Guarded()))
def test_a_getattribute(x, value):
    return x + value.hidden


@check(lambda: (X, Bare()))
def test_without_getattr_the_error_is_the_users(x, value):
    try:
        return x + value.missing
    except AttributeError as error:
        return x + 1, str(error)
