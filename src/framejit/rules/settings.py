"""Settings of the interpreter, which the program asks for again while it checks its guards."""

from __future__ import annotations

import abc
import gc
import sys
from collections.abc import Callable
from typing import Any

from framejit.core.guard import same_bits
from framejit.core.services import Services
from framejit.core.value import Value
from framejit.objects.abstract import REGISTERED
from framejit.reasons import R
from framejit.rules.builtins_ import takes
from framejit.rules.registry import HANDLERS


class Gives:
    """Predicate: the function still gives this value."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __call__(self, function: Callable[[], Any]) -> bool:
        return same_bits(function(), self.value)

    def __repr__(self) -> str:
        return f"gives {self.value!r}"


def _setting(function: Callable[[], Any]) -> None:
    @takes(function, "")
    def ask(s: Services) -> Value:
        if function is abc.get_cache_token and s.trace.cache.get(REGISTERED):
            return s.unsupported(R.OPAQUE_CALL, function, "behind a registration")
        key = ("setting", function)
        found = s.trace.cache.get(key)
        if found is None:
            found = s.trace.cache[key] = Gives(function())
        s.guard(s.trace.roots.const(function), "PY", found)
        return s.wrap(found.value)


for _function in (
    sys.getrecursionlimit, sys.getswitchinterval, sys.get_int_max_str_digits, sys.getdefaultencoding, sys.getfilesystemencoding,
    sys.is_finalizing, gc.get_threshold, gc.get_debug, abc.get_cache_token,
):  # fmt: skip
    if _function not in HANDLERS:
        _setting(_function)
