"""What users said about their functions and tensors, where the public interface and the capture half both find it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any, Literal, NamedTuple

import torch

DISABLED = "_framejit_disabled"
"""Attribute of a function that must not be captured; its value is a `Disabled`."""

DIMENSIONS = "_framejit_dimensions"
"""Attribute of a tensor; its value maps dimension numbers to `Dimension`."""


@dataclass(frozen=True)
class Disabled:
    """A call is left to CPython; unless `recursive`, what the function calls is captured again."""

    recursive: bool
    reason: str | None


class Dimension(NamedTuple):
    """What is known of one tensor dimension; the bounds are inclusive."""

    kind: Literal["dynamic", "maybe_dynamic", "static"]
    min: int | None = None
    max: int | None = None


_allowed: dict[int, Callable[..., Any]] = {}
_skipped: dict[int, weakref.ref[CodeType]] = {}


def allow(fn: Callable[..., Any]) -> None:
    """Put calls of `fn` into the graph as they are."""
    _allowed[id(fn)] = fn


def disallow(fn: Callable[..., Any]) -> None:
    """Take `allow` back."""
    _allowed.pop(id(fn), None)


def allowed(fn: object) -> bool:
    """Whether calls of `fn` go into the graph as they are."""
    return _allowed.get(id(fn)) is fn


def skip_code(code: CodeType) -> None:
    """Never capture frames of `code`; by identity, since equal code objects may belong to different functions."""
    number = id(code)
    _skipped[number] = weakref.ref(code, lambda _: _skipped.pop(number, None))


def skipped(code: CodeType) -> bool:
    """Whether frames of `code` must run in CPython."""
    known = _skipped.get(id(code))
    return known is not None and known() is code


def disabled(fn: object) -> Disabled | None:
    """The mark that `framejit.disable` left on a function, if any."""
    mark = getattr(fn, DISABLED, None)
    return mark if isinstance(mark, Disabled) else None


def graph_break(msg: str = "") -> None:
    """End the graph here when captured; does nothing in eager."""


def is_compiling() -> bool:
    """True inside captured code, False in eager."""
    return torch.compiler.is_compiling()
