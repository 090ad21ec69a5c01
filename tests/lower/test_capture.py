"""From frames to installed regions: limits, fallback, replay, what is learnt, and what is given back."""

import gc
import random
import warnings
import weakref

import pytest
import torch

import framejit
from framejit import _C, capture, events
from framejit.core.errors import BackendError, CaptureError, InternalError
from framejit.reasons import R


@pytest.fixture(autouse=True)
def fresh():
    framejit.reset()
    with framejit.config.patch(strict=True):
        yield
    framejit.reset()


@pytest.fixture
def seen():
    found = []
    unsubscribe = events.subscribe(found.append)
    yield found
    unsubscribe()


class Graphs:
    """A backend that runs the graph as it is and keeps it."""

    def __init__(self):
        self.modules = []

    def __call__(self, module, inputs):
        self.modules.append(module)
        return module.forward


def of(found, kind):
    return [event for event in found if type(event) is kind]


def test_second_call_is_answered_by_the_region(seen):
    compiled = framejit.compile(lambda x: x + 1, backend=Graphs())
    for _ in range(3):
        assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0))
    assert len(of(seen, events.CaptureEnd)) == 1


def test_changed_constant_is_captured_again_and_says_why(seen):
    backend = Graphs()
    compiled = framejit.compile(lambda x, name: x + len(name), backend=backend)
    for name in ("a", "bb", "a", "bb"):
        assert torch.equal(compiled(torch.ones(1), name), torch.ones(1) + len(name))
    assert len(backend.modules) == 2
    (record,) = of(seen, events.Recompile)
    assert "name" in record.failures[0] and "'bb'" in record.failures[0]


def test_int_that_changes_becomes_a_number():
    backend = Graphs()
    compiled = framejit.compile(lambda x, n: x * n, backend=backend)
    for n in range(2, 30):
        assert torch.equal(compiled(torch.ones(1), n), torch.full((1,), float(n)))
    assert len(backend.modules) <= 3


def test_number_decides_branches():
    backend = Graphs()

    def f(x, n):
        return x + n if n > 10 else x - n

    compiled = framejit.compile(f, backend=backend)
    for n in range(3, 25):
        assert torch.equal(compiled(torch.ones(1), n), f(torch.ones(1), n))
    assert len(backend.modules) <= 4


def test_recompile_limit(seen):
    def f(x, name):
        return x + len(name)

    compiled = framejit.compile(f, backend=Graphs())
    with framejit.config.patch(recompile_limit=3):
        for n in range(6):
            assert torch.equal(compiled(torch.ones(1), "a" * n), torch.ones(1) + n)
    assert len(of(seen, events.CaptureEnd)) == 3
    assert [record.reason for record in of(seen, events.Fallback)] == [R.RECOMPILE_LIMIT]


def test_recompile_limit_can_be_an_error():
    compiled = framejit.compile(lambda x, name: x + len(name), backend=Graphs())
    with framejit.config.patch(recompile_limit=1, fail_on_recompile_limit_hit=True):
        compiled(torch.ones(1), "a")
        with pytest.raises(CaptureError, match="RECOMPILE_LIMIT"):
            compiled(torch.ones(1), "b")


def test_error_on_recompile():
    compiled = framejit.compile(lambda x, name: x + len(name), backend=Graphs())
    compiled(torch.ones(1), "a")
    with framejit.config.patch(error_on_recompile=True), pytest.raises(CaptureError):
        compiled(torch.ones(1), "b")


def test_fullgraph_shows_the_line():
    def f(x):
        y = x + 1
        framejit.graph_break()
        return y

    with pytest.raises(CaptureError) as caught:
        framejit.compile(f, backend=Graphs(), fullgraph=True)(torch.ones(1))
    text = str(caught.value)
    assert "framejit.graph_break()" in text and "^^^" in text and "USER_BREAK" in text


def test_fullgraph_lets_user_exceptions_through():
    def f(x):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        framejit.compile(f, backend=Graphs(), fullgraph=True)(torch.ones(1))


def test_error_of_a_backend():
    def backend(module, inputs):
        raise OSError("no compiler")

    compiled = framejit.compile(lambda x: x + 1, backend=backend)
    with pytest.raises(BackendError, match="no compiler"):
        compiled(torch.ones(1))
    with framejit.config.patch(suppress_errors=True):
        assert compiled(torch.ones(1)).item() == 2


def broken_run(self):
    raise ZeroDivisionError("inside")


def test_internal_error_runs_eagerly_with_one_warning(monkeypatch, tmp_path, seen):
    monkeypatch.setattr(capture.Interpreter, "run", broken_run)
    compiled = framejit.compile(lambda x: x + 1, backend=Graphs())
    with framejit.config.patch(strict=False, report_dir=str(tmp_path)):
        with pytest.warns(RuntimeWarning, match="report"):
            assert compiled(torch.ones(1)).item() == 2
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert compiled(torch.ones(1)).item() == 2
    (report,) = tmp_path.iterdir()
    assert "ZeroDivisionError: inside" in report.read_text() and "RETURN_VALUE" in report.read_text()
    assert [record.reason for record in of(seen, events.Fallback)] == [R.INTERNAL_ERROR]


