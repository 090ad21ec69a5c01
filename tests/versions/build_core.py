"""Builds the extension without torch for another Python into a cache folder, and makes `framejit` importable there."""

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

from versions.pythons import TESTS, Python

CSRC = TESTS.parent / "csrc"
FLAGS = ("-O1", "-g", "-fPIC", "-DFJ_NO_TORCH=1", "-fvisibility=hidden", "-fno-strict-aliasing", "-w")


def build(python: Python) -> Path:
    """The folder that holds _C for this Python; built anew only after a change of the sources."""
    sources = sorted([*CSRC.glob("*.c"), *CSRC.glob("*.cpp")])
    inputs = sorted([*sources, *CSRC.glob("*.h"), *CSRC.glob("*.def")])
    digest = hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in inputs)).hexdigest()[:16]
    cache = Path(os.environ.get("FRAMEJIT_TEST_CACHE") or Path(tempfile.gettempdir()) / f"framejit-core-{os.getuid()}")
    folder = cache / f"{python.soabi}-{digest}"
    target = folder / f"_C.{python.soabi}.so"
    if target.exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    objects = []
    for source in sources:
        if source.name == "tensor_check.cpp":
            continue
        compiler, standard = ("g++", "-std=c++17") if source.suffix == ".cpp" else ("gcc", "-std=c11")
        made = folder / f"{source.stem}.{os.getpid()}.o"
        _call(compiler, standard, *FLAGS, f"-I{python.include}", f"-I{CSRC}", "-c", str(source), "-o", str(made))
        objects.append(str(made))
    draft = folder / f"draft.{os.getpid()}.so"
    _call("g++", "-shared", *objects, "-o", str(draft))
    draft.replace(target)
    for made in objects:
        Path(made).unlink()
    return folder


def _call(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, " ".join(command) + "\n" + done.stderr[-4000:]
