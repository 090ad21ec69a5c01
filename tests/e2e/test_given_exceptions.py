"""Exceptions that are there before the region: notes, chains and tracebacks that it gives them, and tracebacks of new ones that outlive it."""

import contextlib
import gc
import sys
import traceback
import weakref

import pytest
import torch

import framejit
from support import Counter, check

PLAIN = (int, str, list, torch.Tensor, ValueError)


class Held:
    def __init__(self, error):
        self.error = error


class Own(Exception):
    def __init__(self, code):
        super().__init__(code)
        self.code = code


class Guarded(Exception):
    @property
    def __cause__(self):
        raise RuntimeError("asked")


def worn(error=None):
    """An exception that was raised and caught before."""
    try:
        raise error or ValueError("worn")
    except Exception as caught:
        return caught


def about(error, depth=3):
    """All that can be seen of an exception, with its chain and traceback."""
    if error is None or not depth:
        return repr(error)
    found, entry = [], error.__traceback__
    while entry is not None:
        frame = entry.tb_frame
        back = frame.f_back and frame.f_back.f_code.co_name
        shown = {name: str(value) for name, value in sorted(frame.f_locals.items()) if type(value) in PLAIN}
        found.append((frame.f_code.co_name, entry.tb_lineno, entry.tb_lasti, frame.f_lineno, back, sorted(frame.f_locals), shown))
        entry = entry.tb_next
    links = about(BaseException.__dict__["__cause__"].__get__(error), depth - 1), about(error.__context__, depth - 1)
    return repr(error), found, links, error.__suppress_context__, repr(vars(error)), repr(error.args)


def sees(*makes, calls=3, graphs=None, breaks=0):
    """Make a test of a function `f(x, *exceptions)`: what it does to them is the same as in eager, in one graph without a break."""

    def decorate(function):
        def test():
            framejit.reset()
            counter, broken = Counter(), []
            unsubscribe = framejit.events.subscribe(broken.append, framejit.events.Break)
            try:
                with framejit.config.patch(strict=True):
                    compiled = framejit.compile(function, backend=counter)
                    for _ in range(calls):
                        seen = []
                        for run in (function, compiled):
                            given = [make() for make in makes]
                            try:
                                result = run(torch.ones(2), *given)
                            except Exception as error:
                                result = torch.zeros(2), type(error), error.args
                            errors = [getattr(one, "error", one) for one in (*given, *result[1:])]
                            kinds = [about(one) if isinstance(one, BaseException) else repr(one) for one in errors]
                            seen.append((kinds, result[0].tolist()))
                        assert seen[0] == seen[1]
            finally:
                unsubscribe()
            if breaks is not None:
                assert [f"{one.reason.id} {one.detail}" for one in broken] == [] and counter.graphs == (graphs or 1)

        return test

    return decorate


@sees(lambda: ValueError("a"), lambda: Held(worn()))
def test_notes(x, error, held):
    y = x + 1
    error.add_note("first")
    error.add_note(f"of {len(error.__notes__)}")
    held.error.add_note("other")
    try:
        error.add_note(3)
    except TypeError as wrong:
        return y * 2, error.__notes__, str(wrong)


@sees(lambda: ValueError("a"))
def test_raised_and_caught(x, error):
    y = x + 1
    try:
        raise error
    except ValueError as caught:
        same = caught is error
    return y * 2, same


@sees(lambda: worn(), lambda: Held(worn(Own(2))))
def test_raised_again_and_again(x, error, held):
    y = x + 1
    for one in (error, held.error, error):
        try:
            raise one
        except (ValueError, Own):
            y = y * 2
    return y, error.__traceback__ is not None


@sees(lambda: ValueError("a"), lambda: worn(KeyError("b")))
def test_raised_from_another(x, error, cause):
    y = x + 1
    try:
        raise error from cause
    except ValueError as caught:
        same = caught.__cause__ is cause
    return y * 2, same