def test_internal_error_is_raised_when_strict(monkeypatch):
    monkeypatch.setattr(capture.Interpreter, "run", broken_run)
    with pytest.raises(InternalError, match="inside"):
        framejit.compile(lambda x: x + 1, backend=Graphs())(torch.ones(1))


def test_rejected_region_runs_eagerly_and_is_not_tried_again(monkeypatch, seen):
    real = capture.Lowering.finish

    def finish(self, graph, flags):
        self.add_guards([capture.Guard(None, "PY", lambda: False)])
        return real(self, graph, flags)

    monkeypatch.setattr(capture.Lowering, "finish", finish)
    compiled = framejit.compile(lambda x: x + 1, backend=Graphs())
    with framejit.config.patch(strict=False):
        for _ in range(3):
            assert compiled(torch.ones(1)).item() == 2
    assert [record.reason for record in of(seen, events.Fallback)] == [R.REJECTED]


def test_code_without_tensors_is_left_alone(seen):
    def f(x, n):
        for _ in range(n):
            print(end="")
        return n

    compiled = framejit.compile(f, backend=Graphs())
    for _ in range(20):
        assert compiled(torch.ones(1), 50) == 50
    assert len(of(seen, events.CaptureStart)) <= capture.IDLE_REGIONS + 2


def test_states_are_given_back():
    def f(x):
        return x + torch.rand(1)

    torch.manual_seed(3)
    random.seed(3)
    before = random.getstate()
    expected = f(torch.ones(1))
    torch.manual_seed(3)
    assert torch.equal(framejit.compile(f, backend=Graphs())(torch.ones(1)), expected)
    assert random.getstate() == before and torch.is_grad_enabled()


def failing(x, y):
    x.add_(1)
    z = torch.rand(3)
    return torch.linalg.inv(y) + z


def test_failed_run_of_a_mutating_graph_happens_once():
    compiled = framejit.compile(failing, backend="eager")
    torch.manual_seed(0)
    good = torch.eye(3)
    x = torch.zeros(3)
    compiled(x, good)
    state = torch.get_rng_state()
    with pytest.raises(torch.linalg.LinAlgError) as caught:
        compiled(x, torch.zeros(3, 3))
    assert x.tolist() == [2, 2, 2]
    assert caught.traceback[-1].frame.code.name == "failing"
    after = torch.get_rng_state()
    torch.set_rng_state(state)
    torch.rand(3)
    assert torch.equal(torch.get_rng_state(), after)


def test_failed_run_leaves_no_mode_behind():
    def f(x):
        with torch.no_grad():
            return torch.linalg.inv(x)

    compiled = framejit.compile(f, backend="eager")
    compiled(torch.eye(2))
    with pytest.raises(torch.linalg.LinAlgError):
        compiled(torch.zeros(2, 2))
    assert torch.is_grad_enabled()


def test_mode_that_outlives_the_region():
    def f(x):
        y = x * 2
        torch._C._set_grad_enabled(False)
        framejit.graph_break()
        z = x * 3
        torch._C._set_grad_enabled(True)
        return y, z

    x = torch.ones(1, requires_grad=True)
    compiled = framejit.compile(f, backend="eager")
    for _ in range(2):
        y, z = compiled(x)
        assert y.requires_grad and not z.requires_grad and torch.is_grad_enabled()


def test_aliases_are_told_apart():
    class Box:
        pass

    def f(x, a, b):
        a.v = x + 1
        b.v = x + 2
        return a.v

    compiled = framejit.compile(f, backend=Graphs())
    one, two = Box(), Box()
    assert compiled(torch.ones(1), one, two).item() == 2
    assert compiled(torch.ones(1), one, one).item() == 3


def test_overlapping_inputs_of_a_mutating_graph():
    def f(a, b):
        a.add_(1)
        return b * 2

    compiled = framejit.compile(f, backend="aot_eager")
    for make in (lambda: (torch.ones(2), torch.ones(2)), lambda: (lambda t: (t, t.view(2)))(torch.ones(2))):
        assert torch.equal(compiled(*make()), f(*make()))


def test_dead_weak_constant_ends_its_region():
    def make():
        class Local(torch.nn.Module):
            def forward(self, x):
                return x + 1

        return Local

    def f(x, module):
        return module(x)

    compiled = framejit.compile(f, backend=Graphs())
    for _ in range(20):
        assert compiled(torch.ones(1), make()()).item() == 2
    cls = make()
    compiled(torch.ones(1), cls())
    watch = weakref.ref(cls)
    del cls
    gc.collect()
    assert watch() is None


def test_code_object_takes_its_regions_along():
    def make():
        def f(x):
            y = x + 1
            framejit.graph_break()
            return y * 2

        framejit.compile(f, backend=Graphs())(torch.ones(1))
        return weakref.ref(f)

    watch = make()
    gc.collect()
    assert watch() is None


def test_stats_of_a_break_in_a_loop():
    def f(x):
        for _ in range(10):
            x = x.sin()
            framejit.graph_break()
        return x

    backend = Graphs()
    compiled = framejit.compile(f, backend=backend)
    compiled(torch.ones(1))
    before = _C.stats()
    assert torch.equal(compiled(torch.ones(1)), f(torch.ones(1)))
    after = _C.stats()
    assert after["misses"] == before["misses"] and len(backend.modules) <= 3
