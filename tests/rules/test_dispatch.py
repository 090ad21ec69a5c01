"""Functions that `functools.singledispatch` dispatches by abstract classes: what was registered since is noticed."""

import collections.abc
import functools

import torch

import framejit
from framejit.events import Break, subscribe
from support import Counter, same


@functools.singledispatch
def sized(value):
    return 0


@sized.register
def _(value: collections.abc.Sequence):
    return len(value)


@sized.register(torch.Tensor)
def _(value):
    return value.numel()


def test_functions_dispatched_by_abstract_classes():
    def program(x):
        return x * sized([1, 2]) + sized(x), sized({}), sized("abc")

    class Late:
        def __len__(self):
            return 9

    def late(x, y):
        return x + sized(y)

    x, backend, breaks = torch.ones(3), Counter(), []
    framejit.compile(lambda x: x + 1, backend="eager")(x)
    program(x)  # which fills the cache of the dispatcher; what is imported now registers no more classes
    done = subscribe(breaks.append, Break)
    compiled = framejit.compile(program, backend=backend)
    for _ in range(2):
        same(compiled(x), program(x))
    done()
    assert (backend.graphs, breaks) == (1, [])
    compiled = framejit.compile(late, backend="eager")
    same(compiled(x, Late()), x)
    collections.abc.Sequence.register(Late)
    same(compiled(x, Late()), x + 9)
    same(compiled(x, Late()), late(x, Late()))
