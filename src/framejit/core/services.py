"""What object models and rules may ask of the interpreter: the only way they reach it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any, NoReturn, Protocol

from framejit.core.heap import Heap
from framejit.core.path import Path
from framejit.core.trace import Trace
from framejit.core.value import Const, Ref, Value
from framejit.reasons import R


class Pending:
    """A call of Python code that the interpreter will run as a frame of its own (resumable after a break).

    A handler that ends in such a call returns it instead of a value; `Services.finish` runs it at once.
    """

    __slots__ = ()


class Services(Protocol):
    """The interpreter as models and rules see it. Keyword arguments are dicts from str to Value."""

    trace: Trace
    heap: Heap

    # -- values ---------------------------------------------------------------------------------------------------
    def force(self, value: Value) -> Value:
        """The value without laziness: Const, Node, Number, Pack or Ref, guarded by its type (and value if constant)."""

    def input(self, path: Path, real: Any) -> Value:
        """The value of a real object found at `path`, still unguarded."""

    def constant(self, value: Value) -> Any:
        """The Python object a value certainly is; Unsupported if unknown.

        Tuples, slices and frozensets of constants are constants too; a Number is specialised.
        """

    def is_constant(self, value: Value) -> bool:
        """Whether `constant` would succeed without specialising anything that is not constant yet."""

    def guard(self, path: Path | None, predicate: str, operand: Any = None) -> None:
        """Record a fact, with the present user position as origin."""

    def wrap(self, obj: Any) -> Value:
        """The value of a Python object made during capture (constants, tuples of constants, lists and dicts become Refs)."""

    # -- the object protocol (CPython's abstract.c); each may run user code symbolically -------------------------------
    def getattr(self, value: Value, name: str) -> Value: ...
    def setattr(self, value: Value, name: str, new: Value) -> None: ...
    def delattr(self, value: Value, name: str) -> None: ...
    def getitem(self, container: Value, key: Value) -> Value: ...
    def setitem(self, container: Value, key: Value, new: Value) -> None: ...
    def delitem(self, container: Value, key: Value) -> None: ...
    def binary(self, symbol: str, left: Value, right: Value) -> Value:
        """`left symbol right`; in-place symbols ('+=') included."""

    def compare(self, symbol: str, left: Value, right: Value) -> Value: ...
    def unary(self, symbol: str, value: Value) -> Value: ...
    def contains(self, container: Value, item: Value) -> Value: ...
    def truth(self, value: Value) -> bool: ...
    def is_same(self, left: Value, right: Value) -> bool: ...
    def hash(self, value: Value) -> Value: ...
    def len(self, value: Value) -> Value: ...
    def iter(self, value: Value) -> Value: ...
    def next(self, iterator: Value) -> Value:
        """The next item; raises Raised with a StopIteration when exhausted."""

    def each(self, iterable: Value) -> Iterator[Value]:
        """The items one by one, for C code that works on each before it asks for the next."""

    def listed(self, iterable: Value) -> list[Value]:
        """The items as `list(iterable)` collects them, which asks for the length first."""

    def unpack(self, iterable: Value) -> list[Value]:
        """All items."""

    def call(self, function: Value, args: Sequence[Value] = (), kwargs: dict[str, Value] | None = None) -> Value:
        """Call and wait for the result (a break inside undoes the whole instruction)."""

    def tail_call(self, function: Value, args: Sequence[Value] = (), kwargs: dict[str, Value] | None = None) -> Value | Pending:
        """As `call`, but Python code is left to the interpreter's loop: only as the handler's last act."""

    def call_method(self, value: Value, name: str, args: Sequence[Value] = ()) -> Value:
        """Call a special method looked up on the type."""

    def finish(self, pending: Value | Pending) -> Value:
        """The value of a call: runs a pending frame to its end inside the present instruction."""

    def run_code(self, code: CodeType, globals_: Ref, names: Value) -> Value:
        """Run the code of a module or an expression in these namespaces, inside the present instruction."""

    def resume_generator(self, ref: Ref, sent: Value, thrown: Value | None = None, past_send: bool = False) -> Value | None:
        """Advance a symbolic generator; None when it returned."""

    def waiting_frame(self, ref: Ref, function: Const, pc: int, slots: list[Value]) -> Any:
        """The frame of a real generator of this function, which waits in front of `pc` with these slots."""

    def watch(self, values: Sequence[Value], owner: Ref) -> None:
        """What the frame of a given generator holds: the end of some of it is an effect that CPython has to see."""

    def is_crowded(self) -> bool:
        """Whether the next region here had better suit more states than those at this place do."""

    def place_in_root(self) -> int | None:
        """The pc of the present instruction in the frame that the region begins in; None where that has returned."""

    def is_caught(self) -> bool:
        """Whether a handler of the region would see what the present instruction raises."""

    def special(self, value: Value, name: str) -> Value | None:
        """The special method bound to the value, looked up on the type; None where the type has none."""

    def type_lookup(self, cls: type, name: str) -> Any:
        """What the MRO of `cls` holds under `name` (a real object), guarded; MISSING if nothing."""

    def dict_of(self, value: Value) -> Ref | None:
        """The instance dict of an object as a dict Ref; None where instances have none."""

    # -- control ------------------------------------------------------------------------------------------------------
    def raise_error(self, kind: type[BaseException], *args: Any, **names: Any) -> NoReturn:
        """Raise a Python exception inside the captured program."""

    def raise_real(self, error: BaseException) -> NoReturn:
        """Raise inside the captured program what a real call has raised, with the attributes that it has."""

    def exception_type(self, exception: Value) -> type[BaseException]:
        """The class of a symbolic exception."""

    def unsupported(self, reason: R, guilty: Any = None, detail: str = "") -> NoReturn:
        """End the region before this instruction."""

    # -- the graph ----------------------------------------------------------------------------------------------------
    def operator(self, op: str, target: Any, args: Sequence[Value], kwargs: dict[str, Value] | None = None) -> Value:
        """Append a torch operator (`call_function` or `call_method`) and return its symbolic result."""

    # -- last, because they hide the built-in names in the annotations below them -----------------------------------------
    def repr(self, value: Value) -> Value: ...
    def str(self, value: Value) -> Value: ...
