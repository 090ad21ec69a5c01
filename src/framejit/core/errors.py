"""Control exceptions of the capture, and the errors users see."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from framejit.core.where import Where, format_chain
from framejit.reasons import R


class Control(Exception):
    """Base of the three control exceptions; never leaves framejit."""


class Unsupported(Control):
    """The instruction cannot be captured: `reason`, the `guilty` value and a free `detail`."""

    def __init__(self, reason: R, guilty: Any = None, detail: str = "") -> None:
        super().__init__(reason, guilty, detail)
        self.reason = reason
        self.guilty = guilty
        self.detail = detail

    def __str__(self) -> str:
        return describe(self.reason, self.guilty, self.detail)


class Uncaught(Unsupported):
    """No frame of the region handles the exception: they end with it, which is no break."""


class Cut(Unsupported):
    """The region ends in front of the present instruction, which the next region begins with; not inside of one."""


class Raised(Control):
    """The captured code raises: `value` is the symbolic exception."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


class Retrace(Control):
    """The capture must start over with `decision` taken."""

    def __init__(self, decision: Any) -> None:
        super().__init__(decision)
        self.decision = decision


class FramejitError(RuntimeError):
    """Base of every error that framejit raises at its users."""


class CaptureError(FramejitError):
    """`fullgraph=True` met a break: shows the user's lines, the reason, the guilty value and a hint."""

    def __init__(self, reason: R, guilty: str = "", detail: str = "", chain: Iterable[Where] = ()) -> None:
        self.reason = reason
        self.guilty = guilty
        self.detail = detail
        self.chain = tuple(chain)
        super().__init__(reason, guilty, detail, self.chain)

    def __str__(self) -> str:
        lines = [f"fullgraph=True, but the graph breaks here: {self.reason.text} [{self.reason.id}]"]
        if self.chain:
            lines.append(format_chain(self.chain))
        if self.guilty:
            lines.append(f"Guilty: {self.guilty}")
        if self.detail:
            lines.append(f"Detail: {self.detail}")
        lines.append(f"Hint: {self.reason.hint}")
        return "\n".join(lines)


class InternalError(FramejitError):
    """An error inside framejit, raised only with `config.strict`."""


class BackendError(FramejitError):
    """A backend raised while it compiled a graph, or what it compiled does not return the outputs; `__cause__` is the error."""

    def __init__(self, backend: str, error: BaseException) -> None:
        super().__init__(backend, error)
        self.backend = backend
        self.error = error

    def __str__(self) -> str:
        return (
            f"backend {self.backend!r} raised {type(self.error).__name__}: {self.error}\n"
            "Hint: backend='eager' or 'aot_eager' shows whether the backend or the graph is at fault."
        )


class UnknownName(FramejitError):
    """A name that framejit does not know, with the near names."""

    def __init__(self, kind: str, name: str, known: Sequence[str]) -> None:
        super().__init__(kind, name, known)
        self.kind = kind
        self.name = name
        self.known = tuple(known)

    def __str__(self) -> str:
        near = get_close_matches(self.name, self.known, 3, 0.5)
        if near and len(self.known) > 8:
            way = f"Did you mean {' or '.join(map(repr, near))}?"
        else:
            way = f"Known: {', '.join(sorted(self.known))}."
        return f"unknown {self.kind} {self.name!r}. {way}"


class UnknownBackend(UnknownName):
    """No backend of that name is registered or installed."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__("backend", name, known)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return type(self), (self.name, self.known)


class UnknownSetting(UnknownName, AttributeError):  # type: ignore[misc]  # `name` means the same in both
    """No setting of that name; also an AttributeError."""


class UnknownOption(UnknownName):
    """The backend has no option or mode of that name."""


class BadArgument(FramejitError, TypeError):
    """An argument of the public interface has a wrong type or value; also a TypeError."""


class UnsupportedPlatform(FramejitError, ImportError):
    """This interpreter or this torch is not one that framejit can work with; also an ImportError."""


def describe(reason: R, guilty: Any = None, detail: str = "") -> str:
    """One line for a reason with its guilty value and detail."""
    text = f"{reason.text} [{reason.id}]"
    if guilty is not None and guilty != "":
        text += f": {guilty}"
    if detail:
        text += f" ({detail})"
    return text
