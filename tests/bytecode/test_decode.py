"""The decoder against dis, over the standard library and over the prefixes that once went wrong."""

import dis
import gc
import itertools

from bytecode.corpus import nested, standard_library
from framejit.bytecode import NULL_FIRST, OP_NAMES, decode, instr, versions
from framejit.bytecode.decode import _CACHE, raw_instructions

FOLDED = ("EXTENDED_ARG", "KW_NAMES", "PRECALL", "CACHE")


def visible(code):
    return [ins for ins in dis.get_instructions(code) if ins.opname not in FOLDED]


def test_every_opcode_of_this_python_has_a_row():
    table = versions.TABLES[versions.VERSION]
    assert set(versions.raw_opcodes()) - set(table) == set()
    assert set(table) - set(versions.raw_opcodes()) == set(), "a row for an opcode that this Python does not have"


def test_every_row_leads_to_canonical_ops():
    used = set()
    for table in versions.TABLES.values():
        for name, row in table.items():
            for parts in [row] if not callable(row) else [row(arg) for arg in ((0, 1, 16) if "INTRINSIC" not in name else range(1, 6))]:
                used.update(part.op for part in parts)
    used |= {"IMPORT_STAR", "PRINT_EXPR"}
    assert used - set(OP_NAMES) == set()
    assert set(OP_NAMES) - used == set(), "a canonical op that nothing decodes to"


def test_effects_are_told_for_every_op():
    for name, _, effect in instr.CANONICAL:
        assert "--" in effect
        assert ("[" in effect) == (name in instr._VARIADIC), name


def test_positions_and_order_are_those_of_dis():
    for code in standard_library():
        decoded = decode(code)
        by_own = {ins.own_pc: ins for ins in reversed(decoded.instructions)}
        for raw in visible(code):
            if raw.offset not in by_own:  # the names of a call with keywords, on 3.13
                assert raw.opname == "LOAD_CONST"
                assert any(ins.pc <= raw.offset < ins.own_pc and ins.op == "CALL" for ins in decoded.instructions)
                continue
            ins = by_own[raw.offset]
            expected = tuple(-1 if number is None else number for number in raw.positions)
            assert (ins.line, ins.end_line, ins.col, ins.end_col) == expected


def test_instructions_tile_the_code():
    for code in standard_library():
        instructions = decode(code).instructions
        assert instructions[0].pc == 0 and instructions[-1].next_pc == len(code.co_code)
        for ins, following in itertools.pairwise(instructions):
            same = following.pc == ins.pc
            assert following.pc == (ins.pc if same else ins.next_pc)
            assert not (same and following.enterable)
            assert ins.pc <= ins.own_pc < ins.next_pc


def test_jumps_go_where_dis_says():
    beyond = {"FOR_ITER", "SEND"}  # these are taken past END_FOR and END_SEND
    for code in standard_library():
        decoded = decode(code)
        targets = {raw.offset: raw.argval for raw in dis.get_instructions(code) if raw.opcode in dis.hasjrel or raw.opcode in dis.hasjabs}
        for ins in decoded.instructions:
            assert (ins.target >= 0) == (ins.own_pc in targets) == (ins.jump >= 0), ins
            if ins.target < 0:
                continue
            assert decoded.instructions[ins.jump].pc == ins.target
            if ins.op in beyond:
                assert 0 <= ins.target - targets[ins.own_pc] <= 4
            else:
                assert ins.target == targets[ins.own_pc]


def test_values_are_those_of_dis():
    named = ("STORE_ATTR", "STORE_GLOBAL", "LOAD_NAME", "STORE_NAME", "IMPORT_NAME", "IMPORT_FROM", "LOAD_CONST")
    checked = 0
    for code in standard_library(every=8):
        decoded = decode(code)
        by_own = {ins.own_pc: ins for ins in decoded.instructions}
        for raw in visible(code):
            ins = by_own.get(raw.offset)
            if ins is None:
                continue
            if raw.opname in named:
                assert ins.value is raw.argval or ins.value == raw.argval
                checked += 1
            elif raw.opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_GLOBAL") or ins.op == "COMPARE_OP":
                assert ins.value in raw.argrepr
                checked += 1
            elif raw.opname in ("LOAD_FAST", "STORE_FAST", "LOAD_DEREF", "STORE_DEREF", "MAKE_CELL", "DELETE_FAST"):
                assert decoded.locals[ins.value].name == raw.argval
                checked += 1
            elif ins.op == "BINARY_OP":
                assert ins.value == raw.argrepr
                checked += 1
    assert checked > 10_000


