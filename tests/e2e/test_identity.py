"""Which objects are one object, and of which type they are: literals, arguments, results."""

import itertools

import framejit
import torch
from support import check


def literal():
    return (1, (2, "c"))


@check()
def test_tuples_of_the_code_stay_one_object(x):
    kept = []
    for _ in range(2):
        kept.append((1, "a"))
    return x + 1, kept, kept[0] is kept[1], literal() is literal(), literal()[1] is literal()[1]



class Base:
    def __init__(self, k):
        self.k = k


class Derived(Base):
    def __init__(self, k):
        above = super()
        framejit.graph_break()
        above.__init__(k + 1)


@check(breaks=1)
def test_super_objects_survive_a_break(x):
    return x + Derived(2).k


@check()
def test_counting_from_a_bool(x):
    counts = itertools.count(True), itertools.count(True, 2), itertools.count(False, step=True)
    return x + 1, [[next(count), next(count)] for count in counts]


class Renamed(Base):
    def __init__(self, k):
        kind = super
        framejit.graph_break()
        kind().__init__(k + 1)


@check(breaks=1)
def test_super_under_another_name_finds_self(x):
    return x + Renamed(2).k


hashed = []


class Counted:
    def __init__(self, number):
        self.number = number

    def __hash__(self):
        hashed.append(self.number)
        return hash(self.number)

    def __eq__(self, other):
        return self.number == other.number

    def __repr__(self):
        return f"Counted({self.number})"


@check(lambda: (torch.ones(2), Counted(1), {}), graphs=1, breaks=1)
def test_keys_are_hashed_once(x, key, table):
    hashed.clear()
    table[Counted(3)] = 1
    inner = {key: 2, Counted(4): 5}
    members = {key, Counted(5)}
    x = x + len(inner)
    return x, list(hashed), len(members), [k.number for k in inner]


@check(lambda: (torch.ones(2), Counted(1)))
def test_dicts_that_stay_inside_hash_their_keys_without_a_break(x, key):
    hashed.clear()
    inner = {key: 2, Counted(4): 5}
    return x + inner[Counted(4)] + inner[key], list(hashed)


class Late:
    def __init__(self, number):
        framejit.graph_break()
        self.number = number

    def __hash__(self):
        return hash(self.number)

    def __eq__(self, other):
        return self.number == other.number


class Same(Late):
    def __hash__(self):
        return 7

    def __eq__(self, other):
        hashed.append("compared")
        return False


@check(graphs=1, breaks=5)
def test_a_key_is_hashed_after_what_its_hash_reads_was_written(x):
    return {Late(1): x + 1}.get(Late(1)), len({Late(2)})


@check(lambda: (torch.ones(2), Counted(1)), graphs=2, breaks=8)
def test_a_key_that_changes_after_it_was_hashed(x, key):
    table, members = {key: 1, (key, 2): 3}, {key}
    key.number = 5
    y = x + 1
    framejit.graph_break()
    return y * 2, key in table, (key, 2) in table, key in members, len(table)


@check(lambda: (torch.ones(2), Same(1), Same(2)), graphs=1, breaks=4)
def test_keys_that_collide_are_compared_as_often_as_in_eager(x, one, other):
    hashed.clear()
    table, members = {one: 1, other: 2}, {one, other}
    y = x + len(table)
    framejit.graph_break()
    return y, list(hashed), len(members)


class Hash:
    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return self.number


@check()
def test_what_a_hash_method_gives(x):
    said = []
    for number in (-1, 1 << 70, True, None, "a"):
        try:
            said.append(hash(Hash(number)))
        except TypeError as error:
            said.append(str(error))
    return x + len(said), said


class Probed:
    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return -2

    def __eq__(self, other):
        hashed.append("compared")
        return self.number == other.number


@check(graphs=1, breaks=3)
def test_keys_with_one_hash_are_compared_wherever_the_search_meets_them(x):
    hashed.clear()
    y = x + 1
    members, table = {Probed(1), Probed(2)}, {Probed(1): 1, Probed(2): 2}
    return y, list(hashed), len(members), len(table), {Probed(1): 5}[Probed(1)]
