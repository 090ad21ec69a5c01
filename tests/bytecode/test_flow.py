"""Flow: stack contents over the standard library, liveness against a search of all ways, loops and handlers."""

from bytecode.corpus import standard_library
from framejit.bytecode import analyze, decode
from framejit.bytecode.flow import READS, WRITES, _handler, successors


def find(decoded, op, nth=0):
    return [ins for ins in decoded.instructions if ins.op == op][nth]


def test_stacks_agree_on_every_way_and_fit():
    arrived = total = 0
    for code in standard_library():
        decoded = decode(code)
        flow = analyze(decoded)
        for ins in decoded.instructions:
            room = decoded.stacksize + (not ins.enterable)  # the constant of RETURN_CONST never lies on CPython's stack
            assert flow.depth(ins.index) <= room, (code, ins)
            total += 1
            arrived += flow.depth(ins.index) >= 0
    assert arrived > 0.98 * total


def test_handlers_start_with_what_the_table_says():
    for code in standard_library(every=8):
        decoded = decode(code)
        flow = analyze(decoded)
        for entry in decoded.exception_table:
            kinds = flow.stack[decoded.by_pc[entry.target]]
            if kinds is not None:
                assert len(kinds) == entry.depth + 1 + entry.lasti
                assert kinds[-1] == "exception"


def may_call_super(decoded, ins):
    """super() without arguments reads the first local of the frame that calls it."""
    calls = ins.op == "CALL_EX" or (ins.op == "CALL" and not ins.arg)
    return calls and any(local.name == "__class__" for local in decoded.locals)


def read_first(decoded, index, slot):
    """Is there a way from the instruction to a read of the slot that passes no write?"""
    seen, pending = set(), [index]
    while pending:
        index = pending.pop()
        if index in seen:
            continue
        seen.add(index)
        ins = decoded.instructions[index]
        if (ins.op in READS and ins.value == slot) or (slot == 0 and may_call_super(decoded, ins)):
            return True
        handler = _handler(decoded, ins)
        if handler >= 0:
            pending.append(handler)
        if not (ins.op in WRITES and ins.value == slot):
            pending.extend(successors(decoded, ins))
    return False


def test_liveness_is_what_a_search_finds():
    codes = [code for code in standard_library(every=8) if code.co_exceptiontable and 3 < code.co_nlocals and len(code.co_code) < 800]
    assert len(codes) > 50
    for code in codes[:80]:
        decoded = decode(code)
        flow = analyze(decoded)
        for ins in decoded.instructions:
            for slot, local in enumerate(decoded.locals):
                assert flow.is_live(ins.index, slot) == (local.kind != "local" or read_first(decoded, ins.index, slot))


def test_blocks_tile_the_code_and_are_entered_at_their_start():
    for code in standard_library(every=8):
        decoded = decode(code)
        flow = analyze(decoded)
        starts = {block.start for block in flow.blocks}
        assert [index for block in flow.blocks for index in range(block.start, block.end)] == list(range(len(decoded.instructions)))
        for ins in decoded.instructions:
            assert flow.blocks[flow.block_of[ins.index]].start <= ins.index
            assert ins.jump < 0 or ins.jump in starts


def looping(n):
    total = 0
    for i in range(n):
        while total < i:
            total += 1
    return total


def test_loop_heads():
    decoded = decode(looping.__code__)
    flow = analyze(decoded)
    outer = find(decoded, "FOR_ITER")
    assert outer.index in flow.heads and len(flow.heads) == 2
    assert flow.stack[outer.index] == ("iterator",)
    assert decoded.instructions[flow.loop_end[outer.index]].op == "JUMP"
    assert flow.stack[outer.jump] == ()


def handling(x):
    try:
        y = x.one
    except AttributeError as error:
        y = error.name
        x.two()
    finally:
        x.three()
    return y


def test_handled_exceptions_are_counted():
    decoded = decode(handling.__code__)
    flow = analyze(decoded)
    two = next(ins for ins in decoded.instructions if ins.value == "two")
    three = [ins for ins in decoded.instructions if ins.value == "three"]
    assert flow.handling(two.index) == 1
    assert sorted(flow.handling(ins.index) for ins in three)[0] == 0
    assert max(flow.handling(ins.index) for ins in three) == 1


def with_manager(manager, x):
    with manager as m:
        return m + x


def test_the_exit_function_of_a_with_is_known():
    decoded = decode(with_manager.__code__)
    flow = analyze(decoded)
    assert flow.stack[find(decoded, "BINARY_OP").index][0] == "exit"
    assert flow.stack[find(decoded, "WITH_EXCEPT_START").index][:4] == ("exit", "lasti", "previous", "exception")


def test_cells_are_always_live():
    def outer(a):
        def inner():
            return a
        return inner

    decoded = decode(outer.__code__)
    flow = analyze(decoded)
    assert all(flow.is_live(ins.index, 0) for ins in decoded.instructions)
