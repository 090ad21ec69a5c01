"""The iterators of itertools."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

from framejit.core.services import Services
from framejit.core.value import NONE, TRUE, Const, Pack, Ref, Value
from framejit.objects.iterator import advanced, field, iterator, number, put
from framejit.objects.protocol import next_or_none
from framejit.objects.rebuild import Field
from framejit.objects.sameness import same_or_equal
from framejit.reasons import R

LARGEST = 100_000


@iterator(itertools.count, lambda get: (itertools.count, [get("value"), get("step")]))
def _count(s: Services, ref: Ref) -> Value | None:
    found = field(s, ref, "value")
    put(s, ref, "value", s.binary("+", found, field(s, ref, "step")))
    return found


def _repeat_rebuild(get: Field) -> tuple[Any, list[Value]]:
    return itertools.repeat, [get("object")] if get("left").obj < 0 else [get("object"), get("left")]


@iterator(itertools.repeat, _repeat_rebuild)
def _repeat(s: Services, ref: Ref) -> Value | None:
    left = number(s, ref, "left")
    if not left:
        return None
    if left > 0:
        put(s, ref, "left", Const(left - 1))
    return field(s, ref, "object")


def make_chain(active: Any, outer: Any) -> Any:
    """A chain in the midst of `active`, with `outer` to come."""
    return itertools.chain(active, itertools.chain.from_iterable(outer))


def _chain_rebuild(get: Field) -> tuple[Any, list[Value]]:
    active, outer = get("active"), get("outer")
    if outer is NONE:
        return itertools.chain, [] if active is NONE else [active]
    return (itertools.chain.from_iterable, [outer]) if active is NONE else (make_chain, [active, outer])


@iterator(itertools.chain, _chain_rebuild)
def _chain(s: Services, ref: Ref) -> Value | None:
    while (outer := field(s, ref, "outer")) is not NONE:
        active = field(s, ref, "active")
        if active is NONE:
            following = next_or_none(s, outer)
            if following is None:
                put(s, ref, "outer", NONE)
                return None
            active = s.iter(following)
            put(s, ref, "active", active)
        item = next_or_none(s, active)
        if item is not None:
            return item
        put(s, ref, "active", NONE)
    return None


def make_cycle(source: Any, saved: Any) -> Any:
    """A cycle that has seen `saved` and goes on with `source`, then from the start."""
    return itertools.cycle(itertools.chain(saved, source)) if source is not None else itertools.cycle(saved)


def resumed_cycle(source: Any, saved: Any, index: int) -> Any:
    """A cycle of `saved`, which is complete if `source` is None, that goes on at `index`."""
    found = make_cycle(source, saved)
    for _ in range(index):
        next(found)
    return found


@iterator(itertools.cycle, lambda get: (resumed_cycle, [get("source"), get("saved"), get("index")]))
def _cycle(s: Services, ref: Ref) -> Value | None:
    source, saved, index = field(s, ref, "source"), field(s, ref, "saved").items, number(s, ref, "index")
    if source is not NONE:
        item = next_or_none(s, source)
        if item is not None:
            put(s, ref, "saved", Pack(tuple, (*saved, item)))
            put(s, ref, "index", Const(index + 1))
            return item
        put(s, ref, "source", NONE)
        index = 0
    if not saved:
        return None
    index %= len(saved)
    put(s, ref, "index", Const(index + 1))
    return saved[index]


def make_islice(source: Any, start: int, stop: int | None, step: int) -> Any:
    """An islice with these counts still to go."""
    return itertools.islice(source, start, stop, step)


def _islice_rebuild(get: Field) -> tuple[Any, list[Value]]:
    if get("source") is NONE:
        return make_islice, [Pack(tuple, ()), Const(0), Const(0), Const(1)]
    done, following, stop = get("done").obj, get("next").obj, get("stop").obj
    left = None if stop is None else max(stop - done, 0)
    start = following - done if left is None else min(following - done, left)
    return make_islice, [get("source"), Const(start), Const(left), get("step")]


@iterator(itertools.islice, _islice_rebuild)
def _islice(s: Services, ref: Ref) -> Value | None:
    source, stop = field(s, ref, "source"), field(s, ref, "stop").obj
    done, following = number(s, ref, "done"), number(s, ref, "next")
    if source is NONE:
        return None
    while done < following:
        if next_or_none(s, source) is None:
            put(s, ref, "source", NONE)
            return None
        done += 1
        put(s, ref, "done", Const(done))
    item = None if stop is not None and done >= stop else next_or_none(s, source)
    if item is None:
        put(s, ref, "source", NONE)
        return None
    put(s, ref, "done", Const(done + 1))
    following += number(s, ref, "step")
    put(s, ref, "next", Const(following if stop is None else min(following, stop)))
    return item


def make_accumulate(source: Any, function: Any, total: Any) -> Any:
    """An accumulate with a running total."""
    found = itertools.accumulate(source, function)
    found.__setstate__(total)  # type: ignore[attr-defined]
    return found


def begin_accumulate(source: Any, function: Any, initial: Any) -> Any:
    """An accumulate that begins with `initial`."""
    return itertools.accumulate(source, function, initial=initial)


def _accumulate_rebuild(get: Field) -> tuple[Any, list[Value]]:
    if get("initial") is not None:
        return begin_accumulate, [get("source"), get("function"), get("initial")]
    if get("total") is not None:
        return make_accumulate, [get("source"), get("function"), get("total")]
    return itertools.accumulate, [get("source"), get("function")]


@iterator(itertools.accumulate, _accumulate_rebuild)
def _accumulate(s: Services, ref: Ref) -> Value | None:
    initial = field(s, ref, "initial")
    if initial is not None:
        put(s, ref, "initial", None)
        put(s, ref, "total", initial)
        return initial
    item = next_or_none(s, field(s, ref, "source"))
    if item is None:
        return None
    total, function = field(s, ref, "total"), field(s, ref, "function")
    if total is not None:
        item = s.binary("+", total, item) if function is NONE else s.call(function, [total, item])
    put(s, ref, "total", item)
    return item


def make_takewhile(function: Any, source: Any, stopped: bool) -> Any:
    """A takewhile that may have stopped."""
    return itertools.takewhile(function, () if stopped else source)


@iterator(itertools.takewhile, lambda get: (make_takewhile, [get("function"), get("source"), get("stopped")]))
def _takewhile(s: Services, ref: Ref) -> Value | None:
    if field(s, ref, "stopped") is TRUE:
        return None
    item = next_or_none(s, field(s, ref, "source"))
    if item is None:
        return None
    if s.truth(s.call(field(s, ref, "function"), [item])):
        return item
    put(s, ref, "stopped", TRUE)
    return None


def make_dropwhile(function: Any, source: Any, started: bool) -> Any:
    """A dropwhile that may have found its first item."""
    found = itertools.dropwhile(function, source)
    if started:
        found.__setstate__(1)  # type: ignore[attr-defined]
    return found


@iterator(itertools.dropwhile, lambda get: (make_dropwhile, [get("function"), get("source"), get("started")]))
def _dropwhile(s: Services, ref: Ref) -> Value | None:
    source = field(s, ref, "source")
    while (item := next_or_none(s, source)) is not None:
        if field(s, ref, "started") is TRUE:
            return item
        if not s.truth(s.call(field(s, ref, "function"), [item])):
            put(s, ref, "started", TRUE)
            return item
    return None


@iterator(itertools.filterfalse, lambda get: (itertools.filterfalse, [get("function"), get("source")]))
def _filterfalse(s: Services, ref: Ref) -> Value | None:
    function, source = s.force(field(s, ref, "function")), field(s, ref, "source")
    by_truth = isinstance(function, Const) and function.obj in (None, bool)
    while (item := next_or_none(s, source)) is not None:
        if not s.truth(item if by_truth else s.call(function, [item])):
            return item
    return None


@iterator(itertools.starmap, lambda get: (itertools.starmap, [get("function"), get("source")]))
def _starmap(s: Services, ref: Ref) -> Value | None:
    item = next_or_none(s, field(s, ref, "source"))
    return None if item is None else s.call(field(s, ref, "function"), s.unpack(item))


@iterator(itertools.compress, lambda get: (itertools.compress, [get("source"), get("selectors")]))
def _compress(s: Services, ref: Ref) -> Value | None:
    while (item := next_or_none(s, field(s, ref, "source"))) is not None:
        chosen = next_or_none(s, field(s, ref, "selectors"))
        if chosen is None:
            return None
        if s.truth(chosen):
            return item
    return None


def make_pairwise(previous: Any, source: Any) -> Any:
    """A pairwise that holds one item."""
    return itertools.pairwise(itertools.chain((previous,), source))


def _pairwise_rebuild(get: Field) -> tuple[Any, list[Value]]:
    if get("source") is NONE:
        return itertools.pairwise, [Pack(tuple, ())]
    return (itertools.pairwise, [get("source")]) if get("previous") is None else (make_pairwise, [get("previous"), get("source")])


@iterator(itertools.pairwise, _pairwise_rebuild)
def _pairwise(s: Services, ref: Ref) -> Value | None:
    previous = field(s, ref, "previous")
    for first in (True, False) if previous is None else (False,):
        source = field(s, ref, "source")
        item = None if source is NONE else next_or_none(s, source)
        put(s, ref, "previous", item)
        if item is None:
            put(s, ref, "source", NONE)
            return None
        if first:
            previous = item
    return Pack(tuple, (previous, item))  # type: ignore[arg-type]


def make_zip_longest(fill: Any, *sources: Any) -> Any:
    """A zip_longest of what is left."""
    return itertools.zip_longest(*sources, fillvalue=fill)


def _zip_longest_rebuild(get: Field) -> tuple[Any, list[Value]]:
    return make_zip_longest, [get("fill"), *(Pack(tuple, ()) if source is NONE else source for source in get("sources").items)]


@iterator(itertools.zip_longest, _zip_longest_rebuild)
def _zip_longest(s: Services, ref: Ref) -> Value | None:
    sources = list(field(s, ref, "sources").items)
    items: list[Value] = []
    for place, source in enumerate(sources):
        item = None if source is NONE else next_or_none(s, source)
        if item is None:
            if source is not NONE:
                if ref.path is not None:
                    s.unsupported(R.UNKNOWN_ITERATOR, ref, "one of its iterators has ended")
                sources[place] = NONE
                put(s, ref, "sources", Pack(tuple, tuple(sources)))
                if all(other is NONE for other in sources):
                    return None
            item = field(s, ref, "fill")
        items.append(item)
    return Pack(tuple, tuple(items)) if items and any(source is not NONE for source in sources) else None


# -- tee: the copies share a list of what they have read, and a root from which the real ones are copied ----------------------

Tee: Any = type(itertools.tee(())[0])


def make_tee(read: Any, source: Any) -> Any:
    """A tee iterator at the first item of what was read already."""
    return itertools.tee(itertools.chain(read, source), 1)[0]


def copied_tee(root: Any, index: int) -> Any:
    """A tee iterator that shares the root's items and stands at `index`."""
    return advanced(copy.copy(root), index)


