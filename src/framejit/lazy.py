"""The one lazy loader: the capture half is imported when a compiled function first meets a frame it does not know."""

from __future__ import annotations

import importlib
import sys
import threading
from types import CodeType, ModuleType
from typing import Any

from framejit import _C, interop

CAPTURE = "framejit.capture"

_LOCK = threading.RLock()
_started = False


def capture() -> ModuleType:
    """The capture half, started: its callbacks have replaced those of this file in the C core."""
    global _started
    with _LOCK:
        module = importlib.import_module(CAPTURE)
        if not _started:
            module.start()
            _started = True
    return module


def loaded() -> ModuleType | None:
    """The capture half where it has been started already."""
    return sys.modules.get(CAPTURE) if _started else None


def miss(view: Any) -> bool:
    """The C core's first miss."""
    return bool(capture().miss(view))


def classify(code: CodeType, namespace: dict[str, Any]) -> int:
    """The C core's first question about a code object."""
    return int(capture().classify(code, namespace))


interop.hide(miss, classify)
_C.set_miss(miss)
_C.set_classify(classify)
