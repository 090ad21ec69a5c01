"""collections.deque: a tuple of values and a maximal length."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from framejit.core.heap import Heap
from framejit.core.path import CALLED, Called, Path
from framejit.core.services import Services
from framejit.core.value import NONE, Const, Ref, Value
from framejit.objects import sequence
from framejit.objects.exact import ExactModel, type_name
from framejit.objects.iterator import STATE, DequeIterator, DequeReverseIterator, deque_content
from framejit.objects.method import method
from framejit.objects.model import by_type, model
from framejit.objects.rebuild import STEP
from framejit.objects.sameness import same_or_equal
from framejit.objects.slice_ import index

ITEMS, MAXLEN = Heap.ITEMS, ("maxlen",)
MAXLEN_OF: Any = vars(deque)["maxlen"]


def items(s: Services, v: Value) -> tuple[Value, ...]:
    """The items of a deque."""
    return deque_content(s, v)


def limit(s: Services, v: Value) -> int | None:
    """The maximal length of a deque."""
    assert isinstance(v, Ref)
    found = s.heap.get(v, MAXLEN)
    if found is None and v.path is not None:
        found = s.heap.load(v, MAXLEN, Const(real_limit(v.real)))
        s.guard(v.path.to(CALLED, Called(real_limit, (), f"{v.path}.maxlen")), "EQ", found.obj)
    return None if found is None else found.obj


def real_limit(real: Any) -> Any:
    """The maximal length of a real deque."""
    return MAXLEN_OF.__get__(real)


def put(s: Services, v: Value, content: tuple[Value, ...], left: bool = False) -> None:
    """Replace the contents, dropping what exceeds the maximal length at the end opposite to the growth."""
    assert isinstance(v, Ref)
    items(s, v)
    most = limit(s, v)
    if most is not None and len(content) > most:
        content = content[:most] if left else content[len(content) - most :]
    s.heap.set(v, ITEMS, tuple(content))
    s.heap.set(v, STATE, Const(None))


@model(deque)
class DequeModel(ExactModel):
    """Deques."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        ref = by_type(s, path, real)
        s.heap.load(ref, STATE, Const(None))
        return ref

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        return s.wrap(limit(s, v)) if name == "maxlen" else None

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        return s.heap.new(cls, {ITEMS: ()})

    def len(self, s: Services, v: Value) -> Value | None:
        return Const(len(items(s, v)))

    def getitem(self, s: Services, v: Value, key: Value) -> Value:
        return items(s, v)[_place(s, v, key)]

    def setitem(self, s: Services, v: Value, key: Value, new: Value) -> None:
        place = _place(s, v, key)
        content = items(s, v)
        assert isinstance(v, Ref)
        s.heap.set(v, ITEMS, (*content[:place], new, *content[place + 1 :]))

    def delitem(self, s: Services, v: Value, key: Value) -> None:
        place = _place(s, v, key)
        content = items(s, v)
        put(s, v, content[:place] + content[place + 1 :])

    def contains(self, s: Services, v: Value, item: Value) -> Value | None:
        return sequence.contains(s, _steady(s, v), item)

    def iter(self, s: Services, v: Value) -> Value:
        return _iterate(s, v, DequeIterator)

    def binary(self, s: Services, symbol: str, left: Value, right: Value, reflected: bool) -> Value | None:
        if symbol == "+=" and not reflected:
            put(s, left, items(s, left) + tuple(s.unpack(right)))
            return left
        if symbol == "+" and not reflected:
            if not issubclass(s.force(right).cls, deque):
                s.raise_error(TypeError, f'can only concatenate deque (not "{type_name(s.force(right).cls)}") to deque')
            copied = _duplicate(s, left)
            put(s, copied, items(s, left) + items(s, s.force(right)))
            return copied
        if symbol.removesuffix("=") == "*":
            sized, times = (right, left) if reflected else (left, right)
            repeated = sequence.repeat(s, items(s, sized), times)
            if repeated is None:
                return None
            if symbol == "*=" and not reflected:
                put(s, left, repeated)
                return left
            copied = _duplicate(s, sized)
            put(s, copied, repeated)
            return copied
        return None

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        other = s.force(other)
        return sequence.compare(s, symbol, items(s, v), items(s, other)) if issubclass(other.cls, deque) else None


def _steady(s: Services, v: Value, start: int = 0, stop: int | None = None) -> Iterator[Value]:
    """The items one by one; RuntimeError where what is done with one changed the deque."""
    assert isinstance(v, Ref)
    state = s.heap.get(v, STATE)
    for item in items(s, v)[start:stop]:
        yield item
        if s.heap.get(v, STATE) is not state:
            s.raise_error(RuntimeError, "deque mutated during iteration")


def _place(s: Services, v: Value, key: Value) -> int:
    content = items(s, v)
    place = index(s, key, f"sequence index must be integer, not '{type_name(s.force(key).cls)}'")
    place += len(content) if place < 0 else 0
    if not 0 <= place < len(content):
        s.raise_error(IndexError, "deque index out of range")
    return place


def _iterate(s: Services, v: Value, cls: type) -> Value:
    assert isinstance(v, Ref)
    state = s.heap.get(v, STATE)
    fields = {("source",): v, ("index",): Const(0), STEP: s.steps}  # type: ignore[attr-defined]
    return s.heap.new(cls, fields if state is None else {**fields, ("seen",): state})


