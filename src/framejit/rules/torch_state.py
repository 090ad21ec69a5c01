"""Torch's modes during capture: grad mode and autocast are fields of a pseudo-object in the heap, set by graph nodes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.onnx

from framejit.core.services import Services
from framejit.core.trace import Trace
from framejit.core.value import FALSE, NONE, TRUE, Const, Ref, Value, bool_const
from framejit.interop import compiling_flags
from framejit.reasons import R
from framejit.rules.registry import handler

STATE = Ref(object)
Field = tuple[Any, ...]  # ("grad",), ("autocast", device type), ("autocast_dtype", device type), ("autocast_cache",), …

# Each field's reader, and the setter that is both a graph node and an effect; the device type comes first.
READERS: dict[str, Callable[..., Any]] = {
    "grad": torch.is_grad_enabled,
    "autocast": torch.is_autocast_enabled,
    "autocast_dtype": torch.get_autocast_dtype,
    "autocast_cache": torch.is_autocast_cache_enabled,
}
SETTERS: dict[str, Callable[..., Any]] = {
    "grad": torch._C._set_grad_enabled,
    "autocast": torch.set_autocast_enabled,
    "autocast_dtype": torch.set_autocast_dtype,
    "autocast_cache": torch.set_autocast_cache_enabled,
}


def read(s: Services, *field: Any) -> Any:
    """The present symbolic value of a mode."""
    found = s.heap.get(STATE, field)
    return READERS[field[0]](*field[1:]) if found is None else found.obj


def write(s: Services, value: Any, *field: Any) -> None:
    """Set a mode: in the graph, and in the symbolic state."""
    if read(s, *field) == value:
        return
    s.heap.set(STATE, field, Const(value))
    s.trace.node("call_function", SETTERS[field[0]], (*field[1:], value), {}, None)
    s.trace.flag("modes")


def changed(trace: Trace) -> list[tuple[Field, Any, Any]]:
    """Modes that differ from the real ones: (field, real value, symbolic value)."""
    rows = []
    for field, value in trace.heap.fields_of(STATE).items():
        if field[0] in READERS and (real := READERS[field[0]](*field[1:])) != value.obj:
            rows.append((field, real, value.obj))
    return rows


def finish(trace: Trace) -> list[tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Set the real modes again at the graph's end, and return the calls that set the region's modes after it."""
    effects = []
    for field, real, value in changed(trace):
        setter = SETTERS[field[0]]
        trace.node("call_function", setter, (*field[1:], real), {}, None)
        effects.append((setter, (*field[1:], value)))
    found = trace.heap.get(STATE, ("nesting",))
    depth = 0 if found is None else found.obj
    back, again = torch.autocast_decrement_nesting, torch.autocast_increment_nesting
    for _ in range(abs(depth)):
        trace.node("call_function", back if depth > 0 else again, (), {}, None)
        effects.append((again if depth > 0 else back, ()))
    return effects


def mode_key(s: Services) -> Any:
    """A key of the modes under which operators are run; None for the real ones."""
    if STATE not in s.heap.fields:
        return None
    rows = [(field, value) for field, _, value in changed(s.trace)]
    return tuple(sorted(rows, key=str)) or None


def applied(s: Services) -> AbstractContextManager[Any]:
    """The symbolic modes made real, to run an operator on fake tensors."""
    rows = changed(s.trace) if STATE in s.heap.fields else ()
    return _Applied(rows) if rows else nullcontext()


class _Applied:
    def __init__(self, rows: list[tuple[Field, Any, Any]]):
        self.rows = [row for row in rows if row[0][0] != "autocast_cache"]
        self.cache = torch.is_autocast_cache_enabled()

    def __enter__(self) -> None:
        torch.set_autocast_cache_enabled(False)  # it would keep casts of fake tensors
        for field, _, value in self.rows:
            SETTERS[field[0]](*field[1:], value)

    def __exit__(self, *_error: object) -> None:
        for field, real, _ in self.rows:
            SETTERS[field[0]](*field[1:], real)
        torch.set_autocast_cache_enabled(self.cache)


# -- grad mode ----------------------------------------------------------------------------------------------------------


