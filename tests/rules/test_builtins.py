"""Built-in functions and numbers: eager against symbolic."""

from __future__ import annotations

import pytest

from symbolic import check, outcome


class Money:
    def __init__(self, cents):
        self.cents = cents

    def __add__(self, other):
        return Money(self.cents + (other.cents if isinstance(other, Money) else other))

    __radd__ = __add__

    def __lt__(self, other):
        return self.cents < other.cents

    def __gt__(self, other):
        return self.cents > other.cents

    def __abs__(self):
        return abs(self.cents)

    def __round__(self, digits=0):
        return ("rounded", digits)

    def __int__(self):
        return self.cents

    def __float__(self):
        return self.cents / 100

    def __index__(self):
        return self.cents

    def __bool__(self):
        return self.cents > 0

    def __len__(self):
        return 3

    def __repr__(self):
        return f"Money({self.cents})"

    def __format__(self, spec):
        return f"<{spec}>"

    def __divmod__(self, other):
        return "divmod", other

    @property
    def broken(self):
        raise AttributeError("inner")

    def __call__(self, x):
        return x + 1


def numbers(a, b):
    return (
        a + b, a - b, a * b, a / b, a // b, a % b, a**2, -a, +a, ~a, a << 2, a >> 1, a & 3, a | 8, a ^ 5, a < b, a == b, a != b, abs(-a),
        divmod(a, b), round(2.5), round(2.567, 1), pow(a, 3, 5), int("12"), int("ff", 16), int(3.9), float("1.5"), float(a), complex(1, 2) * 2,
        bool(a), bool(0.0), True + 1, not a, hash(a), (a).bit_length(), (2.5).is_integer(), (1.5).hex(), (5).to_bytes(2, "big"), (3).real,
        int.from_bytes(b"\x01\x00", "big"), 1e308 * 10, 0.1 + 0.2, max(a, b), min([a, b]), 3 > 2 > 1, a.__add__(1), int.__mul__(2, 3), (1).__add__("x"),
        1j.imag, float.fromhex("0x1p3"), 7 // -2, -7 % 3, 2**-1, (-8) ** (1 / 3),
    )  # fmt: skip


def number_errors(a):
    return (
        outcome(lambda: a / 0), outcome(lambda: a % 0), outcome(lambda: a + "x"), outcome(lambda: int("x")), outcome(lambda: float("x")),
        outcome(lambda: 1 << -1), outcome(lambda: a < "x"), outcome(lambda: a()), outcome(lambda: a[0]), outcome(lambda: -"x"), outcome(lambda: int([])),
        outcome(lambda: len(a)), outcome(lambda: abs("x")), outcome(lambda: chr(-1)), outcome(lambda: ord("ab")), outcome(lambda: 0**-1),
        outcome(lambda: a.nope), outcome(lambda: 5 in a), outcome(lambda: round("x")), outcome(lambda: sum(5)), outcome(lambda: max()), outcome(lambda: max([])),
        outcome(lambda: min(())), outcome(lambda: sum(["a"], "b")), outcome(lambda: divmod(1, "x")), outcome(lambda: pow("a", 2)), outcome(lambda: float([])),
    )  # fmt: skip


def reductions(a):
    return (
        sum(a), sum(a, 10), sum([0.1] * 10), sum([[1], [2]], []), min(a), max(a), min(a, key=lambda v: -v), max("b", "c", "a"), max([], default=3),
        any(a), all(a), any([]), all([]), sorted(a, reverse=True), any(x > 2 for x in a), sum(x for x in a), max(((1, "b"), (1, "a"))), min({3: 1, 2: 2}),
    )  # fmt: skip


def user_types(m):
    n = Money(250)
    return (
        sum([m, n]).cents, min(m, n).cents, max([m, n], key=int).cents, abs(n), round(n), round(n, 2), int(n), float(n), [10, 20, 30][Money(1)], bool(Money(0)),
        len(n), repr(n), str(n), f"{n:x}", f"{n}", f"{n!r}", format(n, "q"), divmod(n, 3), sorted([n, m])[0].cents, "%s" % n, "{}".format(n), n(1), callable(n),
        [n, m], "%s and %r" % (n, m), range(Money(3)), str([n, {"k": n}]), callable(5), callable(len), bin(3), hex(255), hash("a") == hash("a"), ascii("é"),
    )  # fmt: skip


def attributes(m):
    setattr(m, "extra", 5)
    found = (
        getattr(m, "extra"),
        getattr(m, "nope", "default"),
        hasattr(m, "cents"),
        hasattr(m, "nope"),
        hasattr(m, "broken"),
        vars(m)["cents"],
    )
    delattr(m, "extra")
    return (
        found,
        hasattr(m, "extra"),
        type(m),
        type(m) is Money,
        type(5),
        isinstance(m, (int, Money)),
        issubclass(bool, int),
        outcome(lambda: m.nope),
        vars(m),
    )


def conversions(a):
    return (
        list("ab"), tuple([1]), set([1, 1]), frozenset((2,)), dict(a=1), list({"x": 1}), bytes([65, 66]), bytes(2), str(b"ab", "ascii"), str(None), str(1.0),
        repr("a'b"), list(range(3)), [*a, *a], {**{"p": 1}}, tuple(), list(), dict([(1, 2)]), bool([]), bool({}), int(True), str([1, "a", None]), str({"k": (1,)}),
        list(reversed("abc")), list(enumerate("ab", 1)), slice(1, 2), slice(3), [1, 2, 3][slice(1, None)], list(filter(lambda v: v > 1, a)), list(map(lambda x, y: x + y, a, a)),
        id(a) == id(a), dict.fromkeys([1, 2]), str.maketrans("a", "b"), next(iter(a)), next(iter([]), None), complex("1+2j"), divmod(7.5, 2),
    )  # fmt: skip


def truths(a):
    return (
        [bool(x) for x in (None, 0, 1, "", "a", [], [0], {}, {1: 1}, (), (0,), 0.0, 1j, set(), range(0), range(1), b"")],
        [1 if a else 2],
        not a,
        a or 3,
        a and 4,
    )


PROGRAMS = [
    (numbers, 7, 3), (number_errors, 3), (reductions, [3, 1, 2]), (user_types, Money(100)), (attributes, Money(5)), (conversions, [1, 2]), (truths, [1]),
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0].__name__)
def test_builtins(program):
    check(*program)
