"""The frame-entry matrix: `python matrix.py FOLDER_OF_C [case ...]` enters every program at every pc and compares."""

import gc
import importlib.util
import itertools
import sys
import types
from pathlib import Path
from typing import Any

from versions.plain import stub_package

if __name__ == "__main__":
    stub_package()

from framejit.bytecode import analyze, decode, versions
from versions import programs, reference
from versions.programs import CASES, LOG, Case, Token

reference.HIDDEN.add(__file__)


class Injected(Exception):
    """Raised where the programs do not raise."""


def load_core(folder: str) -> Any:
    (path,) = Path(folder).glob("_C*.so")
    spec = importlib.util.spec_from_file_location("framejit._C", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- what a run leaves behind, in comparable form ----
class Described(list):
    """A list of things that are described already."""


def describe(value: Any, depth: int = 0) -> Any:
    if isinstance(value, Described):
        return list(value)
    if depth > 6:
        return "..."
    if isinstance(value, BaseException):
        return describe_exception(value, depth)
    if isinstance(value, Token):
        return "Token", value.name
    if isinstance(value, list | tuple):
        return type(value).__name__, [describe(item, depth + 1) for item in value]
    if isinstance(value, set | frozenset):
        return type(value).__name__, sorted(repr(describe(item, depth + 1)) for item in value)
    if isinstance(value, dict):
        return "dict", [(describe(k, depth + 1), describe(v, depth + 1)) for k, v in value.items()]
    if isinstance(value, types.CellType):
        try:
            return "cell", describe(value.cell_contents, depth + 1)
        except ValueError:
            return "cell"
    if isinstance(value, type | types.FunctionType):
        return value.__qualname__
    if value is None or isinstance(value, int | float | str | bytes | complex):
        return type(value).__name__, repr(value)
    return type(value).__name__


def describe_exception(error: BaseException, depth: int) -> Any:
    lines = []
    entry = error.__traceback__
    while entry is not None:
        if entry.tb_frame.f_code.co_filename not in reference.HIDDEN:
            lines.append((entry.tb_frame.f_code.co_name, max(entry.tb_lineno or 0, 0)))
        entry = entry.tb_next
    chain = [describe(linked, depth + 1) for linked in (error.__cause__, error.__context__, *getattr(error, "exceptions", ()))]
    return type(error).__name__, describe(error.args[:1], depth + 1), lines, chain, error.__suppress_context__


def shown_frame(name: str) -> types.FrameType:
    """A frame object of code with this name, to stand in tracebacks."""
    namespace: dict[str, Any] = {}
    exec(f"import sys\ndef {name}(): return sys._getframe()" if name.isidentifier() else "import sys", namespace)
    return namespace[name]() if name.isidentifier() else sys._getframe()


# ---- three ways to run a program ----
class Real:
    """A real generator, coroutine or asynchronous generator, driven from outside."""

    def __init__(self, obj: Any, kind: str) -> None:
        self.obj, self.kind = obj, kind

    def resume(self, verb: str, value: Any) -> tuple[str, Any]:
        try:
            if self.kind == "async generator":
                step = {"send": self.obj.asend, "throw": self.obj.athrow, "close": lambda _: self.obj.aclose()}[verb](value)
                step.send(None)
                return "await", None
            if verb == "close":
                self.obj.close()
                return "return", None
            return "yield", getattr(self.obj, verb)(value)
        except StopIteration as stop:
            return ("yield" if self.kind == "async generator" else "return"), stop.value
        except StopAsyncIteration:
            return "return", None


class Simulated:
    """The same, run by the reference interpreter until its stop, by the real thing from there."""

    def __init__(self, run: "Run", frame: reference.Frame) -> None:
        self.run, self.frame = run, frame
        self.real: Real | None = None
        self.started = False

    def resume(self, verb: str, value: Any) -> tuple[str, Any]:
        if self.real is not None:
            return self.real.resume(verb, value)
        try:
            how, result = self.advance(verb, value)
        except GeneratorExit:
            if verb != "close":
                raise
            return "return", None
        if how == "return" and (verb == "close" or self.run.case.kind == "async generator"):
            result = None
        return how, result.value if isinstance(result, reference.Wrapped) else result

    def advance(self, verb: str, value: Any) -> tuple[str, Any]:
        frame = self.frame
        if not self.started:
            frame.index = 0
            self.started = True
        elif verb == "send":
            frame.push(value)
        else:
            done = self.throw(GeneratorExit() if verb == "close" else value())
            if done is not None:
                return done
        try:
            how, result = reference.run(frame)
        except StopIteration as stop:  # the generator itself turns it into RuntimeError (from 3.12 on its code does)
            error = RuntimeError("generator raised StopIteration")
            error.__cause__ = error.__context__ = stop
            raise error
        if how == "stop":
            return self.enter()
        return how, result

    def throw(self, exception: BaseException) -> tuple[str, Any] | None:
        """Throws into the suspended frame, into what it waits for first."""
        frame = self.frame
        resume = frame.current()
        if resume.op == "RESUME" and resume.value >= 2:
            receiver = frame.stack[-1]
            try:
                if isinstance(exception, GeneratorExit):
                    if hasattr(receiver, "close"):
                        receiver.close()
                elif hasattr(receiver, "throw"):
                    return "yield", receiver.throw(exception)
            except StopIteration as stop:
                if versions.VERSION < (3, 12):
                    frame.stack[-1] = stop.value
                    send = next(ins for ins in reversed(frame.code.instructions[: frame.index]) if ins.op == "SEND")
                    frame.index = send.jump
                    return None
                exception = stop
            except BaseException as raised:
                exception = raised
        if versions.VERSION >= (3, 12) or resume.value < 2:
            frame.push(None)
        before = frame.code.instructions[frame.index - 1]
        reference.under(frame.handled, self.deliver, before, exception)
        return None

    def deliver(self, ins: Any, exception: BaseException) -> None:
        try:
            raise exception
        except BaseException as error:
            caught = error
        reference.unwind(self.frame, ins, caught, add=True)

    def enter(self) -> tuple[str, Any]:
        frame, self.frame = self.frame, None
        try:
            result = self.run.enter(frame)
        except StopAsyncIteration:
            self.real = Real(iter(()), "generator")
            return "return", None
        generator, value = result
        if generator is None:
            self.real = Real(iter(()), "generator")
            return "return", value
        self.real = Real(generator, self.run.case.kind)
        return "yield", value


class Unmakeable(Exception):
    """A state that holds something Python code cannot make."""


class Run:
    """One run of a case: which variant and plan, where to stop, where to raise."""

    def __init__(self, core: Any, case: Case, variant: Any, plan: tuple, calm: bool, stop: int = -1, raise_at: int = -1,
                 throw: bool = False) -> None:
        self.core, self.case, self.variant, self.plan, self.calm = core, case, variant, plan, calm
        self.stop, self.raise_at, self.throw = stop, raise_at, throw
        self.visited: list[int] = []
        self.pc = -1

    def arguments(self) -> tuple[tuple, dict]:
        made = self.variant()
        return made if len(made) == 2 and isinstance(made[1], dict) and isinstance(made[0], tuple) else (made, {})

    def native(self) -> Any:
        function = self.case.make()
        if self.case.kind == "class":
            return self.outcome(lambda: self.class_natively(function))
        args, kwargs = self.arguments()
        if self.case.kind == "function":
            return self.outcome(lambda: function(*args, **kwargs))
        return self.outcome(lambda: self.drive(Real(function(*args, **kwargs), self.case.kind)))

    def class_natively(self, function: Any) -> Any:
        namespace: dict[str, Any] = {}
        if function.__closure__:
            exec(function.__code__, function.__globals__, namespace, closure=function.__closure__)
        else:
            exec(function.__code__, function.__globals__, namespace)
        return namespace

    def simulated(self) -> Any:
        function = self.case.make()
        args, kwargs = self.arguments()
        slots = reference.bind(function, args, kwargs)
        del args, kwargs
        frame = reference.Frame(function, slots, {} if self.case.kind == "class" else None, shown_frame(function.__name__))
        frame.stop_at = self.stop
        frame.visited = self.visited
        if self.raise_at >= 0 and not self.throw:
            frame.raise_at = self.raise_at, Injected("here")
        if self.case.kind in ("function", "class"):
            return self.outcome(lambda: self.call(frame))
        return self.outcome(lambda: self.drive(Simulated(self, frame)))

    def call(self, frame: reference.Frame) -> Any:
        how, value = reference.run(frame)
        if how == "stop":
            value = self.enter(frame)
        return frame.namespace if self.case.kind == "class" else value

    def enter(self, frame: reference.Frame) -> Any:
        """Goes on in a real frame; keeps nothing of the old one."""
        if any(isinstance(value, reference.Wrapped) for value in frame.stack):
            raise Unmakeable
        self.pc = frame.current().pc
        error = Injected("here") if self.throw else None
        return self.core.enter(frame.function, self.pc, self.taken(frame), frame.handled, error, frame.namespace)

    def taken(self, frame: reference.Frame) -> list[Any]:
        slots = [self.core.NULL if value is reference.NULL else value for value in frame.all_slots()]
        frame.slots, frame.stack = [], []
        return slots

    def drive(self, machine: Any) -> list[Any]:
        seen = Described()
        for verb, value in self.plan:
            try:
                how, result = machine.resume(verb, value)
            except Unmakeable:
                raise
            except BaseException as error:
                seen.append(("raised", describe(error)))
                break
            seen.append((how, describe(result)))
            if how == "return":
                break
        return seen

    def outcome(self, act: Any) -> Any:
        LOG.clear()
        programs.calm = self.calm
        try:
            result = ("returned", describe(act()))
        except Unmakeable:
            result = None
        except BaseException as error:
            result = ("raised", describe(error))
        log = [describe(values) for values in LOG]
        LOG.clear()
        left = sys.exc_info()[1]
        assert left is None, f"{self.case.name}: {left!r} is still being handled after step {self.stop} pc {self.pc}"
        return (result, log) if result is not None else None


# ---- the matrix of one case ----
class Matrix:
    """All entries of one case."""

    def __init__(self, core: Any, case: Case) -> None:
        self.core, self.case = core, case
        self.code = decode(case.make().__code__)
        self.failures: list[str] = []
        self.visited: set[int] = set()
        self.entries = 0
        self.jobs: list[tuple[Run, Any]] = []  # a run with a stop, and the outcome that it must have

    def fail(self, run: Run, what: str, got: Any, wanted: Any) -> None:
        place = self.code.at(run.pc) if run.pc >= 0 else ""
        variant = self.case.variants.index(run.variant)
        self.failures.append(f"{self.case.name}[{variant}] plan {self.case.plans.index(run.plan)} {what} {place} "
                             f"step {run.stop} raise {run.raise_at}\n    got    {got}\n    wanted {wanted}")

    def plan(self) -> None:
        """Finds the entries: each pc where it is met first and last, then where an injected exception leads."""
        calms = (False, True) if {"boom", "calm"} & set(self.case.make().__code__.co_names) else (False,)
        for variant, plan, calm in itertools.product(self.case.variants, self.case.plans, calms):
            wanted = Run(self.core, self.case, variant, plan, calm).native()
            run = Run(self.core, self.case, variant, plan, calm)
            got = run.simulated()
            if got != wanted:
                self.fail(run, "the reference interpreter differs", got, wanted)
                continue
            self.stops(run, wanted, self.add_entry)
            self.stops(run, wanted, self.add_raise, last=False)

    def stops(self, run: Run, wanted: Any, add: Any, last: bool = True, after: int = -1) -> None:
        first, final = {}, {}
        for step, pc in enumerate(run.visited):
            if step > after and not self.thinned(pc):
                first.setdefault(pc, step)
                final[pc] = step
        for step in sorted({*first.values(), *(final.values() if last else ())}):
            add(run, step, run.visited[step], wanted)

    def add_entry(self, run: Run, step: int, pc: int, wanted: Any) -> None:
        if not self.can_stop(pc):
            return
        self.visited.add(pc)
        self.jobs.append((Run(self.core, self.case, run.variant, run.plan, run.calm, step, run.raise_at), wanted))

    def add_raise(self, run: Run, step: int, pc: int, wanted: Any) -> None:
        if pc < self.code.first_traceable or not self.can_stop(pc) or self.code.at(pc).op == "PUSH_EXC_INFO":
            return  # its row of the table counts on what it pushes: CPython itself never raises there
        simulated = Run(self.core, self.case, run.variant, run.plan, run.calm, raise_at=step)
        expected = simulated.simulated()
        self.jobs.append((Run(self.core, self.case, run.variant, run.plan, run.calm, step, step, throw=True), expected))
        new = {pc for pc in simulated.visited[step + 1 :] if pc not in self.visited}
        if new:
            self.stops(simulated, expected, lambda *job: job[2] in new and self.add_entry(*job), last=False, after=step)

    def thinned(self, pc: int) -> bool:
        """Of long monotonous code a part is enough."""
        ins = self.code.at(pc)
        return len(self.code.instructions) > 600 and ins.op in ("LOAD_CONST", "LOAD_FAST", "STORE_FAST") and ins.index % 16 > 0

    def can_stop(self, pc: int) -> bool:
        """A generator's frame exists once it has been made."""
        return self.case.kind in ("function", "class") or pc >= self.code.first_traceable

    def check(self) -> None:
        for run, wanted in self.jobs:
            got = run.simulated()
            self.entries += got is not None
            if got is not None and got != wanted:
                self.fail(run, "raising at" if run.throw else "entering at", got, wanted)

    def missing(self) -> list[str]:
        flow = analyze(self.code)
        return [str(ins) for ins in self.code.instructions
                if ins.enterable and flow.depth(ins.index) >= 0 and ins.pc not in self.visited and self.can_stop(ins.pc)
                and ins.op not in self.case.uncovered and not self.thinned(ins.pc)]


def watched(case: Case) -> list[Any]:
    """Long-lived objects whose reference counts must not move."""
    code = case.make().__code__
    constants = [const for const in code.co_consts if isinstance(const, tuple | types.CodeType) and const]
    return [code, *constants, Token, programs.Point, programs.Manager, programs.note, programs.boom, ValueError, programs.__dict__]


def counts(objects: list[Any]) -> list[int]:
    gc.collect()
    return [sys.getrefcount(obj) for obj in objects]


def check_counts(matrix: Matrix) -> None:
    """A second and third pass leave no object alive and no count changed."""
    objects = watched(matrix.case)
    passes = []
    total = getattr(sys, "gettotalrefcount", lambda: 0)
    for _ in range(3):
        for run, _ in matrix.jobs:
            run.visited.clear()
            run.simulated()
        passes.append((counts(objects), total(), Token.alive))
    if passes[1][0] != passes[2][0]:
        moved = [(repr(obj)[:60], b - a) for obj, a, b in zip(objects, passes[1][0], passes[2][0]) if a != b]
        matrix.failures.append(f"{matrix.case.name}: reference counts move {moved}")
    if abs(passes[2][1] - passes[1][1]) > 20:
        matrix.failures.append(f"{matrix.case.name}: total reference count moves by {passes[2][1] - passes[1][1]}")
    if Token.alive:
        matrix.failures.append(f"{matrix.case.name}: {Token.alive} tokens are still alive")
        Token.alive = 0


reference.FRAME_READERS[programs.where] = lambda frame, ins: ins.line


def main(folder: str, names: list[str]) -> int:
    core = load_core(folder)
    entries, failures, uncovered = 0, [], []
    for case in CASES:
        if names and case.name not in names:
            continue
        matrix = Matrix(core, case)
        matrix.plan()
        print(case.name, len(matrix.jobs), flush=True)
        matrix.check()
        check_counts(matrix)
        entries += matrix.entries
        failures += matrix.failures
        uncovered += [f"{case.name}: {line}" for line in matrix.missing()]
    for line in failures:
        print("FAILED", line)
    for line in uncovered:
        print("UNCOVERED", line)
    print(f"{len(CASES)} programs, {entries} entries, {len(failures)} failures, {len(uncovered)} pcs never entered")
    return 1 if failures or uncovered else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