def test_slots_stand_in_cpythons_order():
    for code in standard_library():
        layout = decode(code).locals
        for slot, local in enumerate(layout):
            assert code._varname_from_oparg(slot) == local.name
        assert {local.name for local in layout if local.kind == "cell"} == set(code.co_cellvars)
        assert [local.name for local in layout if local.kind == "free"] == list(code.co_freevars)


def test_exception_tables_are_those_of_dis():
    for code in standard_library():
        decoded = decode(code)
        expected = [tuple(entry) for entry in dis.Bytecode(code).exception_entries]
        assert [tuple(entry) for entry in decoded.exception_table] == expected
        for ins in decoded.instructions:
            entry = decoded.lookup(ins.own_pc)
            assert entry is (decoded.exception_table[ins.handler] if ins.handler >= 0 else None)
            assert entry is None or entry.start <= ins.own_pc < entry.end


def with_keywords(g, x):
    return g(x, 1, key=x, other=2)


def test_a_call_begins_at_its_prefix():
    decoded = decode(with_keywords.__code__)
    call = next(ins for ins in decoded.instructions if ins.op == "CALL")
    assert call.value == ("key", "other") and call.arg == 4
    assert call.pc < call.own_pc and call.enterable
    assert not any(ins.value == ("key", "other") and ins.op != "CALL" for ins in decoded.instructions)


def test_extended_arguments_are_folded_in():
    source = "def f(x):\n  y = [%s]\n  while x:\n    y = [%s]\n  return x + 70000.5\n" % (
        ", ".join(f"{i}.25 * x" for i in range(300)), ", ".join(f"{i}.25 * x" for i in range(300)))
    code = next(code for code in nested(compile(source, "<test>", "exec")) if code.co_name == "f")
    prefixed = [ins for ins in decode(code).instructions if ins.own_pc > ins.pc]
    assert any(ins.op == "LOAD_CONST" for ins in prefixed) and any(ins.jump >= 0 for ins in prefixed)
    assert 70000.5 in [ins.value for ins in prefixed]
    starts = {raw.pc for raw in raw_instructions(code)}
    assert {ins.pc for ins in prefixed} <= starts


def hot(x):
    total = 0
    for i in range(x):
        total = total + i
    return total


def test_adaptive_code_decodes_as_compiled():
    fresh = decode(hot.__code__.replace()).instructions
    for _ in range(100):
        hot(10)
    assert decode(hot.__code__.replace()).instructions == fresh == decode(hot.__code__).instructions


def test_decoding_is_done_once_per_code_object_and_forgotten_with_it():
    code = hot.__code__.replace()
    twin = hot.__code__.replace()
    assert code == twin and decode(code) is decode(code) and decode(code) is not decode(twin)
    key = id(code)
    assert key in _CACHE
    del code
    gc.collect()
    assert key not in _CACHE


def test_the_prologue_is_entered_only_at_its_start():
    def outer(a):
        def inner():
            return a, b
        b = 1
        yield inner

    decoded = decode(outer.__code__)
    early = [ins for ins in decoded.instructions if ins.pc < decoded.first_traceable]
    assert len(early) >= 3 and [ins.enterable for ins in early] == [True] + [False] * (len(early) - 1)


def test_a_null_stands_where_the_version_puts_it():
    names = [ins.opname for ins in dis.get_instructions(compile("(lambda: 1)()", "<test>", "eval"))]
    assert NULL_FIRST == (names.index("PUSH_NULL") < names.index("MAKE_FUNCTION"))