def _tee_rebuild(get: Field) -> tuple[Any, list[Value]]:
    if get("root") is None:
        return make_tee, [get("read"), get("source")]
    return copied_tee, [get("root"), get("index")]


@iterator(Tee, _tee_rebuild)
def _tee(s: Services, ref: Ref) -> Value | None:
    root, index = field(s, ref, "root"), number(s, ref, "index")
    read = field(s, root, "read").items
    if index == len(read):
        if index > LARGEST // 10:
            s.unsupported(R.UNKNOWN_ITERATOR, ref, "a long tee")
        if field(s, root, "running") is TRUE:
            s.raise_error(RuntimeError, "cannot re-enter the tee iterator")
        put(s, root, "running", TRUE)
        try:
            item = next_or_none(s, field(s, root, "source"))
        finally:
            put(s, root, "running", None)
        if item is None:
            return None
        read = (*field(s, root, "read").items, item)
        put(s, root, "read", Pack(tuple, read))
    put(s, ref, "index", Const(index + 1))
    return read[index]


def make_tees(s: Services, source: Value, count: int) -> list[Value]:
    """`itertools.tee(source, count)`; a tee iterator is copied instead of wrapped."""
    first: list[Value] = []
    index: Value = Const(0)
    if isinstance(source, Ref) and source.cls is Tee and source.virtual:
        root, index, first = field(s, source, "root"), field(s, source, "index"), [source]
    else:
        root = s.heap.new(Tee, {("read",): Pack(tuple, ()), ("source",): source})
    return [*first, *(s.heap.new(Tee, {("root",): root, ("index",): index}) for _ in range(count - len(first)))][:count]


