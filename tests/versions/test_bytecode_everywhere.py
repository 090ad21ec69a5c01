"""The bytecode tests on every interpreter of this machine."""

from pathlib import Path

import pytest

from versions.pythons import pythons


@pytest.mark.slow
@pytest.mark.parametrize("python", pythons()[1:], ids=lambda python: python.soabi)
def test_bytecode(python):
    done = python.run(Path(__file__).parent / "plain.py", "bytecode.test_decode", "bytecode.test_flow")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
