"""struct.Struct: what its methods do, the functions of the module do with its format."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from framejit.core.services import Services
from framejit.core.value import Value
from framejit.objects.fold import run
from framejit.objects.replica import given
from framejit.reasons import R
from framejit.rules.registry import READERS, handler


def _method(name: str) -> None:
    function: Callable[..., Any] = getattr(struct, name)

    @handler(getattr(struct.Struct, name))
    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if kwargs and function is not struct.unpack_from:
            return s.unsupported(R.OPAQUE_CALL, function, "keyword arguments")
        values = {name: given(s, value) for name, value in kwargs.items()}
        return run(s, function, s.constant(s.getattr(args[0], "format")), *(given(s, arg) for arg in args[1:]), **values)


READERS.update((int.from_bytes, struct.unpack, struct.unpack_from))
for _name in ("pack", "unpack", "unpack_from"):
    _method(_name)
