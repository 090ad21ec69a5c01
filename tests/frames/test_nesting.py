"""Rules 1, 7, 8 and 11: nesting, interruptions, tracing, threads, other hooks, unsupported interpreters."""

import ctypes
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from pathlib import Path

from frames.core import C, callbacks, compiled, find, install, raised
from frames.stepper import Stepper

HERE = Path(__file__).parent


def rec(n):
    return 0 if n == 0 else 1 + rec(n - 1)


def with_limit(limit, call):
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        return call()
    finally:
        sys.setrecursionlimit(before)


def test_recursion_under_the_hook():
    run = compiled(rec)
    assert run(900) == 900
    assert with_limit(100_000, lambda: run(60_000)) == 60_000
    assert isinstance(raised(run, 10_000), RecursionError)
    assert run(900) == 900


def test_recursion_through_regions():
    stepper = Stepper({rec.__code__})
    C.reset(rec.__code__)
    with callbacks(stepper.miss, stepper.classify):
        run = compiled(rec)
        assert run(90) == 90
        assert run(900) == 900
        assert with_limit(100_000, lambda: run(60_000)) == 60_000
        assert isinstance(raised(run, 10_000), RecursionError)
    C.reset(rec.__code__)
    assert not C.hook_enabled(False)


# ---- rule 7 ----
class Alarm(Exception):
    pass


def spin(box):
    while True:
        box


def endless():
    """A loop of regions in which CPython never runs an instruction."""
    load = find(spin, "LOAD_FAST")
    install(spin, ("ENTER", load.pc))
    install(spin, ("LOAD_SLOT", 0, 0), ("SLOTS", [0]), ("ENTER", load.pc), pc=load.pc)
    return compiled(spin)


def test_signals_reach_a_loop_of_regions():
    where = []

    def handler(number, frame):
        where.append(frame.f_code.co_name)
        raise Alarm

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        error = raised(endless(), 1)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert isinstance(error, Alarm)
    assert where == ["spin"]
    names = []
    entry = error.__traceback__
    while entry:
        names.append(entry.tb_frame.f_code.co_name)
        entry = entry.tb_next
    assert names == ["raised", "spin", "handler"]
    C.reset(spin.__code__)


def test_other_threads_and_asynchronous_exceptions_reach_a_loop_of_regions():
    run = endless()
    caught = []

    def work():
        try:
            run(1)
        except Alarm as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(20):  # needs the GIL, which the loop must give up
        time.sleep(0.001)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Alarm))
    thread.join(30)
    assert not thread.is_alive()
    names = []
    entry = caught[0].__traceback__
    while entry:
        names.append(entry.tb_frame.f_code.co_name)
        entry = entry.tb_next
    assert names == ["work", "spin"], names
    C.reset(spin.__code__)


# ---- rule 8 ----
def traced(x):
    a = x + 1
    b = a * 2
    return b


def events_of(call):
    seen = []

    def trace(frame, event, arg):
        if frame.f_code is traced.__code__:
            seen.append((event, frame.f_lineno))
        return trace

    sys.settrace(trace)
    try:
        call(1)
    finally:
        sys.settrace(None)
    return seen


def test_traced_frames_run_eagerly():
    install(traced, ("LOAD_CONST", 0, "region"), ("RETURN", 0))
    run = compiled(traced)
    assert run(1) == "region"
    assert events_of(run) == events_of(traced)
    assert run(1) == "region"
    C.reset(traced.__code__)


def test_profiling_does_not_stop_capture():
    install(traced, ("LOAD_CONST", 0, "region"), ("RETURN", 0))
    run = compiled(traced)
    sys.setprofile(lambda frame, event, arg: None)
    try:
        result = run(1)
    finally:
        sys.setprofile(None)
    assert result == "region"
    C.reset(traced.__code__)


def test_monitored_frames_run_eagerly():
    if not hasattr(sys, "monitoring"):
        return
    monitoring, seen = sys.monitoring, []
    install(traced, ("LOAD_CONST", 0, "region"), ("RETURN", 0))
    run = compiled(traced)
    monitoring.use_tool_id(3, "test")
    monitoring.register_callback(3, monitoring.events.LINE, lambda code, line: seen.append(line))
    try:
        monitoring.set_local_events(3, traced.__code__, monitoring.events.LINE)
        assert run(1) == 4 and len(seen) == 3
        monitoring.set_local_events(3, traced.__code__, 0)
        assert run(1) == "region" and len(seen) == 3
        monitoring.set_events(3, monitoring.events.LINE)
        assert run(1) == 4 and len(seen) > 3
    finally:
        monitoring.set_events(3, 0)
        monitoring.register_callback(3, monitoring.events.LINE, None)
        monitoring.free_tool_id(3)
    assert run(1) == "region"
    C.reset(traced.__code__)


# ---- rule 11: threads ----
def tail(value):
    return value


def meet(barrier, value):
    barrier.wait(10)
    first = tail(value)
    barrier.wait(10)
    return first, tail(value)


