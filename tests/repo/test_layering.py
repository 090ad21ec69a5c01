"""The rules of the source tree that a linter does not know; each test lists all offenders."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
PACKAGE = REPO / "src" / "framejit"
PYTHON = sorted(PACKAGE.rglob("*.py"))
CORE = sorted(path for path in (REPO / "csrc").iterdir() if path.suffix in {".c", ".cpp", ".h", ".def"})
TESTS = sorted((REPO / "tests").rglob("*.py"))

DYNAMO = ("torch._dynamo", "torch._C._dynamo")
LAZY_IMPORTS = ("lazy.py", "backends/")  # loads the capture half on first use; heavy imports of backends
LONGEST_FILE = 800
LONGEST_FUNCTION = 80


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def short(path: Path) -> str:
    return path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else REPO).as_posix()


def places(nodes: Iterator[tuple[Path, ast.AST]]) -> list[str]:
    return sorted({f"{short(path)}:{getattr(node, 'lineno', 0)}" for path, node in nodes})


def dotted(node: ast.AST) -> str:
    """`a.b.c` for a chain of attributes of a name, else empty."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""


def mentions(path: Path) -> Iterator[tuple[ast.AST, str]]:
    """Every dotted name that a file imports, loads by importlib, or reads."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Attribute):
            yield node, dotted(node)
        elif isinstance(node, ast.Call) and dotted(node.func).endswith("import_module") and node.args:
            if isinstance(node.args[0], ast.Constant):
                yield node, str(node.args[0].value)


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_there_is_something_to_check():
    assert len(PYTHON) > 20 and len(CORE) > 5 and len(TESTS) > 5


def test_stock_capture_is_used_by_interop_and_backends_only():
    offenders = (
        (path, node)
        for path in PYTHON
        if short(path) != "interop.py" and not short(path).startswith("backends/")
        for node, name in mentions(path)
        if any(name == module or name.startswith(module + ".") for module in DYNAMO)
    )
    assert places(offenders) == []


def test_python_versions_differ_in_one_place():
    names = {"sys.version_info", "sys.hexversion", "platform.python_version_tuple"}
    offenders = (
        (path, node)
        for path in PYTHON
        if short(path) != "bytecode/versions.py"
        for node, name in mentions(path)
        if name in names
    )
    assert places(offenders) == []
    assert [short(path) for path in CORE if "PY_VERSION_HEX" in path.read_text()] in ([], ["csrc/compat.h"])


def test_the_environment_is_read_by_config_alone():
    offenders = (
        (path, node)
        for path in PYTHON
        if short(path) != "config.py"
        for node, name in mentions(path)
        if name in {"os.environ", "os.getenv", "os.environb"}
    )
    assert places(offenders) == []


def test_imports_stand_at_the_top():
    offenders = (
        (path, node)
        for path in PYTHON
        if not short(path).startswith(LAZY_IMPORTS)
        for function in functions(path)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    )
    assert places(offenders) == []


def test_files_and_functions_fit_a_reader():
    long_files = [
        f"{short(path)}: {lines} lines"
        for path in [*PYTHON, *CORE]
        if (lines := path.read_text(encoding="utf-8").count("\n")) > LONGEST_FILE
    ]
    long_functions = [
        f"{short(path)}:{function.lineno} {function.name}: {lines} lines"
        for path in PYTHON
        for function in functions(path)
        if (lines := function.end_lineno - function.lineno + 1) > LONGEST_FUNCTION
    ]
    assert long_files + long_functions == []


def test_no_file_is_a_drawer_for_everything():
    assert [short(path) for path in PYTHON if path.stem in {"utils", "util", "helpers", "misc", "common"}] == []


def test_no_exception_is_swallowed():
    offenders = (
        (path, node)
        for path in PYTHON
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or dotted(node.type) in {"Exception", "BaseException"})
        and all(isinstance(line, ast.Pass | ast.Continue) for line in node.body)
    )
    assert places(offenders) == []


def test_no_test_is_skipped():
    names = ("pytest.skip", "pytest.xfail", "pytest.importorskip", "pytest.mark.skip", "pytest.mark.xfail")
    offenders = ((path, node) for path in TESTS for node, name in mentions(path) if name.startswith(names))
    assert places(offenders) == []


def test_the_declared_layers_hold():
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=REPO)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.fixture(scope="module")
def loaded_by_import() -> set[str]:
    """The modules that `import framejit` loads after `import torch` alone."""
    program = "import sys, torch; before = set(sys.modules); import framejit; print(*sorted(set(sys.modules) - before))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(result.stdout.split())


def test_import_does_not_load_the_capture_half(loaded_by_import):
    packages = ("capture", "dynamic", "interp", "objects", "rules", "lower", "lib")
    assert "framejit.api" in loaded_by_import
    assert {name for name in loaded_by_import if name.startswith(tuple(f"framejit.{name}" for name in packages))} == set()


def test_import_loads_nothing_else_of_torch(loaded_by_import):
    assert {name for name in loaded_by_import if name.split(".")[0] in {"torch", "sympy", "functorch", "numpy"}} == set()
