"""A program that is nearly all Python: config objects, dict walks, generators; about 20,000 instructions for 50 tensor operators."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import torch


@dataclasses.dataclass
class Layer:
    """The settings of one layer."""

    name: str
    scale: float = 1.0
    bias: float = 0.0
    tags: tuple[str, ...] = ()
    extra: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def active(self) -> bool:
        return "off" not in self.tags

    def get(self, key: str, default: Any = None) -> Any:
        return self.extra.get(key, default)


class Registry:
    """Settings by name, with defaults looked up along a chain of parents."""

    def __init__(self, parent: Registry | None = None) -> None:
        self.parent = parent
        self.values: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Any:
        if key in self.values:
            return self.values[key]
        if self.parent is not None:
            return self.parent[key]
        raise KeyError(key)

    def __contains__(self, key: str) -> bool:
        return key in self.values or (self.parent is not None and key in self.parent)


def walk(tree: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of nested dicts."""
    for key, value in tree.items():
        path = f"{prefix}.{key}" if prefix else key
        if isinstance(value, dict):
            yield from walk(value, path)
        else:
            yield path, value


def settings(index: int) -> dict[str, Any]:
    return {"layer": {"kind": "linear" if index % 2 else "norm", "size": index + 1}, "flags": {"a": index % 3 == 0}}


def program(x: torch.Tensor) -> torch.Tensor:
    root = Registry()
    root.values.update(scale=2.0, kind="linear", limit=100)
    layers = [Layer(f"layer{i}", scale=1.0 + i, tags=("off",) if i % 7 == 6 else (), extra={"i": i}) for i in range(50)]
    totals: dict[str, int] = {}
    for index, layer in enumerate(layers):
        registry = Registry(Registry(root))
        for path, value in walk(settings(index)):
            registry.values[path] = value
            totals[path] = totals.get(path, 0) + 1
        names = sorted(registry.values)
        weight = len(names[0]) + layer.get("i", 0)
        if layer.active and "limit" in registry and weight < registry["limit"]:
            factor = registry["scale"] if registry["layer.kind"] == registry["kind"] else layer.scale
            x = x * factor
        else:
            x = x + layer.bias
        flags = {key.rpartition(".")[2]: value for key, value in registry.values.items() if "flags" in key}
        layer.extra.update(flags)
    return x + sum(totals.values())
