"""From a frame that has no region to an installed one: interpret, call the backend, lower, install; limits and fallback."""

from __future__ import annotations

import builtins
import gc
import importlib
import inspect
import itertools
import pkgutil
import random
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import torch
import torch.fx
from torch._subclasses import fake_tensor
from torch.autograd import forward_ad
from torch.utils import checkpoint

from framejit import _C, crash, dynamic, files, interop, interp, objects, replay, rules
from framejit.backends.build import compile_graph
from framejit.backends.registry import find
from framejit.bytecode.decode import decode
from framejit.config import config
from framejit.core import classes
from framejit.core.errors import BackendError, CaptureError, InternalError, Retrace
from framejit.core.guard import Guard
from framejit.core.options import CompileOptions, by_key
from framejit.core.program import OP_NAMES, OPS, unpack
from framejit.core.state import Exit, ExitKind, Result
from framejit.core.trace import Trace
from framejit.core.value import Const, Lazy, Node, Number, Value
from framejit.events import (
    Break,
    CaptureEnd,
    CaptureStart,
    CompileId,
    Fallback,
    GuardFailure,
    Later,
    Recompile,
    Retraced,
    emit,
    wanted,
)
from framejit.interp.machine import Interpreter, Start, Waiting
from framejit.lower.guards import Note
from framejit.lower.region import Lowering
from framejit.reasons import R
from framejit.shapes import shape_guards

for _package in (interp, objects, rules):  # their modules are imported for the rows that they register
    for _module in pkgutil.iter_modules(_package.__path__, _package.__name__ + "."):
        importlib.import_module(_module.name)
MODE_NATIVE, MODE_OFF = 1, 2
RETRACES = 32  # how often one capture may start over
LATER = 50_000  # objects made before the collector runs beside a capture
IDLE_REGIONS = 24  # so many regions without an operator, and none with, mean that the code computes no tensors


MOST_DEAD = 4  # so many regions at one place in a row that ran once, and then died with a class or function of that run


IN_ORDER: dict[str, Any] = {"backend": "eager", "mode": None, "options": ()}
"""The configuration for graphs whose operators are run one after the other."""

# What AOTAutograd meets in backward formulas, such as those of sparse gradients, though the operators themselves are traceable.
UNTRACEABLE = (
    fake_tensor.DynamicOutputShapeException, fake_tensor.DataDependentOutputException,
    fake_tensor.UnsupportedFakeTensorException, fake_tensor.UnsupportedOperatorException,
)  # fmt: skip

CALLER_VARIANTS = 3  # with so many regions at one place, a new one ends with its frame, whoever waits for it


def waiting(view: Any) -> Waiting | None:
    """The frames that wait for this one, as far as the interpreter can go on in them."""
    caller = view.caller
    if caller is None or caller.locals is not None or caller.generator or caller.result > Result.DISCARD.value or not _returns(view.code):
        return None
    result = Result(caller.result)
    return Waiting(caller.code, caller.func, caller.pc, caller.slots, caller.globals, result, caller.extra, waiting(caller))


def _returns(code: CodeType) -> bool:
    """Whether the code can return at all: a frame is left by an instruction of its own."""
    return any(ins.op == "RETURN_VALUE" for ins in decode(code).instructions)


class Region(NamedTuple):
    """An installed program and what its instructions stand for."""

    pc: int
    key: int
    program: Any
    notes: dict[int, Note]
    handlers: bool  # whether the region itself may handle what an operator raises

    def failure(self) -> GuardFailure | None:
        """Why the region was not taken last time, without a compile id."""
        found = self.program.explain_failure()
        if found is None:
            return None
        index, seen = found
        op, *operands = self.program.instructions[index]
        note = self.notes.get(index)
        if note is None:
            return GuardFailure(NO_ID, "", OP_NAMES[op], seen, None)
        place = OPS[OP_NAMES[op]].kinds.find("k")
        operand: Any = self.program.consts[operands[place]] if place >= 0 else operands[-1] if operands else None
        return GuardFailure(NO_ID, note.path, note.expected(operand), seen, note.asked)


