"""Runs the tests of one module of CPython's `test` package, each of them captured or none, and reports line by line."""

from __future__ import annotations

import contextlib
import doctest
import faulthandler
import importlib
import json
import os
import sys
import unittest
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import test.support

import framejit


class Outcome(unittest.TestResult):
    """The worst that happened to one test, with the last line of its traceback."""

    ORDER = ("pass", "skip", "expected failure", "unexpected success", "failure", "error")

    def __init__(self) -> None:
        super().__init__()
        self.what, self.detail, self.trace = "pass", "", ""

    def _note(self, what: str, error: Any = None) -> None:
        if self.ORDER.index(what) >= self.ORDER.index(self.what):
            self.what = what
            if error is not None:
                self.detail = f"{error[0].__name__}: {error[1]}"[:300]
                self.trace = self._exc_info_to_string(error, unittest.TestCase())[-3000:]

    def addError(self, test: Any, error: Any) -> None:
        self._note("error", error)

    def addFailure(self, test: Any, error: Any) -> None:
        self._note("failure", error)

    def addSkip(self, test: Any, reason: str) -> None:
        self._note("skip")

    def addExpectedFailure(self, test: Any, error: Any) -> None:
        self._note("expected failure")

    def addUnexpectedSuccess(self, test: Any) -> None:
        self._note("unexpected success")

    def addSubTest(self, test: Any, subtest: Any, error: Any) -> None:
        if error is not None:
            self._note("failure" if issubclass(error[0], test.failureException) else "error", error)


def flatten(suite: Any) -> Iterator[unittest.TestCase]:
    """The tests of a suite; modules that fail to load are none."""
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        elif isinstance(getattr(type(item), getattr(item, "_testMethodName", "?"), None), Callable):
            yield item


class Breaks:
    """The breaks and fallbacks that framejit reports."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str, str]] = []
        framejit.events.subscribe(self.broke, framejit.events.Break)
        framejit.events.subscribe(self.fell, framejit.events.Fallback)

    def broke(self, event: Any) -> None:
        chain = [f"{where.code.co_filename.rpartition('/')[2]}:{where.code.co_qualname}:{where.line}" for where in event.chain[-2:]]
        self.rows.append((event.reason.id, event.guilty, event.detail[:200], " > ".join(chain)))

    def fell(self, event: Any) -> None:
        error = f" {type(event.error).__name__}: {event.error}" if event.error is not None else ""
        self.rows.append(("fallback " + event.reason.id, "", (event.detail + error)[:300], event.code.co_qualname))


@contextlib.contextmanager
def captured(case: unittest.TestCase) -> Iterator[None]:
    """The test method compiled, as an attribute of the case's class."""
    cls, name = type(case), case._testMethodName
    own = vars(cls).get(name)
    method = getattr(cls, name)
    framejit.reset()
    compiled = framejit.compile(method, backend="eager")
    setattr(cls, name, compiled)
    try:
        yield
    finally:
        if own is None:
            delattr(cls, name)
        else:
            setattr(cls, name, own)


def run(case: unittest.TestCase, around: Any, breaks: Breaks) -> dict[str, Any]:
    outcome = Outcome()
    breaks.rows = []
    with warnings.catch_warnings(record=True), around:
        unittest.TestSuite([case]).run(outcome)
    rows = list(dict.fromkeys(breaks.rows))
    return {"outcome": outcome.what, "detail": outcome.detail, "trace": outcome.trace, "breaks": rows[:400]}


def start(module_name: str, mode: str, report_path: str, folder: str, after: int, settings: dict[str, Any]) -> None:
    """The target of a forked process: run the module's tests from number `after` on."""
    os.chdir(folder)
    output = os.open("output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for descriptor, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, output), (2, output)):
        os.dup2(source, descriptor)
    sys.stdin, sys.stdout, sys.stderr = open(0, closefd=False), open(1, "w", closefd=False), open(2, "w", closefd=False)
    faulthandler.enable(2)
    only = settings.pop("only")
    test.support.use_resources = []
    framejit.config.load({"capture_without_tensors": True, "report_dir": folder, **settings})
    breaks = Breaks()
    module = importlib.import_module("test." + module_name)
    cases = list(flatten(unittest.defaultTestLoader.loadTestsFromModule(module)))
    if only:
        cases = [case for case in cases if any(name in case.id() for name in only)]
    with open(report_path, "a", buffering=1) as report:
        for index, case in enumerate(cases[after:], after):
            name = f"{type(case).__qualname__}.{case._testMethodName}"
            method = not isinstance(case, doctest.DocTestCase)
            if not method:
                name = f"doctest {case.id()}"
            report.write(json.dumps({"start": index, "test": name}) + "\n")
            around = captured(case) if mode == "captured" else contextlib.nullcontext()
            result = run(case, around, breaks)
            report.write(json.dumps({"end": index, "test": name, "method": method, **result}) + "\n")
        report.write(json.dumps({"done": len(cases)}) + "\n")
    sys.stdout.flush()
    os._exit(0)  # what a test left behind at exit is no part of it


def _warm_up() -> None:
    """Load the capture half before the processes are forked."""
    framejit.compile(lambda x: x + 1, backend="eager")(1)


_warm_up()
