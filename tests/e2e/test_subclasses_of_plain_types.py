"""Subclasses of built-in types with special methods of their own: each is asked when CPython asks it, and once."""

from __future__ import annotations

import enum
import itertools
import math
import operator
import random
from collections import deque
from contextlib import ExitStack, contextmanager, suppress

import pytest
import torch

import framejit
from support import check, same

LOG = []


def noted(kind, *names):
    """A subclass of a built-in type that notes each call of these special methods."""

    def method(name):
        original = getattr(kind, name)

        def call(self, *args):
            LOG.append(name)
            return original(self, *args)

        return call

    return type(f"Noted{kind.__name__}", (kind,), {name: method(name) for name in names})


class Scaled(float):
    def __mul__(self, other):
        return "mul"

    def __rmul__(self, other):
        return "rmul"

    def __rtruediv__(self, other):
        return "rtruediv"


class Turned(complex):
    def __radd__(self, other):
        return "radd"


ONES = torch.ones(2)


@check(lambda: (ONES, Scaled(1.5), Turned(2)))
def test_ints_leave_operators_to_subclasses_of_float_and_complex(x, scaled, turned):
    born = Scaled(2.5), Turned(1)
    given = 2 * scaled, scaled * 2, True * scaled, 3 / scaled, 2.5 * scaled, 1 + turned, 1.5 + turned
    return x + 1, given, 2 * born[0], 3 / born[0], 1 + born[1], 2.5 + born[1], operator.mul(4, scaled)


class Odd(int):
    """An int that is another one as a float, as an index and as text."""

    def __eq__(self, other):
        LOG.append("eq")
        return int.__eq__(self, other)

    __hash__ = int.__hash__

    def __float__(self):
        LOG.append("float")
        return 99.0

    def __index__(self):
        LOG.append("index")
        return 1

    def __str__(self):
        LOG.append("str")
        return "odd"

    def __repr__(self):
        LOG.append("repr")
        return "Odd"


def uses(odd):
    LOG.clear()
    found = [odd != 2, odd == 2, math.sqrt(odd), math.hypot(odd, 1), math.pow(odd, 2), math.isqrt(odd), math.log(odd)]
    found += [f"{odd}", "%s" % odd, "%r" % odd, f"{odd!a}", "{0!s}".format(odd), repr((odd,)), "%s" % ((odd, 1),)]
    found += [[0] * odd, "abcd"[odd], (1, 2, 3)[:odd], list(range(odd)), operator.index(odd), list(itertools.islice("abc", odd))]
    return found, list(LOG)


TWO = Odd(2)


@check(lambda: (ONES, TWO))
def test_a_given_number_is_asked_at_each_call(x, odd):
    return x + 1, uses(odd)


@check()
def test_a_number_born_in_the_capture(x):
    return x + 1, uses(Odd(2))


@check(lambda: (ONES, TWO), breaks=3)
def test_functions_of_c_that_ask_a_number_break(x, odd):
    LOG.clear()
    found = complex(odd), round(2.567, odd), range(5).count(odd), random.Random(odd).random()
    return x + 1, found, list(LOG)


RANKS = {"low": 0, "high": 1}


class Level(enum.Enum):
    LOW = "low"
    HIGH = "high"

    def __lt__(self, other):
        return RANKS[self.value] < RANKS[other.value]

    def __str__(self):
        return f"{self.value}:{RANKS[self.value]}"


def ranked(x, levels):
    return x + 1, sorted(levels), "%s %s" % tuple(levels), "{}".format(levels[0]), min(levels), str((Level.LOW,))


def test_members_that_compare_by_a_table_follow_the_table():
    framejit.reset()
    levels = [Level.HIGH, Level.LOW]
    compiled = framejit.compile(ranked, backend="eager")
    with framejit.config.patch(strict=True):
        for low in (0, 5, 0, 7):
            RANKS["low"] = low
            same(ranked(torch.ones(2), levels), compiled(torch.ones(2), levels))
    RANKS["low"] = 0


class Text(str):
    def __len__(self):
        LOG.append("len")
        return 0

    def __str__(self):
        LOG.append("str")
        return "shape"


@check(lambda: (ONES, Text("ndim")))
def test_a_text_with_a_length_of_its_own(x, text):
    LOG.clear()
    return x + 1, bool(text), not Text("b"), getattr(x, text), hasattr(x, text), list(LOG)


NotedList = noted(list, "__iter__")
NotedTuple = noted(tuple, "__iter__")
NotedSet = noted(set, "__iter__")
NotedDict = noted(dict, "__iter__", "keys", "items", "values", "__len__", "__reversed__")
NotedInt = noted(int, "__hash__")
NotedDeque = noted(deque, "__iter__", "__reversed__")


