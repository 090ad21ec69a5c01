"""Runs the test functions of modules without pytest and without torch: `python plain.py module ...`."""

import importlib
import sys
import traceback
import types
from pathlib import Path


def stub_package() -> None:
    """Makes framejit's modules importable by a Python without torch: the package's own __init__ is not run."""
    package = types.ModuleType("framejit")
    package.__path__ = [str(Path(__file__).parents[2] / "src" / "framejit")]
    sys.modules["framejit"] = package


def main(names: list[str]) -> int:
    stub_package()
    ran = failed = 0
    for name in names:
        module = importlib.import_module(name)
        for attribute, test in list(vars(module).items()):
            if attribute.startswith("test_"):
                ran += 1
                try:
                    test()
                except Exception:
                    failed += 1
                    print(f"FAILED {name}.{attribute}")
                    traceback.print_exc(file=sys.stdout)
    print(f"{ran} ran, {failed} failed")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
