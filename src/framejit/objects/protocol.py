"""CPython's abstract object protocol, symbolically: user code first, then the model of the built-in type."""

from __future__ import annotations

import operator
import sys
import types
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from framejit.core.errors import Raised
from framejit.core.heap import MISSING
from framejit.core.path import DICT_ITEM
from framejit.core.services import Pending, Services
from framejit.core.value import FALSE, NONE, TRUE, Const, Node, Number, Pack, Ref, Value, bool_const
from framejit.objects import later, object_
from framejit.objects.dict_ import key_in, plain_key, store
from framejit.objects.exact import defines, type_name
from framejit.objects.fold import WRITTEN, is_plain, run, unwrap
from framejit.objects.lineage import is_descendant, note_text
from framejit.objects.model import model_of
from framejit.objects.object_ import (
    BINARY_NAMES,
    COMPARE_NAMES,
    delattr_,
    dict_of,
    getattr_,
    getattr_tail,
    setattr_,
    special,
    type_lookup,
)
from framejit.objects.sameness import by_value, same_or_equal
from framejit.objects.stand_in import made_of
from framejit.reasons import R

HEAP_TYPE = 1 << 9
MOST_ADVANCES = 100_000  # of iterators in one region
TESTED_FOR_NONE = ("__iter__", "__hash__", "__contains__")
SLOT_WRAPPERS = (types.WrapperDescriptorType, types.MethodDescriptorType, types.MethodWrapperType)


def user_slot(s: Services, value: Value, name: str) -> Value | None:
    """The special method bound to the value if its class defines it in Python; None where C code of the base type answers.

    A class that sets the name to None gets None back as a value: calling it raises, as it does in CPython.
    """
    if not has_slot(s, value, name):
        return None
    found = s.type_lookup(value.cls, name)
    return NONE if found is None else s.finish(object_.bind(s, s.trace.roots.const(found), found, value))


def has_slot(s: Services, value: Value, name: str) -> bool:
    """Whether its class defines the special method in Python; unlike `user_slot` this asks no descriptor for it."""
    cls = value.cls
    if not cls.__flags__ & HEAP_TYPE or isinstance(value, Node):
        return False
    found = s.type_lookup(cls, name)
    if found is MISSING or object_.is_own_slot(found, cls, name):
        return False
    return found is not None or name not in TESTED_FOR_NONE


def type_error(s: Services, text: str) -> Any:
    return s.raise_error(TypeError, text)


def _name(value: Value) -> str:
    return type_name(value.cls)


# -- items ------------------------------------------------------------------------------------------------------------


def getitem_tail(s: Services, container: Value, key: Value) -> Value | Pending:
    value = s.force(container)
    slot = user_slot(s, value, "__getitem__")
    if slot is not None:
        return s.tail_call(slot, [key])
    if isinstance(value, Const) and issubclass(type(value.obj), type) and type_lookup(s, type(value.obj), "__getitem__") is MISSING:
        return _class_getitem(s, value, key)
    return model_of(value.cls).getitem(s, value, key)


def _class_getitem(s: Services, value: Const, key: Value) -> Value | Pending:
    found = s.type_lookup(value.obj, "__class_getitem__")
    if found is MISSING:
        return type_error(s, f"type '{value.obj.__name__}' is not subscriptable")
    in_c = issubclass(type(found), (types.ClassMethodDescriptorType, types.BuiltinFunctionType))
    if in_c or value.obj.__module__ == "collections.abc":
        name = s.constant(key)
        try:
            real = value.obj[name]
        except TypeError as error:
            return type_error(s, *error.args)
        return made_of(s, real, operator.getitem, (value, key)) if _mentions_captured(s, real) else s.wrap(real)
    return s.tail_call(s.getattr(value, "__class_getitem__"), [key])


def _mentions_captured(s: Services, alias: Any) -> bool:
    """Whether a type form has to do with a class that the captured code defined."""
    if isinstance(alias, type) and not isinstance(alias, types.GenericAlias):
        return alias in s.trace.classes
    parts = (getattr(alias, "__origin__", None), *getattr(alias, "__args__", ()))
    return any(_mentions_captured(s, part) for part in parts if part is not None)


