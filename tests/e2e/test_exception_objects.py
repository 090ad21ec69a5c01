"""What exceptions hold: attributes in C and their errors, chains, groups, look-ups that failed, exceptions in cycles."""

import re

import torch

import framejit
from support import check, same


def said(action, *args):
    try:
        return action(*args)
    except Exception as error:
        return type(error).__name__, str(error)


@check()
def test_setters_refuse_what_they_refuse_in_c(x):
    seen = []
    for name in ("args", "__cause__", "__context__", "__traceback__", "__suppress_context__"):
        seen.append(said(setattr, Exception(), name, 1))
        seen.append(said(delattr, Exception(), name))
    return x + 1, seen


@check()
def test_attributes_made_by_constructors_outlive_the_arguments(x):
    stop, leave, failed = StopIteration(1), SystemExit(1, 2), ImportError("m", name="n", path="p")
    for error in (stop, leave, failed):
        error.args = (9,)
    seen = [stop.value, leave.code, failed.msg, failed.name, failed.path]
    failed.msg = "other"
    del failed.name
    seen += [failed.msg, failed.name, SystemExit().code, StopIteration().value, ImportError("a", "b").msg]
    for kind in (StopIteration, AttributeError, NameError, ImportError):
        try:
            kind(1, extra=2)
        except TypeError as error:
            seen.append(str(error))
    return x + 1, seen


class Odd(Exception):
    pass


class Picky(type):
    def __subclasscheck__(cls, other):
        raise ValueError("asked")


class Unasked(Exception, metaclass=Picky):
    pass


@check()
def test_except_does_not_ask_metaclasses(x):
    try:
        raise Odd(2)
    except Unasked:
        x = x + 1
    except Odd as error:
        x = x + error.args[0]
    return x


@check()
def test_chains_with_cycles(x):
    first, second, third = Odd(1), Odd(2), Odd(3)
    first.__context__, second.__context__, third.__context__ = second, third, second
    try:
        try:
            raise first
        except Odd:
            raise Odd(4)
    except Odd as error:
        return x + error.args[0], error.__context__ is first, third.__context__ is second


class Bare:
    __slots__ = ("slot",)


class Asked:
    @property
    def fails(self):
        raise AttributeError("inner")

    def __getattr__(self, name):
        raise AttributeError


@check()
def test_failed_look_ups_know_their_object(x):
    seen = []
    for action in (
        lambda: Bare().missing, lambda: Bare().slot, lambda: Asked().missing, lambda: Asked().fails, lambda: [].missing,
        lambda: Bare.missing, lambda: object.__getattribute__(Bare(), "missing"), lambda: setattr(Bare(), "missing", 1),
        lambda: delattr(Bare(), "slot"),
    ):  # fmt: skip
        try:
            action()
        except AttributeError as error:
            seen.append((error.name, type(error.obj).__name__, error.args))
    try:
        nowhere  # noqa: B018, F821
    except NameError as error:
        seen.append(error.name)
    return x + 1, seen


class Tagged(ExceptionGroup):
    def derive(self, members):
        return Tagged(self.message + "'", members)


@check()
def test_groups_are_made_and_refused_as_in_c(x):
    group = BaseExceptionGroup("g", [ValueError(1), KeyError(2)])
    seen = [repr(group), str(group), group.args[1], group.exceptions, type(group).__name__, said(setattr, group, "message", 1)]
    for args in ((), ("a",), (1, [Odd()]), ("a", {Odd()}), ("a", []), ("a", [1]), ("a", [KeyboardInterrupt()])):
        seen.append(said(ExceptionGroup, *args))
    seen.append(said(Tagged, "a", [KeyboardInterrupt()]))
    return x + 1, [repr(item) for item in seen]


@check()
def test_split_and_subgroup(x):
    inner = Tagged("inner", [ValueError(1), TypeError(2)])
    inner.__cause__ = Odd("cause")
    inner.add_note("note")
    group = ExceptionGroup("outer", [inner, KeyError(3)])
    matched, rest = group.split(ValueError)
    part = matched.exceptions[0]
    only = group.subgroup(lambda item: isinstance(item, (KeyError, TypeError)))
    seen = [repr(matched), repr(rest), repr(only), part.__notes__, part.__notes__ is inner.__notes__, part.__suppress_context__]
    seen += [part.__cause__ is inner.__cause__, group.subgroup(OSError), group.split(Exception)[0] is group]
    seen += [said(group.split, 1), said(group.split), said(group.subgroup, len)]
    return x + 1, seen


@check()
def test_except_star_lets_through(x):
    seen = []
    try:
        try:
            raise ExceptionGroup("g", [ValueError(1), KeyError(2), TypeError(3), OSError(4)])
        except* ValueError:
            seen.append("value")
        except* KeyError:
            raise
        except* TypeError as group:
            raise Odd(5) from group
    except BaseExceptionGroup as group:
        seen.append(repr(group))
        seen.append([repr(item.__cause__) for item in group.exceptions])
    try:
        try:
            raise Odd(6)
        except* Odd as group:
            raise group
    except BaseExceptionGroup as group:
        seen.append(repr(group))
    try:
        try:
            raise Odd(7)
        except* ValueError:
            seen.append("wrong")
    except Odd as error:
        seen.append(repr(error))
    return x + 1, seen


class Holder:
    pass


def test_identity_in_cycles_through_exceptions():
    def cycles(x):
        items = []
        error = Odd(items)
        items.append(error)
        other = Odd()
        group = ExceptionGroup("g", [other])
        other.__context__ = group
        return x + 1, items, group

    _, items, group = framejit.compile(cycles, backend="eager")(torch.ones(2))
    assert items[0].args[0] is items and group.exceptions[0].__context__ is group


