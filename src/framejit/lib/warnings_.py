"""The Python body of `warnings.warn`, for filters that the captured program has just changed."""

from __future__ import annotations

import sys
import warnings
from typing import Any


def give_up() -> None:
    """Where this is called, the warning is left to C."""


def version() -> int:
    """The number that C gives to the present filters."""
    registry: dict[Any, Any] = {}
    warnings.filters.insert(0, ("ignore", None, _Nothing, None, 0))  # type: ignore[attr-defined]
    try:
        warnings.warn_explicit("", _Nothing, "", 1, "", registry)
    finally:
        del warnings.filters[0]  # type: ignore[attr-defined]
    found: int = registry["version"]
    return found


def next_version() -> int:
    """The number that the filters will have when they have changed once more."""
    return version() + 1


class _Nothing(Warning):
    """Never seen."""


def _matches(pattern: Any, text: Any) -> bool:
    if pattern is None:
        return True
    return bool(pattern == text) if type(pattern) is str else bool(pattern.match(text))


def _action(category: type[Warning], text: str, module: str, line: int) -> str:
    for action, message, kind, place, wanted in warnings.filters:
        if _matches(message, text) and issubclass(category, kind) and _matches(place, module) and wanted in (0, line):
            return str(action)
    return str(warnings.defaultaction)  # type: ignore[attr-defined]


def warn(message: Any, category: Any = None, stacklevel: int = 1, source: Any = None) -> None:
    """warnings.warn, where nothing was warned of since the filters changed."""
    if isinstance(message, Warning):
        category = message.__class__
    if category is None:
        category = UserWarning
    if not (isinstance(category, type) and issubclass(category, Warning)):
        give_up()
    frame = sys._getframe(max(stacklevel, 1))
    namespace, filename, line = frame.f_globals, frame.f_code.co_filename, frame.f_lineno
    if "importlib" in filename:
        give_up()
    registry = namespace.get("__warningregistry__")
    if registry is None:
        registry = namespace["__warningregistry__"] = {}
    module = namespace.get("__name__", "<string>")
    if type(module) is not str or type(registry) is not dict:
        give_up()
    if isinstance(message, Warning):
        text = str(message)
    else:
        text = message
        message = category(message)
    key = text, category, line
    if registry.get("version") is not version():
        registry.clear()
        registry["version"] = version()
    elif registry.get(key):
        return
    action = _action(category, text, module, line)
    if action == "ignore":
        return
    if action == "default":
        registry[key] = True
    elif action != "always":
        give_up()
    warnings._showwarnmsg(warnings.WarningMessage(message, category, filename, line, None, None, source))  # type: ignore[attr-defined]
