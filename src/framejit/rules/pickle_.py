"""`pickle.dumps` and `pickle.loads`: captured as the Python they also are."""

from __future__ import annotations

import codecs
import pickle
import sys
from typing import Any

from framejit.core.errors import Raised
from framejit.core.services import Services
from framejit.core.value import NONE, Const, Lazy, Value
from framejit.lib import pickle_ as lib
from framejit.objects.fold import run
from framejit.reasons import R
from framejit.rules.builtins_ import takes
from framejit.rules.registry import handler

MOST_STEPS = 20_000  # of large objects C is the better way


def _in_python(target: Any, body: Any) -> None:
    @handler(target)
    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        """As one operation; its errors are worded otherwise in C."""
        if any(name in kwargs for name in ("buffer_callback", "buffers")):
            return s.unsupported(R.OPAQUE_CALL, target, "buffers")
        if target is pickle.loads and (not args or isinstance(args[0], Lazy)):
            return s.unsupported(R.OPAQUE_CALL, target, "bytes from outside, which are others at each call")
        if target is pickle.dumps:
            args = [*args[:1], *(Const(s.constant(arg)) for arg in args[1:])]
            kwargs = {name: value if name == "obj" else Const(s.constant(value)) for name, value in kwargs.items()}
        interp: Any = s
        limit = interp.step_limit
        interp.step_limit = min(limit, interp.steps + MOST_STEPS)
        try:
            return s.call(Const(body), args, kwargs)
        except Raised as raised:
            return s.unsupported(R.OPAQUE_CALL, target, f"raises {s.exception_type(raised.value).__name__}")
        finally:
            interp.step_limit = limit


_in_python(pickle.dumps, lib.dumps)
_in_python(pickle.loads, lib.loads)


@handler(sys.audit)
def audit(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Only what CPython itself audits in C: nobody is asked."""
    name = s.constant(args[0]) if args else None
    return NONE if name == "pickle.find_class" else s.unsupported(R.OPAQUE_CALL, sys.audit)


@takes(codecs.encode, "text encoding= errors=")
def encode(s: Services, text: Value, encoding: Value | None, errors: Value | None) -> Value:
    """By a codec of CPython's own; others are Python code."""
    given = s.constant(text), "utf-8" if encoding is None else s.constant(encoding), "strict" if errors is None else s.constant(errors)
    if type(given[0]) is not str or given[1] not in ("latin1", "utf-8", "ascii") or given[2] != "strict":
        return s.unsupported(R.OPAQUE_CALL, codecs.encode)
    return run(s, codecs.encode, *given)
