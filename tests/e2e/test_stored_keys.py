"""Dicts and sets that exist, with keys that user code hashes and compares: CPython goes by the hashes that it has stored."""

from __future__ import annotations

import pytest

import framejit
from framejit import events

LOG: list = []


class Key:
    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return isinstance(other, Key) and self.number == other.number

    def __hash__(self):
        return hash(self.number)


class Logged(Key):
    """Its methods have effects: each call of them can be seen."""

    def __eq__(self, other):
        LOG.append(("eq", self.number, other.number))
        return self.number == other.number

    def __hash__(self):
        LOG.append(("hash", self.number))
        return hash(self.number)


class Colliding(Key):
    def __hash__(self):
        return 1


def table(keys):
    return dict.fromkeys(keys, 1)


def numbers(keys):
    return sorted(key.number for key in keys)


def contains(keys, key):
    return key in keys, len(keys), type(key)(1) in keys


def iterates(keys, key):
    return [one.number for one in keys], len(list(keys)), max(keys, key=lambda one: one.number).number


def changes_what_it_holds(keys, key):
    for one in keys:
        one.more = 1
    return [one.more for one in keys]


def copies(keys, key):
    return len(dict.fromkeys(keys, 1)), len(set(keys)), len(frozenset(keys)), len({*keys}), len(keys.copy())


def fills(keys, key):
    into, more = set(), {}
    into.update(keys)
    more.update(keys if isinstance(keys, dict) else dict.fromkeys(keys))
    return len(into), len(more), key in into, key in more


def adds(keys, key):
    keys.add(key)
    keys.add(type(key)(77))
    return len(keys)


def discards(keys, key):
    keys.discard(key)
    return key in keys


def removes(keys, key):
    try:
        keys.remove(key)
    except KeyError as error:
        return error.args[0] is key
    return len(keys)


def breaks_between(keys, key):
    keys.discard(key)
    framejit.graph_break()
    keys.add(key)
    return [one is key for one in keys if one == key]


def updates(keys, key):
    keys.update([key, type(key)(55)])
    return numbers(keys)


def algebra(keys, key):
    return numbers(keys | {key}), numbers(keys & {key}), numbers(keys - {key}), numbers(keys ^ {key}), len(keys | keys)


def relations(keys, key):
    return keys <= {key}, keys >= {key}, keys == {key}, keys.isdisjoint({key}), keys.issubset([key]), keys == keys


def stores(keys, key):
    keys[key] = 5
    keys[type(key)(77)] = 6
    return len(keys), keys.get(key), keys.pop(type(key)(1), None)


def merges(keys, key):
    return len(keys | {key: 2}), len({**keys, key: 3}), keys == {key: 1}, list(keys.values()), len(keys.items())


def changes_the_key_first(keys, key):
    key.number = 1000
    return key in keys


def changes_the_key_later(keys, key):
    first = key in keys
    key.number = 1000
    return first, key in keys, len(keys)


def changes_what_is_in_it(keys, key):
    for one in keys:
        one.number += 1
    return key in keys, len(keys)


EACH = [contains, iterates, changes_what_it_holds, copies, fills, changes_the_key_first, changes_the_key_later, changes_what_is_in_it]
SETS = [algebra, relations]
CASES = [
    *((kind, program) for kind in (set, frozenset, table) for program in EACH),
    *((kind, program) for kind in (set, frozenset) for program in SETS),
    *((set, program) for program in (adds, discards, removes, breaks_between, updates)),
    *((table, program) for program in (stores, merges)),
]
ONE_REGION = {contains, iterates, changes_what_it_holds}


@pytest.mark.parametrize("of", [Key, Logged, Colliding], ids=lambda of: of.__name__)
@pytest.mark.parametrize(("kind", "program"), CASES, ids=lambda part: part.__name__)
def test_each_look_up_asks_what_cpython_asks(kind, program, of, monkeypatch):
    monkeypatch.setattr(framejit.config, "capture_without_tensors", True)
    framejit.reset()
    ends, breaks = [], []
    subscriptions = [events.subscribe(lambda event: ends.append(event.pc), events.CaptureEnd), events.subscribe(breaks.append, events.Break)]
    compiled = framejit.compile(program, backend="eager")
    for count in (3, 3, 5, 3):
        for number in (1, None, 88):  # equal to one that is held, the very one, another one
            seen = []
            for run in (program, compiled):
                held = [of(place) for place in range(count)]
                keys, key = kind(held), held[1] if number is None else of(number)
                LOG.clear()
                result = run(keys, key)
                log = LOG[:]
                left = [(one.number, [place for place, other in enumerate(held) if other is one]) for one in keys]
                seen.append((result, log, left, list(keys.values()) if kind is table else None))
            assert seen[0] == seen[1], (count, number)
    for unsubscribe in subscriptions:
        unsubscribe()
    assert ends
    if of is Key and program in ONE_REGION:
        assert not breaks


def test_a_key_that_has_changed_between_two_calls_is_looked_for_where_it_was_stored(monkeypatch):
    monkeypatch.setattr(framejit.config, "capture_without_tensors", True)

    def program(keys, key):
        return key in keys, len(keys)

    for kind in (set, frozenset, table):
        framejit.reset()
        compiled = framejit.compile(program, backend="eager")
        for stale in (False, False, True, False, True):
            held = [Key(place) for place in range(3)]
            held[1].number = 7 if stale else 1
            keys = kind(held)
            held[1].number = 1
            for key in (Key(1), held[1], Key(2)):
                assert compiled(keys, key) == program(keys, key)


def test_keys_that_have_become_equal_are_all_there(monkeypatch):
    monkeypatch.setattr(framejit.config, "capture_without_tensors", True)

    def program(keys, key):
        return key in keys, len(keys), [one.number for one in keys], len(list(keys))

    for kind in (set, frozenset, table):
        framejit.reset()
        compiled = framejit.compile(program, backend="eager")
        for equal in (True, False, True):
            held = [Colliding(place) for place in range(2)]
            keys = kind(held)
            held[1].number = 0 if equal else 5
            for key in (Colliding(0), held[1], Colliding(9)):
                with framejit.config.patch(strict=True):
                    assert compiled(keys, key) == program(keys, key)


def test_stored_hashes():
    key, table, texts = Key(1), {5: 1, 7: 2, 3: 2}, {"a": 1, "b": 2}
    del table[7]
    keys = {key: 1, "a": 2}
    key.number = 9
    assert framejit._C.stored_hashes(table) == [5, 3] and framejit._C.stored_hashes({4}) == [4]
    assert framejit._C.stored_hashes(texts) == [hash("a"), hash("b")] and framejit._C.stored_hashes(keys) == [1, hash("a")]
    assert framejit._C.stored_hashes(vars(key)) == [hash("number")] and framejit._C.stored_hashes({}) == []
    with pytest.raises(TypeError, match="dict or set, not list"):
        framejit._C.stored_hashes([])
