"""repr of containers, written from the reprs of their items."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque

from framejit.core.services import Services
from framejit.core.value import Pack, Ref, Value
from framejit.objects import deque_, dict_, dict_view, list_, set_, tuple_

ABBREVIATED: dict[type, str] = {
    list: "[...]", dict: "{...}", tuple: "(...)", deque: "[...]", OrderedDict: "...", set: "set(...)", frozenset: "frozenset(...)",
    defaultdict: "{...}",
}  # fmt: skip


def container_repr(s: Services, v: Value) -> str | None:
    """The repr of a built-in container; None for other values. A container inside itself is abbreviated."""
    running: list[Value] = s.trace.cache.setdefault("repr", [])
    if any(v is outer for outer in running):
        return ABBREVIATED.get(v.cls, "...")
    running.append(v)
    try:
        return _container(s, v)
    finally:
        running.pop()


def _container(s: Services, v: Value) -> str | None:
    cls = v.cls

    def show(item: Value) -> str:
        return s.constant(s.repr(item))

    if isinstance(v, Pack) and cls is tuple:
        parts = [show(item) for item in tuple_.items(s, v)]
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
    if cls in (set, frozenset) and isinstance(v, (Pack, Ref)):
        order = set_.real_order(s, v, set_.members(s, v))
        inside = ", ".join(map(show, order))
        if cls is frozenset:
            return f"frozenset({{{inside}}})" if order else "frozenset()"
        return f"{{{inside}}}" if order else "set()"
    if not isinstance(v, Ref):
        return None
    if cls is list:
        return f"[{', '.join(map(show, list_.items(s, v)))}]"
    if cls is deque:
        most = deque_.limit(s, v)
        inside = ", ".join(map(show, deque_.items(s, v)))
        return f"deque([{inside}])" if most is None else f"deque([{inside}], maxlen={most})"
    if cls in (dict, OrderedDict, defaultdict):
        pairs = dict_.full(s, v).values()
        if cls is OrderedDict:
            inside = ", ".join(f"({show(key)}, {show(value)})" for key, value in pairs)
            return f"OrderedDict([{inside}])" if pairs else "OrderedDict()"
        inside = "{" + ", ".join(f"{show(key)}: {show(value)}" for key, value in pairs) + "}"
        return inside if cls is dict else f"defaultdict({show(dict_.factory(s, v))}, {inside})"
    if cls in dict_view.VIEWS:
        return f"{cls.__name__}([{', '.join(map(show, dict_view.values_of(s, v)))}])"
    return None
