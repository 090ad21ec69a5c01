from collections.abc import Callable, Iterable, Sequence
from types import CodeType, FunctionType
from typing import Any, Final, Literal, final

# ---- The machine ----
NULL: Final[object]
MISSING: Final[object]
OPS: Final[tuple[tuple[str, str, str], ...]]
OPAQUE: Final[tuple[tuple[str, str], ...]]

@final
class Program:
    def __new__(
        cls, instructions: Iterable[tuple[Any, ...]], consts: tuple[Any, ...], nregs: int, name: str = "", weak: tuple[int, ...] = ()
    ) -> Program: ...
    @property
    def instructions(self) -> tuple[tuple[Any, ...], ...]: ...
    @property
    def consts(self) -> tuple[Any, ...]: ...
    @property
    def nregs(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def hits(self) -> int: ...
    @property
    def dead(self) -> bool: ...
    def explain_failure(self) -> tuple[int, str] | None: ...

@final
class TensorCheck:
    def check(self, value: object, /) -> bool: ...

@final
class TorchState:
    @property
    def fields(self) -> dict[str, int]: ...
    def check(self) -> bool: ...
    def difference(self) -> str | None: ...

def tensor_check(
    tensor: Any,
    sizes: tuple[int | None, ...] | None = None,
    strides: tuple[int | None, ...] | None = None,
    *,
    contiguous: bool = False,
    requires_grad: bool | None = None,
    type: type = ...,
) -> TensorCheck: ...
def torch_state() -> TorchState: ...
def run(
    program: Program,
    slots: Sequence[Any],
    globals: dict[str, Any] | None = None,
    builtins: dict[str, Any] | None = None,
    func: Any = None,
    handled: BaseException | None = None,
    start: int = 0,
    regs: Sequence[Any] | None = None,
) -> tuple[Literal["exit"], int, list[Any]] | tuple[Literal["miss"], int] | tuple[Literal["replay"]]: ...
def set_rng_hooks(save: Callable[[], Any] | None, restore: Callable[[Any], Any] | None) -> None: ...

# ---- Frames ----
@final
class FrameView:
    """A frame as it stands before an instruction."""

    func: Final[Any]
    code: Final[CodeType]
    pc: Final[int]
    globals: Final[dict[str, Any]]
    builtins: Final[dict[str, Any]]
    slots: Final[list[Any]]
    handled: Final[BaseException | None]
    key: Final[Any]
    locals: Final[Any]
    generator: Final[bool]
    fresh: Final[bool]

class Compiled:
    """Calls a function with the hook on; has the function's own attributes."""

    def __init__(self, fn: Callable[..., Any], key: Any) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __get__(self, obj: Any, type: Any = None) -> Any: ...
    @property
    def __wrapped__(self) -> Callable[..., Any]: ...
    @property
    def __framejit_key__(self) -> Any: ...

def set_miss(f: Callable[[FrameView], bool] | None, /) -> Callable[[FrameView], bool] | None: ...
def set_reject(f: Callable[[CodeType, int, Any, Program], Any] | None, /) -> Callable[..., Any] | None: ...
def set_classify(f: Callable[[CodeType, dict[str, Any]], int] | None, /) -> Callable[..., Any] | None: ...
def set_tensor_types(types: tuple[type, ...], /) -> tuple[type, ...]: ...
def install(code: CodeType, pc: int, key: Any, program: Program, /) -> None: ...
def regions(code: CodeType, /) -> list[tuple[int, Any, int, tuple[Program, ...]]]: ...
def mark(code: CodeType, key: Any, pc: int, mode: int, /) -> None: ...
def reset(code: CodeType | None = None, /) -> None: ...
def hook_enabled(flag: bool, /) -> bool: ...
def stats() -> dict[str, int]: ...
def enter(
    func: FunctionType,
    pc: int,
    slots: Sequence[Any],
    handled: BaseException | None = None,
    raise_: BaseException | None = None,
    locals: Any = None,
) -> Any: ...
