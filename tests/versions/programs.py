"""Programs of the frame-entry matrix: one function each, with calls that reach all of its code."""

import contextlib
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

LOG: list[Any] = []  # what the programs note: side effects in their order


class Token:
    """An object whose life is counted."""

    alive = 0

    def __init__(self, name):
        self.name = name
        Token.alive += 1

    def __del__(self):
        Token.alive -= 1

    def __repr__(self):
        return self.name

    def __add__(self, other):
        return Token(f"{self.name}+{getattr(other, 'name', other)}")

    def __bool__(self):
        return bool(self.name)

    def __call__(self, *args, **kwargs):
        note(self.name, args, kwargs)
        return len(args)


class Case(NamedTuple):
    """A program: `make` gives the function, each variant its arguments; generators are driven by plans."""

    name: str
    make: Callable[[], FunctionType]
    variants: tuple[Callable[[], tuple], ...]
    kind: str = "function"  # or "generator", "coroutine", "async generator", "class"
    plans: tuple[tuple, ...] = ((),)
    uncovered: frozenset[str] = frozenset()  # canonical ops that no call here reaches


CASES: list[Case] = []


def case(*variants, **options):
    """Adds the decorated function; a variant is a function that makes the arguments."""
    def add(function):
        CASES.append(Case(function.__name__, lambda: function, variants or (lambda: (),), **options))
        return function
    return add


def made(*variants, **options):
    """Adds what the decorated function returns (a closure, the body of a class)."""
    def add(maker):
        CASES.append(Case(maker.__name__, maker, variants or (lambda: (),), **options))
        return maker
    return add


def note(*values):
    LOG.append(values)


calm = False  # boom does nothing: what stands behind it is reached too


def boom(value="boom"):
    if not calm:
        raise ValueError(value)


def handled():
    return type(sys.exc_info()[1]).__name__


def where():
    """The line that its caller is at."""
    return sys._getframe(1).f_lineno


def maybe(fail, value=None):
    if fail:
        raise fail
    return value


class Manager:
    def __init__(self, swallow=(), name="m"):
        self.swallow, self.name = swallow, name

    def __enter__(self):
        note("enter", self.name)
        return self

    def __exit__(self, kind, value, traceback):
        note("exit", self.name, kind, handled())
        return isinstance(value, self.swallow)

    async def __aenter__(self):
        await pause("aenter")
        return self

    async def __aexit__(self, kind, value, traceback):
        note("aexit", kind)
        await pause("aexit")
        return isinstance(value, self.swallow)


class pause:
    def __init__(self, value):
        self.value = value

    def __await__(self):
        return (yield self.value)


class Countdown:
    def __init__(self, n):
        self.n = n

    def __aiter__(self):
        return self

    async def __anext__(self):
        if not self.n:
            raise StopAsyncIteration
        self.n -= 1
        return self.n


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


# ---- straight lines, calls, arguments ----
@case(lambda: (Token("a"), 2), lambda: (Token("a"), 0), lambda: (Token("a"), 9))
def arithmetic(a, b):
    c = a + b
    d = -b + ~b * 3 // 2 - b ** 2 % 5
    d += b << 1 | b & 3 ^ 1
    e = (a is b, a is not b, b in (1, 2), b not in [1], not a, b < 3 <= 7, +b)
    note(b < 1 <= d)
    return c, d, e, where()


@case(lambda: (Token("f"), [1, 2], {"k": 3}), lambda: (Token("f"), [], {}))
def calls(f, args, kwargs):
    a = f(1, *args, 4, x=1, **kwargs)
    b = f(a, key=a, other=b"x")
    c = f.name.upper()
    d = dict(*args[3:], default=3, **{}) if args else 0
    note(a, b, c, where())
    return f(*args), f(**kwargs), f(), d


@case(lambda: (Token("f"), {"x": 1}), lambda: (Token("f"), {"y": 1}))
def double_keyword(f, kwargs):
    try:
        return f(x=2, **kwargs)
    except TypeError:
        return "twice"


def _keyword_only():
    return (Token("a"),), {"k": 1, "z": Token("z")}


@case(_keyword_only)
def keyword_only(a, *rest, k, d=5, **extra):
    note(k, d, rest)
    return a, extra


