"""Makes docs/breaks.md from the table of reasons and the example programs: `python tests/breaks/page.py`."""

import inspect
import sys
from pathlib import Path

from framejit.reasons import R

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

from breaks.programs import PROGRAMS  # noqa: E402

# Reasons that no program meets on purpose, and where they are tested.
INTERNAL = {
    "UNKNOWN_TYPE": "A last resort of models that cannot read a real object; every built-in type has one that can.",
    "UNSUPPORTED_OPERATOR": "An operator whose arguments cannot be written into a graph.",
    "UNSUPPORTED_OPCODE": "Asynchronous comprehensions, `import *` and other rare instructions.",
    "GENERATOR_ESCAPES": "A generator that cannot be made real at the end of its region.",
    "COROUTINE": "`await` of something that is not captured itself.",
    "CONTEXT_MANAGER": "A context manager of torch that changes modes capture does not model.",
    "HOOK_MODE": "The frame runs in CPython while a torch function mode, dispatch mode or transform is active.",
    "TENSOR_SUBCLASS": "A tensor subclass other than Parameter.",
    "RECOMPILE_LIMIT": "Not a break: the code runs in CPython from then on.",
    "NO_TENSOR_WORK": "Not a break: the code runs in CPython from then on.",
    "REJECTED": "A defect of framejit, reported as such.",
    "INTERNAL_ERROR": "A defect of framejit, reported as such.",
}

HEAD = """# Why a region ends

Made by `tests/breaks/page.py` from the table of reasons (`src/framejit/reasons.py`) and the programs that the tests run.
A region that ends is no error: the instruction named is done by CPython in the original frame, and capture goes on behind it.
`fullgraph=True` turns the first break into an error that shows the reason and the hint.
"""


def page() -> str:
    """The page's text."""
    parts = [HEAD]
    for reason in R:
        text = reason.text if "()" in reason.text else reason.text[0].upper() + reason.text[1:]
        parts.append(f"## {reason.id}\n\n{text}. {reason.hint}\n")
        program = PROGRAMS.get(reason.id)
        if program is None:
            parts.append(INTERNAL[reason.id] + "\n")
            continue
        source = inspect.getsource(program.function)
        parts.append(f"```python\n{source[source.index('def ') :].rstrip()}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    (TESTS.parent / "docs" / "breaks.md").write_text(page())