@handler(torch.is_grad_enabled)
def is_grad_enabled(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return bool_const(read(s, "grad"))


@handler(torch._C._set_grad_enabled)
def set_grad_enabled(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    write(s, bool(s.constant((args or list(kwargs.values()))[0])), "grad")
    return NONE


# -- autocast -----------------------------------------------------------------------------------------------------------


@handler(torch.is_autocast_enabled)
def is_autocast_enabled(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return bool_const(read(s, "autocast", _device_type(s, args, kwargs)))


@handler(torch.set_autocast_enabled)
def set_autocast_enabled(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    given = [s.constant(value) for value in (*args, *kwargs.values())]
    write(s, bool(given[-1]), "autocast", given[0] if len(given) == 2 else "cuda")
    return NONE


@handler(torch.get_autocast_dtype)
def get_autocast_dtype(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Const(read(s, "autocast_dtype", _device_type(s, args, kwargs)))


@handler(torch.set_autocast_dtype)
def set_autocast_dtype(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    device, dtype = [s.constant(value) for value in (*args, *kwargs.values())]
    write(s, dtype, "autocast_dtype", device)
    return NONE


@handler(torch.is_autocast_cache_enabled)
def is_autocast_cache_enabled(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return bool_const(read(s, "autocast_cache"))


@handler(torch.set_autocast_cache_enabled)
def set_autocast_cache_enabled(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    write(s, bool(s.constant((args or list(kwargs.values()))[0])), "autocast_cache")
    return NONE


def _device_type(s: Services, args: list[Value], kwargs: dict[str, Value]) -> str:
    given = [s.constant(value) for value in (*args, *kwargs.values())]
    return given[0] if given else "cuda"


def _nesting(step: int, setter: Callable[[], int]) -> Callable[[Services, list[Value], dict[str, Value]], Value]:
    def change(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        found = s.heap.get(STATE, ("nesting",))
        depth = (0 if found is None else found.obj) + step
        s.heap.set(STATE, ("nesting",), Const(depth))
        s.trace.node("call_function", setter, (), {}, None)
        s.trace.flag("modes")
        return Const(depth)

    return change


handler(torch.autocast_increment_nesting)(_nesting(1, torch.autocast_increment_nesting))
handler(torch.autocast_decrement_nesting)(_nesting(-1, torch.autocast_decrement_nesting))


@handler(torch.clear_autocast_cache)
def clear_autocast_cache(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    s.trace.node("call_function", torch.clear_autocast_cache, (), {}, None)
    return NONE


# -- facts that the guard on torch's state covers, and facts about capture --------------------------------------------------

READ_ONLY = (
    torch.is_inference_mode_enabled, torch.get_default_dtype, torch.is_anomaly_enabled, torch.is_anomaly_check_nan_enabled,
    torch._C._get_deterministic_algorithms, torch.are_deterministic_algorithms_enabled,
    torch.is_deterministic_algorithms_warn_only_enabled, torch._C._get_cublas_allow_tf32,
    torch.get_float32_matmul_precision, torch._C._get_float32_matmul_precision, torch.amp.is_autocast_available,
    torch._C._is_autocast_available, torch._C._get_privateuse1_backend_name, torch._C._is_torch_function_mode_enabled,
    torch._C._mps_is_available,
)  # fmt: skip


def _read_only(function: Callable[..., Any]) -> None:
    @handler(function)
    def answer(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return s.wrap(function(*[s.constant(arg) for arg in args], **{name: s.constant(arg) for name, arg in kwargs.items()}))


for _function in READ_ONLY:
    _read_only(_function)


def _yes(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return TRUE


def _no(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return FALSE


def _none(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return NONE


handler(*{*compiling_flags(), torch._utils.is_compiling})(_yes)
handler(torch._C._are_functorch_transforms_active)(_no)
handler(torch.jit.is_scripting, torch.jit.is_tracing, torch._C._is_tracing, torch.onnx.is_in_onnx_export)(_no)
handler(torch._C._get_tracing_state)(_none)


@handler(torch._C._InferenceMode)
def inference_mode(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return s.unsupported(R.CONTEXT_MANAGER, torch.inference_mode)


@handler(torch.manual_seed, torch.seed, torch.set_default_dtype, torch.set_default_device, torch.use_deterministic_algorithms)
def set_global(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return s.unsupported(R.OPAQUE_CALL, None, "a setting of torch is changed")
