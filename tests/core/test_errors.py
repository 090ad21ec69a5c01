"""What users are shown when something goes wrong."""

import pickle

import pytest

from framejit.core import errors
from framejit.core.errors import BackendError, CaptureError, UnknownBackend, Unsupported
from framejit.core.where import OWN_CODE, Where
from framejit.reasons import R


def helper(x):
    return 1 + len(x)


def caller(x):
    é = 2
    return é * helper(x)


def where_of(fn, op):
    import dis

    pcs = [ins.offset for ins in dis.get_instructions(fn) if ins.opname.startswith(op)]
    return Where(fn.__code__, pcs[-1])


def test_a_capture_error_shows_user_lines_with_carets_innermost_last():
    hidden = compile("call()", OWN_CODE, "exec")
    chain = [Where(hidden, 0), where_of(caller, "CALL"), where_of(helper, "CALL")]
    lines = str(CaptureError(R.OPAQUE_CALL, "<built-in function len>", "a detail", chain)).split("\n")
    assert lines[0].endswith(f"{R.OPAQUE_CALL.text} [OPAQUE_CALL]")
    assert lines[1].endswith(f"line {caller.__code__.co_firstlineno + 2}, in caller")
    assert lines[2:4] == ["    return é * helper(x)", "               ^^^^^^^^^"]
    assert lines[4].endswith(f"line {helper.__code__.co_firstlineno + 1}, in helper")
    assert lines[5:7] == ["    return 1 + len(x)", "               ^^^^^^"]
    assert lines[7:] == ["Guilty: <built-in function len>", "Detail: a detail", f"Hint: {R.OPAQUE_CALL.hint}"]


def test_a_position_without_source_still_has_a_line():
    code = compile("a = 1\nb = f(a)", "<nowhere>", "exec")
    where = Where(code, 2)
    assert str(where) == "<nowhere>:1"
    assert where.text == ""


def test_control_exceptions_carry_data():
    error = Unsupported(R.IMPORT, guilty="json", detail="not loaded")
    assert (error.reason, error.guilty, error.detail) == (R.IMPORT, "json", "not loaded")
    assert "IMPORT" in str(error) and "json" in str(error)


def test_a_backend_error_names_the_backend_and_the_error():
    text = str(BackendError("mine", ValueError("no such thing")))
    assert "'mine'" in text and "ValueError: no such thing" in text


@pytest.mark.parametrize(
    "error",
    [
        CaptureError(R.IMPORT, "json"),
        BackendError("mine", ValueError("x")),
        UnknownBackend("a", ["b"]),
        errors.UnknownSetting("setting", "a", ["b"]),
        errors.BadArgument("text"),
        errors.UnsupportedPlatform("text"),
    ],
)
def test_public_errors_have_one_base_and_survive_pickling(error):
    assert isinstance(error, errors.FramejitError)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error) and str(copy) == str(error)


def test_unknown_names_list_what_is_known_or_near():
    few = str(UnknownBackend("egaer", ["eager", "inductor"]))
    assert "eager" in few and "inductor" in few
    many = str(UnknownBackend("egaer", ["eager", *(f"backend{i}" for i in range(20))]))
    assert "Did you mean 'eager'" in many and "backend7" not in many