class Record:
    """What was captured of one code object."""

    def __init__(self) -> None:
        self.regions: list[Region] = []
        self.numbers: dict[tuple[int, int], int] = {}
        self.attempts: dict[tuple[int, int], int] = {}
        self.dead: dict[tuple[int, int], int] = {}
        self.idle = 0
        self.useful = 0

    def next_id(self, pc: int, key: int) -> CompileId:
        """A name for the next attempt at this place."""
        place = pc, key
        frame = self.numbers.setdefault(place, next(_FRAMES)) if place not in self.numbers else self.numbers[place]
        attempt = self.attempts[place] = self.attempts.get(place, -1) + 1
        return CompileId(frame, attempt)

    def alive(self, pc: int, key: int) -> list[Region]:
        """The regions at this place that can still run."""
        for region in [region for region in self.regions if region.program.dead]:
            self.regions.remove(region)
            place = region.pc, region.key
            self.dead[place] = self.dead.get(place, 0) + 1 if region.program.hits < 2 else 0
        return [region for region in self.regions if (region.pc, region.key) == (pc, key)]


NO_ID = CompileId(-1, -1)
_FRAMES = itertools.count()
_RECORDS: dict[int, tuple[weakref.ref[CodeType], Record]] = {}
_LOCK = threading.RLock()


def record_of(code: CodeType) -> Record:
    """The record of a code object, by identity: equal code objects may belong to different functions."""
    key = id(code)
    found = _RECORDS.get(key)
    if found is None or found[0]() is not code:
        found = _RECORDS[key] = (weakref.ref(code, lambda _ref, table=_RECORDS: table.pop(key, None)), Record())  # type: ignore[misc]
    return found[1]


# -- callbacks of the C core --------------------------------------------------------------------------------------------


def start() -> None:
    """Take over the C core's questions; called once, by the lazy loader."""
    interop.hide(classify, reject, replayed, miss)
    first = threading.Thread(target=Trace)  # torch looks for modules, and what is raised in that keeps the frames below it
    first.start()
    first.join()
    _C.set_tensor_types((torch.Tensor, torch.nn.Module))
    _C.set_rng_hooks(replay.save_generators, replay.restore_generators)
    _C.set_classify(classify)
    _C.set_reject(reject)
    _C.set_replay(replayed)
    _C.set_miss(miss)
    for code in _checkpoint_codes():
        _C.mark(code, None, -1, MODE_OFF)


def _checkpoint_codes() -> list[CodeType]:
    """The code that runs checkpointed functions, first and again: both runs must save the same tensors and numbers."""
    function = checkpoint.CheckpointFunction
    inner = checkpoint._checkpoint_without_reentrant_generator.__code__.co_consts
    found = [code for code in inner if isinstance(code, CodeType)]
    return [*found, inspect.unwrap(checkpoint.checkpoint).__code__, function.forward.__code__, function.backward.__code__]


def reset() -> None:
    """Forget what was captured and learnt; the regions themselves are the C core's to drop."""
    global _FRAMES
    with _LOCK:
        _RECORDS.clear()
        dynamic.reset()
        _FRAMES = itertools.count()


def classify(code: CodeType, namespace: dict[str, Any]) -> int:
    """Whether frames of this code may be captured."""
    kind = files.classify(code, namespace)
    return files.ALWAYS if kind == files.WITH_TENSOR and config.capture_without_tensors else kind


def miss(view: Any) -> bool:
    """A frame has no region that takes it: capture one; whether that was done."""
    try:
        options = by_key(view.key)
    except KeyError:
        return False  # the last user of this configuration is gone
    if config.disable or view.locals is not None or _under_a_mode() or _are_replaced():
        return False
    inherits = _C.drivers_handle()
    with _LOCK:
        return Attempt(view, options, inherits).run()


