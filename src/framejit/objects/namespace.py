"""types.SimpleNamespace: an instance whose attributes are all that it has."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

from framejit.core.services import Services
from framejit.core.value import NONE, Const, Pack, Ref, Value
from framejit.objects.dict_ import full, store
from framejit.objects.exact import type_name
from framejit.objects.method import method
from framejit.objects.model import model
from framejit.objects.object_ import COMPARE_NAMES, ObjectModel, dict_of
from framejit.objects.type_ import new_instance
from framejit.reasons import R
from framejit.rules.registry import handler

Namespace = types.SimpleNamespace
SHOWN = ("namespaces that are being shown",)


def _takes_mapping() -> bool:
    try:
        Namespace({})  # type: ignore[call-arg]
    except TypeError:
        return False
    return True


TAKES_MAPPING = _takes_mapping()
"""Whether attributes may come from a mapping; CPython takes one since 3.13."""


def _table(s: Services, v: Value) -> Ref:
    found = dict_of(s, v)
    assert found is not None
    return found


@model(Namespace)
class NamespaceModel(ObjectModel):
    """SimpleNamespace and its subclasses: shown and compared by their attributes."""

    __slots__ = ()

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        return new_instance(s, cls)

    def text(self, s: Services, v: Value, function: Any) -> Value:
        """`namespace(a=1)`, under its own name for a subclass; `...` inside of itself."""
        name = "namespace" if v.cls is Namespace else type_name(v.cls)
        shown = s.trace.cache.setdefault(SHOWN, [])
        if v in shown:
            return Const(f"{name}(...)")
        shown.append(v)
        try:
            parts = [f"{key}={s.constant(s.repr(value))}" for key, (_, value) in full(s, _table(s, v)).items() if type(key) is str and key]
        finally:
            shown.remove(v)
        return Const(f"{name}({', '.join(parts)})")

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        other = s.force(other)
        return s.compare(symbol, _table(s, v), _table(s, other)) if issubclass(other.cls, Namespace) else None


@handler(Namespace.__init__)
def init(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Its attributes are given by keywords."""
    if len(args) > 1:
        if TAKES_MAPPING:
            return s.unsupported(R.OPAQUE_CALL, Namespace, "positional arguments")
        return s.raise_error(TypeError, "no positional arguments expected")
    table = _table(s, s.force(args[0]))
    for name, value in kwargs.items():
        store(s, table, name, value)
    return NONE


@handler(Namespace.__repr__)
def repr_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return NamespaceModel().text(s, s.force(args[0]), repr)


@method(Namespace.__reduce__)
def reduce(s: Services, self: Value) -> Value:
    v = s.force(self)
    return Pack(tuple, (Const(v.cls), Pack(tuple, ()), _table(s, v)))


def _compared(symbol: str, name: str) -> None:
    @handler(getattr(Namespace, name))
    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        found = NamespaceModel().compare(s, symbol, s.force(args[0]), args[1])
        return Const(NotImplemented) if found is None else found


for _symbol, _name in COMPARE_NAMES.items():
    _compared(_symbol, _name)
