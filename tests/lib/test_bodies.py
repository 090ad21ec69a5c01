"""Python bodies that are captured in place of C functions, against the originals."""

from __future__ import annotations

import bisect
import heapq
import random
import types

import pytest

from framejit.lib import pure

RANDOM = random.Random(0)
LISTS = [[RANDOM.randrange(10) for _ in range(length)] for length in range(12) for _ in range(5)]


def counted(log):
    class Item(int):
        def __lt__(self, other):
            log.append((int(self), int(other)))
            return int(self) < int(other)

    return Item


@pytest.mark.parametrize(("body", "original"), [(pure.heapq, heapq), (pure.bisect, bisect)], ids=["heapq", "bisect"])
def test_every_c_function_has_a_python_body(body, original):
    replaced = [name for name, found in vars(original).items() if isinstance(found, types.BuiltinFunctionType)]
    assert replaced
    for name in replaced:
        assert isinstance(getattr(body, name), types.FunctionType), name


@pytest.mark.parametrize("values", LISTS, ids=str)
def test_heaps_compare_alike(values):
    outcomes = []
    for module in (pure.heapq, heapq):
        log: list[object] = []
        heap = list(map(counted(log), values))
        module.heapify(heap)
        module.heappush(heap, counted(log)(5))
        popped = [module.heappop(heap) for _ in range(len(heap))]
        heap = list(popped)
        swapped = [module.heappushpop(heap, counted(log)(value)) for value in values]
        replaced = [module.heapreplace(heap, counted(log)(value)) for value in values]
        outcomes.append((popped, swapped, replaced, heap, log))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("values", LISTS, ids=str)
def test_bisections_compare_alike(values):
    outcomes = []
    for module in (pure.bisect, bisect):
        log: list[object] = []
        ordered = list(map(counted(log), sorted(values)))
        places = [function(ordered, counted(log)(value)) for value in range(-1, 11) for function in (module.bisect_left, module.bisect_right)]
        module.insort(ordered, counted(log)(4))
        outcomes.append((places, ordered, log))
    assert outcomes[0] == outcomes[1]


def test_the_c_functions_stay_in_place():
    assert isinstance(heapq.heappush, types.BuiltinFunctionType) and isinstance(bisect.bisect, types.BuiltinFunctionType)
