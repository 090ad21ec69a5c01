"""What dies in the middle of a function runs its clean-up there: behind the effects before it, in front of those after it."""

from __future__ import annotations

import collections
import contextlib
import dis
import sys

import pytest

import framejit
from support import recorded

LOG: list = []
DONE: list = []


def cleaning():
    try:
        yield 5
    finally:
        LOG.append(("ended", tuple(DONE)))


def opened():
    generator = cleaning()
    next(generator)
    return generator


class Finalized:
    def __del__(self):
        LOG.append(("deleted", tuple(DONE)))


class Plain:
    pass


@contextlib.contextmanager
def managed():
    try:
        yield 1
    finally:
        LOG.append(("left", tuple(DONE)))


def list_cleared(b):
    b.append(3)
    DONE.append(1)
    b.clear()
    DONE.append(2)


def item_replaced(b):
    b.append(3)
    DONE.append(1)
    b[0] = 0
    DONE.append(2)


def item_popped(b):
    b.append(3)
    DONE.append(1)
    b.pop(0)
    DONE.append(2)


def item_deleted(b):
    b.append(3)
    DONE.append(1)
    del b[0]
    DONE.append(2)


def slice_assigned(b):
    b.append(3)
    DONE.append(1)
    b[:] = [1]
    DONE.append(2)


def wrapped(b):
    b.append([b.pop()])
    DONE.append(1)
    b.clear()
    DONE.append(2)


def wrapped_twice(b):
    b.append({"a": ([b.pop()],)})
    DONE.append(1)
    b[0] = None
    DONE.append(2)


def key_replaced(b):
    b = {"a": b.pop(), "z": 1}
    DONE.append(1)
    b["a"] = 0
    DONE.append(2)


def dict_given(b):
    d = b.pop()
    b = None
    d["z"] = 3
    DONE.append(1)
    d["a"] = 0
    DONE.append(2)


def dict_updated(b):
    d = b.pop()
    d["z"] = 3
    DONE.append(1)
    d.update(a=1)
    DONE.append(2)


def attribute_replaced(b):
    o = b.pop()
    o.z = 3
    DONE.append(1)
    o.a = 0
    DONE.append(2)


def attribute_deleted(b):
    o = b.pop()
    o.z = 3
    DONE.append(1)
    del o.a
    DONE.append(2)


def namespace_replaced(b):
    o = b.pop()
    o.z = 3
    DONE.append(1)
    o.__dict__ = {}
    DONE.append(2)


def deque_cleared(b):
    d = b.pop()
    d.append(3)
    DONE.append(1)
    d.clear()
    DONE.append(2)


def local_replaced(b):
    t = (b.pop(),)
    DONE.append(1)
    t = 0
    DONE.append(2)
    return t


def nested_local(b):
    t = [[b.pop()], {"a": 1}]
    DONE.append(1)
    t = 0
    DONE.append(2)
    return t


def given_nested(b):
    t = b.pop()
    b.append(1)
    DONE.append(1)
    t = 0
    DONE.append(2)
    return t


def iterator_dropped(b):
    it = iter([b.pop()])
    DONE.append(1)
    it = 0
    DONE.append(2)
    return it


def held_by_a_generator_that_is_closed(b):
    def body():
        x = b.pop()
        yield x is None
        DONE.append(0)

    it = body()
    next(it)
    DONE.append(1)
    it.close()
    DONE.append(2)


def held_by_a_generator_that_ends(b):
    def body():
        x = b.pop()
        yield x is None
        DONE.append(0)

    it = body()
    next(it)
    DONE.append(1)
    next(it, 0)
    DONE.append(2)


def dropped_by_a_generator_that_goes_on(b):
    def body():
        x = b.pop()
        yield x is None
        DONE.append(0)
        x = None
        yield x
        DONE.append(3)

    it = body()
    next(it)
    DONE.append(1)
    next(it, 0)
    DONE.append(2)
    list(it)


def two_generators(b):
    def body(x, n):
        yield n
        DONE.append(n)
        x = None
        yield x

    one, two = body(b.pop(), 7), body(None, 8)
    next(one)
    next(two)
    DONE.append(1)
    next(two)
    next(one)
    DONE.append(2)
    one.close()
    two.close()


