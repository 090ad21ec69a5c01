"""Python bodies of `pickle.dumps` and `pickle.loads`: the classes of pickle.py, without its file objects."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

PICKLER: Any = pickle._Pickler
UNPICKLER: Any = pickle._Unpickler
STOP: Any = pickle._Stop  # type: ignore[attr-defined]
SHORTEST, LONGEST = 4, 64 * 1024  # of a frame


class Framer:
    """What is written: pieces of the present frame in front of those of the file."""

    _FRAME_SIZE_TARGET = LONGEST

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.frame: list[bytes] | None = None
        self.size = 0

    def start_framing(self) -> None:
        """From here on in frames."""
        self.frame, self.size = [], 0

    def end_framing(self) -> None:
        """The last frame, which may be small."""
        if self.frame is not None and self.size > 0:
            self.commit_frame(True)
            self.frame = None

    def commit_frame(self, force: bool = False) -> None:
        """End a frame that is long enough."""
        frame = self.frame
        if frame is not None and (self.size >= LONGEST or force):
            if self.size >= SHORTEST:
                self.pieces.append(pickle.FRAME + self.size.to_bytes(8, "little"))
            self.pieces += frame
            self.frame, self.size = [], 0

    def write(self, data: bytes) -> None:
        """A piece."""
        if self.frame is None:
            self.pieces.append(data)
        else:
            self.frame.append(data)
            self.size += len(data)

    def write_large_bytes(self, header: bytes, payload: bytes) -> None:
        """A piece outside of frames."""
        if self.frame is not None:
            self.commit_frame(True)
        self.pieces.append(header)
        self.pieces.append(payload)


class Sink:
    """A file for the constructor of pickle.py's class."""

    def write(self, data: bytes) -> None:
        """Not called."""


class Source:
    """The bytes that are read; frames follow each other, so that their heads need only be skipped."""

    def __init__(self, data: bytes):
        self.data, self.place = data, 0

    def read(self, count: int) -> bytes:
        """So many bytes."""
        found = self.data[self.place : self.place + count]
        self.place += count
        if len(found) < count:
            raise EOFError
        return found

    def readline(self) -> bytes:
        """All bytes of a line."""
        end = self.data.index(b"\n", self.place) + 1
        found = self.data[self.place : end]
        self.place = end
        return found

    def load_frame(self, size: int) -> None:
        """The head of a frame."""


def dumps(obj: Any, protocol: int | None = None, *, fix_imports: bool = True, buffer_callback: None = None) -> bytes:
    """pickle.dumps, but for what it says of errors."""
    pickler = PICKLER(Sink(), protocol, fix_imports=fix_imports, buffer_callback=buffer_callback)
    framer = pickler.framer = Framer()
    pickler.write, pickler._write_large_bytes = framer.write, framer.write_large_bytes
    pickler.dump(obj)
    return b"".join(framer.pieces)


def loads(data: bytes, /, *, fix_imports: bool = True, encoding: str = "ASCII", errors: str = "strict", buffers: None = None) -> Any:
    """pickle.loads, but for what it says of errors."""
    source = Source(data)
    unpickler = UNPICKLER(source, fix_imports=fix_imports, buffers=buffers, encoding=encoding, errors=errors)
    unpickler._unframer, unpickler.read, unpickler.readline = source, source.read, source.readline
    unpickler.metastack, unpickler.stack, unpickler.proto = [], [], 0
    unpickler.append = unpickler.stack.append
    table: dict[int, Callable[[Any], None]] = UNPICKLER.dispatch
    try:
        while True:
            table[source.read(1)[0]](unpickler)
    except STOP as stop:
        return stop.value