def reject(code: CodeType, pc: int, key: int, program: Any) -> None:
    """The C core removed a region that did not take the frame it was captured from."""
    with _LOCK:
        record = record_of(code)
        region = next((region for region in record.regions if region.program is program), None)
        failure = region.failure() if region is not None else None
        if region is not None:
            record.regions.remove(region)
        detail = "unknown" if failure is None else f"expected {failure.expected}, saw {failure.saw}"
        _C.mark(code, key, pc, MODE_NATIVE)
        emit(Fallback(NO_ID, code, pc, R.REJECTED, detail))
        if config.strict:
            raise InternalError(f"the region of {code.co_qualname} at pc {pc} was rejected: {detail}")


def replayed(code: CodeType, pc: int, key: int, program: Any, error: Exception) -> Callable[[], None] | None:
    """A graph raised, and CPython does the region again; what to call if the frame returns after all."""
    try:
        backend = find(by_key(key).backend).name
    except KeyError:
        return None
    if isinstance(error, _C.GraphResultError):
        raise BackendError(backend, error) from error
    with _LOCK:
        region = next((region for region in record_of(code).regions if region.program is program), None)
    if region is None or region.handlers:
        return None
    text = f"{type(error).__name__}: {error}" if type(error).__str__ in PLAIN_TEXTS else type(error).__name__
    return lambda: _unexplained(code, backend, text)


PLAIN_TEXTS = {BaseException.__str__, KeyError.__str__}


def _unexplained(code: CodeType, backend: str, text: str) -> None:
    warnings.warn(
        f"the graph that backend {backend!r} compiled for {code.co_qualname} ({code.co_filename}:{code.co_firstlineno}) raised {text}; "
        "the same code returned in plain Python, which each such call falls back to. backend='eager' shows if it is at fault.",
        RuntimeWarning,
        stacklevel=3,
    )


OWN_BUILTINS = {name: getattr(builtins, name) for name in (
    "all", "any", "bool", "bytes", "callable", "dict", "enumerate", "float", "frozenset", "getattr", "hasattr", "hash", "id", "int",
    "isinstance", "issubclass", "iter", "len", "list", "map", "max", "min", "next", "object", "property", "range", "repr", "reversed",
    "set", "setattr", "sorted", "str", "sum", "super", "tuple", "type", "vars", "zip",
)}  # fmt: skip


def _are_replaced() -> bool:
    """Whether the user put something in the place of a builtin that framejit itself is written with."""
    present = builtins.__dict__
    return any(present.get(name) is not item for name, item in OWN_BUILTINS.items())


def _under_a_mode() -> bool:
    """Whether a torch function mode, dispatch mode or transform is active: the frame then runs in CPython."""
    return bool(
        torch._C._len_torch_function_stack()
        or torch._C._len_torch_dispatch_stack()
        or torch._C._functorch.peek_interpreter_stack() is not None
        or torch._C._get_tracing_state() is not None
        or forward_ad._current_level >= 0
    )


# -- one attempt --------------------------------------------------------------------------------------------------------


@contextmanager
def _preserved() -> Iterator[None]:
    """Torch's and Python's global state as it was, whatever the capture does; the user's saved-tensor hooks see no fakes."""
    grad, python, cpu = torch.is_grad_enabled(), random.getstate(), torch.get_rng_state()
    tracing = torch._C._autograd._saved_tensors_hooks_set_tracing(True)
    try:
        yield
    finally:
        torch._C._autograd._saved_tensors_hooks_set_tracing(tracing)
        torch._C._set_grad_enabled(grad)
        random.setstate(python)
        torch.set_rng_state(cpu)


