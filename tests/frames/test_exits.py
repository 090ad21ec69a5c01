"""Rules 2 to 6: what happens to a frame after a region."""

import sys
import weakref

from framejit.bytecode.versions import NULL_FIRST
from frames.core import (
    NULL,
    C,
    callbacks,
    compiled,
    find,
    install,
    lines,
    nothing_handled,
    opaque,
    program,
    raised,
    slots,
)

log = []
kept = []


class Boom(Exception):
    pass


def note(*values):
    log.append(values)
    return len(log)


def keep_frame():
    kept.append(sys._getframe(1))


# ---- rule 2: the end of a frame ----
def plain(a, b):
    return a, b


def test_return_of_a_plain_frame():
    install(plain, ("LOAD_SLOT", 0, 0), ("LOAD_SLOT", 1, 1), ("BUILD_TUPLE", 2, [1, 0]), ("RETURN", 2))
    run = compiled(plain)
    assert run(1, 2) == (2, 1) and run(b=3, a=4) == (3, 4)
    assert isinstance(raised(run, 1), TypeError)
    marker = object()
    before = sys.getrefcount(marker)
    for _ in range(100):
        run(marker, marker)
    assert sys.getrefcount(marker) == before
    C.reset(plain.__code__)


def keeps(x):
    y = x + 1
    keep_frame()
    z = y * 2
    return z


def call_row(function, nth=0):
    ins = find(function, "CALL", nth)
    return opaque(ins, consts=(tuple(ins.value),) if ins.value else ())


def head(callee):
    """Registers of the head of a call of the function in register `callee`."""
    return [-1, callee] if NULL_FIRST else [callee, -1]


def test_a_frame_that_is_kept_tells_the_truth():
    call, leave = find(keeps, "CALL"), find(keeps, "RETURN_VALUE")
    install(keeps, ("LOAD_SLOT", 0, 0), ("LOAD_CONST", 1, keep_frame), ("SLOTS", [0, 0, -1, *head(1)]), opaque(call))
    install(keeps, ("LOAD_SLOT", 0, 0), ("LOAD_CONST", 1, 77), ("SLOTS", [-2, -2, 1]), ("RETURN_AT", 0, leave.pc), pc=call.next_pc)
    assert compiled(keeps)(5) == 5
    frame = kept.pop()
    assert frame.f_code is keeps.__code__
    assert frame.f_lineno == leave.line
    assert dict(frame.f_locals) == {"x": 5, "y": 5, "z": 77}
    frame.clear()
    C.reset(keeps.__code__)


def test_locals_live_as_long_as_eager_ones():
    class Thing:
        pass

    install(plain, ("LOAD_SLOT", 0, 0), ("LOAD_CONST", 1, "done"), ("SLOTS", [-1, -1]), ("DROP", [0]), ("RETURN", 1))
    thing = Thing()
    reference = weakref.ref(thing)
    assert compiled(plain)(thing, 1) == "done"
    del thing
    assert reference() is None
    C.reset(plain.__code__)


def returns_nothing(x):
    x.append(1)


def test_return_of_a_constant():
    install(returns_nothing, ("LOAD_CONST", 0, None), ("RETURN", 0))
    assert compiled(returns_nothing)(1) is None
    call = find(returns_nothing, "CALL")
    install(returns_nothing, ("LOAD_CONST", 0, None), ("RETURN", 0), pc=call.next_pc)
    install(returns_nothing, ("LOAD_SLOT", 0, 0), ("LOAD_CONST", 1, keep_frame), ("SLOTS", [0, *head(1)]), opaque(call, arg=0))
    assert compiled(returns_nothing)(3) is None
    assert kept.pop().f_lineno == call.line
    C.reset(returns_nothing.__code__)


# ---- rule 3: prefixes of instructions ----
def takes(*args, **kwargs):
    return args, kwargs


def with_names(x):
    return takes(x, key=x, other=2)


