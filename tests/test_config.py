"""Settings: types, patching, unknown names."""

import os
import subprocess
import sys

import pytest

from framejit.config import Config, config
from framejit.core.errors import BadArgument, UnknownSetting


def test_patch_is_a_context_manager_that_restores_after_an_error():
    before = config.to_dict()
    with pytest.raises(KeyError):
        with config.patch(recompile_limit=3, strict=True):
            assert (config.recompile_limit, config.strict) == (3, True)
            raise KeyError
    assert config.to_dict() == before


def test_patch_is_a_decorator_that_patches_every_call():
    seen = []

    @config.patch("recompile_limit", 3)
    def f(depth):
        seen.append(config.recompile_limit)
        if depth:
            with config.patch(recompile_limit=5):
                f(depth - 1)
                seen.append(config.recompile_limit)

    before = config.recompile_limit
    f(1)
    assert seen == [3, 3, 5]
    assert config.recompile_limit == before
    assert f.__name__ == "f"


def test_patch_takes_a_dict():
    with config.patch({"keep_locals": True}):
        assert config.keep_locals
    assert not config.keep_locals


@pytest.mark.parametrize(
    "bad, text",
    [
        (dict(strickt=True), "Did you mean 'strict'"),
        (dict(strict=1), "takes bool, not int"),
        (dict(recompile_limit=True), "takes int, not bool"),
        (dict(recompile_limit=-1), "cannot be negative"),
        (dict(report_dir=None), "takes str"),
        ({}, "no setting"),
    ],
)
def test_a_wrong_patch_changes_nothing(bad, text):
    before = config.to_dict()
    with pytest.raises((UnknownSetting, BadArgument), match=text):
        config.patch(**{"keep_locals": not config.keep_locals, **bad} if bad else bad)
    assert config.to_dict() == before


def test_unknown_names_are_attribute_errors_with_near_names():
    with pytest.raises(AttributeError, match="'recompile_limit'"):
        config.recompil_limit
    with pytest.raises(UnknownSetting, match="'recompile_limit'"):
        config.recompil_limit = 3
    assert not hasattr(config, "nothing_like_it")


def test_load_sets_all_or_nothing():
    other = Config()
    with pytest.raises(UnknownSetting):
        other.load({"strict": not other.strict, "unknown": 1})
    assert other.to_dict() == Config().to_dict()


def test_every_setting_has_a_value_of_its_type_and_is_printed():
    for name, value in config.to_dict().items():
        assert type(value).__name__ == Config.__annotations__[name]
        assert f"framejit.config.{name} = {value!r}" in repr(config)


@pytest.mark.parametrize(
    "variable, name, value",
    [
        ("FRAMEJIT_STRICT", "strict", True),
        ("TORCH_COMPILE_DISABLE", "disable", True),
        ("FRAMEJIT_REPORT_DIR", "report_dir", "1"),
        ("FRAMEJIT_LOGS", "logs", "1"),
    ],
)
def test_the_environment_is_read_at_the_start(monkeypatch, variable, name, value):
    monkeypatch.setenv(variable, "1")
    assert getattr(Config(), name) == value
    monkeypatch.setenv(variable, "0")
    assert getattr(Config(), name) in (False, "0")


def test_config_is_the_settings_object_of_the_package():
    program = "import framejit, framejit.config as c; assert framejit.config.patch and c.strict is True"
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "FRAMEJIT_STRICT": "1"})
