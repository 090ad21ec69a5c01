"""Torch's small immutable objects: devices, data types, number limits, operators of torch.ops."""

from __future__ import annotations

import types
from typing import Any

import torch
from torch._ops import OperatorBase, OpOverloadPacket

from framejit.core.path import ATTR, Path
from framejit.core.services import Services
from framejit.core.value import Const, Value, bool_const
from framejit.objects.model import Model, model
from framejit.objects.sameness import BY_VALUE


class IdentityModel(Model):
    """Objects known by identity whose C attributes never change."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        s.guard(path, "IS", real)
        return Const(real, path)

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        if isinstance(found, (types.GetSetDescriptorType, types.MemberDescriptorType, property)):
            return s.wrap(getattr(s.constant(v), name))
        return None

    def truth(self, s: Services, v: Value) -> bool | None:
        return True

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        if symbol not in ("==", "!=") or not isinstance(other, Const) or type(other.obj) is not v.cls:
            return None
        return bool_const((s.constant(v) == other.obj) == (symbol == "=="))

    def hash_key(self, s: Services, v: Value) -> Any:
        return s.constant(v)


@model(torch.dtype, torch.layout, torch.memory_format, torch._C._SDPBackend, OperatorBase, OpOverloadPacket)
class TorchConstantModel(IdentityModel):
    """Singletons of torch."""

    __slots__ = ()


LIMITS = (torch.finfo, torch.iinfo)
BY_VALUE.update((torch.device, *LIMITS))


@model(*LIMITS)
class LimitsModel(IdentityModel):
    """Limits of numbers, which say nothing but their data type."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        s.guard(path, "TYPE", type(real))
        s.guard(path.to(ATTR, "dtype"), "EQ", real.dtype)
        return Const(real, path)


@model(torch.device)
class DeviceModel(IdentityModel):
    """Devices compare by type and index."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        s.guard(path, "TYPE", torch.device)
        s.guard(path.to(ATTR, "type"), "EQ", real.type)
        s.guard(path.to(ATTR, "index"), "EQ", real.index)
        return Const(real, path)
