"""Loops in C over things that change, end or call back while they run."""

import itertools
import math
from collections import deque

import torch

import framejit
from support import check


def said(action, *args, **kwargs):
    try:
        return action(*args, **kwargs)
    except Exception as error:
        return type(error).__name__, str(error)


def keys_that_come_back(view):
    table = {0: 0, 1: 1, 2: 2}
    met = []
    for item in getattr(table, view)():
        met.append(item)
        if len(met) == 1:
            del table[0]
            table[0] = 5
    return met


def the_only_key_comes_back():
    table = {0: 0}
    for key in table:
        del table[key]
        table[key] = 1


def unmet_keys_come_back():
    table, met = {0: 0, 1: 1, 2: 2}, []
    for key in table:
        met.append(key)
        if not key:
            table[1] = table.pop(1)
    return met


def values_change():
    table, met = {0: 0, 1: 1}, []
    for key, value in table.items():
        table[1] = 7
        met.append(value)
    return met


@check()
def test_dicts_that_change_while_they_are_iterated(x):
    seen = [said(keys_that_come_back, view) for view in ("keys", "values", "items")]
    return x + 1, seen, said(the_only_key_comes_back), unmet_keys_come_back(), values_change()


class Reenters:
    def __init__(self, count):
        self.count, self.outer = count, None

    def __iter__(self):
        return self

    def __next__(self):
        self.count -= 1
        if self.count == 2:
            return said(next, self.outer)
        if self.count < 0:
            raise StopIteration
        return self.count


@check()
def test_iterators_that_are_entered_again(x):
    source = Reenters(5)
    pairs = source.outer = itertools.pairwise(source)
    again = Reenters(4)
    again.outer, other = itertools.tee(again)
    return x + 1, list(pairs), next(pairs, None), list(again.outer), list(other)


class Truncates:
    def __trunc__(self):
        return 3


class Whole:
    def __int__(self):
        return "3"

    def __float__(self):
        return 1j

    def __index__(self):
        return 2.0


@check()
def test_numbers_refused(x):
    seen = [said(int, Whole()), said(float, Whole()), said(itertools.count, "a"), said(itertools.count, 1, "b")]
    seen += [said(itertools.accumulate, range(3), 5, 6), said(math.trunc, "a"), said(math.prod), said(math.prod, [1], 2)]
    return x + 1, seen


class Power(int):
    def __pow__(self, other, modulus=None):
        return (int(self), int(other), modulus and int(modulus))


@check()
def test_pow_of_user_classes(x):
    return x + 1, pow(Power(2), Power(3)), pow(Power(2), Power(3), Power(5)), pow(2, 3, 5)


class Shows:
    def __init__(self):
        self.holder = None

    def __repr__(self):
        return repr(self.holder)


@check()
def test_reprs_of_containers_in_themselves(x):
    shows = Shows()
    shows.holder = frozenset([shows])
    other = Shows()
    other.holder = {other}
    third = Shows()
    third.holder = deque([third])
    return x + 1, repr(shows.holder), repr(other.holder), repr(third.holder)


@check()
def test_lists_that_change_while_they_are_sorted(x):
    def mutates(a):
        items.append(0)
        items.pop()
        return a

    def looks(a):
        lengths.append(len(items))
        return -a

    def fails(a):
        if a == 2:
            raise KeyError(a)
        return a

    class Refuses(int):
        def __lt__(self, other):
            if int(self) == 3:
                raise KeyError("lt")
            return int(self) < int(other)

    items, lengths = [3, 1, 2], []
    seen = [said(items.sort, key=mutates), list(items), said(items.sort, key=looks), list(items), lengths]
    seen += [said(items.sort, key=fails), list(items)]
    refusing = [Refuses(number) for number in (5, 4, 9, 1, 3, 2)]
    return x + 1, seen, said(refusing.sort), [int(number) for number in refusing]


@check()
def test_groups_that_outlive_the_region(x):
    groups = itertools.groupby([1, 1, 2, 3, 3])
    key, group = next(groups)
    first = next(group)
    return x + first, key, list(group), [(name, list(part)) for name, part in groups]


class Queue(deque):
    pass


def test_deques_that_outlive_the_region():
    def program(x):
        own = Queue([1, 2, 3], 2)
        own.append(4)
        plain = deque([1], 3)
        plain.append(plain)
        own.name = plain
        return x + 1, own, plain

    _, own, plain = framejit.compile(program, backend="eager")(torch.ones(2))
    assert list(own) == [3, 4] and own.maxlen == 2 and plain[1] is plain and plain.maxlen == 3 and own.name is plain


@check(*[(lambda n=n: (torch.ones(2), n)) for n in range(1, 4)], graphs=3, breaks=0)
def test_parts_of_complex_numbers_that_change(x, n):
    value = complex(1, 2) + n
    return x + value.real, value.imag, (n > 2).real, n.real


class Wrong:
    def __index__(self):
        return None


class Bytes:
    def __init__(self, value):
        self.value = value

    def __bytes__(self):
        return self.value


class Two:
    def __index__(self):
        return 2


@check()
def test_bytes_of_objects(x):
    return x + 1, bytes(Bytes(b"ab")), said(bytes, Bytes("ab")), bytes(Two()), bytes([1, 2]), said(bytes, Wrong())


@check()
def test_indices_of_a_wrong_type(x):
    return x + 1, said(lambda: [1][Wrong()]), said(lambda: [1][Wrong() :]), said(lambda: (1,) * Wrong()), said(range, Wrong())


class Counting(deque):
    def __init__(self, items=(), maxlen=None):
        super().__init__(items, maxlen)
        self.made = 1


class Lying(deque):
    def __new__(cls, *args):
        return [42] if args else super().__new__(cls)


@check()
def test_copies_of_deques_of_a_subclass(x):
    first = Counting([1, 2], 3)
    made = [first + deque([3, 4]), first * 2, 2 * first, first.copy()]
    seen = [(type(one).__name__, one.made, one.maxlen, list(one)) for one in made]
    return x + 1, seen, said(lambda: Lying() + deque()), said(lambda: Lying() * 2)


class Text(str):
    pass


class Gives:
    def __str__(self):
        return Text("abc")


@check()
def test_text_within_text(x):
    return x + 1, Text(Gives()) == "abc", type(Text(Gives())).__name__, type(str(Gives())).__name__, len(Text(Gives()))
