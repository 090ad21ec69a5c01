"""Which objects are one object, and of which type they are: literals, arguments, results."""

import itertools

import framejit
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
