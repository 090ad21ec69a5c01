"""framejit.compile on functions, methods and callable objects: what it returns, and what it refuses."""

import asyncio
import collections.abc
import concurrent.futures
import functools
import inspect
import pickle

import pytest
import torch

import framejit
from framejit.core.errors import BadArgument, UnknownBackend, UnknownOption


def plain(x, /, y=2, *, z: int = 3) -> int:
    """Adds."""
    return x + y + z


plain.tag = "mine"


@pytest.fixture(autouse=True)
def fresh():
    framejit.reset()
    yield
    framejit.reset()


def test_a_compiled_function_looks_like_the_original():
    compiled = framejit.compile(plain, backend="eager")
    assert compiled.__name__ == "plain" and compiled.__qualname__ == "plain" and compiled.__doc__ == "Adds."
    assert compiled.__module__ == plain.__module__ and compiled.tag == "mine"
    assert compiled.__wrapped__ is plain
    assert inspect.signature(compiled) == inspect.signature(plain)
    assert callable(compiled) and inspect.unwrap(compiled) is plain


def test_it_is_called_as_the_original_is():
    compiled = framejit.compile(plain, backend="eager")
    x = torch.ones(2)
    torch.testing.assert_close(compiled(x), x + 5)
    torch.testing.assert_close(compiled(x, 1, z=1), x + 2)
    for args, kwargs in [((), {}), ((x, 1, 2), {}), ((x,), {"w": 1})]:
        with pytest.raises(TypeError) as got:
            compiled(*args, **kwargs)
        with pytest.raises(TypeError) as want:
            plain(*args, **kwargs)
        assert str(got.value) == str(want.value)


def graphs_of(backend_log):
    def backend(graph_module, example_inputs):
        backend_log.append(graph_module)
        return graph_module.forward

    return backend


def test_decorators_with_and_without_arguments():
    log = []

    @framejit.compile
    def one(x):
        return x + 1

    @framejit.compile(backend=graphs_of(log), fullgraph=True)
    def two(x):
        return x + 2

    assert one.__name__ == "one" and two.__name__ == "two"
    torch.testing.assert_close(two(torch.zeros(2)), torch.full((2,), 2.0))
    assert len(log) == 1


class Thing:
    scale = 3.0

    def method(self, x):
        return x * self.scale

    def __call__(self, x, *, k=2.0):
        return x * k


def test_bound_methods_and_callable_objects():
    log = []
    thing = Thing()
    x = torch.ones(3)
    method = framejit.compile(thing.method, backend=graphs_of(log))
    torch.testing.assert_close(method(x), x * 3)
    called = framejit.compile(thing, backend=graphs_of(log))
    torch.testing.assert_close(called(x, k=5.0), x * 5)
    assert list(inspect.signature(called).parameters) == ["x", "k"]
    assert len(log) == 2


def test_methods_decorated_in_a_class():
    log = []

    class Decorated:
        @framejit.compile(backend=graphs_of(log))
        def method(self, x):
            return self, x + 1

        @framejit.compile(backend=graphs_of(log))
        @staticmethod
        def static(x):
            return x + 2

        @classmethod
        @framejit.compile(backend=graphs_of(log))
        def of_class(cls, x):
            return cls, x + 3

    x = torch.zeros(2)
    it = Decorated()
    assert it.method(x)[0] is it and Decorated.of_class(x)[0] is Decorated
    torch.testing.assert_close([it.method(x)[1], it.static(x), Decorated.of_class(x)[1]], [x + 1, x + 2, x + 3])
    assert len(log) == 3


def test_partials_and_builtins():
    log = []
    x = torch.ones(3)
    partial = framejit.compile(functools.partial(plain, y=1), backend=graphs_of(log))
    torch.testing.assert_close(partial(x), x + 4)
    sine = framejit.compile(torch.sin, backend=graphs_of(log))
    torch.testing.assert_close(sine(x), x.sin())
    assert len(log) == 2


def test_compiling_twice_compiles_the_original():
    first, second = [], []
    once = framejit.compile(plain, backend=graphs_of(first))
    twice = framejit.compile(once, backend=graphs_of(second))
    assert twice.__wrapped__ is plain
    twice(torch.ones(2))
    assert (len(first), len(second)) == (0, 1)


