"""Tensors: graph nodes with fake tensors; metadata are facts, everything else is an operator of the graph."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from framejit import _C
from framejit.core.heap import MISSING
from framejit.core.path import ATTR, Path
from framejit.core.services import Pending, Services
from framejit.core.trace import Trace, meta_key
from framejit.core.value import FALSE, NONE, Const, Node, Number, Pack, Ref, Value, bool_const
from framejit.objects.fold import COMPARISONS, OPERATORS, UNARY
from framejit.objects.model import Model, model
from framejit.objects.tuple_ import TupleModel, items
from framejit.reasons import R

PLAIN_TYPES = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)
INPLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv, "//=": operator.ifloordiv,
    "%=": operator.imod, "**=": operator.ipow, "&=": operator.iand, "|=": operator.ior, "^=": operator.ixor,
    "<<=": operator.ilshift, ">>=": operator.irshift, "@=": operator.imatmul,
}  # fmt: skip

# Attributes that follow from metadata which the guard on an input covers.
METADATA = frozenset({
    "shape", "ndim", "dtype", "device", "layout", "requires_grad", "is_leaf", "itemsize", "nbytes", "is_cpu", "is_cuda",
    "is_ipu", "is_maia", "is_meta", "is_mkldnn", "is_mps", "is_mtia", "is_nested", "is_quantized", "is_sparse", "is_sparse_csr",
    "is_vulkan", "is_xla", "is_xpu", "_has_symbolic_sizes_strides",
})  # fmt: skip
GRAPH_ATTRIBUTES = frozenset({"T", "mT", "H", "mH", "real", "imag", "data"})


def is_tensor_like(v: Value) -> bool:
    """Whether the value is a tensor of the graph (and not a number of the graph)."""
    return isinstance(v, Node) and issubclass(v.cls, torch.Tensor)


@model(torch.Tensor)
class TensorModel(Model):
    """torch.Tensor and torch.nn.Parameter; other subclasses end the region."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        known = s.trace.known.get(id(real))
        if known is not None:
            if known.path is not path:  # type: ignore[attr-defined]
                s.guard(path, "SAME", known.path)  # type: ignore[attr-defined]
            return known
        refuse(s, real)
        s.guard(path, "TENSOR", _C.tensor_check(real))
        fake = fake_of(s.trace, real)
        value = Node(type(real), None, fake, path, meta_key(fake), real)
        value.node = s.trace.placeholder(path, real, value, fake, _input_name(path))
        s.trace.remember(real, value)
        return value

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | Pending | None:
        assert isinstance(v, Node)
        if name == "is_leaf" and v.path is not None and v.fake.requires_grad:
            return s.input(v.path.to(ATTR, name), v.fake.is_leaf)
        if name in METADATA:
            return s.wrap(getattr(v.fake, name))
        if name in GRAPH_ATTRIBUTES:
            return _graph_attribute(s, v, name)
        special = ATTRIBUTES.get(name)
        if special is not None:
            return special(s, v)
        if hasattr(type(found), "__set__"):  # another attribute computed in C
            return s.unsupported(R.ATTRIBUTE_OF_OPAQUE, v, name)
        return None

    def set_attribute(self, s: Services, v: Value, name: str, found: Any, new: Value | None) -> bool:
        assert isinstance(v, Node)
        if name == "requires_grad" and new is not None and s.constant(new) is v.fake.requires_grad:
            return True
        return bool(s.unsupported(R.TENSOR_ATTRIBUTE_STORE, v, name))

    def getitem(self, s: Services, v: Value, key: Value) -> Value:
        return s.operator("call_function", operator.getitem, [v, key])

    def setitem(self, s: Services, v: Value, key: Value, new: Value) -> None:
        s.operator("call_function", operator.setitem, [v, key, new])

    def len(self, s: Services, v: Value) -> Value | None:
        shape = v.fake.shape  # type: ignore[attr-defined]
        if not shape:
            s.raise_error(TypeError, "len() of a 0-d tensor")
        return s.wrap(shape[0])

    def truth(self, s: Services, v: Value) -> bool | None:
        return bool(s.unsupported(R.DATA_DEPENDENT_BRANCH, v))

    def contains(self, s: Services, v: Value, item: Value) -> Value | None:
        return s.unsupported(R.DATA_DEPENDENT_BRANCH, v, "in")

    def iter(self, s: Services, v: Value) -> Value:
        if not v.fake.shape:  # type: ignore[attr-defined]
            s.raise_error(TypeError, "iteration over a 0-d tensor")
        return s.iter(s.operator("call_method", "unbind", [v, Const(0)]))

    def binary(self, s: Services, symbol: str, left: Value, right: Value, reflected: bool) -> Value | None:
        other = left if reflected else right
        if not _is_operand(s, other):
            return None
        function = INPLACE.get(symbol)
        if function is None:
            function = OPERATORS[symbol]
        elif symbol == "@=" or not isinstance(left, Node):
            return None
        return s.operator("call_function", function, [left, right])

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        if not _is_operand(s, other):
            return None
        return s.operator("call_function", COMPARISONS[symbol], [v, other])

    def unary(self, s: Services, symbol: str, v: Value) -> Value:
        return s.operator("call_function", UNARY[symbol], [v])

    def hash_key(self, s: Services, v: Value) -> Any:
        return v