def getitem(s: Services, container: Value, key: Value) -> Value:
    return s.finish(getitem_tail(s, container, key))


def setitem(s: Services, container: Value, key: Value, new: Value) -> None:
    value = s.force(container)
    slot = user_slot(s, value, "__setitem__")
    if slot is not None:
        s.call(slot, [key, new])
    else:
        model_of(value.cls).setitem(s, value, key, new)


def delitem(s: Services, container: Value, key: Value) -> None:
    value = s.force(container)
    slot = user_slot(s, value, "__delitem__")
    if slot is not None:
        s.call(slot, [key])
    else:
        model_of(value.cls).delitem(s, value, key)


def dict_set(s: Services, target: Value, key: Value, item: Value) -> None:
    """Store into an exact dict."""
    assert isinstance(target, Ref)
    forced = s.force(key)
    store(s, target, key_in(s, target, forced), item, forced)


# -- operators --------------------------------------------------------------------------------------------------------

SEQUENCES = (list, tuple, str, bytes, deque)
REPEATS = ("__mul__", "__rmul__")
SEQUENCE_OPERATORS = frozenset({"+", "+=", "*", "*="})
SWAPPED = {"<": ">", "<=": ">=", "==": "==", "!=": "!=", ">": "<", ">=": "<="}


def is_not_implemented(value: Value) -> bool:
    return isinstance(value, Const) and value.obj is NotImplemented


def _operate(s: Services, symbol: str, left: Value, right: Value, reflected: bool, name: str) -> Value | None:
    """One side's answer, None for NotImplemented."""
    asked, other = (right, left) if reflected else (left, right)
    slot = user_slot(s, asked, name)
    if slot is not None:
        result = s.force(s.call(slot, [other]))
        return None if is_not_implemented(result) else result
    is_sequence = symbol in SEQUENCE_OPERATORS and issubclass(asked.cls, SEQUENCES)
    if is_sequence and not (symbol[0] == "+" and s.type_lookup(asked.cls, "__radd__") is not MISSING):
        return _sequence_as_number(s, symbol, left, right, reflected, name)
    return model_of(asked.cls).binary(s, symbol, left, right, reflected)


def _sequence_as_number(s: Services, symbol: str, left: Value, right: Value, reflected: bool, name: str) -> Value | None:
    """Built-in sequences wait until both operands were asked as numbers, but subclasses pass some names on to C at once."""
    asked, other = (right, left) if reflected else (left, right)
    if not asked.cls.__flags__ & HEAP_TYPE or not (name == "__iadd__" or (name in REPEATS and _overrides_any(s, asked, REPEATS))):
        return None
    found = model_of(asked.cls).binary(s, symbol, left, right, reflected)
    if found is None and name in REPEATS:
        return type_error(s, f"'{_name(other)}' object cannot be interpreted as an integer")
    return found


def _as_sequences(s: Services, symbol: str, left: Value, right: Value) -> Value | None:
    """What `+` and `*` mean to built-in sequences, None if there is none."""
    if symbol[0] == "+":
        is_one = issubclass(left.cls, SEQUENCES) and not _overrides_any(s, left, ("__add__",))
        return model_of(left.cls).binary(s, symbol, left, right, False) if is_one else None
    for sized, times in ((left, right), (right, left)):
        in_place = symbol == "*=" and sized is left
        names = ("__imul__",) if in_place and issubclass(sized.cls, (list, deque)) else REPEATS
        if issubclass(sized.cls, SEQUENCES) and not _overrides_any(s, sized, names):
            found = model_of(sized.cls).binary(s, symbol if in_place else "*", left, right, sized is not left)
            return type_error(s, f"can't multiply sequence by non-int of type '{_name(times)}'") if found is None else found
        if in_place and (left.cls.__flags__ & HEAP_TYPE or defines(left.cls, "__len__")):
            return None  # a type with any sequence method does not leave it to the other operand
    return None


def _overrides_any(s: Services, value: Value, names: Sequence[str]) -> bool:
    return any(has_slot(s, value, name) for name in names)


