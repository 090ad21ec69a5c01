"""A concrete interpreter of the canonical instructions: the meaning of each op, on real objects, one frame at a time."""

import builtins
import collections.abc
import operator
import types
from typing import Any

from framejit.bytecode import NULL_FIRST, Code, Instr, decode

HIDDEN = {__file__}  # files of the test itself
NULL = type("Null", (), {"__repr__": lambda self: "NULL"})()
COMPARE = {"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge}
BINARY = {
    "+": operator.add, "&": operator.and_, "//": operator.floordiv, "<<": operator.lshift, "@": operator.matmul, "*": operator.mul,
    "%": operator.mod, "|": operator.or_, "**": operator.pow, ">>": operator.rshift, "-": operator.sub, "/": operator.truediv,
    "^": operator.xor, "+=": operator.iadd, "&=": operator.iand, "//=": operator.ifloordiv, "<<=": operator.ilshift,
    "@=": operator.imatmul, "*=": operator.imul, "%=": operator.imod, "|=": operator.ior, "**=": operator.ipow,
    ">>=": operator.irshift, "-=": operator.isub, "/=": operator.itruediv, "^=": operator.ixor,
}
CONVERT = {"": lambda value: value, "s": str, "r": repr, "a": ascii}
SELF_MATCHING = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


class Again(Exception):
    """Carries an exception that is raised again: its traceback gets no new entry."""

    def __init__(self, exception: BaseException) -> None:
        self.exception = exception


class Wrapped:
    """Stands for the wrapped value of an asynchronous generator, which Python code cannot make."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Jump(Exception):
    """Says that the jump of the instruction is taken."""


class Frame:
    """One frame: function, slots, stack, handled exception, the next instruction."""

    def __init__(self, function: types.FunctionType, slots: list[Any], namespace: Any = None, shown: Any = None) -> None:
        self.function = function
        self.code: Code = decode(function.__code__)
        self.slots = slots
        self.stack: list[Any] = []
        self.namespace = namespace
        self.handled: BaseException | None = None
        self.index = 0
        self.steps = 0
        self.shown = shown  # a real frame object of this code, for tracebacks
        self.raise_at: tuple[int, BaseException] | None = None
        self.stop_at = -1
        self.visited: list[int] = []  # pc before each step

    def push(self, *values: Any) -> None:
        self.stack.extend(values)

    def pop(self) -> Any:
        return self.stack.pop()

    def take(self, count: int) -> list[Any]:
        cut = len(self.stack) - count
        values = self.stack[cut:]
        del self.stack[cut:]
        return values

    def current(self) -> Instr:
        return self.code.instructions[self.index]

    def all_slots(self) -> list[Any]:
        return [*self.slots, *self.stack]


def bind(function: types.FunctionType, args: tuple, kwargs: dict) -> list[Any]:
    """The localsplus of a new call, arguments bound as the signature says (the calls of the corpus are all valid)."""
    code = function.__code__
    slots: list[Any] = [NULL] * len(decode(code).locals)
    names = code.co_varnames
    count = code.co_argcount
    slots[: min(len(args), count)] = args[:count]
    place = count + code.co_kwonlyargcount
    if code.co_flags & 4:
        slots[place] = args[count:]
        place += 1
    extra = {name: value for name, value in kwargs.items() if name not in names[: count + code.co_kwonlyargcount]}
    if code.co_flags & 8:
        slots[place] = extra
    for slot, name in enumerate(names[: count + code.co_kwonlyargcount]):
        if name in kwargs:
            slots[slot] = kwargs[name]
    for slot, value in zip(range(count - len(function.__defaults__ or ()), count), function.__defaults__ or ()):
        if slots[slot] is NULL:
            slots[slot] = value
    for name, value in (function.__kwdefaults__ or {}).items():
        slot = names.index(name)
        if slots[slot] is NULL:
            slots[slot] = value
    return slots


def under(handled: BaseException | None, act: Any, *args: Any) -> Any:
    """Acts while an exception is being handled, of which nothing changes."""
    if handled is None:
        return act(*args)
    traceback, context = handled.__traceback__, handled.__context__
    try:
        raise handled
    except BaseException:
        handled.__traceback__, handled.__context__ = traceback, context
        return act(*args)


def own(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """A traceback without the entries of the test itself at its front."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename in HIDDEN:
        traceback = traceback.tb_next
    return traceback


def run(frame: Frame) -> tuple[str, Any]:
    """Runs until "return", "yield" or "stop"; raises what the frame lets out."""
    while True:
        ins = frame.current()
        if ins.enterable:
            if frame.steps == frame.stop_at:
                return "stop", None
            frame.visited.append(ins.pc)
            frame.steps += 1
        try:
            if ins.enterable and frame.raise_at is not None and frame.steps - 1 == frame.raise_at[0]:
                exception, frame.raise_at = frame.raise_at[1], None
                under(frame.handled, throw, exception)
            if ins.op in ("RETURN_VALUE", "YIELD_VALUE"):
                value = frame.pop()
                frame.index += 1
                return ("return" if ins.op == "RETURN_VALUE" else "yield"), value
            under(frame.handled, HANDLERS[ins.op], frame, ins)
            frame.index = ins.index + 1
            continue
        except Jump:
            frame.index = ins.jump
            continue
        except Again as again:
            raised, add = again.exception, False
        except BaseException as exception:
            raised, add = exception, True
        unwind(frame, ins, raised, add)


def throw(exception: BaseException) -> None:
    raise exception


def unwind(frame: Frame, ins: Instr, exception: BaseException, add: bool) -> None:
    """Goes to the handler of an exception that the instruction raised, or lets it out."""
    traceback = own(exception.__traceback__)
    if add and frame.shown is not None:
        traceback = types.TracebackType(traceback, frame.shown, ins.own_pc, max(ins.line, 0))  # 0: no line
    exception.__traceback__ = traceback
    entry = frame.code.lookup(ins.own_pc)
    if entry is None:
        frame.stack.clear()
        raise exception
    del frame.stack[entry.depth :]
    if entry.lasti:
        frame.push(ins.own_pc)
    frame.push(exception)
    frame.index = frame.code.by_pc[entry.target]


# ---- one handler per op ----
def _load_fast(f, ins):
    value = f.slots[ins.value]
    if value is NULL:
        raise UnboundLocalError(f"cannot access local variable '{f.code.locals[ins.value].name}' where it is not associated with a value")
    f.push(value)


def _load_fast_and_clear(f, ins):
    f.push(f.slots[ins.value])
    f.slots[ins.value] = NULL


def _store_fast(f, ins):
    f.slots[ins.value] = f.pop()


def _delete_fast(f, ins):
    _load_fast(f, ins)
    f.pop()
    f.slots[ins.value] = NULL


def _make_cell(f, ins):
    old = f.slots[ins.value]
    f.slots[ins.value] = types.CellType() if old is NULL else types.CellType(old)


def _copy_free_vars(f, ins):
    f.slots[len(f.slots) - ins.value :] = f.function.__closure__


def _unbound_cell(f, ins):
    local = f.code.locals[ins.value]
    if local.kind == "free":
        raise NameError(f"cannot access free variable '{local.name}' where it is not associated with a value in enclosing scope")
    raise UnboundLocalError(f"cannot access local variable '{local.name}' where it is not associated with a value")


def _load_deref(f, ins):
    try:
        value = f.slots[ins.value].cell_contents
    except ValueError:
        value = NULL
    if value is NULL:
        _unbound_cell(f, ins)
    f.push(value)


def _store_deref(f, ins):
    f.slots[ins.value].cell_contents = f.pop()


def _delete_deref(f, ins):
    _load_deref(f, ins)
    f.pop()
    del f.slots[ins.value].cell_contents


def _global(f, name):
    for scope in (f.function.__globals__, vars(builtins)):
        if name in scope:
            return scope[name]
    raise NameError(f"name '{name}' is not defined", name=name)


def _pair(f, value):
    f.push(*((NULL, value) if NULL_FIRST else (value, NULL)))


def _load_global(f, ins):
    value = _global(f, ins.value)
    if ins.arg:
        _pair(f, value)
    else:
        f.push(value)


def _delete_global(f, ins):
    if ins.value not in f.function.__globals__:
        raise NameError(f"name '{ins.value}' is not defined", name=ins.value)
    del f.function.__globals__[ins.value]


def _load_name(f, ins):
    f.push(f.namespace[ins.value] if ins.value in f.namespace else _global(f, ins.value))


def _delete_name(f, ins):
    if ins.value not in f.namespace:
        raise NameError(f"name '{ins.value}' is not defined", name=ins.value)
    del f.namespace[ins.value]


def _load_from_dict_or_deref(f, ins):
    mapping, name = f.pop(), f.code.locals[ins.value].name
    if name in mapping:
        f.push(mapping[name])
    else:
        _load_deref(f, ins)


def _load_from_dict_or_globals(f, ins):
    mapping = f.pop()
    f.push(mapping[ins.value] if ins.value in mapping else _global(f, ins.value))


def _setup_annotations(f, ins):
    f.namespace.setdefault("__annotations__", {})


def _load_method(f, ins):
    owner = f.pop()
    value = getattr(owner, ins.value)
    if type(value) is types.MethodType and value.__self__ is owner and not isinstance(owner, type):
        f.push(value.__func__, owner)
    else:
        _pair(f, value)


def _load_super(method):
    def handler(f, ins):
        cls, cls_arg, owner = f.take(3)
        value = getattr(cls(cls_arg, owner), ins.value)
        if method and type(value) is types.MethodType and value.__self__ is owner:
            f.push(value.__func__, owner)
        elif method:
            _pair(f, value)
        else:
            f.push(value)
    return handler


def _store_attr(f, ins):
    value, owner = f.take(2)
    setattr(owner, ins.value, value)


def _unary(function):
    return lambda f, ins: f.push(function(f.pop()))


def _binary(function):
    def handler(f, ins):
        left, right = f.take(2)
        f.push(function(left, right, ins))
    return handler


def _store_subscr(f, ins):
    value, container, key = f.take(3)
    container[key] = value


def _delete_subscr(f, ins):
    container, key = f.take(2)
    del container[key]


def _build_map(f, ins):
    items = f.take(2 * ins.value)
    f.push(dict(zip(items[::2], items[1::2])))


def _build_const_key_map(f, ins):
    keys = f.pop()
    f.push(dict(zip(keys, f.take(ins.value))))


def _map_add(f, ins):
    key, value = f.take(2)
    f.stack[-ins.value][key] = value


def _into(method):
    def handler(f, ins):
        item = f.pop()
        getattr(f.stack[-ins.value], method)(item)
    return handler


def _dict_merge(f, ins):
    mapping = f.pop()
    target = f.stack[-ins.value]
    for key in mapping.keys():
        if key in target:
            raise TypeError(f"{f.stack[-2 - ins.value]}() got multiple values for keyword argument '{key}'")
    target.update(mapping)


def _format_value(f, ins):
    conversion, has_spec = ins.value
    spec = f.pop() if has_spec else ""
    f.push(format(CONVERT[conversion](f.pop()), spec))


def _unpack_sequence(f, ins):
    value = f.pop()
    if ins.value == 1:
        (only,) = value
        f.push(only)
    elif ins.value == 2:
        a, b = value
        f.push(b, a)
    else:
        items = list(value)
        if len(items) != ins.value:
            raise ValueError("wrong number of values to unpack")
        f.push(*reversed(items))


def _unpack_ex(f, ins):
    before, behind = ins.value
    items = list(f.pop())
    if len(items) < before + behind:
        raise ValueError(f"not enough values to unpack (expected at least {before + behind}, got {len(items)})")
    cut = len(items) - behind
    f.push(*reversed([*items[:before], items[before:cut], *items[cut:]]))


def _set_function_attribute(f, function, flag, value):
    if flag == 1:
        function.__defaults__ = value
    elif flag == 2:
        function.__kwdefaults__ = value
    elif flag == 4:
        function.__annotations__ = dict(zip(value[::2], value[1::2])) if isinstance(value, tuple) else value


def _function(f, code, closure):
    function = types.FunctionType(code, f.function.__globals__, code.co_name, None, closure)
    function.__qualname__ = code.co_qualname
    return function


def _make_function(f, ins):
    code = f.pop()
    closure = f.pop() if ins.value & 8 else None
    if code.co_freevars and closure is None:  # 3.13: SET_FUNCTION_ATTRIBUTE follows
        function = _function(f, code, tuple(types.CellType() for _ in code.co_freevars))
    else:
        function = _function(f, code, closure)
    for flag in (4, 2, 1):
        if ins.value & flag:
            _set_function_attribute(f, function, flag, f.pop())
    f.push(function)


def _set_attribute(f, ins):
    function = f.pop()
    value = f.pop()
    if ins.value == 8:
        old = function
        function = _function(f, old.__code__, value)
        function.__defaults__, function.__kwdefaults__ = old.__defaults__, old.__kwdefaults__
        function.__annotations__ = old.__annotations__
    else:
        _set_function_attribute(f, function, ins.value, value)
    f.push(function)


def _swap(f, ins):
    f.stack[-1], f.stack[-ins.value] = f.stack[-ins.value], f.stack[-1]


FRAME_READERS: dict[Any, Any] = {}  # functions that look at their caller's frame -> what they say of a reference frame


def _call(f, ins):
    args = f.take(ins.arg)
    first, second = f.take(2)
    if first is NULL:
        function = second
    elif second is NULL:
        function = first
    else:
        function, args = first, [second, *args]
    names = ins.value
    kwargs = dict(zip(names, args[len(args) - len(names) :]))
    args = args[: len(args) - len(names)]
    if function is super and not args:
        cell = f.slots[[local.name for local in f.code.locals].index("__class__")]
        owner = f.slots[0]
        f.push(super(cell.cell_contents, owner.cell_contents if isinstance(owner, types.CellType) else owner))
    elif isinstance(function, collections.abc.Hashable) and function in FRAME_READERS:
        f.push(FRAME_READERS[function](f, ins))
    else:
        f.push(function(*args, **kwargs))


def _call_ex(f, ins):
    kwargs = f.pop() if ins.value else {}
    first, second, args = f.take(3)
    f.push((second if first is NULL else first)(*args, **kwargs))


def _call_intrinsic(f, ins):
    raise NotImplementedError(ins.value)


def _jump(f, ins):
    raise Jump


def _pop_jump(test):
    def handler(f, ins):
        if test(f.pop()):
            raise Jump
    return handler


def _jump_or_pop(wanted):
    def handler(f, ins):
        if bool(f.stack[-1]) is wanted:
            raise Jump
        f.pop()
    return handler


def _for_iter(f, ins):
    try:
        item = next(f.stack[-1])
    except StopIteration:
        f.pop()
    else:
        f.push(item)
        return
    raise Jump


def _send(f, ins):
    value = f.pop()
    receiver = f.stack[-1]
    try:
        result = next(receiver) if value is None and hasattr(receiver, "__next__") else receiver.send(value)
    except StopIteration as stop:
        f.pop()
        f.push(stop.value)
    else:
        f.push(result)
        return
    raise Jump


def _cleanup_throw(f, ins):
    _, _, exception = f.take(3)
    if not isinstance(exception, StopIteration):
        raise Again(exception)
    f.push(None, exception.value)


def _yield_from_iter(f, ins):
    value = f.pop()
    f.push(value if isinstance(value, types.GeneratorType | types.CoroutineType) else iter(value))


def awaitable(value):
    return value if isinstance(value, types.CoroutineType) else type(value).__await__(value)


def _get_anext(f, ins):
    f.push(awaitable(type(f.stack[-1]).__anext__(f.stack[-1])))


def _end_async_for(f, ins):
    exception = f.pop()
    if not isinstance(exception, StopAsyncIteration):
        raise Again(exception)
    f.pop()


def _special(owner, name):
    return getattr(type(owner), name).__get__(owner, type(owner))


def _before_with(enter, leave):
    def handler(f, ins):
        manager = f.pop()
        entered, left = _special(manager, enter), _special(manager, leave)
        f.push(left, entered() if enter == "__enter__" else entered())
    return handler


def _with_except_start(f, ins):
    leave, exception = f.stack[-4], f.stack[-1]
    f.push(leave(type(exception), exception, exception.__traceback__))


def _push_exc_info(f, ins):
    exception = f.pop()
    f.push(f.handled, exception)
    f.handled = exception


def _pop_except(f, ins):
    f.handled = f.pop()


def _check_exc_match(f, ins):
    kind = f.pop()
    f.push(isinstance(f.stack[-1], kind))


def _naked_has_traceback():
    """Does the group made for a naked exception get a traceback? (Later 3.13 does so.)"""
    try:
        raise ValueError
    except* ValueError as group:
        result = group.__traceback__ is not None
    return result


NAKED_HAS_TRACEBACK = _naked_has_traceback()


def _check_eg_match(f, ins):
    exception, kind = f.take(2)
    if isinstance(exception, BaseExceptionGroup):
        match, rest = exception.split(kind)
    elif isinstance(exception, kind):
        match, rest = BaseExceptionGroup("", [exception]), None
        if NAKED_HAS_TRACEBACK:
            match.__traceback__ = types.TracebackType(None, f.shown, ins.own_pc, ins.line)
    else:
        match, rest = None, exception
    f.push(rest, match)
    if match is not None:
        f.handled = match


def _leaves(exception):
    if isinstance(exception, BaseExceptionGroup):
        return [leaf for part in exception.exceptions for leaf in _leaves(part)]
    return [exception]


def _same_origin(a, b):
    return (isinstance(a, BaseExceptionGroup) and a.__traceback__ is b.__traceback__ and a.__cause__ is b.__cause__
            and a.__context__ is b.__context__ and getattr(a, "__notes__", None) is getattr(b, "__notes__", None))


def _wraps_one():
    """Does this Python put a single exception raised in an `except*` into a group? (3.11 did so at first.)"""
    try:
        try:
            raise ExceptionGroup("", [ValueError()])
        except* ValueError:
            raise TypeError
    except BaseException as result:
        return isinstance(result, ExceptionGroup)


WRAPS_ONE = _wraps_one()


def _prep_reraise_star(f, ins):
    original, results = f.take(2)
    results = [result for result in results if result is not None]
    if not results or not isinstance(original, BaseExceptionGroup):
        f.push(results[0] if results else None)
        return
    raised = [result for result in results if not _same_origin(result, original)]
    kept = {id(leaf) for result in results if _same_origin(result, original) for leaf in _leaves(result)}
    reraised = original.split(lambda e: not isinstance(e, BaseExceptionGroup) and id(e) in kept)[0] if kept else None
    if raised and reraised is not None:
        raised.append(reraised)
    if not raised:
        f.push(reraised)
    else:
        f.push(raised[0] if len(raised) == 1 and not WRAPS_ONE else ExceptionGroup("", raised))


def _raise_varargs(f, ins):
    parts = f.take(ins.value)
    if not parts:
        if f.handled is None:
            raise RuntimeError("No active exception to reraise")
        raise Again(f.handled)
    if len(parts) == 2:
        raise parts[0] from parts[1]
    raise parts[0]


def _reraise(f, ins):
    raise Again(f.pop())


def _stopiteration_error(f, ins):
    exception = f.pop()
    if not isinstance(exception, StopIteration):
        f.push(exception)
        return
    error = RuntimeError("generator raised StopIteration")
    error.__cause__ = error.__context__ = exception
    f.push(error)


def _match_sequence(f, ins):
    subject = f.stack[-1]
    f.push(isinstance(subject, collections.abc.Sequence) and not isinstance(subject, str | bytes | bytearray))


def _match_keys(f, ins):
    subject, keys = f.stack[-2:]
    f.push(tuple(subject[key] for key in keys) if all(key in subject for key in keys) else None)


def _match_class(f, ins):
    subject, cls, names = f.take(3)
    if not isinstance(subject, cls):
        f.push(None)
        return
    count = ins.value
    found = []
    if count and cls in SELF_MATCHING:
        found, count = [subject], 0
    attributes = [*getattr(cls, "__match_args__", ())[:count], *names]
    if all(hasattr(subject, name) for name in attributes):
        f.push((*found, *(getattr(subject, name) for name in attributes)))
    else:
        f.push(None)


def _import_name(f, ins):
    level, fromlist = f.take(2)
    f.push(__import__(ins.value, f.function.__globals__, f.namespace, fromlist, level))


def _import_from(f, ins):
    module = f.stack[-1]
    if not hasattr(module, ins.value):
        raise ImportError(f"cannot import name {ins.value!r} from {module.__name__!r} ({module.__file__})")
    f.push(getattr(module, ins.value))


HANDLERS: dict[str, Any] = {
    "NOP": lambda f, ins: None,
    "RESUME": lambda f, ins: None,
    "LOAD_FAST": _load_fast, "LOAD_FAST_AND_CLEAR": _load_fast_and_clear, "STORE_FAST": _store_fast, "DELETE_FAST": _delete_fast,
    "MAKE_CELL": _make_cell, "COPY_FREE_VARS": _copy_free_vars, "LOAD_DEREF": _load_deref, "STORE_DEREF": _store_deref,
    "DELETE_DEREF": _delete_deref,
    "LOAD_CONST": lambda f, ins: f.push(ins.value),
    "LOAD_GLOBAL": _load_global,
    "STORE_GLOBAL": lambda f, ins: f.function.__globals__.__setitem__(ins.value, f.pop()),
    "DELETE_GLOBAL": _delete_global,
    "LOAD_NAME": _load_name,
    "STORE_NAME": lambda f, ins: f.namespace.__setitem__(ins.value, f.pop()),
    "DELETE_NAME": _delete_name,
    "LOAD_LOCALS": lambda f, ins: f.push(f.namespace),
    "LOAD_FROM_DICT_OR_DEREF": _load_from_dict_or_deref, "LOAD_FROM_DICT_OR_GLOBALS": _load_from_dict_or_globals,
    "SETUP_ANNOTATIONS": _setup_annotations,
    "LOAD_ATTR": lambda f, ins: f.push(getattr(f.pop(), ins.value)),
    "LOAD_METHOD": _load_method, "LOAD_SUPER_ATTR": _load_super(False), "LOAD_SUPER_METHOD": _load_super(True),
    "STORE_ATTR": _store_attr,
    "DELETE_ATTR": lambda f, ins: delattr(f.pop(), ins.value),
    "UNARY_POSITIVE": _unary(operator.pos), "UNARY_NEGATIVE": _unary(operator.neg), "UNARY_NOT": _unary(operator.not_),
    "UNARY_INVERT": _unary(operator.invert), "TO_BOOL": _unary(bool),
    "BINARY_OP": _binary(lambda left, right, ins: BINARY[ins.value](left, right)),
    "COMPARE_OP": _binary(lambda left, right, ins: COMPARE[ins.value](left, right)),
    "IS_OP": _binary(lambda left, right, ins: (left is right) is not ins.value),
    "CONTAINS_OP": _binary(lambda left, right, ins: (left in right) is not ins.value),
    "BINARY_SUBSCR": _binary(lambda container, key, ins: container[key]),
    "STORE_SUBSCR": _store_subscr, "DELETE_SUBSCR": _delete_subscr,
    "BUILD_TUPLE": lambda f, ins: f.push(tuple(f.take(ins.value))),
    "BUILD_LIST": lambda f, ins: f.push(list(f.take(ins.value))),
    "BUILD_SET": lambda f, ins: f.push(set(f.take(ins.value))),
    "BUILD_MAP": _build_map, "BUILD_CONST_KEY_MAP": _build_const_key_map,
    "BUILD_STRING": lambda f, ins: f.push("".join(f.take(ins.value))),
    "BUILD_SLICE": lambda f, ins: f.push(slice(*f.take(ins.value))),
    "LIST_APPEND": _into("append"), "SET_ADD": _into("add"), "MAP_ADD": _map_add, "LIST_EXTEND": _into("extend"),
    "SET_UPDATE": _into("update"), "DICT_UPDATE": _into("update"), "DICT_MERGE": _dict_merge,
    "LIST_TO_TUPLE": _unary(tuple),
    "FORMAT_VALUE": _format_value,
    "CONVERT_VALUE": lambda f, ins: f.push(CONVERT[ins.value](f.pop())),
    "UNPACK_SEQUENCE": _unpack_sequence, "UNPACK_EX": _unpack_ex,
    "MAKE_FUNCTION": _make_function, "SET_FUNCTION_ATTRIBUTE": _set_attribute,
    "LOAD_BUILD_CLASS": lambda f, ins: f.push(builtins.__build_class__),
    "LOAD_ASSERTION_ERROR": lambda f, ins: f.push(AssertionError),
    "POP_TOP": lambda f, ins: f.take(1),
    "PUSH_NULL": lambda f, ins: f.push(NULL),
    "COPY": lambda f, ins: f.push(f.stack[-ins.value]),
    "SWAP": _swap,
    "CALL": _call, "CALL_EX": _call_ex, "CALL_INTRINSIC": _call_intrinsic,
    "JUMP": _jump,
    "POP_JUMP_IF_TRUE": _pop_jump(bool), "POP_JUMP_IF_FALSE": _pop_jump(operator.not_),
    "POP_JUMP_IF_NONE": _pop_jump(lambda value: value is None), "POP_JUMP_IF_NOT_NONE": _pop_jump(lambda value: value is not None),
    "JUMP_IF_TRUE_OR_POP": _jump_or_pop(True), "JUMP_IF_FALSE_OR_POP": _jump_or_pop(False),
    "GET_ITER": _unary(iter), "FOR_ITER": _for_iter,
    "END_FOR": lambda f, ins: f.take(ins.value),
    "RETURN_GENERATOR": lambda f, ins: f.push(None),
    "GET_YIELD_FROM_ITER": _yield_from_iter, "SEND": _send, "CLEANUP_THROW": _cleanup_throw,
    "END_SEND": lambda f, ins: f.push(f.take(2)[1]),
    "GET_AWAITABLE": _unary(awaitable), "ASYNC_GEN_WRAP": _unary(Wrapped),
    "GET_AITER": _unary(lambda value: type(value).__aiter__(value)),
    "GET_ANEXT": _get_anext, "END_ASYNC_FOR": _end_async_for,
    "BEFORE_WITH": _before_with("__enter__", "__exit__"), "BEFORE_ASYNC_WITH": _before_with("__aenter__", "__aexit__"),
    "WITH_EXCEPT_START": _with_except_start, "PUSH_EXC_INFO": _push_exc_info, "POP_EXCEPT": _pop_except,
    "CHECK_EXC_MATCH": _check_exc_match, "CHECK_EG_MATCH": _check_eg_match, "PREP_RERAISE_STAR": _prep_reraise_star,
    "RAISE_VARARGS": _raise_varargs, "RERAISE": _reraise, "STOPITERATION_ERROR": _stopiteration_error,
    "GET_LEN": lambda f, ins: f.push(len(f.stack[-1])),
    "MATCH_MAPPING": lambda f, ins: f.push(isinstance(f.stack[-1], collections.abc.Mapping)),
    "MATCH_SEQUENCE": _match_sequence, "MATCH_KEYS": _match_keys, "MATCH_CLASS": _match_class,
    "IMPORT_NAME": _import_name,
    "IMPORT_FROM": _import_from,
    "PRINT_EXPR": lambda f, ins: print(f.pop()),
}

