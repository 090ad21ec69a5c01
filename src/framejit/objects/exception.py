"""Exceptions: construction, chaining, matching, groups."""

from __future__ import annotations

import gc
import types
from collections.abc import Sequence
from typing import Any, NoReturn

from framejit.core.errors import Raised
from framejit.core.heap import MISSING, Heap
from framejit.core.lifetime import is_quiet
from framejit.core.path import CALLED, Called
from framejit.core.services import Services
from framejit.core.value import FALSE, NONE, TRUE, Const, Null, Pack, Ref, Value, bool_const
from framejit.core.where import Where
from framejit.objects import later
from framejit.objects.constants import alternatives
from framejit.objects.dict_ import lookup, store
from framejit.objects.exact import type_name
from framejit.objects.fold import is_foldable
from framejit.objects.lineage import is_descendant
from framejit.objects.model import ByType, model
from framejit.objects.object_ import DICT_FIELD, ObjectModel, dict_of, set_dict, type_lookup
from framejit.objects.rebuild import WRITERS
from framejit.objects.type_ import is_subclass
from framejit.reasons import R

ARGS, CAUSE, CONTEXT = ("args",), ("cause",), ("context",)
SUPPRESS: Any = vars(BaseException)["__suppress_context__"]
TRACEBACK = ("traceback",)
OF, STEP = ("of exception",), ("step",)  # of a traceback: its exception, the step at which that was raised first
NEXT, LOCALS = ("next",), ("locals",)  # of a traceback: the inner one; the locals of its frame once that has ended
PLACE = ("place",)  # of a traceback: the pc, where its frame is the one that the region begins in
SHOWN = ("shown",)  # of a traceback: the frame of the capture that it shows
MADE, COMPUTED = ("made",), ("computed",)  # of exceptions made by a C constructor: its arguments, what it computed
MESSAGE, EXCEPTIONS = ("message",), ("exceptions",)  # of groups: what their attributes hold, whatever becomes of `args`
PRIVATE = (ARGS, CAUSE, CONTEXT, SUPPRESS, TRACEBACK, MADE, COMPUTED, MESSAGE, EXCEPTIONS)
HEAP_TYPE = 1 << 9
COMPUTED_TEXT = tuple(  # the others look at the arguments alone
    cls.__str__ for cls in (OSError, SyntaxError, UnicodeDecodeError, UnicodeEncodeError, UnicodeTranslateError)
)
# Attributes in C: what the constructor takes from its arguments, and the keywords that it takes.
OF_ARGS: dict[type[BaseException], str] = {StopIteration: "value", SystemExit: "code", ImportError: "msg"}
KEYWORDS: dict[type[BaseException], tuple[str, ...]] = {
    AttributeError: ("name", "obj"), NameError: ("name",), ImportError: ("name", "path"),
}  # fmt: skip
LINKS = {"__cause__": (CAUSE, "exception cause"), "__context__": (CONTEXT, "exception context")}