@contextmanager
def _uncollected() -> Iterator[bool]:
    """No garbage collection: a capture makes many objects that live as long as it does; whether there was one."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield enabled
    finally:
        if enabled:
            gc.enable()


@contextmanager
def _collected(enabled: bool) -> Iterator[None]:
    """Collection inside of that, but not at once: a small backend is done before the objects of the capture have been gone through."""
    before = gc.get_threshold()
    raised = (gc.get_count()[0] + LATER, *before[1:])
    if not enabled or not before[0]:
        yield
        return
    gc.set_threshold(*raised)
    gc.enable()
    try:
        yield
    finally:
        gc.disable()
        if gc.get_threshold() == raised:
            gc.set_threshold(*before)


class Attempt:
    """The capture of one region from one frame."""

    def __init__(self, view: Any, options: CompileOptions, inherits: bool):
        self.view, self.options, self.inherits = view, options, inherits
        self.code: CodeType = view.code
        self.pc: int = view.pc
        self.key: int = view.key
        self.record = record_of(self.code)
        self.backend_seconds = 0.0
        self.steps = 0
        self.torch_state = _C.torch_state()

    def run(self) -> bool:
        """Capture and install; False where the frame is to run in CPython."""
        known = self.record.alive(self.pc, self.key)
        if known and not self._may_recompile(known):
            return False
        if self.record.dead.get((self.pc, self.key), 0) >= MOST_DEAD and not self.options.fullgraph:
            self.id = self.record.next_id(self.pc, self.key)
            return self._give_up(R.RECOMPILE_LIMIT, "what the regions here were captured for is gone after one run of each")
        self.id = self.record.next_id(self.pc, self.key)
        if known:
            self._report_failures(known)
        emit(CaptureStart(self.id, self.code, self.pc))
        try:
            with _preserved():
                return self._retrace()
        except CaptureError:
            raise
        except BackendError as error:
            if not config.suppress_errors:
                raise
            return self._give_up(R.INTERNAL_ERROR, "the backend failed", error)
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the frame runs in CPython
            return self._internal_error(error)

    def _may_recompile(self, known: list[Region]) -> bool:
        limit = self.options.recompile_limit or config.recompile_limit
        if len(known) < limit and len(self.record.regions) < config.accumulated_recompile_limit:
            return True
        detail = "; ".join(_failure_texts(known)[:1])
        if config.fail_on_recompile_limit_hit or self.options.fullgraph:
            raise CaptureError(R.RECOMPILE_LIMIT, self.code.co_qualname, detail)
        self.id = CompileId(self.record.numbers[(self.pc, self.key)], len(known))
        return self._give_up(R.RECOMPILE_LIMIT, detail)

    def _report_failures(self, known: list[Region]) -> None:
        if config.error_on_recompile:
            raise CaptureError(R.RECOMPILE_LIMIT, self.code.co_qualname, "; ".join(_failure_texts(known)))
        if wanted(Recompile):
            emit(Recompile(self.id, self.code, self.pc, tuple(_failure_texts(known))))
        if wanted(GuardFailure):
            for failure in filter(None, (region.failure() for region in known)):
                emit(GuardFailure(self.id, failure.path, failure.expected, failure.saw, failure.asked))

    def _give_up(self, reason: R, detail: str = "", error: BaseException | None = None) -> bool:
        """Let CPython go on here, now and later."""
        _C.mark(self.code, self.key, self.pc, MODE_NATIVE)
        emit(Fallback(self.id, self.code, self.pc, reason, detail, error))
        return False

    def _internal_error(self, error: Exception) -> bool:
        if config.strict:
            raise InternalError(f"{type(error).__name__} while {self.code.co_qualname} was captured: {error}") from error
        path = crash.write(self.code, self.pc, error)
        warnings.warn(
            f"framejit failed to capture {self.code.co_qualname} ({self.code.co_filename}:{self.code.co_firstlineno}) and runs "
            f"it in plain Python: {type(error).__name__}: {error}. Please report {path}",
            RuntimeWarning,
            stacklevel=3,
        )
        return self._give_up(R.INTERNAL_ERROR, path, error)

    # -- capture ------------------------------------------------------------------------------------------------------

    def _retrace(self) -> bool:
        decisions: frozenset[Any] = frozenset()
        for _ in range(RETRACES):
            try:
                with _uncollected() as collector:
                    return self._once(decisions, collector)
            except (Retrace, RecursionError) as again:
                decision = again.decision if isinstance(again, Retrace) else ("cut", self._earlier(decisions, again))
                if decision in decisions:
                    raise RuntimeError(f"the capture starts over for {decision} again") from again
                if type(decision) is tuple and decision[0] == "static":
                    dynamic.make_static(self.code, self.pc, decision[1])
                decisions |= {decision}
                emit(Retraced(self.id, str(decision)))
        raise RuntimeError(f"the capture started over {RETRACES} times: {sorted(map(str, decisions))}")

    def _earlier(self, decisions: frozenset[Any], error: Exception) -> int:
        """Where to end the region instead, if objects that hold each other too deeply could not be made real at its end."""
        step = min([self.steps, *(decision[1] for decision in decisions if decision[0] == "cut")]) // 2
        if step < 2:
            raise error
        return step

    def _once(self, decisions: frozenset[Any], collector: bool) -> bool:
        view = self.view
        handled = view.handled
        variants = len(self.record.alive(self.pc, self.key))
        interpreter = Interpreter(Start(
            self.code, view.func, self.pc, view.slots, view.globals, view.builtins, _C.NULL, handled, self.options, decisions,
            None if variants >= CALLER_VARIANTS else waiting(view), variants, self.inherits,
        ))  # fmt: skip
        try:
            return self._region(interpreter, collector)
        finally:
            classes.forget(interpreter.trace.cache.get("stand_ins", []))
            interpreter.trace.close()

    def _region(self, interpreter: Interpreter, collector: bool) -> bool:
        began = time.perf_counter()
        self.backend_seconds = 0.0
        leave = interpreter.run()
        self.steps = interpreter.steps
        trace = interpreter.trace
        if leave.kind is not ExitKind.RETURN and not self._goes_on(leave, trace):
            return False
        trace.guard(None, "TORCH_STATE", self.torch_state)
        lowering = Lowering(trace, leave, self.code, self.pc, config.keep_locals)
        graph, flags = self._compile(lowering, trace, collector) if lowering.close_graph() else (None, 0)
        lowered = lowering.finish(graph, flags)
        _C.install(self.code, self.pc, self.key, lowered.program)
        self.record.regions.append(Region(self.pc, self.key, lowered.program, lowered.notes, trace.flags.get("handlers", False)))
        if wanted(CaptureEnd):
            seconds = time.perf_counter() - began - self.backend_seconds
            names = (*self.code.co_varnames, *self.code.co_cellvars, *self.code.co_freevars)
            listing = Later(1, lambda: [unpack(lowered.program, lowered.notes, names)])
            lines = Later(len(lowering.guards), lowering.lines)
            emit(CaptureEnd(self.id, self.code, self.pc, seconds, listing, lines, interpreter.steps))
        return True

    def _goes_on(self, leave: Exit, trace: Trace) -> bool:
        """Report a break; False where a region would do nothing that CPython does not do as well."""
        guilty = describe(leave.guilty)
        if self.options.fullgraph and leave.reason is not None and leave.reason is not R.UNCAUGHT_EXCEPTION:
            raise CaptureError(leave.reason, guilty, leave.detail, leave.lines)
        if leave.reason is not None and not leave.ends:
            emit(Break(self.id, leave.reason, guilty, leave.detail, leave.lines))
        operators = trace.operators["count"]
        self.record.useful += operators > 0
        self.record.idle += operators == 0
        state = leave.state
        assert state is not None
        if config.capture_without_tensors:
            return True
        if not operators and leave.kind is ExitKind.NATIVE and state.parent is None and not any(trace.heap.dirty()):
            _C.mark(self.code, self.key, self.pc, MODE_NATIVE)
            emit(Fallback(self.id, self.code, self.pc, leave.reason or R.NO_TENSOR_WORK))
            return False
        if self.record.idle >= IDLE_REGIONS and not self.record.useful:
            _C.mark(self.code, self.key, -1, MODE_NATIVE)
            emit(Fallback(self.id, self.code, self.pc, R.NO_TENSOR_WORK))
            return False
        return True

    def _compile(self, lowering: Lowering, trace: Trace, collector: bool) -> tuple[Any, int]:
        """Hand the graph to the backend; facts that it found become guards."""
        module = torch.fx.GraphModule({}, trace.graph)
        inputs = [entry.example for entry in lowering.inputs]
        options = self.options
        if trace.flags.get("mutates_inputs") and options.backend != "eager":
            tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
            if _share_memory(tensors):  # what a mutation does to the others, only running the operators in order tells
                options = replace(options, **IN_ORDER)
            elif len(tensors) > 1:
                paths = lowering.tensors
                changed = [entry.path for entry in lowering.inputs if entry.node.meta.get("mutated")] or paths
                lowering.add_guards([Guard(None, "NO_OVERLAP", (len(changed), tuple(dict.fromkeys([*changed, *paths]))))])
        began = time.perf_counter()
        try:
            with _collected(collector):
                compiled = compile_graph(options, module, inputs, self.id, trace.fake_mode)
        except BackendError as error:
            if options.fullgraph or not _is_untraceable(error.__cause__):
                raise
            detail = f"the backend cannot trace this graph, which runs operator by operator: {error.__cause__}"
            emit(Fallback(self.id, self.code, self.pc, R.UNSUPPORTED_OPERATOR, detail))
            compiled = compile_graph(replace(options, **IN_ORDER), module, inputs, self.id, trace.fake_mode)
        self.backend_seconds += time.perf_counter() - began
        for node in module.graph.nodes:
            node.meta.pop("where", None)  # it holds user code, and the region of user code holds the graph
        lowering.add_guards(shape_guards(trace, lowering.inputs))
        return replay.prepare(compiled.fn, trace, lowering.inputs, compiled.mutates_in_order)


def _is_untraceable(error: BaseException | None) -> bool:
    """Whether a graph is fit to run, but not for AOTAutograd, which differentiates it even if nobody calls backward."""
    changed = isinstance(error, RuntimeError) and "modified by an inplace operation" in str(error)
    return changed or isinstance(error, UNTRACEABLE)


def _share_memory(tensors: list[torch.Tensor]) -> bool:
    storages = [tensor.untyped_storage().data_ptr() for tensor in tensors if tensor.numel()]
    return len(set(storages)) != len(storages)


def _failure_texts(known: list[Region]) -> list[str]:
    texts = []
    for region in known:
        failure = region.failure()
        texts.append("never tried" if failure is None else f"{failure.expected}: saw {failure.saw}")
    return texts


def describe(guilty: Any) -> str:
    """A value in a few words, for messages."""
    if guilty is None:
        return ""
    kind = type(guilty)
    if kind is Const:
        guilty, kind = guilty.obj, type(guilty.obj)
    elif kind is Node:
        return f"a tensor of the graph ({guilty.node})"
    elif kind is Number:
        return str(guilty.path)
    elif issubclass(kind, Value):
        path = getattr(guilty, "path", None)
        cls = guilty.cls if kind is not Lazy else type(guilty.real)
        return f"a {cls.__qualname__}" + (f" at {path}" if path is not None else "")
    if _answers_for_itself(kind):
        return f"a {kind.__qualname__}"
    name = getattr(guilty, "__qualname__", None)
    if isinstance(name, str):
        return f"{getattr(guilty, '__module__', None) or ''}.{name}".lstrip(".")
    return f"a {kind.__qualname__}"


def _answers_for_itself(kind: type) -> bool:
    """Whether asking objects of this class for an attribute runs the user's code."""
    hooks = (vars(base) for base in kind.__mro__ if base is not object)
    return any(isinstance(found.get("__getattribute__"), FunctionType) or "__getattr__" in found for found in hooks)
