"""Special methods of callables, of `object` and of `type`, called by name."""

from __future__ import annotations

import functools
import operator
import types

import pytest
import torch

import framejit
from support import Counter, check


class Holder:
    def method(self, k=3):
        """What a method says of itself."""
        return k

    def __call__(self, k=1):
        return k

    @classmethod
    def of_class(cls, k=5):
        return k


class Equal:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        found = super().__eq__(other)
        return found if isinstance(found, bool) else isinstance(other, Equal) and other.n == self.n

    def __ne__(self, other):
        return super().__ne__(other)

    def __lt__(self, other):
        return super().__lt__(other)

    def __format__(self, spec):
        return super().__format__(spec)

    def __str__(self):
        return "Equal"


class Counted(functools.partial):
    def __call__(self, *args):
        return super().__call__(*args) + 1


class Checked(type):
    def __instancecheck__(cls, value):
        return super().__instancecheck__(value) or value == 5

    def __subclasscheck__(cls, other):
        return super().__subclasscheck__(other) or other is int

    def __repr__(cls):
        return super().__repr__().upper()

    def __or__(cls, other):
        return [super().__or__(other)]


class Kind(metaclass=Checked):
    pass


@functools.lru_cache
def cached(a):
    return a


def plain(a):
    return a


def tried(function):
    try:
        return function()
    except (AttributeError, TypeError) as error:
        return str(error)


ASKED = [
    lambda m: m.__class__ is types.MethodType, lambda m: m.__doc__, lambda m: m.__name__, lambda m: m.__qualname__, lambda m: m.__dict__,
    lambda m: m.__call__(), lambda m: m.__call__(7), lambda m: m.__call__.__call__(8), lambda m: m.__eq__(m), lambda m: m.__ne__(m),
    lambda m: m.__eq__(3), lambda m: m.__get__(1) == m, lambda m: dir(m) == dir(m.__func__), lambda m: hasattr(m, "__code__"),
    lambda m: m.__code__.co_name, lambda m: m.__defaults__, lambda m: tried(lambda: m.missing), lambda m: m.__func__(m.__self__, 4),
    lambda m: types.MethodType.__call__(m, 2), lambda m: tried(lambda: types.MethodType.__call__(m, 2, 3)), lambda m: m.__lt__.__name__,
]  # fmt: skip


def ask(x, make, asked):
    return x + 1, asked(make())


def ask_given(x, method, asked):
    return x + 1, asked(method)


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("make", [lambda: Holder().method, lambda: Holder().__call__, lambda: Holder.of_class])
def test_of_methods(make, asked):
    framejit.reset()
    for function, arguments in ((ask, (make, asked)), (ask_given, (make(), asked))):
        counter = Counter()
        compiled = framejit.compile(function, backend=counter)
        for n in range(2):
            x = torch.full((2,), float(n))
            expected, found = function(x, *arguments), compiled(x, *arguments)
            assert torch.equal(found[0], expected[0])
            assert found[1] == expected[1] and type(found[1]) is type(expected[1])
        assert counter.graphs == 1


@check()
def test_callables_of_c(x):
    static = vars(types.SimpleNamespace(f=staticmethod(plain)))["f"]
    return (
        x + 1, plain.__call__(3), plain.__call__.__call__(3), len.__call__([1]), int.__add__.__call__(1, 2), (3).__add__.__call__(4),
        functools.partial(plain, 3).__call__(), cached.__call__(3), operator.itemgetter(0).__call__([4]), [].append.__call__(3),
        operator.attrgetter("real").__call__(3), operator.methodcaller("upper").__call__("a"), type(plain).__call__(plain, 4),
        Counted(int, "3")(), Counted(plain)(4), torch.add.__call__(x, 1), x.sum.__call__(), plain.__eq__(plain), plain.__ne__(3),
        len.__eq__(len), len.__ne__(len), hash(plain) == plain.__hash__(), tried(lambda: plain.__call__()), static.__func__(2),
        tried(lambda: types.FunctionType.__call__(3)), tried(lambda: types.MethodType.__call__(plain, 3)),
    )  # fmt: skip


@check()
def test_of_object(x):
    a, b, c = Equal(1), Equal(1), Equal(2)
    return (
        x + 1, a == b, a != b, a == c, a != c, a == a, a != a, a.__lt__(b), a == 3, f"{a}", tried(lambda: format(a, "x")),
        object.__eq__(a, b), object.__eq__(a, a), object.__ne__(a, b), object.__ge__(a, a), tried(lambda: a < b), tried(lambda: object.__eq__(a)),
    )  # fmt: skip


@check()
def test_of_type(x):
    return (
        x + 1, isinstance(5, Kind), isinstance(6, Kind), isinstance(Kind(), Kind), issubclass(int, Kind), issubclass(str, Kind), repr(Kind),
        type.__or__(int, str), (Kind | int)[0] == type.__or__(Kind, int), type.__instancecheck__(int, True), type.__eq__(int, int),
    )  # fmt: skip


@check()
def test_names_of_a_namespace(x):
    made = types.SimpleNamespace(a=1)
    return x + 1, dir(types.SimpleNamespace(zz=1))[-1], getattr(made, "__dict__", 5), made.__dir__()[0], hasattr(made, "__dict__")


class Renamed:
    pass


class Shouted(metaclass=Checked):
    pass


def shown(x):
    return x + 1, repr(Renamed), f"{Renamed}", str([Renamed]), repr(Shouted)


def test_a_class_is_shown_by_the_name_that_it_has_now():
    framejit.reset()
    compiled = framejit.compile(shown, backend=Counter())
    for name in ("Renamed", "__qualname__", "__module__"):
        for cls in (Renamed, Shouted):
            if name != "Renamed":
                setattr(cls, name, "Other")
        for _ in range(2):
            assert compiled(torch.ones(1))[1:] == shown(torch.ones(1))[1:]


@check()
def test_what_cannot_be_called_is_bound_all_the_same(x):
    bound, other = classmethod(1).__get__(None, int), classmethod("a").__get__(3)
    try:
        bound()
    except TypeError as error:
        text = str(error)
    return x + 1, bound.__func__, bound.__self__, other.__func__, other.__self__, text, bound
