"""Context variables, tokens and contexts: `contextvars` in captured code, on what `contexts.py` keeps."""

from __future__ import annotations

import contextvars
from collections.abc import Sequence
from typing import Any

from framejit.core.heap import MISSING
from framejit.core.path import ATTR, CALLED, MEMBER, Called
from framejit.core.services import Services
from framejit.core.value import NONE, Const, Number, Pack, Ref, Value, bool_const
from framejit.lib import contexts as lib
from framejit.objects.callables import ConstantCallable
from framejit.objects.exact import ExactModel
from framejit.objects.iterator import iterator
from framejit.objects.later import ARGUMENTS, FUNCTION
from framejit.objects.method import method
from framejit.objects.model import ByType, model
from framejit.objects.object_ import ObjectModel
from framejit.objects.rebuild import REBUILDERS, WRITERS, Field
from framejit.objects.sameness import same_or_equal
from framejit.reasons import R
from framejit.rules import contexts
from framejit.rules.contexts import Context, Variable, context_of, current, held, hold
from framejit.rules.registry import handler

Token: Any = contextvars.Token
NAME, DEFAULT = vars(Variable)["name"], ("default",)
VARIABLE, OLD, USED, OWNER, STEP = ("variable",), ("old",), ("token used",), ("context",), ("step",)
TOKENS = "tokens of nothing"  # (TOKENS, context) -> its tokens that remember that there was no value
REBUILDERS[Variable] = lambda get: (lib.make_variable, [get(NAME), *([] if get(DEFAULT) is None else [get(DEFAULT)])])
WRITERS[USED] = lambda used: (lib.use, [])


def unknown_text(s: Services) -> Value:
    """The text of an error that tells the address of an object of the capture: who asks for it makes the instruction a break."""
    return s.heap.new(str, {FUNCTION: Const(str), ARGUMENTS: Pack(tuple, ()), STEP: s.steps})  # type: ignore[attr-defined]


# -- variables ------------------------------------------------------------------------------------------------------------


