"""Runs the test functions of modules again and again and counts what is left: `python leaks.py module ...`."""

import gc
import importlib
import sys
from array import array

from versions.plain import stub_package

ROUNDS = 6
NOISE = 30  # blocks: names that CPython interns anew in each round
VARYING = {"test_programs"}  # so many blocks come and go that only references tell
# start threads, processes or interpreters, or fill the caches of the interpreter itself
NOT_COUNTED = {
    "test_subinterpreters_get_the_error", "test_another_hook_below_ours", "test_another_hook_pushed_and_popped_over_ours",
    "test_threads_have_their_own_flags_and_keys", "test_a_thread_outside_is_left_alone", "test_coroutines",
    "test_asynchronous_generators", "test_other_threads_and_asynchronous_exceptions_reach_a_loop_of_regions",
    "test_recursion_under_the_hook", "test_recursion_through_regions",
}


BLOCKS, REFERENCES = array("q", [0] * ROUNDS), array("q", [0] * ROUNDS)  # counting itself must not allocate


def growth(test) -> list[tuple[int, int]]:
    """How many blocks and, on debug builds, references are more after each round."""
    total = getattr(sys, "gettotalrefcount", int)
    for turn in range(ROUNDS):
        test()
        for _ in range(3):
            gc.collect()
        BLOCKS[turn], REFERENCES[turn] = sys.getallocatedblocks(), total()
    turns = range(2, ROUNDS)
    return [(BLOCKS[turn] - BLOCKS[turn - 1], REFERENCES[turn] - REFERENCES[turn - 1]) for turn in turns]


def main(names: list[str]) -> int:
    stub_package()
    ran, leaking = 0, []
    for name in names:
        module = importlib.import_module(name)
        for attribute, test in list(vars(module).items()):
            if attribute.startswith("test_") and attribute not in NOT_COUNTED:
                ran += 1
                grown = growth(test)
                blocks_grow = attribute not in VARYING and all(blocks > NOISE for blocks, _ in grown)
                if blocks_grow or all(references > 0 for _, references in grown):
                    leaking.append(f"{attribute}: blocks and references grow by {grown}")
    print(*leaking, f"{ran} ran, {len(leaking)} leak", sep="\n")
    return 1 if leaking or not ran else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
