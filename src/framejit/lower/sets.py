"""Sets made with the history that they have, so that the real ones are iterated as they are in eager."""

from __future__ import annotations

from collections.abc import Callable

from framejit.core.heap import Heap
from framejit.core.value import NONE, Pack, Ref
from framejit.lower.materialize import FILLERS, Materializer, builder
from framejit.objects.members import FROZEN, Items, Members

Effect = Callable[..., None]  # function and registers: calls it behind the values


def make(m: Materializer, members: Members) -> int:
    """A register with a new set, or with the frozenset; `members` must be stable."""
    first, *changes = members.history() or []
    if first.function is set and not any(isinstance(arg, Members) or arg.kind is not list for arg in first.args):
        keys = [pair for arg in first.args for pair in arg.pairs]
        while changes and changes[0].function is set.add:
            keys += changes.pop(0).args[0].pairs
        register = m.new("BUILD_SET", tuple([m.key(*pair) for pair in keys]))
    elif first.real is None:
        register = m.call(first.function, *arguments(m, first))
    elif changes:
        register = m.call(set, _real(m, first))
    else:
        register = _real(m, first)
    change(m, register, changes, m.effect)
    return register


def change(m: Materializer, register: int, changes: list[Members], effect: Effect) -> None:
    """Do to the set in the register what led from each of these states to the next."""
    for state in changes:
        effect(state.function, register, *arguments(m, state))


@builder(set)
def _set(m: Materializer, ref: Ref) -> int:
    members = m.heap.get(ref, Heap.ITEMS)
    return make(m, members) if members.stable else m.new("BUILD_SET", _keys(m, members))


@builder(frozenset)
def _frozenset(m: Materializer, pack: Pack) -> int:
    members = m.trace.cache.get((FROZEN, pack))
    if members is None or not members.stable:
        for name, (key, _) in () if members is None else members.items():
            m.key(name, key)
        made = m.tuple_of(pack.items)
    elif pack.cls is frozenset:
        return _operand(m, members)
    else:
        made = arguments(m, members)[0] if members.function is frozenset and members.args else _operand(m, members)
    return m.call(frozenset.__new__, m.const(pack.cls), made)


def _fill(m: Materializer, ref: Ref, register: int) -> None:
    """The members of an empty set, or of a new instance of a subclass."""
    members = m.heap.get(ref, Heap.ITEMS)
    if not members.stable:
        for key in _keys(m, members):
            m.add("SET_ADD", register, key)
        return
    first, *changes = members.history() or []
    if first.function is not set:
        m.effect(set.update, register, make(m, first))
    elif first.args:
        m.effect(set.update, register, *arguments(m, first))
    change(m, register, changes, m.effect)


FILLERS[set] = _fill


def _keys(m: Materializer, members: Members) -> tuple[int, ...]:
    return tuple([m.key(name, key) for name, (key, _) in members.items()])


def arguments(m: Materializer, members: Members) -> list[int]:
    """The registers of the operands."""
    return [_operand(m, arg) if isinstance(arg, Members) else _items(m, arg) for arg in members.args]


def _items(m: Materializer, items: Items) -> int:
    keys = [m.key(*pair) for pair in items.pairs]
    if items.kind is None:
        return keys[0]
    if items.kind is list:
        return m.new("BUILD_LIST", tuple(keys))
    none = m.value(NONE)
    made = m.new("BUILD_DICT", tuple([register for key in keys for register in (key, none)]))
    return made if items.kind is dict else m.call(dict.keys, made)


def _operand(m: Materializer, members: Members) -> int:
    key = ("members", id(members))
    found = m.made.get(key)
    if found is None:
        found = m.made[key] = make(m, members)
    return found


def _real(m: Materializer, members: Members) -> int:
    return m.const(members.real) if members.path is None else m.head.want(members.path)