@sees(lambda: ValueError("a"), lambda: KeyError("b"))
def test_raised_from_none_and_from_a_new_one(x, error, other):
    try:
        raise error from None
    except ValueError:
        x = x + 1
    try:
        raise other from IndexError(4)
    except KeyError as caught:
        x = x + caught.__cause__.args[0]
    return x, error.__cause__, error.__suppress_context__


@sees(lambda: ValueError("a"), lambda: worn(KeyError("b")))
def test_raised_while_another_is_handled(x, error, other):
    y = x + 1
    try:
        try:
            raise other
        except KeyError:
            raise error
    except ValueError as caught:
        return y * 2, caught.__context__ is other


@sees(lambda: ValueError("a"), lambda: KeyError("b"))
def test_a_chain_that_would_lead_back_is_cut(x, first, second):
    first.__context__ = second
    try:
        try:
            raise first
        except ValueError:
            raise second
    except KeyError as caught:
        return x + 1, caught.__context__ is first, first.__context__


@sees(lambda: ValueError("a"), worn)
def test_with_traceback(x, error, other):
    y = x + 1
    same = error.with_traceback(other.__traceback__) is error
    other.with_traceback(None)
    try:
        raise error.with_traceback(None)
    except ValueError:
        return y * 2, same, other.__traceback__


@sees(lambda: Own(3))
def test_attributes_of_a_given_exception(x, error):
    error.args = (1, 2)
    error.__suppress_context__ = False
    error.__cause__ = KeyError("cause")
    error.__suppress_context__ = False
    error.code += 1
    return x + error.code, error.args, error.__cause__, error.__suppress_context__


@sees(lambda: Guarded("a"))
def test_classes_with_attributes_of_their_own(x, error):
    try:
        raise error from KeyError("b")
    except Guarded:
        x = x + 1
    try:
        error.__cause__  # noqa: B018
    except RuntimeError as asked:
        return x, asked.args


KEPT = ValueError("kept for long")


def test_one_exception_raised_in_every_call_is_captured_in_few_states():
    def program(x):
        y = x + 1
        try:
            raise KEPT
        except ValueError:
            return y * 2

    framejit.reset()
    counter, breaks = Counter(), []
    unsubscribe = framejit.events.subscribe(breaks.append, framejit.events.Break)
    KEPT.__traceback__ = None
    try:
        compiled = framejit.compile(program, backend=counter)
        for count in range(5):
            assert torch.equal(compiled(torch.ones(2)), torch.ones(2) * 4)
            found = about(KEPT)[1]
            assert [entry[0] for entry in found] == ["program"] * (count + 1) and all(entry == found[0] for entry in found)
    finally:
        unsubscribe()
        KEPT.__traceback__ = None
    assert breaks == [] and counter.graphs <= 2


@sees()
def test_a_new_exception_outlives_the_region(x):
    y, dead = x + 1, [1, 2]
    try:
        raise Own(len(dead))
    except Own as error:
        kept = error
    try:
        {}["missing"]
    except KeyError as error:
        kept.__context__ = error
    return y * 2, kept


@sees()
def test_the_frame_in_a_traceback_has_its_final_locals(x):
    n = 1

    def reads():
        return n + seen

    try:
        raise Own(n)
    except Own as error:
        kept = error
    n, seen = 2, x.shape[0]
    z = x * reads()
    return z, kept


@check(breaks=1, graphs=2)
def test_a_break_in_a_handler_keeps_what_is_handled(x):
    y = x + 1
    try:
        raise Own(4)
    except Own as error:
        framejit.graph_break()
        entries = error.__traceback__
        y = y * entries.tb_lineno + error.code
        try:
            raise KeyError("inner")
        except KeyError as inner:
            same = inner.__context__ is error
    return y, same


# -- frames of callees, which have ended ----------------------------------------------------------------------------------


def raised_in(error, depth=0):
    held = [depth, error]
    if depth:
        return raised_in(error, depth - 1)
    raise error


def counted(error):
    count = 0

    def adds(n):
        nonlocal count
        count += n
        if count > 2:
            raise error
        return adds(n + 1)

    return adds(1)


