"""What keeps objects alive, seen by weak references: tracebacks, classes, cycles; what dead references remember."""

from __future__ import annotations

import gc
import weakref

import framejit

from support import check
from things import Thing


def note(log, value):
    return lambda ref: log.append(value)


# -- what holds an object: frames that have ended, in tracebacks ----------------------------------------------------------


@check()
def test_traceback_holds_the_locals(x):
    out, refs = [], []

    def f():
        t = Thing(1)
        refs.append(weakref.ref(t))
        raise ValueError

    try:
        f()
    except ValueError as error:
        out.append(refs[0]() is None)
        saved = error
    out.append(refs[0]() is None)
    del saved
    out.append(refs[0]() is None)
    return (x + 1, out)


@check()
def test_traceback_is_cleared(x):
    log = []

    def f():
        t = Thing(1)
        keep.append(weakref.ref(t, note(log, "t")))
        raise ValueError

    keep = []
    try:
        f()
    except ValueError as error:
        log.append("caught")
        error.__traceback__ = None
        log.append("cleared")
    log.append("end")
    return (x + 1, log)


@check()
def test_traceback_of_what_a_frame_caught_holds_its_locals(x):
    log, keep, errors = [], [], []

    def f():
        t = Thing(1)
        keep.append(weakref.ref(t, note(log, "t")))
        try:
            raise ValueError
        except ValueError as error:
            errors.append(error)
        log.append("f")

    f()
    log.append("after")
    errors.clear()
    log.append("end")
    return (x + 1, log)


@check()
def test_traceback_is_kept_alone(x):
    log, keep, traces = [], [], []

    def f():
        t = Thing(1)
        keep.append(weakref.ref(t, note(log, "t")))
        raise ValueError

    def g():
        u = Thing(2)
        keep.append(weakref.ref(u, note(log, "u")))
        f()

    try:
        g()
    except ValueError as error:
        traces.append(error.__traceback__)
    log.append("after")
    traces.clear()
    log.append("end")
    return (x + 1, log)


@check()
def test_raised_again_from_another_frame(x):
    log, keep, errors = [], [], []

    def f():
        t = Thing(1)
        keep.append(weakref.ref(t, note(log, "t")))
        raise ValueError

    def g():
        u = Thing(2)
        keep.append(weakref.ref(u, note(log, "u")))
        try:
            f()
        except ValueError as error:
            errors.append(error)

    def h():
        v = Thing(3)
        keep.append(weakref.ref(v, note(log, "v")))
        raise errors[0]

    g()
    log.append("g")
    try:
        h()
    except ValueError:
        log.append("caught")
    log.append("after")
    errors.clear()
    log.append("end")
    return (x + 1, log)


# -- other owners ------------------------------------------------------------------------------------------------------------


@check()
def test_class_attribute_written_twice(x):
    log = []

    class C:
        pass

    C.t = Thing(1)
    keep = [weakref.ref(C.t, note(log, "first"))]
    C.t = Thing(2)
    log.append("between")
    keep.append(weakref.ref(C.t, note(log, "second")))
    del C.t
    log.append("end")
    return (x + 1, log)


@check()
def test_bound_method_dies(x):
    log = []
    thing = Thing(1)
    bound = thing.method
    ref = weakref.ref(bound, note(log, "bound"))
    del bound
    log.append(ref() is None)
    return (x + 1, log)


@check(graphs=None, breaks=1)
def test_suspended_generator_with_a_block_dies(x):
    y = x + 1
    log, keep = [], []

    def g():
        t = Thing(1)
        keep.append(weakref.ref(t, note(log, "t")))
        try:
            yield 1
        finally:
            log.append("finally")

    h = g()
    next(h)
    log.append("next")
    del h
    log.append("end")
    return (y, log)


@check(breaks=1)
def test_cleared_from_the_end(x):
    log, keep = [], []
    a, b = Thing(1), Thing(2)
    plain = weakref.ref(b)
    keep.append(weakref.ref(a, lambda r: log.append(plain() is None)))
    both = [a, b]
    del a, b
    log.append("before")
    both.clear()
    log.append("end")
    return (x + 1, log)


@check()
def test_many_die_one_by_one(x):
    table, keep, seen = weakref.WeakValueDictionary(), [Thing(i) for i in range(40)], []
    for thing in keep:
        table[thing.value] = thing
    del thing
    while keep:
        keep.pop()
        seen.append(len(table))
    return (x + 1, seen)


@check()
def test_keys_die_one_by_one(x):
    table, keep, seen = weakref.WeakKeyDictionary(), [Thing(i) for i in range(40)], []
    for thing in keep:
        table[thing] = thing.value
    seen += [table[thing] for thing in keep]
    del thing
    while keep:
        keep.pop(0)
        seen.append(len(table))
    return (x + 1, seen)


# -- what leaves the region --------------------------------------------------------------------------------------------------


class Equal:
    """Its hash is its value."""

    def __init__(self, value):
        self.value = value

    def __hash__(self):
        return hash(self.value)

    def __eq__(self, other):
        return type(other) is Equal and other.value == self.value

    def method(self):
        return self.value


def hash_or_error(ref):
    try:
        return hash(ref)
    except TypeError as error:
        return error.args


@check(graphs=None, breaks=3)
def test_dead_references_remember_their_hash_behind_a_break(x):
    one, two = Equal(42), Equal(42)
    first, second = weakref.ref(one), weakref.ref(two)
    out = [hash(first)]
    del one, two
    framejit.graph_break()
    return (x + 1, [*out, hash_or_error(first), hash_or_error(second), first == second])


@check(graphs=None, breaks=3)
def test_with_callbacks_they_do_too(x):
    log = []
    one, two = Equal(42), Equal(43)
    first, second = weakref.ref(one, note(log, 1)), weakref.ref(two, note(log, 2))
    out = [hash(first)]
    del one, two
    framejit.graph_break()
    return (x + 1, log, [*out, hash_or_error(first), hash_or_error(second)])


@check(graphs=None, breaks=3)
def test_weak_methods_do_too(x):
    one = Equal(42)
    first, second = weakref.WeakMethod(one.method), weakref.WeakMethod(one.method)
    known = hash(first)
    del one
    framejit.graph_break()
    return (x + 1, hash_or_error(first) == known, hash_or_error(second))


@check(graphs=None, breaks=5)
def test_hash_by_identity_is_remembered(x):
    one = Thing(42)
    first = weakref.ref(one)
    table = {first: 1}
    del one
    framejit.graph_break()
    return (x + 1, table[first], hash(first) == hash(first), list(table) == [first])


@check(graphs=None, breaks=5)
def test_keys_die_behind_a_break(x):
    table, keep = weakref.WeakKeyDictionary(), [Equal(i) for i in range(5)]
    for index, key in enumerate(keep):
        table[key] = index
    framejit.graph_break()
    key = keep.pop()
    del key
    return (x + 1, sorted(table.values()), len(keep))


@check(graphs=None, breaks=5)
def test_unreachable_cycle_is_alive_behind_a_break(x):
    log = []
    one = Thing(1)
    one.self = one
    ref = weakref.ref(one, note(log, "dead"))
    del one
    gc.disable()
    framejit.graph_break()
    out = [ref() is None, *log]
    gc.enable()
    return (x + 1, out)
