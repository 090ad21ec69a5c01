"""Compiled callables: they pass for the function; what marks, misses and configurations do."""

import asyncio
import collections.abc
import functools
import gc
import inspect
import pickle
import sys
import types
import weakref

from framejit.bytecode.decode import decode
from frames.core import KEY, NATIVE, OFF, C, callbacks, compiled, find, install, opaque, program, raised


def sample(a, b=2, *, c: int = 3) -> int:
    """The doc."""
    return a + b + c


sample.label = "label"
module_level = C.Compiled(sample, KEY)


# ---- passing for the function ----
def test_attributes():
    run = compiled(sample)
    assert run.__name__ == "sample" and run.__qualname__ == "sample" and run.__doc__ == "The doc."
    assert run.__module__ == sample.__module__ and run.label == "label" and run.__wrapped__ is sample
    assert inspect.signature(run) == inspect.signature(sample)
    assert run.__defaults__ == (2,) and run.__code__ is sample.__code__ and run.__annotations__ == sample.__annotations__
    assert run(1) == 6 and run(1, 1, c=1) == 3 and callable(run)
    run.own = 5
    assert run.own == 5 and not hasattr(sample, "own") and "own" in vars(run)
    assert "sample" in repr(run)
    assert isinstance(raised(lambda: run.missing), AttributeError)
    for wrong in ((), (1, 2, 3), (1, 2, 3, 4)):
        assert str(raised(run, *wrong)) == str(raised(sample, *wrong))


def test_binding():
    class Thing:
        value = 4

        @compiled
        def method(self, x):
            return self.value + x

        @property
        @compiled
        def prop(self):
            return self.value

        @classmethod
        @compiled
        def made(cls, x):
            return cls.value * x

        static = staticmethod(compiled(lambda x: x + 1))

    thing = Thing()
    assert thing.method(1) == 5 and Thing.method(thing, 2) == 6 and thing.prop == 4
    assert thing.made(3) == 12 and thing.static(1) == 2
    assert thing.method.__self__ is thing and thing.method.__name__ == "method"
    bound = compiled(Thing().method)
    assert bound(1) == 5
    assert functools.partial(compiled(sample), 1)(b=1) == 5


def test_kinds_of_functions_are_told_by_inspect():
    async def coroutine():
        pass

    def generator():
        yield 1

    async def asynchronous():
        yield 1

    assert inspect.iscoroutinefunction(compiled(coroutine)) == inspect.iscoroutinefunction(functools.wraps(coroutine)(coroutine))
    assert inspect.isgeneratorfunction(compiled(generator))
    assert inspect.isasyncgenfunction(compiled(asynchronous))


def test_pickles_by_name():
    assert pickle.loads(pickle.dumps(sample)) is sample
    assert compiled(sample).__reduce__() == "sample"


def test_cycles_are_collected():
    def recursive():
        return itself  # noqa: F821

    run = itself = compiled(recursive)
    run.me = run
    reference = weakref.ref(run)
    del run, itself, recursive
    gc.collect()
    assert reference() is None


# ---- misses ----
def twice(x):
    return helper(x) + helper(x)


def helper(x):
    return x + 1


def test_miss_is_asked_once_per_frame_and_sees_it():
    seen = []

    def miss(view):
        seen.append((view.func.__name__, view.pc, view.slots, view.key, view.generator, view.fresh))
        assert view.code is view.func.__code__ and view.globals is globals() and view.handled is None
        assert view.builtins["len"] is len and view.locals is None
        return False

    with callbacks(miss, lambda code, space: 2 if code is helper.__code__ else 0):
        assert compiled(twice)(3) == 8
    assert seen == [("twice", 0, [3], KEY, False, True)] + [("helper", 0, [3], KEY, False, True)] * 2


def test_classify_is_asked_once_per_code():
    asked = []

    class Tensor:
        pass

    def classify(code, space):
        asked.append(code.co_name)
        return 1

    missed = []
    for code in (twice.__code__, helper.__code__):
        C.reset(code)
    types_before = C.set_tensor_types((Tensor,))
    tensor = Tensor()
    Tensor.__add__ = lambda self, other: 0
    C.mark(Tensor.__add__.__code__, None, -1, NATIVE)
    with callbacks(lambda view: missed.append(view.code.co_name), classify):
        run = compiled(twice)
        run(1)
        assert missed == ["twice"] and asked == ["helper"]
        run(tensor)
        assert missed == ["twice"] + ["twice", "helper", "helper"] and asked == ["helper"]
    C.set_tensor_types(types_before)


