"""Runs framejit over small, randomly initialised models of the transformers library and compares with eager.

    python benchmarks/sweep.py [--only REGEX] [--train] [--stock] [--timeout SECONDS] [--json FILE]

Each model runs in a process of its own with backend "eager": the first call, a second one, and one with another batch size,
each compared with the eager outputs (and gradients, with --train). Exits with 1 when a result is wrong or a model crashes.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor

import framejit

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 128}
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
DECODER = {**SMALL, **TOKENS, "num_key_value_heads": 2, "use_cache": False}
SEQ2SEQ = {
    **TOKENS, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "vocab_size": 128, "use_cache": False, "decoder_start_token_id": 1,
}  # fmt: skip
IMAGE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "image_size": 32, "patch_size": 8}

# model class: (config class, overrides, inputs)
MODELS: dict[str, tuple[str, dict[str, Any], str]] = {
    "BertModel": ("BertConfig", SMALL, "text"),
    "BertForSequenceClassification": ("BertConfig", SMALL, "text"),
    "RobertaModel": ("RobertaConfig", {**SMALL, **TOKENS}, "text"),
    "DistilBertModel": ("DistilBertConfig", {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "vocab_size": 128}, "text"),
    "AlbertModel": ("AlbertConfig", {**SMALL, **TOKENS, "embedding_size": 16}, "text"),
    "ElectraModel": ("ElectraConfig", {**SMALL, "embedding_size": 16}, "text"),
    "MobileBertModel": ("MobileBertConfig", {**SMALL, "embedding_size": 32, "intra_bottleneck_size": 32}, "text"),
    "GPT2LMHeadModel": (
        "GPT2Config", {**TOKENS, "n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 128, "use_cache": False}, "text"),
    "GPTNeoXForCausalLM": ("GPTNeoXConfig", {**SMALL, **TOKENS, "use_cache": False}, "text"),
    "OPTForCausalLM": (
        "OPTConfig", {**SMALL, **TOKENS, "ffn_dim": 64, "word_embed_proj_dim": 32, "use_cache": False}, "text"),
    "LlamaForCausalLM": ("LlamaConfig", DECODER, "text"),
    "MistralForCausalLM": ("MistralConfig", DECODER, "text"),
    "Qwen2ForCausalLM": ("Qwen2Config", DECODER, "text"),
    "GemmaForCausalLM": ("GemmaConfig", {**DECODER, "head_dim": 8}, "text"),
    "PhiForCausalLM": ("PhiConfig", DECODER, "text"),
    "T5Model": (
        "T5Config", {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "vocab_size": 128, "use_cache": False},
        "seq2seq"),
    "BartModel": ("BartConfig", SEQ2SEQ, "seq2seq"),
    "MarianModel": ("MarianConfig", SEQ2SEQ, "seq2seq"),
    "ViTModel": ("ViTConfig", IMAGE, "image"),
    "DeiTModel": ("DeiTConfig", IMAGE, "image"),
    "Dinov2Model": ("Dinov2Config", IMAGE, "image"),
    "ConvNextModel": ("ConvNextConfig", {"hidden_sizes": [8, 16, 16, 32], "depths": [1, 1, 2, 1], "image_size": 32}, "image"),
    "ResNetModel": ("ResNetConfig", {"embedding_size": 8, "hidden_sizes": [8, 16, 16, 32], "depths": [1, 1, 1, 1]}, "image"),
}  # fmt: skip


def inputs(kind: str, batch: int) -> dict[str, Tensor]:
    """Random inputs of one kind, the same ones each time."""
    generator = torch.Generator().manual_seed(batch)
    if kind == "image":
        return {"pixel_values": torch.randn(batch, 3, 32, 32, generator=generator)}
    ids = torch.randint(3, 128, (batch, 12), generator=generator)
    mask = torch.ones_like(ids)
    text = {"input_ids": ids, "attention_mask": mask}
    return text if kind == "text" else {**text, "decoder_input_ids": ids.flip(1)}


def tensors(value: Any) -> Iterator[Tensor]:
    """The tensors of a nested output, in order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors(item)


