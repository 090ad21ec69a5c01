"""Calls and attributes of torch.nn.Module."""

from __future__ import annotations

from types import NotImplementedType

import torch

from framejit.core.heap import MISSING
from framejit.core.services import Pending, Services
from framejit.core.value import NONE, Value
from framejit.objects import nn_module
from framejit.objects.dict_ import lookup
from framejit.objects.object_ import dict_of, generic_store
from framejit.rules.registry import handler

# A handler that returns NotImplemented leaves the call to the function's own Python code.
Answer = Value | Pending | NotImplementedType


def _asks_itself(s: Services, module: Value) -> bool:
    """Whether each look-up in the module runs a method of the user's."""
    return s.type_lookup(module.cls, "__getattribute__") is not object.__getattribute__


@handler(torch.nn.Module._wrapped_call_impl)
def wrapped_call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Answer:
    module = s.force(args[0])
    namespace = dict_of(s, module)
    if namespace is None or _asks_itself(s, module) or s.type_lookup(module.cls, "_call_impl") is not torch.nn.Module._call_impl:
        return NotImplemented
    if lookup(s, namespace, "_compiled_call_impl") is not MISSING or s.type_lookup(module.cls, "_compiled_call_impl") is not None:
        return NotImplemented
    return _call(s, module, args[1:], kwargs)


@handler(torch.nn.Module._call_impl)
def call_impl(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Answer:
    return _call(s, s.force(args[0]), args[1:], kwargs)


def _call(s: Services, module: Value, args: list[Value], kwargs: dict[str, Value]) -> Answer:
    if not _asks_itself(s, module) and nn_module.is_plain_call(s, module):
        return s.tail_call(s.getattr(module, "forward"), args, kwargs)
    return NotImplemented


@handler(torch.nn.Module.__getattr__)
def module_getattr(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Answer:
    module, name = s.force(args[0]), s.constant(args[1])
    if _asks_itself(s, module):
        return NotImplemented
    found = nn_module.attribute(s, module, name)
    if found is None:
        s.raise_error(AttributeError, f"'{module.cls.__name__}' object has no attribute '{name}'")
    return found


@handler(torch.nn.Module.__setattr__)
def module_setattr(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Answer:
    module, name, new = s.force(args[0]), s.constant(args[1]), args[2]
    if _asks_itself(s, module) or not nn_module.is_plain_store(s, module, name, new):
        return NotImplemented
    generic_store(s, module, name, new)
    return NONE
