"""Objects of C types whose whole state is constant: bytearrays, buffers of text and bytes, arrays.

For one made in the capture stands a private copy. What is done to it is done to a copy of that, so that each state can be gone back to.
"""

from __future__ import annotations

import array
import io
import operator
import struct
import types
from collections.abc import Callable, Sequence
from typing import Any

from framejit.core.services import Services
from framejit.core.value import NONE, Const, Number, Pack, Ref, Value
from framejit.objects import iterator
from framejit.objects.by_parts import parts_at
from framejit.objects.constants import CONTENTS, REPLICA, REPLICAS, content
from framejit.objects.exact import type_name
from framejit.objects.fold import COMPARISONS, OPERATORS, UNARY
from framejit.objects.fold import run as pure
from framejit.objects.model import model
from framejit.objects.object_ import DICT_FIELD, ObjectModel
from framejit.objects.rebuild import REBUILDERS, WRITERS, Field
from framejit.objects.type_ import new_instance
from framejit.reasons import R
from framejit.rules.registry import HANDLERS

IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {"+=": operator.iadd, "*=": operator.imul}
SHOWN = (bytearray, array.array)  # what a memoryview shows; (SHOWN, such an object): one was made, in the cache of the trace
BUFFERS = (io.StringIO, io.BytesIO)
STATEFUL = (*SHOWN, *BUFFERS)  # those whose state is known where they were there before the region
MOST_GIVEN = 4096  # bytes or characters in one of these
METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType)
LEFT = frozenset({  # other objects come of these, or what they say hangs on more than the state
    "__new__", "__del__", "__sizeof__", "__getattribute__", "__setattr__", "__delattr__", "__buffer__", "__release_buffer__", "__hash__",
    "getbuffer", "detach", "readinto", "readinto1",
})  # fmt: skip
OF_BUFFERS = frozenset({"__repr__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__eq__", "__ne__"})


def copied_buffer(real: Any) -> Any:
    """A buffer with the same content that stands at the same place."""
    found = type(real)()
    if real.closed:
        found.close()
    else:
        found.__setstate__((*real.__getstate__()[:-1], None))
    return found


def copied(real: Any) -> Any:
    """A copy of a bytearray or an array."""
    return real[:]


def copied_struct(real: Any) -> Any:
    """Another Struct of the same format."""
    return struct.Struct(real.format)


REPLICAS.update({
    bytearray: copied, array.array: copied, io.StringIO: copied_buffer, io.BytesIO: copied_buffer, struct.Struct: copied_struct,
})  # fmt: skip


def said(real: Any) -> Any:
    """All that can be asked of a bytearray, an array or a buffer, as constants."""
    kind = type(real)
    if kind is bytearray:
        return bytes(real)
    if kind is array.array:
        return real.typecode, real.tobytes()
    return (True,) if real.closed else (False, *real.__getstate__()[:-1])


def can_change(real: Any) -> bool:
    """Whether an object can grow and shrink: nobody has a view of its memory, and it is not closed."""
    try:
        if type(real) is bytearray:
            real.append(0)
            real.pop()
        elif type(real) is array.array:
            real.frombytes(bytes(real.itemsize))
            real.pop()
        elif type(real) is io.BytesIO:
            real.write(b"")
    except (BufferError, ValueError):  # that it is closed
        return False
    return not getattr(real, "closed", False)


def assign(real: Any, state: Any) -> None:
    """Bring an object that was there before the region into a state."""
    if type(real) in SHOWN:
        real[:] = state
    elif state.closed:
        real.close()
    elif real.getvalue() == state.getvalue():
        real.seek(state.tell())
    else:
        real.__setstate__((*state.__getstate__()[:-1], None))


WRITERS[REPLICA] = lambda state: (assign, [Const(state)])

# What only adds to an object: what it returns or raises does not hang on what is there.
ADDING = (io.StringIO.write, io.BytesIO.write, bytearray.append, bytearray.extend)
ADDED = ("added",)  # the calls of these on an object that was there before
WRITERS[ADDED] = lambda calls: (add_all, [Const(calls)])


def add_all(real: Any, calls: Any) -> None:
    """Do to an object what the program did."""
    for function, args in calls:
        function(real, *args)


def _is_changing(s: Services, v: Ref) -> bool:
    """Whether what an object holds that was there before the region is much, or was seen to change."""
    assert v.path is not None
    path, content = parts_at(v.path, said), said(v.real)
    if len(content) > MOST_GIVEN or any(isinstance(part, (str, bytes)) and len(part) > MOST_GIVEN for part in content):
        return True
    return s.has_changed(path, content)  # type: ignore[attr-defined]


def _is_unknown(s: Services, v: Value) -> bool:
    """Whether an object was there before the region, and nothing is known of what it holds."""
    if not isinstance(v, Ref) or v.path is None or v.cls not in STATEFUL or s.heap.get(v, REPLICA) is not None:
        return False
    return s.heap.get(v, ADDED) is not None or _is_changing(s, v)