def test_keyword_calls_are_opaque_or_entered_at_their_prefix():
    call = find(with_names, "CALL")
    loads = ("LOAD_SLOT", 0, 0), ("LOAD_CONST", 1, takes), ("LOAD_CONST", 2, 2)
    for exit_ in (call_row(with_names), ("NATIVE", call.pc), ("ENTER", call.pc)):
        install(with_names, *loads, ("SLOTS", [0, *head(1), 0, 0, 2]), exit_)
        assert compiled(with_names)(1) == ((1,), {"key": 1, "other": 2}), exit_
        C.reset(with_names.__code__)


# ---- rule 4: where an exception appears ----
def first_in_try(d):
    x = 1
    try:
        missing_global  # noqa: B018, F821
    except NameError:
        return "caught"


def deletes(d, k):
    try:
        x = d
    finally:
        pass
    del d[k]
    y = 1
    return x, y


def deletes_local(x):
    y = 1
    try:
        del x
        return y
    except UnboundLocalError as error:
        return lines_here(error)


def after_try(d):
    try:
        d.append(1)
    except ValueError:
        return "caught"
    del d
    return "end"


def test_raise_finds_its_handler_and_line():
    load = find(first_in_try, "LOAD_GLOBAL")
    install(first_in_try, ("LOAD_CONST", 0, NameError("n")), ("RAISE", 0, load.pc))
    assert compiled(first_in_try)(1) == "caught"
    delete = find(deletes, "DELETE_SUBSCR")
    install(deletes, ("LOAD_SLOT", 0, 0), ("LOAD_SLOT", 1, 1), ("LOAD_CONST", 2, KeyError("k")),
            ("SLOTS", [0, 1, 0, -1][: deletes.__code__.co_nlocals] + [0, 1]), ("RAISE", 2, delete.pc))
    error = raised(compiled(deletes), {}, 5)
    assert lines(error) == [("deletes", 5)], lines(error)
    for function in (first_in_try, deletes):
        C.reset(function.__code__)


def test_raise_by_a_single_unit_instruction():
    delete = find(deletes_local, "DELETE_FAST")
    install(deletes_local, ("LOAD_CONST", 0, UnboundLocalError("u")), ("SLOTS", [-1, -1, -1]), ("RAISE", 0, delete.pc))
    assert compiled(deletes_local)(1) == [("deletes_local", 3)]
    assert nothing_handled()
    delete = find(after_try, "DELETE_FAST")
    install(after_try, ("LOAD_CONST", 0, ValueError("v")), ("RAISE", 0, delete.pc))
    assert lines(raised(compiled(after_try), 1)) == [("after_try", 5)]
    for function in (deletes_local, after_try):
        C.reset(function.__code__)


def test_raise_before_the_first_instruction():
    install(plain, ("LOAD_CONST", 0, Boom("b")), ("RAISE", 0, 0))
    error = raised(compiled(plain), 1, 2)
    assert type(error) is Boom and lines(error) == [("plain", 0)], lines(error)
    C.reset(plain.__code__)


def handles(x):
    try:
        note("body")
    except Boom as error:
        note("handler", error.args, type(sys.exc_info()[1]).__name__)
        return "handled"
    finally:
        note("finally")
    return "end"


def test_opaque_failure_is_caught_by_the_frame():
    def fails(*args):
        raise Boom("from note")

    log.clear()
    call = find(handles, "CALL")
    install(handles, ("LOAD_CONST", 0, fails), ("LOAD_CONST", 1, "body"), ("SLOTS", [-1, -1, *head(0), 1]), opaque(call))
    assert compiled(handles)(1) == "handled"
    assert log == [("handler", ("from note",), "Boom"), ("finally",)]
    assert nothing_handled()
    C.reset(handles.__code__)


