"""Callable objects of C types: partial, itemgetter, attrgetter, methodcaller."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

from framejit.core.heap import MISSING
from framejit.core.path import Path
from framejit.core.services import Pending, Services
from framejit.core.value import NONE, TRUE, Const, Pack, Ref, Value
from framejit.objects.by_parts import parts_at
from framejit.objects.dict_ import full, new_dict
from framejit.objects.fold import plain_name
from framejit.objects.method import method
from framejit.objects.model import ByType, Model, model
from framejit.objects.rebuild import REBUILDERS
from framejit.reasons import R

FUNC, ARGS, KEYWORDS = (vars(functools.partial)[name] for name in ("func", "args", "keywords"))


def make_partial(function: Any, args: Any, keywords: Any, cls: Any = functools.partial) -> Any:
    """A real partial in this state: its keywords are this very dict."""
    made = cls.__new__(cls, function)
    functools.partial.__setstate__(made, (function, args, keywords, None))  # type: ignore[attr-defined]
    return made


REBUILDERS[functools.partial] = lambda get: (make_partial, [get(FUNC), get(ARGS), get(KEYWORDS)])


@model(functools.partial)
class PartialModel(ByType):
    """functools.partial: function, arguments and keywords are its slots."""

    __slots__ = ()

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        return new_partial(s, cls, args, kwargs)

    def initialise(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> bool:
        return True

    def set_attribute(self, s: Services, v: Value, name: str, found: Any, new: Value | None) -> bool:
        return s.raise_error(AttributeError, "readonly attribute") if found in (FUNC, ARGS, KEYWORDS) else False

    def call(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | Pending:
        first, keywords = s.unpack(s.getattr(v, "args")), s.force(s.getattr(v, "keywords"))
        assert isinstance(keywords, Ref)
        given = {plain_name(s, key): value for key, value in full(s, keywords).values()}
        return s.tail_call(s.getattr(v, "func"), [*first, *args], {**given, **kwargs})

    def hash_key(self, s: Services, v: Value) -> Any:
        return v


def new_partial(s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """`partial(function, *args, **kwargs)`; a partial of a partial without attributes of its own is flattened."""
    if not args:
        return s.raise_error(TypeError, "type 'partial' takes at least one argument")
    function, first = s.force(args[0]), args[1:]
    if not _is_callable(s, function):
        return s.raise_error(TypeError, "the first argument must be callable")
    given: list[tuple[Value, Value]] = []
    if _is_plain_partial(s, function):
        keywords = s.force(s.getattr(function, "keywords"))
        assert isinstance(keywords, Ref)
        given = list(full(s, keywords).values())
        first = [*s.unpack(s.getattr(function, "args")), *first]
        function = s.getattr(function, "func")
    given += [(Const(name), value) for name, value in kwargs.items()]
    return s.heap.new(cls, {FUNC: function, ARGS: Pack(tuple, tuple(first)), KEYWORDS: new_dict(s, given)})


def _is_callable(s: Services, v: Value) -> bool:
    return callable(v.obj) if isinstance(v, Const) else s.type_lookup(v.cls, "__call__") is not MISSING


def _is_plain_partial(s: Services, v: Value) -> bool:
    if not isinstance(v, Ref) or not issubclass(v.cls, functools.partial):
        return False
    if s.type_lookup(v.cls, "__call__") is not functools.partial.__call__:
        return False
    namespace = s.heap.get(v, ("dict",))
    return namespace is None or not full(s, namespace)


@method(functools.partial.__reduce__)
def reduce(s: Services, self: Value) -> Value:
    parts = [s.getattr(self, name) for name in ("func", "args", "keywords")]
    namespace = s.dict_of(self)
    state = Pack(tuple, (*parts, namespace if namespace is not None and full(s, namespace) else NONE))
    return Pack(tuple, (Const(self.cls), Pack(tuple, (parts[0],)), state))


@method(functools.partial.__setstate__, "state /")  # type: ignore[attr-defined]
def setstate(s: Services, self: Value, state: Value) -> Value:
    if not isinstance(self, Ref) or self.path is not None:
        return s.unsupported(R.OPAQUE_CALL, functools.partial, "__setstate__ of one that exists")
    given = s.force(state)
    parts = [s.force(part) for part in s.unpack(given)] if issubclass(given.cls, tuple) else []
    fits = len(parts) == 4 and _is_callable(s, parts[0]) and issubclass(parts[1].cls, tuple)
    if not fits or not (parts[2].cls is type(None) or issubclass(parts[2].cls, dict)):
        return s.raise_error(TypeError, "invalid partial state")
    function, args, keywords, namespace = parts
    s.heap.set(self, FUNC, function)
    s.heap.set(self, ARGS, args if args.cls is tuple else Pack(tuple, tuple(s.unpack(args))))
    if keywords.cls is not dict:
        keywords = new_dict(s, [] if keywords.cls is type(None) else list(full(s, keywords).values()))  # type: ignore[arg-type]
    s.heap.set(self, KEYWORDS, keywords)
    s.heap.set(self, ("dict",), namespace if namespace.cls is not type(None) else new_dict(s))
    return NONE


ComparisonKey: Any = type(functools.cmp_to_key(None))  # type: ignore[arg-type]
COMPARISON, OBJECT, MADE_OF = ("comparison",), vars(ComparisonKey)["obj"], ("made of",)


def make_key(comparison: Any, *made_of: Any) -> Any:
    """What `cmp_to_key` makes of a function, or of an object in a second step."""
    key = functools.cmp_to_key(comparison)
    return key(*made_of) if made_of else key


REBUILDERS[ComparisonKey] = lambda get: (make_key, [get(COMPARISON), *([] if get(MADE_OF) is None else [get(OBJECT)])])


@model(ComparisonKey)
class ComparisonKeyModel(ByType):
    """The keys of `functools.cmp_to_key`; only those of the capture tell by what they compare."""

    __slots__ = ()

    def set_attribute(self, s: Services, v: Value, name: str, found: Any, new: Value | None) -> bool:
        if found is not OBJECT or new is None or not isinstance(v, Ref) or not v.virtual:
            return False
        s.heap.set(v, OBJECT, new)
        s.heap.set(v, MADE_OF, TRUE)
        return True

    def call(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | Pending:
        if not isinstance(v, Ref) or not v.virtual:
            return s.unsupported(R.OPAQUE_CALL, v)
        given = [*args, *kwargs.values()]
        if len(given) > 1:
            return s.raise_error(TypeError, f"K() takes at most 1 {'keyword ' * (not args)}argument ({len(given)} given)")
        if not given or (kwargs and "obj" not in kwargs):
            return s.raise_error(TypeError, "K() missing required argument 'obj' (pos 1)")
        return s.heap.new(ComparisonKey, {COMPARISON: s.heap.get(v, COMPARISON), OBJECT: given[0], MADE_OF: TRUE})

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        other = s.force(other)
        if other.cls is not ComparisonKey:
            return s.raise_error(TypeError, "other argument must be K instance")
        if not all(isinstance(key, Ref) and key.virtual for key in (v, other)):
            return s.unsupported(R.OPAQUE_OPERATION, v, "comparison")
        if any(s.heap.get(key, MADE_OF) is None for key in (v, other)):  # type: ignore[arg-type]
            return s.raise_error(AttributeError, "object")
        given = [s.heap.get(key, OBJECT) for key in (v, other)]  # type: ignore[arg-type]
        return s.compare(symbol, s.call(s.heap.get(v, COMPARISON), given), Const(0))  # type: ignore[arg-type]


def new_key(s: Services, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """`cmp_to_key(mycmp)`."""
    given = [*args, *kwargs.values()]
    if len(given) != 1 or (kwargs and "mycmp" not in kwargs):
        return s.unsupported(R.OPAQUE_CALL, functools.cmp_to_key, "arguments")
    return s.heap.new(ComparisonKey, {COMPARISON: given[0], OBJECT: NONE})


class ConstantCallable(Model):
    """An immutable callable object, known by identity."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        s.guard(path, "IS", real)
        return Const(real, path)

    def hash_key(self, s: Services, v: Value) -> Any:
        return s.constant(v)


