"""Backends by name."""

import importlib.metadata
import subprocess
import sys

import pytest

import framejit
from framejit.backends import registry
from framejit.core.errors import BadArgument, UnknownBackend


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setattr(registry, "_ROWS", dict(registry._ROWS))
    return registry._ROWS


def forward(graph_module, example_inputs):
    return graph_module.forward


def test_the_decorator_registers_under_the_functions_name_or_another(rows):
    @framejit.register_backend
    def mine(graph_module, example_inputs):
        return graph_module.forward

    @framejit.register_backend(name="other", tags=("debug",), mutates_in_order=False)
    def named(graph_module, example_inputs):
        return graph_module.forward

    assert framejit.lookup_backend("mine") is mine
    assert framejit.lookup_backend("other") is named
    assert framejit.lookup_backend(named) is named
    assert registry.find("mine").mutates_in_order and not registry.find(named).mutates_in_order
    assert "mine" in framejit.list_backends() and "other" not in framejit.list_backends()
    assert "other" in framejit.list_backends(None)


def test_a_taken_name_or_a_nameless_object_is_refused(rows):
    before = dict(rows)
    with pytest.raises(BadArgument, match="registered already"):
        framejit.register_backend(forward, name="eager")
    with pytest.raises(BadArgument, match="name="):
        framejit.register_backend(type("Callable", (), {"__call__": forward})())
    with pytest.raises(BadArgument, match="callable"):
        framejit.register_backend(3, name="three")
    assert rows == before


def test_packages_offer_backends_by_entry_point(rows, monkeypatch):
    point = importlib.metadata.EntryPoint("offered", f"{forward.__module__}:forward", registry.ENTRY_POINTS)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == registry.ENTRY_POINTS else [])
    monkeypatch.setitem(sys.modules, forward.__module__, sys.modules[__name__])
    assert "offered" in framejit.list_backends()
    assert framejit.lookup_backend("offered") is forward
    assert registry.find("offered").name == "offered"


def test_unknown_names_get_near_ones():
    with pytest.raises(UnknownBackend, match="'inductor'"):
        framejit.lookup_backend("inducter")


def test_the_list_has_what_torch_lists_and_the_plain_backends():
    from torch._dynamo import list_backends

    assert {"eager", "aot_eager", "inductor"} <= set(framejit.list_backends())
    assert set(list_backends()) <= set(framejit.list_backends(None))


def test_backends_registered_with_torch_are_found():
    import torch._dynamo

    name = "registered_with_torch"
    torch._dynamo.register_backend(forward, name=name)
    assert framejit.lookup_backend(name) is forward


def test_torchs_own_backends_are_passed_on_to():
    from torch._dynamo.backends.registry import lookup_backend

    assert framejit.lookup_backend("eager_noexcept") is lookup_backend("eager_noexcept")


def test_listing_loads_no_compiler():
    program = (
        "import framejit, sys; framejit.list_backends(None)\n"
        "assert not {'torch._dynamo', 'torch._inductor.compile_fx'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
