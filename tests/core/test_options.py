"""Compile configurations and their keys."""

import gc
import weakref
from dataclasses import replace

import pytest

from framejit.core.options import CompileOptions, by_key, key_of


def backend(graph_module, example_inputs):
    return graph_module.forward


def test_equal_configurations_share_a_key():
    key, row = key_of(CompileOptions("eager", options=(("a", 1),)))
    again, same = key_of(CompileOptions("eager", options=(("a", 1),)))
    assert key == again and row is same is by_key(key)


@pytest.mark.parametrize(
    "change",
    [
        dict(backend="aot_eager"),
        dict(backend=backend),
        dict(fullgraph=True),
        dict(dynamic=True),
        dict(dynamic=False),
        dict(mode="max-autotune"),
        dict(options=(("a", 1),)),
        dict(options=(("a", True),)),
        dict(name="n"),
        dict(recompile_limit=3),
        dict(isolation=object()),
    ],
)
def test_different_configurations_never_mix(change):
    base = CompileOptions("eager", options=(("a", 2),))
    rows = [base, replace(base, **change), replace(base, fullgraph=True, recompile_limit=7)]
    keys = [key_of(row) for row in rows]
    assert len({key for key, _ in keys}) == 3


def test_a_backend_dies_with_its_last_user_and_its_key_is_not_used_again():
    def closure(graph_module, example_inputs):
        return graph_module.forward

    dead = weakref.ref(closure)
    key, row = key_of(CompileOptions(closure))
    del closure, row
    gc.collect()
    assert dead() is None
    with pytest.raises(KeyError):
        by_key(key)
    assert key_of(CompileOptions(backend, name="after"))[0] != key