def test_context_is_that_of_the_handled_exception():
    handler = find(handles, "LOAD_GLOBAL", value="type")
    outer = Boom("outer")
    install(handles, ("LOAD_CONST", 0, outer), ("LOAD_CONST", 1, ValueError("inner")), ("LOAD_CONST", 2, None),
            ("SLOTS", [-1, 0, 2]), ("SET_HANDLED", 0), ("RAISE", 1, handler.pc))
    log.clear()
    error = raised(compiled(handles), 1)
    assert type(error) is ValueError and error.__context__ is outer
    assert log == [("finally",)]
    assert nothing_handled()
    C.reset(handles.__code__)


# ---- effects that fail ----
def stores(x):
    try:
        x.attribute = 1
        x.second = 2
    except AttributeError:
        return "caught"
    return "end"


class Slotted:
    __slots__ = ("attribute",)


def test_failures_between_exits_appear_where_the_exit_leads():
    second = find(stores, "STORE_ATTR", value="second")
    install(stores, ("LOAD_SLOT", 0, 0), ("LOAD_CONST", 1, 5), ("STORE_ATTR", 0, "attribute", 1), ("ON_ERROR", "failed"),
            ("STORE_ATTR", 0, "second", 1), ("RETURN", 1), "failed", ("SLOTS", [0]), ("RAISE", -1, second.pc))
    thing = Slotted()
    assert compiled(stores)(thing) == "caught" and thing.attribute == 5
    C.reset(stores.__code__)


# ---- branches ----
def test_branch_picks_the_exit():
    install(plain, ("LOAD_SLOT", 0, 0), ("LOAD_SLOT", 1, 1), ("COMPARE", 2, 0, 0, 1), ("BRANCH", 2, "less", "more"),
            "less", ("LOAD_CONST", 3, "less"), ("RETURN", 3), "more", ("NATIVE", 0))
    run = compiled(plain)
    assert run(1, 2) == "less" and run(2, 1) == (2, 1)
    C.reset(plain.__code__)


# ---- rule 5: inside an instruction ----
class Made:
    def __init__(self, value):
        note("init", value)
        self.value = value


def makes(x):
    made = Made(x)
    return made


def truth_of(x):
    if x:
        return "true"
    return "false"


class Truth:
    def __init__(self, answer):
        self.answer = answer

    def __bool__(self):
        note("bool")
        return self.answer


def test_init_returns_the_instance():
    call, inner = find(makes, "CALL"), find(Made.__init__, "CALL", 0)
    instance = Made.__new__(Made)
    install(makes, ("LOAD_SLOT", 0, 0), ("LOAD_CONST", 1, instance), ("LOAD_CONST", 2, Made.__init__), ("LOAD_CONST", 3, note),
            ("LOAD_CONST", 4, "init"), ("SLOTS", [0, -1]),
            ("CALLEE", 2, call.pc, call.next_pc, 1, 1, [1, 0, *head(3), 4, 0], "inside"), "inside", opaque(inner))
    log.clear()
    made = compiled(makes)(7)
    assert made is instance and made.value == 7 and log == [("init", 7)]
    C.reset(makes.__code__)


def test_bool_decides_the_jump():
    log.clear()
    jump = find(truth_of, "POP_JUMP_IF_FALSE")
    for answer in (True, False, 3):
        truth = Truth(answer)
        install(truth_of, ("LOAD_CONST", 0, truth), ("LOAD_CONST", 1, Truth.__bool__), ("SLOTS", [0]),
                ("CALLEE", 1, jump.pc, jump.pc, 4, -1, [0], "inside"), "inside", ("NATIVE", 0))
        if answer == 3:
            error = raised(compiled(truth_of), truth)
            assert type(error) is TypeError and lines(error) == [("truth_of", 1)]
        else:
            assert compiled(truth_of)(truth) == str(answer).lower()
        C.reset(truth_of.__code__)
    assert log == [("bool",)] * 3
    log.clear()


# ---- callees ----
def inner(z, *, option="default"):
    found = where()
    if z == 7:
        raise Boom(option)
    return found, z, option


