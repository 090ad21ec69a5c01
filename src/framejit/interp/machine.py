"""The symbolic interpreter: runs canonical instructions on symbolic values until the region ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import Any, NoReturn

from framejit import dynamic
from framejit.bytecode.decode import decode
from framejit.bytecode.flow import analyze
from framejit.bytecode.instr import OP_NAMES, Instr
from framejit.config import config
from framejit.core.classes import compares
from framejit.core.errors import Cut, Raised, Retrace, Uncaught, Unsupported
from framejit.core.heap import MISSING
from framejit.core.lifetime import is_quiet
from framejit.core.path import (
    BUILTINS,
    CALLER_EXTRA,
    CALLER_FUNC,
    CALLER_SLOT,
    FRAME_SLOTS,
    FUNC,
    GLOBALS,
    HANDLED,
    SLOT,
    Path,
)
from framejit.core.services import Pending
from framejit.core.state import Ended, Exit, ExitKind, FrameState, Result
from framejit.core.trace import Trace
from framejit.core.value import NONE, NULL, Const, Lazy, Node, Null, Number, Pack, Ref, Value
from framejit.core.where import Where
from framejit.interp import calls, generators
from framejit.interp.frame import Frame, Shown
from framejit.interp.unwind import unwind
from framejit.objects import constants, deaths, exception, frame_, object_, protocol, reach
from framejit.objects.dict_ import realize_dict
from framejit.objects.model import model_of
from framejit.reasons import R
from framejit.rules import operator_graph

Handler = Callable[["Interpreter", Frame, Instr], None]
OPS: list[Handler | None] = [None] * len(OP_NAMES)
DYNAMIC_TYPES = (int, float)
MOST_VARIANTS = 4  # regions at one place that differ by where a given generator waits, or in other ways


@dataclass(frozen=True, slots=True)
class Start:
    """The real frame a capture starts from; `slots` holds real objects, `empty` marks empty slots."""

    code: CodeType
    func: Any
    pc: int
    slots: Sequence[Any]
    globals: dict[str, Any]
    builtins: dict[str, Any]
    empty: Any
    handled: Any = None
    options: Any = None
    decisions: frozenset[Any] = field(default_factory=frozenset)
    caller: Waiting | None = None
    variants: int = 0  # regions that there are at this place
    inherits: bool = False  # who drives the generator that the frame runs in handles an exception


@dataclass(frozen=True, slots=True)
class Waiting:
    """A real frame that waits at the call at `pc` for the frame below it, and what it does with the result."""

    code: CodeType
    func: Any
    pc: int
    slots: Sequence[Any]
    globals: dict[str, Any]
    result: Result
    extra: Any
    caller: Waiting | None = None


class Interpreter:
    """One capture attempt. The services that models and rules use are attributes taken from the layers below."""

    # the object protocol
    getattr, setattr, delattr = protocol.getattr_, protocol.setattr_, protocol.delattr_
    getitem, setitem, delitem = protocol.getitem, protocol.setitem, protocol.delitem
    binary, compare, unary, contains = protocol.binary, protocol.compare, protocol.unary, protocol.contains
    truth, is_same, hash, len = protocol.truth, protocol.is_same, protocol.hash_, protocol.len_
    iter, next, unpack, listed, each = protocol.iter_, protocol.next_, protocol.unpack, protocol.listed, protocol.each
    generic_attribute, generic_store = object_.generic_attribute, object_.generic_store
    special, call_method, type_lookup, dict_of = protocol.special, protocol.call_method, protocol.type_lookup, protocol.dict_of
    constant, is_constant, wrap = constants.constant, constants.is_constant, constants.wrap
    tail_call, run_code = calls.tail_call, calls.run_code
    operator = operator_graph.operator

    def __init__(self, start: Start):
        self.start = start
        self.decisions = start.decisions
        self.stops = {decision[1] for decision in start.decisions if decision[0] in ("break", "cut")}  # steps
        self.options = start.options
        self.trace = Trace(share_fakes="unshared_fakes" not in start.decisions)
        self.heap = self.trace.heap
        self.frames: list[Frame] = []
        self.forced: dict[Lazy, Value] = {}
        self.state: dict[str, Value] = {"handled": NONE}
        self.steps = 0
        self.advances = 0
        self.step_limit = config.instruction_limit
        self.returned: Value = NONE
        self.mark = 0
        self.mark_depth = 0
        self.mark_step = 0
        self.deepest = 0  # the most frames on top of the first one
        self.waiting: list[Waiting] = []  # callers of the start's frame that no return has reached yet, outermost first
        self.callers = 0
        self.left: list[Ended] = []  # the start's frame and its callers, as far as they have ended for their callers to go on
        self.watched: list[reach.Watched] = []
        self.held: list[list[Value]] = []  # what callbacks are called with, the parts of objects that are dying
        self.hidden = 0  # how many calls C code waits for, which may hold more
        self.drops = deaths.Drops()
        self.floor = 0  # depth of the frames of the callback that runs
        self.dying = 0  # deaths that are under way
        self.base = 0  # depth at which the running loop ends: the frame there returns to Python, not to a frame

    # -- running --------------------------------------------------------------------------------------------------

    def run(self) -> Exit:
        """Interpret from the start to the region's end."""
        return replace(self._run(), depth=SPARE_FRAMES + 2 * self.deepest)

    def _run(self) -> Exit:
        root = self._root()
        self._push_callers(root)
        self.frames.append(root)
        self.note_handlers(root)
        self.watched = reach.watched(value for frame in self.frames for value in (*frame.slots, *frame.stack))
        self.trace.cache[reach.KEEP] = bool(self.watched)
        try:
            return self._loop()
        except Unsupported as stop:
            return self._stop(stop)
        except RecursionError:
            return self._stop(Unsupported(R.INLINE_TOO_DEEP, None, "deep recursion in C code"))
        except MemoryError:
            return self._stop(Unsupported(R.OPAQUE_OPERATION, None, "a very large result"))

    def _root(self) -> Frame:
        start, roots = self.start, self.trace.roots
        code = decode(start.code)
        slots: list[Value] = []
        names = [local.name for local in code.locals]
        first = code.by_pc[start.pc]
        flow = analyze(code) if start.pc else None
        for index, real in enumerate(start.slots):
            name = names[index] if index < len(names) else ""
            path = roots.root(SLOT, (index, name))
            if real is not start.empty:
                slots.append(Lazy(path, real))
                continue
            slots.append(NULL)
            if flow is not None and (index >= len(names) or flow.is_live(first, index)):
                self.trace.guard(path, "SLOT_EMPTY", start.empty)
        func_path = roots.root(FUNC)
        func = Const(start.func, func_path)
        globals_ = realize_dict(self, roots.root(GLOBALS), start.globals)
        assert globals_.path is not None
        roots.dicts[id(start.globals)] = globals_.path
        frame = Frame(code, start.code, func, slots[: code.nlocalsplus], globals_, realize_dict(self, roots.root(BUILTINS), start.builtins))
        frame.stack = slots[code.nlocalsplus :]
        frame.index = first
        self._note_empty(frame, 0)
        self.state["handled"] = Lazy(roots.root(HANDLED), start.handled)  # also where there is none: another frame may come with one
        return frame

    def _note_empty(self, frame: Frame, depth: int) -> None:
        """Remember the empty slots of a real frame: where nobody looks at them, other frames come with values in them, which stay."""
        self.trace.cache["empty", depth] = {index for index, slot in enumerate(frame.slots) if slot is NULL}

    def _slot(self, depth: int, index: int) -> Path:
        """The path of a slot of the real frame that runs now, `depth` calls above the one that the region began in."""
        names = self.frames[-1].code.locals
        name = names[index].name if index < len(names) else ""
        return self.trace.roots.root(CALLER_SLOT, (depth, index, name)) if depth else self.trace.roots.root(SLOT, (index, name))

    def note_quiet(self, path: Path, value: Value) -> None:
        """The running instruction lets go of what a slot held: another frame may come with something that runs code when it dies."""
        forced = self.forced.get(value, value)  # type: ignore[call-overload]
        if not isinstance(forced, (Const, Number, Node)) and is_quiet(value.real):  # type: ignore[attr-defined]
            self.guard(path, "SLOT_QUIET", self.start.empty)

    def note_overwritten(self, index: int) -> None:
        """A local variable of the running frame that was unbound gets a value: in another frame it may be bound by now."""
        if self.is_root(self.frames[-1]):
            depth = self.callers - len(self.waiting)
            if (depth or self.start.pc) and index in self.trace.cache["empty", depth]:
                self.guard(self._slot(depth, index), "SLOT_QUIET", self.start.empty)

    def note_ends(self, frame: Frame) -> None:
        """A real frame ends and goes on in its caller: what its slots hold dies now, in another frame something else."""
        for index, slot in enumerate(frame.slots):
            if slot is NULL:
                self.note_overwritten(index)
            elif isinstance(slot, (Lazy, Ref)) and slot.path is not None and slot.path.kind in FRAME_SLOTS:
                self.note_quiet(slot.path, slot)
                self.trace.flag("dropped")

    def empty_slot(self, index: int) -> None:
        """The running frame empties a slot by itself: if it is a real one, the slot must be empty now or have been so before."""
        if self.is_root(self.frames[-1]):
            depth = self.callers - len(self.waiting)
            if index in self.trace.cache["empty", depth]:
                self.guard(self._slot(depth, index), "SLOT_EMPTY", self.start.empty)

    def _push_callers(self, root: Frame) -> None:
        """The frames that wait for the root: entered when it returns, unread and unguarded till then."""
        roots, waiting, callee = self.trace.roots, self.start.caller, root
        frames: list[Frame] = []
        while waiting is not None:
            depth = len(frames) + 1
            code = decode(waiting.code)
            names = [local.name for local in code.locals] + [""] * len(waiting.slots)
            slots: list[Value] = [
                NULL if real is self.start.empty else Lazy(roots.root(CALLER_SLOT, (depth, index, names[index])), real)
                for index, real in enumerate(waiting.slots)
            ]
            path = roots.root(CALLER_FUNC, (depth,))
            namespace = realize_dict(self, roots.globals_of(waiting.func, path), waiting.globals)
            frame = Frame(code, waiting.code, Const(waiting.func, path), slots[: code.nlocalsplus], namespace, root.builtins)
            frame.stack = slots[code.nlocalsplus :]
            frame.index = code.by_pc[waiting.pc]
            self._note_empty(frame, depth)
            callee.result = waiting.result
            if waiting.result is Result.DISCARD:
                callee.extra = Lazy(roots.root(CALLER_EXTRA, (depth,)), waiting.extra)
            frames.append(frame)
            self.waiting.append(waiting)
            waiting, callee = waiting.caller, frame
        self.frames.extend(reversed(frames))
        self.waiting.reverse()
        self.callers = len(frames)

    def reach_caller(self, ended: Frame, returns: bool) -> None:
        """After a frame has ended: if a frame that waited for the root is on top now, guard that it waits there."""
        waiting = self.waiting
        if not waiting or len(self.frames) != len(waiting):
            return
        found = waiting.pop()
        self.left.append(Ended(tuple(ended.slots), ended.instr.own_pc if returns else None))
        frame = self.frames[-1]
        self.trace.flags["handlers"] = True  # a replay only does the frame that the region began in
        depth, ins = self.callers - len(waiting), frame.instr
        self.guard(None, "CALLER", (depth, found.code, ins.next_pc, found.result.value))
        names, live = [local.name for local in frame.code.locals], analyze(frame.code).live[frame.index + 1]
        for index, slot in enumerate((*frame.slots, *frame.stack)):
            if slot is NULL and (index >= len(names) or live >> index & 1):
                name = names[index] if index < len(names) else ""
                self.trace.guard(self.trace.roots.root(CALLER_SLOT, (depth, index, name)), "SLOT_EMPTY", self.start.empty)

    def know_callers(self, place: int) -> None:
        """Guard where the frames from this place on wait, as far as they were there before the region."""
        for index in range(len(self.waiting) - 1, place - 1, -1):
            found = self.waiting[index]
            self.guard(None, "CALLER", (self.callers - index, found.code, self.frames[index].instr.next_pc, found.result.value))

    def is_root(self, frame: Frame) -> bool:
        """Whether the frame is a real one: that of the start, or one that waited for it."""
        return self.frames[len(self.waiting)] is frame

    def _loop(self) -> Exit:
        frames, log = self.frames, self.trace.trail.log
        ops, cache, watched = OPS, self.trace.cache, self.watched
        while True:
            frame = frames[-1]
            ins = frame.code.instructions[frame.index]
            self.mark = len(log)
            self.mark_depth = len(frames)
            self.steps += 1
            step = self.mark_step = self.steps
            if step >= self.step_limit or step in self.stops:
                self._cut()
            handler = ops[ins.opid]
            if handler is None:
                self.unsupported(R.UNSUPPORTED_OPCODE, None, ins.op)
            try:
                handler(self, frame, ins)
            except Raised as raised:
                unwind(self, raised.value, 0)
            if (watched or deaths.WATCHED in cache) and ins.op not in HOLDING_OPS:
                self._check_lives(step)
            if not frames:
                if deaths.may_leave_cycles(self):
                    deaths.note_cycles(self)
                handled = self.state["handled"]
                left, slots = tuple(self.left), tuple(frame.slots)
                return Exit(ExitKind.RETURN, value=self.returned, instr=frame.instr, left=left, slots=slots, handled=handled)

    def _cut(self) -> None:
        if ("break", self.steps) in self.decisions:
            self.look_up_at_once()
            self.unsupported(R.UNCAUGHT_EXCEPTION)
        raise Cut(R.CODE_TOO_LARGE)

    def _check_lives(self, step: int) -> None:
        """What the instruction dropped dies; the region ends behind one that dropped what CPython finalizes at once."""
        if deaths.WATCHED in self.trace.cache and self.frames:  # else the last frame has let go of what it held
            deaths.settle(self, step)
        lost = reach.lost(self, self.watched) if self.watched and self.frames else 0
        if lost:
            if self.base or lost > 1:  # what the capture made holds them, and lets go of them in an order of its own
                raise Retrace(("break", self.steps))
            self.keep_done()
            raise Cut(R.OPAQUE_OPERATION, None, "a finalizer may run here")

    def watch(self, values: Sequence[Value], owner: Ref) -> None:
        """What the frame of a given generator holds: values whose end CPython has to see are watched from now on."""
        watched, count = self.watched, len(self.watched)
        found = reach.watched(values, owner, watched)
        if found:
            watched += found
            self.trace.trail.on_undo(lambda: watched.__delitem__(slice(count, None)))
            self.trace.trail.put(self.trace.cache, reach.KEEP, True)

    def is_crowded(self) -> bool:
        """Whether the next region here had better suit more states than those at this place do."""
        return self.start.variants >= MOST_VARIANTS

    def keep_done(self) -> None:
        """The present instruction is done: a region that ends now ends behind it, unless it runs inside of another."""
        if not self.base:
            self.mark, self.mark_depth = len(self.trace.trail.log), len(self.frames)
            self.steps += 1
            self.mark_step = self.steps

    def place_in_root(self) -> int | None:
        """The pc of the present instruction in the frame that the region begins in; None where that has returned."""
        return self.frames[self.callers].instr.own_pc if len(self.waiting) == self.callers else None

    def place_in_start(self, ended: Frame | None = None) -> int | None:
        """The pc of the present instruction where it is one of the frame that the region begins in, and no frame waits for that."""
        return self.frames[0].raising_place(ended) if len(self.frames) == 1 and not self.callers else None

    def shown(self, ended: Frame | None = None) -> Shown | None:
        """The running frame as a traceback shows it, if it is one of the capture."""
        if self.callers or self.frames[-1].is_ours:
            return None
        found: Shown | None = None
        for frame, callee in zip(self.frames[1:], [*self.frames[2:], ended]):
            if frame.names is not None:
                return None
            if not frame.is_ours:
                found = Shown(frame, found, frame.raising_place(callee), self.frames[0].instr.own_pc)
        return found

    def is_caught(self) -> bool:
        """Whether a handler of the region would see what the present instruction raises."""
        return any(frame.instr.handler >= 0 for frame in self.frames[len(self.waiting) :])

    def look_up_at_once(self) -> None:
        """An exception ends the region inside what computes an attribute: CPython does the whole look-up, which may add to it."""
        for frame in self.frames:
            if frame.asked is not None and ("at once", frame.asked[2]) not in self.decisions:
                raise Retrace(("at once", frame.asked[2]))

    def _stop(self, stop: Unsupported) -> Exit:
        in_front = isinstance(stop, Cut) and len(self.frames) <= self.mark_depth and self.steps > 1
        self.trace.trail.rollback(self.mark)
        del self.frames[self.mark_depth :]
        if self.trace.tainted:  # the present instruction has changed tensors, or one inside of it: the region ends in front of it
            raise Retrace(("break", self.mark_step)) from None
        if deaths.may_leave_cycles(self):
            deaths.note_cycles(self)
        state: FrameState | None = None
        frames = self.frames[len(self.waiting) :]
        for frame in self.frames:
            asked = self.trace.cache.get((frame_.LOCALS, frame))
            if asked is not None:  # CPython would bring that very dict up to date when asked again
                raise Retrace(("break", asked[1]))
        for frame, callee in zip(frames, [*frames[1:], None], strict=True):
            state = frame.state(state, callee, self.state["handled"] if callee is None else None)
        chain = tuple(Where(frame.real_code, frame.instr.own_pc) for frame in self.frames)
        ins = self.frames[-1].instr
        kind = ExitKind.NATIVE if ins.op in LEAVING_OPS or (ins.op in RAISING_OPS and ins.handler < 0) else ExitKind.OPAQUE
        if in_front:
            kind = ExitKind.ENTER
        return Exit(
            kind, state=state, instr=ins, reason=stop.reason, guilty=stop.guilty, detail=stop.detail, lines=chain, left=tuple(self.left),
            ends=isinstance(stop, Uncaught),
        )  # fmt: skip

    def finish(self, pending: Value | Pending) -> Value:
        """The value of a call: runs a pending frame to its end inside the present instruction."""
        if not isinstance(pending, Frame):
            return pending  # type: ignore[return-value]
        self.push(pending)
        self.run_nested(len(self.frames) - 1)
        return self.returned

    def run_nested(self, depth: int) -> None:
        """Run until the frame stack is back at `depth`; the last frame's value is in `self.returned`."""
        frames = self.frames
        ops, cache, watched = OPS, self.trace.cache, self.watched
        base, self.base = self.base, depth
        self.hidden += 1
        self.measure()
        try:
            while len(frames) > depth:
                frame = frames[-1]
                ins = frame.code.instructions[frame.index]
                self.steps += 1
                step = self.steps
                if step >= self.step_limit or step in self.stops:
                    self._cut()
                handler = ops[ins.opid]
                if handler is None:
                    self.unsupported(R.UNSUPPORTED_OPCODE, None, ins.op)
                try:
                    handler(self, frame, ins)
                except Raised as raised:
                    unwind(self, raised.value, depth)
                if (watched or deaths.WATCHED in cache) and ins.op not in HOLDING_OPS:
                    self._check_lives(step)
        finally:
            self.base = base
            self.hidden -= 1

    def measure(self) -> None:
        """Note how deep the frames are now, with those of C code between them."""
        self.deepest = max(self.deepest, len(self.frames) - self.callers - 1 + self.hidden)

    def note_handlers(self, frame: Frame) -> None:
        """Note that an exception of an operator may be handled inside of the region, where the frame could do so."""
        if frame.real_code.co_exceptiontable:
            self.trace.flags["handlers"] = True

    def push(self, frame: Frame) -> None:
        """Make `frame` the running one; the operands of its call are gone, so this cannot fail."""
        if not frame.direct:
            frame.kept = tuple(frame.slots)
        self.frames.append(frame)
        self.note_handlers(frame)
        self.measure()

    def pop(self, value: Value) -> None:
        """The top frame returns `value`: to its caller, which goes on behind its call, or to the running loop."""
        frame = self.frames.pop()
        if frame.result is Result.DISCARD:
            value = frame.extra if frame.extra is not None else NONE
        self.returned = value
        self.reach_caller(frame, returns=True)
        if len(self.frames) > self.base:
            caller = self.frames[-1]
            caller.stack.append(value)
            caller.index += 1

    def call(self, function: Value, args: Sequence[Value] = (), kwargs: dict[str, Value] | None = None) -> Value:
        return self.finish(calls.tail_call(self, function, args, kwargs))

    def resume_generator(self, ref: Ref, sent: Value, thrown: Value | None = None, past_send: bool = False) -> Value | None:
        """Advance a symbolic generator; None when it returned (its value is in `self.returned`)."""
        return generators.resume(self, ref, sent, thrown, past_send)

    def waiting_frame(self, ref: Ref, function: Const, pc: int, slots: list[Value]) -> Frame:
        """The frame of a real generator that waits in front of `pc`."""
        return generators.waiting_frame(self, ref, function, pc, slots)

    # -- values ---------------------------------------------------------------------------------------------------

    def force(self, value: Value) -> Value:
        if type(value) is not Lazy:
            if type(value) is Null:
                self.unsupported(R.OPAQUE_OPERATION, None, "an empty slot is used")
            return value
        found = self.forced.get(value)
        if found is None:
            found = self.realize(value.path, value.real)
            self.trace.trail.put(self.forced, value, found)
        return found

    def realize(self, path: Path, real: Any) -> Value:
        """The value of a real object, guarded; the same object found before gives the same value."""
        known = self.trace.known.get(id(real))
        if known is not None and not isinstance(known, Const):
            known_path = known.path  # type: ignore[attr-defined]
            if known_path is not None and known_path is not path:
                self.guard(path, "SAME", known_path)
            return known
        kind = type(real)
        meta = kind if issubclass(kind, type) else type(kind)
        if meta is not type and compares(meta):
            self.unsupported(R.UNKNOWN_TYPE, None, "of a class whose metaclass compares or hashes classes")
        if kind in DYNAMIC_TYPES and self.is_dynamic(path, real):
            self.guard(path, "TYPE", kind)
            return Number(kind, path, real)
        return model_of(kind).realize(self, path, real)

    def is_dynamic(self, path: Path, real: int | float) -> bool:
        """Whether the number found at `path` is one of the program instead of a constant."""
        specialized = config.specialize_int if issubclass(type(real), int) else config.specialize_float
        if specialized or ("static", str(path)) in self.decisions:
            return False
        return dynamic.should_be_dynamic(self.start.code, self.start.pc, path, real)

    def is_another(self, path: Path, real: Any, kind: Any) -> bool:
        """Whether the object found at `path` is another one each time, of one kind."""
        return dynamic.is_another(self.start.code, self.start.pc, path, real, kind)

    def has_changed(self, path: Path, content: Any) -> bool:
        """Whether the constants found at `path` are others than an earlier capture at this place met."""
        return dynamic.has_changed(self.start.code, self.start.pc, path, content)

    def dynamic_length(self, path: Path, real_length: int) -> Value | None:
        """The length at `path` as a number if it changed between captures, else None."""
        if self.is_dynamic(path, real_length):
            return Number(int, path, real_length)
        return None

    def real_at(self, path: Path) -> Any:
        """The object found at a path at the start of the region."""
        return path.read(self._root_object)

    def _root_object(self, kind: str, arg: Any) -> Any:
        start = self.start
        if kind == SLOT:
            return start.slots[arg[0]]
        if kind in (FUNC, GLOBALS, BUILTINS):
            return {FUNC: start.func, GLOBALS: start.globals, BUILTINS: start.builtins}[kind]
        return self.unsupported(R.OPAQUE_OPERATION, None, "identity of immutable objects")

    def input(self, path: Path, real: Any) -> Value:
        return Lazy(path, real)

    def guard(self, path: Path | None, predicate: str, operand: Any = None) -> None:
        self.trace.guard(path, predicate, operand, self.where())

    def where(self) -> Where | None:
        """The instruction being interpreted."""
        if not self.frames:
            return None
        frame = self.frames[-1]
        return Where(frame.real_code, frame.code.instructions[frame.index].own_pc)

    # -- control ------------------------------------------------------------------------------------------------------

    def unsupported(self, reason: R, guilty: Any = None, detail: str = "") -> NoReturn:
        raise Unsupported(reason, guilty, detail)

    def raise_error(self, kind: type[BaseException], *args: Any, **names: Any) -> NoReturn:
        raised = self.call(Const(kind), [self.wrap(arg) for arg in args], {name: self.wrap(value) for name, value in names.items()})
        raise Raised(exception.note_raised(self, self.force(raised)))

    def raise_real(self, error: BaseException) -> NoReturn:
        raise Raised(exception.of_real(self, error)) from None

    def exception_type(self, raised: Value) -> type[BaseException]:
        return self.force(raised).cls

    # Last, because they hide the built-in names in the annotations below them.
    repr, str = protocol.repr_, protocol.str_


SPARE_FRAMES = 16  # for C code, whose calls count as well, and for what the program calls
# What drops no reference.
HOLDING_OPS = frozenset({
    "LOAD_FAST", "LOAD_CONST", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_CLOSURE", "PUSH_NULL", "COPY", "SWAP", "NOP", "RESUME",
})  # fmt: skip
# What ends or suspends the frame, and what does so where nothing in the frame handles the exception.
LEAVING_OPS = frozenset({"RETURN_VALUE", "YIELD_VALUE", "ASYNC_GEN_WRAP", "RETURN_GENERATOR"})
RAISING_OPS = frozenset({"RAISE_VARARGS", "RERAISE"})

__all__ = ["MISSING", "OPS", "Interpreter", "Pack", "Start"]
