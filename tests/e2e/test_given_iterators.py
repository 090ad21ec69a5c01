"""Iterators that are given to the captured function: advanced exactly as far as in eager, without a break."""

from __future__ import annotations

import copy
import itertools
import operator
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import framejit
import given_uses
from given_uses import compared
from support import check, recorded, same


class Doubles:
    def __getitem__(self, index: int) -> int:
        if index > 3:
            raise IndexError
        return index * 2


KINDS: dict[str, Callable[[], Iterator[Any]]] = {
    "list": lambda: iter([1, 2, 3, 4, 5]),
    "tuple": lambda: iter((1, 2.5, "c")),
    "range": lambda: iter(range(3, 12, 4)),
    "long range": lambda: iter(range(1 << 70, (1 << 70) + 4)),
    "str": lambda: iter("abc"),
    "wide str": lambda: iter("āēī"),
    "bytes": lambda: iter(b"abc"),
    "sequence": lambda: iter(Doubles()),
    "reversed list": lambda: reversed([1, 2, 3]),
    "reversed tuple": lambda: reversed((1, 2, 3)),
    "reversed str": lambda: reversed("abc"),
    "until": lambda: iter([3, 2, 1, 0].pop, 2),
    "dict": lambda: iter({"a": 2, "b": 4, 5: 6}),
    "items": lambda: iter({"a": 2, "b": 4}.items()),
    "values": lambda: iter({"a": 2, "b": 4}.values()),
    "reversed dict": lambda: reversed({"a": 2, "b": 4, "c": 8}),
    "set": lambda: iter({1, 2, 9, 77}),
    "frozenset": lambda: iter(frozenset({1, 2, 9, 77})),
    "enumerate": lambda: enumerate([1, 2, 4]),
    "enumerate of an iterator": lambda: enumerate(iter("abcd"), 5),
    "zip": lambda: zip([1, 2], "abc"),
    "strict zip": lambda: zip([1, 2], [3, 4], strict=True),
    "uneven strict zip": lambda: zip([1, 2], [3, 4, 5], strict=True),
    "map": lambda: map(abs, [1, -2, 3]),
    "map of a lambda": lambda: map(lambda a, b: a * b, [1, 2, 3], (4, 5, 6)),
    "filter": lambda: filter(None, [0, 1, 2, 0, 3]),
    "islice": lambda: itertools.islice(itertools.count(), 3),
    "islice with a step": lambda: itertools.islice(itertools.count(3, 5), 1, 9, 3),
    "count": lambda: itertools.count(10, -3),
    "repeat": lambda: itertools.repeat("r", 4),
    "chain": lambda: itertools.chain([1], (2,), "cd"),
    "chain of an iterable": lambda: itertools.chain.from_iterable(["ab", "", "cd"]),
    "accumulate": lambda: itertools.accumulate([1, 2, 3]),
    "accumulate a function": lambda: itertools.accumulate([1, 2, 3], operator.mul),
    "takewhile": lambda: itertools.takewhile(lambda x: x < 3, [1, 2, 3, 4]),
    "dropwhile": lambda: itertools.dropwhile(lambda x: x < 2, [1, 2, 3, 4]),
    "filterfalse": lambda: itertools.filterfalse(lambda x: x % 2, range(6)),
    "starmap": lambda: itertools.starmap(operator.add, [(1, 2), (3, 4)]),
    "compress": lambda: itertools.compress("abcd", [1, 0, 1, 1]),
    "permutations": lambda: itertools.permutations([1, 2, 3], 2),
    "combinations": lambda: itertools.combinations("abc", 2),
    "nested": lambda: enumerate(zip(map(abs, iter([-1, -2, -3])), itertools.islice(iter("abcd"), 3)), 7),
    "pairwise": lambda: itertools.pairwise([1, 2, 3]),
    "cycle": lambda: itertools.cycle([1, 2]),
    "cycle of a cycle": lambda: itertools.cycle(itertools.islice(itertools.cycle("ab"), 3)),
    "empty cycle": lambda: itertools.cycle([]),
    "zip_longest": lambda: itertools.zip_longest("abc", [1]),
    "zip_longest of three": lambda: itertools.zip_longest([1], "abc", [], fillvalue="-"),
    "product": lambda: itertools.product("ab", [1, 2]),
    "empty product": lambda: itertools.product("ab", []),
    "combinations with replacement": lambda: itertools.combinations_with_replacement("ab", 2),
    "initial": lambda: itertools.accumulate([1, 2, 3], max, initial=2),
    "total None": lambda: itertools.accumulate([1, 2, 3], lambda total, item: None),
    "groupby": lambda: itertools.groupby("aabbc"),
    "groupby with a key": lambda: itertools.groupby([1, 2, 10, 3], lambda x: x > 5),
    "deque": lambda: iter(deque([1, 2, 3])),
    "reversed deque": lambda: reversed(deque([1, 2, 3])),
    "OrderedDict": lambda: iter(OrderedDict(a=1, b=2)),
    "items of an OrderedDict": lambda: iter(OrderedDict(a=1, b=2).items()),
    "reversed values of an OrderedDict": lambda: reversed(OrderedDict(a=1, b=2).values()),
    "tee": lambda: itertools.tee([1, 2, 3])[0],
    "tee of an iterator": lambda: itertools.tee(map(abs, [1, -2, 3]))[1],
    "tee that was copied": lambda: itertools.tee(itertools.tee("abc")[1])[1],
}


