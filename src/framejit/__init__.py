"""framejit captures running Python programs into PyTorch graphs."""

from framejit.config import config

__version__ = "0.1.0"
__all__ = ["__version__", "config"]