def gives(error):
    yield 1
    raise error


def catches(error):
    try:
        raised_in(error)
    except Exception as caught:
        kept = caught
    return kept


class Raising:
    def __init__(self, error):
        self.error = error

    @property
    def value(self):
        raise self.error

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.trace = trace
        return True


@contextlib.contextmanager
def handles():
    try:
        yield 1
    except ValueError as error:
        seen = error.args  # noqa: F841


CALLEES = {
    "a function": raised_in,
    "functions in functions": lambda error: raised_in(error, 3),
    "a function with cells": counted,
    "a generator": lambda error: [*gives(error)],
    "a loop over a generator": lambda error: sum(item for item in gives(error)),
    "a property": lambda error: Raising(error).value,
    "a key function": lambda error: sorted([1, 2], key=lambda item: raised_in(error)),
}


@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize("name", CALLEES)
def test_raised_in(name, new):
    function = CALLEES[name]

    def program(x, given):
        y = x + 1
        error = Own(y.shape[0]) if new else given
        try:
            function(error)
        except Exception as caught:
            kept = caught
        return y * 2, kept

    sees(lambda: Own(3), breaks=None if "key" in name else 0)(program)()


@sees(lambda: ValueError("a"), lambda: worn(KeyError("b")))
def test_caught_in_a_callee(x, error, other):
    first, second = catches(error), catches(Own(5))
    with Raising(other) as raising:
        raised_in(other)
    with handles():
        raise error
    return x + 1, first, second, raising.trace is other.__traceback__


@sees(lambda: ValueError("a"))
def test_one_that_holds_another(x, error):
    try:
        try:
            raised_in(error, 2)
        except ValueError as caught:
            counted(Own(caught))
    except Own as caught:
        kept = caught
    return x + 1, kept, kept.args[0] is error


def chained(error, depth):
    if not depth:
        raise error
    try:
        return chained(error, depth - 1)
    except Exception as caught:
        raise Own(depth) from caught


@sees(lambda: ValueError("a"))
def test_a_chain_through_the_frames_of_a_recursion(x, error):
    try:
        chained(error, 3)
    except Own as caught:
        kept = caught
    return x + 1, kept, kept.__cause__, kept.__cause__.__cause__


@check(lambda: (torch.ones(2), ValueError("a")), breaks=6)
def test_a_break_in_a_callee_that_handles(x, error):
    def inner(x):
        try:
            raised_in(error)
        except ValueError as caught:
            framejit.graph_break()
            return x + len(caught.args)

    return inner(x) + 1


def test_locals_of_a_callee_die_with_the_exception():
    def holds(error):
        held = Held(error)
        died = weakref.ref(held)
        error.add_note("held")
        found.append(died)
        raise Own(4)

    def program(x, error):
        try:
            holds(error)
        except Own as caught:
            kept = caught
        return x + 1, kept

    found = []
    framejit.reset()
    for run in (program, framejit.compile(program, backend="eager")):
        _, kept = run(torch.ones(2), KeyError())
        held = found[-1]()
        assert held is not None and kept.__traceback__.tb_next.tb_frame.f_locals["held"] is held
        del kept, held
        gc.collect()
        assert found[-1]() is None


def handles_and_goes_on():
    try:
        raise ValueError("own")
    except ValueError:
        yield sys.exc_info()[0]
    yield sys.exc_info()[0]
    yield sys.exc_info()[0]


@check(calls=2)
def test_what_a_generator_handles_is_its_own(x):
    running = handles_and_goes_on()
    try:
        raise IndexError("of the caller")
    except IndexError:
        seen = [next(running), next(running), sys.exc_info()[0]]
    return x + 1, seen, next(running), sys.exc_info()[0]


@check(calls=2)
def test_locals_of_a_callee_die_with_what_was_handled(x):
    def raises():
        local = held  # noqa: F841
        raise Own(held)

    held = Held(None)
    died = weakref.ref(held)
    try:
        raises()
    except Own:
        try:
            raise
        except Own:
            x = x * 2
    held = None
    return x + 1, died() is None


