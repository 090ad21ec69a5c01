"""What users say to the capture from inside captured code."""

from __future__ import annotations

from framejit.core import marks
from framejit.core.services import Services
from framejit.core.value import TRUE, Value
from framejit.reasons import R
from framejit.rules.registry import handler


@handler(marks.graph_break)
def graph_break(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    message = args[0] if args else kwargs.get("msg")
    return s.unsupported(R.USER_BREAK, None, s.constant(message) if message is not None else "")


@handler(marks.is_compiling)
def is_compiling(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return TRUE
