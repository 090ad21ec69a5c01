"""Objects with `__del__` that the captured code makes: it is called where CPython drops the last reference to one."""

from __future__ import annotations

import contextlib
import copy
import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from support import Counter, check_rounds, recorded, same

import framejit

X = torch.ones(2)
log: list[Any] = []
note = log.append
saved: list[Any] = []


class Ends:
    def __init__(self, name, part=None):
        self.name = name
        if part is not None:
            self.part = part

    def __del__(self):
        note((self.name, hasattr(self, "part")))


class Slotted(Ends):
    __slots__ = ("more",)


class Items(list):
    def __del__(self):
        note(("items", len(self)))


class Releases(Ends):
    def __del__(self):
        note("in")
        self.part = None
        note("out")


class Saved(Ends):
    def __del__(self):
        super().__del__()
        saved.append(self)


class Fails:
    def __del__(self):
        raise ValueError("in __del__")


class Counted:
    """Computes a tensor when it dies."""

    def __init__(self, x, into):
        self.x, self.into = x, into

    def __del__(self):
        self.into.append(self.x * 2)


class Fault(Exception):
    def __del__(self):
        note("fault")


class Holder:
    pass


@contextlib.contextmanager
def entered(value):
    yield value
    note("left")


def make(name):
    one = Ends(name)
    other = Ends(name + " too")
    note("made")
    return one


def give(value):
    return value


def take(*values):
    note("taken")


def compared(*, graphs: int = 1, breaks: int = 0, calls: int = 2) -> Callable[[Callable[..., Any]], Callable[[], None]]:
    """A test: what is noted in a call, and when its result and what it left dies, is as in eager."""

    def decorate(function: Callable[..., Any]) -> Callable[[], None]:
        def once(call: Callable[..., Any], round_: int) -> Any:
            log.clear()
            saved.clear()
            kept, holder = [], Holder()
            result = call(X + round_, kept, holder)
            seen = [*log, len(kept)]
            tensor = (result[0] if isinstance(result, tuple) else result).clone()
            result = None
            seen += ["result", *log]
            kept.clear()
            seen += ["kept", *log]
            holder = None
            seen += ["holder", *log]
            saved.clear()
            return tensor, seen, list(log)

        return lambda: check_rounds(once, function, graphs, breaks, calls)

    return decorate


@compared()
def test_a_local_is_deleted(x, kept, holder):
    one = Ends("one")
    note("before")
    del one
    note("behind")
    return x + 1


@compared()
def test_a_local_gets_another_value(x, kept, holder):
    one, two = Ends("one"), Ends("two")
    one = two
    note("behind")
    two = Slotted("three", [Ends("four")])
    return x + 1


@compared()
def test_nobody_holds_it(x, kept, holder):
    Ends("one", Ends("part"))
    give(Ends("two"))
    take(Ends("three"))
    take([Ends("four"), Ends("five")], {"key": (Ends("six"), 7)})
    note("behind")
    return x + 1


@compared()
def test_locals_end_with_their_frame(x, kept, holder):
    one = make("one")
    y = (lambda inner: x * 2)(Ends("argument"))
    note("behind")
    two, three = Ends("two"), Items([Ends("item")])
    return y + 1


@compared()
def test_they_leave_the_capture(x, kept, holder):
    kept.append(Ends("kept", Ends("part")))
    holder.own = [Ends("own"), make("made")]
    return x + 1, Ends("result")


@compared()
def test_real_objects_let_go_of_what_the_capture_made(x, kept, holder):
    kept += [Ends("one"), Ends("two"), 3]
    kept[0] = 1
    note("set")
    kept.pop(1)
    holder.own = Ends("own")
    note("stored")
    del holder.own
    note("deleted")
    return x + 1


@compared()
def test_it_changes_what_it_holds(x, kept, holder):
    one = Releases("one", Ends("part"))
    del one
    note("behind")
    return x + 1


@compared()
def test_it_computes(x, kept, holder):
    Counted(x, kept)
    one = Counted(x + 1, kept)
    kept.append(x)
    del one
    return x + sum(kept)


@compared()
def test_with_weak_references(x, kept, holder):
    one = Ends("one")
    ref = weakref.ref(one, lambda ref: note(("callback", ref() is None)))
    weakref.finalize(one, note, "finalized")
    alive = ref() is one
    note(alive)
    one = None
    note("behind")
    return x + 1, ref() is None


@compared(breaks=2)
def test_the_last_weak_reference_is_called_first_behind_a_break(x, kept, holder):
    one = Ends("one")
    holder.ref = weakref.ref(one, lambda ref: note("first"))
    ref = weakref.ref(one, lambda ref: note("second"))
    kept.append(weakref.ref(one, lambda ref: note("third")))
    framejit.graph_break()
    del one
    return x + 1


@compared()
def test_in_loops_and_blocks(x, kept, holder):
    for name in ("one", "two"):
        one = Ends(name)
        with entered(Ends(name + " in")) as two:
            x = x + 1
        note("loop")
    del two
    return x


