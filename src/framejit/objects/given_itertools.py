"""The iterators of itertools that were there before the region."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from framejit import _C
from framejit.core.path import ITEM
from framejit.core.value import FALSE, NONE, TRUE, Const, Pack, Ref, Value
from framejit.objects.given import Advance, Fields, Reader, arguments, function_and_source, given, moved, step
from framejit.objects.iterator import field
from framejit.objects.itertools_ import (
    Grouper,
    Tee,
    TeeData,
    accumulate_fields,
    cycle_fields,
    groupby_fields,
    longest_fields,
    pairwise_fields,
    places,
    set_accumulate,
    set_cycle,
    set_groupby,
    set_longest,
    set_pairwise,
)
from framejit.objects.rebuild import Field

MISSING: Any = _C.MISSING

_kind: Any
for _kind in (itertools.filterfalse, itertools.starmap):
    given(_kind, arguments)(function_and_source)

def count_to(real: Any, value: Any) -> None:
    """Advance a count of ints to where it gives this value."""
    while real.__reduce__()[1][0] != value:
        next(real)


def _count_parts(real: Any) -> tuple[Any, ...] | None:
    value, step_ = (*real.__reduce__()[1], 1)[:2]
    return (value, step_) if type(value) is int and type(step_) is int else None


@given(itertools.count, _count_parts, lambda before, now: (count_to, [now("value")]) if moved(before, now, "value") else None)
def _(reader: Reader) -> Fields:
    return {"value": reader.counted(0), "step": reader.constant(1)}


def _take(before: Field, now: Field) -> tuple[Any, list[Value]] | None:
    return (step, [Const(before("left").obj - now("left").obj), FALSE]) if moved(before, now, "left") else None


@given(itertools.repeat, lambda real: (*real.__reduce__()[1], -1)[:2], _take)
def _(reader: Reader) -> Fields:
    return {"object": reader.value(0), "left": reader.constant(1)}


def set_chain(real: Any, outer: Any, active: Any) -> None:
    """Put a chain in the midst of `active` (None: between two), with `outer` (None: nothing) to come."""
    real.__setstate__((iter(()) if outer is None else outer,) if active is None else (outer, active))
    if outer is None:
        next(real, None)


def _chain_parts(real: Any) -> tuple[Any, ...]:
    reduced = real.__reduce__()
    return (*reduced[2], None)[:2] if len(reduced) == 3 else (None, None)


@given(itertools.chain, _chain_parts,
       lambda before, now: (set_chain, [now("outer"), now("active")]) if moved(before, now, "outer", "active") else None)  # fmt: skip
def _(reader: Reader) -> Fields:
    return {"outer": reader.value(0), "active": reader.value(1)}


def _islice_parts(real: Any) -> tuple[Any, ...]:
    _, args, done = real.__reduce__()
    return (*args, done) if len(args) == 4 else (None, 0, 0, 1, done)


def _set_slice(before: Field, now: Field) -> tuple[Any, list[Value]] | None:
    if not moved(before, now, "source", "next", "done"):
        return None
    return _C.set_slice, [now("next"), now("done"), Const(now("source") is NONE)]


@given(itertools.islice, _islice_parts, _set_slice)
def _(reader: Reader) -> Fields:
    return {"source": reader.value(0), **{name: reader.constant(1 + i) for i, name in enumerate(("next", "stop", "step", "done"))}}


def _with_flag(name: str) -> Callable[[Reader], Fields]:
    def load(reader: Reader) -> Fields:
        return {**function_and_source(reader), name: TRUE if reader.constant(2).obj else None}

    return load


def set_flag(real: Any) -> None:
    """Note in a takewhile that it has stopped, in a dropwhile that it has started."""
    real.__setstate__(1)


def _flag_parts(real: Any) -> tuple[Any, ...]:
    _, args, flag = real.__reduce__()
    return (*args, bool(flag))


def _set_flag(name: str) -> Advance:
    return lambda before, now: (set_flag, []) if moved(before, now, name) else None


for _kind, _name in ((itertools.takewhile, "stopped"), (itertools.dropwhile, "started")):
    given(_kind, _flag_parts, _set_flag(_name))(_with_flag(_name))


@given(itertools.compress, arguments)
def _(reader: Reader) -> Fields:
    return {"source": reader.value(0), "selectors": reader.value(1)}


# -- with states that their types tell nobody -------------------------------------------------------------------------


def _present(*parts: Any) -> tuple[Any, ...]:
    """Which of these are there, and all of them, None for what is not."""
    return tuple(part is not MISSING for part in parts), *(None if part is MISSING else part for part in parts)


def _all_that_is_there(reader: Reader, first: int, *names: str) -> Fields:
    present = reader.constant(first).obj
    return {name: reader.value(first + 1 + i) for i, name in enumerate(names) if present[i]}


def _accumulate_parts(real: Any) -> tuple[Any, ...]:
    total, source, function, initial = _C.iterator_fields(real)
    return source, None if function is MISSING else function, *_present(total, MISSING if initial is None else initial)


def _set_accumulate(before: Field, now: Field) -> tuple[Any, list[Value]] | None:
    return (set_accumulate, accumulate_fields(now)) if moved(before, now, "total", "initial") else None


@given(itertools.accumulate, _accumulate_parts, _set_accumulate)
def _(reader: Reader) -> Fields:
    return {**function_and_source(reader, 1, 0), **_all_that_is_there(reader, 2, "total", "initial")}


def _pairwise_parts(real: Any) -> tuple[Any, ...]:
    source, previous = _C.iterator_fields(real)
    return None if source is MISSING else source, *_present(previous)


def _set_pairwise(before: Field, now: Field) -> tuple[Any, list[Value]] | None:
    return (set_pairwise, pairwise_fields(now)) if moved(before, now, "source", "previous") else None


@given(itertools.pairwise, _pairwise_parts, _set_pairwise)
def _(reader: Reader) -> Fields:
    return {"source": reader.value(0), **_all_that_is_there(reader, 1, "previous")}


def _cycle_parts(real: Any) -> tuple[Any, ...] | None:
    """What is left of its source, what it has seen of that, and the next place; None for one whose source is what it has seen."""
    source, saved, index, first = _C.iterator_fields(real)
    return None if first and source is not MISSING else (None if source is MISSING else source, tuple(saved), index)


def _set_cycle(before: Field, now: Field) -> tuple[Any, list[Value]] | None:
    return (set_cycle, cycle_fields(now)) if moved(before, now, "source", "saved", "index") else None


@given(itertools.cycle, _cycle_parts, _set_cycle)
def _(reader: Reader) -> Fields:
    return {"source": reader.value(0), "saved": reader.values(1), "index": reader.number(2, True)}


def _longest_parts(real: Any) -> tuple[Any, ...]:
    _, active, sources, _, fill = _C.iterator_fields(real)
    return tuple(None if source is MISSING else source for source in sources), fill, active == 0


def _set_longest(before: Field, now: Field) -> tuple[Any, list[Value]] | None:
    return (set_longest, longest_fields(now)) if moved(before, now, "sources", "ended") else None


@given(itertools.zip_longest, _longest_parts, _set_longest)
def _(reader: Reader) -> Fields:
    return {"sources": reader.values(0), "fill": reader.value(1), "ended": TRUE if reader.constant(2).obj else None}


def _groupby_parts(real: Any) -> tuple[Any, ...]:
    source, function, *state, _ = _C.iterator_fields(real)
    return source, function, *_present(*state)


def _set_groupby(before: Field, now: Field) -> tuple[Any, list[Value]] | None:
    return (set_groupby, groupby_fields(now)) if moved(before, now, "group", "key", "value", "grouper") else None


@given(itertools.groupby, _groupby_parts, _set_groupby)
def _(reader: Reader) -> Fields:
    return {**function_and_source(reader, 1, 0), **_all_that_is_there(reader, 2, "group", "key", "value")}


def _grouper_parts(real: Any) -> tuple[Any, ...]:
    """The groupby, the key of the group, and whether it is the one that the groupby is at."""
    parent, group = _C.iterator_fields(real)
    return parent, group, _C.iterator_fields(parent)[-1] == id(real)


@given(Grouper, _grouper_parts, lambda before, now: None)
def _(reader: Reader) -> Fields:
    s, parent = reader.s, reader.s.force(reader.value(0))
    assert isinstance(parent, Ref)
    if reader.constant(2).obj and field(s, parent, "grouper") is None:
        s.heap.load(parent, ("grouper",), reader.ref)
    return {"parent": parent, "group": reader.value(1)}


def set_tee(real: Any, index: int) -> None:
    """Put an iterator of a tee in front of this one of the items that it shares with others."""
    real.__setstate__((real.__reduce__()[2][0], index))


@given(Tee, lambda real: real.__reduce__()[2], lambda before, now: (set_tee, [now("index")]) if moved(before, now, "index") else None)
def _(reader: Reader) -> Fields:
    return {"root": reader.s.force(reader.value(0)), "index": reader.constant(1)}


def _tee_data_parts(real: Any) -> tuple[Any, ...]:
    """Where the items come from, and those that were read."""
    source, read, _ = real.__reduce__()[1]
    return source, tuple(read)


def _extend_tee(before: Field, now: Field) -> tuple[Any, list[Value]] | None:
    return (_C.tee_extend, [*now("read").items[len(before("read").items) :]]) if moved(before, now, "read") else None


@given(TeeData, _tee_data_parts, _extend_tee)
def _(reader: Reader) -> Fields:
    return {"source": reader.value(0), "read": reader.values(1)}


# -- combinations -----------------------------------------------------------------------------------------------------


def _combination_parts(real: Any) -> tuple[Any, ...] | None:
    """The pools, the length of a combination (None: one of each), and how many were taken."""
    kind, args, *state = real.__reduce__()
    length: int | None
    pools, length = (args, None) if kind is itertools.product else (args[:1], args[1])
    sizes = [range(len(pool)) for pool in pools]
    if length is not None and length > len(pools[0]) and kind is not itertools.combinations_with_replacement:
        return pools, length, 0
    if not state:
        return None if length == 0 and not pools[0] else (pools, length, 0)  # one at its end looks like one of nothing
    indices = state[0][0][:length] if kind is itertools.permutations else state[0]
    order = kind(*sizes) if length is None else kind(sizes[0], length)
    taken = next((place for place, one in enumerate(itertools.islice(order, 100_000)) if one == tuple(indices)), None)
    return None if taken is None else (pools, length, taken + 1)


def _combine(kind: type) -> None:
    def advance(before: Field, now: Field) -> tuple[Any, list[Value]] | None:
        if not moved(before, now, "index"):
            return None
        return step, [Const(now("index").obj - before("index").obj), Const(now("index").obj >= len(now("order")))]

    @given(kind, _combination_parts, advance)
    def load(reader: Reader) -> Fields:
        s, ref = reader.s, reader.ref
        pools, length = [item.items for item in _pools(reader)], reader.constant(1).obj
        places(s, ref, kind, pools, *([] if length is None else [length]))
        return {"index": reader.constant(2)}


def _pools(reader: Reader) -> list[Pack]:
    path, pools = reader.path.to(ITEM, 0), reader.parts[0]
    reader.s.guard(path, "LEN", len(pools))
    return [Reader(reader.s, reader.ref, path, pools).values(i) for i in range(len(pools))]  # type: ignore[misc]


for _kind in (itertools.product, itertools.permutations, itertools.combinations, itertools.combinations_with_replacement):
    _combine(_kind)
