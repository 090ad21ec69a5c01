"""Control and data flow of a decoded code object: blocks, liveness of slots, loops, stack contents, handlers."""

from typing import NamedTuple

from .instr import CANONICAL, Code, Instr, stack_effect

NO_FALL = frozenset(("JUMP", "RETURN_VALUE", "RAISE_VARARGS", "RERAISE"))
READS = frozenset(("LOAD_FAST", "LOAD_FAST_AND_CLEAR", "DELETE_FAST", "MAKE_CELL"))
WRITES = frozenset(("STORE_FAST", "DELETE_FAST", "LOAD_FAST_AND_CLEAR"))
# Ops that cannot raise: no exception edge leaves them.
QUIET = frozenset((
    "NOP", "LOAD_CONST", "POP_TOP", "PUSH_NULL", "COPY", "SWAP", "STORE_FAST", "PUSH_EXC_INFO", "POP_EXCEPT", "LOAD_FAST_AND_CLEAR",
))

Kinds = tuple[str, ...]


class Block(NamedTuple):
    """Instructions [start, end) by index, entered only at start; successors are block numbers, exception edges apart."""

    start: int
    end: int
    successors: tuple[int, ...]
    handlers: tuple[int, ...]  # blocks that an exception raised here can go to


class Flow(NamedTuple):
    """What holds before each instruction, by its index."""

    blocks: tuple[Block, ...]
    block_of: tuple[int, ...]
    live: tuple[int, ...]  # bit mask of localsplus slots that may be read from here on; cells and free variables always are
    stack: tuple[Kinds | None, ...]  # what lies on the stack (names as in the effects of CANONICAL); None where nothing arrives
    heads: frozenset[int]  # instructions that a backward jump leads to
    loop_end: dict[int, int]  # head -> index of the last jump back to it

    def depth(self, index: int) -> int:
        """Entries on the stack before the instruction, -1 where nothing arrives."""
        kinds = self.stack[index]
        return -1 if kinds is None else len(kinds)

    def is_live(self, index: int, slot: int) -> bool:
        """May the slot be read before it is written, from this instruction on?"""
        return bool(self.live[index] >> slot & 1)

    def handling(self, index: int) -> int:
        """How many exceptions are being handled here by this frame (0 outside of any handler)."""
        kinds = self.stack[index]
        return 0 if kinds is None else kinds.count("previous")


def analyze(code: Code) -> Flow:
    """The flow of a code object, made once."""
    if code.cached_flow is None:
        heads, loop_end = _loops(code)
        blocks, block_of = _blocks(code)
        code.cached_flow = Flow(blocks, block_of, _liveness(code), _stacks(code), heads, loop_end)
    flow: Flow = code.cached_flow
    return flow


def successors(code: Code, ins: Instr) -> tuple[int, ...]:
    """Indices of the instructions that can come next without an exception."""
    if ins.op in NO_FALL:
        return (ins.jump,) if ins.jump >= 0 else ()
    following = ins.index + 1
    if ins.jump < 0:
        return (following,)
    return (ins.jump, following)


def _handler(code: Code, ins: Instr) -> int:
    """Index of the handler that an exception raised by the instruction goes to, or -1."""
    if ins.handler < 0 or ins.op in QUIET:
        return -1
    return code.by_pc[code.exception_table[ins.handler].target]


def _loops(code: Code) -> tuple[frozenset[int], dict[int, int]]:
    loop_end: dict[int, int] = {}
    for ins in code.instructions:
        if 0 <= ins.jump <= ins.index:
            loop_end[ins.jump] = ins.index
    return frozenset(loop_end), loop_end