def where():
    frame, names = sys._getframe(1), []
    while frame and len(names) < 2:
        names.append((frame.f_code.co_name, frame.f_lineno - frame.f_code.co_firstlineno, dict(frame.f_locals)))
        frame = frame.f_back
    return names


def outer(x):
    try:
        result = inner(x)
        return "ok", result
    except Boom as error:
        return "caught", lines_here(error), error.args


def lines_here(error):
    found = []
    entry = error.__traceback__
    while entry:
        found.append((entry.tb_frame.f_code.co_name, entry.tb_lineno - entry.tb_frame.f_code.co_firstlineno))
        entry = entry.tb_next
    return found


def outer_region():
    call, broken = find(outer, "CALL"), find(inner, "CALL")
    return (
        ("LOAD_SLOT", 0, 0), ("LOAD_CONST", 1, inner), ("LOAD_CONST", 2, where), ("LOAD_CONST", 3, "given"),
        ("SLOTS", [0, -1, -1]),
        ("CALLEE", 1, call.pc, call.next_pc, 0, -1, [0, 3, -1, *head(2)], "inside"),
        "inside", opaque(broken),
    )


def test_callee_runs_in_its_own_frame_above_its_caller():
    install(outer, *outer_region())
    run = compiled(outer)
    names, z, option = run(5)[1]
    assert (z, option) == (5, "given")
    assert names == [("inner", 1, {"z": 5, "option": "given"}), ("outer", 2, {"x": 5})]
    assert run(7) == ("caught", [("outer", 2), ("inner", 3)], ("given",))
    assert nothing_handled()
    C.reset(outer.__code__)


def test_callee_regions_and_values_do_not_leak():
    install(outer, *outer_region())
    run, marker = compiled(outer), object()
    run(marker)
    before = sys.getrefcount(marker)
    for _ in range(50):
        run(marker)
    assert sys.getrefcount(marker) == before
    C.reset(outer.__code__)


def many(a, b, c=3, /, d=4, *rest, e, f=6, **others):
    x = where()
    return a, b, c, d, rest, e, f, others


def opens(x):
    return many(1, 2, e=5)


def test_callees_of_any_signature():
    call, stop = find(opens, "CALL"), find(many, "STORE_FAST")
    values = ["LOAD_CONST", 1, 2, 3, 4, (), 5, 6, {}]
    loads = [("LOAD_CONST", i, value) for i, value in enumerate([1, 2, 3, 4, 5, 6, (8, 9), {"k": 0}, None])]
    install(opens, *loads, ("LOAD_CONST", 9, many), ("SLOTS", [-1]),
            ("CALLEE", 9, call.pc, call.next_pc, 0, -1, [0, 1, 2, 3, 4, 5, 6, 7, -1, 8], "inside"), "inside", ("NATIVE", stop.pc))
    assert len(values) == 9
    assert compiled(opens)(0) == (1, 2, 3, 4, (8, 9), 5, 6, {"k": 0})
    C.reset(opens.__code__)


def inner_of_constants(z):
    note(z)
    return 1


def leaves(x):
    y = inner_of_constants(x)
    return y, x


def test_a_region_of_the_callee_goes_on_in_its_caller():
    call, broken, end = find(leaves, "CALL"), find(inner_of_constants, "CALL"), find(leaves, "RETURN_VALUE")
    install(leaves, ("LOAD_SLOT", 0, 0), ("LOAD_CONST", 1, inner_of_constants), ("LOAD_CONST", 2, note), ("SLOTS", [0, -1]),
            ("CALLEE", 1, call.pc, call.next_pc, 0, -1, [0, *head(2), 0], "inside"), "inside", opaque(broken))
    install(inner_of_constants, ("LOAD_SLOT", 0, 0), ("BUILD_TUPLE", 1, [0, 0]), ("LEAVE", "outside", -2),
            "outside", ("SLOTS", [-2, 1]), ("RETURN_AT", 1, end.pc), pc=broken.next_pc)
    run, marker = compiled(leaves), object()
    assert run(marker) == (marker, marker)
    log.clear()
    before = sys.getrefcount(marker)
    for _ in range(20):
        run(marker)
    log.clear()
    assert sys.getrefcount(marker) == before
    C.reset(leaves.__code__)
    C.reset(inner_of_constants.__code__)
    install(leaves, ("LOAD_SLOT", 0, 0), ("LEAVE", "outside", -2), "outside", ("RETURN", 0))
    assert type(raised(run, 1)) is SystemError
    C.reset(leaves.__code__)