@case(lambda: (1, 2, 3, 4))
def star_parameters(a, b=2, *rest, c=3):
    rest = rest + (c,)
    note(where())
    return [*rest, a, *rest], {**{"a": b}, "z": c}, {*rest}


@case(lambda: (1, 2))
def positional_only(a, /, b):
    c = a, b
    return c


@case()
def no_arguments():
    return note("nothing")


@case(lambda: ([3, 1, 2],))
def attributes_and_items(x):
    p = Point(x, len(x))
    p.z = x[0]
    p.x[1] = p.z + 1
    del p.y, x[2]
    x[0:1] = [7, 8]
    y = x[1:], x[:1], x[::2]
    del x[:1]
    p.z += 1
    x[0] += 5
    return y, x, p.z, hasattr(p, "y")


@case(lambda: (5, "w"))
def formats(n, s):
    return f"{n:>{n}} {s!r} {s!s:4} {n!a}" + f"{s}" + f"{n}{s}" + "%s" % n


@case(lambda: ((1, [2, 3]), range(5)))
def unpacking(a, b):
    x, (y, z) = a
    first, *middle, last = b
    p, = [first]
    p, q = q, r = y, z
    return x, y, z, first, middle, last, p, q, r


@case(lambda: (1,), lambda: (0,), lambda: (None,), lambda: (2,))
def conditions(x):
    a = x and 5
    b = x or 6
    c = 1 if x is None else 2 if x is not None and x else 3
    if not x:
        c += 1
    elif x == 1:
        c += 1
    try:
        assert c != 3, "no c"
    except AssertionError:
        c = 0
    return a, b, c, x and (c or b), (None if x else 0) is None


@case(lambda: (1,), lambda: (0,))
def asserts(x):
    try:
        assert x, where()
    except AssertionError as error:
        return error.args
    return x


# ---- loops ----
@case(lambda: (4,))
def loops(n):
    total = 0
    for i in range(n):
        if i == 1:
            continue
        while total < i:
            total += 1
            if total == 2:
                break
        else:
            note("else", i)
    else:
        total += 100
    return total, i


@case(lambda: ([Token("a"), Token("b")],))
def loop_over_tokens(tokens):
    seen = []
    for token in tokens:
        for letter in token.name:
            seen.append((letter, token))
    while tokens:
        seen.append(tokens.pop())
    return seen


@case(lambda: (["x", None, "y", "z"],))
def loop_with_none(items):
    out = []
    for item in items:
        if item is None:
            out.append(where())
            continue
        out.append(item)
    while (item := items.pop()) is not None:
        out.append(item)
    return out


@case(lambda: ([("a", 1), ("b", 2)],))
def comprehensions(pairs):
    a = [v + 1 for _, v in pairs if v > 1]
    b = {k: v for k, v in pairs}
    c = {k for k, _ in pairs}
    d = list(v for _, v in pairs)
    e = [[x for x in range(v)] for k, v in pairs]
    k = [k for k, v in pairs]
    return a, b, sorted(c), d, e, k


@case(lambda: (3,))
def comprehension_with_cells(n):
    fs = [lambda: i + n for i in range(n)]
    i = 10
    return [f() for f in fs], i


# ---- exceptions ----
@case(lambda: (None,), lambda: (ValueError("v"),), lambda: (KeyError("k"),), lambda: (TypeError("t"),))
def try_except_finally(fail):
    state = ["start"]
    try:
        state.append(maybe(fail, 1))
    except ValueError as error:
        state.append((type(error), handled(), where()))
    except (KeyError, IndexError):
        state.append(handled())
    else:
        state.append("else")
    finally:
        state.append(handled())
        note("finally", state, where())
    return state


@case(lambda: (1,), lambda: (0,), lambda: (3,))
def nested_handlers(x):
    try:
        try:
            1 / x
            boom()
        except ValueError:
            note(handled())
            try:
                [0, 1][-x]
            except IndexError:
                note(handled())
                raise
            finally:
                note("inner", handled())
    except LookupError as error:
        return type(error.__context__), handled(), where()
    except ZeroDivisionError:
        pass
    return handled()


@case(lambda: (Token("t"),))
def raise_from(token):
    try:
        try:
            boom(token.name)
        except ValueError as error:
            raise KeyError(1) from error
    except KeyError as error:
        cause = error.__cause__
        raise RuntimeError("again") from None


