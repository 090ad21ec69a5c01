"""repr of containers, written from the reprs of their items."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable

from framejit.core.services import Services
from framejit.core.value import Const, Pack, Ref, Value
from framejit.objects import deque_, dict_, dict_view, list_, set_, tuple_
from framejit.objects.later import with_commas, written

ABBREVIATED: dict[type, str] = {
    list: "[...]", dict: "{...}", tuple: "(...)", deque: "[...]", OrderedDict: "...", set: "set(...)", frozenset: "frozenset(...)",
    defaultdict: "{...}",
}  # fmt: skip


def container_repr(s: Services, v: Value) -> Value | None:
    """The repr of a built-in container; None for other values. A container inside itself is abbreviated."""
    running: list[Value] = s.trace.cache.setdefault("repr", [])
    if any(v is outer for outer in running):
        return Const(ABBREVIATED.get(v.cls, "..."))
    running.append(v)
    try:
        pieces = _container(s, v)
    finally:
        running.pop()
    return None if pieces is None else written(s, *pieces)


def _container(s: Services, v: Value) -> list[str | Value] | None:
    cls = v.cls

    def show(items: Iterable[Value]) -> list[str | Value]:
        return with_commas([s.repr(item) for item in items])

    if isinstance(v, Pack) and cls is tuple:
        items = tuple_.items(s, v)
        return ["(", *show(items), ",)" if len(items) == 1 else ")"]
    if cls in (set, frozenset) and isinstance(v, (Pack, Ref)):
        order = set_.real_order(s, v, set_.members(s, v))
        if cls is frozenset:
            return ["frozenset({", *show(order), "})"] if order else ["frozenset()"]
        return ["{", *show(order), "}"] if order else ["set()"]
    if not isinstance(v, Ref):
        return None
    if cls is list:
        return ["[", *show(list_.items(s, v)), "]"]
    if cls is deque:
        most = deque_.limit(s, v)
        return ["deque([", *show(deque_.items(s, v)), "])" if most is None else f"], maxlen={most})"]
    if cls in (dict, OrderedDict, defaultdict):
        pairs = dict_.full(s, v).values()
        if cls is OrderedDict:
            shown = [written(s, "(", *show(pair), ")") for pair in pairs]
            return ["OrderedDict([", *with_commas(shown), "])"] if pairs else ["OrderedDict()"]
        inside = ["{", *with_commas([written(s, s.repr(key), ": ", s.repr(value)) for key, value in pairs]), "}"]
        return inside if cls is dict else ["defaultdict(", s.repr(dict_.factory(s, v)), ", ", *inside, ")"]
    if cls in dict_view.VIEWS:
        return [f"{cls.__name__}([", *show(dict_view.values_of(s, v)), "])"]
    return None
