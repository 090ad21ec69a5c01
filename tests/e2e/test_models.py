"""Whole modules: hooks, containers, training, and the transformer models, captured in one graph and equal to eager."""

import copy

import pytest
import torch
from torch import nn

import framejit
from support import Counter, check


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10, 8)
        self.norm = nn.LayerNorm(8)
        self.blocks = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))
        self.heads = nn.ModuleDict({"a": nn.Linear(8, 2), "b": nn.Linear(8, 3)})
        self.scales = nn.ParameterList([nn.Parameter(torch.full((8,), float(i))) for i in range(2)])
        self.drop = nn.Dropout(0.5)
        self.register_buffer("offset", torch.ones(8))
        self.calls = 0
        self.last = None

    def forward(self, tokens, head="a"):
        x = self.norm(self.embedding(tokens)) + self.offset
        for index, block in enumerate(self.blocks):
            x = torch.relu(block(x)) * (index + 1)
        for scale in self.scales:
            x = x + scale
        self.calls += 1
        self.last = x
        x = self.drop(x)
        return {name: module(x) for name, module in self.heads.items()} if head is None else self.heads[head](x)


def net(training):
    def make():
        torch.manual_seed(0)
        return Net().train(training), torch.arange(6).reshape(2, 3)

    return make


@check(net(True), net(False), graphs=2)
def test_containers_buffers_and_attributes(model, tokens):
    return model(tokens), model.calls, model.last


@check(net(False))
def test_module_facts(model, tokens):
    names = [name for name, _ in model.named_parameters()]
    count = sum(p.numel() for p in model.parameters())
    children = [type(child).__name__ for child in model.children()]
    first = model.blocks[0]
    return (
        model(tokens, None), names, count, children, len(model.blocks), first is model.get_submodule("blocks.0"),
        "a" in model.heads, model.training,
        hasattr(model, "offset"), hasattr(model, "nothing"), list(model.state_dict().keys()), [n for n, _ in model.named_buffers()],
        isinstance(first, nn.Linear), list(model.heads.keys()), [type(m).__name__ for m in model.modules()],
        first.weight is model.blocks[0].weight,
    )  # fmt: skip


def norm():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten())
    return model, torch.randn(2, 2, 8, 8)


@check(norm)
def test_batch_norm_in_training(model, x):
    return model(x), model[1].num_batches_tracked, model[1].running_mean


@check(lambda: (nn.MultiheadAttention(8, 2, batch_first=True).eval(), torch.ones(2, 3, 8)))
def test_multihead_attention(model, x):
    with torch.no_grad():
        model.in_proj_weight.fill_(0.1)
        model.out_proj.weight.fill_(0.2)
    return model(x, x, x, need_weights=False)[0]


class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2, bias=False)
        nn.init.ones_(self.inner.weight)

    def forward(self, x):
        return self.inner(x) + 1


HOOKED = Hooked()
HOOKED.inner.register_forward_hook(lambda module, args, result: result * 2)
HOOKED.inner.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
HOOKED.register_forward_hook(lambda module, args, kwargs, result: (result, len(args), list(kwargs)), with_kwargs=True)


@check(lambda: (torch.ones(1, 2),))
def test_hooks(x):
    return HOOKED(x), HOOKED(x=x)


def test_hooks_registered_later_are_seen():
    model = Hooked()
    compiled = framejit.compile(model, backend="eager")
    x = torch.ones(1, 2)
    before = compiled(x)
    handle = model.inner.register_forward_hook(lambda module, args, result: result * 10)
    assert torch.equal(compiled(x), model(x)) and not torch.equal(before, model(x))
    handle.remove()
    assert torch.equal(compiled(x), before)
    handle = nn.modules.module.register_module_forward_hook(lambda module, args, result: result + 1)
    try:
        assert torch.equal(compiled(x), model(x)) and not torch.equal(before, model(x))
    finally:
        handle.remove()
    assert torch.equal(compiled(x), before)


def test_changes_of_a_module_are_seen():
    model = Net().eval()
    counter = Counter()
    compiled = framejit.compile(model, backend=counter)
    tokens = torch.arange(4).reshape(1, 4)
    with torch.no_grad():
        assert torch.equal(compiled(tokens), model(tokens))
        model.blocks[1].weight.mul_(2)
        assert torch.equal(compiled(tokens), model(tokens)) and counter.graphs <= 2
        model.blocks[1] = nn.Linear(8, 8, bias=False)
        assert torch.equal(compiled(tokens), model(tokens))
        model.blocks.append(nn.Linear(8, 8))
        assert torch.equal(compiled(tokens), model(tokens))
        model.offset = torch.zeros(8)
        assert torch.equal(compiled(tokens), model(tokens))
        model.double()
        assert torch.equal(compiled(tokens), model(tokens))
        model.forward = lambda tokens: tokens * 2
        assert torch.equal(compiled(tokens), tokens * 2)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_training_steps_equal_eager(backend):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 3))
    other = copy.deepcopy(model)
    compiled = framejit.compile(other, backend=backend)
    data, labels = torch.randn(8, 4), torch.randint(0, 3, (8,))
    losses = []
    for run in (model, compiled):
        optimizer = torch.optim.AdamW((model if run is model else other).parameters(), lr=0.01)
        losses.append([])
        for _ in range(4):
            loss = nn.functional.cross_entropy(run(data), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    torch.testing.assert_close(losses[0], losses[1])


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=32, n_head=4, vocab_size=100)).eval(), torch.arange(12).reshape(2, 6)


def bert():
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    config = BertConfig(num_hidden_layers=2, hidden_size=32, num_attention_heads=4, intermediate_size=64, vocab_size=100)
    return BertModel(config).eval(), torch.arange(12).reshape(2, 6)


@pytest.mark.parametrize("make", [gpt2, bert])
@pytest.mark.parametrize("grad", [False, True])
def test_transformers_in_one_graph(make, grad):
    model, tokens = make()
    mask = torch.ones_like(tokens)
    mask[0, -2:] = 0
    counter = Counter()
    compiled = framejit.compile(model, backend=counter, fullgraph=True)
    with framejit.config.patch(strict=True), torch.set_grad_enabled(grad):
        for keywords in ({}, {"attention_mask": mask}):
            want, got = model(tokens, **keywords), compiled(tokens, **keywords)
            assert type(got) is type(want) and list(got) == list(want)
            torch.testing.assert_close(got[0], want[0], rtol=0, atol=0)
            assert got[0].requires_grad == grad
            torch.testing.assert_close(compiled(tokens, **keywords)[0], want[0], rtol=0, atol=0)
    assert counter.graphs == 2 and counter.runs == 4


def test_a_cache_grows_over_steps():
    model, tokens = gpt2()
    compiled = framejit.compile(model, backend="eager")
    with framejit.config.patch(strict=True), torch.no_grad():
        caches = [None, None]
        for step in range(3):
            results = [run(tokens[:, step : step + 1], past_key_values=cache, use_cache=True) for run, cache in zip((model,
            compiled), caches)]
            torch.testing.assert_close(results[0].logits, results[1].logits, rtol=0, atol=0)
            caches = [result.past_key_values if "past_key_values" in result else result.cache for result in results]
