"""The backend that compiles with TorchInductor; mode and options mean what they mean to torch.compile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, get_origin

from framejit.backends.registry import Backend, add
from framejit.core.errors import BadArgument, UnknownOption


def inductor(
    graph_module: Any,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    dynamic: bool | None = None,
    name: str | None = None,
) -> Callable[..., Any]:
    """Compile with TorchInductor, through AOTAutograd."""
    from torch._inductor.compile_fx import compile_fx

    compiled = compile_fx(
        graph_module,
        example_inputs,
        config_patches=patches(mode, options or {}, dynamic),
        compile_region_name=name,
    )
    # torch wraps the result so that its own front-end leaves it alone; ours is off while a graph runs.
    return getattr(compiled, "_torchdynamo_orig_callable", compiled)


def patches(mode: str | None, options: dict[str, Any], dynamic: bool | None) -> dict[str, Any]:
    """Inductor's settings for a mode and options; raises UnknownOption or BadArgument."""
    if not options and mode in (None, "default"):
        return {}
    from torch._inductor import config, list_mode_options

    modes = list_mode_options(None, dynamic)
    if mode is not None and mode not in modes:
        raise UnknownOption("mode of backend 'inductor'", mode, tuple(modes))
    known = config.get_config_copy()
    result: dict[str, Any] = dict(modes[mode]) if mode is not None else {}
    for key, value in options.items():
        attribute = key.replace("-", "_")
        if attribute not in known:
            raise UnknownOption("option of backend 'inductor'", key, tuple(known))
        wanted = config.get_type(attribute)
        if get_origin(wanted) is None and isinstance(wanted, type) and not isinstance(value, wanted):
            raise BadArgument(
                f"option {key!r} of backend 'inductor' takes {wanted.__name__}, not {type(value).__name__} ({value!r})"
            )
        result[attribute] = value
    return result


def _check(mode: str | None, options: dict[str, Any], dynamic: bool | None) -> None:
    patches(mode, options, dynamic)


add(Backend("inductor", inductor, mutates_in_order=True, check=_check))
