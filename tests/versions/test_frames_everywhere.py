"""The frame machinery on every interpreter of this machine: with the allocator's checks on, then for leaks."""

from pathlib import Path

import pytest

from versions.build_core import build
from versions.pythons import pythons

MODULES = ("frames.test_exits", "frames.test_compiled", "frames.test_nesting", "frames.test_opaque", "frames.test_opaque_alone", "frames.test_iterator_places", "frames.test_given_generators")


@pytest.mark.slow
@pytest.mark.parametrize("script", ("plain.py", "leaks.py"))
@pytest.mark.parametrize("python", pythons(), ids=lambda python: python.soabi)
def test_frames(python, script, monkeypatch):
    monkeypatch.setenv("FRAMEJIT_CORE", str(build(python)))
    monkeypatch.setenv("PYTHONMALLOC", "debug")
    done = python.run(Path(__file__).parent / script, *MODULES)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