def binary(s: Services, symbol: str, left: Value, right: Value) -> Value:
    left, right = s.force(left), s.force(right)
    operator = symbol[:-1] if symbol.endswith("=") else symbol
    name = BINARY_NAMES[operator]
    if operator is not symbol and _knows(s, left, f"__i{name}__"):
        result = _operate(s, symbol, left, right, False, f"__i{name}__")
        if result is not None:
            return result
    right_first = _is_of_subclass(s, right, left) and _overrides(s, right, left, f"__r{name}__")
    if right_first:
        result = _operate(s, operator, left, right, True, f"__r{name}__")
        if result is not None:
            return result
    result = _operate(s, operator, left, right, False, f"__{name}__")
    if result is not None:
        return result
    if not right_first and (right.cls is not left.cls):
        result = _operate(s, operator, left, right, True, f"__r{name}__")
        if result is not None:
            return result
    if symbol in SEQUENCE_OPERATORS:
        result = _as_sequences(s, symbol, left, right)
        if result is not None:
            return result
    shown = "** or pow()" if operator == "**" else operator
    return type_error(s, f"unsupported operand type(s) for {shown if operator is symbol else symbol}: '{_name(left)}' and '{_name(right)}'")


def _knows(s: Services, value: Value, name: str) -> bool:
    """Whether the class has the attribute; that torch's classes stay as they are is taken for granted."""
    return defines(value.cls, name) if isinstance(value, Node) else s.type_lookup(value.cls, name) is not MISSING


def _is_of_subclass(s: Services, value: Value, other: Value) -> bool:
    """Whether the class descends from that of the other, which it is not."""
    if value.cls is other.cls:
        return False
    return other.cls in value.cls.__mro__ if isinstance(value, Node) else is_descendant(s, value.cls, other.cls)


def _overrides(s: Services, value: Value, other: Value, name: str) -> bool:
    """Whether the class has another special method under the name than its base."""
    if isinstance(value, Node):
        return getattr(value.cls, name, None) is not getattr(other.cls, name, None)
    mine = s.type_lookup(value.cls, name)
    return mine is not MISSING and mine is not None and mine is not s.type_lookup(other.cls, name)


def _compare(s: Services, symbol: str, value: Value, other: Value) -> Value | None:
    slot = user_slot(s, value, COMPARE_NAMES[symbol])
    if slot is not None:
        result = s.force(s.call(slot, [other]))
        return None if is_not_implemented(result) else result
    if symbol == "!=" and s.type_lookup(value.cls, "__ne__") is object.__ne__ and has_slot(s, value, "__eq__"):  # it inverts __eq__
        equal = _compare(s, "==", value, other)
        return None if equal is None else not_(s, equal)
    return model_of(value.cls).compare(s, symbol, value, other)


def compare(s: Services, symbol: str, left: Value, right: Value) -> Value:
    left, right = s.force(left), s.force(right)
    right_first = _is_of_subclass(s, right, left)
    if right_first:
        result = _compare(s, SWAPPED[symbol], right, left)
        if result is not None:
            return result
    result = _compare(s, symbol, left, right)
    if result is None and not right_first:
        result = _compare(s, SWAPPED[symbol], right, left)
    if result is not None:
        return result
    if symbol == "==":
        return bool_const(s.is_same(left, right))
    if symbol == "!=":
        return bool_const(not s.is_same(left, right))
    return type_error(s, f"'{symbol}' not supported between instances of '{_name(left)}' and '{_name(right)}'")


UNARY = {"+": "__pos__", "-": "__neg__", "~": "__invert__"}


def unary(s: Services, symbol: str, value: Value) -> Value:
    value = s.force(value)
    slot = user_slot(s, value, UNARY[symbol])
    if slot is not None:
        return s.call(slot)
    return model_of(value.cls).unary(s, symbol, value)


def not_(s: Services, value: Value) -> Value:
    return bool_const(not s.truth(value))


def truth(s: Services, value: Value) -> bool:
    value = s.force(value)
    if isinstance(value, Const):
        obj = value.obj
        if obj is True or obj is False or obj is None:
            return bool(obj)
    slot = user_slot(s, value, "__bool__")
    if slot is not None:
        answer = s.force(s.call(slot))
        if answer.cls is not bool:
            type_error(s, f"__bool__ should return bool, returned {_name(answer)}")
        return s.truth(answer)
    by_length = has_slot(s, value, "__len__") and s.type_lookup(value.cls, "__bool__") is MISSING
    known = None if by_length else model_of(value.cls).truth(s, value)
    if known is not None:
        return known
    length = _length(s, value)
    return True if length is None else s.truth(_checked(s, length))