def run(call: Callable[..., Any], model: torch.nn.Module, kwargs: dict[str, Tensor], train: bool) -> list[Tensor]:
    """The output tensors and, in training, the gradients of all parameters."""
    torch.manual_seed(0)
    with torch.set_grad_enabled(train):
        found = list(tensors(call(**kwargs)))
    if train:
        sum(item.float().square().mean() for item in found if item.requires_grad).backward()
        found += [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        model.zero_grad(set_to_none=True)
    return [item.detach() for item in found]


def difference(got: list[Tensor], expected: list[Tensor]) -> str:
    """Empty when both agree."""
    if len(got) != len(expected):
        return f"{len(got)} tensors for {len(expected)}"
    for index, (one, other) in enumerate(zip(got, expected, strict=True)):
        try:
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5, equal_nan=True)
        except AssertionError as error:
            return f"tensor {index}: {' '.join(str(error).split())[:120]}"
    return ""


def measure(name: str, train: bool, stock: bool) -> dict[str, Any]:
    """One model, in this process."""
    torch.set_num_threads(1)
    config, overrides, kind = MODELS[name]
    torch.manual_seed(0)
    model = getattr(transformers, name)(getattr(transformers, config)(**overrides)).train(train)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    counts = [0, 0]

    def backend(graph: torch.fx.GraphModule, _inputs: list[Any]) -> Callable[..., Any]:
        counts[0] += 1
        counts[1] += sum(node.op.startswith("call") for node in graph.graph.nodes)
        return graph.forward

    expected = {batch: run(model, model, inputs(kind, batch), train) for batch in (2, 3)}
    compiled = (torch.compile if stock else framejit.compile)(model, backend=backend)
    wrong = []
    row: dict[str, Any] = {"name": name}
    for label, batch in (("first", 2), ("second", 2), ("batch", 3)):
        start = time.process_time()
        problem = difference(run(compiled, model, inputs(kind, batch), train), expected[batch])
        row[f"{label}_s"] = round(time.process_time() - start, 3)
        row[f"{label}_graphs"] = counts[0]
        row.setdefault("operators", counts[1])
        if problem:
            wrong.append(f"{label} call: {problem}")
    with torch.set_grad_enabled(train):
        row["breaks"] = 0 if stock else len(framejit.explain(model)(**inputs(kind, 2)).breaks)
    return row | {"status": "wrong" if wrong else "ok", "detail": "; ".join(wrong)}


def in_own_process(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """One model in a process of its own; a crash or a timeout becomes a row too."""
    flags = ["--train"] * options.train + ["--stock"] * options.stock
    command = [sys.executable, __file__, "--model", name, *flags]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout)
    except subprocess.TimeoutExpired:
        return {"name": name, "status": "timeout", "detail": f"{options.timeout:.0f} s"}
    if result.returncode:
        last = (result.stderr.strip().splitlines() or ["no message"])[-1][:140]
        return {"name": name, "status": "crash", "detail": f"exit {result.returncode}: {last}"}
    return json.loads(result.stdout.splitlines()[-1])


def main() -> int:
    """Sweep over all models, or measure the one that is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="models whose name matches this regular expression")
    parser.add_argument("--train", action="store_true", help="training mode, gradients compared too")
    parser.add_argument("--stock", action="store_true", help="torch.compile's own front-end instead of framejit")
    parser.add_argument("--timeout", type=float, default=180)
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--model", choices=list(MODELS), help="measure this one in this process")
    options = parser.parse_args()
    if options.model:
        print(json.dumps(measure(options.model, options.train, options.stock)))
        return 0
    rows = []
    print(f"{'model':32}{'status':9}{'graphs':>6}{'breaks':>7}{'operators':>10}{'first call':>12}{'recaptured':>11}  detail")
    for name in filter(re.compile(options.only).search, MODELS):
        row = in_own_process(name, options)
        rows.append(row)
        numbers = ""
        if "first_s" in row:
            again = row["batch_graphs"] - row["first_graphs"]
            numbers = f"{row['first_graphs']:6}{row['breaks']:7}{row['operators']:10}{row['first_s']:10.2f} s{again:11}"
        print(f"{name:32}{row['status']:9}{numbers:46}  {row['detail']}", flush=True)
    good = [row for row in rows if row["status"] == "ok"]
    whole = [row for row in good if row["first_graphs"] == 1 and not row["breaks"]]
    print(f"{len(rows)} models: {len(good)} as eager, {len(whole)} of them in one graph, {len(rows) - len(good)} failed")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0 if len(good) == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