def a_generator_in_a_generator(b):
    def outer(p):
        def inner():
            with managed():
                yield b.pop()

        it = inner()
        out = [next(it) is None]
        try:
            yield out
        finally:
            DONE.append(p)

    o = outer(2)
    next(o, 0)
    DONE.append(1)
    o.close()
    DONE.append(3)


def raised_through(b):
    def f():
        v = b.pop()
        DONE.append(1)
        raise KeyError(v is None)

    try:
        f()
    except KeyError:
        DONE.append(2)
    DONE.append(3)


def kept_by_a_traceback(b):
    def f():
        v = b.pop()
        DONE.append(1)
        raise KeyError(v is None)

    try:
        f()
    except KeyError as e:
        k = e
    DONE.append(3)
    k = None
    DONE.append(4)
    return k


def ended(value):
    try:
        raised_with(value)
    except KeyError as e:
        return e.__traceback__.tb_next


def raised_with(value):
    raise KeyError(value is None)


def given_frame(b):
    frame = b[0].tb_frame
    DONE.append(1)
    b.clear()
    DONE.append(2)
    del frame
    DONE.append(3)


def given_traceback(b):
    b.append(3)
    DONE.append(1)
    b.clear()
    DONE.append(2)


IN_OBJECTS = {
    given_frame: ended, given_traceback: ended,
    dict_given: lambda v: {"a": v}, dict_updated: lambda v: {"a": v}, deque_cleared: lambda v: collections.deque([v]), given_nested: lambda v: [[v]],
    **dict.fromkeys((attribute_replaced, attribute_deleted, namespace_replaced), lambda v: vars(o := Plain()).update(a=v) or o),
}  # fmt: skip
PROGRAMS = [value for value in list(globals().values()) if getattr(value, "__code__", None) and value.__code__.co_varnames[:1] == ("b",)]


@contextlib.contextmanager
def sizes():
    """By code, how many instructions of it each region holds; no frame runs eagerly. The events themselves keep objects alive."""
    found = collections.defaultdict(dict)
    done = framejit.events.subscribe(lambda region: found[region.code].update({region.pc: region.instructions}), framejit.events.CaptureEnd)
    with recorded(framejit.events.Fallback) as fallen:
        yield found
    done()
    assert not fallen


@pytest.mark.parametrize("make", [opened, Finalized], ids=["generator", "finalizer"])
@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_the_clean_up_runs_where_the_object_dies(fn, make, monkeypatch):
    monkeypatch.setattr(framejit.config, "capture_without_tensors", True)
    framejit.reset()
    compiled = framejit.compile(fn, backend="eager")
    seen = []
    with sizes() as found:
        for run in (fn, compiled, compiled):
            LOG.clear()
            DONE.clear()
            run([IN_OBJECTS.get(fn, lambda v: v)(make())])
            seen.append((LOG[:], DONE[:]))
    assert len(LOG) >= 1
    assert seen == [seen[0]] * 3
    assert sum(found[fn.__code__].values()) >= 0.75 * len([*dis.get_instructions(fn)])


class Named:
    def __init__(self, n):
        framejit.graph_break()
        self.n = n

    def __del__(self):
        LOG.append(self.n)


def in_a_list(b):
    b += [Named(n) for n in (1, 2, 3)]
    b.clear()
    DONE.append(1)


def in_a_list_of_the_stack(b):
    [Named(n) for n in (1, 2, 3)]
    DONE.append(1)


def in_a_tuple_and_a_dict(b):
    b = Named(1), {"a": Named(2), "b": [Named(3), Named(4)]}
    del b
    DONE.append(1)


def in_locals(b):
    def body():
        one = Named(1)
        two = [Named(2), Named(3)]
        DONE.append(one is two)

    body()
    DONE.append(1)


@pytest.mark.parametrize("fn", [in_a_list, in_a_list_of_the_stack, in_a_tuple_and_a_dict, in_locals], ids=lambda fn: fn.__name__)
def test_what_an_earlier_region_made_dies_in_order(fn, monkeypatch):
    monkeypatch.setattr(framejit.config, "capture_without_tensors", True)
    framejit.reset()
    compiled = framejit.compile(fn, backend="eager")
    seen = []
    with sizes() as found:
        for run in (fn, compiled, compiled):
            LOG.clear()
            DONE.clear()
            run([])
            seen.append((LOG[:], DONE[:]))
    assert seen == [seen[0]] * 3
    assert len(found[fn.__code__]) >= 1 and len(found) >= 3


