"""The machine's tests under another Python: `python machine.py FOLDER_OF_C SITE_PACKAGES_OF_PYTEST`."""

import gc
import sys
from pathlib import Path

if __name__ == "__main__":
    from versions.plain import stub_package

    stub_package()
    from versions.matrix import load_core

    sys.modules["framejit._C"] = sys.modules["framejit"]._C = load_core(sys.argv[1])
    sys.path.append(sys.argv[2])

import pytest

from core.machine_worlds import Author, compare, make_slots, outcome
from framejit import _C

TESTS = Path(__file__).parents[1]


def references_grow():
    """How many references a run of fifty programs leaves behind, on a debug build; else 0."""
    if not hasattr(sys, "gettotalrefcount"):
        return 0
    programs = [Author(seed).write().pack() for seed in range(50)]

    def once():
        for program in programs:
            outcome(_C.run, program, make_slots())
        gc.collect()
        return sys.gettotalrefcount()

    counts = [once() for _ in range(8)]
    return counts[-1] - counts[3]


if __name__ == "__main__":
    for seed in range(1000):
        compare(seed)
    grown = references_grow()
    assert grown < 50, f"{grown} references more after four rounds"
    files = [str(TESTS / "core" / name) for name in ("test_machine.py", "test_program.py")]
    options = ["-q", "-x", "-p", "no:cacheprovider", "--import-mode=importlib", f"--rootdir={TESTS}", "-c", "/dev/null"]
    sys.exit(pytest.main([*options, *files]))
