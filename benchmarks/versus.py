"""framejit beside torch.compile's own front-end: capture time, time per call, and what unrelated code pays.

    python benchmarks/versus.py capture     seconds of the first call; the backend runs the graph as it is
    python benchmarks/versus.py call        microseconds per call when graphs return stored outputs: guards and glue
    python benchmarks/versus.py outside     slowdown of plain Python elsewhere once something has been compiled

Every figure comes from a fresh process; the two sides take turns; the median of --rounds is printed, with stock / framejit
(above 1: framejit is faster). Uses CPU and one thread. See docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import geometric_mean, median
from typing import Any

import torch
from pure_python import program
from torch import nn
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel

import framejit

SIDES: dict[str, Callable[..., Any]] = {"stock": torch.compile, "framejit": framejit.compile}
UNITS = {"capture": "s", "call": "us", "outside": "x"}

Case = tuple[Callable[..., Any], tuple[Any, ...]]


class Mlp(nn.Module):
    """A hundred small linear layers in a loop."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(100))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x).relu()
        return x


class Block(nn.Module):
    """A residual block."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
        self.conv2, self.norm2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(y)) + x)


def thousand_adds(x: torch.Tensor) -> torch.Tensor:
    for _ in range(1000):
        x = x + 1
    return x


def gpt2() -> Case:
    model = GPT2LMHeadModel(GPT2Config(n_layer=12, n_embd=64, n_head=4, use_cache=False)).eval()
    return model, (torch.randint(0, 1000, (2, 16)),)


def bert() -> Case:
    config = BertConfig(num_hidden_layers=12, hidden_size=64, num_attention_heads=4, intermediate_size=128)
    return BertModel(config).eval(), (torch.randint(0, 1000, (2, 16)),)


CASES: dict[str, Callable[[], Case]] = {
    "gpt2-12": gpt2,
    "bert-12": bert,
    "resnet-16": lambda: (nn.Sequential(*(Block(8) for _ in range(16))).eval(), (torch.randn(1, 8, 16, 16),)),
    "mlp-100": lambda: (Mlp(), (torch.randn(8),)),
    "adds-1000": lambda: (thousand_adds, (torch.randn(8),)),
    "python-20k": lambda: (program, (torch.ones(4),)),
    "x+1": lambda: (lambda x: x + 1, (torch.randn(8),)),
    "ten-inputs": lambda: (lambda *xs: sum(xs[1:], xs[0]), tuple(torch.randn(8) for _ in range(10))),
}
ROWS = {
    "capture": ("gpt2-12", "bert-12", "resnet-16", "mlp-100", "adds-1000", "python-20k"),
    "call": ("x+1", "ten-inputs", "mlp-100", "resnet-16", "gpt2-12", "bert-12"),
    "outside": ("x+1",),
}


def per_call(call: Callable[[], Any], seconds: float = 0.3) -> float:
    """Seconds per call, the best of five runs."""
    for _ in range(20):
        call()
    count = 1
    while (spent := _timed(call, count)) < seconds / 5:
        count *= 2
    return min(spent, *(_timed(call, count) for _ in range(4))) / count


def _timed(call: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return time.perf_counter() - start


class Stored:
    """A backend that counts graphs and operators; `free` graphs return the outputs of their first call."""

    def __init__(self, free: bool = False) -> None:
        self.free, self.graphs, self.operators = free, 0, 0

    def __call__(self, graph: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        self.graphs += 1
        self.operators += sum(node.op.startswith("call") for node in graph.graph.nodes)
        if not self.free:
            return graph.forward
        outputs: list[Any] = []

        def call(*args: Any) -> Any:
            if not outputs:
                outputs.append(graph.forward(*args))
            return outputs[0]

        return call


def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def figure(side: str, mode: str, case: str) -> dict[str, Any]:
    """One figure, measured in this process."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    compile_ = SIDES[side]
    fn, args = CASES[case]()
    with torch.no_grad():
        if mode == "call":
            compiled = compile_(fn, backend=Stored(free=True))
            return {"value": per_call(lambda: compiled(*args)) * 1e6}
        if mode == "outside":
            before = per_call(lambda: fibonacci(18))
            compile_(fn, backend=Stored())(*args)
            return {"value": per_call(lambda: fibonacci(18)) / before}
        expected = fn(*args)
        compile_(lambda x: x + 1, backend=Stored())(torch.zeros(1))  # imports out of the way
        backend = Stored()
        compiled = compile_(fn, backend=backend)
        start = time.perf_counter()
        result = compiled(*args)
        seconds = time.perf_counter() - start
        torch.testing.assert_close(_tensor(result), _tensor(expected))
        return {"value": seconds, "graphs": backend.graphs, "operators": backend.operators}


def _tensor(output: Any) -> torch.Tensor:
    return output if isinstance(output, torch.Tensor) else output[0]


def in_fresh_process(side: str, mode: str, case: str) -> dict[str, Any]:
    """One figure from a process of its own; `error` instead of `value` when that failed."""
    command = [sys.executable, __file__, mode, "--side", side, "--case", case]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        return {"error": (result.stderr.strip().splitlines() or ["no output"])[-1][:120]}
    return json.loads(result.stdout.splitlines()[-1])


def table(mode: str, rounds: int) -> bool:
    """Measure and print all rows of a mode; whether all could be measured."""
    ratios = []
    print(f"{mode:12}{'stock':>12}{'framejit':>12}{'ratio':>8}   graphs/operators")
    for case in ROWS[mode]:
        runs: dict[str, list[dict[str, Any]]] = {side: [] for side in SIDES}
        for _ in range(rounds):
            for side, figures in runs.items():
                figures.append(in_fresh_process(side, mode, case))
        errors = [f"{side}: {run['error']}" for side, figures in runs.items() for run in figures if "error" in run]
        if errors:
            print(f"{case:12}  {errors[0]}", flush=True)
            continue
        stock, ours = (median(run["value"] for run in runs[side]) for side in ("stock", "framejit"))
        counts = "  ".join(f"{run[0]['graphs']}/{run[0]['operators']}" for run in runs.values() if "graphs" in run[0])
        ratios.append(stock / ours)
        print(f"{case:12}{stock:10.3f}{UNITS[mode]:>2}{ours:10.3f}{UNITS[mode]:>2}{ratios[-1]:7.2f}x   {counts}", flush=True)
    if ratios:
        print(f"geometric mean {geometric_mean(ratios):.2f}x, worst {min(ratios):.2f}x, {len(ratios)} of {len(ROWS[mode])} rows")
    return len(ratios) == len(ROWS[mode])


def main() -> int:
    """Read the options; print the tables, or one figure as JSON when a case is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modes", nargs="+", choices=list(ROWS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--case", choices=list(CASES), help="measure this one in this process")
    parser.add_argument("--side", choices=list(SIDES), default="framejit")
    options = parser.parse_args()
    if options.case:
        print(json.dumps(figure(options.side, options.modes[0], options.case)))
        return 0
    return 0 if all([table(mode, options.rounds) for mode in options.modes]) else 1


if __name__ == "__main__":
    sys.exit(main())