def _length(s: Services, value: Value) -> Value | None:
    slot = user_slot(s, value, "__len__")
    if slot is not None:
        return s.force(s.call(slot))
    return model_of(value.cls).len(s, value)


def len_(s: Services, value: Value) -> Value:
    value = s.force(value)
    length = _length(s, value)
    if length is None:
        return type_error(s, f"object of type '{_name(value)}' has no len()")
    return _checked(s, length)


def _checked(s: Services, length: Value) -> Value:
    """What `__len__` gave, as an int that is a length."""
    if isinstance(length, Const) and type(length.obj) is not int:
        length = index(s, length)
    elif isinstance(length, (Ref, Pack)):
        length = index(s, length)
    if isinstance(length, Const) and length.obj < 0:
        s.raise_error(ValueError, "__len__() should return >= 0")
    if isinstance(length, Const) and length.obj > sys.maxsize:
        s.raise_error(OverflowError, "cannot fit 'int' into an index-sized integer")
    return length


def index(s: Services, value: Value) -> Value:
    """operator.index()."""
    value = s.force(value)
    if issubclass(value.cls, int):
        value = unwrap(s, value)
    if isinstance(value, Const) and issubclass(type(value.obj), int):
        return Const(int.__index__(value.obj))
    if isinstance(value, (Number, Node)):
        return value
    method = special(s, value, "__index__")
    if method is None:
        return type_error(s, f"'{_name(value)}' object cannot be interpreted as an integer")
    found = s.force(s.call(method))
    if not issubclass(found.cls, int):
        return type_error(s, f"__index__ returned non-int (type {_name(found)})")
    return index(s, found) if isinstance(found, Const) else found


def contains(s: Services, container: Value, item: Value) -> Value:
    value = s.force(container)
    slot = user_slot(s, value, "__contains__")
    if slot is not None:
        return bool_const(s.truth(s.call(slot, [item])))
    if value.cls.__flags__ & HEAP_TYPE and not isinstance(value, Node) and s.type_lookup(value.cls, "__contains__") is None:
        return type_error(s, f"'{_name(value)}' object is not a container")
    if not has_slot(s, value, "__iter__") or s.type_lookup(value.cls, "__contains__") is not MISSING:
        answer = model_of(value.cls).contains(s, value, item)
        if answer is not None:
            return answer
    try:
        iterator = s.iter(value)
    except Raised as raised:
        if not issubclass(s.exception_type(raised.value), TypeError):
            raise
        return type_error(s, f"argument of type '{_name(value)}' is not iterable")
    while (candidate := next_or_none(s, iterator)) is not None:
        if same_or_equal(s, candidate, item):
            return TRUE
    return FALSE


def is_same(s: Services, left: Value, right: Value) -> bool:
    left, right = s.force(left), s.force(right)
    if left is right:
        return True
    if isinstance(left, Const) and isinstance(right, Const):
        return _same_constant(s, left, right)
    if isinstance(left, Pack) and isinstance(right, Pack):
        return _same_pack(s, left, right)
    if isinstance(left, Number) and isinstance(right, Number):
        s.unsupported(R.OPAQUE_OPERATION, left, "identity of numbers")
    for number, value in ((left, right), (right, left)):
        if isinstance(number, Number) and isinstance(value, Const) and value.cls is number.cls:
            return _is_number(s, number, value.obj)
    if _is_empty_tuple(left) and _is_empty_tuple(right):
        return True
    for constant, value in ((left, right), (right, left)):
        if isinstance(constant, Const) and constant.path is None and isinstance(value, Ref) and value.cls is constant.cls:
            return value.path is not None and _is_constant(s, value, constant.obj)
    one, other = _real(left), _real(right)
    if one is None or other is None:
        return False
    path, other_path = object_.path_of(s, left), object_.path_of(s, right)
    assert path is not None
    same = one is other
    s.guard(path, "SAME" if same else "NOT_SAME", other_path)
    return same