@compared()
def test_exceptions_hold_them(x, kept, holder):
    try:
        one = Ends("one")
        raise ValueError(Ends("argument"))
    except ValueError as error:
        note(type(error.args[0]).__name__)
    note("behind")
    try:
        raise Fault
    except Fault:
        note("caught")
    return x + 1


@compared()
def test_copies(x, kept, holder):
    one = Ends("one", [1])
    two = copy.copy(one)
    two.name = "two"
    del one
    note(two.part)
    return x + 1


@compared()
def test_super_and_classes_of_the_capture(x, kept, holder):
    class Own(Ends):
        def __del__(self):
            note("own")
            super().__del__()

    one = Own("one")
    del one
    note("behind")
    return x + 1


@compared(breaks=1)
def test_one_that_saves_itself_is_left_to_cpython(x, kept, holder):
    one = Saved("one")
    del one
    note(len(saved))
    return x + 1


def test_one_that_fails_is_left_to_cpython(monkeypatch):
    def function(x):
        one = Fails()
        del one
        note("behind")
        return x + 1

    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: note((found.exc_type, found.exc_value.args)))
    for call in (function, framejit.compile(function, backend="eager")):
        log.clear()
        call(X)
        seen.append(list(log))
    assert seen[0] == seen[1] == [(ValueError, ("in __del__",)), "behind"]


def test_a_cycle_waits_for_the_collector():
    def function(x):
        one = Ends("one")
        one.part = one
        note("behind")
        return x + 1

    for call in (function, framejit.compile(function, backend="eager", fullgraph=True)):
        log.clear()
        gc.collect()
        gc.disable()
        try:
            call(X)
            assert log == ["behind"]
            gc.collect()
            assert log == ["behind", ("one", True)]
        finally:
            gc.enable()


def test_given_objects_that_hold_one_are_let_go_of_in_place():
    def function(x, holder):
        holder.own = 1
        note("behind")
        return x + 1

    compiled = framejit.compile(function, backend="eager")
    for make_ in (lambda: Ends("one"), lambda: [(Ends("one"),)], lambda: {"key": lambda held=Ends("one"): held}):
        for call in (function, compiled):
            log.clear()
            holder = Holder()
            holder.own = make_()
            call(X, holder)
            assert log == [("one", False), "behind"]


@pytest.mark.parametrize("use", ["del one", "one"])
def test_a_local_that_is_unbound_in_another_call(use):
    namespace: dict[str, Any] = {"framejit": framejit, "Ends": Ends}
    exec(f"def function(x, bound):\n if bound:\n  one = 1\n framejit.graph_break()\n {use}\n return x + 1\n", namespace)
    compiled = framejit.compile(namespace["function"], backend="eager")
    for bound in (True, False):
        if bound:
            same(compiled(X, bound), X + 1)
        else:
            with pytest.raises(UnboundLocalError):
                compiled(X, bound)


class Operand:
    """Takes part in every operator, and tells of its end."""

    def __init__(self, n):
        self.n = n

    def __del__(self):
        log.append(self.n)

    def __eq__(self, other):
        return True

    __lt__ = __ge__ = __contains__ = __eq__
    __hash__ = None

    def __add__(self, other):
        return 1

    __and__ = __getitem__ = __matmul__ = __add__

    def __setitem__(self, key, value):
        pass

    def __delitem__(self, key):
        pass


OPERATIONS = {
    "==": lambda: Operand(1) == Operand(2), "!=": lambda: Operand(1) != Operand(2), "<": lambda: Operand(1) < Operand(2),
    "+": lambda: Operand(1) + Operand(2), "&": lambda: Operand(1) & Operand(2), "@": lambda: Operand(1) @ Operand(2),
    "is": lambda: Operand(1) is Operand(2), "in": lambda: Operand(1) in Operand(2), "not in": lambda: Operand(1) not in Operand(2),
    "[]": lambda: Operand(1)[Operand(2)], "[] =": lambda: Operand(1).__class__(3).__setitem__(Operand(4), Operand(5)),
}  # fmt: skip


def subscripts(x):
    Operand(1)[Operand(2)] = Operand(3)
    del Operand(4)[Operand(5)]
    Operand(6).n = Operand(7)
    return x


@pytest.mark.parametrize("operation", [*OPERATIONS.values(), subscripts], ids=[*OPERATIONS, "stores"])
def test_operands_die_in_order(operation):
    def program(x):
        operation(x) if operation is subscripts else operation()
        return x + 1, list(log)

    counter, found = Counter(), []
    with recorded(framejit.events.Break, framejit.events.Fallback) as seen:
        compiled = framejit.compile(program, backend=counter)
        for run in (program, compiled, compiled):
            log.clear()
            found.append(run(torch.ones(1))[1])
    assert found == [found[0]] * 3
    assert counter.runs == 2 and {record.reason.id for record in seen} <= {"UNCAUGHT_EXCEPTION"}  # the drop itself is CPython's
    found.clear()
    log.clear()  # which holds the last operand
