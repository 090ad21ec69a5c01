"""Positions in user code as (code, pc) pairs, formatted only when somebody looks."""

from __future__ import annotations

import linecache
from collections.abc import Iterable
from itertools import islice
from types import CodeType
from typing import NamedTuple

OWN_CODE = "<framejit>"
"""File name of code that framejit itself puts under the user's; it is left out of what users are shown."""


class Where(NamedTuple):
    """One instruction of a user's code object; `pc` is the byte offset of the instruction."""

    code: CodeType
    pc: int

    @property
    def position(self) -> tuple[int | None, int | None, int | None, int | None]:
        """(line, end line, column, end column) as the compiler recorded them; columns count UTF-8 bytes."""
        return next(islice(self.code.co_positions(), self.pc // 2, None), (None, None, None, None))

    @property
    def line(self) -> int:
        """The line number, or the code's first line where none is recorded."""
        return self.position[0] or self.code.co_firstlineno

    @property
    def text(self) -> str:
        """The source line without its indentation; empty where the source is gone."""
        return linecache.getline(self.code.co_filename, self.line).strip()

    def __str__(self) -> str:
        return f"{self.code.co_filename}:{self.line}"


def carets(where: Where) -> str:
    """The marks under `where.text` for the instruction's columns; empty when it fills the line or is unknown."""
    line, end_line, column, end_column = where.position
    source = linecache.getline(where.code.co_filename, where.line).rstrip("\n")
    if line is None or column is None or not source.strip():
        return ""
    raw = source.encode()
    stop = end_column if end_line == line and end_column is not None else len(raw)
    start = len(raw[:column].decode(errors="replace"))
    width = len(raw[column:stop].decode(errors="replace"))
    indent = len(source) - len(source.lstrip())
    if width <= 0 or start < indent:
        return ""
    return " " * (start - indent) + "^" * width


def format_chain(chain: Iterable[Where]) -> str:
    """The user's lines with carets, outermost first, in the manner of a traceback."""
    lines = []
    for where in chain:
        if where.code.co_filename == OWN_CODE:
            continue
        lines.append(f'  File "{where.code.co_filename}", line {where.line}, in {where.code.co_qualname}')
        if where.text:
            lines.append(f"    {where.text}")
            if marks := carets(where):
                lines.append(f"    {marks}")
    return "\n".join(lines)
