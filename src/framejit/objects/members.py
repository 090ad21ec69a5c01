"""What a set holds and how it came to hold it: the order in which a real set is iterated hangs on its whole history."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple

from framejit import _C
from framejit.core.path import Path
from framejit.core.services import Services
from framejit.core.value import Pack, Value

TRUSTED = {int, str, float, bool, type(None), bytes, complex, type(Ellipsis), FunctionType, BuiltinFunctionType, ModuleType}
STABLE = (int, float, str, bytes, bool, type(None), tuple, frozenset)
FROZEN = "members of frozensets"  # (FROZEN, Pack) -> Members, in the cache of the trace
Entries = dict[Any, tuple[Value, Any]]  # hash key -> (member, TRUE)


class Items(NamedTuple):
    """An operand that is no set: hash keys and their values, as a list, a dict, a dict's keys or (None) one item."""

    kind: type | None
    pairs: tuple[tuple[Any, Value], ...]

    def real(self) -> Any:
        """A real operand of this kind."""
        names = [name for name, _ in self.pairs]
        if self.kind is None:
            return names[0]
        if self.kind is list:
            return names
        made = dict.fromkeys(names)
        return made if self.kind is dict else made.keys()


class Members(Entries):
    """Hash key -> (member, TRUE) of a set, never changed; `function(*args)` makes the real set.

    With a `base`, `function(set of the base, *args)` changes that set in place. Of a set that exists `real` is the set, at `path`;
    where there is neither, nobody knows how the set is made.
    `stable` says whether all hash keys ever involved have the hash of the objects they stand for, `ordered` whether the members
    stand in the order in which the real set is iterated in any case.
    """

    __slots__ = ("base", "function", "args", "real", "path", "stable", "ordered", "made")

    def __init__(
        self,
        entries: Entries,
        function: Callable[..., Any] | None,
        args: tuple[Any, ...] = (),
        base: Members | None = None,
        real: Any = None,
        path: Path | None = None,
    ):
        super().__init__(entries)
        self.base, self.function, self.args, self.real, self.path = base, function, args, real, path
        self.made: Any = None
        names = (name for arg in args if isinstance(arg, Items) for name, _ in arg.pairs)
        operands = [arg for arg in (base, *args) if isinstance(arg, Members)]
        self.stable: bool = function is not None and all(map(is_stable, names)) and all(operand.stable for operand in operands)
        if real is not None:
            self.stable = all(map(is_stable, entries))
        self.ordered: bool = real is not None or (base is not None and base.ordered and function in (set.discard, set.clear))

    def history(self, start: Members | None = None) -> list[Members] | None:
        """From the set as it was made, or from `start` on: this and all earlier states; None where `start` is none of them."""
        found: list[Members] = []
        state: Members | None = self
        while state is not None and state is not start:
            found.append(state)
            state = state.base
        return found[::-1] if state is start else None

    def is_replayable(self) -> bool:
        """Whether what led here can be done to the real set: its operands are no sets, or their order does not matter."""
        return self.stable or all(isinstance(arg, Items) for arg in self.args)

    def twin(self) -> Any:
        """A real set of the hash keys with the same history, not to be changed; None where it cannot be had."""
        if self.made is None and self.stable:
            first, *changes = self.history() or []
            if any(isinstance(arg, Members) and arg.twin() is None for state in (first, *changes) for arg in state.args):
                return None
            made = first.create() if changes or first.real is None else first.real
            if made is None:
                return None
            for change in changes:
                change.function(made, *change.operands())  # type: ignore[misc]
            self.made = made
        return self.made

    def create(self) -> Any:
        """A new real set as this one was when it was made; None where a copy would be laid out in another way."""
        if self.real is None:
            return self.function(*self.operands())  # type: ignore[misc]
        made = set(self.real)
        return made if _C.set_slots(made) == _C.set_slots(self.real) and layout(made) == layout(self.real) else None

    def operands(self) -> list[Any]:
        """The real operands of `function`."""
        return [arg.real() if isinstance(arg, Items) else arg.twin() for arg in self.args]


def frozen(s: Services, cls: type, entries: Members, path: Path | None = None) -> Pack:
    """A frozenset of these members, in the order in which the real one is iterated if that is known."""
    twin = twin_of(s, entries)
    made = Pack(cls, tuple([entries[name][0] for name in (entries if twin is None else each(twin))]), path)
    s.trace.trail.put(s.trace.cache, (FROZEN, made), entries)
    return made


def layout(real: Any) -> tuple[Any, ...]:
    """What can be seen of how a real set is laid out: the size of its table and the order of its members."""
    kind = set if issubclass(type(real), set) else frozenset
    return (kind.__sizeof__(real), *each(real))


def each(real: Any) -> Iterator[Any]:
    """The members of a real set in its order; a subclass may have its own `__iter__`."""
    return set.__iter__(real) if issubclass(type(real), set) else frozenset.__iter__(real)


class SameSlots:
    """Predicate: the table of the set has members, and removed ones, in the same slots: what is added comes to lie where it did."""

    __slots__ = ("slots",)

    def __init__(self, slots: bytes):
        self.slots = slots

    def __call__(self, real: Any) -> bool:
        return _C.set_slots(real) == self.slots

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameSlots) and self.slots == other.slots

    def __hash__(self) -> int:
        return hash(self.slots)

    def __repr__(self) -> str:
        return f"has_slots[{self.slots[:40].decode()}]"


def twin_of(s: Services, entries: Members) -> Any:
    """The twin, relied on for the order of its members."""
    twin = entries.twin()
    if twin is not None:
        for real in _tables(entries):
            if real.path is not None:
                s.guard(real.path, "PY", SameSlots(_C.set_slots(real.real)))
    return twin


def _tables(entries: Members) -> Iterator[Members]:
    """The real sets whose tables decide where the members of a set lie that was made of them."""
    first, *changes = entries.history() or []
    if first.real is not None and changes:
        yield first
    for state in (first, *changes):
        for arg in state.args:
            if isinstance(arg, Members):
                yield from (arg,) if arg.real is not None else _tables(arg)


def trusted(key: Any) -> bool:
    """Whether a real dict may be asked for this key without running user code, and the key be named in a guard."""
    kind = type(key)
    if kind in TRUSTED:
        return True
    if kind is tuple or kind is frozenset:
        return all(map(trusted, key))
    if issubclass(type(key), type):
        return kind.__hash__ is type.__hash__ and kind.__eq__ is type.__eq__
    return issubclass(type(key), enum.Enum) and kind.__eq__ in (object.__eq__, str.__eq__, int.__eq__)


def is_stable(name: Any) -> bool:
    """Whether a hash key is hashed as the real member is, and always to the same number."""
    return isinstance(name, STABLE) and trusted(name)


def listed(entries: Entries) -> Items:
    """An operand: a list of these members."""
    return Items(list, tuple([(name, value) for name, (value, _) in entries.items()]))
