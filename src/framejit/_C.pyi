from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal, final

# ---- The machine ----
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
