"""Functions of the standard library that are written in C, or that capture treats as a whole."""

from __future__ import annotations

import _string  # type: ignore[import-not-found]
import _thread
import bisect
import cmath
import collections
import functools
import heapq
import itertools
import json
import logging
import math
import operator
import os
import posix
import re
import struct
import sys
import time
import types
from typing import Any

from framejit.core.heap import MISSING
from framejit.core.path import Path
from framejit.core.services import Pending, Services
from framejit.core.value import FALSE, NONE, Const, Node, Number, Pack, Value, bool_const
from framejit.lib import pure as lib_pure
from framejit.objects import callables, exception, itertools_, later, list_, slice_
from framejit.objects.by_parts import by_parts
from framejit.objects.exact import type_name
from framejit.objects.fold import FOLDABLE, ConstantModel, fold, run, snapshot, unwrap
from framejit.objects.model import model
from framejit.objects.protocol import next_or_none, user_slot
from framejit.objects.sameness import BY_VALUE
from framejit.reasons import R
from framejit.rules.builtins_ import takes, wrong_arguments
from framejit.rules.registry import HANDLERS, Handler, handler, pure

# -- operator -----------------------------------------------------------------------------------------------------------

BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "and_": "&", "or_": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
    "iadd": "+=", "isub": "-=", "imul": "*=", "itruediv": "/=", "ifloordiv": "//=", "imod": "%=", "ipow": "**=", "imatmul": "@=",
    "iand": "&=", "ior": "|=", "ixor": "^=", "ilshift": "<<=", "irshift": ">>=",
}  # fmt: skip
COMPARE = {"lt": "<", "le": "<=", "eq": "==", "ne": "!=", "gt": ">", "ge": ">="}
UNARY = {"neg": "-", "pos": "+", "invert": "~"}


def exactly(count: int, target: Any) -> Any:
    """Adapt `f(s, a, b …)` of a function that takes exactly `count` positional arguments."""

    def adapt(function: Any) -> Handler:
        def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value | Pending:
            if kwargs or len(args) != count:
                return wrong_arguments(s, target, args, kwargs)
            return function(s, *args)

        return call

    return adapt


def _binary(symbol: str) -> Any:
    return lambda s, left, right: s.binary(symbol, left, right)


def _compare(symbol: str) -> Any:
    return lambda s, left, right: s.compare(symbol, left, right)


def _unary(symbol: str) -> Any:
    return lambda s, v: s.unary(symbol, v)


def _setitem(s: Services, container: Value, key: Value, new: Value) -> Value:
    s.setitem(container, key, new)
    return NONE


def _delitem(s: Services, container: Value, key: Value) -> Value:
    s.delitem(container, key)
    return NONE


def _concat(symbol: str) -> Any:
    def concat(s: Services, left: Value, right: Value) -> Value:
        sides = s.force(left), s.force(right)
        if not issubclass(sides[0].cls, (list, tuple, str, bytes, collections.deque)):
            for side in sides:
                if issubclass(side.cls, dict) or s.type_lookup(side.cls, "__getitem__") is MISSING:
                    s.raise_error(TypeError, f"'{type_name(sides[0].cls)}' object can't be concatenated")
        return s.binary(symbol, left, right)

    return concat


def _index(s: Services, v: Value) -> Value:
    v = s.force(v)
    return v if isinstance(v, Number) and v.cls is int else Const(slice_.index(s, v))


