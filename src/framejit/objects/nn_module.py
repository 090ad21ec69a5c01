"""torch.nn.Module: its attribute look-up and its call, natively where they are plain."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch
from torch.nn.modules import module as torch_module

from framejit.core.heap import MISSING
from framejit.core.services import Services
from framejit.core.value import Const, Lazy, Node, Ref, Value
from framejit.objects.dict_ import lookup
from framejit.objects.object_ import dict_of

TABLES = ("_parameters", "_buffers", "_modules")
HOOKS = ("_backward_hooks", "_backward_pre_hooks", "_forward_hooks", "_forward_pre_hooks")
GLOBAL_HOOKS = (
    torch_module._global_backward_pre_hooks, torch_module._global_backward_hooks,
    torch_module._global_forward_hooks, torch_module._global_forward_pre_hooks,
)  # fmt: skip


def table(s: Services, module: Value, name: str) -> Ref | None:
    """One of a module's dicts; None where it has none of that name, or no dict."""
    namespace = dict_of(s, module)
    found = MISSING if namespace is None else lookup(s, namespace, name)
    if found is MISSING:
        return None
    found = s.force(found)
    return found if isinstance(found, Ref) and issubclass(found.cls, dict) else None


def attribute(s: Services, module: Value, name: str) -> Value | None:
    """What `Module.__getattr__` finds: a parameter, buffer or submodule; None if there is none."""
    for kind in TABLES:
        entries = table(s, module, kind)
        if entries is not None:
            found = lookup(s, entries, name)
            if found is not MISSING:
                return found
    return None


def is_plain_store(s: Services, module: Value, name: str, new: Value) -> bool:
    """Whether `Module.__setattr__` comes down to `object.__setattr__`."""
    value = s.force(new)
    if isinstance(value, Node) and (issubclass(value.cls, (torch.nn.Parameter, torch.nn.Buffer)) or _marked(value)):
        return False
    if isinstance(value, Ref) and (issubclass(value.cls, torch.nn.Module) or hasattr(value.cls, "__instancecheck__")):
        return False
    if isinstance(value, Const) and issubclass(type(value.obj), torch.nn.Module):
        return False
    for kind in TABLES:
        entries = table(s, module, kind)
        if entries is None or lookup(s, entries, name) is not MISSING:
            return False
    return True


def _marked(value: Node) -> bool:
    marks = getattr(value.real, "__dict__", {})
    return bool(marks.get("_is_param") or marks.get("_is_buffer"))


def is_plain_call(s: Services, module: Value) -> bool:
    """Whether no hook is registered on the module or globally, so that a call is `module.forward(...)`."""
    for hooks in GLOBAL_HOOKS:
        if not _is_empty(s, s.input(s.trace.roots.const(hooks), hooks)):
            return False
    namespace = dict_of(s, module)
    return namespace is not None and all(_is_empty(s, lookup(s, namespace, name)) for name in HOOKS)


def _is_empty(s: Services, hooks: Any) -> bool:
    if hooks is MISSING:
        return False
    if type(hooks) is Lazy and type(hooks.real) is OrderedDict and not hooks.real and id(hooks.real) not in s.trace.known:
        s.guard(hooks.path, "LEN", 0)
        return True
    return not s.truth(hooks)
