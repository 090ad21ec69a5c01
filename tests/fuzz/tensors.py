"""Tensors whose sizes depend on numbers, gradients, reads of their values."""

from __future__ import annotations

from fuzz.expressions import LITERALS, templates
from fuzz.scope import Scope, indent
from fuzz.statements import KINDS, SIMPLE, Statements, maker

KINDS.update({"vector": 1.5, "shape": 0.5})  # type: ignore[dict-item]
LITERALS.update({
    "vector": lambda r: r.pick(["torch.ones(2)", "torch.arange(3.0)", "torch.zeros(1)", "torch.tensor([0.5, -1.0, 2.0, 4.0, -3.0])"]),
    "shape": lambda r: r.pick(["(4,)", "(2, 2)", "torch.Size([1, 4])", "(4, 1)"]),
})  # fmt: skip
templates(
    "vector",
    "@vector + 1", "@tensor[: @int % 4 + 1]", "@vector * @float", "torch.cat([@vector, @vector])[:6]", "@vector[1:]", "@vector.flip(0)", "torch.zeros(abs(@int) % 5 + 1)", "@vector[:-1]", "@vector.relu()",
    "torch.arange(float(abs(@int) % 6))", "torch.stack([@vector.sum(), @vector.mean()])", "torch.cat([@tensor, @vector])[:7]", "@vector.repeat(2)[:6]", "torch.ones(len(@list) + 1)", "@vector.new_ones(@vector.shape[0])",
    "@vector.reshape(-1)", "@vector.unsqueeze(0).expand(2, @vector.shape[0])[0]", "torch.full((abs(@int) % 3 + 1,), @float)", "@vector.clone()", "torch.nn.functional.pad(@vector, (0, 1))[:7]",
)  # fmt: skip
templates("shape", "@tensor.shape", "@vector.shape", "@matrix.size()", "torch.Size(@list[:2])", "@shape[::-1]", "(*@vector.shape, 2)", "@matrix.stride()")
templates("tensor", "torch.ones(4) * @vector.shape[0]", "@tensor + @vector.sum()", "@tensor * @vector.numel()", "@vector.sum().expand(4)", "torch.zeros(4).index_add(0, torch.tensor([0, 1]), torch.ones(2) * @int)")
templates("matrix", "@tensor.view(1, 4).expand(2, 4)", "torch.outer(@tensor[:2] * @vector.shape[0], @tensor)", "@matrix + @vector.shape[0]")
templates("int", "@vector.shape[0]", "len(@vector)", "@vector.numel()", "@vector.size(0) * 2", "@matrix.shape[-1]", "len(@shape)", "@shape[0]", "@vector.dim()", "int(@itensor.sum()) % 50", "@itensor[0].item()", "sum(@itensor.tolist()) % 40")
templates("bool", "(@vector.shape[0] > @int)", "(@vector.shape == @vector.shape)", "bool(@tensor.sum() > @int)", "torch.equal(@tensor, @tensor)", "(@vector.shape[0] % 2 == 0)", "@tensor.requires_grad", "torch.is_tensor(@vector)", "torch.allclose(@tensor, @tensor)")
templates("float", "@itensor.sum().item() * 0.5", "@vector.shape[0] / 2", "float(@itensor[1])", "@vector.numel() * 0.25")
templates("str", "str(@vector.shape)", "f'{@vector.shape[0]}'", "str(@tensor.dtype)", "str(tuple(@shape))")
templates("list", "list(@vector.shape)", "@itensor.tolist()", "[k for k in range(@vector.shape[0])]", "list(@shape)")
SIMPLE += [
    ("@=vector += 1", 0.6), ("@=vector[0] = @int", 0.4), ("@=vector = @vector[: @int % 3 + 1]", 0.4), ("@=vector.mul_(0.5)", 0.4), ("LOG.append(@vector.shape)", 0.4), ("LOG.append(@vector.tolist())", 0.3),
    ("@=vector = torch.cat([@vector, torch.zeros(1)])[:6]", 0.4), ("@=vector, @=int = @vector, @vector.shape[0]", 0.3), ("BOX.tensor = @vector", 0.3), ("assert @vector.shape[0] < 20", 0.2), ("@=vector[@int % 2:] -= 1", 0.2),
    ("@=int = @itensor[@int % 4].item() % 50", 0.2), ("G_LIST.extend(@itensor.tolist()[:2])", 0.2), ("@=tensor.data = @tensor", 0.05), ("@=tensor.grad = None", 0.1),
]  # fmt: skip


@maker(0.8)
def _gradient(gen: Statements, scope: Scope, depth: int) -> list[str]:
    """A leaf, what is computed of it, and its gradient, by torch.autograd.grad or backward."""
    leaf, loss, grad = gen.source.fresh("w"), gen.source.fresh("loss"), gen.new(scope, "tensor")
    lines = [f"{leaf} = torch.ones(4, requires_grad=True)", f"{loss} = (({gen.e('tensor', scope)}).detach().float() * {leaf}).{gen.source.pick(['sum', 'mean'])}()"]
    if gen.source.chance(0.4):
        lines += [f"if {gen.e('bool', scope)}: {loss} = {loss} * ({gen.e('int', scope)})"]
    lines += gen.source.pick([
        [f"{grad}, = torch.autograd.grad({loss}, {leaf})"], [f"{loss}.backward()", f"{grad} = {leaf}.grad"], [f"{grad} = {loss}.detach().expand(4).clone()"], [f"{grad} = {leaf} * {loss}", f"KEPT.append({grad})", f"{grad} = {grad}.detach()"],
        [f"with torch.no_grad(): {leaf} -= 0.5", f"{grad} = {leaf}.detach()"],
    ])  # fmt: skip
    return lines


@maker(0.8)
def _sizes(gen: Statements, scope: Scope, depth: int) -> list[str]:
    """A loop that grows or shrinks a tensor, or chooses by its size."""
    name = gen.new(scope, "vector")
    return [f"{name} = {gen.e('vector', scope)}", *gen.source.pick([
        [f"while {name}.shape[0] > 2:", *indent([f"{name} = {name}[1:] + {name}[:-1]"])], [f"for k in range(abs({gen.e('int', scope)}) % 3): {name} = torch.cat([{name}, {name}[:1] * k])"],
        [f"if {name}.shape[0] > {gen.source.small(0, 4)}:", *gen.block(scope, depth, 1, 2), "else:", *indent([f"{name} = {name} * 2"])],
        [f"for part in {name}[:3]: LOG.append(part.shape)"], [f"for part in {name}.split(2): {name} = {name} + part.sum()"], [f"{name} = sum(({name} * k for k in range({name}.shape[0] % 4)), start={name})"],
    ])]  # fmt: skip
