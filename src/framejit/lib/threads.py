"""Locks made anew in the state that they have at a region's end."""

from __future__ import annotations

import _thread


def make_rlock(count: int) -> _thread.RLock:
    """A lock that this thread has taken so many times."""
    made = _thread.RLock()
    for _ in range(count):
        made.acquire()
    return made


def make_lock(count: int) -> _thread.LockType:
    """A lock that is taken or not."""
    made = _thread.allocate_lock()
    if count:
        made.acquire()
    return made
