"""Callable objects of C types: partial, itemgetter, attrgetter, methodcaller, and the wrapper of lru_cache."""

from __future__ import annotations

import contextvars
import functools
import operator
from collections.abc import Sequence
from typing import Any

from framejit.core.path import Path
from framejit.core.services import Pending, Services
from framejit.core.value import Const, Number, Pack, Ref, Value
from framejit.objects.dict_ import full, new_dict
from framejit.objects.model import Model, model
from framejit.objects.rebuild import REBUILDERS
from framejit.reasons import R

FUNC, ARGS, KEYWORDS = (vars(functools.partial)[name] for name in ("func", "args", "keywords"))


def make_partial(function: Any, args: Any, keywords: Any) -> Any:
    """The real partial object."""
    return functools.partial(function, *args, **keywords)


REBUILDERS[functools.partial] = lambda get: (make_partial, [get(FUNC), get(ARGS), get(KEYWORDS)])


@model(functools.partial)
class PartialModel(Model):
    """functools.partial: function, arguments and keywords are its slots."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        s.guard(path, "TYPE", type(real))
        ref = Ref(type(real), path, real)
        s.trace.remember(real, ref)
        return ref

    def call(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | Pending:
        first, keywords = s.unpack(s.getattr(v, "args")), s.force(s.getattr(v, "keywords"))
        assert isinstance(keywords, Ref)
        given = {s.constant(key): value for key, value in full(s, keywords).values()}
        return s.tail_call(s.getattr(v, "func"), [*first, *args], {**given, **kwargs})

    def hash_key(self, s: Services, v: Value) -> Any:
        return v


def new_partial(s: Services, args: list[Value], kwargs: dict[str, Value], cls: type = functools.partial) -> Value:
    """`partial(function, *args, **kwargs)`; a partial of a partial is flattened."""
    if not args:
        return s.raise_error(TypeError, "type 'partial' takes at least one argument")
    function, first = s.force(args[0]), args[1:]
    given: list[tuple[Value, Value]] = []
    if isinstance(function, Ref) and function.cls is functools.partial and cls is functools.partial:
        keywords = s.force(s.getattr(function, "keywords"))
        assert isinstance(keywords, Ref)
        given = list(full(s, keywords).values())
        first = [*s.unpack(s.getattr(function, "args")), *first]
        function = s.getattr(function, "func")
    given += [(Const(name), value) for name, value in kwargs.items()]
    return s.heap.new(cls, {FUNC: function, ARGS: Pack(tuple, tuple(first)), KEYWORDS: new_dict(s, given)})


class ConstantCallable(Model):
    """An immutable callable object, known by identity."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        s.guard(path, "IS", real)
        return Const(real, path)

    def hash_key(self, s: Services, v: Value) -> Any:
        return s.constant(v)


@model(contextvars.ContextVar)
class ContextVariableModel(ConstantCallable):
    """Context variables: their values are guarded where they are read."""

    __slots__ = ()


@model(operator.itemgetter)
class ItemGetterModel(ConstantCallable):
    """operator.itemgetter."""

    __slots__ = ()

    def call(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | Pending:
        if len(args) != 1 or kwargs:
            return s.unsupported(R.OPAQUE_CALL, v, "arguments")
        found = [s.getitem(args[0], s.wrap(key)) for key in s.constant(v).__reduce__()[1]]
        return found[0] if len(found) == 1 else Pack(tuple, tuple(found))


@model(operator.attrgetter)
class AttributeGetterModel(ConstantCallable):
    """operator.attrgetter."""

    __slots__ = ()

    def call(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | Pending:
        if len(args) != 1 or kwargs:
            return s.unsupported(R.OPAQUE_CALL, v, "arguments")
        found = []
        for dotted in s.constant(v).__reduce__()[1]:
            value = args[0]
            for name in dotted.split("."):
                value = s.getattr(value, name)
            found.append(value)
        return found[0] if len(found) == 1 else Pack(tuple, tuple(found))


@model(operator.methodcaller)
class MethodCallerModel(ConstantCallable):
    """operator.methodcaller."""

    __slots__ = ()

    def call(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | Pending:
        if len(args) != 1 or kwargs:
            return s.unsupported(R.OPAQUE_CALL, v, "arguments")
        made, given = s.constant(v).__reduce__()
        keywords = made.keywords if isinstance(made, functools.partial) else {}
        name = made.args[0] if isinstance(made, functools.partial) else given[0]
        rest = given if isinstance(made, functools.partial) else given[1:]
        return s.tail_call(s.getattr(args[0], name), [s.wrap(arg) for arg in rest], {k: s.wrap(arg) for k, arg in keywords.items()})


@model(type(functools.lru_cache(len)))
class CachedModel(ConstantCallable):
    """The wrapper of lru_cache: the function itself is captured, unless its calls can be told from remembered results."""

    __slots__ = ()

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        return None

    def call(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | Pending:
        for arg in (*args, *kwargs.values()):
            s.hash(arg)
        before = s.trace.operators["count"], _written(s)
        result = s.call(s.getattr(v, "__wrapped__"), args, kwargs)
        if not _is_plain(result) or (s.trace.operators["count"], _written(s)) != before:
            return s.unsupported(R.OPAQUE_CALL, v, "a remembered result")
        return result


def _written(s: Services) -> list[tuple[Ref, Any, Value]]:
    return [(ref, field, s.heap.get(ref, field)) for ref, fields in s.heap.dirty() for field in fields]


def _is_plain(v: Value) -> bool:
    """Whether nobody can tell this value from an equal one made before."""
    return isinstance(v, (Const, Number)) or (isinstance(v, Pack) and all(map(_is_plain, v.items)))