def _add(s: Services, v: Ref, function: Any, args: list[Any]) -> Value:
    """Add to an object of which nothing else is known, at the exit."""
    assert v.path is not None
    if not can_change(v.real):
        return s.unsupported(R.OPAQUE_CALL, function)
    s.guard(v.path, "PY", can_change)
    made = pure(s, function, v.cls(), *args)
    s.heap.set(v, ADDED, (*(s.heap.get(v, ADDED) or ()), (function, tuple(args))))
    return made


def _load(s: Services, v: Ref) -> None:
    """What an object holds that was there before the region."""
    if _is_unknown(s, v):
        s.unsupported(R.OPAQUE_OPERATION, v, "what it holds changes from call to call")
    assert v.path is not None
    s.guard(parts_at(v.path, said), "EQ", said(v.real))
    s.heap.load(v, REPLICA, REPLICAS[v.cls](v.real))


def _store(s: Services, v: Ref, state: Any) -> None:
    """Another state of an object; of one that was there before only if it is another one."""
    before = s.heap.get(v, REPLICA)
    if v.path is not None:
        if said(state) == said(before):
            return
        if type(state) is io.BytesIO or (v.cls in SHOWN and len(state) != len(before)):
            if not can_change(v.real):
                s.unsupported(R.OPAQUE_OPERATION, v, "a view of it may hinder it to grow or shrink")
            s.guard(v.path, "PY", can_change)
    s.heap.set(v, REPLICA, state)


def restored(state: Any, namespace: Any) -> Any:
    """An object in this state, with these attributes."""
    found = REPLICAS[type(state)](state)
    if namespace:
        found.__dict__.update(namespace)
    return found


def _rebuild(get: Field) -> tuple[Any, list[Value]]:
    return restored, [Const(get(REPLICA)), get(DICT_FIELD) or NONE]


def is_replica(v: Value) -> bool:
    """Whether a private copy stands for this object, which the capture made."""
    return isinstance(v, Ref) and v.cls in REPLICAS and v.path is None


def is_known(s: Services, v: Value) -> bool:
    """Whether a private copy stands for this object; that of one that was there before is made now."""
    if isinstance(v, Ref) and v.path is not None and v.cls in STATEFUL and s.heap.get(v, REPLICA) is None:
        _load(s, v)
    return isinstance(v, Ref) and (v.cls in STATEFUL or is_replica(v))


def _content(s: Services, v: Ref) -> Any:
    return REPLICAS[v.cls](s.heap.get(v, REPLICA)) if is_known(s, v) else s.unsupported(R.OPAQUE_OPERATION, v, "its content")


for _kind in SHOWN:
    CONTENTS[_kind] = _content


def given(s: Services, value: Value) -> Any:
    """What an operation gets: a constant, a copy of another such object, or a list of them."""
    v = s.force(value)
    if is_known(s, v):
        return REPLICAS[v.cls](s.heap.get(v, REPLICA))  # type: ignore[arg-type]
    if v.cls in CONTENTS:
        return content(s, v)
    if isinstance(v, Ref) and v.cls is list:
        return [given(s, item) for item in s.unpack(v)]
    if isinstance(v, (Const, Number, Pack)):
        return s.constant(v)
    return s.unsupported(R.OPAQUE_OPERATION, v, "a constant is needed here")


