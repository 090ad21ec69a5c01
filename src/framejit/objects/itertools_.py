"""The iterators of itertools."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

from framejit import _C
from framejit.core.errors import Raised
from framejit.core.services import Services
from framejit.core.value import NONE, TRUE, Const, Number, Pack, Ref, Value
from framejit.objects.iterator import advanced, field, iterator, itself, number, put
from framejit.objects.protocol import next_or_none
from framejit.objects.rebuild import Field
from framejit.objects.sameness import same_or_equal
from framejit.reasons import R

LARGEST = 100_000


def held(part: tuple[Any, ...]) -> Any:
    """What a field holds that may hold nothing."""
    return part[0] if part else _C.MISSING


def maybe(value: Value | None) -> Pack:
    """A field that may hold nothing, for `held`."""
    return Pack(tuple, () if value is None else (value,))


def asked(s: Services, source: Value, end: Callable[[], None]) -> Value | None:
    """The next item; where there is none, or instead of it an exception, the one that asks comes to its end."""
    item = None
    try:
        item = next_or_none(s, source)
    finally:
        if item is None:
            end()
    return item


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
    return itertools.chain(itself(active), rest_of_chain(outer))


def active_chain(active: Any) -> Any:
    """A chain in the midst of `active`, its last part."""
    return itertools.chain(itself(active))


def rest_of_chain(outer: Any) -> Any:
    """A chain of what is to come."""
    return itertools.chain.from_iterable(itself(outer))


def _chain_rebuild(get: Field) -> tuple[Any, list[Value]]:
    active, outer = get("active"), get("outer")
    if outer is NONE:
        return (itertools.chain, []) if active is NONE else (active_chain, [active])
    return (rest_of_chain, [outer]) if active is NONE else (make_chain, [active, outer])


@iterator(itertools.chain, _chain_rebuild)
def _chain(s: Services, ref: Ref) -> Value | None:
    while (outer := field(s, ref, "outer")) is not NONE:
        active = field(s, ref, "active")
        if active is NONE:
            following = asked(s, outer, lambda: put(s, ref, "outer", NONE))
            if following is None:
                return None
            try:
                active = s.iter(following)
            except Raised:
                put(s, ref, "outer", NONE)
                raise
            put(s, ref, "active", active)
        item = next_or_none(s, active)
        if item is not None:
            return item
        put(s, ref, "active", NONE)
    return None


def set_cycle(real: Any, source: tuple[Any, ...], saved: tuple[Any, ...], index: int) -> None:
    """Put a cycle into its first round, with what is left of its source, or behind it."""
    first = _C.iterator_fields(real)[3]
    _C.set_iterator_fields(real, (held(source), list(saved), 0 if source or not saved else index % len(saved), first))


def make_cycle(*fields: Any) -> Any:
    """A cycle with these fields."""
    found: Any = itertools.cycle(())
    set_cycle(found, *fields)
    return found


def cycle_fields(get: Field) -> list[Value]:
    """The fields of a cycle as `set_cycle` takes them."""
    return [maybe(None if get("source") is NONE else get("source")), get("saved"), get("index")]


@iterator(itertools.cycle, lambda get: (make_cycle, cycle_fields(get)))
def _cycle(s: Services, ref: Ref) -> Value | None:
    source = field(s, ref, "source")
    if source is not NONE:
        item = next_or_none(s, source)
        if item is not None:
            put(s, ref, "saved", Pack(tuple, (*field(s, ref, "saved").items, item)))
            return item
        put(s, ref, "source", NONE)
        put(s, ref, "index", Const(0))
    saved = field(s, ref, "saved")
    if not saved.items:
        return None
    place = s.binary("%", field(s, ref, "index"), Const(len(saved.items)))
    put(s, ref, "index", s.binary("+", place, Const(1)))
    return s.getitem(saved, place) if isinstance(place, Number) else saved.items[place.obj]  # type: ignore[attr-defined]


def make_islice(source: Any, start: int, stop: int | None, step: int) -> Any:
    """An islice with these counts still to go."""
    return itertools.islice(itself(source), start, stop, step)


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
        if asked(s, source, lambda: put(s, ref, "source", NONE)) is None:
            return None
        done += 1
        put(s, ref, "done", Const(done))
    if stop is not None and done >= stop:
        put(s, ref, "source", NONE)
        return None
    item = asked(s, source, lambda: put(s, ref, "source", NONE))
    if item is None:
        return None
    put(s, ref, "done", Const(done + 1))
    following += number(s, ref, "step")
    put(s, ref, "next", Const(following if stop is None else min(following, stop)))
    return item


def set_accumulate(real: Any, total: tuple[Any, ...], initial: tuple[Any, ...]) -> None:
    """The running total of an accumulate, or what it begins with."""
    _, source, function, _ = _C.iterator_fields(real)
    _C.set_iterator_fields(real, (held(total), source, function, initial[0] if initial else None))


def make_accumulate(source: Any, function: Any, *fields: Any) -> Any:
    """An accumulate with these fields."""
    found = itertools.accumulate(itself(source), function)
    set_accumulate(found, *fields)
    return found


def accumulate_fields(get: Field) -> list[Value]:
    """The fields of an accumulate as `set_accumulate` takes them."""
    return [maybe(get("total")), maybe(get("initial"))]


@iterator(itertools.accumulate, lambda get: (make_accumulate, [get("source"), get("function"), *accumulate_fields(get)]))
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
    return itertools.takewhile(function, () if stopped else itself(source))


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
    found = itertools.dropwhile(function, itself(source))
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


def make_filterfalse(function: Any, source: Any) -> Any:
    """A filterfalse over an iterator."""
    return itertools.filterfalse(function, itself(source))


@iterator(itertools.filterfalse, lambda get: (make_filterfalse, [get("function"), get("source")]))
def _filterfalse(s: Services, ref: Ref) -> Value | None:
    function, source = s.force(field(s, ref, "function")), field(s, ref, "source")
    by_truth = isinstance(function, Const) and function.obj in (None, bool)
    while (item := next_or_none(s, source)) is not None:
        if not s.truth(item if by_truth else s.call(function, [item])):
            return item
    return None


def make_starmap(function: Any, source: Any) -> Any:
    """A starmap over an iterator."""
    return itertools.starmap(function, itself(source))


@iterator(itertools.starmap, lambda get: (make_starmap, [get("function"), get("source")]))
def _starmap(s: Services, ref: Ref) -> Value | None:
    item = next_or_none(s, field(s, ref, "source"))
    return None if item is None else s.call(field(s, ref, "function"), s.unpack(item))


def make_compress(source: Any, selectors: Any) -> Any:
    """A compress over two iterators."""
    return itertools.compress(itself(source), itself(selectors))


@iterator(itertools.compress, lambda get: (make_compress, [get("source"), get("selectors")]))
def _compress(s: Services, ref: Ref) -> Value | None:
    while (item := next_or_none(s, field(s, ref, "source"))) is not None:
        chosen = next_or_none(s, field(s, ref, "selectors"))
        if chosen is None:
            return None
        if s.truth(chosen):
            return item
    return None


def set_pairwise(real: Any, source: tuple[Any, ...], previous: tuple[Any, ...]) -> None:
    """What a pairwise asks, and the item that it holds."""
    _C.set_iterator_fields(real, (held(source), held(previous)))


def make_pairwise(*fields: Any) -> Any:
    """A pairwise with these fields."""
    found: Any = itertools.pairwise(())
    set_pairwise(found, *fields)
    return found


def pairwise_fields(get: Field) -> list[Value]:
    """The fields of a pairwise as `set_pairwise` takes them."""
    return [maybe(None if get("source") is NONE else get("source")), maybe(get("previous"))]


@iterator(itertools.pairwise, lambda get: (make_pairwise, pairwise_fields(get)))
def _pairwise(s: Services, ref: Ref) -> Value | None:
    def end() -> None:
        put(s, ref, "source", NONE)
        put(s, ref, "previous", None)

    if field(s, ref, "source") is NONE:
        return None
    previous = field(s, ref, "previous")
    if previous is None:
        previous = asked(s, field(s, ref, "source"), end)
        if previous is None:
            return None
        put(s, ref, "previous", previous)
    source = field(s, ref, "source")
    item = None if source is NONE else asked(s, source, end)
    if item is None:
        return None
    put(s, ref, "previous", item)
    return Pack(tuple, (previous, item))


def set_longest(real: Any, gone: tuple[bool, ...], ended: bool) -> None:
    """Which of its iterators a zip_longest has let go at their ends, and whether it came to its own end."""
    sources, fill = _C.iterator_fields(real)[2::2]
    left = tuple(_C.MISSING if one else source for one, source in zip(gone, sources, strict=True))
    _C.set_iterator_fields(real, (None, 0 if ended else len(gone) - sum(gone), left, None, fill))


def make_zip_longest(fill: Any, sources: tuple[Any, ...], *fields: Any) -> Any:
    """A zip_longest with these fields."""
    found: Any = itertools.zip_longest(*(() if source is None else itself(source) for source in sources), fillvalue=fill)
    set_longest(found, *fields)
    return found


def longest_fields(get: Field) -> list[Value]:
    """The fields of a zip_longest as `set_longest` takes them."""
    return [Const(tuple(source is NONE for source in get("sources").items)), Const(get("ended") is not None)]


@iterator(itertools.zip_longest, lambda get: (make_zip_longest, [get("fill"), get("sources"), *longest_fields(get)]))
def _zip_longest(s: Services, ref: Ref) -> Value | None:
    items: list[Value] = []
    for place in range(len(field(s, ref, "sources").items)):
        source = field(s, ref, "sources").items[place]
        item = None if source is NONE or field(s, ref, "ended") is not None else _next_longest(s, ref, source, place)
        if field(s, ref, "ended") is not None:
            return None
        items.append(field(s, ref, "fill") if item is None else item)
    return Pack(tuple, tuple(items)) if items else None


def _next_longest(s: Services, ref: Ref, source: Value, place: int) -> Value | None:
    """The next item of one iterator; at its end it is let go, unless it is the last."""
    try:
        item = next_or_none(s, source)
    except Raised:
        put(s, ref, "ended", TRUE)
        raise
    sources = field(s, ref, "sources").items
    if item is None and all(other is NONE for at, other in enumerate(sources) if at != place):
        put(s, ref, "ended", TRUE)
    elif item is None:
        put(s, ref, "sources", Pack(tuple, tuple(NONE if at == place else other for at, other in enumerate(sources))))
    return item


# -- tee: the copies share a list of what they have read, and a root from which the real ones are copied ----------------------

Tee: Any = type(itertools.tee(())[0])


TeeData: Any = type(itertools.tee(())[0].__reduce__()[2][0])
CELLS = 57  # items that it holds


def make_tee(read: Any, source: Any) -> Any:
    """A tee iterator at the first item of what was read already."""
    return itertools.tee(itertools.chain(read, itself(source)), 1)[0]


def copied_tee(root: Any, index: int) -> Any:
    """A tee iterator that shares the root's items and stands at `index`."""
    if type(root) is TeeData:
        made: Any = itertools.tee(())[0]
        made.__setstate__((root, index))
        return made
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
        if index > LARGEST // 10 or (root.path is not None and index == CELLS):
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
    if isinstance(source, Ref) and source.cls is Tee:
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


