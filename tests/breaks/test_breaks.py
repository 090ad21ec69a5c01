"""Every reason has an example that meets it, runs as in eager, and stands in docs/breaks.md."""

from pathlib import Path

import pytest

import framejit
from breaks.page import INTERNAL, page
from breaks.programs import PROGRAMS
from framejit import events
from framejit.reasons import R
from support import outcome, same

PAGE = Path(__file__).parents[2] / "docs" / "breaks.md"


@pytest.mark.parametrize("reason", PROGRAMS)
def test_the_example_breaks_for_its_reason(reason):
    program = PROGRAMS[reason]
    seen = []
    framejit.reset()
    unsubscribe = events.subscribe(lambda event: seen.append(event.reason.id), events.Break)
    try:
        with framejit.config.patch(strict=True, **program.settings):
            compiled = framejit.compile(program.function, backend="eager")
            captured = outcome(compiled, program.arguments(), program.function.__name__)
    finally:
        unsubscribe()
    same(captured, outcome(program.function, program.arguments(), program.function.__name__))
    assert reason in seen


def test_every_reason_has_an_example_or_says_why_not():
    assert set(PROGRAMS) | set(INTERNAL) == {reason.id for reason in R}
    assert not set(PROGRAMS) & set(INTERNAL)
    assert len(R) < 40


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == page(), "run `python tests/breaks/page.py`"