def test_threads_have_their_own_flags_and_keys():
    barrier = threading.Barrier(3)
    install(tail, ("LOAD_CONST", 0, "from one"), ("RETURN", 0), key="one")
    results = {}
    jobs = {"plain": meet, "one": compiled(meet, "one"), "two": compiled(meet, "two")}

    def work(name):
        results[name] = jobs[name](barrier, name)

    threads = [threading.Thread(target=work, args=(name,)) for name in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert results == {"plain": ("plain",) * 2, "one": ("from one",) * 2, "two": ("two",) * 2}
    C.reset(tail.__code__)


def test_a_thread_outside_is_left_alone():
    seen = []
    inside, leave = threading.Event(), threading.Event()

    def hold():
        inside.set()
        leave.wait(10)

    def other():
        return 1

    def classify(code, space):
        seen.append(code.co_name)
        return 0

    with callbacks(classify=classify):
        thread = threading.Thread(target=compiled(hold))
        thread.start()
        inside.wait(10)
        other()
        leave.set()
        thread.join(10)
    assert "other" not in seen


def pointer_is_set():
    """Whether the interpreter-wide hook is anything but CPython's own evaluation function."""
    python = ctypes.pythonapi
    python.PyInterpreterState_Main.restype = ctypes.c_void_p
    python._PyInterpreterState_GetEvalFrameFunc.restype = ctypes.c_void_p
    python._PyInterpreterState_GetEvalFrameFunc.argtypes = [ctypes.c_void_p]
    current = python._PyInterpreterState_GetEvalFrameFunc(python.PyInterpreterState_Main())
    return current != ctypes.cast(python._PyEval_EvalFrameDefault, ctypes.c_void_p).value


def test_the_pointer_is_set_only_inside_compiled_calls():
    seen = []

    def look(*args):
        seen.append(pointer_is_set())
        if args:
            raise args[0]

    def generator():
        seen.append(pointer_is_set())
        yield 1
        seen.append(pointer_is_set())

    def deep(n):
        return pointer_is_set() if n == 0 else deep(n - 1)

    def switches_off():
        before = C.hook_enabled(False)
        seen.append(pointer_is_set())
        C.hook_enabled(before)
        seen.append(pointer_is_set())

    assert not pointer_is_set()
    compiled(look)()
    assert type(raised(compiled(look), KeyError())) is KeyError
    for _ in compiled(generator)():
        assert not pointer_is_set()
    compiled(switches_off)()
    assert seen == [True] * 4 + [False, True]
    assert compiled(deep)(10) and not compiled(deep)(200)
    with callbacks(lambda view: seen.append(pointer_is_set())):
        compiled(leaf)(1)
    assert seen[-1] is False and not pointer_is_set()


# ---- rule 11: another hook ----
def load_other_hook():
    """A hook of another project: counts frames and calls the hook that was there before it."""
    folder = Path(tempfile.mkdtemp())
    include = sysconfig.get_paths()["include"]
    target = folder / "other.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-w", f"-I{include}", str(HERE / "other_hook.c"), "-o", str(target)], check=True)
    return ctypes.PyDLL(str(target))


def leaf(x):
    return x


def around(x):
    return leaf(x)


def test_another_hook_below_ours():
    other = load_other_hook()
    install(around, ("LOAD_CONST", 0, "region"), ("RETURN", 0))
    run = compiled(around)
    other.push()
    try:
        assert run(1) == "region"
        before = other.count()
        assert leaf(1) == 1
        assert other.count() == before + 1
        C.reset(around.__code__)
        assert run(2) == 2
        assert other.count() >= before + 2
    finally:
        other.pop()
    count = other.count()
    leaf(1)
    assert other.count() == count


def test_another_hook_pushed_and_popped_over_ours():
    other = load_other_hook()
    C.reset(around.__code__)
    install(leaf, ("LOAD_CONST", 0, "region"), ("RETURN", 0))

    def inside(x):
        other.push()
        first = leaf(x)
        second = compiled(around)(x)
        other.pop()
        return first, second

    def left_behind(x):
        other.push()

    try:
        assert compiled(inside)(1) == ("region", "region")
        assert leaf(1) == 1
        compiled(left_behind)(1)
        assert leaf(1) == 1  # the other hook still calls ours, which is off
        assert compiled(around)(1) == "region"
        assert leaf(1) == 1
    finally:
        other.pop()
        other.clear()
    assert leaf(1) == 1
    assert compiled(around)(1) == "region"
    C.reset(leaf.__code__)


def test_subinterpreters_get_the_error():
    """In a process of its own: once there was a second interpreter, PyGILState_Check() is no longer to be relied on."""
    inner = (
        "import importlib.util\n"
        f"spec = importlib.util.spec_from_file_location('framejit._C', {C.__file__!r})\n"
        "try: spec.loader.exec_module(importlib.util.module_from_spec(spec))\n"
        "except ImportError as error: assert 'interpreter' in str(error), error\n"
        "else: raise AssertionError('imported')\n"
    )
    outer = (
        "try: import _xxsubinterpreters as interpreters\n"
        "except ImportError: import _interpreters as interpreters\n"
        "made = interpreters.create()\n"
        f"failed = interpreters.run_string(made, {inner!r})\n"
        "assert failed is None, failed\n"
        "interpreters.destroy(made)\n"
    )
    result = subprocess.run([sys.executable, "-c", outer], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
