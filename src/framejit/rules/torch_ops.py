"""Torch's functions and tensor methods: most are operators of the graph, some are facts, some end the region."""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch._C._nn
import torch._higher_order_ops as higher_order
import torch.fft
import torch.functional
import torch.linalg
import torch.nn.functional as F
import torch.special
import torch.utils.checkpoint
from torch._functorch import eager_transforms, vmap
from torch._ops import OpOverload, OpOverloadPacket, _OpNamespace, _Ops

from framejit import interop
from framejit.core.errors import Retrace
from framejit.core.heap import MISSING
from framejit.core.path import ATTR, DICT_ITEM
from framejit.core.services import Pending, Services
from framejit.core.value import FALSE, NONE, TRUE, Const, Node, Pack, Ref, Value, bool_const
from framejit.objects.constants import tuple_items
from framejit.objects.tensor import is_tensor_like
from framejit.reasons import R
from framejit.rules.registry import HANDLERS, Handler, handler, pure

# Methods whose result follows from the metadata that the guard on an input covers.
METADATA_METHODS = (
    "size", "dim", "ndimension", "stride", "numel", "nelement", "is_contiguous", "element_size", "is_floating_point",
    "is_complex", "is_signed", "get_device", "is_conj", "is_neg", "is_inference", "is_same_size", "sparse_dim", "dense_dim",
)  # fmt: skip
SCALAR_READS = (
    "item", "tolist", "numpy", "__array__", "__int__", "__float__", "__bool__", "__index__", "__complex__", "__long__",
    "is_nonzero", "equal", "allclose", "__contains__", "nonzero_static",
)  # fmt: skip
BACKWARD = ("backward", "register_hook", "retain_grad", "register_post_accumulate_grad_hook", "reinforce")
LEFT_ALONE = (
    "data_ptr", "storage", "untyped_storage", "_typed_storage", "storage_type", "storage_offset", "is_shared",
    "is_pinned", "share_memory_", "set_", "resize_", "resize_as_", "resize", "resize_as", "detach_", "pin_memory",
    "record_stream", "apply_", "map_", "map2_", "has_names", "rename", "rename_", "dim_order", "module_load", "is_set_to",
    "const_data_ptr", "_is_view",
    "_make_subclass", "_make_wrapper_subclass", "__reduce_ex__", "__setstate__", "__dlpack__", "__dlpack_device__",
    "__array_wrap__", "__repr__", "__format__", "__dir__", "to_sparse", "to_sparse_coo", "to_sparse_csr", "to_mkldnn", "as_subclass",
    "_reduce_ex_internal", "_clear_non_serializable_cached_data", "sparse_resize_", "sparse_resize_and_clear_", "type",
)  # fmt: skip
PYTHON_METHODS = (
    "__floordiv__", "__ipow__", "__pow__", "__rdiv__", "__rfloordiv__", "__rlshift__", "__rmatmul__", "__rmod__", "__rpow__",
    "__rrshift__", "__rsub__", "__rtruediv__", "__reversed__", "istft", "lu", "norm", "split", "stft", "unflatten", "unique",
    "unique_consecutive",
)  # fmt: skip
NO_OPERATORS = frozenset({
    "assert_int_or_pair", "boolean_dispatch", "handle_torch_function", "has_torch_function", "has_torch_function_unary",
    "has_torch_function_variadic",
})  # fmt: skip
NO_TENSOR_FUNCTIONS = frozenset({
    "broadcast_shapes", "unravel_index", "from_file", "frombuffer", "from_numpy", "is_vulkan_available", "set_printoptions",
    "get_default_dtype", "is_grad_enabled", "set_grad_enabled", "is_inference_mode_enabled", "is_inference", "_C", "torch",
})  # fmt: skip


Answer = Value | Pending | types.NotImplementedType


def graph_function(target: Any) -> Handler:
    """The handler that puts a call into the graph as it is."""

    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return s.operator("call_function", target, args, kwargs)

    return call


def graph_method(name: str) -> Handler:
    """The handler that puts a method call into the graph as it is."""

    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return s.operator("call_method", name, args, kwargs)

    return call


def metadata_method(name: str) -> Handler:
    """The handler of a method that only looks at metadata."""

    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        v = s.force(args[0])
        if kwargs or not is_tensor_like(v) or not all(s.is_constant(arg) for arg in args[1:]):
            return s.operator("call_method", name, args, kwargs)
        try:
            return s.wrap(getattr(v.fake, name)(*[s.constant(arg) for arg in args[1:]]))  # type: ignore[attr-defined]
        except (IndexError, TypeError, RuntimeError) as error:
            return s.raise_real(error)

    return call


def ends(reason: R, name: str) -> Handler:
    """The handler that leaves a call to CPython."""

    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return s.unsupported(reason, args[0] if args else None, name)

    return call