# -- combinations: the places are known at once, the items are taken from pools --------------------------------------------


def advanced_call(function: Any, args: Any, steps: int) -> Any:
    """The iterator `function(*args)` after some steps."""
    return advanced(function(*args), steps)


def places(s: Services, ref: Ref, kind: Callable[..., Any], pools: list[tuple[Value, ...]], *more: int) -> None:
    """Note the order in which a combinatoric iterator will take items."""
    source = [range(len(pool)) for pool in pools]
    order = tuple(itertools.islice(kind(*source, *more), LARGEST + 1))
    if len(order) > LARGEST:
        s.unsupported(R.UNKNOWN_ITERATOR, kind, "very many combinations")
    put(s, ref, "order", order)
    put(s, ref, "index", Const(0))
    put(s, ref, "pools", Pack(tuple, tuple(Pack(tuple, pool) for pool in pools)))
    put(s, ref, "args", Pack(tuple, (*(Pack(tuple, pool) for pool in pools), *map(Const, more))))


def _combine(kind: type) -> None:
    @iterator(kind, lambda get: (advanced_call, [Const(kind), get("args"), get("index")]))
    def advance(s: Services, ref: Ref) -> Value | None:
        order, index = field(s, ref, "order"), number(s, ref, "index")
        if index >= len(order):
            return None
        put(s, ref, "index", Const(index + 1))
        pools = [pool.items for pool in field(s, ref, "pools").items]
        of_one = kind is not itertools.product
        return Pack(tuple, tuple(pools[0 if of_one else at][place] for at, place in enumerate(order[index])))