def containers():
    return ONES, NotedList([1, 2]), NotedTuple((1, 2)), NotedSet([1, 2]), NotedDict({1: 2}), NotedDeque([1, 2])


@check(containers, breaks=1)
def test_iterators_of_containers_are_made_once(x, items, pair, members, table, ends):
    LOG.clear()
    iterators = [iter(one) for one in (items, pair, members, table, ends)]
    iterators += [iter(table.items()), iter(table.values()), reversed(ends), zip(items, pair), map(str, items), iter(NotedSet([5]))]
    next(iterators[0])
    framejit.graph_break()
    LOG.append("behind")
    return x + 1, [list(one) for one in iterators], list(LOG)


@check(lambda: (ONES, NotedList([1, 2])))
def test_in_asks_a_list_and_not_its_iterator(x, items):
    LOG.clear()
    return x + 1, 2 in items, 3 in items, list(LOG)


class Counting:
    def __init__(self):
        self.count = 0

    def __iter__(self):
        LOG.append("iter")
        return self

    def __next__(self):
        self.count += 1
        if self.count > 6:
            raise StopIteration
        return self.count


class Numbers:
    def __len__(self):
        LOG.append("len")
        return 3

    def __getitem__(self, place):
        LOG.append(place)
        return [1, 2, 3][place]


MAKERS = [
    lambda one: zip(one, one), lambda one: zip(one, one, strict=True), lambda one: map(str, one), enumerate, lambda one: filter(None, one),
    lambda one: itertools.chain.from_iterable(one), itertools.chain.from_iterable, lambda one: itertools.islice(one, 3), itertools.accumulate,
    itertools.pairwise, itertools.cycle, itertools.groupby, lambda one: itertools.takewhile(bool, one),
    lambda one: itertools.dropwhile(bool, one), lambda one: itertools.filterfalse(None, one), lambda one: itertools.starmap(print, one),
    lambda one: itertools.compress(one, one), lambda one: itertools.zip_longest(one, one),
]  # fmt: skip


UNREADABLE = MAKERS[5:7] + MAKERS[15:16]  # the numbers are no iterables


def behind_a_break(x, make):
    LOG.clear()
    source = Counting()
    made = make(source)
    framejit.graph_break()
    LOG.append("behind")
    return x + 1, type(made), source.count, next(made, None) if make not in UNREADABLE else None, list(LOG)


def test_iterators_over_the_iterators_of_the_program_ask_them_once():
    for make in MAKERS:
        framejit.reset()
        compiled = framejit.compile(behind_a_break, backend="eager")
        with framejit.config.patch(strict=True):
            for _ in range(2):  # the second one runs what the first one captured
                one, other = behind_a_break(torch.ones(2), make), compiled(torch.ones(2), make)
                assert one[1] is other[1] and one[4] == other[4], make
                if make is not MAKERS[11]:
                    same(one[2:4], other[2:4])


@check(breaks=1)
def test_reversed_asks_a_sequence_for_its_length_once(x):
    LOG.clear()
    backwards = reversed(Numbers())
    first = next(backwards)
    framejit.graph_break()
    LOG.append("behind")
    return x + 1, first, list(backwards), list(LOG)


@check(breaks=4)
def test_members_of_a_frozenset_are_hashed_once(x):
    LOG.clear()
    found = frozenset([NotedInt(3)])
    framejit.graph_break()
    return x + 1, len(found), list(LOG)


@contextmanager
def converting():
    try:
        yield
    except KeyError as error:
        raise ValueError("converted") from error


@check(lambda: (ONES, 3), graphs=0)
def test_a_traceback_in_a_cycle_with_what_it_shows(x, key):
    with ExitStack() as stack:
        stack.enter_context(converting())
        stack.callback(LOG.append, key)
        with suppress(ZeroDivisionError):
            key / 0
        raise KeyError(key)
    return x


ASKED: list = []


class Compared(str):
    def __eq__(self, other):
        ASKED.append("text")
        return str.__eq__(self, other)

    __hash__ = str.__hash__


class Unequal(float):
    def __eq__(self, other):
        ASKED.append("number")
        return False

    __hash__ = float.__hash__


@pytest.mark.parametrize(
    "use",
    [
        lambda s, v: {s: 1} == {"ab": 1}, lambda s, v: {"ab": 1}.get(s), lambda s, v: {s: 1}.get("ab"), lambda s, v: {s} == {"ab"},
        lambda s, v: len({s: 1, "ab": 2}), lambda s, v: v in {1.5: 2}, lambda s, v: {v} <= {1.5}, lambda s, v: 1.5 in {v},
        lambda s, v: len({v, 1.5}), lambda s, v: {1.5: 3, v: 4},
    ],
)  # fmt: skip
def test_keys_that_code_compares_and_c_code_hashes(use):
    def program(x, s, v):
        return x + 1, use(s, v), list(ASKED)

    with framejit.config.patch(strict=True):
        compiled = framejit.compile(program, backend="eager")
        found = []
        for run in (program, compiled, compiled):
            ASKED.clear()
            found.append(run(torch.ones(1), Compared("ab"), Unequal(1.5))[1:])
        assert repr(found) == repr([found[0]] * 3)


