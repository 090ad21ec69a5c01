"""Frames of suspended generators that a program did not make: read, set to another place, ended."""

import gc
import inspect
import sys
import types
import weakref

from frames.core import C

NULL, MISSING = C.NULL, C.MISSING


class Thing:
    """Something that can be referred to weakly."""


def counts(n):
    for i in range(n):
        kept = [i]
        yield kept


def cells(n):
    total = 0

    def add():
        nonlocal total
        total += n
        return total

    while True:
        yield add()


def handles():
    try:
        raise ValueError
    except ValueError:
        yield 1
    yield 2


def delegates(inner):
    result = yield from inner
    yield result


def cleans(log):
    try:
        yield 1
        yield 2
    finally:
        log.append("clean")


@types.coroutine
def step():
    return (yield "step")


async def waits(thing):
    first = await step()
    return first, thing


def fails(kind, function, *args):
    try:
        function(*args)
    except kind:
        return
    raise AssertionError(f"{function} took {args}")


def place(generator):
    return C.generator_parts(generator)[0]


def test_parts_of_one_that_did_not_start():
    it = counts(3)
    (pc, filled), function, *slots = C.generator_parts(it)
    assert pc > 0 and filled == b"o.." and function is counts and slots == [3, NULL, NULL]
    assert inspect.getgeneratorstate(it) == inspect.GEN_CREATED and list(it) == [[0], [1], [2]]


def test_parts_of_one_that_waits():
    it = counts(3)
    kept = next(it)
    (_, filled), _, *slots = C.generator_parts(it)
    assert filled == b"oooo" and slots[:2] == [3, 0] and slots[2] is kept and type(slots[3]) is type(iter(range(0)))
    assert list(it) == [[1], [2]]


def test_parts_of_one_that_has_ended():
    it = counts(0)
    assert list(it) == [] and C.generator_parts(it) == (None,)
    closed = counts(3)
    closed.close()
    assert C.generator_parts(closed) in ((None,), C.generator_parts(it))


def test_no_parts():
    seen = []

    def looks():
        seen.append(C.generator_parts(running))
        yield 1

    running = looks()
    next(running)
    handling = handles()
    next(handling)
    shown = counts(2)
    frame = shown.gi_frame
    assert seen == [None] and C.generator_parts(handling) is None and C.generator_parts(shown) is None
    del frame
    assert C.generator_parts(shown) is not None
    next(handling)
    assert C.generator_parts(handling) is not None


def test_a_place_is_the_one_of_another_generator():
    ahead, behind = counts(5), counts(5)
    for _ in range(3):
        next(ahead)
    (pc, _), _, *slots = C.generator_parts(ahead)
    C.set_generator(behind, pc, None, *slots[:3], iter(range(3, 5)))
    assert behind.gi_frame.f_locals == {"n": 5, "i": 2, "kept": [2]} and inspect.getgeneratorstate(behind) == inspect.GEN_SUSPENDED
    assert behind.gi_frame.f_lineno == ahead.gi_frame.f_lineno and behind.gi_frame.f_lasti == ahead.gi_frame.f_lasti
    assert list(behind) == list(ahead) == [[3], [4]]


def test_slots_that_are_kept_and_emptied():
    it = counts(4)
    next(it)
    C.set_generator(it, place(it)[0], None, MISSING, 7, NULL, MISSING)
    assert it.gi_frame.f_locals == {"n": 4, "i": 7}
    assert list(it) == [[1], [2], [3]]


def test_what_is_replaced_is_let_go_of():
    thing, it = Thing(), counts(3)
    next(it)
    gone, before = weakref.ref(thing), sys.getrefcount(counts)
    C.set_generator(it, place(it)[0], None, 3, 0, thing, MISSING)
    del thing
    assert gone() is not None
    C.set_generator(it, place(it)[0], None, 3, 0, NULL, MISSING)
    assert gone() is None and sys.getrefcount(counts) == before


def test_cells_are_the_frames_own():
    it = cells(2)
    assert next(it) == 2
    _, _, *slots = C.generator_parts(it)
    cell = next(slot for slot in slots if isinstance(slot, types.CellType) and slot.cell_contents == 2)
    cell.cell_contents = 10
    C.set_generator(it, place(it)[0], None, *[MISSING] * len(slots))
    assert next(it) == 12


def test_an_end():
    for steps in range(3):
        thing, log = Thing(), []
        log.append(thing)
        gone, it, code = weakref.ref(thing), cleans(log), cleans.__code__
        before = sys.getrefcount(code)
        for _ in range(steps):
            next(it)
        C.set_generator(it, -1, None)
        assert inspect.getgeneratorstate(it) == inspect.GEN_CLOSED and it.gi_frame is None and it.gi_yieldfrom is None
        assert it.gi_code is code and list(it) == [] and it.close() is None and "cleans" in repr(it)
        assert log == [thing] and C.generator_parts(it) == (None,)
        fails(KeyError, it.throw, KeyError())
        thing = log = None
        assert gone() is None
        del it
        gc.collect()
        assert sys.getrefcount(code) <= before