@case(lambda: (ValueError("again"),))
def raise_twice(error):
    try:
        raise error
    except ValueError as e:
        saved = e
    note(handled())
    raise saved


@case(*(lambda x=x, leave=leave: (x, leave) for x in range(3) for leave in (False, True)))
def returns_in_finally(x, leave):
    for i in range(3):
        try:
            if x == 0:
                return "try"
            if x == 1:
                boom()
            continue
        finally:
            note(i, handled())
            if leave:
                break
    return "after"


@case()
def bare_raise_outside():
    try:
        raise
    except RuntimeError as error:
        return str(error)


@case(lambda: (True,), lambda: (False,))
def unbound(x):
    if x:
        value = 1
    try:
        return value
    except UnboundLocalError:
        return "unbound"


@case(lambda: (Token("t"),))
def deletes(t):
    u = t
    if not calm:
        del t
    try:
        t
        boom()
    except (NameError, ValueError):
        note("gone", u)
    t = [u]
    del u
    return t


@case()
def reraise_by_name():
    try:
        boom()
    except ValueError as error:
        note(where())
        error.add_note("noted")
        raise error


@case(lambda: (3,))
def handler_in_loop(n):
    out = []
    for i in range(n):
        try:
            if i % 2:
                boom(i)
            out.append(i)
        except ValueError as error:
            out.append(error.args)
            continue
        finally:
            out.append("f")
    return out


@case(lambda: ([ValueError(1), TypeError(2), OSError(3)],), lambda: ([OSError(1)],), lambda: ([ValueError(1)],))
def exception_groups(errors):
    out = []
    try:
        try:
            raise ExceptionGroup("g", errors)
        except* ValueError as group:
            out.append(("v", len(group.exceptions), handled()))
        except* TypeError:
            out.append(("t", handled()))
            raise
        finally:
            out.append(handled())
    except ExceptionGroup as rest:
        out.append(rest)
    return out


@case(lambda: (ValueError(1),), lambda: (None,), lambda: (KeyError(1),))
def group_of_a_naked_exception(fail):
    try:
        maybe(fail)
    except* ValueError as group:
        note(len(group.exceptions))
    except* KeyError:
        raise TypeError("new")
    return where()


# ---- with ----
@case(lambda: (Manager(), None), lambda: (Manager(ValueError), ValueError("v")), lambda: (Manager(), KeyError("k")))
def with_one(manager, fail):
    with manager as m:
        note(where())
        maybe(fail)
        return m.name
    return "swallowed"


@case(lambda: (Manager(name="a"), Manager(ValueError, "b"), None), lambda: (Manager(name="a"), Manager(ValueError, "b"), ValueError("v")),
      lambda: (Manager(TypeError, name="a"), Manager(ValueError, "b"), TypeError("v")))
def with_two(a, b, fail):
    out = []
    for i in range(2):
        with a, b as bound:
            out.append(bound.name)
            if i:
                maybe(fail)
                break
            continue
    return out


@case(lambda: (Manager(ValueError), 1), lambda: (Manager(ValueError), 0))
def with_in_try(manager, x):
    try:
        with manager:
            try:
                1 // x
                boom()
            finally:
                note(handled())
    except ZeroDivisionError:
        with manager as m:
            note(handled(), m.name)
            boom()
        return handled(), "zero"
    return handled()


@case(lambda: (1,), lambda: (Manager(),))
def not_a_manager(x):
    try:
        with x:
            pass
    except (TypeError, AttributeError):
        return "no manager"


@case(lambda: (Token("t"), KeyError), lambda: (Token("t"), ValueError))
def with_suppress(t, kind):
    with contextlib.suppress(ValueError), contextlib.ExitStack() as stack:
        stack.callback(note, "callback", t)
        stack.enter_context(contextlib.suppress(kind))
        boom()
    return t


# ---- closures, globals, classes ----
@case(lambda: (1, 2))
def makes_closures(a, b):
    c = a
    def inner(d=b, *, e=5) -> int:
        nonlocal c
        c += d
        return a + c + e
    first = inner()
    a = 100
    return first, inner(1), c, inner.__defaults__, inner.__annotations__


@made(lambda: (2,))
def closure_itself():
    cell, other = 10, Token("other")
    def closure(x):
        nonlocal cell
        cell = cell + x
        y = [cell, other]
        g = lambda: (x, cell)
        x = x + 1
        return y, g()
    return closure


