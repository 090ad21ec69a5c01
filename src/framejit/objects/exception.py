"""Exceptions: construction, chaining, matching, groups."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any, NoReturn

from framejit.core.errors import Raised
from framejit.core.heap import MISSING, Heap
from framejit.core.path import Path
from framejit.core.services import Services
from framejit.core.value import FALSE, NONE, TRUE, Const, Pack, Ref, Value
from framejit.objects.dict_ import lookup
from framejit.objects.model import Model, model
from framejit.objects.object_ import DICT_FIELD, dict_of, type_lookup
from framejit.objects.type_ import is_subclass
from framejit.reasons import R

ARGS, CAUSE, CONTEXT, SUPPRESS, RAISED = ("args",), ("cause",), ("context",), ("suppress",), ("raised",)
FIELDS = {"__cause__": CAUSE, "__context__": CONTEXT, "__suppress_context__": SUPPRESS}
TRACEBACK = ("traceback",)
MADE, COMPUTED = ("made",), ("computed",)  # of exceptions made by a C constructor: its arguments, what it computed
HEAP_TYPE = 1 << 9
COMPUTED_TEXT = tuple(  # the others look at the arguments alone
    cls.__str__ for cls in (OSError, SyntaxError, UnicodeDecodeError, UnicodeEncodeError, UnicodeTranslateError)
)
# attributes that C constructors derive from their arguments: class -> name -> position of the argument
DERIVED: dict[type[BaseException], dict[str, int]] = {
    StopIteration: {"value": 0}, SystemExit: {"code": 0}, BaseExceptionGroup: {"message": 0, "exceptions": 1},
}  # fmt: skip
KEYWORDS: dict[type[BaseException], tuple[str, ...]] = {
    AttributeError: ("name", "obj"), NameError: ("name",), ImportError: ("name", "path"),
}  # fmt: skip


@model(BaseException)
class ExceptionModel(Model):
    """Exception objects: virtual ones have args, cause, context as fields; real ones are read through their attributes."""

    __slots__ = ()

    def realize(self, s: Services, path: Path, real: Any) -> Value:
        s.guard(path, "TYPE", type(real))
        ref = Ref(type(real), path, real)
        s.trace.remember(real, ref)
        return ref

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        if issubclass(cls, (OSError, UnicodeError, SyntaxError)) and args:
            return _of_constants(s, cls, args) if not kwargs else None
        if issubclass(cls, BaseExceptionGroup):
            args = [args[0], Pack(tuple, tuple(s.unpack(args[1])))] if len(args) == 2 else args
            if len(args) != 2 or not all(issubclass(s.force(item).cls, BaseException) for item in args[1].items):  # type: ignore[attr-defined]
                return None
            if cls is BaseExceptionGroup and all(issubclass(s.force(item).cls, Exception) for item in args[1].items):  # type: ignore[attr-defined]
                cls = ExceptionGroup
        fields: dict[Any, Any] = {
            ARGS: Pack(tuple, tuple(args)), CAUSE: NONE, CONTEXT: NONE, SUPPRESS: FALSE, TRACEBACK: NONE,
            DICT_FIELD: s.heap.new(dict, {s.heap.ITEMS: {}}),
        }  # fmt: skip
        return s.heap.new(cls, fields)

    def initialise(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> bool:
        assert isinstance(v, Ref)
        if s.heap.get(v, MADE) is not None:
            return True
        names = next((KEYWORDS[base] for base in v.cls.__mro__ if base in KEYWORDS), ())
        if set(kwargs) - set(names):
            s.raise_error(TypeError, f"{v.cls.__name__}() takes no keyword arguments")
        for name, value in kwargs.items():
            s.heap.set(v, (name,), value)
        if not issubclass(v.cls, BaseExceptionGroup):
            s.heap.set(v, ARGS, Pack(tuple, tuple(args)))
        return True

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        if not isinstance(v, Ref) or v.path is not None:
            return None
        if name == "args":
            return s.heap.get(v, ARGS)
        if name in FIELDS:
            return s.heap.get(v, FIELDS[name])
        if name == "__traceback__":
            return traceback_of(s, v)
        if type(found) not in (types.MemberDescriptorType, types.GetSetDescriptorType):
            return None
        stored = s.heap.get(v, (name,))
        if stored is None and (derived := s.heap.get(v, COMPUTED)) is not None:
            stored = derived.get(name)
        if stored is not None:
            return stored
        for base, positions in DERIVED.items():
            if issubclass(v.cls, base) and name in positions:
                args = s.heap.get(v, ARGS).items
                if name == "code" and len(args) > 1:
                    return s.heap.get(v, ARGS)
                return args[positions[name]] if positions[name] < len(args) else NONE
        if any(issubclass(v.cls, base) and name in names for base, names in KEYWORDS.items()) or name == "msg":
            return NONE
        return s.unsupported(R.EXCEPTION_OPERATION, v, name)

    def text(self, s: Services, v: Value, function: Any) -> Value:
        return text(s, v, function)  # type: ignore[arg-type]

    def set_attribute(self, s: Services, v: Value, name: str, found: Any, new: Value | None) -> bool:
        if not isinstance(v, Ref) or v.path is not None or new is None:
            return False
        if name == "args":
            s.heap.set(v, ARGS, Pack(tuple, tuple(s.unpack(new))))
        elif name in FIELDS:
            s.heap.set(v, FIELDS[name], new)
            if name == "__cause__":
                s.heap.set(v, SUPPRESS, TRUE)
        elif name == "__traceback__":
            s.heap.set(v, TRACEBACK, new)
            if s.is_same(new, NONE):  # where it was raised is forgotten: the exception can be made real elsewhere
                s.heap.set(v, RAISED, MISSING)
        else:
            s.heap.set(v, (name,), new)
            if s.heap.get(v, MADE) is not None:  # its text may be another now
                s.heap.set(v, COMPUTED, {key: value for key, value in s.heap.get(v, COMPUTED).items() if key != "__str__"})
        return True


def _of_constants(s: Services, cls: type[BaseException], args: Sequence[Value]) -> Value | None:
    """An exception whose C constructor computes its attributes (and its class) from constant arguments."""
    if cls.__flags__ & HEAP_TYPE or not all(map(s.is_constant, args)):
        return None
    try:
        real = cls(*map(s.constant, args))
    except TypeError as error:
        return s.raise_error(TypeError, *error.args)
    made = Pack(tuple, tuple(args))
    kinds = (types.MemberDescriptorType, types.GetSetDescriptorType)
    found = {name for base in type(real).__mro__[:-2] for name, item in vars(base).items() if type(item) in kinds}
    names = found - set(vars(BaseException))
    computed = {name: s.wrap(getattr(real, name)) for name in sorted(names) if hasattr(real, name)}
    return s.heap.new(type(real), {
        ARGS: made if len(real.args) == len(args) else s.wrap(real.args), CAUSE: NONE, CONTEXT: NONE, SUPPRESS: FALSE, TRACEBACK: NONE,
        DICT_FIELD: s.heap.new(dict, {s.heap.ITEMS: {}}), MADE: made, COMPUTED: {**computed, "__str__": Const(str(real))},
    })  # fmt: skip


def of_real(s: Services, real: BaseException) -> Value:
    """A virtual exception with the arguments and attributes of one that C code raised during the capture."""
    made = s.force(s.call(Const(type(real)), [s.wrap(arg) for arg in real.args]))
    computed = s.heap.get(made, COMPUTED) if isinstance(made, Ref) else None
    if computed is not None:
        for name, value in computed.items():
            found = getattr(real, name, None)
            if name != "__str__" and s.constant(value) != found:
                s.heap.set(made, (name,), s.wrap(found))  # type: ignore[arg-type]
        s.heap.set(made, COMPUTED, {**computed, "__str__": Const(str(real))})  # type: ignore[arg-type]
    return note_raised(s, made)


def text(s: Services, value: Ref, function: Any) -> Value:
    """repr or str of an exception whose class does not define it in Python."""
    if function is str and type_lookup(s, value.cls, "__str__") in COMPUTED_TEXT:
        computed = (s.heap.get(value, COMPUTED) or {}).get("__str__")
        return computed if computed is not None else s.unsupported(R.EXCEPTION_OPERATION, value, "__str__")
    if function is repr and type_lookup(s, value.cls, "__repr__") is not BaseException.__repr__:
        return s.unsupported(R.EXCEPTION_OPERATION, value, "__repr__")
    args = s.unpack(s.getattr(value, "args"))
    if function is str and issubclass(value.cls, BaseExceptionGroup):
        count = len(s.unpack(s.getattr(value, "exceptions")))
        return Const(f"{s.constant(s.getattr(value, 'message'))} ({count} sub-exception{'s' if count > 1 else ''})")
    parts = [s.constant(s.repr(item)) for item in args]
    if function is repr:
        return Const(f"{value.cls.__name__}({', '.join(parts)})")
    if len(parts) == 1:
        return s.repr(args[0]) if type_lookup(s, value.cls, "__str__") is KeyError.__str__ else s.str(args[0])
    return Const(f"({', '.join(parts)})" if parts else "")


def raised_at(heap: Heap, raised: Ref) -> Any:
    """The step at which a virtual exception was raised; None if it was not, or has lost its traceback since."""
    step = heap.get(raised, RAISED)
    return None if step is MISSING else step


def traceback_of(s: Services, raised: Value) -> Value:
    """The traceback of a raised exception: an object that can be passed on, but not looked into."""
    if not isinstance(raised, Ref):
        return NONE
    if raised.path is not None:
        return s.getattr(raised, "__traceback__")
    present = s.heap.get(raised, TRACEBACK)
    if present is NONE and raised_at(s.heap, raised) is not None:
        present = s.heap.new(types.TracebackType, {("of",): raised})
        s.heap.set(raised, TRACEBACK, present)
    return present


def make_raised(s: Services, value: Value, cause: Value | None) -> Value:
    """The exception that `raise value from cause` raises."""
    raised = instantiate(s, value, "exceptions must derive from BaseException")
    if cause is not None:
        reason = s.force(cause)
        if not (isinstance(reason, Const) and reason.obj is None):
            reason = instantiate(s, reason, "exception causes must derive from BaseException")
        if raised.path is None:  # type: ignore[attr-defined]
            s.setattr(raised, "__cause__", reason)
    if raised.path is not None:  # type: ignore[attr-defined]
        s.unsupported(R.EXCEPTION_OPERATION, raised, "raising an exception that exists already: its traceback grows")
    return note_raised(s, raised)


def raise_from(s: Services, kind: type[BaseException], message: str, cause: Value) -> NoReturn:
    """Raise what C code makes of an exception that it does not let through: the old one is its cause and its context."""
    raised = s.force(s.call(Const(kind), [Const(message)]))
    assert isinstance(raised, Ref)
    note_raised(s, raised)
    s.setattr(raised, "__cause__", cause)
    s.heap.set(raised, CONTEXT, cause)
    raise Raised(raised)


def note_raised(s: Services, raised: Value, handled: Value | None = None) -> Value:
    """Chain a virtual exception to the one being handled (that of the running frame), and remember where it was raised."""
    if isinstance(raised, Ref) and raised.path is None:
        if raised_at(s.heap, raised) is None:
            s.heap.set(raised, RAISED, s.steps)  # type: ignore[attr-defined]
        if handled is None:
            handled = s.state["handled"]  # type: ignore[attr-defined]
            assert handled is not None
        if not s.is_same(handled, NONE) and not s.is_same(handled, raised):
            _break_cycle(s, raised, handled)
            s.heap.set(raised, CONTEXT, handled)
    return raised


def _break_cycle(s: Services, raised: Ref, handled: Value) -> None:
    """As CPython: the context chain of the handled exception must not lead back to the raised one."""
    walker = s.force(handled)
    while isinstance(walker, Ref) and walker.path is None:
        following = s.heap.get(walker, CONTEXT)
        if following is None or following is NONE:
            return
        if following is raised:
            s.heap.set(walker, CONTEXT, NONE)
            return
        walker = s.force(following)


def instantiate(s: Services, value: Value, message: str) -> Value:
    """An exception instance from an instance or a class."""
    value = s.force(value)
    if isinstance(value, Const) and isinstance(value.obj, type) and issubclass(value.obj, BaseException):
        value = s.force(s.call(value))
        if not issubclass(value.cls, BaseException):
            s.raise_error(TypeError, message)
    if not isinstance(value, Ref) or not issubclass(value.cls, BaseException):
        s.raise_error(TypeError, message)
    return value


def matches(s: Services, raised: Value, kind: Value) -> bool:
    """Whether `except kind` catches the exception."""
    kind = s.force(kind)
    kinds = kind.items if isinstance(kind, Pack) else (kind,)
    for item in kinds:
        item = s.force(item)
        if not isinstance(item, Const) or not isinstance(item.obj, type) or not issubclass(item.obj, BaseException):
            s.raise_error(TypeError, "catching classes that do not inherit from BaseException is not allowed")
    return any(issubclass(s.force(raised).cls, s.constant(item)) for item in kinds)


def split_group(s: Services, raised: Value, kind: Value) -> tuple[Value, Value]:
    """(rest, matched) of `except* kind`."""
    raised = s.force(raised)
    if isinstance(raised, Const) and raised.obj is None:
        return NONE, NONE
    if not issubclass(raised.cls, BaseExceptionGroup):
        if not matches(s, raised, kind):
            return raised, NONE
        group = s.force(s.call(Const(ExceptionGroup), [Const(""), Pack(tuple, (raised,))]))
        s.heap.set(group, RAISED, s.heap.get(raised, RAISED) or MISSING)  # type: ignore[arg-type]
        return NONE, group
    if not isinstance(raised, Ref) or raised.path is not None or type_lookup(s, raised.cls, "derive") is not BaseExceptionGroup.derive:
        s.unsupported(R.EXCEPTION_OPERATION, raised, "except*")
    return _split(s, raised, kind)[::-1]


def _split(s: Services, group: Ref, kind: Value) -> tuple[Value, Value]:
    if matches(s, group, kind):
        return group, NONE
    yes: list[Value] = []
    no: list[Value] = []
    message, members = s.heap.get(group, ARGS).items
    for member in members.items:
        member = s.force(member)
        if isinstance(member, Ref) and issubclass(member.cls, BaseExceptionGroup):
            matched, rest = _split(s, member, kind)
        else:
            matched, rest = (member, NONE) if matches(s, member, kind) else (NONE, member)
        if matched is not NONE:
            yes.append(matched)
        if rest is not NONE:
            no.append(rest)
    return _derive(s, group, message, yes), _derive(s, group, message, no)


def _derive(s: Services, group: Ref, message: Value, members: list[Value]) -> Value:
    if not members:
        return NONE
    derived = s.force(s.call(Const(BaseExceptionGroup), [message, Pack(tuple, tuple(members))]))
    assert isinstance(derived, Ref)
    for field in (CAUSE, CONTEXT, SUPPRESS, RAISED):
        value = s.heap.get(group, field)
        if value is not None:
            s.heap.set(derived, field, value)
    return derived


def prepare_reraise_star(s: Services, original: Value, exceptions: list[Value]) -> Value:
    """What is left to raise after the `except*` clauses: None when all was handled."""
    left = [value for value in map(s.force, exceptions) if not (isinstance(value, Const) and value.obj is None)]
    if not left:
        return NONE
    return s.unsupported(R.EXCEPTION_OPERATION, original, "except* that lets exceptions through")


__all__ = ["MISSING", "dict_of", "is_subclass", "lookup"]
