"""Standard library modules as their own Python bodies, without the C functions that replace these."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType


def without_c(name: str, accelerator: str) -> ModuleType:
    """A private copy of module `name` whose functions are all written in Python."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        raise ImportError(f"the standard library has no module {name}")
    module = importlib.util.module_from_spec(spec)
    loaded = sys.modules.get(accelerator)
    sys.modules[accelerator] = None  # type: ignore[assignment]
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[accelerator]
        if loaded is not None:
            sys.modules[accelerator] = loaded
    return module


heapq = without_c("heapq", "_heapq")
bisect = without_c("bisect", "_bisect")