@model(Variable)
class VariableModel(ConstantCallable):
    """Context variables: those that exist are known by identity."""

    __slots__ = ()

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        if len(args) != 1 or kwargs.keys() - {"default"}:
            try:
                return s.unsupported(R.OPAQUE_CALL, cls(*("" for _ in args), **dict.fromkeys(kwargs)))
            except TypeError as error:
                return s.raise_error(TypeError, *error.args)
        name = s.force(args[0])
        if not issubclass(name.cls, str):
            return s.raise_error(TypeError, "context variable name must be a str")
        return s.heap.new(Variable, {NAME: name, **({DEFAULT: kwargs["default"]} if kwargs else {})})

    def initialise(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> bool:
        return True

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        if found is not NAME:
            return None
        if isinstance(v, Ref):
            return s.heap.get(v, NAME)
        path = v.path or s.trace.roots.const(v.obj)  # type: ignore[attr-defined]
        return s.input(path.to(MEMBER, NAME), v.obj.name)  # type: ignore[attr-defined]

    def set_attribute(self, s: Services, v: Value, name: str, found: Any, new: Value | None) -> bool:
        return s.raise_error(AttributeError, "readonly attribute") if found is NAME else False

    def hash_key(self, s: Services, v: Value) -> Any:
        return v if isinstance(v, Ref) else super().hash_key(s, v)


@method(Variable.get, "default= /")
def get(s: Services, self: Value, default: Value | None) -> Value:
    found = held(s, current(s), self)
    if found is not MISSING:
        return found[1]
    if default is not None:
        return default
    if isinstance(self, Ref):
        own = s.heap.get(self, DEFAULT)
        return s.raise_error(LookupError, self) if own is None else own
    try:
        real = contextvars.Context().run(self.obj.get)  # type: ignore[attr-defined]
    except LookupError:
        return s.raise_error(LookupError, self)
    return s.input(s.trace.roots.const(real), real)


@method(Variable.set, "value /")
def set_(s: Services, self: Value, value: Value) -> Value:
    context = current(s)
    old = held(s, context, self)
    token = s.heap.new(Token, {VARIABLE: self, OLD: old, USED: False, OWNER: context, STEP: s.steps})  # type: ignore[attr-defined]
    if old is MISSING:
        tokens: tuple[Ref, ...] = s.trace.cache.get((TOKENS, context), ())
        s.trace.trail.put(s.trace.cache, (TOKENS, context), (*tokens, token))
    hold(s, context, self, (self, value))
    return token


@method(Variable.reset, "token /")
def reset(s: Services, self: Value, token: Value) -> Value:
    token, context = s.force(token), current(s)
    if token.cls is not Token:
        return s.unsupported(R.OPAQUE_CALL, Variable.reset, "no token")
    assert isinstance(token, Ref)
    where = _state(s, token)
    if where is lib.USED:
        return s.raise_error(RuntimeError, unknown_text(s))
    if not s.is_same(s.getattr(token, "var"), self):
        return s.raise_error(ValueError, unknown_text(s))
    if where is not context:
        if where is lib.ELSEWHERE and context.path is not None and context is not contexts.present(s):
            return s.unsupported(R.OPAQUE_CALL, Variable.reset, "a token of a context that is not known")
        return s.raise_error(ValueError, unknown_text(s))
    if token.path is not None and contexts.is_written(s, context, self):
        return s.unsupported(R.OPAQUE_CALL, Variable.reset, "a token that exists, for a variable that was written to")
    s.heap.set(token, USED, True)
    hold(s, context, self, _old(s, token))
    return NONE


def _state(s: Services, token: Ref) -> Any:
    """USED, or the context that a token is of; ELSEWHERE for one that is not the present one."""
    if token.path is None:
        return lib.USED if s.heap.get(token, USED) else s.heap.get(token, OWNER)
    if s.heap.get(token, USED):
        return lib.USED
    found = lib.state(token.real)
    s.guard(token.path.to(CALLED, Called(lib.state, (), f"state({token.path})")), "EQ", found)
    if found is lib.READY:
        if s.heap.get(token, USED) is None:
            s.heap.load(token, USED, False)
        return contexts.present(s)
    return found


def _old(s: Services, token: Ref) -> Any:
    """What a token brings back, as contexts hold it."""
    if token.path is None:
        return s.heap.get(token, OLD)
    old = s.getattr(token, "old_value")
    if token.real.old_value is not Token.MISSING:
        s.guard(token.path.to(ATTR, "old_value"), "IS_NOT", Token.MISSING)
        return s.getattr(token, "var"), old
    s.force(old)
    return MISSING


@model(Token)
class TokenModel(ByType, ObjectModel):
    """Tokens tell their variable and its value before."""

    __slots__ = ()

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        if not isinstance(v, Ref) or name not in ("var", "old_value"):
            return None
        if v.path is not None:
            return s.input(v.path.to(ATTR, name), getattr(v.real, name))
        if name == "var":
            return s.heap.get(v, VARIABLE)
        old = s.heap.get(v, OLD)
        return Const(Token.MISSING) if old is MISSING else old[1]

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        return s.raise_error(RuntimeError, "Tokens can only be created by ContextVars")

    def hash_key(self, s: Services, v: Value) -> Any:
        return s.raise_error(TypeError, "unhashable type: '_contextvars.Token'")


# -- contexts -------------------------------------------------------------------------------------------------------------


@model(Context)
class ContextModel(ByType, ExactModel):
    """Contexts are mappings from variables to values."""

    __slots__ = ()

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        if args or kwargs:
            return s.raise_error(TypeError, "Context() does not accept any arguments")
        return contexts.new(s, None)

    def initialise(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> bool:
        return True

    def getitem(self, s: Services, v: Value, key: Value) -> Value:
        found = _find(s, v, key)
        return s.raise_error(KeyError, key) if found is MISSING else found[1]

    def contains(self, s: Services, v: Value, item: Value) -> Value | None:
        return bool_const(_find(s, v, item) is not MISSING)

    def len(self, s: Services, v: Value) -> Value | None:
        return Const(len(contexts.variables(s, context_of(s, v))))

    def iter(self, s: Services, v: Value) -> Value:
        return _iterator(s, v, "keys")

    def compare(self, s: Services, symbol: str, v: Value, other: Value) -> Value | None:
        other = s.force(other)
        if symbol not in ("==", "!=") or other.cls is not Context:
            return None
        return bool_const(_is_equal(s, context_of(s, v), context_of(s, other)) is (symbol == "=="))


def _is_equal(s: Services, one: Ref, other: Ref) -> bool:
    """Whether contexts hold equal values, compared in the order of the first one until two differ."""
    if len(contexts.variables(s, one)) != len(contexts.variables(s, other)):
        return False
    for key in contexts.ordered(s, one):
        found = held(s, other, key)
        if found is MISSING or not same_or_equal(s, held(s, one, key)[1], found[1]):
            return False
    return True


def _find(s: Services, v: Value, key: Value) -> Any:
    context, key = context_of(s, v), s.force(key)
    if key.cls is not Variable:
        shown = s.repr(key) if isinstance(key, (Const, Number)) else None
        text = unknown_text(s) if shown is None else s.binary("+", Const("a ContextVar key was expected, got "), shown)
        return s.raise_error(TypeError, text)
    return held(s, context, key)


@handler(contextvars.copy_context)
def copy_context(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if args or kwargs:
        what = "keyword arguments" if kwargs else f"arguments ({len(args)} given)"
        return s.raise_error(TypeError, f"_contextvars.copy_context() takes no {what}")
    return contexts.new(s, current(s))


@method(Context.copy)
def copy(s: Services, self: Value) -> Value:
    return contexts.new(s, context_of(s, self))


@method(Context.get, "key default= /")
def get_item(s: Services, self: Value, key: Value, default: Value | None) -> Value:
    found = _find(s, self, key)
    if found is MISSING:
        return NONE if default is None else default
    return found[1]


@handler(Context.run)
def run(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`run(callable, *args, **kwargs)`."""
    if len(args) < 2:
        return s.raise_error(TypeError, "run() missing 1 required positional argument")
    context, entered = context_of(s, args[0]), current(s)
    if context is entered or context in s.trace.cache[contexts.ENTERED]:
        return s.raise_error(RuntimeError, unknown_text(s))
    return contexts.run(s, context, args[1], args[2:], kwargs)


# -- iterators: each goes through the context as it was when the iterator was made --------------------------------------------


def _iterator(s: Services, v: Value, what: str) -> Value:
    context = contexts.new(s, context_of(s, v))
    items: list[Value] = []
    for key in contexts.ordered(s, context):
        value = held(s, context, key)[1]
        items.append({"keys": key, "values": value, "items": Pack(tuple, (key, value))}[what])
    fields = {("source",): context, ("index",): Const(0), ("rest",): tuple(items)}
    return s.heap.new(ITERATORS[what], fields)


def _advance(s: Services, ref: Ref) -> Value | None:
    rest = s.heap.get(ref, ("rest",))
    if ref.path is not None:
        return s.unsupported(R.UNKNOWN_ITERATOR, ref)
    if not rest:
        return None
    s.heap.set(ref, ("rest",), rest[1:])
    s.heap.set(ref, ("index",), Const(s.constant(s.heap.get(ref, ("index",))) + 1))
    return rest[0]


def _register(what: str, target: Any) -> type:
    kind = type(target(Context()))

    def rebuild(get: Field) -> tuple[Any, list[Value]]:
        return lib.iterator, [Const(target), get("source"), get("index")]

    def call(s: Services, self: Value) -> Value:
        return _iterator(s, self, what)

    iterator(kind, rebuild)(_advance)
    method(target)(call)
    return kind


ITERATORS: dict[str, type] = {what: _register(what, getattr(Context, what)) for what in ("keys", "values", "items")}