PARTS = ("parts",)  # of a getter or caller: what it was made of
GETTERS = (operator.itemgetter, operator.attrgetter)


def getter_parts(real: Any) -> tuple[Any, ...]:
    """The arguments that made an itemgetter or attrgetter."""
    return real.__reduce__()[1]


def caller_parts(real: Any) -> tuple[Any, ...]:
    """The name, positional arguments and keywords that made a methodcaller."""
    made, given = real.__reduce__()
    if isinstance(made, functools.partial):
        return made.args[0], given, tuple(made.keywords.items())
    return given[0], given[1:], ()


def make_caller(name: str, args: Any, keywords: Any) -> Any:
    """A real methodcaller of these parts."""
    return operator.methodcaller(name, *args, **dict(keywords))


REBUILDERS[operator.itemgetter] = lambda get: (operator.itemgetter, list(get(PARTS).items))
REBUILDERS[operator.attrgetter] = lambda get: (operator.attrgetter, list(get(PARTS).items))
REBUILDERS[operator.methodcaller] = lambda get: (make_caller, list(get(PARTS).items))


def accessor_parts(s: Services, v: Value) -> list[Value]:
    """What a getter or caller was made of."""
    assert isinstance(v, Ref)
    found = s.heap.get(v, PARTS)
    if found is None:
        assert v.path is not None
        parts = getter_parts if v.cls in GETTERS else caller_parts
        found = s.heap.load(v, PARTS, s.input(parts_at(v.path, parts), parts(v.real)))
    return list(s.unpack(found))