def test_installed_region_runs_at_once():
    def miss(view):
        C.install(view.code, view.pc, view.key, program(("LOAD_CONST", 0, "captured"), ("RETURN", 0)))
        return True

    C.reset(twice.__code__)
    with callbacks(miss, lambda code, space: 0):
        assert compiled(twice)(1) == "captured"
    assert compiled(twice)(1) == "captured"
    assert [row[:3] for row in C.regions(twice.__code__)] == [(0, KEY, 0)]
    C.reset(twice.__code__)
    assert C.regions(twice.__code__) == [] and compiled(twice)(1) == 4


def test_region_that_fails_on_its_own_frame_is_rejected():
    rejected = []
    made = program(("LOAD_SLOT", 0, 0), ("CHECK_EQ", 0, "other"), ("RETURN", 0))

    def miss(view):
        C.install(view.code, view.pc, view.key, made)
        return True

    C.reset(twice.__code__)
    with callbacks(miss, lambda code, space: 0, lambda *args: rejected.append(args)):
        assert compiled(twice)(1) == 4
    assert rejected == [(twice.__code__, 0, KEY, made)]
    assert C.regions(twice.__code__)[0][3] == ()


def test_exceptions_of_the_callbacks_appear_in_the_frame():
    class Strict(Exception):
        pass

    def fails(*args):
        raise Strict

    C.reset(twice.__code__)
    C.reset(helper.__code__)
    with callbacks(fails):
        error = raised(compiled(twice), 1)
    assert type(error) is Strict
    with callbacks(None, fails):
        error = raised(compiled(twice), 1)
    assert type(error) is Strict and C.hook_enabled(False) is False
    assert compiled(twice)(1) == 4


def test_the_hook_is_off_in_callbacks_and_predicates():
    enabled = []

    def look(*args):
        enabled.append(C.hook_enabled(False))
        return False

    with callbacks(look, look):
        compiled(twice)(1)
    assert enabled and not any(enabled)
    assert C.hook_enabled(False) is False


# ---- marks ----
def test_marks():
    missed = []
    for code in (twice.__code__, helper.__code__):
        C.reset(code)
    with callbacks(lambda view: missed.append(view.code.co_name), lambda code, space: 2):
        run = compiled(twice)
        C.mark(twice.__code__, KEY, 0, NATIVE)
        run(1)
        assert missed == ["helper", "helper"]
        C.mark(helper.__code__, KEY, -1, NATIVE)
        run(1)
        assert missed == ["helper", "helper"]
        C.mark(helper.__code__, KEY, -1, 0)
        compiled(twice, "other")(1)
        assert missed == ["helper", "helper"] + ["twice", "helper", "helper"]
        missed.clear()
        C.mark(twice.__code__, None, -1, OFF)
        run(1)
        compiled(twice, "other")(1)
        assert missed == []
        C.reset()
        run(1)
        assert missed == [], "what is off for everybody stays off"
        C.mark(twice.__code__, None, -1, 0)
        run(1)
        assert missed == ["twice", "helper", "helper"]
    assert type(raised(C.mark, twice.__code__, None, 0, 9)) is ValueError
    assert type(raised(C.install, twice.__code__, 1, KEY, program(("NATIVE", 0)))) is ValueError
    assert type(raised(C.install, twice.__code__, 0, KEY, None)) is TypeError
    C.reset()


# ---- rule 9: keys and life times ----
def test_two_configurations_do_not_mix():
    C.reset(twice.__code__)
    for key in ("one", "two"):
        install(twice, ("LOAD_CONST", 0, key), ("RETURN", 0), key=key)
    one, two = compiled(twice, "one"), compiled(twice, "two")
    assert one(1) == "one" and two(1) == "two" and compiled(twice, "three")(1) == 4 and twice(1) == 4
    C.reset(twice.__code__)


def test_keys_are_equal_not_identical_and_can_be_forgotten():
    C.reset(twice.__code__)
    one, same = int("1000"), int("1000")
    assert one is not same
    install(twice, ("LOAD_CONST", 0, "thousand"), ("RETURN", 0), key=one)
    install(twice, ("LOAD_CONST", 0, "other"), ("RETURN", 0), key="other")
    run, other = compiled(twice, same), compiled(twice, "".join(["ot", "her"]))
    assert run(1) == "thousand" and other(1) == "other"
    C.forget(int("1000"))
    assert run(1) == 4 and other(1) == "other"
    C.reset(twice.__code__)