@model(BaseException)
class ExceptionModel(ByType):
    """Exception objects: virtual ones have args, cause, context as fields; real ones are read through their attributes."""

    __slots__ = ()

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        if issubclass(cls, (OSError, UnicodeError, SyntaxError)) and args:
            return _of_constants(s, cls, args) if not kwargs else None
        fields: dict[Any, Any] = {
            ARGS: Pack(tuple, tuple(args)), CAUSE: NONE, CONTEXT: NONE, SUPPRESS: FALSE, TRACEBACK: NONE,
            DICT_FIELD: s.heap.new(dict, {s.heap.ITEMS: {}}),
        }  # fmt: skip
        if issubclass(cls, BaseExceptionGroup):
            cls, fields[MESSAGE], fields[EXCEPTIONS] = group_parts(s, cls, args)
        return s.heap.new(cls, fields)

    def initialise(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> bool:
        assert isinstance(v, Ref)
        if s.heap.get(v, MADE) is not None:
            return True
        base = next((base for base in v.cls.__mro__ if base in KEYWORDS), None)
        names = KEYWORDS[base] if base is not None else ()
        if base is None and kwargs:
            s.raise_error(TypeError, f"{v.cls.__name__}() takes no keyword arguments")
        s.heap.set(v, ARGS, Pack(tuple, tuple(args)))
        if len(kwargs) > len(names):
            most = f"{len(names)} keyword argument{'s' * (len(names) != 1)}"
            s.raise_error(TypeError, f"{base.__name__}() takes at most {most} ({len(kwargs)} given)")  # type: ignore[union-attr]
        for name in kwargs:
            if name not in names:
                s.raise_error(TypeError, f"'{name}' is an invalid keyword argument for {base.__name__}()")  # type: ignore[union-attr]
        for name in names:
            s.heap.set(v, (name,), kwargs.get(name, NONE))
        holder = next((OF_ARGS[base] for base in v.cls.__mro__ if base in OF_ARGS), None)
        if holder == "msg" or (holder == "value" and not args):
            s.heap.set(v, (holder,), args[0] if len(args) == 1 else NONE)
        elif holder is not None and args:
            s.heap.set(v, (holder,), args[0] if len(args) == 1 or holder == "value" else s.heap.get(v, ARGS))
        return True

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        if not isinstance(v, Ref):
            return None
        if name in FIELDS:
            return field(s, v, name)
        if v.path is not None:
            return None
        if type(found) not in (types.MemberDescriptorType, types.GetSetDescriptorType):
            return None
        stored = s.heap.get(v, (name,))
        if stored is None and (derived := s.heap.get(v, COMPUTED)) is not None:
            stored = derived.get(name)
        if stored is not None:
            return stored
        if found.__objclass__ in KEYWORDS or found.__objclass__ in OF_ARGS:
            return NONE
        return s.unsupported(R.EXCEPTION_OPERATION, v, name)

    def hash_key(self, s: Services, v: Value) -> Any:
        if type_lookup(s, v.cls, "__hash__") is object.__hash__ and type_lookup(s, v.cls, "__eq__") is object.__eq__:
            return v
        return super().hash_key(s, v)

    def text(self, s: Services, v: Value, function: Any) -> Value:
        return text(s, v, function)  # type: ignore[arg-type]

    def set_attribute(self, s: Services, v: Value, name: str, found: Any, new: Value | None) -> bool:
        if not isinstance(v, Ref):
            return False
        if name in FIELDS:
            _set_field(s, v, name, new)
            return True
        if v.path is not None:
            return False
        if type(found) not in (types.MemberDescriptorType, types.GetSetDescriptorType):
            return False
        if name == "__dict__":
            if new is None:
                s.raise_error(TypeError, "cannot delete __dict__")
            set_dict(s, v, new)
            return True
        if issubclass(v.cls, BaseExceptionGroup) and found.__objclass__ is BaseExceptionGroup:
            s.raise_error(AttributeError, "readonly attribute")
        if s.heap.get(v, MADE) is not None:  # its text may be another now
            if new is None:
                return False
            s.heap.set(v, COMPUTED, {key: value for key, value in s.heap.get(v, COMPUTED).items() if key != "__str__"})
        s.heap.set(v, (name,), NONE if new is None else new)
        return True


@model(types.TracebackType)
class TracebackModel(ObjectModel):
    """Entries of tracebacks: those of the capture know their line and the entry behind them."""

    __slots__ = ()

    def attribute(self, s: Services, v: Value, name: str, found: Any) -> Value | None:
        if not isinstance(v, Ref) or v.path is not None:
            return None
        start, shown, behind = s.heap.get(v, PLACE), s.heap.get(v, SHOWN), s.heap.get(v, NEXT)
        place = shown.place if start is None and shown is not None else start
        if place is not None and name == "tb_lasti":
            return Const(place)
        if place is not None and name == "tb_lineno":
            return Const(Where(s.start.code if shown is None else shown.frame.real_code, place).line)  # type: ignore[attr-defined]
        known = not isinstance(behind, Ref) or s.heap.get(behind, PLACE) is not None or s.heap.get(behind, SHOWN) is not None
        if place is not None and name == "tb_next" and known:
            return behind
        return s.unsupported(R.ATTRIBUTE_OF_OPAQUE, v, name)


FIELDS = {"args": ARGS, "__cause__": CAUSE, "__context__": CONTEXT, "__suppress_context__": SUPPRESS, "__traceback__": TRACEBACK}


def _written_by(setter: Any) -> Any:
    return lambda value: (setter, [value])


for _name in ("args", "__context__", "__traceback__"):
    WRITERS[FIELDS[_name]] = _written_by(vars(BaseException)[_name].__set__)


def set_cause(error: BaseException, cause: BaseException | None) -> None:
    """Write the cause alone, which hides the context otherwise."""
    hides = SUPPRESS.__get__(error)
    vars(BaseException)["__cause__"].__set__(error, cause)
    SUPPRESS.__set__(error, hides)


WRITERS[CAUSE] = lambda value: (set_cause, [value])


def field(s: Services, v: Ref, name: str) -> Value:
    """What an exception holds under the name of an attribute that all have, whatever its class makes of that."""
    found: Value | None = s.heap.get(v, FIELDS[name])
    if found is not None:
        return found
    assert v.path is not None
    getter = vars(BaseException)[name]
    path = v.path.to(CALLED, Called(getter.__get__, (), f"{v.path}.{name}"))
    value = s.input(path, getter.__get__(v.real))
    found = s.heap.load(v, FIELDS[name], s.force(value) if getter.__get__(v.real) is None else value)
    return found


def is_quiet_traceback(error: BaseException) -> bool:
    """Whether no Python code runs when the traceback of an exception, with the locals of its frames, goes."""
    entry = vars(BaseException)["__traceback__"].__get__(error)
    while entry is not None:
        if not all(map(is_quiet, gc.get_referents(entry.tb_frame))):
            return False
        entry = entry.tb_next
    return True


def _set_field(s: Services, v: Ref, name: str, new: Value | None) -> None:
    """Write an attribute that all exceptions have, with the errors of its C setter; None deletes it."""
    if new is None:
        s.raise_error(TypeError, "can't delete numeric/char attribute" if name.startswith("__supp") else f"{name} may not be deleted")
    assert new is not None
    field(s, v, name)
    if name == "args":
        given = s.force(new)
        s.heap.set(v, ARGS, given if isinstance(given, Pack) and given.cls is tuple else Pack(tuple, tuple(s.listed(new))))
        return
    new = s.force(new)
    if name in LINKS:
        link, what = LINKS[name]
        if new.cls is not type(None) and not issubclass(new.cls, BaseException):
            s.raise_error(TypeError, f"{what} must be None or derive from BaseException")
        s.heap.set(v, link, NONE if new.cls is type(None) else new)
        if name == "__cause__":
            field(s, v, "__suppress_context__")
            s.heap.set(v, SUPPRESS, TRUE)
    elif name == "__traceback__":
        if new.cls not in (type(None), types.TracebackType):
            s.raise_error(TypeError, "__traceback__ must be a traceback or None")
        if v.path is not None:
            if not is_quiet_traceback(v.real):
                s.unsupported(R.EXCEPTION_OPERATION, v, "a finalizer may run when its traceback goes")
            s.guard(v.path, "PY", is_quiet_traceback)
        s.heap.set(v, TRACEBACK, NONE if new.cls is type(None) else new)
    else:
        if new.cls is not bool:
            s.raise_error(TypeError, "attribute value type must be bool")
        s.heap.set(v, SUPPRESS, new)


def group_parts(s: Services, cls: type, args: Sequence[Value]) -> tuple[type, Value, Value]:
    """The class, message and members that BaseExceptionGroup.__new__ gives a group, with its errors in its order."""
    if len(args) != 2:
        s.raise_error(TypeError, f"BaseExceptionGroup.__new__() takes exactly 2 arguments ({len(args)} given)")
    message, members = s.force(args[0]), s.force(args[1])
    if not issubclass(message.cls, str):
        s.raise_error(TypeError, f"BaseExceptionGroup.__new__() argument 1 must be str, not {type_name(message.cls)}")
    if issubclass(members.cls, dict) or s.type_lookup(members.cls, "__getitem__") is MISSING:
        s.raise_error(TypeError, "second argument (exceptions) must be a sequence")
    items = s.listed(members)
    if not items:
        s.raise_error(ValueError, "second argument (exceptions) must be a non-empty sequence")
    ordinary = True
    for place, item in enumerate(map(s.force, items)):
        if not issubclass(item.cls, BaseException):
            s.raise_error(ValueError, f"Item {place} of second argument (exceptions) is not an exception")
        ordinary = ordinary and issubclass(item.cls, Exception)
    if cls is BaseExceptionGroup:
        cls = ExceptionGroup if ordinary else cls
    elif not ordinary and issubclass(cls, Exception):
        what = "an ExceptionGroup" if cls is ExceptionGroup else f"'{cls.__name__}'"
        s.raise_error(TypeError, f"Cannot nest BaseExceptions in {what}")
    return cls, message, members if isinstance(members, Pack) and members.cls is tuple else Pack(tuple, tuple(items))


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
    if _is_more_than_its_args(s, real):
        return note_raised(s, _bare(s, real))
    made = s.force(s.call(Const(type(real)), [s.wrap(arg) for arg in real.args]))
    computed = s.heap.get(made, COMPUTED) if isinstance(made, Ref) else None
    if computed is not None:
        for name, value in computed.items():
            found = getattr(real, name, None)
            if name != "__str__" and s.constant(value) != found:
                s.heap.set(made, (name,), s.wrap(found))  # type: ignore[arg-type]
        s.heap.set(made, COMPUTED, {**computed, "__str__": Const(str(real))})  # type: ignore[arg-type]
    return note_raised(s, made)


def set_object(s: Services, error: Ref, given: Value) -> None:
    """Have a UnicodeEncodeError tell the very text that could not be encoded."""
    encoding, _, *rest = s.unpack(s.heap.get(error, ARGS))
    s.heap.set(error, ARGS, Pack(tuple, (encoding, given, *rest)))
    s.heap.set(error, ("object",), given)


def _is_more_than_its_args(s: Services, real: BaseException) -> bool:
    """Whether calling the class of an exception with its arguments may not give it again, but they and its dict do."""
    in_python = any(isinstance(type_lookup(s, type(real), name), types.FunctionType) for name in ("__new__", "__init__"))
    if not in_python and not vars(real):
        return False
    kinds = (types.MemberDescriptorType, types.GetSetDescriptorType)
    bases = type(real).__mro__[: type(real).__mro__.index(BaseException)]
    return not any(type(item) in kinds and name != "__weakref__" for base in bases for name, item in vars(base).items())


def _bare(s: Services, real: BaseException) -> Ref:
    """The exception without a call of its class: its arguments and its dict as they are."""
    for name, value in (("args", real.args), ("__cause__", real.__cause__), *vars(real).items()):
        if not is_foldable(value):
            s.unsupported(R.EXCEPTION_OPERATION, None, f"{name} of an exception that was raised in C")
    namespace = s.heap.new(dict, {s.heap.ITEMS: {}})
    for name, value in vars(real).items():
        store(s, namespace, name, s.wrap(value))
    return s.heap.new(type(real), {
        ARGS: s.wrap(real.args), CAUSE: NONE, CONTEXT: NONE, SUPPRESS: bool_const(real.__suppress_context__), TRACEBACK: NONE,
        DICT_FIELD: namespace,
    })  # fmt: skip


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
    if function is str and len(args) == 1:
        return s.repr(args[0]) if type_lookup(s, value.cls, "__str__") is KeyError.__str__ else s.str(args[0])
    parts = later.with_commas([s.repr(item) for item in args])
    if function is repr:
        return later.written(s, f"{value.cls.__name__}(", *parts, ")")
    return later.written(s, "(", *parts, ")") if parts else Const("")


def raised_at(heap: Heap, raised: Ref) -> Any:
    """The step at which a virtual exception was raised; None if it was not, or has lost its traceback since."""
    trace = heap.get(raised, TRACEBACK)
    return heap.get(trace, STEP) if isinstance(trace, Ref) and trace.path is None else None


def traceback_of(s: Services, raised: Value) -> Value:
    """The traceback of a raised exception: an object that can be passed on, but not looked into."""
    return s.getattr(raised, "__traceback__") if isinstance(raised, Ref) else NONE


def is_traceback_of(s: Services, raised: Ref, trace: Value) -> bool:
    """Whether it is the traceback that the exception has, or had since it was raised."""
    if not issubclass(raised.cls, BaseException):
        return False
    return (isinstance(trace, Ref) and s.heap.get(trace, OF) is raised) or s.is_same(field(s, raised, "__traceback__"), trace)


def grow(s: Services, raised: Value, ended: Any = None) -> None:
    """The traceback gets another entry, where the exception is raised or leaves a frame that has `ended`: it is another object now."""
    if isinstance(raised, Ref):
        before, step = field(s, raised, "__traceback__"), raised_at(s.heap, raised)
        fields = {OF: raised, STEP: s.steps if step is None else step, NEXT: before, PLACE: s.place_in_start(ended), SHOWN: s.shown(ended)}  # type: ignore[attr-defined]
        s.heap.set(raised, TRACEBACK, s.heap.new(types.TracebackType, fields), before)


def passed_on(s: Services, raised: Value) -> Ref:
    """An exception that C code does not let into the running frame (a suspended body gets it next): that has no entry in its traceback."""
    raised = s.force(raised)
    assert isinstance(raised, Ref)
    trace = s.heap.get(raised, TRACEBACK)
    if isinstance(trace, Ref) and trace.path is None:
        s.heap.set(raised, TRACEBACK, s.heap.get(trace, NEXT))
    return raised


def note_caught(s: Services, frame: Any, raised: Value) -> None:
    """A handler of the frame catches an exception: its traceback shows the frame."""
    trace = s.heap.get(raised, TRACEBACK) if isinstance(raised, Ref) else None
    if isinstance(trace, Ref) and trace.path is None:
        frame.caught.append(trace)


def keep_locals(s: Services, frame: Any) -> None:
    """A frame ends: the tracebacks that show it hold its locals from now on."""
    slots = tuple(slot for slot in frame.slots if not isinstance(slot, (Const, Null)))
    if slots:
        for trace in frame.caught:
            s.heap.set(trace, LOCALS, slots)


def make_raised(s: Services, value: Value, cause: Value | None) -> Value:
    """The exception that `raise value from cause` raises."""
    raised = instantiate(s, value, "exceptions must derive from BaseException")
    if cause is not None:
        reason = s.force(cause)
        if not (isinstance(reason, Const) and reason.obj is None):
            reason = instantiate(s, reason, "exception causes must derive from BaseException")
        _set_field(s, raised, "__cause__", reason)  # type: ignore[arg-type]
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
    """Chain an exception to the one being handled (that of the running frame), and remember where it was raised."""
    if isinstance(raised, Ref):
        grow(s, raised)
        if handled is None:
            handled = handled_here(s)
        chain(s, raised, handled)
    return raised


def handled_here(s: Services) -> Value:
    """The exception being handled. That of whoever drives a real generator is not known to the frames in there: CPython finds it."""
    handled: Value = s.state["handled"]  # type: ignore[attr-defined]
    if s.is_same(handled, NONE):
        if s.start.inherits:  # type: ignore[attr-defined]
            s.unsupported(R.EXCEPTION_OPERATION, None, "what the caller of the generator handles")
        s.guard(None, "UNHANDLED")
    return handled


def chain(s: Services, raised: Value, handled: Value) -> None:
    """Make what is being handled the context of an exception."""
    if isinstance(raised, Ref) and not s.is_same(handled, NONE) and not s.is_same(handled, raised):
        _break_cycle(s, raised, handled)
        field(s, raised, "__context__")
        s.heap.set(raised, CONTEXT, handled)


def _break_cycle(s: Services, raised: Ref, handled: Value) -> None:
    """As CPython: the context chain of the handled exception must not lead back to the raised one."""
    walker = s.force(handled)
    seen = set()
    while isinstance(walker, Ref) and walker not in seen:
        seen.add(walker)
        if walker.path is not None and raised.path is None and not s.heap.is_written(walker):
            return  # nobody knew the new one when this chain was made
        following = s.force(field(s, walker, "__context__"))
        if following is raised:
            s.heap.set(walker, CONTEXT, NONE)
            return
        walker = following


def instantiate(s: Services, value: Value, message: str) -> Value:
    """An exception instance from an instance or a class."""
    value = s.force(value)
    if isinstance(value, Const) and issubclass(type(value.obj), type) and issubclass(value.obj, BaseException):
        cls, value = value, s.force(s.call(value))
        if not issubclass(value.cls, BaseException):
            shown = (s.constant(s.repr(v)) for v in (cls, Const(value.cls)))
            s.raise_error(TypeError, "calling {} should have returned an instance of BaseException, not {}".format(*shown))
    if not isinstance(value, Ref) or not issubclass(value.cls, BaseException):
        s.raise_error(TypeError, message)
    return value


def matches(s: Services, raised: Value, kind: Value) -> bool:
    """Whether `except kind` catches the exception; the hooks of metaclasses are not asked."""
    kinds = except_types(s, kind)
    return any(is_descendant(s, s.force(raised).cls, cls) for cls in kinds)


def except_types(s: Services, kind: Value) -> list[type]:
    """The classes of an `except` clause."""
    kind = s.force(kind)
    items = alternatives(s, kind)
    found = [s.force(item) for item in ((kind,) if items is None else items)]
    for item in found:
        if not is_exception_class(item):
            s.raise_error(TypeError, "catching classes that do not inherit from BaseException is not allowed")
    return [item.obj for item in found]  # type: ignore[attr-defined]


def is_exception_class(value: Value) -> bool:
    """Whether the value is a class of exceptions."""
    return isinstance(value, Const) and issubclass(type(value.obj), type) and BaseException in value.obj.__mro__


__all__ = ["MISSING", "dict_of", "is_subclass", "lookup"]