def new_accessor(s: Services, kind: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    """`itemgetter(...)`, `attrgetter(...)`, `methodcaller(...)`; what does not fit is refused as C does."""
    if kind is operator.methodcaller:
        given = list(args[1:])
        if args and s.force(args[0]).cls is str:
            pairs = Pack(tuple, tuple(Pack(tuple, (Const(name), value)) for name, value in kwargs.items()))
            return s.heap.new(kind, {PARTS: Pack(tuple, (args[0], Pack(tuple, tuple(given)), pairs))})
    elif args and not kwargs and (kind is operator.itemgetter or all(s.force(arg).cls is str for arg in args)):
        return s.heap.new(kind, {PARTS: Pack(tuple, tuple(args))})
    try:
        kind(*[s.constant(arg) for arg in args], **dict.fromkeys(kwargs))
    except TypeError as error:
        return s.raise_error(TypeError, *error.args)
    return s.unsupported(R.OPAQUE_CALL, kind, "arguments")


class AccessorModel(ByType):
    """Callables that are nothing but their parts; those that exist are asked for these when they are called."""

    __slots__ = ()

    def hash_key(self, s: Services, v: Value) -> Any:
        return v

    def truth(self, s: Services, v: Value) -> bool | None:
        return True

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        return new_accessor(s, cls, args, kwargs)

    def call(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | Pending:
        if len(args) != 1 or kwargs:
            return s.unsupported(R.OPAQUE_CALL, v, "arguments")
        return self.access(s, accessor_parts(s, v), args[0])

    def access(self, s: Services, parts: list[Value], of: Value) -> Value | Pending:
        """What the object makes of its argument."""
        raise NotImplementedError


@model(operator.itemgetter)
class ItemGetterModel(AccessorModel):
    """operator.itemgetter."""

    __slots__ = ()

    def access(self, s: Services, parts: list[Value], of: Value) -> Value | Pending:
        found = [s.getitem(of, key) for key in parts]
        return found[0] if len(found) == 1 else Pack(tuple, tuple(found))


@model(operator.attrgetter)
class AttributeGetterModel(AccessorModel):
    """operator.attrgetter."""

    __slots__ = ()

    def access(self, s: Services, parts: list[Value], of: Value) -> Value | Pending:
        found = []
        for dotted in parts:
            value = of
            for name in plain_name(s, dotted).split("."):
                value = s.getattr(value, name)
            found.append(value)
        return found[0] if len(found) == 1 else Pack(tuple, tuple(found))


@model(operator.methodcaller)
class MethodCallerModel(AccessorModel):
    """operator.methodcaller."""

    __slots__ = ()

    def access(self, s: Services, parts: list[Value], of: Value) -> Value | Pending:
        name, rest, keywords = parts
        pairs = [s.unpack(pair) for pair in s.unpack(keywords)]
        return s.tail_call(s.getattr(of, plain_name(s, name)), s.unpack(rest), {s.constant(key): value for key, value in pairs})


def _reduced(kind: Any) -> None:
    @method(kind.__reduce__)
    def reduce(s: Services, self: Value) -> Value:
        parts = accessor_parts(s, self)
        if kind in GETTERS:
            return Pack(tuple, (Const(kind), Pack(tuple, tuple(parts))))
        name, rest, keywords = parts
        if not s.unpack(keywords):
            return Pack(tuple, (Const(kind), Pack(tuple, (name, *s.unpack(rest)))))
        pairs = [s.unpack(pair) for pair in s.unpack(keywords)]
        made = s.call(Const(functools.partial), [Const(kind), name], {s.constant(key): value for key, value in pairs})
        return Pack(tuple, (made, rest))


for _accessor in (*GETTERS, operator.methodcaller):
    _reduced(_accessor)
