"""Reports of errors inside framejit, written to a file that the warning names."""

from __future__ import annotations

import io
import os
import platform
import tempfile
import traceback
from types import CodeType

import torch

from framejit.bytecode.decode import decode
from framejit.bytecode.instr import DecodeError
from framejit.config import config


def write(code: CodeType, pc: int, error: BaseException) -> str:
    """Write a report and return its path."""
    text = io.StringIO()
    text.write(f"framejit could not capture {code.co_qualname} ({code.co_filename}:{code.co_firstlineno}) at pc {pc}.\n")
    text.write(f"python {platform.python_version()}, torch {torch.__version__}, {platform.platform()}\n\n")
    traceback.print_exception(error, file=text)
    text.write("\nSettings:\n" + repr(config) + "\n\nBytecode:\n")
    try:
        text.write(str(decode(code)))
    except DecodeError as unknown:
        text.write(f"not decodable: {unknown}")
    handle, path = tempfile.mkstemp(".txt", "framejit-", config.report_dir or None, text=True)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text.getvalue() + "\n")
    return path