def yields():
    yield 1


def waits_for(given):
    yield from given


class Thrower:
    def __iter__(self):
        return self

    def __next__(self):
        return 1

    def throw(self, error):
        raise error

    def close(self):
        raise RuntimeError("not closed")


def thrown_through(x, errors):
    met, makes = [], (yields, lambda: waits_for(yields()), lambda: waits_for(waits_for(yields())), lambda: waits_for(waits_for(Thrower())))
    for make, error in zip(makes, errors):
        given = make()
        next(given)
        try:
            given.throw(error)
        except BaseException as caught:
            met.append(caught)
    return x + 1, met


def entries(error):
    """The functions and lines that the traceback of an exception shows, and those of its context."""
    shown = [(frame.f_code.co_name, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    return [type(error), shown, error.__context__ and entries(error.__context__)]


def test_what_is_thrown_through_generators_shows_their_frames_once():
    framejit.reset()
    compiled = framejit.compile(thrown_through, backend="eager")
    for _ in range(2):
        for error in (KeyError, StopIteration, GeneratorExit):
            seen, expected = ([entries(one) for one in run(torch.ones(2), [error(n) for n in range(4)])[1]] for run in (compiled, thrown_through))
            assert seen == expected


@check(lambda: (torch.ones(2), ValueError("a")), calls=2)
def test_lines_of_a_traceback(x, error):
    try:
        raised_in(error)
    except ValueError as caught:
        entry = caught.__traceback__
        lines = entry.tb_lineno, entry.tb_next.tb_lineno, entry.tb_next.tb_lasti, entry.tb_next.tb_next
    return x + 1, lines


def holds_its_traceback(error):
    try:
        raised_in(error)
    except ValueError as caught:
        entry = caught.__traceback__
    return entry


@check(lambda: (torch.ones(2), ValueError("a")), calls=2, breaks=3)
def test_a_frame_that_holds_its_own_traceback(x, error):
    entry = holds_its_traceback(error)
    return x + 1, entry is error.__traceback__


SEEN_ARGS: list = []


def args_are_kept(x, error):
    made = ValueError(1, x)
    SEEN_ARGS.append(made.args)
    other, both = KeyError("k"), (5, 6)
    other.args = both
    error.args = both
    failed = OSError(2, "no")
    return x + 1, [made, other, error, failed], [both, failed.args]


def test_the_arguments_of_an_exception_are_one_tuple():
    framejit.reset()
    counter = Counter()
    compiled = framejit.compile(args_are_kept, backend=counter)
    for run in (args_are_kept, compiled, compiled):
        SEEN_ARGS.clear()
        _, (made, other, error, failed), (both, of_failed) = run(torch.ones(2), ValueError(7))
        assert made.args is SEEN_ARGS[0] and other.args is both and error.args is both and failed.args is of_failed
    assert counter.graphs == 1


def test_locals_of_a_frame_that_a_break_left_open_are_asked_for():
    def inner(x, n):
        doubled = x + n
        if n > 1:
            raise ValueError(n)
        return doubled

    def function(x, n):
        try:
            return inner(x, n)
        except ValueError as error:
            return error.__traceback__.tb_next.tb_frame.f_locals["doubled"] + 1

    framejit.reset()
    compiled = framejit.compile(function, backend=Counter())
    for n in (0, 2, 3, 1, 2):
        assert compiled(torch.ones(2), n).tolist() == function(torch.ones(2), n).tolist()


def test_a_frame_that_went_on_behind_a_break_ends_at_its_line():
    def function(x, error, early):
        try:
            raise error
        except ValueError:
            framejit.graph_break()
            if early:
                return x + 1
        return x + 2

    framejit.reset()
    compiled = framejit.compile(function, backend=Counter())
    for early in (True, False, True, False):
        ended = []
        for call in (compiled, function):
            error = ValueError("seen")
            call(torch.ones(2), error, early)
            ended.append(error.__traceback__.tb_frame.f_lineno)
        assert ended[0] == ended[1]
