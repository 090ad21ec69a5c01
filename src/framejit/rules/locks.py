"""Locks that are born in the captured code: no other thread can know them before the region ends."""

from __future__ import annotations

import _thread
from typing import Any

from framejit.core.services import Services
from framejit.core.value import FALSE, NONE, TRUE, Const, Ref, Value, bool_const
from framejit.lib import threads as lib
from framejit.objects.rebuild import REBUILDERS
from framejit.reasons import R
from framejit.rules.builtins_ import takes
from framejit.rules.registry import handler

COUNT = ("count",)
RLock: Any = type(_thread.RLock())
Lock: Any = _thread.LockType
REBUILDERS[RLock] = lambda get: (lib.make_rlock, [get("count")])
REBUILDERS[Lock] = lambda get: (lib.make_lock, [get("count")])


def _maker(target: Any, kind: type) -> None:
    @takes(target, "")
    def make(s: Services) -> Value:
        return s.heap.new(kind, {COUNT: Const(0)})


def _count(s: Services, v: Value, method: Any) -> tuple[Ref, int]:
    """A lock of the capture, and how often it is taken."""
    ref = s.force(v)
    if not isinstance(ref, Ref) or ref.path is not None:
        s.unsupported(R.OPAQUE_CALL, method)
    assert isinstance(ref, Ref)
    found = s.heap.get(ref, COUNT)
    return ref, s.constant(found)


def _register(kind: Any) -> None:
    @takes(kind.acquire, "self blocking= timeout=")
    def acquire(s: Services, self: Value, blocking: Value | None, timeout: Value | None) -> Value:
        ref, count = _count(s, self, kind.acquire)
        if timeout is not None or (count and kind is Lock and (blocking is None or s.truth(blocking))):
            s.unsupported(R.OPAQUE_CALL, kind.acquire, "it would wait")
        if count and kind is Lock:
            return FALSE
        s.heap.set(ref, COUNT, Const(count + 1))
        return TRUE

    @takes(kind.__enter__, "self /")
    def enter(s: Services, self: Value) -> Value:
        return acquire(s, self, None, None)

    @takes(kind.release, "self /")
    def release(s: Services, self: Value) -> Value:
        ref, count = _count(s, self, kind.release)
        if not count:
            s.raise_error(RuntimeError, "cannot release un-acquired lock" if kind is RLock else "release unlocked lock")
        s.heap.set(ref, COUNT, Const(count - 1))
        return NONE

    @handler(kind.__exit__)
    def leave(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return release(s, args[0])


for _kind in (RLock, Lock):
    _register(_kind)
for _target, _kind in ((_thread.RLock, RLock), (_thread.allocate_lock, Lock)):
    _maker(_target, _kind)


@takes(Lock.locked, "self /")
def locked(s: Services, self: Value) -> Value:
    return bool_const(_count(s, self, Lock.locked)[1] > 0)


@takes(RLock._is_owned, "self /")
def is_owned(s: Services, self: Value) -> Value:
    return bool_const(_count(s, self, RLock._is_owned)[1] > 0)
