"""Typed event records; logging, counters, explain and reports subscribe to them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, NamedTuple

from framejit.core.where import Where
from framejit.reasons import R


class CompileId(NamedTuple):
    """Number of the captured (code, pc) and of the attempt at it; printed as [0/1]."""

    frame: int
    attempt: int

    def __str__(self) -> str:
        return f"[{self.frame}/{self.attempt}]"


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all records; `thread` is the thread that emitted it."""

    compile_id: CompileId
    thread: int = field(default_factory=threading.get_ident, kw_only=True)


class Later(Sequence[Any]):
    """A sequence of known length that is made when somebody looks at an item, or prints it: while the event is handled."""

    def __init__(self, length: int, make: Callable[[], Sequence[Any]]) -> None:
        self._length, self._make = length, make
        self._items: Sequence[Any] | None = None

    @property
    def made(self) -> Sequence[Any]:
        """The real sequence."""
        if self._items is None:
            self._items = self._make()
        return self._items

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        return self.made[index]

    def __str__(self) -> str:
        return str(self.made)


@dataclass(frozen=True, slots=True)
class CaptureStart(Event):
    """The capture of one region begins."""

    code: CodeType
    pc: int


@dataclass(frozen=True, slots=True)
class CaptureEnd(Event):
    """A region was captured and installed; `guards` are lines of text, `program` holds one listing that prints itself.

    `seconds` is the time in framejit, the backend's share not included.
    """

    code: CodeType
    pc: int
    seconds: float
    program: Any
    guards: Sequence[str]
    instructions: int = 0


@dataclass(frozen=True, slots=True)
class GraphCaptured(Event):
    """A graph goes to its backend, which may change it: whoever wants its text makes it now."""

    graph: Any


@dataclass(frozen=True, slots=True)
class GraphCompiled(Event):
    """A backend compiled a graph of that many operators."""

    operators: int
    backend: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Break(Event):
    """A region ended at an instruction that is left to CPython; `chain` is outermost first, `guilty` a short text."""

    reason: R
    guilty: str
    detail: str
    chain: tuple[Where, ...]


@dataclass(frozen=True, slots=True)
class Recompile(Event):
    """A frame missed all its regions and is captured again; `failures` has one line per region."""

    code: CodeType
    pc: int
    failures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GuardFailure(Event):
    """One guard that failed: its path, its expectation, what it saw, and the user line that asked."""

    path: str
    expected: str
    saw: str
    asked: Where | None


@dataclass(frozen=True, slots=True)
class Fallback(Event):
    """A frame runs eagerly: nothing could be captured, a limit was reached, or framejit failed (`error`)."""

    code: CodeType
    pc: int
    reason: R
    detail: str = ""
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Retraced(Event):
    """A capture started over with a decision."""

    decision: str


Subscriber = Callable[[Event], None]

_LOCK = threading.Lock()
_subscribers: tuple[tuple[type[Event], Subscriber], ...] = ()


def subscribe(subscriber: Subscriber, kind: type[Event] = Event) -> Callable[[], None]:
    """Call `subscriber` with every later event of `kind`; the result ends the subscription."""
    global _subscribers
    row = (kind, subscriber)
    with _LOCK:
        _subscribers = (*_subscribers, row)

    def unsubscribe() -> None:
        global _subscribers
        with _LOCK:
            _subscribers = tuple(other for other in _subscribers if other is not row)

    return unsubscribe


def emit(event: Event) -> None:
    """Hand the event to its subscribers; an error of a subscriber reaches the emitter."""
    for kind, subscriber in _subscribers:
        if isinstance(event, kind):
            subscriber(event)


def wanted(kind: type[Event]) -> bool:
    """Whether anybody listens to events of this kind, so that costly texts need not be made for nobody."""
    return any(issubclass(kind, known) for known, _ in _subscribers)
