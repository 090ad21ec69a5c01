"""Calls with wrong arguments raise CPython's own errors."""

from __future__ import annotations

from support import check


def two(a, b):
    return a


def optional(a, b=1, *, c, d=2):
    return a


def only(a, b, /, c):
    return a


def three(a, b, c):
    return a


class Entered:
    def __enter__(self):
        return self


class Method:
    def named(self, **kwargs):
        return kwargs

    def __call__(self, **kwargs):
        return kwargs

    def __repr__(self):
        return "a method"


class Keyless:
    def keys(self):
        raise AttributeError("of its own")


class Late:
    """Is asked for no value of a key that is there already."""

    def keys(self):
        return ["a"]

    def __getitem__(self, key):
        raise ValueError(key)


def attempt(function):
    try:
        return function()
    except TypeError as error:
        return str(error), type(error.__context__)


def enter(manager):
    with manager:
        return 1


@check()
def test_messages(x):
    return x + 1, [
        attempt(lambda: two()), attempt(lambda: two(1)), attempt(lambda: two(1, 2, 3)), attempt(lambda: two(1, 2, b=3)),
        attempt(lambda: two(1, c=3)), attempt(lambda: optional(1, 2, 3)), attempt(lambda: optional(1, 2, 3, c=4)),
        attempt(lambda: optional(1)), attempt(lambda: only(1, b=2, c=3)), attempt(lambda: three()), attempt(lambda: (lambda: 1)(2)),
        attempt(lambda: enter(Entered())), attempt(lambda: enter(3)), attempt(lambda: optional(1, 2, 3, 4, c=4, d=5)),
    ]  # fmt: skip


@check()
def test_messages_about_what_is_unpacked(x):
    both, method = {"a": 1}, Method()
    return x + 1, [
        attempt(lambda: three(a=1, **both)), attempt(lambda: (lambda **names: names)(**both, **both)), attempt(lambda: Method(a=1, **both)),
        attempt(lambda: method.named(a=1, **both)), attempt(lambda: method(a=1, **both)), attempt(lambda: len(a=1, **both)),
        attempt(lambda: [].append(a=1, **both)), attempt(lambda: dict(a=1, **both)), attempt(lambda: dict(a=1, **Late())),
        attempt(lambda: three(**5)), attempt(lambda: three(**Keyless())), attempt(lambda: three(**{5: 1})), attempt(lambda: {**5}),
        attempt(lambda: {**Keyless()}), attempt(lambda: {}.update(5)), attempt(lambda: three(*5)), attempt(lambda: method(*5, **both)),
    ]  # fmt: skip
