"""CPython's own tests with every test method captured, against the same tests run plainly: `make cpython-tests`.

Writes docs/cpython-tests.md when there are results of every module (see --save); exits with 1 where an outcome differs that is not listed.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import importlib
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[1]
sys.path.insert(0, str(HERE))

from modules import MODULES, exception  # noqa: E402

# Processes are forked from a server that has loaded PyTorch and framejit once; it finds child.py by the environment.
CONTEXT = multiprocessing.get_context("forkserver")
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
os.environ["PYTHONHASHSEED"] = "0"
CONTEXT.set_forkserver_preload(["child"])

PAGE = REPO / "docs" / "cpython-tests.md"


@dataclass
class Module:
    """What the two runs of a module gave."""

    name: str
    plain: dict[str, dict[str, Any]] = field(default_factory=dict)
    captured: dict[str, dict[str, Any]] = field(default_factory=dict)

    def methods(self) -> list[str]:
        """The methods that ran plainly: a skipped one has nothing to capture, and doctests are no methods."""
        return [name for name, row in self.plain.items() if row["outcome"] != "skip" and row.get("method")]

    def differing(self) -> list[str]:
        return [
            name
            for name, row in self.plain.items()
            if (other := self.captured.get(name)) is None or other["outcome"] != row["outcome"]
        ]

    def unlisted(self) -> list[str]:
        return [name for name in self.differing() if exception(self.name, name) is None]

    def unbroken(self) -> list[str]:
        return [name for name in self.methods() if name in self.captured and not self.captured[name]["breaks"]]


def run_child(module: str, mode: str, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Outcomes by test; a child that crashes or hangs is started again behind the test that it died in."""
    results: dict[str, dict[str, Any]] = {}
    after = 0
    with tempfile.TemporaryDirectory() as folder:
        while True:
            report = Path(folder) / f"report{after}"
            report.touch()
            how = watch(module, mode, after, report, folder, options)
            rows = [json.loads(line) for line in report.read_text().splitlines() if line.endswith("}")]
            results.update({row["test"]: row for row in rows if "end" in row})
            if any("done" in row for row in rows):
                return results
            started = [row for row in rows if "start" in row]
            if not started:
                return {**results, "(module)": {"outcome": how, "detail": "does not start", "trace": "", "breaks": []}}
            last = started[-1]
            results[last["test"]] = {"outcome": how, "detail": how, "trace": "", "breaks": [(how, "", "", last["test"])]}
            after = last["start"] + 1


def watch(module: str, mode: str, after: int, report: Path, folder: str, options: argparse.Namespace) -> str:
    """Fork one process and wait until it ends or reports nothing for too long; how it ended."""
    settings = {"only": options.only, "strict": options.strict, "instruction_limit": options.instructions}
    process = CONTEXT.Process(target=child_start, args=(module, mode, str(report), folder, after, settings))
    process.start()
    size, since = 0, time.monotonic()
    while process.is_alive():
        process.join(0.05)
        if report.stat().st_size != size:
            size, since = report.stat().st_size, time.monotonic()
        elif time.monotonic() - since > options.timeout:
            process.kill()
            process.join()
            return "timeout"
    code = process.exitcode or 0
    output = Path(folder) / "output"
    if code and options.verbose and output.exists():
        print(f"-- {module} {mode} ended with {code}:")
        print(output.read_text(errors="replace")[-3000:])
    return "crash" if code < 0 else f"exit {code}"


def child_start(*args: Any) -> None:
    """Go on in child.py, which the fork server has loaded."""
    importlib.import_module("child").start(*args)


def run_module(name: str, options: argparse.Namespace) -> Module:
    return Module(name, run_child(name, "plain", options), run_child(name, "captured", options))


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def table(modules: Iterable[Module]) -> list[str]:
    """Rows of the table, with a last row for all."""
    rows = ["| module | tests | same outcome | listed exceptions | without a break | |", "|---|---:|---:|---:|---:|---:|"]
    total = [0, 0, 0, 0]
    for module in modules:
        differing = module.differing()
        unlisted = len(module.unlisted())
        row = [len(module.plain), len(module.plain) - len(differing), len(differing) - unlisted, len(module.unbroken())]
        methods = len(module.methods())
        rows.append(f"| {module.name} | {row[0]} | {row[1]} | {row[2]} | {row[3]} of {methods} | {percent(row[3], methods)} |")
        total = [a + b for a, b in zip([*total[:3], total[3]], row)]
    methods = sum(len(module.methods()) for module in modules)
    rows.append(f"| all | {total[0]} | {total[1]} | {total[2]} | {total[3]} of {methods} | {percent(total[3], methods)} |")
    return rows


