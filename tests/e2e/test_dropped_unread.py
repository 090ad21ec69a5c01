"""What a region drops from objects that are there before it, without having looked at it: in a later call it may have a finalizer."""

import collections
import weakref

import pytest
import torch

import framejit
from support import Counter


class Ends:
    def __init__(self, log, name):
        self.log, self.name = log, name

    def __del__(self):
        self.log.append(self.name)


class Box:
    pass


class Slotted:
    __slots__ = ("one", "two")


def closing(log):
    try:
        yield 1
    finally:
        log.append("closed")


def in_box(box, *values):
    box.one, box.two = values
    return box


def pops_list(x, log, b):
    log.append("start")
    first = b.pop()
    log.append("popped")
    first = len(b)
    log.append(first)
    return x + 1


def sets_item(x, log, b):
    log.append("start")
    b[0] = 1
    log.append("set")
    return x + 1


def clears(x, log, b):
    log.append("start")
    b.clear()
    log.append("cleared")
    return x + 1


def deletes_slice(x, log, b):
    log.append("start")
    pair = (b[0], b[1])
    del b[:]
    log.append("deleted")
    pair = None
    log.append(pair)
    return x + 1


def pops_dict(x, log, b):
    log.append("start")
    b.pop("one")
    log.append("popped")
    del b["two"]
    log.append("deleted")
    return x + 1


def sets_key(x, log, b):
    log.append("start")
    b["one"] = 1
    log.append("set")
    return x + 1


def sets_attributes(x, log, b):
    log.append("start")
    b.one = 1
    log.append("set")
    del b.two
    log.append("deleted")
    return x + 1


def sets_what_holds_another(x, log, b):
    log.append("start")
    b.one.two = 1
    b.one = None
    log.append("set")
    return x + 1


def pops_deque(x, log, b):
    log.append("start")
    b.popleft()
    log.append("popped")
    return x + 1


HOLDERS = {
    pops_list: lambda one, two: [one, two],
    sets_item: lambda one, two: [one, two],
    clears: lambda one, two: [one, two],
    deletes_slice: lambda one, two: [one, two],
    pops_dict: lambda one, two: {"one": one, "two": two},
    sets_key: lambda one, two: {"one": one, "two": two},
    sets_attributes: lambda one, two: in_box(Box(), one, two),
    sets_what_holds_another: lambda one, two: in_box(Box(), in_box(Box(), one, 1), two),
    pops_deque: lambda one, two: collections.deque((one, two)),
}
PAIRS = (
    lambda log: (1, 2),
    lambda log: (Box(), 2.5),
    lambda log: (Ends(log, "one"), Ends(log, "two")),
    lambda log: (3, 4),
    lambda log: ([Ends(log, "in a list")], (Ends(log, "in a tuple"),)),
    lambda log: (in_box(Box(), Ends(log, "in a box"), 1), 3),
)


def told(call, make, pair):
    log = []
    given = [make(*pair(log))]
    result = call(torch.ones(2), log, given[0])
    log.append("behind")
    given.clear()
    return result.tolist(), log


@pytest.mark.parametrize("function", HOLDERS, ids=lambda function: function.__name__)
def test_it_ends_where_eager_ends_it(function):
    framejit.reset()
    counter = Counter()
    with framejit.config.patch(strict=True):
        compiled = framejit.compile(function, backend=counter)
        make = HOLDERS[function]
        assert told(compiled, make, PAIRS[0]) == told(function, make, PAIRS[0])
        assert told(compiled, make, PAIRS[3]) == told(function, make, PAIRS[3])
        assert counter.graphs == 1
        for pair in PAIRS * 2:
            assert told(compiled, make, pair) == told(function, make, pair)


@pytest.mark.parametrize("make", (Slotted, Box), ids=lambda make: make.__name__)
def test_slots_and_attributes_that_nobody_read(make):
    framejit.reset()
    compiled = framejit.compile(sets_attributes, backend=Counter())
    for pair in PAIRS * 2:
        assert told(compiled, lambda *two: in_box(make(), *two), pair) == told(sets_attributes, lambda *two: in_box(make(), *two), pair)


def test_a_cell_that_nobody_read():
    def told_by(wrap):
        seen = []
        for value in (lambda log: 1, lambda log: Ends(log, "cell"), lambda log: 2):
            log = []

            def make(held):
                def function(x):
                    nonlocal held
                    log.append("start")
                    held = 1
                    log.append("set")
                    return x + held

                return function

            seen.append((wrap(make(value(log)))(torch.ones(2)).tolist(), log))
        return seen

    framejit.reset()
    assert told_by(lambda function: framejit.compile(function, backend=Counter())) == told_by(lambda function: function)


def test_a_suspended_generator_is_closed_at_its_place():
    framejit.reset()
    compiled = framejit.compile(sets_item, backend=Counter())
    for waits in (False, True, False, True):
        seen = []
        for call in (compiled, sets_item):
            log = []
            given = [closing(log) if waits else 1]
            if waits:
                next(given[0])
            call(torch.ones(2), log, given)
            seen.append(log)
        assert seen[0] == seen[1]


def test_what_is_only_moved_is_not_asked():
    def function(x, b):
        b[0], b[1] = b[1], b[0]
        return x + 1

    framejit.reset()
    counter = Counter()
    compiled = framejit.compile(function, backend=counter)
    log = []
    for pair in ((Box(), Box()), (Ends(log, "a"), Ends(log, "b"))):
        given = [*pair]
        compiled(torch.ones(2), given)
        assert given[0] is pair[1] and given[1] is pair[0] and not log
    assert counter.graphs <= 2


def test_a_frame_that_waited_ends_with_what_it_holds():
    def outer(x, log, fails):
        own = Box()
        log.append(weakref.ref(own))
        return inner(x + 1, fails)

    def inner(x, fails):
        framejit.graph_break()
        if fails:
            raise ValueError(fails)
        return x

    def function(x, log, fails):
        try:
            return outer(x, log, fails)
        finally:
            log.append(log[0]() is None)

    framejit.reset()
    compiled = framejit.compile(function, backend=Counter())
    for fails in (0, 1, 0, 2, 0, 0):
        seen = []
        for call in (compiled, function):
            log = []
            try:
                call(torch.ones(2), log, fails)
            except ValueError as error:
                log.append(error.args)
            seen.append(log[1:])
        assert seen[0] == seen[1]


def test_new_and_real_objects_of_a_frame_that_ends_die_in_its_order():
    def function(x, log, ends):
        framejit.graph_break()
        _first = Ends(log, "first") if ends else None
        framejit.graph_break()
        second = [Ends(log, "second")]
        return x + len(second)

    framejit.reset()
    compiled = framejit.compile(function, backend=Counter())
    for ends in (False, True, False, True):
        seen = []
        for call in (compiled, function):
            log = []
            seen.append((call(torch.ones(2), log, ends).tolist(), log))
        assert seen[0] == seen[1]


def test_an_attribute_of_a_class():
    class Holder:
        held = 0

    def function(x, log):
        log.append("start")
        Holder.held = 1
        log.append("set")
        return x + 1

    framejit.reset()
    compiled = framejit.compile(function, backend=Counter())
    for ends in (False, True, False, True):
        seen = []
        for call in (compiled, function):
            log = []
            Holder.held = Ends(log, "held") if ends else 2
            call(torch.ones(2), log)
            seen.append(log)
        assert seen[0] == seen[1]