def _is_number(s: Services, number: Number, obj: Any) -> bool:
    """Of bools and small ints there is just one object."""
    if number.cls is bool or (number.cls is int and -6 < obj < 257):
        return bool(s.constant(number) == obj)
    return s.unsupported(R.OPAQUE_OPERATION, number, "identity of numbers")


def _is_constant(s: Services, value: Ref, obj: Any) -> bool:
    same = value.real is obj
    s.guard(value.path, "IS" if same else "IS_NOT", obj)
    return same


def _is_empty_tuple(value: Value) -> bool:
    return value.cls is tuple and not (value.items if isinstance(value, Pack) else value.obj)  # type: ignore[attr-defined]


def _real(value: Value) -> Any:
    """The object behind a value that exists already, None for one that the capture makes."""
    if isinstance(value, Const):
        return value.obj if value.path is not None and value.obj is not None else None
    return value.real if isinstance(value, (Ref, Node)) and value.path is not None else None


def _same_constant(s: Services, left: Const, right: Const) -> bool:
    """Whether equal constants are one object: as far as it was seen, unless CPython has just one of them."""
    one, other = left.obj, right.obj
    if not by_value(one, other):
        return one is other
    if type(one) in (int, str, bytes) and (len(one) < 2 if type(one) is not int else -6 < one < 257):
        return True
    same = one is other
    paths = [value.path for value in (left, right) if value.path is not None]
    if len(paths) == 2 and paths[0] is not paths[1]:
        s.guard(paths[0], "SAME" if same else "NOT_SAME", paths[1])
    elif len(paths) == 1:
        s.guard(paths[0], "IS" if same else "IS_NOT", other if left.path is not None else one)
    return same


def _same_pack(s: Services, left: Pack, right: Pack) -> bool:
    if left.cls is not right.cls or (left.path is None) is not (right.path is None):
        return False
    if left.items is right.items:
        return (not left.items and left.cls is tuple) or (left.path is not None and left.path is right.path)
    if left.path is None or left.path is right.path or len(left.items) != len(right.items):
        return False
    one, other = s.real_at(left.path), s.real_at(right.path)  # type: ignore[attr-defined]
    s.guard(left.path, "SAME" if one is other else "NOT_SAME", right.path)
    return one is other


def hash_(s: Services, value: Value) -> Value:
    value = s.force(value)
    slot = user_slot(s, value, "__hash__")
    if slot is not None:
        found = s.force(s.call(slot))
        if not issubclass(found.cls, int):
            return type_error(s, "__hash__ method should return an integer")
        number = int(s.constant(found))
        return Const(hash(number) if not -sys.maxsize - 1 <= number <= sys.maxsize or number == -1 else number)
    stands_for = getattr(model_of(value.cls), "hashed_as", None)
    if stands_for is not None:
        found = stands_for(s, value)
        return Const(found) if type(found) is int else hash_(s, found)
    key = plain_key(s, value, None)
    if _by_identity(key):
        return s.unsupported(R.OPAQUE_OPERATION, value, "hash by identity")
    return Const(hash(key))


def _by_identity(key: Any) -> bool:
    """Whether the hash of what a hash key stands for depends on where an object lies that does not exist yet."""
    if issubclass(type(key), (tuple, frozenset)):
        return any(map(_by_identity, key))
    return isinstance(key, Value) or (issubclass(type(key), (float, complex)) and key != key)


# -- iteration --------------------------------------------------------------------------------------------------------


def iter_(s: Services, value: Value) -> Value:
    value = s.force(value)
    slot = user_slot(s, value, "__iter__")
    if slot is not None:
        found = s.force(s.call(slot))
        if s.type_lookup(found.cls, "__next__") in (MISSING, None):
            return type_error(s, f"iter() returned non-iterator of type '{_name(found)}'")
        return found
    cls = value.cls
    if not isinstance(value, Node):
        defined = s.type_lookup(cls, "__iter__")
        if defined is None or defined is MISSING:
            if defined is MISSING and s.type_lookup(cls, "__getitem__") is not MISSING:
                return s.heap.new(type(iter(_Sequence())), {("sequence",): value, ("index",): Const(0)})
            return type_error(s, f"'{_name(value)}' object is not iterable")
    return model_of(cls).iter(s, value)