def calls_out(f):
    return f(1)


def test_reset_inside_a_running_region():
    call = find(calls_out, "CALL")
    heads = [-1, 0] if decode(calls_out.__code__).instructions and sys.version_info[:2] < (3, 13) else [0, -1]

    def forget(x):
        C.reset()
        gc.collect()
        return x + 1

    install(calls_out, ("LOAD_SLOT", 0, 0), ("LOAD_CONST", 1, 1), ("SLOTS", [0, *heads, 1]), opaque(call))
    install(calls_out, ("LOAD_CONST", 0, "never"), ("RETURN", 0), pc=call.next_pc)
    assert compiled(calls_out)(forget) == 2
    assert C.regions(calls_out.__code__) == []

    def predicate(x):
        C.reset()
        return True

    install(calls_out, ("LOAD_SLOT", 0, 0), ("CHECK_PY", predicate, [0]), ("LOAD_CONST", 1, "done"), ("RETURN", 1))
    assert compiled(calls_out)(forget) == "done"
    assert C.regions(calls_out.__code__) == []


def test_code_objects_die_with_their_regions():
    def make():
        def short(x):
            return x

        return short

    class Thing:
        pass

    function = types.FunctionType(make().__code__.replace(co_name="other"), {})
    thing = Thing()
    alive = weakref.ref(thing)
    install(function, ("LOAD_CONST", 0, thing), ("RETURN", 0))
    assert compiled(function)(1) is thing
    del thing
    assert alive() is not None
    del function
    gc.collect()
    assert alive() is None


# ---- generators and coroutines ----
def counting(n):
    try:
        for i in range(n):
            got = yield i
            if got == "stop":
                return got + "ped"
    finally:
        finished.append(n)


finished = []


def test_generators():
    finished.clear()
    run = compiled(counting)
    made = run(3)
    assert isinstance(made, types.GeneratorType) and isinstance(made, collections.abc.Generator)
    assert inspect.isgenerator(made) and not isinstance(made, collections.abc.Awaitable)
    assert inspect.getgeneratorstate(made) == "GEN_CREATED" and made.__name__ == "counting" and "counting" in repr(made)
    assert iter(made) is made and list(made) == [0, 1, 2] and finished == [3]
    assert made.gi_frame is None and made.gi_code is counting.__code__
    made = run(3)
    assert next(made) == 0 and made.send("stop" if False else None) == 1
    stop = raised(made.send, "stop")
    assert type(stop) is StopIteration and stop.value == "stopped"
    made = run(3)
    next(made)
    assert type(raised(made.throw, KeyError("k"))) is KeyError
    made = run(3)
    next(made)
    made.close()
    assert finished == [3, 3, 3, 3] and type(raised(next, made)) is StopIteration
    reference = weakref.ref(made)
    made.__name__ = "renamed"
    assert made.__name__ == "renamed"
    del made
    assert reference() is None

    def delegates():
        result = yield from run(2)
        return "outer", result

    assert list(delegates()) == [0, 1]
    made = delegates()
    next(made)
    assert raised(made.send, "stop").value == ("outer", "stopped")


def test_the_hook_is_on_only_while_a_generator_runs():
    missed = []
    C.reset(counting.__code__)
    with callbacks(lambda view: missed.append((view.pc, view.generator)), lambda code, space: 0):
        made = compiled(counting)(2)
        assert not C.hook_enabled(False)
        assert next(made) == 0 and not C.hook_enabled(False)
        assert next(made) == 1
    after_yield = find(counting, "YIELD_VALUE").next_pc
    start = find(counting, "RETURN_GENERATOR").next_pc
    assert missed == [(0, False), (start, True), (after_yield, True)], missed
    del made
    finished.clear()