def histogram(modules: Iterable[Module], length: int) -> list[str]:
    """Break reasons by the number of methods that meet them first, and by the number that meet them at all."""
    first: Counter[str] = Counter()
    every: Counter[str] = Counter()
    only: Counter[str] = Counter()
    sample: dict[str, str] = {}
    for module in modules:
        for name, row in module.captured.items():
            keys = list(dict.fromkeys(f"{reason} | {guilty} | {detail}"[:150] for reason, guilty, detail, _ in row["breaks"]))
            every.update(keys)
            first.update(keys[:1])
            only.update(keys if len(keys) == 1 else ())
            for reason, guilty, detail, place in row["breaks"]:
                sample.setdefault(f"{reason} | {guilty} | {detail}"[:150], f"{module.name} {name} at {place}")
    rows = ["first  only  all  reason"]
    for key, count in sorted(every.items(), key=lambda item: -(first[item[0]] + only[item[0]] + 0.01 * item[1]))[:length]:
        rows.append(f"{first[key]:5} {only[key]:5} {count:4}  {key}    [{sample[key]}]")
    return rows


def differences(modules: Iterable[Module]) -> list[str]:
    rows = []
    for module in modules:
        for name in module.differing():
            plain, other = module.plain[name], module.captured.get(name, {"outcome": "missing", "detail": ""})
            listed = exception(module.name, name)
            mark = f" (listed: {listed})" if listed else ""
            rows.append(f"{module.name} {name}: {plain['outcome']} -> {other['outcome']} {other['detail']}{mark}")
    return rows


def page(modules: list[Module]) -> str:
    """The text of docs/cpython-tests.md."""
    listed: dict[str, list[str]] = {}
    for module in modules:
        for name in module.differing():
            if reason := exception(module.name, name):
                listed.setdefault(reason, []).append(f"{module.name} {name}")
    version = ".".join(map(str, sys.version_info[:3]))
    lines = [
        "# CPython's own tests, captured",
        "",
        "Every test method of these modules of the `test` package is run plainly and with the method captured",
        '(`framejit.compile(method, backend="eager")` with `config.capture_without_tensors`), each module in child processes',
        "of its own. *Same outcome* counts tests, doctests too, that pass, fail, raise or skip as they do plainly; *without a break* those",
        "that did not end a region before the method's end, nowhere in what they call; skipped ones and doctests are not among them.",
        f"`make cpython-tests` writes this page (here: Python {version}).",
        "",
        *table(modules),
        "",
        "## Listed exceptions",
        "",
    ]
    for reason, names in sorted(listed.items()):
        lines += [f"{reason}:", "", *(f"* `{name}`" for name in names), ""]
    if unlisted := [f"{module.name} {name}" for module in modules for name in module.unlisted()]:
        lines += ["## Open differences", "", *(f"* `{name}`" for name in unlisted), ""]
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", help="modules of the test package; all of the list when absent")
    parser.add_argument("--only", nargs="*", help="parts of test names")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one test method")
    parser.add_argument("--instructions", type=int, default=200_000, help="instruction_limit of a region")
    parser.add_argument("--strict", action="store_true", help="errors inside framejit are raised")
    parser.add_argument("--verbose", action="store_true", help="show what differs, and the output of children that died")
    parser.add_argument("--histogram", type=int, default=0, metavar="N", help="show the N most frequent break reasons")
    parser.add_argument("--save", help="keep all results in this JSON file; those of modules that are not run now stay there")
    options = parser.parse_args()
    names = options.modules or MODULES
    saved = Path(options.save) if options.save else None
    rows = json.loads(saved.read_text()) if saved is not None and saved.exists() else {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        modules = []
        for module in pool.map(lambda name: run_module(name, options), names):
            modules.append(module)
            print(table([module])[2], flush=True)
            rows[module.name] = {"plain": module.plain, "captured": module.captured}
            if saved is not None:
                saved.write_text(json.dumps(rows))
    print("\n".join(table(modules)))
    print("\n".join(differences(modules)))
    if options.histogram:
        print("\n".join(histogram(modules, options.histogram)))
    if set(MODULES) <= set(rows) and not options.only:
        PAGE.write_text(page([Module(name, rows[name]["plain"], rows[name]["captured"]) for name in MODULES]))
    return 1 if any(module.unlisted() for module in modules) else 0


if __name__ == "__main__":
    sys.exit(main())