def is_iterable(s: Services, value: Value) -> bool:
    """Whether iter() would not refuse the value."""
    cls = s.force(value).cls
    return s.type_lookup(cls, "__iter__") not in (None, MISSING) or s.type_lookup(cls, "__getitem__") is not MISSING


class _Sequence:
    def __getitem__(self, index: int) -> int:
        raise IndexError


def next_(s: Services, iterator: Value) -> Value:
    value = s.force(iterator)
    slot = user_slot(s, value, "__next__")
    if slot is not None:
        return s.call(slot)
    return model_of(value.cls).next(s, value)


def send_or_value(s: Services, iterator: Value, sent: Value) -> tuple[Value | None, Value]:
    """The next item, or None and the value of the StopIteration; what is not None is sent by a method."""
    try:
        if s.is_same(sent, NONE):
            return next_(s, iterator), NONE
        return s.call(s.getattr(iterator, "send"), [sent]), NONE
    except Raised as raised:
        if not issubclass(s.exception_type(raised.value), StopIteration):
            raise
        return None, s.getattr(raised.value, "value")


def next_or_none(s: Services, iterator: Value) -> Value | None:
    """The next item, or None at the end."""
    s.advances += 1  # type: ignore[attr-defined]
    if s.advances > MOST_ADVANCES:  # type: ignore[attr-defined]
        s.unsupported(R.CODE_TOO_LARGE, iterator, "a very long iteration in C")
    value = s.force(iterator)
    if isinstance(value, Ref) and value.cls is types.GeneratorType and s.heap.get(value, ("frame",)) is not None:
        return s.resume_generator(value, NONE)
    advance = getattr(model_of(value.cls), "advance", next_)
    try:
        return advance(s, value)  # also a StopIteration of a function that an iterator calls is an end
    except Raised as raised:
        if not issubclass(s.exception_type(raised.value), StopIteration):
            raise
        return None


def unpack(s: Services, iterable: Value) -> list[Value]:
    value = s.force(iterable)
    if isinstance(value, Pack) and value.cls is tuple:
        return list(value.items)
    return _rest(s, s.iter(value))


def _rest(s: Services, iterator: Value) -> list[Value]:
    items = []
    while (item := next_or_none(s, iterator)) is not None:
        items.append(item)
    return items


def each(s: Services, iterable: Value) -> Iterator[Value]:
    """The items one by one; the iterator is asked for at once."""
    iterator = s.iter(s.force(iterable))
    return iter(lambda: next_or_none(s, iterator), None)


HINTED: set[type] = set()  # iterators of C that ask the program for the length of what they go through


def listed(s: Services, iterable: Value) -> list[Value]:
    """The items as a list or tuple made of them collects them: `__len__` or `__length_hint__` is asked behind `__iter__`."""
    value = s.force(iterable)
    if not value.cls.__flags__ & HEAP_TYPE and value.cls not in HINTED:
        return unpack(s, value)
    iterator = s.iter(value)
    length_hint(s, value)
    return _rest(s, iterator)


def length_hint(s: Services, value: Value) -> None:
    """What CPython asks an object before it collects its items; only the effects of the answer are seen."""
    for name in ("__len__", "__length_hint__"):
        slot = user_slot(s, value, name)
        if slot is None and not (value.cls in HINTED and name == "__length_hint__"):
            continue
        try:
            answer = s.force(s.call(s.getattr(value, name) if slot is None else slot))
            if name == "__len__":
                _checked(s, answer)
                return
        except Raised as raised:
            if not issubclass(s.exception_type(raised.value), TypeError):
                raise
            continue
        if isinstance(answer, Const) and answer.obj is NotImplemented:
            return
        if not issubclass(answer.cls, int):
            type_error(s, f"__length_hint__ must be an integer, not {_name(answer)}")
        if isinstance(answer, Const) and answer.obj < 0:
            s.raise_error(ValueError, "__length_hint__() should return >= 0")


# -- text -------------------------------------------------------------------------------------------------------------


