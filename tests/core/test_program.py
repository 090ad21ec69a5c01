"""Validation, printing and checking of programs."""

import pytest

from framejit import _C
from framejit.core.program import EXITS, KEEP, OPS, TEXTS, Instruction, Listing, Malformed, check, unpack


def listing(*rows, consts=(), nregs=8, slot_names=()):
    """A program from rows written as (op, operands...)."""
    return Listing("f:10 pc=0", tuple(Instruction(row[0], row[1:]) for row in rows), consts, nregs, (), slot_names)


def graph(x):
    return (x,)


LOAD, RETURN = ("LOAD_SLOT", 0, 0), ("RETURN", 0)


@pytest.mark.parametrize(
    "rows, message",
    [
        ([], "not empty"),
        ([LOAD], "runs off its end"),
        ([RETURN], "register that is not set"),
        ([("LOAD_SLOT", 9, 0), RETURN], "no such register"),
        ([("LOAD_SLOT", 0), RETURN], "number of operands"),
        ([("LOAD_SLOT", 0, -1), RETURN], "no such slot"),
        ([("LOAD_SLOT", 0, "x"), RETURN], "not an int"),
        ([("LOAD_SLOT", 0, 2**40), RETURN], "32 bits"),
        ([LOAD, ("CHECK_IS", 0, 5), RETURN], "no such constant"),
        ([LOAD, ("CHECK_TYPE", 0, 1), RETURN], "not a class"),
        ([LOAD, ("CHECK_TENSOR", 0, 0), RETURN], "not a tensor_check"),
        ([LOAD, ("CHECK_DICT_KEYS", 0, 0), RETURN], "not a tuple"),
        ([LOAD, ("STORE_ATTR", 0, 0, 0), RETURN], "not a name"),
        ([LOAD, ("LOAD_MEMBER", 1, 0, 0), RETURN], "not a member descriptor"),
        ([LOAD, ("BINARY", 1, 27, 0, 0), RETURN], "no such operator"),
        ([LOAD, ("BUILD_TUPLE", 1, (0, -1)), RETURN], "no such register"),
        ([LOAD, ("BUILD_TUPLE", 1, [0]), RETURN], "not a tuple"),
        ([LOAD, ("BUILD_DICT", 1, (0,)), RETURN], "pairs"),
        ([LOAD, ("CALL", 1, 0, (), (0,)), RETURN], "tuple of names"),
        ([LOAD, ("BRANCH", 0, 0, 2), RETURN], "backward"),
        ([LOAD, ("BRANCH", 0, 2, 9), RETURN], "out of the program"),
        ([LOAD, RETURN, RETURN], "cannot be reached"),
        ([LOAD, ("DROP", (0,)), RETURN], "register that is not set"),
        ([LOAD, ("DICT_GROUP", 0, 0, 3, (1,)), ("DICT_STAMP", 0, 0, ()), RETURN], "another number of registers"),
        ([LOAD, ("DICT_GROUP", 0, 0, 2, (1,)), ("RETURN", 1)], "register that is not set"),
        ([LOAD, ("CALL_GRAPH", 2, 1, (0,), (1,)), ("CHECK_IS", 0, 0), RETURN], "after the graph"),
        ([LOAD, ("LIST_APPEND", 0, 0), ("CHECK_IS", 0, 0), RETURN], "after the graph or an effect"),
        ([LOAD, ("OPAQUE", 10_000, 0, 0, 0, 0, ())], "no such kind"),
    ],
)
def test_refuses(rows, message):
    with pytest.raises(ValueError, match=message):
        listing(*rows, consts=(1, 2, graph)).pack()


def test_refuses_what_is_no_program():
    for bad in [((99999,),), ((-1,),), ((),), (5,), ("x",)]:
        with pytest.raises(ValueError):
            _C.Program(bad, (), 1)
    with pytest.raises(ValueError):
        _C.Program(((OPS["LOAD_SLOT"].code, 0, 0), (OPS["RETURN"].code, 0)), (), 1, "x", (0,))
    with pytest.raises(ValueError):
        _C.Program(((OPS["RETURN"].code, 0),), (), -1)


def test_round_trip():
    rows = [LOAD, ("CHECK_TYPE", 0, 0), ("BRANCH", 0, 3, 5), ("SLOTS", (0, -1, KEEP)), ("ENTER", 4), ("RAISE", 0, 2)]
    program = listing(*rows, consts=(int,)).pack()
    assert [(row.op, *row.operands) for row in unpack(program).instructions] == rows
    assert program.consts == (int,) and program.nregs == 8 and program.name == "f:10 pc=0" and program.hits == 0


def test_prints():
    printed = listing(
        LOAD, ("CHECK_TYPE", 0, 0), ("LOAD_SLOT", 1, 1), ("CHECK_TYPE", 1, 1), ("CHECK_EQ", 1, 2),
        ("CALL_GRAPH", 3, 1, (0,), (2,)), ("STORE_ATTR", 0, 4, 2), ("BRANCH", 1, 8, 10),
        ("SLOTS", (0, KEEP, 2, -1)), ("ENTER", 22), ("RETURN", 2),
        consts=(list, int, 3, graph, "last"), slot_names=("x", "n"),
    )  # fmt: skip
    assert str(printed).splitlines() == [
        "region f:10 pc=0",
        "  r0 = L.x     check TYPE_IS list",
        "  r1 = L.n     check TYPE_IS int ; EQ 3",
        "  r2 = <function graph>(r0) replay",
        "  r0.'last' = r2",
        "  branch r1: @8 else @10",
        " @8:",
        "  frame slots=[r0, keep | r2, -]",
        "  enter pc=22",
        " @10:",
        "  return r2",
    ]
    assert str(unpack(printed.pack(), {1: "here"})).splitlines()[1].endswith("# here")


def test_every_op_has_a_text():
    assert set(TEXTS) <= set(OPS)
    assert EXITS < set(OPS)


def test_checker():
    check(listing(LOAD, RETURN))
    with pytest.raises(Malformed, match="before the graph"):
        check(listing(LOAD, ("CALL_GRAPH", 0, 1, (0,), (1,)), ("LOAD_SLOT", 2, 0), RETURN, consts=(graph,)))
    with pytest.raises(Malformed, match="no replay"):
        check(listing(LOAD, ("LIST_APPEND", 0, 0), ("CALL_GRAPH", 0, 1, (0,), (1,)), RETURN, consts=(graph,)))
    with pytest.raises(Malformed, match="only an error sequence"):
        check(listing(LOAD, ("RAISE", -1, 0)))
    with pytest.raises(Malformed, match="runs off"):
        check(listing(LOAD))
    check(listing(LOAD, ("ON_ERROR", 4), ("LIST_APPEND", 0, 0), RETURN, ("SLOTS", (0,)), ("RAISE", -1, 6)))
