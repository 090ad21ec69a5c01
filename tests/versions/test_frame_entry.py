"""Frames stopped at every pc and entered there again, on every interpreter of this machine."""

from pathlib import Path

import pytest

from versions.build_core import build
from versions.pythons import pythons


@pytest.mark.slow
@pytest.mark.parametrize("python", pythons(), ids=lambda python: python.soabi)
def test_matrix(python):
    done = python.run(Path(__file__).parent / "matrix.py", str(build(python)), timeout=1800)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-4000:]
    assert " 0 failures, 0 pcs never entered" in done.stdout