def run(s: Services, v: Value, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Value:
    """Do something to an object, with what `given` gave: to a copy of its copy."""
    if not is_known(s, v):
        return s.unsupported(R.OPAQUE_OPERATION, v, getattr(function, "__name__", ""))
    assert isinstance(v, Ref)
    state = REPLICAS[v.cls](s.heap.get(v, REPLICA))
    failed: Exception | None = None
    result: Any = None
    try:
        result = function(state, *args, **kwargs)
    except MemoryError:
        return s.unsupported(R.OPAQUE_OPERATION, v, "a very large result")
    except Exception as error:  # noqa: BLE001 - whatever the function raises, the program raises
        failed = error
    if (SHOWN, v) in s.trace.cache and (len(state) != len(s.heap.get(v, REPLICA)) or getattr(function, "__name__", "") == "__init__"):
        return s.unsupported(R.OPAQUE_OPERATION, v, "a memoryview may hinder it to grow or shrink")
    _store(s, v, state)
    if failed is not None:
        return s.raise_real(failed)
    return v if result is state else s.wrap(result)


class OnCopies(ObjectModel):
    """Sequences whose operations are done to a copy."""

    __slots__ = ()

    def run(self, s: Services, v: Value, function: Callable[..., Any], *args: Any) -> Value:
        """Do something to a copy."""
        raise NotImplementedError

    def getitem(self, s: Services, v: Value, key: Value) -> Value:
        return self.run(s, v, operator.getitem, given(s, key))

    def setitem(self, s: Services, v: Value, key: Value, new: Value) -> None:
        self.run(s, v, operator.setitem, given(s, key), given(s, new))

    def delitem(self, s: Services, v: Value, key: Value) -> None:
        self.run(s, v, operator.delitem, given(s, key))

    def len(self, s: Services, v: Value) -> Value | None:
        return self.run(s, v, len)


class Replica(ObjectModel):
    """Objects with a private copy; real ones are left to CPython."""

    __slots__ = ()

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        if cls not in REPLICAS:
            return None
        values = {name: given(s, value) for name, value in kwargs.items()}
        try:
            state = cls(*(given(s, arg) for arg in args), **values)
        except Exception as error:  # noqa: BLE001 - whatever the type raises, the program raises
            return s.raise_real(error)
        return new_instance(s, cls, {REPLICA: state})

    def initialise(self, s: Services, instance: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> bool:
        return is_replica(instance)  # `new` has done it

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        field = name != "__dict__" and type(found) in (types.GetSetDescriptorType, types.MemberDescriptorType)
        if field and isinstance(v, Ref) and v.cls in REPLICAS and is_known(s, v):
            return run(s, v, getattr, name)
        return super().attribute(s, v, name, found)  # type: ignore[return-value]


@model(struct.Struct)
class StructModel(Replica):
    """Compiled formats; their methods are in rules/struct_.py."""

    __slots__ = ()


@model(*BUFFERS)
class BufferModel(Replica):
    """StringIO and BytesIO: iterators over their lines, known by identity."""

    __slots__ = ()

    def iter(self, s: Services, v: Value) -> Value:
        return run(s, v, iter)

    def next(self, s: Services, v: Value) -> Value:
        return run(s, v, next)


@model(bytearray, array.array)
class SequenceModel(OnCopies, Replica):
    """Sequences of numbers that change."""

    __slots__ = ()

    def run(self, s: Services, v: Value, function: Callable[..., Any], *args: Any) -> Value:
        return run(s, v, function, *args)

    def contains(self, s: Services, v: Value, item: Value) -> Value | None:
        return run(s, v, operator.contains, given(s, item))

    def iter(self, s: Services, v: Value) -> Value:
        return s.heap.new(ITERATORS[v.cls], {("source",): v, ("index",): Const(0)}) if is_known(s, v) else super().iter(s, v)

    def binary(self, s: Services, symbol: str, left: Value, right: Value, reflected: bool) -> Value | None:
        v, other = (right, left) if reflected else (left, right)
        function, argument = IN_PLACE.get(symbol) or OPERATORS[symbol.removesuffix("=")], given(s, other)
        return run(s, v, (lambda state: function(argument, state)) if reflected else (lambda state: function(state, argument)))

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        other = s.force(other)
        known = isinstance(other, Const) or issubclass(other.cls, (bytes, *REPLICAS))
        return run(s, v, COMPARISONS[symbol], given(s, other)) if known or other.cls in CONTENTS else None

    def unary(self, s: Services, symbol: str, v: Value) -> Value:
        return run(s, v, UNARY[symbol])

    def text(self, s: Services, v: Value, function: Any) -> Value:
        """What it holds."""
        return run(s, v, function)

    def hash_key(self, s: Services, v: Value) -> Any:
        return s.raise_error(TypeError, f"unhashable type: '{type_name(v.cls)}'")


def _read(s: Services, source: Value) -> Any:
    if not is_known(s, source):
        return s.unsupported(R.UNKNOWN_ITERATOR, source)
    return s.heap.get(source, REPLICA)  # type: ignore[arg-type]


_SAMPLES: tuple[Any, ...] = (bytearray(), array.array("b"))
ITERATORS: dict[type, type] = {type(sample): type(iter(sample)) for sample in _SAMPLES}
for _sample in _SAMPLES:
    iterator.over_sequence(_sample, _read)


def _method(target: Any) -> None:
    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        v = s.force(args[0]) if args else NONE
        if target in ADDING and not kwargs and _is_unknown(s, v):
            return _add(s, v, target, [given(s, arg) for arg in args[1:]])  # type: ignore[arg-type]
        if not is_known(s, v):
            return s.unsupported(R.OPAQUE_CALL, target)
        return run(s, v, target, *(given(s, arg) for arg in args[1:]), **{name: given(s, value) for name, value in kwargs.items()})

    HANDLERS.setdefault(target, call)


for _each in REPLICAS:
    REBUILDERS[_each] = _rebuild
for _each in STATEFUL:
    for _base in _each.__mro__[:-1]:
        for _name, _found in vars(_base).items():
            if type(_found) in METHODS and _name not in LEFT and not (_each in BUFFERS and _name in OF_BUFFERS):
                _method(_found)
