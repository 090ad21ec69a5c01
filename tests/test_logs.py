"""Log lines: names, compile ids, silence by default."""

import logging
import os
import subprocess
import sys

import pytest

from framejit import logs
from framejit.core.errors import UnknownName
from framejit.core.where import Where
from framejit.events import Break, CaptureEnd, CaptureStart, CompileId, Fallback, GraphCompiled, Recompile, emit
from framejit.reasons import R

ID = CompileId(2, 1)


def user(x):
    return print(x)


CODE = user.__code__
EVENTS = [
    CaptureStart(ID, CODE, 0),
    GraphCompiled(ID, 3, "eager", 0.001),
    CaptureEnd(ID, CODE, 0, 0.002, ["region user"], ("L['x'] is a tensor",), 9),
    Break(ID, R.OPAQUE_CALL, "<built-in function print>", "", (Where(CODE, 2),)),
    Recompile(ID, CODE, 0, ("L['x'].shape: expected [8], saw [9]",)),
    Fallback(ID, CODE, 0, R.RECOMPILE_LIMIT),
]


@pytest.fixture
def lines(monkeypatch):
    """The lines logged so far; levels and handlers are put back afterwards."""
    got = []
    handler = logging.Handler()
    handler.emit = lambda record: got.append((record.name, record.getMessage()))
    levels = {logger: logger.level for logger in logs._LOGGERS.values()}
    logs.ROOT.addHandler(handler)
    yield got
    logs.ROOT.handlers.remove(handler)
    for logger, level in levels.items():
        logger.setLevel(level)


def test_quiet_by_default(lines):
    for event in EVENTS:
        emit(event)
    assert lines == []


@pytest.mark.parametrize(
    "name, logger, count, text",
    [
        ("framejit", "framejit", None, "runs in CPython: the code was captured too often"),
        ("dynamo", "framejit", None, "backend 'eager' compiled 3 operators"),
        ("graph_breaks", "framejit.graph_breaks", 1, "return print(x)"),
        ("recompiles", "framejit.recompiles", 1, "expected [8], saw [9]"),
        ("guards", "framejit.guards", 1, "L['x'] is a tensor"),
        ("bytecode", "framejit.bytecode", 1, "RETURN_VALUE"),
        ("programs", "framejit.programs", 1, "region user"),
    ],
)
def test_each_name_turns_on_its_lines(lines, name, logger, count, text):
    logs.enable(name)
    for event in EVENTS:
        emit(event)
    mine = [message for source, message in lines if source == logger]
    assert any(text in message for message in mine)
    assert all(message.startswith("[2/1] ") for _, message in lines)
    if count is not None:
        assert len(lines) == len(mine) == count


def test_several_names_at_once(lines):
    logs.enable("+graph_breaks, recompiles")
    for event in EVENTS:
        emit(event)
    assert {source for source, _ in lines} == {"framejit.graph_breaks", "framejit.recompiles"}


def test_an_unknown_name_turns_nothing_on(lines):
    with pytest.raises(UnknownName, match="'graph_brakes'.*graph_breaks"):
        logs.enable("guards,graph_brakes")
    for event in EVENTS:
        emit(event)
    assert lines == []


PROGRAM = """
import torch, framejit

@framejit.compile(backend="eager")
def fn(x):
    y = x + 1
    framejit.graph_break("here")
    return y * 2

fn(torch.ones(2))
fn(torch.ones(3))
"""


@pytest.mark.parametrize(
    "variable, names, wanted, unwanted",
    [
        ("FRAMEJIT_LOGS", "", [], ["framejit"]),
        ("FRAMEJIT_LOGS", "graph_breaks,recompiles", ["USER_BREAK", "framejit.recompiles [0/1]"], ["framejit.guards"]),
        ("TORCH_LOGS", "graph_breaks", ["framejit.graph_breaks [0/0]", 'framejit.graph_break("here")'], []),
        ("FRAMEJIT_LOGS", "graph_code", ["[1/0] ", "* 2"], ["USER_BREAK"]),
        ("FRAMEJIT_LOGS", "grph_breaks", ["did you mean 'graph_breaks'"], ["USER_BREAK"]),
    ],
)
def test_the_environment_turns_logs_on(tmp_path, variable, names, wanted, unwanted):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    environment = {**os.environ, variable: names}
    run = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
    assert all(text in run.stderr for text in wanted), run.stderr
    assert not any(text in run.stderr for text in unwanted), run.stderr
