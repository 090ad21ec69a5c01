"""torch.autograd: functions whose call needs no gradient are captured, all else is left to CPython."""

from __future__ import annotations

import torch

from framejit.core.services import Services
from framejit.core.value import Const, Node, Pack, Value
from framejit.lib.autograd import Context
from framejit.reasons import R
from framejit.rules import torch_state
from framejit.rules.registry import handler


@handler(torch.autograd.backward, torch.autograd.grad)
def backward(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return s.unsupported(R.BACKWARD)


@handler(torch.autograd.Function.apply.__func__)
def apply_function(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    cls, inputs = s.force(args[0]), [s.force(arg) for arg in args[1:]]
    function = s.constant(cls)
    enabled = torch_state.read(s, "grad")
    if kwargs or (enabled and any(isinstance(v, Node) and v.fake.requires_grad for v in inputs)):
        s.unsupported(R.OPAQUE_CALL, function, "an autograd function whose backward is needed")
    context = s.call(Const(Context), [Const(len(inputs))])
    torch_state.write(s, False, "grad")
    try:
        if function.setup_context is torch.autograd.function._SingleLevelFunction.setup_context:
            result = s.call(s.getattr(cls, "forward"), [context, *inputs])
        else:
            result = s.call(s.getattr(cls, "forward"), inputs)
            s.call(s.getattr(cls, "setup_context"), [context, Pack(tuple, tuple(inputs)), result])
    finally:
        torch_state.write(s, enabled, "grad")
    result = s.force(result)
    outputs = [s.force(item) for item in result.items] if isinstance(result, Pack) else [result]
    if any(isinstance(output, Node) and output in inputs for output in outputs):
        s.unsupported(R.OPAQUE_CALL, function, "an autograd function that returns its argument")
    return result
