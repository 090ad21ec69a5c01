"""copy and deepcopy of tensors, state dicts, and configurations that hold torch's small objects."""

import copy

import pytest
import torch

import framejit
from framejit.events import Break, subscribe
from support import Counter, same

LINEAR = torch.nn.Linear(2, 2)
BASE = torch.arange(6.0).reshape(2, 3)


class Config:
    def __init__(self):
        self.dtype, self.device, self.shape = torch.float64, torch.device("cpu"), torch.Size([2, 3])


def deep(x):
    y = copy.deepcopy(x)
    y += 1
    return x, y, y is x


def in_containers(x):
    made = copy.deepcopy({"a": x, "b": [x, x + 1], "c": (1, x)})
    return made, made["a"] is made["b"][0] is made["c"][1], made["a"] is x


def of_the_graph(x):
    y = x * 2
    z = copy.deepcopy(y)
    z.mul_(3)
    return y, z


def state(x):
    made = copy.deepcopy(LINEAR.state_dict())
    return {name: item + 1 for name, item in made.items()}, x + 1


def transposed(x):
    return copy.deepcopy(x.t().clone()), copy.deepcopy(x).t()


def configuration(x):
    config = copy.deepcopy(Config())
    other = copy.copy(config)
    return x.to(config.dtype), config.shape, type(config.shape), config.device, config.dtype is torch.float64, other.device, copy.copy(x.shape)


def shallow(x):
    y = copy.copy(x)
    y += 1
    return x, y, y is x, copy.copy(x * 2)


def memo_of_its_own(x):
    memo = {}
    y = copy.deepcopy(x, memo)
    return y, copy.deepcopy(x, memo) is y, memo[id(x)] is y, x.__deepcopy__(memo) is y


PROGRAMS = [deep, in_containers, of_the_graph, state, transposed, configuration, shallow, memo_of_its_own]


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_copies_are_operators_of_the_graph(fn):
    backend, breaks = Counter(), []
    done = subscribe(breaks.append, Break)
    compiled = framejit.compile(fn, backend=backend)
    for _ in range(2):
        x, other = BASE.clone(), BASE.clone()
        same(compiled(x), fn(other))
        same(x, other)
    done()
    assert (backend.graphs, breaks) == (1, [])


def test_the_version_of_a_deep_copy():
    def program(x):
        x.add_(1)
        y = copy.deepcopy(x)
        z = copy.deepcopy(y).add_(1)
        return y, y._version, z._version

    x, other = BASE.clone(), BASE.clone()
    same(framejit.compile(program, backend="eager")(x), program(other))


def storages(a, b):
    first, second = copy.deepcopy([a, b])
    first += 1
    return first, second


@pytest.mark.parametrize(
    "make",
    [
        lambda: (BASE.clone(), BASE.clone()),
        lambda: (lambda x: (x, x))(BASE.clone()),
        lambda: (lambda x: (x, x.view(3, 2)))(BASE.clone()),
        lambda: (lambda x: (x[0], x[1]))(BASE.clone()),
        lambda: (BASE.clone().t(), BASE.expand(4, 2, 3)),
        lambda: (BASE.clone()[:, ::2], torch.empty(0)),
        lambda: (torch.ones(2, requires_grad=True), torch.ones(2)),
        lambda: (torch.ones(2, dtype=torch.complex64).conj(), torch.ones(2)),
    ],
    ids=["apart", "same", "views", "rows", "expanded", "strided", "leaf", "conjugate"],
)
def test_memory_that_tensors_share_is_shared_by_the_copies(make):
    def program(a, b):
        return [item.detach() for item in copy.deepcopy([a, b])]

    compiled = framejit.compile(program, backend="eager")
    for inputs in (make(), (BASE.clone(), BASE.clone()), make()):
        got, want = compiled(*inputs), program(*inputs)
        same(got, want)
        assert [item.storage_offset() for item in got] == [item.storage_offset() for item in want]
        assert (got[0].untyped_storage().data_ptr() == got[1].untyped_storage().data_ptr()) == (
            want[0].untyped_storage().data_ptr() == want[1].untyped_storage().data_ptr()
        )


def test_a_capture_of_separate_tensors_is_not_used_for_shared_ones():
    compiled = framejit.compile(storages, backend="eager")
    same(compiled(BASE.clone(), BASE.clone()), storages(BASE.clone(), BASE.clone()))
    x, y = BASE.clone(), BASE.clone()
    same(compiled(x, x.view(3, 2)), storages(y, y.view(3, 2)))


def test_tensors_that_autograd_made_are_refused():
    def program(x):
        try:
            copy.deepcopy(x * 2)
        except RuntimeError as error:
            return x + 1, str(error)

    x = torch.ones(2, requires_grad=True)
    same(framejit.compile(program, backend="eager")(x), program(x))


def test_gradients_and_attributes_are_copied():
    def program(x):
        y = copy.deepcopy(x)
        return y, y.__dict__, y.grad

    x = torch.ones(2, requires_grad=True)
    x.grad = torch.ones(2)
    x.note = [1]
    compiled = framejit.compile(program, backend="eager")
    for _ in range(2):
        got, want = compiled(x), program(x)
        same(got, want)
        assert got[1]["note"] is not x.note