class Truth:
    def __init__(self, n):
        self.n = n

    def __bool__(self):
        return self.n > 1


def loops(truth):
    for _ in (1, 2, 3):
        for i in (1, 2):
            framejit.graph_break()

            def body():
                try:
                    LOG.append("started")
                    yield 3
                finally:
                    LOG.append(i)

            it = body()
            for k in it:
                if k == (1 if truth else 2) + 2:
                    break


def results_differ(make):
    for _ in (1, 2):
        made = make()
        DONE.append(1)
        make()
        LOG.append(("between", tuple(DONE)))
        made = None
        DONE.append(2)
    return made


def test_a_region_made_for_an_unbound_variable_is_not_used_for_one_that_cleans_up(monkeypatch):
    monkeypatch.setattr(framejit.config, "capture_without_tensors", True)
    compiled = framejit.compile(loops, backend="eager")
    for n in range(6):
        seen = []
        for run in (loops, compiled):
            LOG.clear()
            run(Truth(n))
            seen.append(LOG[:])
        assert seen[0] == seen[1]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 0, 1, 2), (1, 3, 0), (2, 0, 3)])
def test_a_region_made_for_a_value_that_dies_quietly_is_not_used_for_one_that_cleans_up(monkeypatch, order):
    monkeypatch.setattr(framejit.config, "capture_without_tensors", True)
    makers = [framejit.disable(make) for make in (lambda: 3, opened, lambda: Finalized(), lambda: [{"a": opened()}])]
    compiled = framejit.compile(results_differ, backend="eager")
    for kind in order:
        seen = []
        for run in (results_differ, compiled):
            LOG.clear()
            DONE.clear()
            run(makers[kind])
            seen.append((LOG[:], DONE[:]))
        assert seen[0] == seen[1]


def gives_its_exception(n):
    kept = SaysWhatIsHandled(n)
    try:
        raise ValueError(kept is None)
    except ValueError as error:
        return error


def lets_go_of_exceptions(n):
    error = gives_its_exception(n)
    framejit.graph_break()
    error = None
    LOG.append("first")
    try:
        gives_its_exception(n).missing
    except AttributeError as other:
        LOG.append("caught")
        framejit.graph_break()
        other.__traceback__ = gives_its_exception(n + 1).__traceback__
        framejit.graph_break()
        LOG.append("changed")
    LOG.append("second")
    return error


def what_runs(program, monkeypatch):
    """The log of a program that is captured, the same in eager and in each call."""
    monkeypatch.setattr(framejit.config, "capture_without_tensors", True)
    framejit.reset()
    compiled, regions, seen = framejit.compile(program, backend="eager"), [], []
    unsubscribe = framejit.events.subscribe(lambda event: regions.append(event.pc), framejit.events.CaptureEnd)
    for run in (program, compiled, compiled, compiled):
        LOG.clear()
        run(1)
        seen.append(LOG[:])
    unsubscribe()
    assert regions and seen == [seen[0]] * 4
    return seen[0]


def test_an_exception_holds_the_frame_that_has_ended_in_front_of_its_traceback(monkeypatch):
    assert what_runs(lets_go_of_exceptions, monkeypatch)[:2] == [(1, None), "first"]


class SaysWhatIsHandled:
    def __init__(self, n):
        self.n = n

    def __del__(self):
        framejit.graph_break()
        LOG.append((self.n, sys.exc_info()[0]))


def dies_in_a_handler(n):
    first, second, last = SaysWhatIsHandled(n), SaysWhatIsHandled(n + 1), SaysWhatIsHandled(n + 2)
    framejit.graph_break()
    try:
        raise ValueError
    except ValueError:
        del first
        framejit.graph_break()
        second = None
    framejit.graph_break()
    del last
    return second


def test_what_dies_in_a_handler_sees_the_exception_that_is_handled_then(monkeypatch):
    assert what_runs(dies_in_a_handler, monkeypatch) == [(1, ValueError), (2, ValueError), (3, None)]
