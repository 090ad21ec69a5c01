"""Tuples, named tuples and struct sequences: Pack(cls, items), or a constant."""

from __future__ import annotations

from collections.abc import Sequence
from types import MemberDescriptorType
from typing import Any, NamedTuple

from framejit.core.path import ITEM, Path
from framejit.core.services import Services
from framejit.core.value import Const, Pack, Ref, Value
from framejit.objects import sequence
from framejit.objects.constants import TUPLE, new_tuple, tuple_items
from framejit.objects.dict_ import hash_key
from framejit.objects.exact import ExactModel, defines
from framejit.objects.fold import is_foldable
from framejit.objects.method import method
from framejit.objects.model import model
from framejit.reasons import R


class _Sample(NamedTuple):
    field: int


FieldGetter = type(vars(_Sample)["field"])


def items(s: Services, v: Value) -> tuple[Value, ...]:
    """The items of a tuple value."""
    v = s.force(v)
    found = tuple_items(s, v)
    if found is not None:
        return found
    return tuple(s.wrap(item) for item in s.constant(v))


def has_numbers(real: tuple[Any, ...]) -> bool:
    """Whether a tuple holds numbers, which may become dynamic."""
    return any(type(item) in (int, float) or (type(item) is tuple and has_numbers(item)) for item in real)


@model(tuple)
class TupleModel(ExactModel):
    """Tuples and their subclasses."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        kind = type(real)
        if kind is tuple and is_foldable(real) and not has_numbers(real):
            s.guard(path, "EQ", real)
            return Const(real, path)
        s.guard(path, "TYPE", kind)
        s.guard(path, "LEN", tuple.__len__(real))
        content = tuple(s.input(path.to(ITEM, i), item) for i, item in enumerate(tuple.__iter__(real)))
        if not kind.__dictoffset__:
            return Pack(kind, content, path)
        ref = Ref(kind, path, real)
        s.trace.remember(real, ref)
        s.heap.load(ref, TUPLE, Pack(tuple, content))
        return ref

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        if type(found) is FieldGetter:
            place = found.__reduce__()[1][0]
        elif issubclass(type(found), MemberDescriptorType) and name in getattr(v.cls, "__match_args__", ()):
            place = v.cls.__match_args__.index(name)  # type: ignore[attr-defined]
        else:
            return None
        return items(s, v)[place]

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        if len(args) > 1 or kwargs or defines(cls, "n_sequence_fields"):
            return None
        return make_tuple(s, cls, args[0] if args else None)

    def len(self, s: Services, v: Value) -> Value | None:
        return Const(len(items(s, v)))

    def getitem(self, s: Services, v: Value, key: Value) -> Value:
        content = items(s, v)
        key = s.force(key)
        if key.cls is slice:
            chosen = sequence.select(s, content, key)
            return v if len(chosen) == len(content) and chosen == content and v.cls is tuple else Pack(tuple, chosen)
        return content[sequence.position(s, content, key, "tuple")]

    def contains(self, s: Services, v: Value, item: Value) -> Value | None:
        return sequence.contains(s, items(s, v), item)

    def iter(self, s: Services, v: Value) -> Value:
        return s.heap.new(type(iter(())), {("source",): v, ("index",): Const(0)})

    def binary(self, s: Services, symbol: str, left: Value, right: Value, reflected: bool) -> Value | None:
        symbol = symbol.removesuffix("=")
        if symbol == "+":
            if reflected or not issubclass(s.force(right).cls, tuple):
                if not reflected:
                    sequence.cannot_concatenate(s, "tuple", s.force(right))
                return None
            head, tail = items(s, left), items(s, right)
            if left.cls is tuple and not tail:
                return left
            if s.force(right).cls is tuple and not head:
                return s.force(right)
            return Pack(tuple, head + tail)
        if symbol == "*":
            sized, times = (right, left) if reflected else (left, right)
            repeated = sequence.repeat(s, items(s, sized), times)
            if repeated is not None and sized.cls is tuple and (not repeated or len(repeated) == len(items(s, sized))):
                return sized if repeated or not items(s, sized) else Const(())
            return None if repeated is None else Pack(tuple, repeated)
        return None

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        if not issubclass(s.force(other).cls, tuple):
            return None
        return sequence.compare_live(s, symbol, lambda: items(s, v), lambda: items(s, other))

    def hash_key(self, s: Services, v: Value) -> Any:
        return tuple(hash_key(s, item) for item in items(s, v))


@method(tuple.index, "value start= stop= /")
def tuple_index(s: Services, self: Value, value: Value, start: Value | None, stop: Value | None) -> Value:
    return sequence.find(s, items(s, self), value, start, stop, "tuple.index(x): x not in tuple")


@method(tuple.count, "value /")
def tuple_count(s: Services, self: Value, value: Value) -> Value:
    return sequence.count(s, items(s, self), value)


def make_tuple(s: Services, cls: type, iterable: Value | None) -> Value:
    """`tuple(iterable)`, or an instance of a subclass."""
    if iterable is None:
        return new_tuple(s, cls, ())
    iterable = s.force(iterable)
    if cls is tuple and iterable.cls is tuple:
        return iterable
    return new_tuple(s, cls, tuple(s.listed(iterable)))


@method(tuple.__new__, "iterable= /")
def tuple_new(s: Services, cls: Value, iterable: Value | None) -> Value:
    kind = s.constant(cls)
    if defines(kind, "n_sequence_fields"):
        s.unsupported(R.OPAQUE_CALL, kind, "a struct sequence")
    return make_tuple(s, kind, iterable)
