"""Exceptions raised, caught, chained and cleaned up inside a graph, and those that leave it."""

import contextlib
import sys

import pytest
import torch

import framejit
from support import check


@check()
def test_raise_and_catch(x):
    try:
        raise ValueError("v", 3)
    except (KeyError, ValueError) as error:
        return x * error.args[1]


@check()
def test_finally_and_else(x):
    log = []
    try:
        log.append(1)
    except KeyError:
        log.append(2)
    else:
        log.append(3)
    finally:
        log.append(4)
    return x + 1, log


@check()
def test_nested_and_reraised(x):
    try:
        try:
            {}["missing"]
        except KeyError as error:
            raise RuntimeError("outer") from error
    except RuntimeError as error:
        return x + 1, type(error.__cause__).__name__, error.__cause__.args


@check()
def test_exception_from_a_callee(x):
    def callee(n):
        if n:
            raise IndexError(n)
        return n

    try:
        callee(0)
        callee(2)
    except IndexError as error:
        return x + error.args[0]


class Boom(Exception):
    def __init__(self, code, **rest):
        super().__init__(code)
        self.code = code
        self.rest = rest


@check()
def test_user_exception(x):
    try:
        raise Boom(4, why="test")
    except Boom as error:
        return x + error.code, error.rest, str(error)


class Manager:
    def __init__(self, log, swallow=False):
        self.log, self.swallow = log, swallow

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, value, traceback):
        self.log.append(kind.__name__ if kind else None)
        return self.swallow


@check()
def test_with(x):
    log = []
    with Manager(log) as manager, Manager(log, True):
        x = x + 1
        raise KeyError("k")
    assert manager.log is log
    return x, log


@contextlib.contextmanager
def tagged(log, name):
    log.append(f"+{name}")
    try:
        yield name
    finally:
        log.append(f"-{name}")


@check()
def test_generator_context_manager(x):
    log = []
    with tagged(log, "a") as name, contextlib.suppress(ZeroDivisionError):
        x = x + len(name)
        1 / 0
    return x, log


@check()
def test_return_through_finally(x):
    def f():
        try:
            return 1
        finally:
            x.shape

    return x + f()


@check(lambda: (torch.ones(2), 0), lambda: (torch.ones(2), 1), breaks=0)
def test_exception_leaves(x, n):
    y = x + 1
    if n:
        raise ValueError("left", n)
    return y


@check(breaks=0)
def test_unbound_local(x):
    y = x + 1
    try:
        del y
        return y
    except UnboundLocalError as error:
        return x + 2, str(error)


@check()
def test_exception_group(x):
    seen = []
    try:
        raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
    except* ValueError as group:
        seen.append([error.args for error in group.exceptions])
    except* KeyError as group:
        seen.append(len(group.exceptions))
    return x + 1, seen


def test_runtime_error_is_replayed_eagerly():
    import framejit

    def f(x, index):
        try:
            return torch.index_select(x, 0, index)
        except IndexError:
            return x * 0

    compiled = framejit.compile(f, backend="eager")
    x = torch.arange(3.0)
    assert torch.equal(compiled(x, torch.tensor([1])), x[1:2])
    assert torch.equal(compiled(x, torch.tensor([9])), x * 0)


def test_runtime_error_shows_the_users_line():
    import framejit

    def f(x, index):
        y = x + 1
        return torch.index_select(y, 0, index)  # here

    compiled = framejit.compile(f, backend="eager")
    compiled(torch.ones(3), torch.tensor([1]))
    with pytest.raises(IndexError) as caught:
        compiled(torch.ones(3), torch.tensor([7]))
    assert "# here" in str(caught.traceback[-1].statement) or any("# here" in str(entry.statement) for entry in caught.traceback)


def takes(a, /, b, c=3, *, d, e=5):
    return a


def one(a):
    return a