@made(lambda: (), uncovered=frozenset(("RETURN_VALUE",)))
def empty_cells():
    def user():
        try:
            return later
        except NameError:
            note("empty")
        later_local = 1
        def keep():
            return later_local
        del later_local
        try:
            return keep()
        except NameError:
            later_local = 2
        return keep()
    if user is None:
        later = 1
    return user


@case(lambda: (3,))
def cell_argument(x):
    def add():
        nonlocal x
        x += 1
        return x
    add()
    del_me = x
    x = x * 2
    return add(), del_me, x


GLOBAL = 1


@case(lambda: (5,))
def uses_globals(x):
    global GLOBAL, FRESH
    old = GLOBAL
    GLOBAL = x
    FRESH = [x]
    out = GLOBAL, FRESH
    if not calm:
        del FRESH
    try:
        FRESH
    except NameError:
        out += ("gone",)
    GLOBAL = old
    return out, len(out)


@case(uncovered=frozenset(("STORE_FAST", "POP_TOP", "JUMP")))
def imports():
    import os.path as p
    from collections import OrderedDict
    from collections import deque as d
    try:
        from collections import nothing_there  # noqa: F401
    except ImportError:
        note("import error")
    import json.decoder
    return p.__name__, OrderedDict, d, json.__name__


@case(lambda: (2,))
def defines_a_class(x):
    class Inner(Point):
        y: int = x
        def method(self):
            return super().__init__(self.y, x)
        z = [x for _ in range(y)]
    inner = Inner(0, 0)
    inner.method()
    return inner.x, inner.y, inner.z, Inner.__qualname__


class Base:
    def method(self, x):
        return [x]

    @classmethod
    def made(cls):
        return cls.__name__


class Derived(Base):
    def method(self, x):
        y = super().method(x)
        z = super(Derived, self).method
        return y + z(x), super().made(), x


CASES.append(Case("super_method", lambda: Derived.method, (lambda: (Derived(), Token("x")),)))


@made(kind="class")
def class_body():
    def body():
        class Body:
            a: int = 1
            b = a + len("xy")
            try:
                c = [calm] if calm else missing_name  # noqa: F821
            except NameError:
                c = [b, GLOBAL]
            for i in range(2):
                c.append(i)
            def method(self, default=b):
                return default
            del i
            d = {k: 1 for k in c}
    code = next(const for const in body.__code__.co_consts if hasattr(const, "co_code"))
    return FunctionType(code, globals(), "Body")


@made(kind="class")
def class_body_with_cell():
    def body(y):
        class Body:
            a = y
            x = 2
            b = x
            note(where())
            def method(self):
                return __class__, y
    code = next(const for const in body.__code__.co_consts if hasattr(const, "co_code"))
    cell = (lambda v: lambda: v)(7).__closure__[0]
    return FunctionType(code, globals(), "Body", None, (cell,) * len(code.co_freevars))


# ---- match ----
@case(lambda: ([1, 2, 3],), lambda: ({"k": 1, "z": 2},), lambda: (Point(0, 5),), lambda: (Point(1, 1),), lambda: ("text",), lambda: (7,),
      lambda: ([0, 5],), lambda: (b"bytes",), lambda: ([],), lambda: (None,), lambda: ((1, 9),), lambda: ({"q": 1},),
      lambda: ({"other": 1},))
def matches(subject):
    match subject:
        case []:
            return "empty"
        case [a, 9]:
            return "nine", a
        case [first, *rest] if first:
            return first, rest
        case {"k": value, **others}:
            return value, others
        case {"q": q}:
            return q
        case Point(x=0, y=y):
            return "point", y
        case Point(a, b):
            return a, b
        case str(text) | bytes(text):
            return text
        case int() as number:
            return number, where()
        case _:
            return "other"


# ---- long code ----
_NUMBERS = ", ".join(f"{1000 + i}.5" for i in range(265))
_NAMES = "\n".join(f"    v{i} = y; w{i} = v{i}" for i in range(132))
_source = f"""
def extended(x, f):
    y = []
    for i in range(2):
        y.append([x, {_NUMBERS}])
        if y[i][-1] == x: break
{_NAMES}
    try:
        f(x, a=1, b=2)
        y[-1] += [70000.25]
        1 / x
    except ZeroDivisionError:
        w131.append(where())
    return y[-1][-2:], f(x, key70000=v131)
"""
exec(compile(_source, __file__, "exec"), globals())
case(lambda: (0, Token("f")), lambda: (1264.5, Token("f")))(globals()["extended"])


