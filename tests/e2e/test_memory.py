"""Nothing grows with calls, recompilations and breaks, and nothing is kept alive that eager would free."""

import collections
import dataclasses
import gc
import sys
import weakref

import torch

import framejit
from framejit.core import heap


def blocks() -> int:
    """Allocated blocks of the interpreter, after collection."""
    for _ in range(3):
        gc.collect()
    return sys.getallocatedblocks()


def growth(step, rounds: int, warm: int) -> int:
    """How many blocks `rounds` further steps leave behind: the smaller of two runs, as caches that fill once are no growth."""
    for index in range(warm):
        step(index)
    counts = [blocks()]
    for start in (warm, warm + rounds // 2):
        for index in range(start, start + rounds // 2):
            step(index)
        counts.append(blocks())
    return min(counts[1] - counts[0], counts[2] - counts[1])


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.calls = 0
        self.log = []

    def forward(self, x, scale):
        self.calls += 1
        self.log = [x.shape, scale]
        return {"y": self.linear(x) * scale, "n": self.calls}


def test_calls_do_not_grow():
    framejit.reset()
    model = framejit.compile(Model(), backend="eager")
    x = torch.ones(2, 4)

    def step(index):
        model(x, 2.0)

    assert growth(step, 10_000, 200) < 60


def broken(x, items):
    total = x
    for item in items:
        total = total + item
        framejit.graph_break()
        total = total * 2
    return total


def test_breaks_do_not_grow():
    framejit.reset()
    compiled = framejit.compile(broken, backend="eager")
    x = torch.ones(2)

    def step(index):
        compiled(x, [1, 2, 3, 4])

    assert growth(step, 250, 20) < 60  # 1,000 breaks


def fails(x, index):
    table = {"x": x + 1}
    try:
        return torch.index_select(table["x"], 0, index)
    except IndexError:
        return None


def test_failing_graphs_do_not_grow():
    framejit.reset()
    compiled = framejit.compile(fails, backend="eager")
    x, good, bad = torch.ones(2), torch.tensor([1]), torch.tensor([5])

    def step(index):
        compiled(x, good)
        compiled(x, bad)

    assert growth(step, 300, 20) < 60


def test_recompilations_do_not_grow():
    def step(index):
        framejit.reset()
        compiled = framejit.compile(lambda x, key: x + len(key), backend="eager")
        compiled(torch.ones(2), f"k{index}")
        compiled(torch.ones(3), f"key{index}")

    assert growth(step, 100, 20) < 400  # 200 captures


def test_functions_and_models_are_freed():
    framejit.reset()
    model = Model()
    watched = [weakref.ref(model), weakref.ref(model.linear.weight)]
    compiled = framejit.compile(model, backend="eager")
    compiled(torch.ones(2, 4), 1.0)

    def make():
        scale = torch.ones(4)

        def f(x):
            framejit.graph_break()
            return x * scale

        return f, scale

    function, scale = make()
    call = framejit.compile(function, backend="eager")
    call(torch.ones(4))
    watched += [weakref.ref(function), weakref.ref(scale)]
    del model, compiled, function, call, scale
    gc.collect()
    assert [ref() for ref in watched] == [None] * len(watched)


def test_intermediates_die_when_eager_frees_them():
    class Witness:
        alive = 0

        def __init__(self):
            Witness.alive += 1

        def __del__(self):
            Witness.alive -= 1

    def f(x, make):
        witness = make()
        y = x + Witness.alive
        del witness
        return y + Witness.alive

    framejit.reset()
    compiled = framejit.compile(f, backend="eager")
    for _ in range(3):
        assert torch.equal(compiled(torch.zeros(1), Witness), torch.ones(1))
        assert Witness.alive == 0


class Noted:
    def __init__(self, log):
        self.log, self.k = log, 2

    def __del__(self):
        self.log.append("gone")


def dropping(x, noted, calls):
    y = (x + noted.k).sin()
    caught = None
    try:
        y.view(3, 3)
    except RuntimeError as error:
        caught = type(error).__name__
    (calls.append(1) for _ in [0]).close()
    return y * 2, caught


def test_captures_leave_no_cycles():
    framejit.reset()
    compiled = framejit.compile(dropping, backend="eager")
    log, calls = [], []
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            compiled(torch.ones(4), Noted(log), calls)
            log.append("back")
    finally:
        gc.enable()
    assert log == ["gone", "back"] * 3


@dataclasses.dataclass
class Point:
    x: int


def showing(x, noted, items):
    return x * 2, repr(Point(noted.k)), {id(noted): 1, id(items): 2}[id(items)]


def test_identities_leave_no_cycles():
    framejit.reset()
    compiled = framejit.compile(showing, backend="eager")
    log = []
    gc.collect()
    gc.disable()
    try:
        compiled(torch.ones(4), Noted(log), [])
    finally:
        gc.enable()
    assert log == ["gone"]


def test_a_container_that_changes_very_often_ends_a_region(monkeypatch):
    monkeypatch.setattr(heap, "MOST_KEPT", 5000)

    def program(x):
        queue = collections.deque(range(50))
        for i in range(300):
            queue.append(i)
            queue.popleft()
        return x + len(queue), list(queue)

    breaks = []
    done = framejit.events.subscribe(breaks.append, framejit.events.Break)
    compiled = framejit.compile(program, backend="eager")
    for _ in range(2):
        assert compiled(torch.ones(1))[1] == program(torch.ones(1))[1]
    done()
    assert "CODE_TOO_LARGE" in {each.reason.id for each in breaks}
