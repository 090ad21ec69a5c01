"""Exceptions that are there before the region: notes, chains and tracebacks that it gives them, and tracebacks of new ones that outlive it."""

import torch

import framejit
from support import Counter, check


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
        found.append((frame.f_code.co_name, entry.tb_lineno, entry.tb_lasti, sorted(frame.f_locals)))
        entry = entry.tb_next
    links = about(BaseException.__dict__["__cause__"].__get__(error), depth - 1), about(error.__context__, depth - 1)
    return repr(error), found, links, error.__suppress_context__, vars(error), error.args


def sees(*makes, calls=3, graphs=None):
    """Make a test of a function `f(x, *exceptions)`: what it does to them is the same as in eager, in one graph without a break."""

    def decorate(function):
        def test():
            framejit.reset()
            counter, breaks = Counter(), []
            unsubscribe = framejit.events.subscribe(breaks.append, framejit.events.Break)
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
            assert [f"{one.reason.id} {one.detail}" for one in breaks] == []
            assert counter.graphs == (graphs or 1)

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


def raised_in(error):
    raise error


@check(lambda: (torch.ones(2), ValueError("a")), breaks=2)
def test_the_frame_of_a_callee_is_made_by_cpython(x, error):
    y = x + 1
    try:
        raised_in(error)
    except ValueError as caught:
        entry = caught.__traceback__
        names = [entry.tb_frame.f_code.co_name, entry.tb_next.tb_frame.f_code.co_name]
    return y * 2, names
