"""CPython bytecode, read only: canonical instructions, their control and data flow."""

from .decode import decode
from .flow import Flow, analyze
from .instr import CANONICAL, OP_IDS, OP_NAMES, Code, DecodeError, ExceptionEntry, Instr, Local, stack_effect
from .versions import NULL_FIRST

__all__ = [
    "CANONICAL", "NULL_FIRST", "OP_IDS", "OP_NAMES", "Code", "DecodeError", "ExceptionEntry", "Flow", "Instr", "Local", "analyze",
    "decode", "stack_effect",
]
