"""disable, graph_break, allow_in_graph, is_compiling, and marks on tensors."""

import asyncio

import pytest
import torch

import framejit
from framejit import interop
from framejit.core.errors import BadArgument
from framejit.core.marks import Dimension


@pytest.fixture(autouse=True)
def fresh():
    framejit.reset()
    yield
    framejit.reset()


@pytest.fixture
def graphs():
    return []


@pytest.fixture
def backend(graphs):
    def count(graph_module, example_inputs):
        graphs.append([node.target for node in graph_module.graph.nodes if node.op.startswith("call")])
        return graph_module.forward

    return count


X = torch.arange(3.0)


def test_disabled_functions_keep_their_looks():
    @framejit.disable
    def first(x, y=1):
        """Doc."""
        return x, y

    @framejit.disable(recursive=False, reason="why not")
    def second(x):
        return x

    assert first.__name__ == "first" and first.__doc__ == "Doc." and first(1, y=2) == (1, 2)
    assert second(3) == 3
    assert interop.disabled(first).recursive and interop.disabled(first).reason is None
    assert not interop.disabled(second).recursive and interop.disabled(second).reason == "why not"


def test_disable_leaves_the_function_and_what_it_calls_alone(graphs, backend):
    def inner(x):
        return x * 3

    @framejit.disable
    def left_alone(x):
        return inner(x) + 1

    @framejit.compile(backend=backend)
    def outer(x):
        return left_alone(x + 2) * 5

    torch.testing.assert_close(outer(X), ((X + 2) * 3 + 1) * 5)
    assert [len(calls) for calls in graphs] == [1, 1]
    assert framejit.stats()["graph_break"] == {"DISABLED_FUNCTION": 1}


def test_disable_without_recursion_captures_what_is_called(graphs, backend):
    def inner(x):
        return (x * 3).sin()

    @framejit.disable(recursive=False)
    def left_alone(x):
        return inner(x) + 1

    @framejit.compile(backend=backend)
    def outer(x):
        return left_alone(x + 2) * 5

    torch.testing.assert_close(outer(X), (((X + 2) * 3).sin() + 1) * 5)
    assert sorted(len(calls) for calls in graphs) == [1, 1, 2]


def test_disabled_generators_and_coroutines_run(backend):
    @framejit.disable
    def numbers(x):
        yield x + 1
        yield x + 2

    @framejit.disable
    async def later(x):
        return x + 1

    @framejit.compile(backend=backend)
    def outer(x):
        return sum(numbers(x))

    torch.testing.assert_close(outer(X), 2 * X + 3)
    torch.testing.assert_close(asyncio.run(later(X)), X + 1)


def test_torchs_own_disable_counts(graphs, backend):
    @torch.compiler.disable
    def left_alone(x):
        return x * 3

    @framejit.compile(backend=backend)
    def outer(x):
        return left_alone(x + 2) * 5

    torch.testing.assert_close(outer(X), (X + 2) * 15)
    assert len(graphs) == 2


@pytest.mark.parametrize("bad", [3, "name", None.__class__])
def test_disable_refuses_what_cannot_be_called(bad):
    with pytest.raises(BadArgument):
        framejit.disable(bad)
    with pytest.raises(BadArgument):
        framejit.disable(lambda: 0, recursive="no")


def test_graph_break_breaks_only_when_captured(graphs, backend):
    framejit.graph_break()
    framejit.graph_break(msg="nothing happens")

    @framejit.compile(backend=backend)
    def outer(x):
        y = x + 1
        framejit.graph_break("here")
        return y * 2

    torch.testing.assert_close(outer(X), (X + 1) * 2)
    assert len(graphs) == 2
    assert framejit.stats()["graph_break"] == {"USER_BREAK": 1}


def test_fullgraph_shows_the_break():
    def helper(y):
        framejit.graph_break("here")
        return y

    @framejit.compile(backend="eager", fullgraph=True)
    def outer(x):
        return helper(x + 1) * 2

    with pytest.raises(framejit.CaptureError) as caught:
        outer(X)
    text = str(caught.value)
    assert caught.value.reason.id == "USER_BREAK"
    assert "return helper(x + 1) * 2" in text and 'framejit.graph_break("here")' in text
    assert text.index("helper(x + 1)") < text.index('graph_break("here")')
    assert "^^^^" in text and "Hint: " in text


def test_allow_in_graph_keeps_the_call_as_one_node(graphs, backend):
    @framejit.allow_in_graph
    def whole(x):
        return (x * 2).sin()

    @framejit.compile(backend=backend, fullgraph=True)
    def outer(x):
        return whole(x) + 1

    torch.testing.assert_close(outer(X), (X * 2).sin() + 1)
    assert graphs[0][0] is whole and len(graphs[0]) == 2
    framejit.disallow_in_graph(whole)
    framejit.reset()
    outer(X)
    assert len(graphs[1]) == 3


def test_allow_in_graph_checks_a_whole_sequence_first():
    def fn(x):
        return x

    with pytest.raises(BadArgument):
        framejit.allow_in_graph([fn, 3])
    assert not interop.allowed(fn)
    assert framejit.allow_in_graph([fn]) == [fn]
    assert interop.allowed(fn)
    framejit.disallow_in_graph(fn)


def test_is_compiling_tells_captured_code_apart(graphs, backend):
    def fn(x):
        if framejit.is_compiling():
            return x + 1
        return x - 1

    def torchs(x):
        if torch.compiler.is_compiling():
            return x + 1
        return x - 1

    assert not framejit.is_compiling()
    torch.testing.assert_close(fn(X), X - 1)
    torch.testing.assert_close(framejit.compile(fn, backend=backend)(X), X + 1)
    torch.testing.assert_close(framejit.compile(torchs, backend=backend)(X), X + 1)
    assert len(graphs) == 2


def test_dimension_marks_of_both_front_ends_are_read():
    import torch._dynamo

    a, b = torch.zeros(2, 3, 4), torch.zeros(2, 3, 4)
    framejit.mark_dynamic(a, 0, min=1, max=8)
    framejit.mark_static(a, [1])
    framejit.maybe_mark_dynamic(a, 2)
    torch._dynamo.mark_dynamic(b, 0, min=2, max=8)
    torch._dynamo.mark_static(b, 1)
    torch._dynamo.maybe_mark_dynamic(b, 2)
    wanted = {0: Dimension("dynamic", 1, 8), 1: Dimension("static"), 2: Dimension("maybe_dynamic")}
    assert interop.dimensions(a) == wanted
    assert interop.dimensions(b) == {**wanted, 0: Dimension("dynamic", 2, 8)}
    framejit.mark_static(b)
    assert set(interop.dimensions(b).values()) == {Dimension("static")}
    assert interop.dimensions(torch.zeros(2)) == {}


def test_wrong_marks_leave_the_tensor_alone():
    a = torch.zeros(2, 3)
    for bad in (2, -1, [0, 5], "0", True):
        with pytest.raises(BadArgument):
            framejit.mark_dynamic(a, bad)
    with pytest.raises(BadArgument):
        framejit.mark_dynamic(a, 0, min=3, max=2)
    with pytest.raises(BadArgument):
        framejit.mark_dynamic([1, 2], 0)
    assert interop.dimensions(a) == {}


def test_marked_tensors_compile(graphs, backend):
    x = torch.randn(4, 3)
    framejit.mark_dynamic(x, 0)
    compiled = framejit.compile(lambda x: x * 2, backend=backend, dynamic=True)
    torch.testing.assert_close(compiled(x), x * 2)
    torch.testing.assert_close(compiled(torch.ones(7, 3)), torch.full((7, 3), 2.0))
