"""Says in one line what is missing where framejit cannot work; the package imports this file first."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from framejit.core.errors import UnsupportedPlatform

TORCH = "2.13"


def _check() -> None:
    try:
        found = version("torch")
    except PackageNotFoundError:
        raise UnsupportedPlatform(f"framejit needs PyTorch {TORCH}: pip install 'torch=={TORCH}.*'") from None
    if not found.startswith(TORCH + "."):
        raise UnsupportedPlatform(
            f"framejit is made for PyTorch {TORCH}, this is {found}: pip install 'torch=={TORCH}.*'"
        )
    if find_spec("framejit._C") is None:
        raise UnsupportedPlatform(
            "framejit's C++ core is not built for this Python: pip install --no-build-isolation . in its source tree"
        )
    import_module("torch")  # the core is linked against its libraries


_check()