def _blocks(code: Code) -> tuple[tuple[Block, ...], tuple[int, ...]]:
    instructions = code.instructions
    leaders = {0} | {code.by_pc[entry.target] for entry in code.exception_table}
    for ins in instructions:
        if ins.jump >= 0 or ins.op in NO_FALL:
            leaders.add(ins.index + 1)
            leaders.add(max(ins.jump, 0))
    starts = sorted(leader for leader in leaders if leader < len(instructions))
    ends = [*starts[1:], len(instructions)]
    block_of = [number for number, (start, end) in enumerate(zip(starts, ends, strict=True)) for _ in range(start, end)]
    blocks = []
    for start, end in zip(starts, ends, strict=True):
        after = tuple(block_of[index] for index in successors(code, instructions[end - 1]) if index < len(instructions))
        handlers = {_handler(code, ins) for ins in instructions[start:end]} - {-1}
        blocks.append(Block(start, end, after, tuple(sorted(block_of[index] for index in handlers))))
    return tuple(blocks), tuple(block_of)


def _liveness(code: Code) -> tuple[int, ...]:
    instructions = code.instructions
    always = sum(1 << slot for slot, local in enumerate(code.locals) if local.kind != "local")
    may_be_super = any(local.name == "__class__" for local in code.locals)
    count = len(instructions)
    live = [always] * (count + 1)
    changed = True
    while changed:
        changed = False
        for ins in reversed(instructions):
            index = ins.index
            if ins.op in NO_FALL:
                mask = live[ins.jump] if ins.jump >= 0 else always
            else:
                mask = live[index + 1]
                if ins.jump >= 0:
                    mask |= live[ins.jump]
            if ins.op in WRITES:
                mask &= ~(1 << ins.value)
            if ins.op in READS:
                mask |= 1 << ins.value
            if may_be_super and (ins.op == "CALL_EX" or (ins.op == "CALL" and not ins.arg)):
                mask |= 1  # super() looks at the first local of the frame that calls it
            handler = _handler(code, ins)
            if handler >= 0:
                mask |= live[handler]
            mask |= always
            if mask != live[index]:
                live[index] = mask
                changed = True
    return tuple(live[:count])


_PUSHED = [tuple(side.partition("--")[2].split() for side in (effect.split("|")[0], effect.split("|")[-1])) for _, _, effect in CANONICAL]


def after(ins: Instr, stack: Kinds, jump: bool = False) -> Kinds:
    """The stack after the instruction."""
    if ins.op == "COPY":
        return (*stack, stack[-ins.value])
    if ins.op == "SWAP":
        changed = list(stack)
        changed[-1], changed[-ins.value] = changed[-ins.value], changed[-1]
        return tuple(changed)
    pops, pushes = stack_effect(ins, jump)
    kinds = _PUSHED[ins.opid][jump]
    if ins.op == "LOAD_GLOBAL" and ins.arg:
        kinds = ["first", "second"]
    elif len(kinds) != pushes or "[" in "".join(kinds):
        kinds = ["value"] * pushes
    if pops > len(stack):
        raise AssertionError(f"{ins} pops {pops} of {len(stack)}")
    return (*stack[: len(stack) - pops], *kinds)


def _merge(known: Kinds | None, arriving: Kinds, ins: Instr) -> Kinds:
    if known is None or known == arriving:
        return arriving
    if len(known) != len(arriving):
        raise AssertionError(f"{ins} is reached with {len(known)} and with {len(arriving)} entries on the stack")
    return tuple(a if a == b else "value" for a, b in zip(known, arriving, strict=True))


def _stacks(code: Code) -> tuple[Kinds | None, ...]:
    instructions = code.instructions
    stacks: list[Kinds | None] = [None] * len(instructions)
    pending: list[tuple[int, Kinds]] = [(0, ())]
    while pending:
        index, arriving = pending.pop()
        merged = _merge(stacks[index], arriving, instructions[index])
        if merged == stacks[index]:
            continue
        stacks[index] = merged
        ins = instructions[index]
        if ins.handler >= 0 and ins.op not in QUIET:
            entry = code.exception_table[ins.handler]
            pushed = ("lasti", "exception") if entry.lasti else ("exception",)
            pending.append((code.by_pc[entry.target], (*merged[: entry.depth], *pushed)))
        if ins.jump >= 0:
            pending.append((ins.jump, after(ins, merged, jump=True)))
        if ins.op not in NO_FALL:
            pending.append((index + 1, after(ins, merged)))
    return tuple(stacks)
