"""The machine on every interpreter of this machine, with the allocator's checks on."""

from pathlib import Path

import pytest

from versions.build_core import build
from versions.pythons import pythons


@pytest.mark.slow
@pytest.mark.parametrize("python", pythons(), ids=lambda python: python.soabi)
def test_machine(python, monkeypatch):
    monkeypatch.setenv("PYTHONMALLOC", "debug")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    site_packages = Path(pytest.__file__).parents[1]
    done = python.run(Path(__file__).parent / "machine.py", str(build(python)), str(site_packages))
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
