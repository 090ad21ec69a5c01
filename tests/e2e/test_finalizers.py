"""`weakref.finalize` in captured code: made, asked, called, detached; those that exist; the end of what they wait for."""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Callable
from typing import Any

import torch
from support import Counter, check, check_rounds, same

import framejit
from things import Thing

X = torch.ones(2)


def compared(*, graphs: int = 1, breaks: int = 0, calls: int = 3) -> Callable[[Callable[..., Any]], Callable[[], None]]:
    """A test: the function gets a tensor, a list, and a list of things; what it gives, and what is in the list at the end, is as in eager."""

    def decorate(function: Callable[..., Any]) -> Callable[[], None]:
        def once(call: Callable[..., Any], round_: int) -> Any:
            log: list[Any] = []
            thing, other = Thing(), Thing()
            made = weakref.finalize(other, log.append, "given")
            result = call(X + round_, log, thing, made)
            seen = [made.alive, *log]
            del thing
            seen += ["thing dies", *log]
            del other
            seen += ["other dies", *log]
            if isinstance(result, tuple) and isinstance(result[-1], weakref.finalize):
                last = result[-1]
                seen += [last.alive, last.atexit, last.peek() and last.peek()[1:], last(), last.alive]
                result = result[:-1]
            return result, seen, log

        return lambda: check_rounds(once, function, graphs, breaks, calls)

    return decorate


@compared()
def test_called_when_the_object_dies(x, log, thing, made):
    own = Thing()
    waits = weakref.finalize(own, log.append, "own")
    alive = waits.alive
    del own
    log.append("behind")
    return x + 1, alive, waits.alive, waits(), waits.peek()


@compared()
def test_called_by_hand(x, log, thing, made):
    def last(*args, by=None):
        log.append((args, by))
        return "done"

    own = Thing()
    waits = weakref.finalize(own, last, 1, 2, by=3)
    seen = waits(), waits(), waits.alive, waits.detach()
    del own
    return x + 1, seen


@compared()
def test_peeked_and_detached(x, log, thing, made):
    own = Thing()
    waits = weakref.finalize(own, log.append, "own")
    of, function, args, kwargs = waits.peek()
    atexit = waits.atexit
    waits.atexit = False
    seen = of is own, function == log.append, args, kwargs, atexit, waits.atexit
    detached = waits.detach()
    seen += detached[0] is own, detached[2], waits.alive, waits.atexit, waits.peek(), waits.detach()
    del own, of, detached
    return x + 1, seen


@compared()
def test_the_last_made_is_called_first(x, log, thing, made):
    own = Thing()
    for name in "abc":
        weakref.finalize(own, log.append, name)
    refs = weakref.ref(own, lambda ref: log.append("ref"))
    own = None
    return x + 1, refs() is None


@compared()
def test_one_that_leaves_the_capture(x, log, thing, made):
    own = weakref.finalize(thing, log.append, "own")
    own.atexit = False
    return x + 1, own.alive, own


@compared()
def test_one_that_nobody_holds(x, log, thing, made):
    weakref.finalize(thing, log.append, x + 1)
    return x + 1


@compared()
def test_one_of_an_object_that_leaves(x, log, thing, made):
    thing.own = Thing()
    weakref.finalize(thing.own, log.append, "own")
    weakref.finalize(thing, log.append, "thing")
    return x + 1


@compared()
def test_given_finalizers(x, log, thing, made):
    seen = made.alive, made.atexit, made.peek()[2], made.peek()[3]
    made.atexit = False
    return x + 1, seen, made.atexit


@compared()
def test_a_given_finalizer_is_called(x, log, thing, made):
    return x + 1, made(), made.alive, made(), made.peek(), made.detach()


@compared()
def test_a_given_finalizer_is_detached(x, log, thing, made):
    found = made.detach()
    return x + 1, type(found[0]).__name__, found[2:], made.alive


@compared()
def test_attributes_die_with_their_object(x, log, thing, made):
    own = Thing()
    own.part = Thing()
    weakref.finalize(own.part, log.append, "part")
    weakref.finalize(own, log.append, "own")
    del own
    log.append("behind")
    return x + 1


@compared()
def test_a_finalizer_that_makes_another(x, log, thing, made):
    def again(of):
        weakref.finalize(of, log.append, "again")
        log.append("first")

    own, second = Thing(), Thing()
    weakref.finalize(own, again, second)
    del own
    log.append("between")
    del second
    return x + 1


def test_a_finalizer_that_raises_is_left_to_cpython(monkeypatch):
    def function(x, log):
        own = Thing()
        weakref.finalize(own, log.remove, "missing")
        del own
        log.append("behind")
        return x + 1

    seen = []
    for call in (function, framejit.compile(function, backend="eager")):
        log: list[Any] = []
        monkeypatch.setattr(sys, "unraisablehook", lambda found, log=log: log.append((found.exc_type, found.exc_value.args)))
        call(X, log)
        seen.append(log)
    assert seen[0] == seen[1]
    assert len(seen[0]) == 2


class Stamp:
    """Hashed by its identity."""


STAMPS = {Stamp(): place for place in range(3)}
FIRST, SECOND, _ = STAMPS


@check(lambda: (torch.ones(2), {FIRST: 1, "plain": 2}, FIRST, SECOND), lambda: (torch.ones(2), {FIRST: 1}, FIRST, SECOND), breaks=0)
def test_dicts_by_identity(x, table, first, second):
    own = Stamp()
    table[own] = 5
    table[second] = 6
    seen = own in table, table[own], table.pop(own), own in table, table.get(own, "none"), first in table, STAMPS[second]
    del table[first]
    table[first] = 7
    del table[second]
    return x + table[first], seen, len(table)


def test_keys_of_a_dict_may_be_one_object_later():
    def function(x, table, first, second):
        table[first] = x
        return x + 1, second in table

    counter = Counter()
    compiled = framejit.compile(function, backend=counter, fullgraph=True)
    for count in range(6):
        one, two, table = Stamp(), Stamp(), {}
        pair = (one, one) if count % 2 else (one, two)
        assert compiled(X, table, *pair)[1] is bool(count % 2)
        assert [*table] == [one]
        if count == 3:
            graphs = counter.graphs
    assert counter.graphs == graphs  # what is another one each time is asked for its kind


def test_an_entry_that_comes_and_goes():
    def function(x, table, key):
        return x + table.get(key, 1)

    compiled = framejit.compile(function, backend="eager", fullgraph=True)
    for value in (None, 2, None, 3, 4):
        key = Stamp()
        table = {Stamp(): 9} if value is None else {key: value}
        same(compiled(X, table, key), function(X, table, key))


NUMBERS = itertools.count(7)


def test_a_counter_of_the_module_changes_from_call_to_call():
    def function(x):
        place = next(NUMBERS)
        return x + 1, place, [next(NUMBERS)], x * place

    counter = Counter()
    compiled = framejit.compile(function, backend=counter, fullgraph=True)
    for count in range(7, 15, 2):
        same(compiled(X), (X + 1, count, [count + 1], X * count))
    assert counter.graphs == 1
