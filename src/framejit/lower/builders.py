"""How virtual objects of built-in types are made real: one row each."""

from __future__ import annotations

import functools
import types
from collections import OrderedDict, defaultdict, deque
from typing import Any

from framejit.core.heap import MISSING
from framejit.core.program import EMPTY
from framejit.core.value import NONE, Ref
from framejit.lower.materialize import CONTENTS, DICT_FIELD, ITEMS, Materializer, builder
from framejit.objects import function


@builder(list)
def _list(m: Materializer, ref: Ref) -> int:
    return m.new("BUILD_LIST", tuple(m.value(item) for item in m.heap.get(ref, ITEMS) or ()))


@builder(dict)
def _dict(m: Materializer, ref: Ref) -> int:
    pairs = []
    for key, item in (m.heap.get(ref, ITEMS) or {}).values():
        pairs += [m.value(key), m.value(item)]
    return m.new("BUILD_DICT", tuple(pairs))


@builder(OrderedDict)
def _ordered_dict(m: Materializer, ref: Ref) -> int:
    register = m.made[id(ref)] = m.call(OrderedDict)
    m.fill(ref, register)
    return register


@builder(defaultdict)
def _defaultdict(m: Materializer, ref: Ref) -> int:
    factory = m.heap.get(ref, defaultdict.default_factory)
    register = m.made[id(ref)] = m.call(defaultdict, *([] if factory is None else [m.value(factory)]))
    for key, item in (m.heap.get(ref, ITEMS) or {}).values():
        m.add("DICT_SET", register, m.value(key), m.value(item))
    return register


@builder(set)
def _set(m: Materializer, ref: Ref) -> int:
    return m.new("BUILD_SET", tuple(m.value(key) for key, _ in (m.heap.get(ref, ITEMS) or {}).values()))


@builder(deque)
def _deque(m: Materializer, ref: Ref) -> int:
    limit = m.heap.get(ref, ("maxlen",))
    items = m.tuple_of(m.heap.get(ref, ITEMS) or ())
    return m.call(deque, items, *([] if limit is None else [m.value(limit)]))


@builder(types.CellType)
def _cell(m: Materializer, ref: Ref) -> int:
    contents = m.heap.get(ref, CONTENTS)
    return m.new("BUILD_CELL", EMPTY if contents is None or contents is MISSING else m.value(contents))


@builder(types.FunctionType)
def _function(m: Materializer, ref: Ref) -> int:
    fields = m.heap.fields_of(ref)

    def part(field: Any) -> int:
        value = fields.get(field)
        return EMPTY if value is None or value is NONE else m.value(value)

    cells = fields[function.CLOSURE_FIELD]
    parts = (
        m.value(fields[function.GLOBALS]), part(function.NAME), part(function.QUALNAME), part(function.DEFAULTS),
        part(function.KWDEFAULTS), m.tuple_of(cells) if cells else EMPTY, part(function.ANNOTATIONS),
    )  # fmt: skip
    register = m.made[id(ref)] = m.new("BUILD_FUNCTION", m.packer.const(fields[function.CODE]), parts)
    for name in ("__doc__", "__module__"):
        if (name,) in fields:
            m.add("STORE_ATTR", register, m.packer.const(name), m.value(fields[(name,)]))
    if DICT_FIELD in fields:
        m.store(ref, register, DICT_FIELD, fields[DICT_FIELD])
    return register


@builder(functools.partial)
def _partial(m: Materializer, ref: Ref) -> int:
    raise NotImplementedError("building a partial")
