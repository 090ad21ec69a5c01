"""Training: optimizers, accumulation, clipping, schedules, checkpoints, hooks and autograd functions, equal to eager."""

import copy
import threading

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from support import check, program

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
    "fused sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, fused=True),
    "adam": lambda p: torch.optim.Adam(p, lr=0.1),
    "adam foreach": lambda p: torch.optim.Adam(p, lr=0.1, foreach=True),
    "adam tensor": lambda p: torch.optim.Adam(p, lr=torch.tensor(0.1)),
    "fused adamw": lambda p: torch.optim.AdamW(p, lr=0.1, fused=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01, centered=True),
    "adagrad": torch.optim.Adagrad,
    "radam": torch.optim.RAdam,
}


def mlp():
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    def train(compiled):
        model = mlp()
        optimizer = OPTIMIZERS[name](model.parameters())
        loss, step = compiled(lambda x: model(x).pow(2).mean()), compiled(optimizer.step)
        losses = []
        for index in range(3):
            optimizer.zero_grad(set_to_none=index % 2 == 0)
            losses.append(loss(torch.ones(5, 3)))
            losses[-1].backward()
            step()
        return losses, model, optimizer.state_dict()["state"]

    program(tolerance=1e-4)(train)()


@program()
def test_one_whole_step(compiled):
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)

    def step(x):
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        schedule.step()
        return loss.detach(), norm, schedule.get_last_lr()

    step = compiled(step)
    steps = [step(torch.randn(4, 3)) for _ in range(3)]
    optimizer.param_groups[0]["lr"] = 1.0
    steps.append(step(torch.ones(4, 3)))
    model[0].weight.requires_grad_(False)
    return steps, step(torch.ones(4, 3)), model, optimizer.state_dict()["state"]


@program()
def test_accumulation_between_train_and_eval(compiled):
    model = compiled(nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.3)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for index in range(6):
        losses.append(model(torch.randn(4, 3)).pow(2).sum())
        losses[-1].backward()
        if index % 2:
            optimizer.step()
            optimizer.zero_grad()
        model.train(index != 3)
    return losses, model


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("inside", [True, False])
def test_checkpoint(reentrant, inside):
    def train(compiled):
        linear = nn.Linear(3, 3)

        def block(t):
            return torch.sin(F.dropout(linear(t), 0.5))

        block = block if inside else compiled(block)

        def loss(x):
            return checkpoint(block, x, use_reentrant=reentrant).sum()

        loss = compiled(loss) if inside else loss
        x = torch.randn(2, 3, requires_grad=True)
        for _ in range(2):
            loss(x).backward()
        block(x).sum().backward()
        loss(x).backward()
        return x, linear

    program()(train)()


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint_and_backward_in_one_function(reentrant):
    def train(compiled):
        layers = nn.Sequential(*[nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.2), nn.Tanh()) for _ in range(2)])

        def step(x):
            x = checkpoint(layers[0], x, use_reentrant=reentrant)
            loss = checkpoint_sequential(layers, 2, x, use_reentrant=reentrant).sum()
            loss.backward()
            return loss.detach()

        step = compiled(step)
        x = torch.randn(2, 3, requires_grad=True)
        return [step(x) for _ in range(3)], x, layers

    program()(train)()


def test_checkpoints_do_not_capture_again():
    graphs = []

    def backend(module, inputs):
        graphs.append(module)
        return module.forward

    def train(compiled):
        block = compiled(lambda t: t.sin().exp())
        x = torch.ones(2, requires_grad=True)
        for _ in range(12):
            checkpoint(block, x, use_reentrant=False).sum().backward()
        return x

    program(backend)(train)()
    assert len(graphs) == 1


@program("eager")
def test_saved_tensor_hooks_see_what_eager_saves(compiled):
    seen = []
    hooks = torch.autograd.graph.saved_tensors_hooks(
        lambda t: (seen.append(("pack", t.shape)), t * 2)[1], lambda t: (seen.append("unpack"), t / 2)[1]
    )

    def inside(x):
        with hooks:
            return x.sin().exp().sum()

    f, g = compiled(inside), compiled(lambda x: x.cos().exp().sum())
    x = torch.randn(3, requires_grad=True)
    for _ in range(2):
        f(x).backward()
        with hooks:
            loss = g(x)
        loss.backward()
    return x, seen


@program()
def test_hooks_added_and_removed(compiled):
    model, log = mlp(), []
    call, x = compiled(model), torch.randn(2, 3, requires_grad=True)
    handle = model[0].register_forward_hook(lambda module, args, result: log.append(result.shape))
    results = [call(x)]
    pre = model[0].register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    results.append(call(x))
    back = model[0].register_full_backward_hook(lambda module, to, of: log.append((len(to), of[0].shape)))
    results.append(call(x))
    results[-1].sum().backward()
    for each in (handle, pre, back):
        each.remove()
    model[0].weight.register_post_accumulate_grad_hook(lambda p: log.append("accumulated"))
    results.append(call(x))
    results[-1].sum().backward()
    return results, log, model, x