def _register_methods() -> None:
    chosen: dict[str, Handler] = {name: metadata_method(name) for name in METADATA_METHODS}
    chosen.update((name, ends(R.SCALAR_READ, name)) for name in SCALAR_READS)
    chosen.update((name, ends(R.BACKWARD, name)) for name in BACKWARD)
    chosen.update((name, ends(R.OPAQUE_CALL, name)) for name in LEFT_ALONE if name != "type")
    chosen.update((name, graph_method(name)) for name in PYTHON_METHODS)
    for name in dir(torch.Tensor):
        found = inspect.getattr_static(torch.Tensor, name)
        if getattr(found, "__objclass__", None) is object:
            continue
        if isinstance(found, (types.FunctionType, types.MethodDescriptorType)) and found not in HANDLERS:
            if name in chosen:
                HANDLERS[found] = chosen[name]
            elif isinstance(found, types.MethodDescriptorType):
                HANDLERS[found] = graph_method(name)


def _register_functions(functions: Iterable[tuple[str, Any]]) -> None:
    for name, function in functions:
        if name.startswith("__") or name in NO_OPERATORS or name in NO_TENSOR_FUNCTIONS:
            continue
        if isinstance(function, (types.BuiltinFunctionType, types.FunctionType)) and function not in HANDLERS:
            HANDLERS[function] = graph_function(function)


def _members(namespace: Any, names: Iterable[str]) -> list[tuple[str, Any]]:
    return [(name, getattr(namespace, name)) for name in names if hasattr(namespace, name)]


def _is_functional(name: str) -> bool:
    origin = getattr(getattr(F, name), "__module__", None) or ""
    return not name.startswith("_") and origin.startswith(("torch._jit_internal", "torch.nn.functional", "torch._C"))


# -- handlers of their own, before the tables are filled ------------------------------------------------------------------