# ---- rule 6: slots are written once ----
def changes_locals():
    sys._getframe(1).f_locals["y"] = 99
    return None


def is_changed(x):
    y = x
    changes_locals()
    return y


def test_slots_are_not_written_again_after_the_operation():
    wanted = is_changed(1)
    call = find(is_changed, "CALL")
    install(is_changed, ("LOAD_SLOT", 0, 0), ("LOAD_CONST", 1, changes_locals), ("SLOTS", [0, 0, *head(1)]), opaque(call))
    assert compiled(is_changed)(1) == wanted == (99 if sys.version_info[:2] >= (3, 13) else 1)
    C.reset(is_changed.__code__)


def test_registers_are_dropped_at_their_last_use():
    class Thing:
        pass

    references, alive = [], []

    def make():
        thing = Thing()
        references.append(weakref.ref(thing))
        return thing

    def look(*args):
        alive.append([reference() is not None for reference in references])

    def discards():
        look(0)
        return 1

    call = find(discards, "CALL")
    install(discards, ("LOAD_CONST", 0, make), ("CALL", 1, 0, [], ()), ("CALL", 2, 0, [], ()), ("LOAD_CONST", 3, look),
            ("LOAD_CONST", 4, discards.__closure__[0]), ("SLOTS", [4, *head(3), 2]), opaque(call))
    assert compiled(discards)() == 1
    assert alive == [[False, True]] and references[1]() is None
    C.reset(discards.__code__)


# ---- bad programs must not crash ----
def test_programs_that_do_not_fit_raise_systemerror():
    code = plain.__code__
    wrong = [
        [("SLOTS", [-1]), ("NATIVE", 0)],
        [("SLOTS", [-1] * (code.co_nlocals + code.co_stacksize + 1)), ("NATIVE", 0)],
        [opaque(find(plain, "RETURN_VALUE"), "BINARY_OP", 0)],
        [opaque(find(plain, "RETURN_VALUE"), "CALL", 200)],
        [opaque(find(plain, "RETURN_VALUE"), "LOAD_ATTR", 0)],
        [opaque(find(plain, "RETURN_VALUE"), "FOR_ITER", 0)],
        [("LOAD_CONST", 0, 1), ("RAISE", 0, find(plain, "RETURN_VALUE").pc)],
        [("RAISE", -1, find(plain, "RETURN_VALUE").pc)],
    ]
    for rows in wrong:
        install(plain, *rows)
        assert type(raised(compiled(plain), 1, 2)) is SystemError, rows
        C.reset(code)
    assert plain(1, 2) == (1, 2)


def test_enter():
    def f(x):
        try:
            y = note(x)
            if y == 7:
                raise Boom("seven")
            return "ok", y, x
        except Boom as error:
            return "caught", error.args, x

    after = find(f, "CALL").next_pc
    assert C.enter(f, after, slots(f, 3, x=10)) == ("ok", 3, 10)
    assert C.enter(f, after, slots(f, 7, x=10)) == ("caught", ("seven",), 10)
    assert C.enter(f, after, slots(f, 3, x=10), None, Boom("thrown")) == ("caught", ("thrown",), 10)
    assert type(raised(C.enter, f, 1, [])) is ValueError
    assert type(raised(C.enter, f, after, [NULL])) is SystemError
    assert program(("NATIVE", 0)).nregs == 0
    with callbacks():
        assert C.enter(f, after, slots(f, 3, x=10)) == ("ok", 3, 10)
