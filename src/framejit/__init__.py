"""framejit captures running Python programs into PyTorch graphs."""

from framejit import _check  # noqa: F401  (says first what is missing)
from framejit.api import (
    allow_in_graph,
    compile,
    disable,
    disallow_in_graph,
    explain,
    list_backends,
    mark_dynamic,
    mark_static,
    maybe_mark_dynamic,
    reset,
    stats,
)
from framejit.backends.registry import lookup_backend, register_backend
from framejit.config import config
from framejit.core.errors import (
    BackendError,
    BadArgument,
    CaptureError,
    FramejitError,
    InternalError,
    UnknownBackend,
    UnknownOption,
    UnknownSetting,
    UnsupportedPlatform,
)
from framejit.core.marks import graph_break, is_compiling
from framejit.counting import counters
from framejit.logs import enable as set_logs

__version__ = "0.1.0"
__all__ = [
    "BackendError",
    "BadArgument",
    "CaptureError",
    "FramejitError",
    "InternalError",
    "UnknownBackend",
    "UnknownOption",
    "UnknownSetting",
    "UnsupportedPlatform",
    "__version__",
    "allow_in_graph",
    "compile",
    "config",
    "counters",
    "disable",
    "disallow_in_graph",
    "explain",
    "graph_break",
    "is_compiling",
    "list_backends",
    "lookup_backend",
    "mark_dynamic",
    "mark_static",
    "maybe_mark_dynamic",
    "register_backend",
    "reset",
    "set_logs",
    "stats",
]
