"""Memoryviews made in the capture, over bytes, bytearrays and arrays of which it knows the content.

A view is the object that it shows and the steps that led to it (slices, casts). Each operation is done to a real view of a copy.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

from framejit.core.heap import Heap
from framejit.core.services import Services
from framejit.core.value import FALSE, NONE, TRUE, Const, Ref, Value
from framejit.objects import iterator, reach
from framejit.objects.constants import CONTENTS, REPLICA
from framejit.objects.fold import COMPARISONS
from framejit.objects.fold import run as run_pure
from framejit.objects.model import model
from framejit.objects.rebuild import OUT_OF_STEP, REBUILDERS, STEP, Field
from framejit.objects.replica import SHOWN, OnCopies, given, is_replica
from framejit.reasons import R
from framejit.rules.registry import HANDLERS

BASE, STEPS, RELEASED = ("base",), ("steps",), ("released",)
METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType)
LEFT = frozenset({
    "__new__", "__init__", "__getattribute__", "__setattr__", "__delattr__", "__buffer__", "__release_buffer__", "__hash__", "__iter__",
    "__repr__",
})  # fmt: skip


def make_view(base: Any, steps: Any, released: bool) -> Any:
    """A real view of an object."""
    found = memoryview(base)
    for function, args in steps:
        found = function(found, *args)
    if released:
        found.release()
    return found


REBUILDERS[memoryview] = lambda get: (make_view, [get(BASE), get(STEPS), get(RELEASED)])


def is_view(v: Value) -> bool:
    """Whether the capture made this view."""
    return isinstance(v, Ref) and v.cls is memoryview and v.virtual


def _real(s: Services, v: Value) -> tuple[Any, Any]:
    """A real view, and what it shows: bytes, or a copy of something that can change."""
    if not is_view(v):
        return s.unsupported(R.OPAQUE_OPERATION, v, "a view that exists")
    assert isinstance(v, Ref)
    base = given(s, s.heap.get(v, BASE))
    return make_view(base, s.constant(s.heap.get(v, STEPS)), s.constant(s.heap.get(v, RELEASED))), base


def _derived(s: Services, v: Value, function: Any, args: tuple[Any, ...]) -> Value:
    assert isinstance(v, Ref)
    steps = (*s.constant(s.heap.get(v, STEPS)), (function, args))
    return s.heap.new(memoryview, {BASE: s.heap.get(v, BASE), STEPS: Const(steps), RELEASED: FALSE})


def run(s: Services, v: Value, function: Callable[..., Any], *args: Any) -> Value:
    """Do something to a view: what it makes is another view, or a constant, and what it writes is in the object that is shown."""
    real, base = _real(s, v)
    found = run_pure(s, lambda: _Held(function(real, *args)))
    assert isinstance(v, Ref) and isinstance(found, Const)
    result = found.obj.value
    shown = s.heap.get(v, BASE)
    if isinstance(shown, Ref) and bytes(base) != bytes(s.heap.get(shown, REPLICA)):
        s.heap.set(shown, REPLICA, base)
    if result is real:
        return v
    return _derived(s, v, function, args) if type(result) is memoryview else s.wrap(result)


class _Held:
    """A result as it is."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _view(s: Services, v: Value) -> Any:
    return _real(s, v)[0]


CONTENTS[memoryview] = _view


