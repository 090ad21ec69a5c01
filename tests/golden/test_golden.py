"""The printed programs of small functions, compared with files that are reviewed like code.

`UPDATE_GOLDEN=1 pytest tests/golden` writes the files anew.
"""

import os
import re
from pathlib import Path

import pytest
import torch

import framejit
from framejit import events

HERE = Path(__file__).parent


class Config:
    def __init__(self):
        self.scale = 2.0
        self.last = None


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.inner(x).relu()


def add(x):
    return x + 1


def effects(x, config, found):
    y = x * config.scale
    config.last = y
    found.append(y)
    return len(found)


def helper(x, config):
    y = x * config.scale
    config.last = y
    framejit.graph_break()
    return y - 1


def nested(x, config):
    return helper(x + 1, config) * 2


def loop(x):
    for i in range(3):
        x = x.sin() + i
        framejit.graph_break()
    return x


def caught(x):
    try:
        y = x + 1
        framejit.graph_break()
        return y[5]
    except IndexError:
        return x


def builds(x):
    table = {"a": [x + 1, 2], "b": slice(1, None)}
    table["me"] = table
    return table, lambda k=3: x


def changes(x):
    x.add_(1)
    return torch.rand(2) + x


CASES = {
    "add": (add, lambda: (torch.ones(2),)),
    "effects": (effects, lambda: (torch.ones(2), Config(), [1])),
    "nested": (nested, lambda: (torch.ones(2), Config())),
    "loop": (loop, lambda: (torch.ones(2),)),
    "caught": (caught, lambda: (torch.ones(2),)),
    "builds": (builds, lambda: (torch.ones(2),)),
    "changes": (changes, lambda: (torch.ones(2),)),
    "module": (Layer(), lambda: (torch.ones(2),)),
}


def text_of(target, arguments):
    """The programs captured in two calls."""
    programs = []
    framejit.reset()
    unsubscribe = events.subscribe(lambda event: programs.append(str(event.program[0])), events.CaptureEnd)
    try:
        with framejit.config.patch(strict=True):
            compiled = framejit.compile(target, backend="eager")
            for _ in range(2):
                compiled(*arguments())
    finally:
        unsubscribe()
    text = "\n\n".join(programs) + "\n"
    text = re.sub(r"<code object (\S+) at 0x[^\n#]*?(?=( #|$| [A-Z'(]))", r"<code \1>", text, flags=re.M)
    text = re.sub(r" at 0x[0-9a-f]+", "", text)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


@pytest.mark.parametrize("name", CASES)
def test_program(name):
    text = text_of(*CASES[name])
    file = HERE / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert file.exists(), "no golden file: run with UPDATE_GOLDEN=1 and review what it writes"
    assert text == file.read_text(encoding="utf-8")