def unpacked(x, it):
    a, b, *_ = itertools.islice(it, 4)
    return a, b, x + 1


USES = (*given_uses.USES, unpacked)


@pytest.mark.parametrize("kind", KINDS)
def test_advanced_without_a_break(kind):
    compared(KINDS[kind], USES)


def tees(ahead):
    first, second, third = itertools.tee([torch.full((2,), number) for number in range(5)], 3)
    for _ in range(ahead):
        next(first)
    return torch.ones(2), (first, second), third


def share(x, pair, other):
    first, second = pair
    x = x + next(first, 1) * 2 + next(second)
    late = itertools.tee(second, 2)
    return x, next(first, None), [*late[1]], second is late[0], late[1]


test_tees_share_what_they_read = check(lambda: tees(0), calls=3, breaks=0, graphs=1)(share)
test_tees_that_have_read = check(lambda: tees(2), calls=3, breaks=0, graphs=1)(share)
test_tees_of_what_has_ended = check(lambda: tees(5), calls=3, breaks=0, graphs=1)(share)


@check(lambda: (torch.ones(2), itertools.tee(range(100))), calls=1, breaks=1)
def test_a_tee_with_many_items(x, pair):
    first, second = pair
    for _ in range(60):
        x = x + next(first)
    return x, next(second)


# -- what the iterator goes through changes in the region ---------------------------------------------------------------


def _over(make):
    def variant():
        source = make()
        return torch.arange(3.0), source, iter(source)

    return variant


@check(_over(lambda: [1, 2, 3]), _over(lambda: [1]), _over(list))
def test_list_that_grows(x, source, it):
    a = next(it, None)
    source.append(7)
    b = next(it, None)
    return a, b, x + 1


@check(_over(lambda: [1, 2, 3, 4]))
def test_list_that_shrinks_under_the_iterator_and_grows_again(x, source, it):
    next(it)
    next(it)
    next(it)
    del source[1:]
    x = x + 1
    source.extend("abcdefg")
    return x


@check(_over(lambda: [1, 2, 3, 4]))
def test_list_that_is_emptied(x, source, it):
    next(it)
    source.clear()
    return next(it, "end"), x + 1


@check(_over(lambda: {"a": 1, "b": 2}))
def test_dict_whose_values_change(x, source, it):
    a = next(it)
    source[a] = 5
    return a, next(it), source, x + 1


@check(_over(lambda: {"a": 1, "b": 2}))
def test_dict_that_grows_behind_the_last_step(x, source, it):
    a = next(it)
    source["c"] = 5
    return a, x + 1


@check(_over(lambda: {"a": 1, "b": 2}), breaks=1)
def test_dict_that_grows_under_the_iterator(x, source, it):
    a = next(it)
    source["c"] = x + 1
    try:
        return a, next(it)
    except RuntimeError as error:
        return str(error), x * 2, list(source)


@check(_over(lambda: {1, 2, 3}), breaks=1)
def test_set_that_grows_under_the_iterator(x, source, it):
    a = next(it)
    source.add(x.dim() + 9)
    x = x * 2
    try:
        return a, next(it)
    except RuntimeError as error:
        return str(error), x * 2, source


@check(_over(lambda: {"a": 1, "b": 2}), _over(lambda: {1, 2, 3}), breaks=1)
def test_container_that_grows_before_the_iterator_is_asked(x, source, it):
    x = x * 2
    source.update({"c": 5})
    try:
        return next(it), x
    except RuntimeError as error:
        return str(error), x * 2, list(map(str, source)) if isinstance(source, dict) else len(source)


@check(lambda: (torch.ones(2), {"a": 1, "b": 2}), breaks=2)
def test_dict_that_grows_in_a_loop_with_a_break(x, source):
    try:
        for name in source:
            print(end="")
            source[name + "x"] = x + 1
    except RuntimeError as error:
        return str(error), list(source), x * 2


# -- who else holds it ----------------------------------------------------------------------------------------------------