@model(memoryview)
class MemoryViewModel(OnCopies):
    """Views of memory; those that exist are left to CPython."""

    __slots__ = ()

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        if len(args) + len(kwargs) != 1 or any(name != "object" for name in kwargs):
            return None
        of = s.force([*args, *kwargs.values()][0])
        if is_view(of):
            return run(s, of, memoryview)
        if isinstance(of, Const) and type(of.obj) is not bytes:
            return run_pure(s, memoryview, of.obj) if type(of.obj) in (int, str, float, type(None)) else None
        if not (isinstance(of, Const) or (is_replica(of) and of.cls in SHOWN)):
            return None
        if isinstance(of, Ref):
            s.trace.trail.put(s.trace.cache, (SHOWN, of), True)
            s.trace.trail.put(s.trace.cache, reach.KEEP, True)  # while the view lives, in whatever slot, the object keeps its size
        return s.heap.new(memoryview, {BASE: of, STEPS: Const(()), RELEASED: FALSE})

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        if type(found) not in (types.GetSetDescriptorType, types.MemberDescriptorType):
            return super().attribute(s, v, name, found)  # type: ignore[return-value]
        result = run(s, v, getattr, name) if name != "obj" else run(s, v, _is_alive)
        return s.heap.get(v, BASE) if name == "obj" else result  # type: ignore[arg-type]

    def run(self, s: Services, v: Value, function: Callable[..., Any], *args: Any) -> Value:
        return run(s, v, function, *args)

    def truth(self, s: Services, v: Value) -> bool | None:
        return None

    def contains(self, s: Services, v: Value, item: Value) -> Value | None:
        return None

    def iter(self, s: Services, v: Value) -> Value:
        if s.heap.get(v, RELEASED) is not FALSE:  # type: ignore[arg-type]
            return s.unsupported(R.UNKNOWN_ITERATOR, v, "of a view that was released")
        run(s, v, _can_iterate)
        return s.heap.new(Iterator, {("source",): v, ("index",): Const(0), STEP: s.steps})  # type: ignore[attr-defined]

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        other = s.force(other)
        known = is_view(other) or is_replica(other) or issubclass(other.cls, (bytes, *CONTENTS))
        if not known or symbol not in ("==", "!="):
            return None
        return TRUE if other is v and symbol == "==" else run(s, v, COMPARISONS[symbol], given(s, other))

    def hash_key(self, s: Services, v: Value) -> Any:
        run(s, v, hash)
        return _view(s, v).tobytes()


def _is_alive(real: Any) -> None:
    real.nbytes  # noqa: B018 - raises of one that was released


def _can_iterate(real: Any) -> None:
    iter(real)


def _content(s: Services, v: Value) -> Any:
    if s.heap.get(v, RELEASED) is not FALSE:  # type: ignore[arg-type]
        return s.unsupported(R.UNKNOWN_ITERATOR, v, "of a view that was released")
    return _view(s, v)


def _at(view: Any, index: int) -> Any:
    """An iterator of a view that has given so many items; its place cannot be set."""
    found = iter(view)
    for _ in range(index):
        next(found)
    return found


def _rebuild(get: Field) -> tuple[Any, list[Value]]:
    return (_finished, []) if get("source") is NONE else (_at, [get("source"), get("index")])


def _finished() -> Any:
    return iterator.exhausted(iter, memoryview(b""))


def _is_unmakeable(heap: Heap, ref: Ref) -> bool:
    """Whether an iterator is of a view that was released since, of which none can be made."""
    source = heap.get(ref, ("source",))
    return isinstance(source, Ref) and source.virtual and heap.get(source, RELEASED) is not FALSE


Iterator: type = type(iter(memoryview(b"")))
if Iterator not in iterator.ROWS:
    iterator.over_sequence(memoryview(b""), _content)
    REBUILDERS[Iterator] = _rebuild
    OUT_OF_STEP[Iterator] = _is_unmakeable


def _method(target: Any) -> None:
    name = target.__name__

    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        v = s.force(args[0]) if args else NONE
        if not is_view(v):
            return s.unsupported(R.OPAQUE_CALL, target)
        assert isinstance(v, Ref)
        rest = [] if name == "__exit__" else [given(s, arg) for arg in args[1:]]
        names = tuple(kwargs)
        made = run(s, v, _Named(target, names) if names else target, *rest, *(given(s, kwargs[each]) for each in names))
        if name in ("release", "__exit__"):
            s.heap.set(v, RELEASED, TRUE)
        return made

    HANDLERS.setdefault(target, call)


class _Named:
    """A function whose last arguments are given by these names."""

    __slots__ = ("function", "names")

    def __init__(self, function: Callable[..., Any], names: tuple[str, ...]) -> None:
        self.function, self.names = function, names

    def __call__(self, *args: Any) -> Any:
        many = len(args) - len(self.names)
        return self.function(*args[:many], **dict(zip(self.names, args[many:], strict=True)))


for _name, _found in vars(memoryview).items():
    if type(_found) in METHODS and _name not in LEFT:
        _method(_found)
