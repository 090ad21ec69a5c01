"""What is known of operators before they run: which change an operand, which draw random numbers, which take program numbers."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch._ops import OpOverload, OpOverloadPacket

INPLACE_OPERATORS = frozenset({
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod, operator.ipow,
    operator.imatmul, operator.iand, operator.ior, operator.ixor, operator.ilshift, operator.irshift, operator.setitem,
    operator.delitem,
})  # fmt: skip
INPLACE_METHODS = frozenset({
    "__iadd__", "__isub__", "__imul__", "__idiv__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__", "__iand__", "__ior__",
    "__ixor__", "__ilshift__", "__irshift__", "__setitem__",
})  # fmt: skip

# Operators whose metadata of the result is the same for every int operand, and which all backends take with a symbol.
NUMBER_OPERATORS = frozenset({
    operator.add, operator.sub, operator.mul, operator.truediv, operator.eq, operator.ne, operator.lt, operator.le,
    operator.gt, operator.ge, torch.add, torch.sub, torch.mul, torch.div, torch.eq, torch.ne, torch.lt, torch.le, torch.gt,
    torch.ge, "add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge",
})  # fmt: skip

# Operators that take a number on the left; a division by a tensor multiplies by its reciprocal, which no operator on two tensors does.
LEFT_OPERATORS = frozenset({
    operator.add, operator.sub, operator.mul, operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
})  # fmt: skip

# A tensor does these with a number on the left as with one on the right; two tensors round otherwise in another order.
REFLECTED = frozenset({operator.add, operator.mul})

# Constructors that take a number's type for the dtype: numpy's float64 is no float to them.
DATA_OPERATORS = frozenset({torch.tensor, torch.as_tensor, torch.asarray, "new_tensor"})

RANDOM_NAMES = frozenset({
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "bernoulli", "bernoulli_",
    "multinomial", "normal", "normal_", "uniform_", "random_", "exponential_", "geometric_", "cauchy_", "log_normal_",
    "poisson", "binomial", "dropout", "dropout_", "alpha_dropout", "alpha_dropout_", "feature_dropout", "feature_dropout_",
    "feature_alpha_dropout", "feature_alpha_dropout_", "native_dropout", "rrelu", "rrelu_", "_standard_gamma",
    "_sample_dirichlet", "lstm", "gru", "rnn_tanh", "rnn_relu", "dropout1d", "dropout2d", "dropout3d", "gumbel_softmax",
    "multi_head_attention_forward", "scaled_dot_product_attention", "fractional_max_pool2d", "fractional_max_pool3d",
    "fractional_max_pool2d_with_indices", "fractional_max_pool3d_with_indices", "svd_lowrank", "pca_lowrank",
})  # fmt: skip

# Operators that refuse bools.
SUBTRACTIONS = frozenset({"sub", "sub_", "rsub", "subtract", "subtract_", "isub", "__sub__", "__rsub__", "__isub__"})

# Functions that change running statistics when a flag is set: its position, name and default.
TRAINING_FLAG = {F.batch_norm: (5, "training", False), F.instance_norm: (5, "use_input_stats", True)}


def takes_numbers(target: Any) -> bool:
    """Whether an int that is not constant may be an input of the graph for this operator."""
    return target in NUMBER_OPERATORS


def takes_float(target: Any, args: Sequence[Any], number: Any) -> bool:
    """Whether a float that is not constant may be an input of the graph, as a float64 tensor without dimensions.

    Beside a tensor of floats that has dimensions it promotes nothing and is computed with as the float itself is.
    """
    if len(args) != 2 or target not in NUMBER_OPERATORS or (args[0] is number and target not in LEFT_OPERATORS):
        return False
    other = args[1] if args[0] is number else args[0]
    fake = getattr(other, "fake", None)
    return isinstance(fake, torch.Tensor) and fake.dim() > 0 and (fake.dtype.is_floating_point or fake.dtype.is_complex)


def name_of(target: Any) -> str:
    """The operator's plain name."""
    if isinstance(target, str):
        return target
    if isinstance(target, OpOverload):
        return target._schema.name.partition("::")[2]
    return getattr(target, "__name__", "")


def mutates(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the operator may change one of its operands in place."""
    if kwargs.get("out") is not None or kwargs.get("inplace"):
        return True
    if isinstance(target, str):
        return (target.endswith("_") and not target.endswith("__")) or target in INPLACE_METHODS
    if isinstance(target, OpOverload):
        return target._schema.is_mutable
    if isinstance(target, OpOverloadPacket):
        return any(getattr(target, name)._schema.is_mutable for name in target.overloads())
    if target in INPLACE_OPERATORS or name_of(target).endswith("_"):
        return True
    if target in TRAINING_FLAG:
        return flag(args, kwargs, *TRAINING_FLAG[target]) and argument(args, kwargs, 1, "running_mean") is not None
    if target is F.embedding:
        return argument(args, kwargs, 3, "max_norm") is not None
    code = getattr(target, "__code__", None)
    if code is not None and "inplace" in code.co_varnames[: code.co_argcount]:
        return flag(args, kwargs, code.co_varnames.index("inplace"), "inplace")
    return False


def draws_random(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the operator may advance a random generator."""
    if isinstance(target, OpOverload):
        return torch.Tag.nondeterministic_seeded in target.tags
    name = name_of(target)
    if name not in RANDOM_NAMES:
        return False
    if name == "dropout" and not isinstance(target, str):
        return flag(args, kwargs, 2, "training" if target is F.dropout else "train", True)
    if name == "scaled_dot_product_attention":
        return argument(args, kwargs, 4, "dropout_p", 0.0) != 0.0
    return True


def argument(args: tuple[Any, ...], kwargs: dict[str, Any], position: int, name: str, default: Any = None) -> Any:
    """An argument by position or name."""
    return args[position] if len(args) > position else kwargs.get(name, default)


def flag(args: tuple[Any, ...], kwargs: dict[str, Any], position: int, name: str, default: bool = False) -> bool:
    """A boolean argument; true when it is no constant."""
    return bool(argument(args, kwargs, position, name, default))