class Words(str):
    pass


class Octets(bytes):
    pass


def _shown(result, text):
    if isinstance(result, (tuple, list)):
        return [_shown(item, text) for item in result]
    return type(result).__name__, result is text, result


def _tried(text):
    mark, none = (text[:0] + "z", "") if isinstance(text, str) else (text[:0] + b"z", b"")
    calls = [
        ("partition", mark), ("rpartition", mark), ("split", mark), ("rsplit", mark), ("split",), ("splitlines",), ("replace", mark, mark), ("strip",),
        ("center", 1), ("zfill", 1), ("expandtabs",), ("lower",), ("removeprefix", mark), ("removesuffix", mark), ("__mod__", ()), ("join", [text]),
        ("translate", {} if isinstance(text, str) else None), ("__mul__", 1), ("__add__", none), ("__getitem__", slice(None)),
    ]  # fmt: skip
    calls += [("partition", text), ("rpartition", type(text)(mark)), ("split", text)]
    if isinstance(text, str):
        calls += [("format",), ("format", 1), ("format", object())]
        try:
            bytes(text)
        except TypeError as error:
            calls.append(("count", str(error)))
    found = [_shown(getattr(text, name)(*args), text) for name, *args in calls]
    return found, _shown(text % (), text), _shown(none.join([text]), text), text.strip.__self__ is text


@check(lambda: (torch.ones(2), Words("ab"), Octets(b"ab")), lambda: (torch.ones(2), Words("a b"), Octets(b"")))
def test_methods_that_give_the_text_itself(x, words, octets):
    return x + 1, [_tried(text) for text in (words, octets, Words("ab"), Words(""), Octets(b"a"), Octets(b""))]


@check(breaks=1)
def test_what_is_raised_of_a_text_names_it_plainly(x):
    words = Words("é")
    found = type(words.format_map({}))
    try:
        words.encode("ascii")
    except UnicodeEncodeError as error:
        return x + 1, str(error), found


class Count(int):
    pass


@check()
def test_errors_name_the_subclass(x):
    found = [bytes(Count(2))]
    for value in (Words("a"), Octets(b"a"), Turned(1j)):
        for attempt in (abs, round, int, float, lambda v: +v, lambda v: ~v, lambda v: sum([v], start=v)):
            try:
                found.append(attempt(value))
            except (TypeError, ValueError) as error:
                found.append(str(error))
    return x + 1, found


class Shown(str):
    def __repr__(self):
        return "shown" * 50


class ShownBytes(bytes):
    def __repr__(self):
        return "shown"


@check()
def test_errors_about_numbers_show_what_was_given(x):
    found = []
    for value in (Shown("ab"), ShownBytes(b"ab"), bytearray(b"ab"), b"ab", "ab", "1" * 5000, bytearray(b" 12 "), Shown("7")):
        for kind in (int, float):
            try:
                found.append(kind(value))
            except ValueError as error:
                found.append(str(error))
    return x + 1, found


@check()
def test_the_very_text_that_cannot_be_encoded(x):
    text, plain, found = Shown("\ud800"), "a\ud800", []
    for value in (text, plain):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            found += [error.object is value, error.args[1] is value, str(error), error.start]
    return x + 1, found, int(memoryview(b"12")), True.__getnewargs__(), Count(3).__getnewargs__()


@check(lambda: (torch.ones(2), "ab cd", 500, Words("w")))
def test_bound_methods_of_one_constant_are_equal(x, text, number, words):
    one = "ab"
    alike = one.strip == one.strip, text.upper == text.upper, number.__add__ == number.__add__, one.__len__ == one.__len__
    alike += words.strip == words.strip, words.__len__ == words.__len__, (1.5).hex == (2.5).hex, text.upper != text.upper
    return x + 1, alike, one.strip == one.lstrip, one.strip == "cd".strip, one.__len__ == one.__hash__, number.__add__(1), text.upper()


def test_bound_methods_of_two_equal_constants():
    def program(x, one, other):
        return x + 1, one.upper == other.upper, one.__len__ == other.__len__

    compiled = framejit.compile(program, backend="eager")
    one, other = "".join(["a", "b"]), "".join(["a", "b"])
    for pair in ((one, one), (one, other), (other, other)):
        same(compiled(ONES, *pair), program(ONES, *pair))