def test_identity_in_cycles_through_instances():
    def cycles(x):
        held, other, third = Holder(), Holder(), Holder()
        items = [held]
        held.items = items
        pair = (other,)
        other.pair = pair
        third.table = {"self": third}
        return x + 1, items, pair, third.table

    _, items, pair, table = framejit.compile(cycles, backend="eager")(torch.ones(2))
    assert items[0].items is items and pair[0].pair is pair and table["self"].table is table


def test_the_exception_that_ends_a_function_is_no_break():
    def leaves(x):
        y = x + 1
        raise ValueError("left", tuple(y.shape))

    seen = []
    unsubscribe = framejit.events.subscribe(seen.append, framejit.events.Break)
    try:
        framejit.compile(leaves, backend="eager")(torch.ones(2))
    except ValueError as error:
        assert error.args == ("left", (2,))
    finally:
        unsubscribe()
    assert seen == []


class Misspelt:
    blech = None

    def __getattr__(self, name):
        raise AttributeError

    @property
    def fails(self):
        return self.inner


def test_exceptions_that_outlive_the_region_know_what_was_asked_for():
    def program(x, name):
        try:
            getattr(Misspelt(), name) if name else Misspelt().bluch
        except AttributeError as error:
            return x + 1, error

    for name in ("", "bluch", "fails"):
        _, error = framejit.compile(program, backend="eager")(torch.ones(2), name)
        _, expected = program(torch.ones(2), name)
        assert (error.name, type(error.obj), error.args) == (expected.name, type(expected.obj), expected.args)


def test_objects_nested_deeply():
    def nested(x):
        items, error = [], ValueError(0)
        for number in range(2000):
            items = [items]
            error = ExceptionGroup("g", [error, KeyError(number)])
        return x + 1, items, error

    with framejit.config.patch(strict=True):
        _, items, error = framejit.compile(nested, backend="eager")(torch.ones(2))
    depth = 0
    while items:
        items, error, depth = items[0], error.exceptions[0], depth + 1
    assert depth == 2000 and error.args == (0,)


class Cached:
    def table(self):
        return self.__dict__


def test_the_dict_of_an_instance_is_one_object():
    def program(x):
        held = Cached()
        table = held.table()
        framejit.graph_break()
        table["late"] = 1
        return x + held.late, held

    result, held = framejit.compile(program, backend="eager")(torch.ones(2))
    assert torch.equal(result, torch.ones(2) + 1) and held.late == 1


def fails_twice():
    try:
        1 / 0
    except Exception as error:
        assert error
        1 / 0
        error = None


def test_lines_of_frames_that_clean_up():
    def lines():
        try:
            fails_twice()
        except Exception as error:
            trace = error.__traceback__
        found = []
        while trace:
            found.append((trace.tb_frame.f_lineno, trace.tb_lineno))
            trace = trace.tb_next
        return found[1:]

    with framejit.config.patch(strict=True, capture_without_tensors=True):
        assert framejit.compile(lines, backend="eager")() == lines()


@check()
def test_exc_info_while_an_exception_is_handled(x):
    import sys

    seen = [sys.exc_info()]
    try:
        raise Odd(3)
    except Odd as error:
        kind, value, trace = sys.exc_info()
        seen += [kind is Odd, value is error, trace is error.__traceback__, sys.exception() is error]
        del trace
    return x + 1, seen, sys.exc_info()[1]


def group_of_two():
    inner = Tagged("inner", [ValueError(1), TypeError(2)])
    inner.__context__ = Odd("context")
    inner.add_note("note")
    return ExceptionGroup("outer", [inner, KeyError(3)])


@check(lambda: (torch.ones(2), group_of_two()), breaks=0)
def test_groups_that_exist_are_split(x, group):
    matched, rest = group.split(ValueError)
    part = matched.exceptions[0]
    seen = [repr(matched), repr(rest), part.__notes__, repr(part.__context__), part.__suppress_context__, group.subgroup(OSError)]
    return x + 1, seen, repr(group.subgroup(lambda item: isinstance(item, KeyError)))


def _about(error):
    return error.msg, error.pattern, error.pos, error.lineno, error.colno, error.args, str(error), repr(error), vars(error), error.__suppress_context__


@check()
def test_what_c_code_raises_has_its_attributes(x):
    found = []
    for attempt in (lambda: re.compile("("), lambda: re.sub("a", "\\2", "a"), lambda: re.compile(b"\n[b-a]")):
        try:
            attempt()
        except re.error as error:
            found.append(_about(error))
            error.msg = "another"
            error.note = 1
            found.append((vars(error), str(error)))
    try:
        try:
            [].pop()
        except IndexError:
            re.compile("*")
    except re.error as error:
        found.append((type(error.__context__), error.__cause__, error.pos))
    try:
        b"\xff".decode()
    except UnicodeDecodeError as error:
        found.append((error.args, error.start, error.end, error.reason, str(error), vars(error)))
    return x + 1, found


def _raised_by_c(x):
    try:
        re.compile("a(")
    except re.error as error:
        kept = error
    framejit.graph_break()
    return x + 1, _about(kept), kept


def test_what_c_code_raises_leaves_the_region():
    framejit.reset()
    with framejit.config.patch(strict=True):
        compiled = framejit.compile(_raised_by_c, backend="eager")
        for _ in range(2):
            same(compiled(torch.ones(2)), _raised_by_c(torch.ones(2)))