OPERATORS: dict[str, tuple[int, Any]] = {
    **{name: (2, _binary(symbol)) for name, symbol in BINARY.items()},
    **{name: (2, _compare(symbol)) for name, symbol in COMPARE.items()},
    **{name: (1, _unary(symbol)) for name, symbol in UNARY.items()},
    "getitem": (2, lambda s, container, key: s.getitem(container, key)),
    "setitem": (3, _setitem), "delitem": (2, _delitem),
    "contains": (2, lambda s, container, item: s.contains(container, item)),
    "concat": (2, _concat("+")), "iconcat": (2, _concat("+=")),
    "not_": (1, lambda s, v: bool_const(not s.truth(v))),
    "truth": (1, lambda s, v: bool_const(s.truth(v))),
    "is_": (2, lambda s, left, right: bool_const(s.is_same(left, right))),
    "is_not": (2, lambda s, left, right: bool_const(not s.is_same(left, right))),
    "abs": (1, lambda s, v: s.call(Const(abs), [v])),
    "index": (1, _index),
}  # fmt: skip
for _name, (_count, _function) in OPERATORS.items():
    _target = getattr(operator, _name)
    handler(_target)(exactly(_count, _target)(_function))


_kind: type

# -- math ---------------------------------------------------------------------------------------------------------------


def _mathematical(function: Any) -> Handler:
    name = f"__{function.__name__}__" if function in (math.floor, math.ceil, math.trunc) else ""

    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value | Pending:
        if name and len(args) == 1:
            v = s.force(args[0])
            if isinstance(v, Number) and v.cls is int:
                return v
            if not isinstance(v, (Const, Number)) or type(getattr(v, "obj", 0)) not in FOLDABLE:
                method = s.special(v, name)
                if method is not None:
                    return s.call(method)
                if function is math.trunc:
                    s.raise_error(TypeError, f"type {v.cls.__name__} doesn't define __trunc__ method")
        numbers: list[Value] = []
        for arg in args:
            number = _number(s, arg, how)
            numbers.append(number)
            if isinstance(number, Const) and not isinstance(number.obj, (int, float, complex)) and len(args) > 1:
                numbers += [Const(1.0)] * (len(args) - len(numbers))  # its error comes in front of what the others do
                break
        return fold(s, function, numbers, {key: _number(s, arg, how) for key, arg in kwargs.items()})

    how = _asked_by(function)
    return call


AS_INTEGERS = frozenset({math.gcd, math.lcm, math.comb, math.perm, math.isqrt, math.factorial, math.log, math.log2, math.log10})


def _asked_by(function: Any) -> tuple[tuple[type, ...], tuple[str, ...]]:
    """Which numbers a function takes for what they hold, and the methods by which it asks others."""
    if function.__module__ == "cmath":
        return (complex,), ("__complex__", "__float__")
    return (float, int) if function in AS_INTEGERS else (float,), ("__float__",)


def _number(s: Services, v: Value, how: tuple[tuple[type, ...], tuple[str, ...]] = ((float,), ("__float__",))) -> Value:
    """A constant number as C's math functions see the value."""
    v = s.force(v)
    for name in how[1]:
        if not issubclass(v.cls, how[0]) and (method := user_slot(s, v, name)) is not None:
            return s.call(method)
    v = unwrap(s, v)
    if isinstance(v, (Const, Number)):
        return v
    if isinstance(v, Node):
        return Const(s.constant(s.call(Const(float), [v])))
    for name in ("__float__", "__index__"):
        method = s.special(v, name)
        if method is not None:
            return s.call(method)
    return v


_OF_ITERABLES = (math.prod, math.fsum, math.dist, math.hypot)
for _function in (*vars(math).values(), *vars(cmath).values()):
    if isinstance(_function, types.BuiltinFunctionType) and _function not in _OF_ITERABLES:
        handler(_function)(_mathematical(_function))


@takes(math.prod, "iterable / * start=")
def prod(s: Services, iterable: Value, start: Value | None) -> Value:
    total = Const(1) if start is None else start
    for item in s.each(iterable):
        total = s.binary("*", total, item)
    return total


@takes(math.fsum, "iterable /")
def fsum(s: Services, iterable: Value) -> Value:
    return run(s, math.fsum, [s.constant(_number(s, item)) for item in s.unpack(iterable)])


