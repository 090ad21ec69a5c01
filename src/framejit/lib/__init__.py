"""Plain Python bodies of C functions, captured in place of the originals."""