def test_regions_of_a_generator():
    pause = find(counting, "YIELD_VALUE")
    keep = len(decode(counting.__code__).locals)
    install(counting, ("LOAD_CONST", 0, "from a region"), ("SLOTS", [-2] * (keep + 1) + [0]), ("NATIVE", pause.pc), pc=pause.next_pc)
    made = compiled(counting)(3)
    assert next(made) == 0
    assert next(made) == "from a region" and next(made) == "from a region"
    C.reset(counting.__code__)
    assert next(made) == 1
    leave = find(counting, "RESUME", 0, value=1)
    install(counting, ("LOAD_CONST", 0, "returned"), ("RETURN", 0), pc=leave.pc)
    assert raised(next, made).value == "returned" and made.gi_frame is None
    C.reset(counting.__code__)


class Pause:
    def __await__(self):
        return (yield "paused")


async def waits(x):
    first = await Pause()
    return x, first


async def yields(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i


def test_coroutines():
    run = compiled(waits)
    made = run(1)
    assert isinstance(made, types.CoroutineType) and isinstance(made, collections.abc.Coroutine)
    assert inspect.iscoroutine(made) and inspect.isawaitable(made) and asyncio.iscoroutine(made)
    assert inspect.getcoroutinestate(made) == "CORO_CREATED" and type(raised(iter, made)) is TypeError
    assert made.send(None) == "paused" and inspect.getcoroutinestate(made) == "CORO_SUSPENDED"
    assert raised(made.send, 5).value == (1, 5)
    made = run(1)
    made.send(None)
    assert type(raised(made.throw, KeyError)) is KeyError

    async def main():
        pair = await asyncio.gather(asyncio.create_task(sleeps(1)), sleeps(2))
        return pair, await sleeps(3)

    sleeps = compiled(asyncio_sleep)
    assert asyncio.run(main()) == ([1, 2], 3)

    async def nests():
        inner = run(7)
        assert inner.cr_await is None
        return await inner

    made = nests()
    assert made.send(None) == "paused" and made.cr_await is not None
    assert raised(made.send, 8).value == (7, 8)
    made = nests()
    made.send(None)
    made.close()


async def asyncio_sleep(x):
    await asyncio.sleep(0)
    return x


def test_asynchronous_generators():
    run = compiled(yields)

    async def main():
        made = run(3)
        assert isinstance(made, types.AsyncGeneratorType) and isinstance(made, collections.abc.AsyncGenerator)
        found = [x async for x in made]
        other = run(5)
        first = await other.__anext__(), await anext(other), await other.asend(None)
        await other.aclose()
        third = run(2)
        await anext(third)
        try:
            await third.athrow(KeyError("k"))
        except KeyError:
            return found, first, "thrown"

    assert asyncio.run(main()) == ([0, 1, 2], (0, 1, 2), "thrown")


@types.coroutine
def old_style(x):
    got = yield x
    return got


def test_generator_based_coroutines():
    async def main():
        return await compiled(old_style)(4)

    made = main()
    assert made.send(None) == 4 and raised(made.send, "sent").value == "sent"


def test_regions_of_a_coroutine():
    where = find(waits, "RESUME", value=3)
    missed = []
    C.reset(waits.__code__)
    with callbacks(lambda view: missed.append(view.pc), lambda code, space: 0):
        made = compiled(waits)(1)
        made.send(None)
        assert raised(made.send, 2).value == (1, 2)
    assert where.pc in missed
    install(waits, ("LOAD_SLOT", 0, 0), ("RETURN", 0), pc=where.pc)
    made = compiled(waits)("value")
    made.send(None)
    assert raised(made.send, 2).value == "value"
    C.reset(waits.__code__)


def test_built_generators():
    pause = find(counting, "RESUME", value=1)
    locals_ = [local.name for local in decode(counting.__code__).locals]

    def gives(iterator):
        return iterator

    iterator = iter([5, 6])
    values = {"n": 9, "i": 0}
    rows = [("LOAD_CONST", 0, counting), ("LOAD_SLOT", 1, 0), ("LOAD_CONST", 2, 9), ("LOAD_CONST", 3, 0)]
    registers = [2 if name == "n" else 3 if name == "i" else -1 for name in locals_]
    install(gives, *rows, ("BUILD_GENERATOR", 4, 0, pause.pc, [*registers, 1]), ("RETURN", 4))
    finished.clear()
    made = compiled(gives)(iterator)
    assert type(made) is types.GeneratorType and made.gi_frame.f_locals == values
    assert made.send(None) == 5 and next(made) == 6
    assert type(raised(next, made)) is StopIteration and finished == [9]
    made = compiled(gives)(iter([1]))
    made.close()
    assert finished == [9, 9]
    C.reset(gives.__code__)