@check(lambda: (torch.ones(2), *[iter([1, 2, 3])] * 2), lambda: (torch.ones(2), iter([1, 2, 3]), iter([1, 2, 3])), graphs=2, breaks=0)
def test_one_iterator_or_two(x, one, other):
    return next(one), next(other), next(one), x + 1


class Source:
    def __init__(self, *items):
        self.it = iter(items)


@check(lambda: (torch.ones(2), Source(1, 2, 3)))
def test_iterator_in_an_attribute(x, source):
    return next(source.it), [value * 2 for value in source.it], x + 1


@check(lambda: (torch.ones(2), iter([1, 2, 3, 4])))
def test_iterator_advanced_through_what_is_made_of_it(x, it):
    pairs = list(zip(it, it))
    return pairs, x + 1


@check(lambda: (torch.ones(2), iter([1, 2, 3, 4])))
def test_iterator_given_back_in_something_that_goes_on(x, it):
    numbered = enumerate(it)
    next(numbered)
    return next(numbered), [numbered], x + 1


@check(lambda: (torch.ones(2), iter([1, 2, 3])))
def test_copies_and_states(x, it):
    next(it)
    copied = copy.copy(it)
    return list(copied), it.__reduce__()[2], operator.length_hint(it), x + 1


@check(lambda: (torch.ones(2), iter([1, 2, 3, 4])))
def test_setstate(x, it):
    it.__setstate__(2)
    return next(it), x + 1


@check(lambda: (torch.ones(2), iter([1, 2, 3])), breaks=1)
def test_break_between_two_steps(x, it):
    a = next(it)
    x = x + 1
    print(end="")
    return a, next(it), x * 2


@check(lambda: (torch.ones(2), iter([1, 2, 3])))
def test_error_behind_a_step(x, it):
    next(it)
    x.add_(1)
    raise ValueError(next(it))


@check(lambda: (torch.ones(2), torch.ones(3), iter([1, 2, 3])), breaks=1)
def test_error_of_an_operator_behind_a_step(x, y, it):
    next(it)
    try:
        return x + y
    except RuntimeError:
        return next(it), x + 1


# -- places that change from call to call ---------------------------------------------------------------------------------


def captures(function: Callable[..., Any], calls: int, *args: Any) -> tuple[list[Any], int, int]:
    framejit.reset()
    ends, breaks = recorded(framejit.events.CaptureEnd), recorded(framejit.events.Break)
    with ends as ended, breaks as broken, framejit.config.patch(strict=True):
        compiled = framejit.compile(function, backend="eager")
        return [compiled(*args) for _ in range(calls)], len(ended), len(broken)


def plus_next(x, it):
    return x + next(it)


@pytest.mark.parametrize(
    "make",
    [
        lambda: iter(range(5, 100, 2)),
        lambda: iter([torch.full((2,), float(i)) for i in range(50)]),
        lambda: iter(list(range(50))),
        lambda: iter(tuple(range(50))),
        lambda: map(abs, list(range(0, -50, -1))),
        lambda: itertools.count(3),
    ],
    ids=["range", "tensors", "ints", "tuple", "map", "count"],
)
def test_one_step_per_call_is_captured_once_for_all_places(make):
    values, regions, breaks = captures(plus_next, 20, torch.zeros(2), make())
    it = make()
    same(values, [plus_next(torch.zeros(2), it) for _ in range(20)])
    assert regions <= 3 and breaks == 0


def test_the_end_of_an_iterator_whose_place_changes():
    def step(x, it):
        return x + next(it, -1)

    values, _, breaks = captures(step, 8, torch.zeros(2), iter([1, 2, 3, 4, 5]))
    assert [value[0].item() for value in values] == [1, 2, 3, 4, 5, -1, -1, -1] and breaks == 0


def printing(x, items):
    for place, value in enumerate(items):
        x = x + value * place
        print(end="")
    return x


@pytest.mark.parametrize("items", [range(30), [torch.ones(2)] * 30, [float(i) for i in range(30)]], ids=["range", "tensors", "floats"])
def test_a_loop_that_prints_is_one_region_for_all_its_turns(items):
    values, regions, breaks = captures(printing, 1, torch.zeros(2), items)
    same(values[0], printing(torch.zeros(2), items))
    assert regions <= 5 and breaks <= 4


def printing_once(x, items):
    for value in items:
        x = x + value
        if value == 7:
            print(end="")
    return x


def test_a_loop_with_one_break_is_two_regions():
    values, regions, breaks = captures(printing_once, 1, torch.zeros(2), range(30))
    same(values[0], printing_once(torch.zeros(2), range(30)))
    assert (regions, breaks) == (2, 1)
