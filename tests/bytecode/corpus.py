"""Code objects of the standard library's own modules, as programs to decode."""

import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType


def nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested(constant)


@cache
def standard_library(every: int = 4) -> tuple[CodeType, ...]:
    """All code of every n-th top-level module and of the packages that use the most syntax."""
    root = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(root.glob("*.py"))[::every] + sorted(root.glob("asyncio/*.py")) + sorted(root.glob("unittest/*.py"))
    return tuple(code for file in files for code in nested(compile(file.read_bytes(), str(file), "exec")))
