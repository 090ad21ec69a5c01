"""Values that C code gives behind the graph, such as the id of an object born in the capture, or a text that has its address."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import Any

from framejit.core.services import Services
from framejit.core.value import Const, Pack, Ref, Value
from framejit.objects.rebuild import REBUILDERS, Field
from framejit.reasons import R

FUNCTION, ARGUMENTS = ("function",), ("arguments of a later call",)  # the second: no references in CPython
HEAP_TYPE = 1 << 9


def later(s: Services, cls: type, function: Any, *args: Value) -> Ref:
    """The int or text that a function will give behind the graph."""
    return s.heap.new(cls, {FUNCTION: Const(function), ARGUMENTS: Pack(tuple, args)})


def _rebuild(get: Field) -> tuple[Any, list[Value]]:
    return get(FUNCTION).obj, list(get(ARGUMENTS).items)


REBUILDERS[int] = REBUILDERS[str] = _rebuild


def address(real: Any) -> str:
    """Where an object lies, as its repr says it."""
    return object.__repr__(real).rpartition(" at ")[2][:-1]


def spelled(*parts: Any) -> str:
    """A text and the addresses of objects in turn, put together."""
    return "".join([address(part) if place % 2 else part for place, part in enumerate(parts)])


def is_text(s: Services, v: Value) -> bool:
    """Whether the value is a text with an address in it."""
    return isinstance(v, Ref) and v.cls is str


def join(s: Services, pieces: Iterable[Value]) -> Value:
    """Texts put together."""
    texts: list[list[str]] = [[]]
    objects: list[Value] = []
    for piece in pieces:
        v = s.force(piece)
        if not is_text(s, v):
            texts[-1].append(s.constant(v))
            continue
        known = s.heap.get(v, ARGUMENTS).items  # type: ignore[arg-type]
        if not known:
            s.unsupported(R.OPAQUE_OPERATION, v, "a text that only CPython knows")
        texts[-1].append(known[0].obj)
        objects += known[1::2]
        texts += [[text.obj] for text in known[2::2]]
    joined = [Const("".join(parts)) for parts in texts]
    if not objects:
        return joined[0]
    return later(s, str, spelled, *[part for pair in zip(joined, objects, strict=False) for part in pair], joined[-1])


def written(s: Services, *pieces: str | Value) -> Value:
    """Texts and values of texts put together."""
    return join(s, [Const(piece) if isinstance(piece, str) else piece for piece in pieces])


def with_commas(values: Iterable[Value]) -> list[str | Value]:
    """The pieces of a text that lists others."""
    return [piece for value in values for piece in (", ", value)][1:]


def default_repr(s: Services, v: Value) -> Value:
    """What `object.__repr__` says: module and name of the class, and the address."""
    cls = v.cls
    if type(cls) not in (type, abc.ABCMeta) or not isinstance(v, (Const, Ref)):
        return s.unsupported(R.OPAQUE_OPERATION, v, "repr")
    if cls.__flags__ & HEAP_TYPE:
        module, name = (s.constant(s.getattr(Const(cls), each)) for each in ("__module__", "__qualname__"))
    else:
        module, name = cls.__module__, cls.__qualname__
    if not isinstance(module, str):
        return s.unsupported(R.OPAQUE_OPERATION, v, "repr")
    named = cls.__name__ if module == "builtins" else f"{module}.{name}"
    return later(s, str, spelled, Const(f"<{named} object at "), v, Const(">"))
