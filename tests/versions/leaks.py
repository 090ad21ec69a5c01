"""Runs the test functions of modules again and again and counts what is left: `python leaks.py module ...`."""

import gc
import importlib
import sys

from versions.plain import stub_package

ROUNDS = 6
# start threads, processes or interpreters, or fill the caches of the interpreter itself
NOT_COUNTED = {
    "test_subinterpreters_get_the_error", "test_another_hook_below_ours", "test_another_hook_pushed_and_popped_over_ours",
    "test_threads_have_their_own_flags_and_keys", "test_a_thread_outside_is_left_alone", "test_coroutines",
    "test_asynchronous_generators", "test_other_threads_and_asynchronous_exceptions_reach_a_loop_of_regions",
    "test_recursion_under_the_hook", "test_recursion_through_regions",
}


def left() -> tuple[int, int]:
    """Blocks and, on debug builds, references that are alive."""
    for _ in range(3):
        gc.collect()
    return sys.getallocatedblocks(), getattr(sys, "gettotalrefcount", lambda: 0)()


def growth(test) -> list[tuple[int, int]]:
    counts = []
    for _ in range(ROUNDS):
        test()
        counts.append(left())
    return [(b[0] - a[0], b[1] - a[1]) for a, b in zip(counts[1:], counts[2:], strict=False)]


def main(names: list[str]) -> int:
    stub_package()
    ran, leaking = 0, []
    for name in names:
        module = importlib.import_module(name)
        for attribute, test in list(vars(module).items()):
            if attribute.startswith("test_") and attribute not in NOT_COUNTED:
                ran += 1
                grown = growth(test)
                if all(blocks > 0 for blocks, _ in grown) or all(references > 0 for _, references in grown):
                    leaking.append(f"{attribute}: blocks and references grow by {grown}")
    print(*leaking, f"{ran} ran, {len(leaking)} leak", sep="\n")
    return 1 if leaking or not ran else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