def test_two_backends_on_one_function_never_mix():
    first, second = [], []
    a = framejit.compile(plain, backend=graphs_of(first))
    b = framejit.compile(plain, backend=graphs_of(second))
    for _ in range(2):
        a(torch.ones(2))
        b(torch.ones(2))
    assert (len(first), len(second)) == (1, 1)


def test_disable_returns_the_function_itself():
    assert framejit.compile(plain, disable=True) is plain
    assert framejit.compile(disable=True)(plain) is plain


def test_nothing_is_captured_before_the_call():
    log = []
    framejit.compile(plain, backend=graphs_of(log))
    assert log == [] and "frames" not in framejit.stats()


def test_a_compiled_functions_original_can_be_pickled():
    assert pickle.loads(pickle.dumps(framejit.compile(plain).__wrapped__)) is plain


@pytest.mark.parametrize(
    "arguments, error, text",
    [
        (dict(backend="inducter"), UnknownBackend, "'inductor'"),
        (dict(backend=3), BadArgument, "a name or a callable, not int"),
        (dict(mode="default", options={}), BadArgument, "not both"),
        (dict(mode="fastest"), UnknownOption, "max-autotune"),
        (dict(options={"max_autotun": True}), UnknownOption, "'max_autotune'"),
        (dict(options={"max_autotune": "yes"}), BadArgument, "takes bool, not str"),
        (dict(options={3: 1}), BadArgument, "must be strings"),
        (dict(options=[1]), BadArgument, "options takes dict"),
        (dict(fullgraph=1), BadArgument, "fullgraph takes bool"),
        (dict(dynamic="auto"), BadArgument, "dynamic takes bool"),
        (dict(disable=None), BadArgument, "disable takes bool"),
        (dict(recompile_limit="many"), BadArgument, "recompile_limit takes int"),
        (dict(shapes_spec=object()), BadArgument, "mark_dynamic"),
    ],
)
def test_wrong_arguments_are_named_at_once(arguments, error, text):
    with pytest.raises(error, match=text):
        framejit.compile(plain, **arguments)
    with pytest.raises(error, match=text):
        framejit.compile(**arguments)


@pytest.mark.parametrize("target", [3, "name", torch.nn.Linear, None])
def test_what_cannot_be_compiled_is_refused(target):
    with pytest.raises(BadArgument):
        framejit.compile()(target)


def test_a_backend_error_reaches_the_user_and_the_next_call_tries_again():
    fail = [True]

    def backend(graph_module, example_inputs):
        if fail[0]:
            raise ValueError("no such target")
        return graph_module.forward

    compiled = framejit.compile(plain, backend=backend)
    with pytest.raises(framejit.BackendError, match="no such target"):
        compiled(torch.ones(2))
    fail[0] = False
    torch.testing.assert_close(compiled(torch.ones(2)), torch.full((2,), 6.0))


def test_generators_and_coroutines_are_compiled_and_stay_what_they_are():
    log = []

    @framejit.compile(backend=graphs_of(log))
    def numbers(x):
        yield x + 1
        yield (x + 2) * 3

    @framejit.compile(backend=graphs_of(log))
    async def later(x):
        return (x + 1) * 2

    x = torch.ones(2)
    assert inspect.isgenerator(numbers(x)) or isinstance(numbers(x), collections.abc.Generator)
    torch.testing.assert_close(list(numbers(x)), [x + 1, (x + 2) * 3])
    torch.testing.assert_close(asyncio.run(later(x)), (x + 1) * 2)
    assert len(log) == 3


def test_the_switch_for_everything():
    log = []
    compiled = framejit.compile(plain, backend=graphs_of(log))
    with framejit.config.patch(disable=True):
        torch.testing.assert_close(compiled(torch.ones(2)), torch.full((2,), 6.0))
    assert log == []
    torch.testing.assert_close(compiled(torch.ones(2)), torch.full((2,), 6.0))
    assert len(log) == 1


def test_threads_share_regions_and_capture_once():
    log = []
    compiled = framejit.compile(plain, backend=graphs_of(log))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: compiled(torch.ones(2)), range(40)))
    torch.testing.assert_close(results, [torch.full((2,), 6.0)] * 40)
    assert 1 <= len(log) <= 4