def _is_operand(s: Services, v: Value) -> bool:
    if isinstance(v, (Node, Number)):
        return True
    if s.type_lookup(v.cls, "__torch_function__") is not MISSING:
        s.unsupported(R.TENSOR_SUBCLASS, v.cls, "__torch_function__")
    if isinstance(v, Const):
        return issubclass(type(v.obj), (int, float, complex))
    return isinstance(v, Ref) and issubclass(v.cls, (int, float))


# -- attributes -----------------------------------------------------------------------------------------------------------


def _graph_attribute(s: Services, v: Node, name: str) -> Value:
    if name == "real" and not v.fake.is_complex():
        return v
    return s.operator("call_function", getattr, [v, Const(name)])


def _grad(s: Services, v: Node) -> Value:
    if v.path is None or v.real is None:
        if v.fake.is_leaf:
            return NONE
        return s.unsupported(R.ATTRIBUTE_OF_OPAQUE, v, "grad of a tensor that is no leaf")
    if not v.real.is_leaf:  # reading it warns
        return s.unsupported(R.ATTRIBUTE_OF_OPAQUE, v, "grad of a tensor that is no leaf")
    return s.input(v.path.to(ATTR, "grad"), v.real.grad)


def _grad_fn(s: Services, v: Node) -> Value:
    return NONE if v.fake.is_leaf else s.unsupported(R.ATTRIBUTE_OF_OPAQUE, v, "grad_fn")


def _base(s: Services, v: Node) -> Value:
    return s.unsupported(R.ATTRIBUTE_OF_OPAQUE, v, "_base") if v.fake._is_view() else NONE


ATTRIBUTES: dict[str, Callable[[Services, Node], Value]] = {
    "grad": _grad, "grad_fn": _grad_fn, "_base": _base, "name": lambda s, v: NONE,
    "retains_grad": lambda s, v: FALSE if v.path is None or v.fake.is_leaf else s.unsupported(R.ATTRIBUTE_OF_OPAQUE, v, "retains_grad"),
}  # fmt: skip


# -- inputs ---------------------------------------------------------------------------------------------------------------


def refuse(s: Services, real: torch.Tensor) -> None:
    """End the region for tensors that are not modelled: subclasses and the kinds that a plain fake cannot stand for."""
    if type(real) not in PLAIN_TYPES:
        s.unsupported(R.TENSOR_SUBCLASS, type(real))
    if real.layout is not torch.strided or real.is_quantized or real.is_nested:
        s.unsupported(R.UNKNOWN_TYPE, type(real), f"a tensor with layout {real.layout}")
    try:
        _ = real.is_leaf  # autograd brings a view up to date when it is asked: before its metadata are looked at
    except RuntimeError as error:
        s.unsupported(R.UNKNOWN_TYPE, type(real), str(error))
    if torch._C._functorch.is_functorch_wrapped_tensor(real) or torch._is_functional_tensor(real):
        s.unsupported(R.HOOK_MODE, type(real), "a tensor of a functorch transform")


def fake_of(trace: Trace, real: torch.Tensor) -> torch.Tensor:
    """The fake tensor of a graph input: an inference tensor where the real one is, whatever mode is on."""
    inference = real.is_inference()
    if inference == torch.is_inference_mode_enabled():
        return _fake_of(trace, real)
    with torch.inference_mode(inference):
        return _fake_of(trace, real)


def _fake_of(trace: Trace, real: torch.Tensor) -> torch.Tensor:
    """The common case, a leaf that is no view, is built by hand."""
    if real._is_view() or not real.is_leaf or real.storage_offset() or real.is_conj() or real.is_neg() or real.is_inference():
        return trace.fake_mode.from_tensor(real, static_shapes=True)
    meta = torch.empty_strided(real.shape, real.stride(), dtype=real.dtype, device="meta", requires_grad=real.requires_grad)
    fake: torch.Tensor = FakeTensor(trace.fake_mode, meta, real.device)
    if issubclass(type(real), torch.nn.Parameter):
        fake._is_param = True
    return fake


def _input_name(path: Path) -> str:
    arg = path.arg
    name = arg if isinstance(arg, str) else arg[1] if isinstance(arg, tuple) and len(arg) == 2 else ""
    return name if isinstance(name, str) and name.isidentifier() and name != "self" else "arg"


# -- sizes --------------------------------------------------------------------------------------------


@model(torch.Size)
class SizeModel(TupleModel):
    """torch.Size: a tuple whose slices and sums are sizes too."""

    __slots__ = ()

    def getitem(self, s: Services, v: Value, key: Value) -> Value:
        return _as_size(super().getitem(s, v, key), s.force(key).cls is slice)

    def binary(self, s: Services, symbol: str, left: Value, right: Value, reflected: bool) -> Value | None:
        if symbol == "+":
            if not issubclass(left.cls, tuple) or not issubclass(right.cls, tuple):
                return None
            return Pack(torch.Size, items(s, left) + items(s, right))
        result = super().binary(s, symbol, left, right, reflected)
        return _as_size(result, True) if result is not None else None

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        return None


def _as_size(result: Value, wanted: bool) -> Value:
    if wanted and isinstance(result, Pack):
        return Pack(torch.Size, result.items)
    return result


__all__ = ["SizeModel", "TensorModel", "bool_const", "fake_of", "is_tensor_like", "refuse"]
