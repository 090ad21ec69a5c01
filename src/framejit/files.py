"""Whose code is captured when a compiled function calls it in a part that is left to CPython."""

from __future__ import annotations

import os
import sysconfig
from types import CodeType
from typing import Any

import torch

from framejit.core import marks

NEVER, WITH_TENSOR, ALWAYS = range(3)
TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
STDLIB = tuple({os.path.abspath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib")})
PACKAGES = tuple({os.path.abspath(sysconfig.get_path(name)) + os.sep for name in ("purelib", "platlib")})
# Parts of torch that run user models: calls of modules, and optimizers.
INSIDE_TORCH = tuple(TORCH + part.replace("/", os.sep) for part in ("nn/modules/", "optim/", "nn/functional.py"))
GENERATED = ("<frozen ", "<eval_with_key>", "<attrs generated", "torchinductor_")


def classify(code: CodeType, namespace: dict[str, Any]) -> int:
    """Whether frames of this code are captured when they see a tensor."""
    name = code.co_filename
    if marks.skipped(code) or any(part in name for part in GENERATED):
        return NEVER
    if name.startswith(TORCH):
        return WITH_TENSOR if name.startswith(INSIDE_TORCH) else NEVER
    if name.startswith(OWN) or _root_package(namespace) in ("torch", "framejit"):
        return NEVER
    if name.startswith(STDLIB) and not name.startswith(PACKAGES):
        return NEVER
    return WITH_TENSOR


def _root_package(namespace: dict[str, Any]) -> str:
    module = namespace.get("__name__")
    return module.partition(".")[0] if isinstance(module, str) else ""