@handler(torch.is_tensor)
def is_tensor(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return bool_const(is_tensor_like(s.force((args or list(kwargs.values()))[0])))


@handler(torch.Tensor.type)
def tensor_type(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value | Pending:
    if len(args) == 1 and not kwargs:
        fake = s.force(args[0]).fake  # type: ignore[attr-defined]
        return Const(torch.empty(0, dtype=fake.dtype).type()) if fake.device.type == "cpu" else ends(R.OPAQUE_CALL, "type")(s, args, kwargs)
    return s.operator("call_method", "type", args, kwargs)


@handler(torch.Tensor.__getitem__)
def tensor_getitem(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return s.getitem(args[0], args[1])


@handler(torch.Tensor.__setitem__)
def tensor_setitem(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    s.setitem(args[0], args[1], args[2])
    return NONE


@handler(torch.Tensor.requires_grad_)
def requires_grad_(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    v = s.force(args[0])
    wanted = s.constant([*args[1:], *kwargs.values(), Const(True)][0])
    if is_tensor_like(v) and v.fake.requires_grad is wanted:  # type: ignore[attr-defined]
        return v
    return s.unsupported(R.TENSOR_ATTRIBUTE_STORE, v, "requires_grad")


def _has_torch_function(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    for value in map(s.force, args):
        if (items := tuple_items(s, value)) is not None:
            _has_torch_function(s, list(items), {})
        elif isinstance(value, Ref) and value.cls is list:
            _has_torch_function(s, s.unpack(value), {})
        elif isinstance(value, Ref) and s.type_lookup(value.cls, "__torch_function__") is not MISSING:
            s.unsupported(R.TENSOR_SUBCLASS, value.cls, "__torch_function__")
    return FALSE


handler(torch._C._has_torch_function, torch._C._has_torch_function_unary, torch._C._has_torch_function_variadic)(_has_torch_function)


@handler(torch.Size)
def make_size(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    items = s.unpack(args[0]) if args else []
    if kwargs or len(args) > 1 or not all(s.is_constant(item) and isinstance(s.constant(item), int) for item in items):
        s.unsupported(R.OPAQUE_CALL, torch.Size)
    return Pack(torch.Size, tuple(items))


@handler(torch.Size.numel)
def size_numel(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Const(math.prod(s.constant(item) for item in s.unpack(args[0])))


@handler(torch.nn.Parameter, torch.nn.Buffer, torch.Tensor)
def make_tensor_object(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return s.unsupported(R.OPAQUE_CALL, None, "a tensor object is made outside the graph")


@handler(type(torch.FloatTensor).__instancecheck__)
def is_tensor_type(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    cls, v = s.constant(args[0]), s.force(args[1])
    if not is_tensor_like(v):
        return FALSE
    if v.fake.device.type != "cpu":  # type: ignore[attr-defined]
        s.unsupported(R.OPAQUE_CALL, v, "isinstance")
    return bool_const(isinstance(torch.empty(0, dtype=v.fake.dtype), cls))  # type: ignore[attr-defined]


@handler(
    eager_transforms.grad_impl, eager_transforms.grad_and_value_impl, eager_transforms._vjp_with_argnums,
    eager_transforms._jvp_with_argnums, eager_transforms.functionalize, eager_transforms.jacrev, eager_transforms.jacfwd,
    vmap.vmap_impl,
)  # fmt: skip
def transform(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return s.unsupported(R.HOOK_MODE)


@handler(torch._check_tensor_all_with)
def check_tensor(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Answer:
    """The graph asserts; where that fails, the replay raises the real error."""
    condition = s.force(args[1])
    if kwargs or not is_tensor_like(condition) or condition.fake.dtype is not torch.bool:  # type: ignore[attr-defined]
        return NotImplemented
    return s.operator("call_function", torch._assert_async, [s.operator("call_method", "all", [condition])])


@handler(torch._C._log_api_usage_once)
def log_api_usage(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return NONE


@handler(torch.autograd.profiler.record_function.__init__)
def record_function_init(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    values = dict(zip(("name", "args"), args[1:])) | kwargs
    s.setattr(args[0], "name", values["name"])
    s.setattr(args[0], "args", values.get("args", NONE))
    s.setattr(args[0], "run_callbacks_on_exit", TRUE)
    s.setattr(args[0], "record", NONE)
    s.setattr(args[0], "_cupti_monitor_external_id", NONE)
    return NONE


@handler(torch.autograd.profiler.record_function.__enter__)
def record_function_enter(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A profiler sees the graph's operators, not the user's ranges."""
    return args[0]


@handler(torch.autograd.profiler.record_function.__exit__)
def record_function_exit(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    record = s.force(s.getattr(args[0], "record"))
    if not isinstance(record, Const) or record.obj is not None:  # entered before the region
        s.unsupported(R.CONTEXT_MANAGER, args[0])
    return NONE


@handler(
    torch.utils.checkpoint.checkpoint, torch.cond, higher_order.while_loop, higher_order.scan, higher_order.associative_scan,
    higher_order.map,
)  # fmt: skip
def left_alone(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return s.unsupported(R.OPAQUE_CALL, None, "a function that takes functions")


@handler(*[getattr(torch, name) for name in dir(torch) if name.startswith("_fused_") and name.endswith("_")])
def fused_step(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """AOTAutograd cannot functionalise these, and there is nothing in them to fuse."""
    return s.unsupported(R.UNSUPPORTED_OPERATOR, None, "the fused step of an optimizer")


@handler(type(torch.nn.Parameter).__instancecheck__)
def is_parameter(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return _is_marked(s, args, "_is_param")


@handler(type(torch.nn.Buffer).__instancecheck__)
def is_buffer(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return _is_marked(s, args, "_is_buffer")


def _is_marked(s: Services, args: list[Value], mark: str) -> Value:
    cls, v = s.constant(args[0]), s.force(args[1])
    if not isinstance(v, Node) or not issubclass(v.cls, torch.Tensor) or issubclass(v.cls, cls) or v.path is None:
        return bool_const(issubclass(v.cls, cls))
    marks, namespace = vars(v.real), v.path.to(ATTR, "__dict__")
    if mark in marks:
        return bool_const(s.truth(s.input(namespace.to(DICT_ITEM, mark), marks[mark])))
    s.guard(namespace, "DICT_MISSING", mark)
    return FALSE


# -- torch.ops ------------------------------------------------------------------------------------------------------------


@handler(OpOverload.__call__, OpOverloadPacket.__call__)
def call_operator(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return s.operator("call_function", s.constant(args[0]), args[1:], kwargs)


@handler(_Ops.__getattr__, _OpNamespace.__getattr__, OpOverloadPacket.__getattr__)
def operator_attribute(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A name that nobody has asked for yet is found and kept by torch: the capture starts over, and finds it kept."""
    owner, name = s.constant(args[0]), s.constant(args[1])
    kept = name in vars(owner)
    try:
        found = getattr(owner, name)
    except AttributeError as error:
        return s.raise_error(AttributeError, *error.args)
    if not kept and name in vars(owner):
        raise Retrace(("loaded", f"{owner}.{name}"))
    return Const(found)


def is_operator(obj: Any) -> bool:
    """Whether calls of an object without a handler go into the graph as they are."""
    return issubclass(type(obj), (OpOverload, OpOverloadPacket)) or interop.allowed(obj)


# -- the tables -------------------------------------------------------------------------------------------------------------

PURE_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    torch.device, torch.finfo, torch.iinfo, torch.broadcast_shapes, torch.dtype.to_complex, torch.dtype.to_real, torch.typename,
)  # fmt: skip
for _name in SCALAR_READS:
    _function = getattr(torch, _name, None)
    if _function is not None and _function not in HANDLERS:
        HANDLERS[_function] = ends(R.SCALAR_READ, _name)
_register_methods()
_register_functions(_members(torch, dir(torch._C._VariableFunctions)))
_register_functions(_members(torch._C._VariableFunctions, dir(torch._C._VariableFunctions)))
_register_functions(_members(torch.functional, torch.functional.__all__))
_register_functions(_members(F, filter(_is_functional, dir(F))))
_register_functions(_members(torch._C._nn, dir(torch._C._nn)))
for _namespace in (torch.linalg, torch.fft, torch.special):
    _register_functions(_members(_namespace, (name for name in dir(_namespace) if not name.startswith("_"))))
pure(PURE_FUNCTIONS)
