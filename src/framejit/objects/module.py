"""Modules: constants whose attributes are entries of their dict."""

from __future__ import annotations

import types
from typing import Any

from framejit.core.path import Path
from framejit.core.services import Services
from framejit.core.value import Const, Value
from framejit.objects.lineage import note_kind
from framejit.objects.model import Model, model
from framejit.reasons import R


@model(types.ModuleType)
class ModuleModel(Model):
    """Modules."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        if type(real).__getattribute__ is not types.ModuleType.__getattribute__:
            s.unsupported(R.UNKNOWN_TYPE, type(real), "a module with __getattribute__")
        s.guard(path, "IS", real)
        note_kind(s, path, real)
        return Const(real, path)