def new_deque(s: Services, content: tuple[Value, ...], most: int | None, cls: type = deque) -> Ref:
    """A deque born in the capture."""
    fields: dict[Any, Any] = {ITEMS: ()} if most is None else {ITEMS: (), MAXLEN: Const(most)}
    ref = s.heap.new(cls, fields)
    put(s, ref, content)
    return ref


@method(deque.__new__, "*args **")
def deque_new(s: Services, cls: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return s.heap.new(s.constant(cls), {ITEMS: ()})


@method(deque.__init__, "iterable= maxlen=")
def deque_init(s: Services, self: Value, iterable: Value | None, maxlen: Value | None) -> Value:
    assert isinstance(self, Ref)
    if maxlen is not None and s.force(maxlen).cls is not type(None):
        most = index(s, maxlen)
        if most < 0:
            s.raise_error(ValueError, "maxlen must be non-negative")
        s.heap.set(self, MAXLEN, Const(most))
    put(s, self, () if iterable is None else tuple(s.unpack(iterable)))
    return NONE


@method(deque.append, "item /")
def deque_append(s: Services, self: Value, item: Value) -> Value:
    put(s, self, (*items(s, self), item))
    return NONE


@method(deque.appendleft, "item /")
def deque_appendleft(s: Services, self: Value, item: Value) -> Value:
    put(s, self, (item, *items(s, self)), left=True)
    return NONE


@method(deque.extend, "iterable /")
def deque_extend(s: Services, self: Value, iterable: Value) -> Value:
    more: list[Value] = []
    try:
        more.extend(s.each(iterable))
    finally:  # an error in the middle leaves what came before it
        if more:
            put(s, self, (*items(s, self), *more))
    return NONE


@method(deque.extendleft, "iterable /")
def deque_extendleft(s: Services, self: Value, iterable: Value) -> Value:
    more = tuple(reversed(s.unpack(iterable)))
    if more:
        put(s, self, more + items(s, self), left=True)
    return NONE


@method(deque.pop)
def deque_pop(s: Services, self: Value) -> Value:
    return _pop(s, self, -1)


@method(deque.popleft)
def deque_popleft(s: Services, self: Value) -> Value:
    return _pop(s, self, 0)


def _pop(s: Services, self: Value, place: int) -> Value:
    content = items(s, self)
    if not content:
        s.raise_error(IndexError, "pop from an empty deque")
    put(s, self, content[:-1] if place else content[1:])
    return content[place]


@method(deque.clear)
def deque_clear(s: Services, self: Value) -> Value:
    put(s, self, ())
    return NONE


@method(deque.copy)
def deque_copy(s: Services, self: Value) -> Value:
    return _duplicate(s, self)


@method(deque.__copy__)
def deque_copy_protocol(s: Services, self: Value) -> Value:
    return _duplicate(s, self)


def _duplicate(s: Services, self: Value) -> Value:
    """A copy: that of a subclass is made by calling it."""
    most = limit(s, self)
    if self.cls is deque:
        return new_deque(s, items(s, self), most)
    made = s.force(s.call(Const(self.cls), [self] if most is None else [self, Const(most)]))
    if not issubclass(made.cls, deque):
        s.raise_error(TypeError, f"{self.cls.__name__}() must return a deque, not {type_name(made.cls)}")
    return made


@method(deque.reverse)
def deque_reverse(s: Services, self: Value) -> Value:
    put(s, self, items(s, self)[::-1])
    return NONE


@method(deque.rotate, "n= /")
def deque_rotate(s: Services, self: Value, n: Value | None) -> Value:
    content = items(s, self)
    if len(content) > 1:
        turn = (1 if n is None else index(s, n)) % len(content)
        put(s, self, content[-turn:] + content[:-turn])
    return NONE


@method(deque.remove, "item /")
def deque_remove(s: Services, self: Value, item: Value) -> Value:
    assert isinstance(self, Ref)
    content, state = items(s, self), s.heap.get(self, STATE)
    for place, candidate in enumerate(content):
        found = same_or_equal(s, candidate, item)
        if s.heap.get(self, STATE) is not state:
            s.raise_error(IndexError, "deque mutated during iteration")
        if found:
            put(s, self, content[:place] + content[place + 1 :])
            return NONE
    return s.raise_error(ValueError, "deque.remove(x): x not in deque")


@method(deque.count, "item /")
def deque_count(s: Services, self: Value, item: Value) -> Value:
    return sequence.count(s, _steady(s, self), item)


@method(deque.index, "item start= stop= /")
def deque_index(s: Services, self: Value, item: Value, start: Value | None, stop: Value | None) -> Value:
    length = len(items(s, self))
    where = slice(None if start is None else index(s, start), None if stop is None else index(s, stop)).indices(length)
    for place, candidate in enumerate(_steady(s, self, where[0], where[1])):
        if same_or_equal(s, candidate, item):
            return Const(where[0] + place)
    return s.raise_error(ValueError, s.binary("+", s.repr(item), Const(" is not in deque")))


@method(deque.insert, "index item /")
def deque_insert(s: Services, self: Value, place: Value, item: Value) -> Value:
    content = list(items(s, self))
    if limit(s, self) == len(content):
        s.raise_error(IndexError, "deque already at its maximum size")
    content.insert(index(s, place), item)
    put(s, self, tuple(content))
    return NONE


@method(deque.__reversed__)
def deque_reversed(s: Services, self: Value) -> Value:
    return _iterate(s, self, DequeReverseIterator)