def _text(s: Services, value: Value, name: str, function: Any) -> Value:
    value = s.force(value)
    slot = user_slot(s, value, name)
    if slot is not None:
        answer = s.force(s.call(slot))
        if not issubclass(answer.cls, str):
            type_error(s, f"{name} returned non-string (type {_name(answer)})")
        return answer
    if value.cls is str and function is str:
        return value
    if name == "__str__" and has_slot(s, value, "__repr__") and s.type_lookup(value.cls, "__str__") is object.__str__:
        return s.repr(value)
    if isinstance(value, Const) and issubclass(type(value.obj), type):
        note_text(s, value.obj)
    inert = not isinstance(value, Pack) or is_plain(s, value, WRITTEN)
    if inert and s.is_constant(value) and not (isinstance(value, Const) and type(value.obj).__repr__ is object.__repr__):
        return run(s, function, s.constant(value))
    return object_.text(s, value, function)


def repr_(s: Services, value: Value) -> Value:
    return _text(s, value, "__repr__", repr)


def str_(s: Services, value: Value) -> Value:
    return _text(s, value, "__str__", str)


def convert(s: Services, value: Value, conversion: str) -> Value:
    """`!s`, `!r`, `!a` of a formatted field."""
    if conversion == "s":
        return s.str(value)
    if conversion == "r":
        return s.repr(value)
    return Const(s.constant(s.repr(value)).encode("ascii", "backslashreplace").decode("ascii"))


def format_(s: Services, value: Value, conversion: str, spec: Value | None) -> Value:
    """One field of an f-string."""
    if conversion:
        value = convert(s, value, conversion)
    value = s.force(value)
    spec_value = spec if spec is not None else Const("")
    slot = user_slot(s, value, "__format__")
    if slot is not None:
        return s.call(slot, [spec_value])
    text = s.constant(spec_value)
    if later.is_text(s, value) and not text:
        return value
    own = getattr(model_of(value.cls), "format", None)
    if own is not None:
        return own(s, value, text)
    if isinstance(value, Ref) and (text or (not has_slot(s, value, "__str__") and not has_slot(s, value, "__repr__"))):
        value = unwrap(s, value)
    if not text and not isinstance(value, Const):
        if isinstance(value, Number):
            return Const(format(s.constant(value)))
        return s.str(value)
    if not s.is_constant(value):
        if isinstance(value, (Ref, Pack)) and text:
            type_error(s, f"unsupported format string passed to {_name(value)}.__format__")
        value = Const(s.constant(value))
    if not text and has_slot(s, value, "__str__"):
        return s.str(value)
    try:
        return Const(format(s.constant(value), text))
    except (ValueError, TypeError) as error:
        return s.raise_real(error)


def call_method(s: Services, value: Value, name: str, args: Sequence[Value] = ()) -> Value:
    method = special(s, s.force(value), name)
    if method is None:
        return type_error(s, f"'{_name(s.force(value))}' object has no {name}")
    return s.call(method, args)


# -- imports ----------------------------------------------------------------------------------------------------------


def import_name(s: Services, globals_: Ref, name: str, level: int, fromlist: Any) -> Value:
    """A module that is loaded already; an import that would run code ends the region."""
    package = ""
    if level:
        found = s.getitem(globals_, Const("__package__"))
        package = s.constant(found) or ""
        bits = package.rsplit(".", level - 1)
        if not package or len(bits) < level:
            s.unsupported(R.IMPORT, None, name)
        name = f"{bits[0]}.{name}" if name else bits[0]
    full_name = name if fromlist or level else name.partition(".")[0]
    loaded, wanted = sys.modules.get(full_name), sys.modules.get(name)
    if loaded is None or wanted is None or getattr(getattr(wanted, "__spec__", None), "_initializing", False):
        s.unsupported(R.IMPORT, None, name)
    for item in fromlist or ():
        if item == "*" or not hasattr(loaded, item):
            s.unsupported(R.IMPORT, None, f"{name}.{item}")
    modules = s.trace.roots.const(sys.modules)
    if full_name != name:
        s.guard(modules.to(DICT_ITEM, name), "IS", wanted)
    return s.input(modules.to(DICT_ITEM, full_name), loaded)


__all__ = ["call_method", "delattr_", "dict_of", "getattr_", "getattr_tail", "setattr_", "special", "type_lookup"]