@check()
def test_calls_with_wrong_arguments_word_their_errors(x):
    said = []

    def inner(p, *, q=1):
        return p

    for call in (
        lambda: inner(), lambda: inner(1, 2), lambda: inner(1, r=2), lambda: inner(1, p=2), lambda: inner(1, 2, q=3), lambda: takes(a=1, b=2, d=3),
        lambda: takes(1, 2, 3, 4, d=1), lambda: takes(1, 2), lambda: takes(), lambda: one(1, 2), lambda: (lambda a, b: a)(), lambda: one(1, b=1),
    ):  # fmt: skip
        try:
            call()
        except TypeError as error:
            said.append(str(error))
    return x + len(said), said


@check(lambda: (torch.ones(4, requires_grad=True),), graphs=2, breaks=1)
def test_views_of_leaves_refuse_to_be_changed(y):
    z = y * 2
    try:
        y[1] *= 2
    except RuntimeError as error:
        return z + 1, error.args


@check(lambda: (torch.ones(2), ValueError(3)), graphs=1, breaks=0)
def test_raising_an_exception_that_exists_extends_its_traceback(x, error):
    y = x + 1
    try:
        raise error
    except ValueError as caught:
        return y, caught is error, caught.__traceback__ is not None


@check(lambda: (torch.ones(2), True), graphs=0, breaks=2)
def test_bools_cannot_be_subtracted_even_if_nobody_looks(x, flag):
    try:
        unused = flag - x
    except RuntimeError as error:
        return error.args


@framejit.disable
def opaque(value):
    return value


@check(graphs=1, breaks=3)
def test_an_exception_ends_a_callee_and_closes_a_generator_of_its_caller(x):
    log = []

    def numbers():
        try:
            yield from (1, 2)
        finally:
            log.append("closed")

    def callee(values):
        first = opaque(values["b"])
        return first + values["c"]

    try:
        for number in numbers():
            log.append(number)
            callee({"b": number})
    except KeyError as error:
        log.append(error.args)
    return x + len(log), log


def handles(x, log):
    x = x * 2
    try:
        framejit.graph_break()
        raise ValueError(1)
    except ValueError as error:
        log.append(repr(error.__context__))
        framejit.graph_break()
    log.append(repr(sys.exc_info()[1]))
    try:
        raise IndexError(2)
    except IndexError as error:
        log.append(repr(error.__context__))
    return x + 1


@check(lambda: (torch.ones(2), False), lambda: (torch.ones(2), True), graphs=10, breaks=6)
def test_regions_know_whether_an_exception_is_being_handled(x, handling):
    log = []
    x = handles(x, log)
    try:
        if handling:
            raise KeyError(0)
    except KeyError:
        x = handles(x, log)
        log.append(repr(sys.exc_info()[1]))
    else:
        x = handles(x, log)
    return handles(x, log), log


@check(breaks=0)
def test_what_leaves_the_bodies_of_except_star(x):
    seen = []
    for kinds in ([ValueError(1)], [ValueError(1), TypeError(2)]):
        for raised in (NameError, None):
            try:
                try:
                    raise ExceptionGroup("both", kinds)
                except* ValueError as group:
                    if raised is not None:
                        raise raised(len(group.exceptions)) from None
            except Exception as left:
                seen.append((type(left), str(left), getattr(left, "exceptions", ())))
    return x + len(seen), [(kind, text, [type(item) for item in items]) for kind, text, items in seen]


@check(breaks=1)
def test_a_region_that_begins_between_the_defaults_and_their_function(x):
    def function(p, q=opaque(2), r=(None,)):
        return p, q, r

    return x + 1, function(1), function(1, 3)


@check(lambda: (torch.ones(2), ()), lambda: (torch.ones(2), (ValueError, OSError)), lambda: (torch.ones(2), (KeyError,)), breaks=0)
def test_a_handler_for_no_class_or_for_those_given(x, kinds):
    seen = []
    try:
        try:
            raise KeyError("one")
        except ():
            seen.append("none")
    except KeyError:
        seen.append("outer")
    try:
        try:
            raise KeyError("two")
        except kinds:
            seen.append("given")
    except KeyError:
        seen.append("outer")
    return x + 1, seen
