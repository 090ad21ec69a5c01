"""A small part of CPython's own tests, with every test method captured; `make cpython-tests` runs them all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parent / "run.py"


@pytest.mark.slow
def test_outcomes_are_those_of_plain_cpython():
    done = subprocess.run(
        [sys.executable, str(RUN), "test_augassign", "test_named_expressions", "--jobs", "1", "--verbose"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    *_, total = [line for line in done.stdout.splitlines() if line.startswith("| all")]
    methods, same, listed, unbroken, share = (cell.strip() for cell in total.split("|")[2:7])
    assert int(methods) > 60 and methods == same and int(unbroken.split()[0]) > 0
