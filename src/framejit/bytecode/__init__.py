"""CPython bytecode, read only: canonical instructions, their control and data flow."""
