"""The Python interpreters of this machine that framejit supports, and how to run a test module in one without pytest."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parents[1]
NAMES = ("python3.11", "python3.12", "python3.13", "python3.11-dbg", "python3.12-dbg", "python3.13-dbg")
QUERY = (
    "import sys, sysconfig; print(sysconfig.get_config_var('SOABI'), sysconfig.get_paths()['include'], "
    "'%d.%d' % sys.version_info[:2], sep='\\n')"
)


class Python(NamedTuple):
    """One interpreter: its path, the tag of extensions built for it, where its headers are."""

    path: str
    soabi: str
    include: str
    version: str

    def run(self, script: Path, *arguments: str, timeout: float = 600) -> subprocess.CompletedProcess[str]:
        """Runs a script of the tests."""
        env = {**os.environ, "PYTHONPATH": str(TESTS), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [self.path, "-X", "faulthandler", str(script), *arguments]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=timeout, check=False)


def _candidates() -> list[str]:
    found = [sys.executable, *os.environ.get("FRAMEJIT_PYTHONS", "").split(os.pathsep)]
    found += [shutil.which(name) or "" for name in NAMES]
    pyenv = shutil.which("pyenv")
    if pyenv:
        root = subprocess.run([pyenv, "root"], capture_output=True, text=True, check=False).stdout.strip()
        found += sorted(str(path) for path in Path(root, "versions").glob("3.1[123]*/bin/python"))
    return [path for path in found if path]


@cache
def pythons() -> tuple[Python, ...]:
    """Interpreters with headers, one for each build tag; ours comes first. FRAMEJIT_PYTHONS adds paths."""
    by_tag: dict[str, Python] = {}
    for path in _candidates():
        asked = subprocess.run([path, "-c", QUERY], capture_output=True, text=True, check=False)
        if asked.returncode:  # a pyenv shim without a version behind it
            continue
        soabi, include, version = asked.stdout.split()
        if version in ("3.11", "3.12", "3.13") and Path(include, "internal", "pycore_frame.h").exists():
            by_tag.setdefault(soabi, Python(path, soabi, include, version))
    return tuple(by_tag.values())
