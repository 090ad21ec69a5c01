"""Lists: a tuple of values, replaced at each write; a real list of which only the end was touched stays unread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from framejit.core.errors import Raised
from framejit.core.heap import Heap
from framejit.core.path import ITEM, LEN
from framejit.core.services import Services
from framejit.core.value import NONE, Const, Pack, Ref, Value, bool_const
from framejit.objects import sequence
from framejit.objects.exact import ExactModel
from framejit.objects.method import method
from framejit.objects.model import ByType, model
from framejit.objects.protocol import length_hint
from framejit.objects.sameness import same_or_equal
from framejit.objects.slice_ import index, real_slice

ITEMS, APPENDED = Heap.ITEMS, Heap.APPENDED


def items(s: Services, ref: Value) -> tuple[Value, ...]:
    """The items; a real list is read (and its length guarded) at the first need."""
    assert isinstance(ref, Ref)
    found = s.heap.get(ref, ITEMS)
    if found is None:
        path, real = ref.path, ref.real
        if path is None:
            return s.heap.load(ref, ITEMS, ())
        s.guard(path, "LEN", list.__len__(real))
        found = s.heap.load(ref, ITEMS, tuple(s.input(path.to(ITEM, i), item) for i, item in enumerate(list.__iter__(real))))
        appended = s.heap.get(ref, APPENDED)
        if appended:
            found = found + appended
            s.heap.set(ref, ITEMS, found)
    return found


def assign(s: Services, ref: Value, content: Iterable[Value]) -> None:
    """Replace the whole contents."""
    assert isinstance(ref, Ref)
    if s.heap.get(ref, ITEMS) is None:
        items(s, ref)
    s.heap.set(ref, ITEMS, tuple(content))


def append(s: Services, ref: Value, *values: Value) -> None:
    """Add values at the end, without reading an unread list."""
    assert isinstance(ref, Ref)
    heap = s.heap
    found = heap.get(ref, ITEMS)
    field = APPENDED if found is None and ref.path is not None else ITEMS
    heap.set(ref, field, (heap.get(ref, field) or ()) + values)


def new_list(s: Services, content: Iterable[Value], cls: type = list) -> Ref:
    """A list born in the capture."""
    return s.heap.new(cls, {ITEMS: tuple(content)})


@model(list)
class ListModel(ByType, ExactModel):
    """Lists and their subclasses."""

    __slots__ = ()

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        return new_list(s, (), cls)

    def len(self, s: Services, v: Value) -> Value | None:
        assert isinstance(v, Ref)
        if v.path is not None and s.heap.get(v, ITEMS) is None:
            number = s.dynamic_length(v.path.to(LEN), list.__len__(v.real))  # type: ignore[attr-defined]
            if number is not None:
                appended = s.heap.get(v, APPENDED) or ()
                return s.binary("+", number, Const(len(appended))) if appended else number
        return Const(len(items(s, v)))

    def getitem(self, s: Services, v: Value, key: Value) -> Value:
        key = s.force(key)
        content = items(s, v)
        if key.cls is slice:
            return new_list(s, sequence.select(s, content, key))
        return content[sequence.position(s, content, key, "list")]

    def setitem(self, s: Services, v: Value, key: Value, new: Value) -> None:
        key = s.force(key)
        content = list(items(s, v))
        if key.cls is slice:
            bounds = real_slice(s, key)
            replacement = self._replacement(s, new, bounds)
            content = list(items(s, v))
            try:
                content[bounds] = replacement
            except ValueError as error:
                s.raise_error(ValueError, *error.args)
        else:
            content[sequence.position(s, content, key, "list", "assignment index")] = new
        assign(s, v, content)

    @staticmethod
    def _replacement(s: Services, new: Value, bounds: slice) -> list[Value]:
        try:
            return s.unpack(new)
        except Raised as raised:
            if s.exception_type(raised.value) is TypeError and s.special(s.force(new), "__iter__") is None:
                extended = bounds.step not in (None, 1)
                s.raise_error(TypeError, "must assign iterable to extended slice" if extended else "can only assign an iterable")
            raise

    def delitem(self, s: Services, v: Value, key: Value) -> None:
        key = s.force(key)
        content = list(items(s, v))
        if key.cls is slice:
            bounds = real_slice(s, key)
            if bounds.step == 0:
                s.raise_error(ValueError, "slice step cannot be zero")
            del content[bounds]
        else:
            del content[sequence.position(s, content, key, "list", "assignment index")]
        assign(s, v, content)

    def contains(self, s: Services, v: Value, item: Value) -> Value | None:
        place = 0
        while place < len(content := items(s, v)):
            if same_or_equal(s, content[place], item):
                return Const(True)
            place += 1
        return Const(False)

    def iter(self, s: Services, v: Value) -> Value:
        return s.heap.new(type(iter([])), {("source",): v, ("index",): Const(0)})

    def binary(self, s: Services, symbol: str, left: Value, right: Value, reflected: bool) -> Value | None:
        if symbol == "+=" and not reflected:
            list_extend(s, left, right)
            return left
        if symbol == "*=" and not reflected:
            repeated = sequence.repeat(s, items(s, left), right)
            if repeated is None:
                return None
            assign(s, left, repeated)
            return left
        if symbol == "+":
            if reflected or not issubclass(s.force(right).cls, list):
                if not reflected:
                    sequence.cannot_concatenate(s, "list", s.force(right))
                return None
            return new_list(s, items(s, left) + items(s, s.force(right)))
        if symbol.removesuffix("=") == "*":
            sized, times = (right, left) if reflected else (left, right)
            repeated = sequence.repeat(s, items(s, sized), times)
            return None if repeated is None else new_list(s, repeated)
        return None

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        other = s.force(other)
        if not issubclass(other.cls, list):
            return None
        if symbol in ("==", "!=") and len(items(s, v)) != len(items(s, other)):
            return bool_const(symbol == "!=")
        return sequence.compare_live(s, symbol, lambda: items(s, v), lambda: items(s, other))


def make_list(s: Services, iterable: Value | None) -> Value:
    """`list(iterable)`."""
    return new_list(s, () if iterable is None else s.listed(iterable))


@method(list.__new__, "*args **")
def list_new(s: Services, cls: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return new_list(s, (), s.constant(cls))


@method(list.__init__, "iterable= /")
def list_init(s: Services, self: Value, iterable: Value | None) -> Value:
    content = () if iterable is None else s.listed(iterable)
    assign(s, self, content)
    return NONE


@method(list.append, "item /")
def list_append(s: Services, self: Value, item: Value) -> Value:
    append(s, self, item)
    return NONE


@method(list.extend, "iterable /")
def list_extend(s: Services, self: Value, iterable: Value) -> Value:
    iterable = s.force(iterable)
    if isinstance(iterable, Pack) or iterable.cls in (list, tuple, dict, set):
        append(s, self, *s.unpack(iterable))
        return NONE
    iterator = s.iter(iterable)
    length_hint(s, iterable)
    while True:
        try:
            item = s.next(iterator)
        except Raised as raised:
            if s.exception_type(raised.value) is not StopIteration:
                raise
            return NONE
        append(s, self, item)


@method(list.insert, "index item /")
def list_insert(s: Services, self: Value, place: Value, item: Value) -> Value:
    at = index(s, place)
    content = list(items(s, self))
    content.insert(at, item)
    assign(s, self, content)
    return NONE


@method(list.pop, "index= /")
def list_pop(s: Services, self: Value, place: Value | None) -> Value:
    at = -1 if place is None else index(s, place)
    content = list(items(s, self))
    if not content:
        s.raise_error(IndexError, "pop from empty list")
    if not -len(content) <= at < len(content):
        s.raise_error(IndexError, "pop index out of range")
    item = content.pop(at)
    assign(s, self, content)
    return item


@method(list.remove, "item /")
def list_remove(s: Services, self: Value, item: Value) -> Value:
    for place, candidate in enumerate(sequence.live(lambda: items(s, self))):
        if same_or_equal(s, candidate, item):
            content = list(items(s, self))
            del content[place]
            assign(s, self, content)
            return NONE
    return s.raise_error(ValueError, "list.remove(x): x not in list")


@method(list.clear)
def list_clear(s: Services, self: Value) -> Value:
    assign(s, self, ())
    return NONE


@method(list.copy)
def list_copy(s: Services, self: Value) -> Value:
    return new_list(s, items(s, self))


@method(list.reverse)
def list_reverse(s: Services, self: Value) -> Value:
    assign(s, self, items(s, self)[::-1])
    return NONE


@method(list.index, "value start= stop= /")
def list_index(s: Services, self: Value, value: Value, start: Value | None, stop: Value | None) -> Value:
    length = len(items(s, self))
    where = slice(None if start is None else index(s, start), None if stop is None else index(s, stop)).indices(length)
    for place in range(where[0], where[1]):
        content = items(s, self)
        if place >= len(content):
            break
        if same_or_equal(s, content[place], value):
            return Const(place)
    return s.raise_error(ValueError, s.binary("+", s.repr(value), Const(" is not in list")))


@method(list.count, "value /")
def list_count(s: Services, self: Value, value: Value) -> Value:
    return sequence.count(s, sequence.live(lambda: items(s, self)), value)


class _Emptied(tuple[Value, ...]):
    """No items, told from no items again."""


@method(list.sort, "* key= reverse=")
def list_sort(s: Services, self: Value, key: Value | None, reverse: Value | None) -> Value:
    assert isinstance(self, Ref)
    before = items(s, self)
    backwards = reverse is not None and s.truth(reverse)
    places = list(range(len(before)))
    assign(s, self, ())  # as long as it is sorted, and whatever is put into it then is lost
    emptied = _Emptied()
    s.heap.set(self, s.heap.ITEMS, emptied)
    try:
        sequence.sort(s, before, places, key, backwards)
    finally:
        changed = s.heap.get(self, s.heap.ITEMS) is not emptied
        assign(s, self, tuple(before[place] for place in places))
    if changed:
        s.raise_error(ValueError, "list modified during sort")
    return NONE


@method(list.__reversed__)
def list_reversed(s: Services, self: Value) -> Value:
    kind: type = type(reversed([]))
    return s.heap.new(kind, {("source",): self, ("index",): Const(len(items(s, self)) - 1)})