for _kind in (itertools.product, itertools.permutations, itertools.combinations, itertools.combinations_with_replacement):
    _combine(_kind)


# -- groupby ----------------------------------------------------------------------------------------------------------------

Grouper = type(next(itertools.groupby([0]))[1])


def make_groupby(source: Any, function: Any, key: Any, group: Any, *value: Any) -> Any:
    """A groupby that holds the key of a value, the key of the group, and the value unless it was handed on."""
    found = itertools.groupby(source, function)
    found.__setstate__((key, value[0] if value else None, group))  # type: ignore[attr-defined]
    if not value:
        next(Grouper(found, key))  # type: ignore[call-arg]
    return found


def _groupby_rebuild(get: Field) -> tuple[Any, list[Value]]:
    source, function = get("source"), get("function")
    if get("key") is None:
        return itertools.groupby, [source, function]
    value = get("value")
    return make_groupby, [source, function, get("key"), get("group"), *([] if value is None else [value])]


def _step(s: Services, ref: Ref) -> bool:
    item = next_or_none(s, field(s, ref, "source"))
    if item is None:
        return False
    function = field(s, ref, "function")
    put(s, ref, "key", item if function is NONE else s.call(function, [item]))
    put(s, ref, "value", item)
    return True


@iterator(itertools.groupby, _groupby_rebuild)
def _groupby(s: Services, ref: Ref) -> Value | None:
    before = field(s, ref, "grouper")
    if isinstance(before, Ref):
        put(s, before, "left", TRUE)
    put(s, ref, "grouper", NONE)
    while True:
        key, group = field(s, ref, "key"), field(s, ref, "group")
        if key is not None and (group is None or not same_or_equal(s, group, key)):
            break
        if not _step(s, ref):
            return None
    put(s, ref, "group", key)
    grouper = s.heap.new(Grouper, {("parent",): ref, ("group",): key})
    put(s, ref, "grouper", grouper)
    return Pack(tuple, (key, grouper))


def left_grouper() -> Any:
    """A group whose groupby has gone on to the next one."""
    groups = itertools.groupby([0])
    _, group = next(groups)
    next(groups, None)
    return group


def _grouper_rebuild(get: Field) -> tuple[Any, list[Value]]:
    return (left_grouper, []) if get("left") is not None else (Grouper, [get("parent"), get("group")])


@iterator(Grouper, _grouper_rebuild)
def _grouper(s: Services, ref: Ref) -> Value | None:
    parent = field(s, ref, "parent")
    if field(s, parent, "grouper") is not ref:
        return None
    if field(s, parent, "value") is None and not _step(s, parent):
        return None
    if not same_or_equal(s, field(s, ref, "group"), field(s, parent, "key")):
        return None
    item = field(s, parent, "value")
    put(s, parent, "value", None)
    return item


__all__ = ["Grouper", "places"]