@program()
def test_tensor_hooks_and_retained_gradients(compiled):
    def loss(x):
        y = x * 2
        y.register_hook(lambda g: g * 10)
        y.retain_grad()
        return y, (y * y).sum()

    def here(x):
        handle = x.register_hook(lambda g: g + 1)
        total = (x * x).sum()
        total.backward()
        handle.remove()
        return total

    loss, here = compiled(loss), compiled(here)
    x = torch.ones(2, requires_grad=True)
    y, total = loss(x)
    total.backward()
    return y.grad, x, here(x), here(x)


class Straight(torch.autograd.Function):
    runs = 0

    @staticmethod
    def forward(ctx, x, scale=2):
        Straight.runs += 1
        ctx.save_for_backward(x)
        ctx.scale = scale
        mask = x > 0
        ctx.mark_non_differentiable(mask)
        return (x * scale).round(), mask

    @staticmethod
    def backward(ctx, g, _):
        (x,) = ctx.saved_tensors
        return g * x * ctx.scale, None


@program()
def test_autograd_function(compiled):
    Straight.runs = 0
    f = compiled(lambda x: Straight.apply(x.view(-1), 3))
    x = torch.randn(2, 2, requires_grad=True)
    results = [f(x) for _ in range(2)]
    for y, _ in results:
        y.sum().backward()
    with torch.no_grad():
        results.append(f(x))
    return results, x, f(x.detach()), Straight.runs


@program()
def test_mixed_precision(compiled):
    linear = nn.Linear(3, 3)
    optimizer, scaler = torch.optim.SGD(linear.parameters(), lr=0.1), torch.amp.GradScaler("cpu")

    def step(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(linear(x), torch.tensor([0, 1]))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    step = compiled(step)
    return [step(torch.ones(2, 3)) for _ in range(3)], linear, scaler.get_scale()


@program()
def test_parameters_are_tied_replaced_and_frozen(compiled):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.outer = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
            self.outer.weight = self.inner.weight

        def forward(self, tokens):
            return self.outer(self.inner(tokens))

    model, tokens = Tied(), torch.tensor([1, 2])
    call = compiled(model)
    results = [call(tokens)]
    results[0].sum().backward()
    model.outer.weight = nn.Parameter(model.inner.weight.detach() * 2)
    results.append(call(tokens))
    model.inner.weight = model.outer.weight
    results.append(call(tokens))
    results[-1].sum().backward()
    model.requires_grad_(False)
    results.append(call(tokens))
    model.load_state_dict({key: value + 1 for key, value in model.state_dict().items()}, assign=True)
    results.append(call(tokens))
    results.append(call.to(torch.float64)(tokens))
    return results, model


@program()
def test_moving_averages(compiled):
    model = mlp()
    average = copy.deepcopy(model)

    def update(decay):
        with torch.no_grad():
            for old, new in zip(average.parameters(), model.parameters(), strict=True):
                old.mul_(decay).add_(new, alpha=1 - decay)
            torch._foreach_mul_(list(average.parameters()), 0.9)

    update = compiled(update)
    for decay in (0.9, 0.99, 0.5):
        update(decay)
    return average, model


@program()
def test_sparse_gradients(compiled):
    bag, table = nn.EmbeddingBag(5, 3, mode="sum", sparse=True), nn.Embedding(5, 3, sparse=True, max_norm=1.0)
    first, second = compiled(lambda i, o: bag(i, o)), compiled(table)
    (first(torch.tensor([1, 2, 4]), torch.tensor([0, 2])).sum() + second(torch.tensor([1, 0])).sum()).backward()
    return bag.weight.grad.to_dense(), table.weight.grad.to_dense(), table.weight.detach()


@program()
def test_threads_share_a_model(compiled):
    model = mlp()
    call = compiled(model)

    def work():
        for _ in range(5):
            call(torch.ones(2, 3)).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return call(torch.ones(2, 3))


def step_and_fail(x, w, said):
    y = x * 2
    try:
        with torch.no_grad():
            w -= 0.5
            w.mul_(2)
        z = w.detach()
    except RuntimeError:
        said.append("wrong handler")
        return y, said
    try:
        z[1:3] = z[:2]  # overlaps, which no fake tells
    except RuntimeError as error:
        said.append(type(error).__name__)
    return z, said


@check(lambda: (torch.arange(4.0), torch.ones(4, requires_grad=True), []), lambda: (torch.arange(4.0), torch.nn.Parameter(torch.ones(4)), []), graphs=4, breaks=0)
def test_a_changed_leaf_is_restored_before_a_replay(x, w, said):
    return step_and_fail(x, w, said)
