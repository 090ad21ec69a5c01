"""Settings: one typed object, and the only place that reads the environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ParamSpec, TypeVar, get_type_hints

from framejit.core.errors import BadArgument, UnknownSetting

P = ParamSpec("P")
T = TypeVar("T")


def _flag(*names: str) -> bool:
    return any(os.environ.get(name, "0").lower() not in ("", "0", "false", "no", "off") for name in names)


class Config:
    """All settings of framejit; every annotated name is one, its docs stand beside it."""

    disable: bool
    """Run everything eagerly (FRAMEJIT_DISABLE, TORCH_COMPILE_DISABLE, TORCHDYNAMO_DISABLE)."""
    strict: bool
    """Raise errors inside framejit instead of running the code eagerly (FRAMEJIT_STRICT)."""
    keep_locals: bool
    """Restore also dead locals at every exit, for debuggers and tracebacks (FRAMEJIT_KEEP_LOCALS)."""
    recompile_limit: int
    """How many regions one (code, pc, configuration) may have before it runs eagerly."""
    accumulated_recompile_limit: int
    """How many regions one code object may have in all."""
    fail_on_recompile_limit_hit: bool
    """Raise an error when a recompile limit is reached."""
    instruction_limit: int
    """How many bytecode instructions one region may interpret before it is cut."""
    inline_limit: int
    """How deep calls are inlined."""
    capture_without_tensors: bool
    """Capture also code that computes no tensors: frames that see none, and those of which many regions had no operator."""
    specialize_int: bool
    """Keep Python ints constant for ever instead of turning those that changed into graph inputs."""
    specialize_float: bool
    """Keep Python floats constant for ever instead of turning those that changed into graph inputs."""
    assume_static_by_default: bool
    """Sizes are constants until they are seen to change."""
    automatic_dynamic_shapes: bool
    """Sizes that were seen to change become symbols."""
    capture_scalar_outputs: bool
    """Let `.item()` and `int(tensor)` stay in the graph as unbacked numbers."""
    capture_dynamic_output_shape_ops: bool
    """Let operators whose output shape depends on data (nonzero, masks) stay in the graph."""
    inline_inbuilt_nn_modules: bool
    """Accepted for torch._dynamo's sake: modules are always inlined and their parameters are always inputs."""
    error_on_recompile: bool
    """Raise an error where a guard failure leads to a second capture."""
    suppress_errors: bool
    """Run the frame eagerly when a backend raises, instead of raising BackendError."""
    report_dir: str
    """Where reports of internal errors are written (FRAMEJIT_REPORT_DIR); empty: the temporary directory."""
    logs: str
    """Log names as in TORCH_LOGS, separated by commas (FRAMEJIT_LOGS, TORCH_LOGS)."""
    verbose: bool
    """Show framejit's own traceback with its warnings (FRAMEJIT_VERBOSE)."""

    def __init__(self) -> None:
        self.disable = _flag("FRAMEJIT_DISABLE", "TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")
        self.strict = _flag("FRAMEJIT_STRICT")
        self.keep_locals = _flag("FRAMEJIT_KEEP_LOCALS")
        self.recompile_limit = 8
        self.accumulated_recompile_limit = 256
        self.fail_on_recompile_limit_hit = False
        self.instruction_limit = 2_000_000
        self.inline_limit = 200
        self.capture_without_tensors = False
        self.specialize_int = False
        self.specialize_float = False
        self.assume_static_by_default = True
        self.automatic_dynamic_shapes = True
        self.capture_scalar_outputs = False
        self.capture_dynamic_output_shape_ops = False
        self.inline_inbuilt_nn_modules = True
        self.error_on_recompile = False
        self.suppress_errors = False
        self.report_dir = os.environ.get("FRAMEJIT_REPORT_DIR", "")
        self.logs = ",".join(filter(None, (os.environ.get("TORCH_LOGS", ""), os.environ.get("FRAMEJIT_LOGS", ""))))
        self.verbose = _flag("FRAMEJIT_VERBOSE")

    def __setattr__(self, name: str, value: Any) -> None:
        _check(name, value)
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnknownSetting("setting", name, _NAMES)

    def __delattr__(self, name: str) -> None:
        raise BadArgument(f"setting {name!r} cannot be deleted; assign a value instead")

    def __repr__(self) -> str:
        return "\n".join(f"framejit.config.{name} = {getattr(self, name)!r}" for name in _NAMES)

    def __dir__(self) -> list[str]:
        return [*_NAMES, "patch", "to_dict", "load"]

    def to_dict(self) -> dict[str, Any]:
        """All settings by name."""
        return {name: getattr(self, name) for name in _NAMES}

    def load(self, values: dict[str, Any]) -> None:
        """Set all of `values`, or none if one of them is wrong."""
        for name, value in values.items():
            _check(name, value)
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def patch(self, *args: Any, **values: Any) -> _Patch:
        """A context manager and decorator that sets `name=value` (or `"name", value`, or one dict) and restores it."""
        if len(args) == 2 and isinstance(args[0], str):
            values = {args[0]: args[1], **values}
        elif len(args) == 1 and isinstance(args[0], dict):
            values = {**args[0], **values}
        elif args:
            raise BadArgument("config.patch takes name=value, or a name and a value, or one dict of them")
        if not values:
            raise BadArgument("config.patch was given no setting; write config.patch(name=value)")
        for name, value in values.items():
            _check(name, value)
        return _Patch(self, values)


class _Patch(AbstractContextManager[None]):
    """Settings for the length of a `with` block or of each call of a decorated function."""

    def __init__(self, config: Config, values: dict[str, Any]) -> None:
        self._config = config
        self._values = values
        self._saved: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        self._saved.append({name: getattr(self._config, name) for name in self._values})
        self._config.load(self._values)

    def __exit__(self, *exc: object) -> None:
        self._config.load(self._saved.pop())

    def __call__(self, fn: Callable[P, T]) -> Callable[P, T]:
        return contextmanager(self._around)()(fn)

    def _around(self) -> Iterator[None]:
        with self:
            yield


_TYPES: dict[str, type] = get_type_hints(Config)
_NAMES = tuple(_TYPES)


def _check(name: str, value: Any) -> None:
    if name not in _TYPES:
        raise UnknownSetting("setting", name, _NAMES)
    wanted = _TYPES[name]
    if type(value) is not wanted:
        raise BadArgument(f"setting {name!r} takes {wanted.__name__}, not {type(value).__name__} ({value!r})")
    if isinstance(value, int) and value < 0:
        raise BadArgument(f"setting {name!r} cannot be negative ({value})")


config = Config()