def set_groupby(real: Any, group: tuple[Any, ...], key: tuple[Any, ...], value: tuple[Any, ...], grouped: bool) -> None:
    """The key of the group, and key and value of the item that a groupby has read and not handed on."""
    source, function, *_, grouper = _C.iterator_fields(real)
    _C.set_iterator_fields(real, (source, function, held(group), held(key), held(value), grouper if grouped else 0))


def make_groupby(source: Any, function: Any, *fields: Any) -> Any:
    """A groupby with these fields."""
    found: Any = itertools.groupby(itself(source), function)
    set_groupby(found, *fields)
    return found


def groupby_fields(get: Field) -> list[Value]:
    """The fields of a groupby as `set_groupby` takes them; a new grouper enters itself."""
    return [*(maybe(get(name)) for name in ("group", "key", "value")), Const(get("grouper") is not NONE)]


def _step(s: Services, ref: Ref) -> bool:
    item = next_or_none(s, field(s, ref, "source"))
    if item is None:
        return False
    function = field(s, ref, "function")
    put(s, ref, "key", item if function is NONE else s.call(function, [item]))
    put(s, ref, "value", item)
    return True


@iterator(itertools.groupby, lambda get: (make_groupby, [get("source"), get("function"), *groupby_fields(get)]))
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
    put(s, parent, "key", None)
    return item


__all__ = ["Grouper", "places"]
