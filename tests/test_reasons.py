"""The table of break reasons."""

from framejit.reasons import R


def test_rows_have_a_text_and_a_hint_and_are_few():
    assert len(R) < 40
    for reason in R:
        assert reason.text and not reason.text.endswith(".")
        assert reason.hint.endswith(".")
        assert reason.id == reason.name


def test_texts_differ():
    assert len({reason.text for reason in R}) == len(R)
