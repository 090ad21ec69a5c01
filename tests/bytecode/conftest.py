"""Makes framejit.bytecode importable on a Python without torch."""

import importlib.util
import sys
import types
from pathlib import Path

if importlib.util.find_spec("torch") is None and "framejit" not in sys.modules:
    package = types.ModuleType("framejit")
    package.__path__ = [str(Path(__file__).parents[2] / "src" / "framejit")]
    sys.modules["framejit"] = package
