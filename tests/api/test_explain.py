"""The report of framejit.explain, and the counts."""

import torch

import framejit


def helper(y):
    print("value", y.shape)
    return y * 3


def broken(x):
    y = x.sin() + 1
    z = helper(y)
    return z.cos()


def whole(x):
    return x.sin() + 1


X = torch.randn(4)


def setup_function():
    framejit.reset()


def test_a_whole_graph():
    report = framejit.explain(whole)(X)
    torch.testing.assert_close(report.result, whole(X))
    assert len(report.graphs) == 1 and report.operators == 2 and report.breaks == []
    assert any("x" in guard for guard in report.guards) and len(report.programs) == 1
    assert 0 < report.capture_seconds < 60 and 0 <= report.backend_seconds < 60
    text = str(report)
    assert "1 graphs, 2 operators, 0 breaks" in text and "sin" in text and "region" in text


def test_breaks_have_reason_location_and_text(capsys):
    report = framejit.explain(broken)(X)
    torch.testing.assert_close(report.result, broken(X))
    assert len(report.graphs) == 2 and report.operators == 4
    (row,) = report.breaks
    assert row.reason.id in ("OPAQUE_CALL", "OUTPUT")
    assert row.location == f"{__file__}:{helper.__code__.co_firstlineno + 1}"
    assert 'print("value", y.shape)' in row.text and "z = helper(y)" in row.text and "^^^" in row.text
    assert row.reason.hint in row.text and row.text in str(report)


def test_a_report_is_fresh_each_time_and_takes_compile_options():
    compiled = framejit.compile(whole, backend="eager")
    compiled(X)
    seen = []

    def backend(graph_module, example_inputs):
        seen.append(graph_module)
        return graph_module.forward

    assert len(framejit.explain(compiled)(X).graphs) == 1
    assert len(framejit.explain(whole, backend=backend)(X).graphs) == 1
    assert len(seen) == 1
    assert framejit.explain(whole).__name__ == "whole"


def test_explain_of_a_module():
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    report = framejit.explain(model)(X)
    assert report.operators == 2 and report.breaks == []
    assert len(framejit.explain(framejit.compile(model, backend="eager"))(X).graphs) == 1


def test_stats_count_what_happened_and_reset_clears_them(capsys):
    compiled = framejit.compile(broken, backend="eager")
    compiled(X)
    stats = framejit.stats()
    assert stats["frames"]["graphs"] == 2 and stats["frames"]["operators"] == 4
    assert sum(stats["graph_break"].values()) == 1 and stats["backend"] == {"eager": 2}
    assert framejit.counters["graph_break"].total() == 1
    compiled(torch.randn(5))
    assert framejit.stats()["frames"]["recompiles"] >= 1
    framejit.reset()
    assert set(framejit.stats()) == {"machine"}