def test_an_end_drops_the_function():
    def local():
        yield 1

    it, function = local(), weakref.ref(local)
    next(it)
    del local
    assert function() is not None
    C.set_generator(it, -1, None)
    assert function() is None


def test_clean_up_is_done_as_ever():
    log = []
    it = cleans(log)
    ahead = cleans(log)
    next(it)
    next(ahead)
    next(ahead)
    C.set_generator(it, place(ahead)[0], None, MISSING)
    assert log == []
    del it
    assert log == ["clean"]
    fails(StopIteration, next, ahead)
    assert log == ["clean", "clean"]


def test_an_object_that_looks_back_while_it_dies():
    seen = []

    class Looks:
        def __del__(self):
            seen.append((it.gi_frame is None, C.generator_parts(it)))

    it = counts(3)
    next(it)
    C.set_generator(it, place(it)[0], None, 3, 0, Looks(), MISSING)
    C.set_generator(it, place(it)[0], None, 3, 1, 5, MISSING)
    assert [(ended, parts[2:5]) for ended, parts in seen] == [(False, (3, 1, 5))]
    seen.clear()
    C.set_generator(it, place(it)[0], None, 3, 0, Looks(), MISSING)
    C.set_generator(it, -1, None)
    assert seen == [(True, (None,))]


def test_yield_from():
    inner, outer = counts(3), delegates(counts(3))
    next(outer)
    assert C.generator_parts(outer)[-1] is outer.gi_yieldfrom
    C.set_generator(outer, place(outer)[0], None, NULL if C.generator_parts(outer)[3] is NULL else MISSING, MISSING, inner)
    assert outer.gi_yieldfrom is inner and next(outer) == [0] and next(inner) == [1]
    outer.close()
    assert inner.gi_frame is None


def test_coroutines():
    for steps in (0, 1):
        running, thing = waits(Thing()), waits(5)
        if steps:
            assert running.send(None) == "step"
        thing.send(None)
        (pc, _), function, *slots = C.generator_parts(thing)
        assert function is waits and slots[0] == 5
        inner = step()
        inner.send(None)
        C.set_generator(running, pc, None, "set", *slots[1:-1], inner.__await__() if hasattr(inner, "__await__") else inner)
        assert inspect.getcoroutinestate(running) == inspect.CORO_SUSPENDED
        try:
            running.send("first")
        except StopIteration as stop:
            assert stop.value == ("first", "set")
        thing.close()
    ended = waits(1)
    C.set_generator(ended, -1, None)
    fails(RuntimeError, ended.send, None)
    assert ended.cr_frame is None and ended.cr_await is None


def test_a_handled_exception():
    it = handles()
    error = ValueError("set")
    pc = place(it)[0]
    next(it)
    it.close()
    again = handles()
    C.set_generator(again, pc, error, *C.generator_parts(again)[2:])
    assert C.generator_parts(again) is None
    C.set_generator(again, pc, None)
    assert C.generator_parts(again) is not None
    again.close()


def test_wrong_arguments_change_nothing():
    it = counts(3)
    next(it)
    before = C.generator_parts(it)
    pc = before[0][0]
    for wrong in (1, [], iter([]), counts, (i for i in ()).__class__):
        fails(TypeError, C.generator_parts, wrong)
        fails(TypeError, C.set_generator, wrong, -1, None)
    fails(TypeError, C.set_generator, it, pc)
    fails(TypeError, C.set_generator, it, "pc", None)
    fails(TypeError, C.set_generator, it, pc, 5, *before[2:])
    fails(ValueError, C.set_generator, it, pc + 1, None, *before[2:])
    fails(ValueError, C.set_generator, it, 2 * len(counts.__code__.co_code), None, *before[2:])
    fails(ValueError, C.set_generator, it, pc, None)
    fails(ValueError, C.set_generator, it, pc, None, *before[2:], *[1] * 50)
    fails(ValueError, C.set_generator, it, pc, None, *before[2:], MISSING)
    assert C.generator_parts(it) == before
    frame = it.gi_frame
    fails(ValueError, C.set_generator, it, -1, None)
    del frame
    assert list(it) == [[1], [2]]
    fails(ValueError, C.set_generator, it, pc, None, *before[2:])
    fails(ValueError, C.set_generator, it, -1, None)


def test_the_collector_meets_them():
    it = counts(2)
    next(it)
    C.set_generator(it, place(it)[0], None, MISSING, it, MISSING, MISSING)
    gone = weakref.ref(it)
    del it
    gc.collect()
    assert gone() is None
    it = counts(2)
    C.set_generator(it, -1, None)
    cycle = [it]
    cycle.append(cycle)
    gone = weakref.ref(it)
    del it, cycle
    gc.collect()
    assert gone() is None