@handler(math.hypot)
def hypot(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return fold(s, math.hypot, [_number(s, arg) for arg in args], kwargs)


@takes(math.dist, "p q /")
def dist(s: Services, p: Value, q: Value) -> Value:
    return run(s, math.dist, *[[s.constant(_number(s, item)) for item in s.unpack(point)] for point in (p, q)])


# -- functools, collections -----------------------------------------------------------------------------------------------


@handler(functools.partial)
def partial(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return callables.new_partial(s, functools.partial, args, kwargs)


@takes(functools.reduce, "function iterable initial= /")
def reduce(s: Services, function: Value, iterable: Value, initial: Value | None) -> Value:
    source = s.iter(iterable)
    total = initial if initial is not None else next_or_none(s, source)
    if total is None:
        return s.raise_error(TypeError, "reduce() of empty iterable with no initial value")
    while (item := next_or_none(s, source)) is not None:
        total = s.call(function, [total, item])
    return total


@handler(functools.cmp_to_key)
def cmp_to_key(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value | Pending:
    return callables.new_key(s, args, kwargs)


@takes(collections._count_elements, "mapping iterable /")  # type: ignore[attr-defined]
def count_elements(s: Services, mapping: Value, iterable: Value) -> Value:
    get = s.getattr(mapping, "get")
    source = s.iter(iterable)
    while (item := next_or_none(s, source)) is not None:
        s.setitem(mapping, item, s.binary("+", s.call(get, [item, Const(0)]), Const(1)))
    return NONE


def in_python(target: Any, body: Any) -> None:
    """Capture the Python body of a C function: as one operation, since nobody is to see the body's frame."""

    @handler(target)
    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return s.call(Const(body), args, kwargs)


def _heap_function(target: Any, body: Any, count: int) -> None:
    @handler(target)
    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        """As in Python, but for what C says of a wrong heap."""
        if kwargs or len(args) != count:
            return wrong_arguments(s, target, args, kwargs)
        heap = s.force(args[0])
        if not issubclass(heap.cls, list):
            which = "argument" if count == 1 else "argument 1"
            s.raise_error(TypeError, f"{target.__name__}() {which} must be list, not {type_name(heap.cls)}")
        if ("pop" in target.__name__ or "replace" in target.__name__) and target is not heapq.heappushpop and not list_.items(s, heap):
            s.raise_error(IndexError, "index out of range")
        return s.call(Const(body), args)


for _name, _target in vars(heapq).items():
    if isinstance(_target, types.BuiltinFunctionType):
        _heap_function(_target, getattr(lib_pure.heapq, _name), 2 if "push" in _name or "replace" in _name else 1)
for _name, _target in vars(bisect).items():
    if isinstance(_target, types.BuiltinFunctionType) and _target not in HANDLERS:
        in_python(_target, getattr(lib_pure.bisect, _name))


# -- itertools --------------------------------------------------------------------------------------------------------------


def _new(s: Services, kind: type, **fields: Any) -> Value:
    return s.heap.new(kind, {(name,): value for name, value in fields.items() if value is not None})


@takes(itertools.count, "start= step=")
def count(s: Services, start: Value | None, step: Value | None) -> Value:
    value = Const(0) if start is None else s.force(start)
    for given in (value, Const(1) if step is None else s.force(step)):
        if not any(s.type_lookup(given.cls, name) is not MISSING for name in ("__index__", "__int__", "__float__", "__complex__")):
            s.raise_error(TypeError, "a number is required")
    if value.cls is bool and (step is None or (s.force(step).cls in (int, bool) and s.constant(step) == 1)):
        value = Const(int(s.constant(value)))  # CPython counts in a machine word then
    return _new(s, itertools.count, value=value, step=step or Const(1))


@takes(itertools.repeat, "object times=")
def repeat(s: Services, obj: Value, times: Value | None) -> Value:
    left = Const(-1) if times is None else Const(max(slice_.index(s, times), 0))
    return _new(s, itertools.repeat, object=obj, left=left)


@handler(itertools.chain)
def chain(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if kwargs:
        return wrong_arguments(s, itertools.chain, args, kwargs)
    return _new(s, itertools.chain, outer=s.iter(Pack(tuple, tuple(args))), active=NONE)


@takes(itertools.chain.from_iterable, "iterable /")
def chain_from(s: Services, iterable: Value) -> Value:
    return _new(s, itertools.chain, outer=s.iter(iterable), active=NONE)


@takes(itertools.cycle, "iterable /")
def cycle(s: Services, iterable: Value) -> Value:
    return _new(s, itertools.cycle, source=s.iter(iterable), saved=Pack(tuple, ()), index=Const(0))


@handler(itertools.islice)
def islice(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if kwargs or not 2 <= len(args) <= 4:
        return wrong_arguments(s, itertools.islice, args, kwargs)
    values = [unwrap(s, arg) for arg in args[1:]]
    given = [s.constant(value) if isinstance(value, (Const, Number)) else slice_.index(s, value) for value in values]
    run(s, itertools.islice, (), *given)
    bounds = slice(*given)
    start, step = bounds.start or 0, bounds.step or 1
    done = Const(0)
    return _new(s, itertools.islice, source=s.iter(args[0]), done=done, next=Const(start), stop=Const(bounds.stop), step=Const(step))


@takes(itertools.accumulate, "iterable func= * initial=")
def accumulate(s: Services, iterable: Value, function: Value | None, initial: Value | None) -> Value:
    given = None if initial is None or s.force(initial).cls is type(None) else initial
    plain = NONE if function is None or s.force(function).cls is type(None) else function
    return _new(s, itertools.accumulate, source=s.iter(iterable), function=plain, initial=given)


@takes(itertools.takewhile, "predicate iterable /")
def takewhile(s: Services, function: Value, iterable: Value) -> Value:
    return _new(s, itertools.takewhile, function=function, source=s.iter(iterable), stopped=FALSE)


@takes(itertools.dropwhile, "predicate iterable /")
def dropwhile(s: Services, function: Value, iterable: Value) -> Value:
    return _new(s, itertools.dropwhile, function=function, source=s.iter(iterable), started=FALSE)


@takes(itertools.filterfalse, "function iterable /")
def filterfalse(s: Services, function: Value, iterable: Value) -> Value:
    return _new(s, itertools.filterfalse, function=function, source=s.iter(iterable))


@takes(itertools.starmap, "function iterable /")
def starmap(s: Services, function: Value, iterable: Value) -> Value:
    return _new(s, itertools.starmap, function=function, source=s.iter(iterable))


@takes(itertools.compress, "data selectors")
def compress(s: Services, data: Value, selectors: Value) -> Value:
    return _new(s, itertools.compress, source=s.iter(data), selectors=s.iter(selectors))


@takes(itertools.pairwise, "iterable /")
def pairwise(s: Services, iterable: Value) -> Value:
    return _new(s, itertools.pairwise, source=s.iter(iterable))


@handler(itertools.zip_longest)
def zip_longest(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if set(kwargs) - {"fillvalue"}:
        return wrong_arguments(s, itertools.zip_longest, args, kwargs)
    sources = Pack(tuple, tuple(s.iter(arg) for arg in args))
    return _new(s, itertools.zip_longest, sources=sources, fill=kwargs.get("fillvalue", NONE))


@takes(itertools.tee, "iterable n= /")
def tee(s: Services, iterable: Value, n: Value | None) -> Value:
    count = 2 if n is None else slice_.index(s, n)
    if count < 0:
        s.raise_error(ValueError, "n must be >= 0")
    return Pack(tuple, tuple(itertools_.make_tees(s, s.iter(iterable), count)))


@takes(itertools.groupby, "iterable key=")
def groupby(s: Services, iterable: Value, key: Value | None) -> Value:
    function = NONE if key is None or s.force(key).cls is type(None) else key
    return _new(s, itertools.groupby, source=s.iter(iterable), function=function)


@handler(itertools.product)
def product(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if set(kwargs) - {"repeat"}:
        return wrong_arguments(s, itertools.product, args, kwargs)
    times = slice_.index(s, kwargs["repeat"]) if "repeat" in kwargs else 1
    ref = s.heap.new(itertools.product)
    itertools_.places(s, ref, itertools.product, [tuple(s.listed(arg)) for arg in args] * times)
    return ref


def _combinatoric(kind: type) -> None:
    @takes(kind, "iterable r=" if kind is itertools.permutations else "iterable r")
    def make(s: Services, iterable: Value, size: Value | None) -> Value:
        pool = tuple(s.listed(iterable))
        many = len(pool) if size is None or s.force(size).cls is type(None) else slice_.index(s, size)
        if many < 0:
            s.raise_error(ValueError, "r must be non-negative")
        ref = s.heap.new(kind)
        itertools_.places(s, ref, kind, [pool], many)
        return ref


for _kind in (itertools.permutations, itertools.combinations, itertools.combinations_with_replacement):
    _combinatoric(_kind)

# -- re: patterns and matches are constants -----------------------------------------------------------------------------------


def pattern_parts(real: Any) -> Any:
    """All that a pattern says."""
    return real.pattern, real.flags


def match_parts(real: Any) -> Any:
    """All that a match says."""
    return real.re, real.string, real.pos, real.endpos, real.regs, real.lastindex


BY_VALUE.update((re.Pattern, re.Match))


@model(re.Pattern, re.Match)
class PatternModel(ConstantModel):
    """Compiled patterns and their matches."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        return by_parts(s, path, real, pattern_parts if type(real) is re.Pattern else match_parts)

    def getitem(self, s: Services, v: Value, key: Value) -> Value:
        return run(s, s.constant(v).__getitem__, s.constant(key))

    def truth(self, s: Services, v: Value) -> bool | None:
        return True

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        kind = type(found)
        if kind in (types.MemberDescriptorType, types.GetSetDescriptorType):
            return s.wrap(getattr(s.constant(v), name))
        return None


pure((re.compile, re.match, re.search, re.fullmatch, re.split, re.findall, re.escape))
for _kind in (re.Pattern, re.Match):
    pure(
        found
        for name, found in vars(_kind).items()
        if isinstance(found, types.MethodDescriptorType) and name not in ("finditer", "scanner", "sub", "subn")
    )

def _substituted(s: Services, pattern: Value, replacement: Value, text: Value, count: Value | None, counted: bool) -> Value:
    real, source = s.constant(pattern), s.constant(text)
    most = 0 if count is None else s.constant(count)
    replaces: Any = None
    if s.is_constant(replacement) and isinstance(s.constant(replacement), (str, bytes)):
        replaces = s.constant(replacement)
    else:
        answers = [s.constant(s.call(replacement, [Const(match)])) for match in itertools.islice(real.finditer(source), most or None)]
        following = iter(answers)
        replaces = lambda match: next(following)  # noqa: E731 - re wants a function
    return run(s, real.subn if counted else real.sub, replaces, source, most)


def _compiled(s: Services, pattern: Value, flags: Value | None) -> Value:
    if isinstance(s.constant(pattern), re.Pattern):
        return pattern
    return run(s, re.compile, s.constant(pattern), 0 if flags is None else s.constant(flags))


@takes(re.sub, "pattern repl string count= flags=")
def sub(s: Services, pattern: Value, repl: Value, text: Value, count: Value | None, flags: Value | None) -> Value:
    return _substituted(s, _compiled(s, pattern, flags), repl, text, count, False)


@takes(re.subn, "pattern repl string count= flags=")
def subn(s: Services, pattern: Value, repl: Value, text: Value, count: Value | None, flags: Value | None) -> Value:
    return _substituted(s, _compiled(s, pattern, flags), repl, text, count, True)


@takes(re.Pattern.sub, "self repl string count=")
def pattern_sub(s: Services, pattern: Value, repl: Value, text: Value, count: Value | None) -> Value:
    return _substituted(s, pattern, repl, text, count, False)


@takes(re.Pattern.subn, "self repl string count=")
def pattern_subn(s: Services, pattern: Value, repl: Value, text: Value, count: Value | None) -> Value:
    return _substituted(s, pattern, repl, text, count, True)


@takes(re.Pattern.finditer, "self string pos= endpos=")
def finditer(s: Services, pattern: Value, text: Value, pos: Value | None, endpos: Value | None) -> Value:
    bounds = [s.constant(bound) for bound in (pos, endpos) if bound is not None]
    matches = list(s.constant(pattern).finditer(s.constant(text), *bounds))
    return s.iter(Pack(tuple, tuple(map(Const, matches))))


@takes(types.MethodType, "function instance /")
def bound_method(s: Services, function: Value, instance: Value) -> Value:
    return Pack(types.MethodType, (s.force(function), instance))


@takes(_thread.get_ident, "")
def get_ident(s: Services) -> Value:
    return later.later(s, int, _thread.get_ident)


@takes(sys.exc_info, "")
def exc_info(s: Services) -> Value:
    handled = s.force(exception.handled_here(s))
    if isinstance(handled, Const) and handled.obj is None:
        return Pack(tuple, (NONE, NONE, NONE))
    return Pack(tuple, (Const(handled.cls), handled, exception.traceback_of(s, handled)))


@takes(os.fspath, "path")
def fspath(s: Services, path: Value) -> Value:
    v = s.force(path)
    if issubclass(v.cls, (str, bytes)):
        return v
    method = s.special(v, "__fspath__")
    if method is None:
        return s.raise_error(TypeError, f"expected str, bytes or os.PathLike object, not {type_name(v.cls)}")
    return s.call(method)


# -- small C functions that are pure, or whose answer is guarded ----------------------------------------------------------------

pure((struct.pack, struct.unpack, struct.calcsize, struct.unpack_from, posix._path_normpath))  # type: ignore[attr-defined]


def _of_json(function: Any) -> None:
    @handler(function)
    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        """Of text and plain containers of constants; objects and hooks are left to CPython."""
        return run(s, function, *(snapshot(s, arg) for arg in args), **{name: s.constant(arg) for name, arg in kwargs.items()})


_of_json(json.loads)
_of_json(json.dumps)


@takes(_string.formatter_parser, "text /")
def formatter_parser(s: Services, text: Value) -> Value:
    return s.iter(run(s, lambda value: tuple(_string.formatter_parser(value)), s.constant(text)))


@takes(_string.formatter_field_name_split, "text /")
def field_name_split(s: Services, text: Value) -> Value:
    def parts(value: Any) -> tuple[Any, Any]:
        first, rest = _string.formatter_field_name_split(value)
        return first, tuple(rest)

    first, rest = s.unpack(run(s, parts, s.constant(text)))
    return Pack(tuple, (first, s.iter(rest)))


# -- the world outside ------------------------------------------------------------------------------------------------------------


@handler(*(found for found in vars(time).values() if isinstance(found, types.BuiltinFunctionType)))
def look_at_clock(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return s.unsupported(R.OPAQUE_CALL, time)


# Python functions whose state the capture itself changes: the caches of all loggers there are.
SHARED_WITH_THE_CAPTURE = (vars(logging.Manager)["_clear_cache"],)


def _shared(function: Any) -> None:
    @handler(function)
    def call(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return s.unsupported(R.OPAQUE_CALL, function, "its state is shared with the capture")


for _shared_one in SHARED_WITH_THE_CAPTURE:
    _shared(_shared_one)