# ---- generators ----
WAITING = frozenset(("CLEANUP_THROW", "JUMP", "END_SEND"))  # of a wait that no exception ends; `ends_its_wait` has them all
SENDS = (("send", None), ("send", 1), ("send", 2), ("send", 3), ("send", 4), ("send", 5))
NEXTS = (("send", None),) * 10
THROWS = (("send", None), ("throw", ValueError), ("send", 7), ("send", 8), ("send", 9))
THROWS_LATER = (("send", None), ("send", 1), ("throw", ValueError), ("send", 7), ("send", 8))
LATE = (("send", None), ("send", 1), ("throw", KeyError), ("send", 8))
CLOSES = (("send", None), ("send", 1), ("close", None))


@case(lambda: (3,), kind="generator", plans=(SENDS, THROWS, CLOSES))
def counter(n):
    for i in range(n):
        got = yield i
        note(got, where())
    return "done"


@case(lambda: (Token("t"),), kind="generator", plans=(SENDS, THROWS, LATE, CLOSES))
def guarded(t):
    try:
        x = yield t
        note(x)
    except ValueError as error:
        note(handled())
        y = yield error.args
        note("handled", y, handled())
    finally:
        note("finally", handled())
        yield "last"
    yield t.name
    return t


@case(lambda: ([1, 2],), kind="generator", uncovered=WAITING,
      plans=(NEXTS, NEXTS[:6] + LATE[2:], NEXTS[:3] + THROWS_LATER, SENDS, THROWS, CLOSES))
def delegating(items):
    a = yield from items
    b = yield from counter(2)
    note(a, b)
    try:
        c = yield from guarded(Token("inner"))
    except KeyError:
        c = "key"
    yield c
    return b


def swallower():
    try:
        yield "inside"
    except (ValueError, KeyError) as error:
        return error.args
    return "not thrown"


@case(lambda: (1,), kind="generator", plans=(SENDS, THROWS, CLOSES))
def ends_its_wait(x):
    got = yield from swallower()
    note(got, where())
    yield got


@case(lambda: (Manager(ValueError),), kind="generator", plans=(SENDS, THROWS, LATE, CLOSES))
def with_in_generator(manager):
    with manager as m:
        yield m.name
        boom((yield "more"))
    yield handled()


@case(lambda: (2,), kind="generator", plans=(SENDS,))
def stops_by_itself(n):
    yield n
    raise StopIteration(n)


@made(lambda: (2,), lambda: (0,), kind="generator", plans=(SENDS,))
def generator_closure():
    base = 10
    def closure(n):
        nonlocal base
        while n:
            base += (yield (lambda: n + base)())
            n -= 1
    return closure


# ---- coroutines and asynchronous generators ----
@case(lambda: (1,), kind="coroutine", plans=(SENDS, THROWS, THROWS_LATER, CLOSES), uncovered=WAITING)
async def awaits(x):
    a = await pause(x)
    try:
        b = await pause("second")
    except ValueError:
        b = handled()
    note(a, b)
    return [a, b, where()]


@case(lambda: (Manager(ValueError), None), lambda: (Manager(ValueError), ValueError("v")), lambda: (Manager(), KeyError("k")),
      kind="coroutine", plans=(SENDS, THROWS), uncovered=WAITING)
async def async_with(manager, fail):
    async with manager as m:
        note(m.name)
        maybe(fail)
    return "after"


@case(lambda: (3,), kind="coroutine", plans=(SENDS,), uncovered=WAITING | {"YIELD_VALUE", "RESUME"})
async def async_for(n):
    out = []
    async for i in Countdown(n):
        if i == 1:
            continue
        out.append(i)
    else:
        out.append("else")
    return out, [j async for j in Countdown(2)]


@case(lambda: (3,), kind="async generator", plans=(SENDS, THROWS))
async def async_generator(n):
    try:
        for i in range(n):
            got = yield i
            note(got)
    except ValueError:
        yield handled()
    finally:
        note("finally")
