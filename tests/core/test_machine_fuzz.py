"""The C++ machine and the reference agree on random programs: results, misses, replays, effects."""

import gc
import sys
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from core.machine_worlds import ELSEWHERE, POOL, Author, compare, make_slots, outcome
from framejit import _C
from framejit.core import reference
from framejit.core.program import OPS


@settings(max_examples=3000, deadline=None)
@given(st.integers(0, 2**32))
def test_random_programs(seed):
    compare(seed)


def test_programs_go_far():
    """The corpus is worth something: all outcomes and nearly all ops occur, and most programs reach their exit."""
    seen, ops = Counter(), Counter()
    for seed in range(400):
        outcomes, listing = compare(seed)
        seen.update(what[0] for what in outcomes)
        ops.update({row.op for row in listing.instructions})
    assert seen["exit"] > 400 and seen["miss"] > 20 and seen["replay"] > 10 and seen["raises"] > 10, seen
    missing = set(reference.HANDLERS) - set(ops) - ELSEWHERE
    assert not missing, missing


def test_no_reference_is_lost_or_kept():
    """References to the pool are as many after thousands of runs as before."""
    programs = [Author(seed).write().pack() for seed in range(60)]

    def round_():
        for program in programs:
            outcome(_C.run, program, make_slots())
        gc.collect()

    round_()
    before = [sys.getrefcount(value) for value in POOL]
    for _ in range(20):
        round_()
    grown = [(value, now - then) for value, then, now in zip(POOL, before, map(sys.getrefcount, POOL)) if abs(now - then) > 15]
    assert not grown, grown


def test_every_op_has_a_meaning():
    assert set(OPS) == set(reference.HANDLERS) | reference.EXITS
