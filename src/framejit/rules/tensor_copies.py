"""Copies of tensors, and of torch's small objects, by `copy.copy` and `copy.deepcopy`: operators of the graph where the copy is plain."""

from __future__ import annotations

import copy
import types
from typing import Any

import torch

from framejit.core.services import Pending, Services
from framejit.core.value import Const, Node, Pack, Value
from framejit.objects.tensor import is_tensor_like
from framejit.objects.tuple_ import items
from framejit.reasons import R
from framejit.rules.builtins_ import takes
from framejit.rules.registry import pure

COPY = types.FunctionType(copy.copy.__code__, vars(copy), "copy")
COPIED = "copied tensors"  # in the trace's cache, with the memo: the tensors whose storages it has

pure((torch.dtype.__reduce__, torch.device.__reduce__))


@takes(torch.Size.__reduce__, "self /")
def reduce_size(s: Services, self: Value) -> Value:
    return Pack(tuple, (Const(torch.Size), Pack(tuple, (Pack(tuple, tuple(items(s, s.force(self)))),))))


@takes(copy.copy, "x")
def shallow(s: Services, x: Value) -> Value | Pending:
    """A new tensor on the same storage, no view; everything else is copied by the Python code."""
    v = s.force(x)
    if not is_tensor_like(v):
        return s.tail_call(Const(COPY), [x])
    return s.getattr(_plain(s, v, "copy"), "data")


@takes(torch.Tensor.__deepcopy__, "self memo")
def deep(s: Services, self: Value, memo: Value) -> Value:
    v = s.force(self)
    if is_tensor_like(v) and not s.truth(s.getattr(v, "is_leaf")):
        s.raise_error(RuntimeError, *_no_leaf())
    key = s.call(Const(id), [self])
    if s.truth(s.contains(memo, key)):
        return s.getitem(memo, key)
    node = _plain(s, v, "__deepcopy__")
    if node.fake.storage_offset() or not _is_dense(node.fake) or s.constant(s.getattr(node, "grad")) is not None:
        s.unsupported(R.OPAQUE_CALL, v, "__deepcopy__")
    place = COPIED, s.force(memo)
    earlier: tuple[Node, ...] = s.trace.cache.get(place, ())
    _apart(s, node, earlier)
    s.trace.trail.put(s.trace.cache, place, (*earlier, node))
    made = s.operator("call_method", "copy_", [s.operator("call_function", torch.empty_like, [node]), node])  # its version is 1
    s.setitem(memo, key, made)
    return made


def _plain(s: Services, v: Value, name: str) -> Node:
    """The tensor, if nothing but its elements and its sizes are to be copied."""
    if not isinstance(v, Node) or v.cls is not torch.Tensor or s.dict_of(v) is not None:
        return s.unsupported(R.OPAQUE_CALL, v, name)
    fake = v.fake
    if fake.requires_grad or fake.is_conj() or fake.is_neg() or fake.is_inference() or fake.layout is not torch.strided:
        return s.unsupported(R.OPAQUE_CALL, v, name)
    return v


def _no_leaf() -> tuple[Any, ...]:
    """What torch says of tensors that autograd made."""
    try:
        copy.deepcopy(torch.ones(1, requires_grad=True) * 1)
    except RuntimeError as error:
        return error.args
    raise AssertionError("torch copies a tensor that is no leaf")


def _is_dense(fake: torch.Tensor) -> bool:
    """Whether the elements fill their part of the storage, so that a clone has the same strides."""
    extent = 1
    for stride, size in sorted(zip(fake.stride(), fake.shape, strict=True)):
        if size == 1:
            continue
        if stride != extent:
            return False
        extent *= size
    return bool(fake.numel())


def _apart(s: Services, node: Node, earlier: tuple[Node, ...]) -> None:
    """Tensors of one storage would be copied to one storage."""
    for other in earlier:
        shared = node.fake.untyped_storage()._cdata == other.fake.untyped_storage()._cdata
        if node.real is not None and other.real is not None:
            shared |= node.real.untyped_storage().data_ptr() == other.real.untyped_storage().data_ptr()
        if shared:
            s.unsupported(R.OPAQUE_CALL, node, "__deepcopy__ of tensors that share memory")
    paths = tuple(other.path for other in earlier if other.path is not None)
    if node.path is not None and paths:
        s.guard(None, "NO_OVERLAP", (1, (node.path, *paths)))
