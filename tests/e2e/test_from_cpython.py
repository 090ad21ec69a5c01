"""What CPython's own tests found to differ under capture, each as a small program."""

from __future__ import annotations

import abc
import functools
import _thread
import collections
import enum
import gc
import math
import operator
import sys
import types
import typing
import weakref

import torch

import framejit
from support import check, program


def said(action, *args, **names):
    try:
        return action(*args, **names)
    except Exception as error:
        return type(error).__name__, str(error)


# -- generators -------------------------------------------------------------------------------------------------------


def outer():
    yield 5


@check(calls=3)
def test_generators_keep_the_names_that_their_functions_had(x):
    def inner():
        yield 1
        yield 2

    one = inner()
    seen = [one.__name__, one.__qualname__, one.gi_code.co_name, one.gi_running, one.gi_suspended]
    next(one)
    seen.append(one.gi_suspended)
    inner.__name__ = "renamed"
    two = inner()
    seen += [two.__name__, one.__name__]
    one.__name__ = "given"
    seen += [said(setattr, one, "__qualname__", 4), said(delattr, one, "__qualname__")]
    inner.__name__ = "later"
    outer.__name__ = "other"
    three = outer()
    outer.__name__ = "outer"
    return x + 1, seen, three.__name__, [(each.__name__, each.__qualname__) for each in made_real(one, two, three)]


def made_real(*generators):
    return generators


def makes_generators(x):
    def inner():
        yield 1

    inner.__name__ = "renamed"
    one, two = inner(), inner()
    next(two)
    inner.__name__ = "later"
    two.__qualname__ = "own"
    return x + 1, one, two


@program("eager")
def test_generators_leave_with_their_names(compiled):
    y, *made = compiled(makes_generators)(torch.ones(2))
    return y, [(each.__name__, each.__qualname__, list(each)) for each in made]


# -- classes ----------------------------------------------------------------------------------------------------------


@check()
def test_names_of_wrapped_functions(x):
    def decorated(function):
        @classmethod
        @functools.wraps(function.__func__)
        def wrapper(*args):
            return function.__func__(*args)

        return wrapper

    class Wrapped:
        @decorated
        @classmethod
        def first(cls, arg: int) -> str:
            """first text"""
            return str(arg)

        @functools.singledispatchmethod
        @staticmethod
        def second(arg: int) -> str:
            """second text"""
            return str(arg)

    own = vars(Wrapped)["first"]
    return x + 1, own.__doc__, own.__name__, own.__annotations__, Wrapped.second.__doc__, Wrapped.second.__annotations__, Wrapped.first(3)


@check()
def test_registering_with_a_class_whose_hook_comes_later(x):
    class Asked(metaclass=abc.ABCMeta):
        def __init_subclass__(cls, **names):
            def hook(other):
                return NotImplemented if cls.__name__ else True

            cls.__subclasshook__ = hook

    class Derived(Asked):
        pass

    class Protocol(typing.Protocol):
        x = 1

    class Concrete(Protocol):
        pass

    class Other:
        pass

    Derived.register(Other)
    Concrete.register(Other)
    return x + 1, [issubclass(Other, Derived), issubclass(int, Derived), isinstance(Other(), Asked), isinstance(Other(), Concrete)]


class Abstract(metaclass=abc.ABCMeta):
    pass


def asks(x, value):
    return x + 1 if isinstance(value, Abstract) else x - 1


@program()
def test_a_class_may_be_registered_between_calls(compiled):
    class Later:
        pass

    ask = compiled(asks)
    found = [ask(torch.ones(2), Later()), ask(torch.ones(2), Later())]
    Abstract.register(Later)
    return [*found, ask(torch.ones(2), Later()), ask(torch.ones(2), 3)]


class Unhashable(type):
    def __eq__(cls, other):
        return cls is other


class OfUnhashable(metaclass=Unhashable):
    pass


@check(breaks=1, graphs=2)
def test_classes_that_cannot_be_hashed_are_left_to_cpython(x):
    y = x + 1
    same = OfUnhashable == OfUnhashable
    return y * 2, same


class Compared(str):
    def __hash__(self):
        return hash("attribute")

    def __eq__(self, other):
        return str(self) == str(other)


OddNames = type("OddNames", (), {Compared("attribute"): 5})


@check(breaks=1, graphs=2)
def test_names_of_a_class_that_are_compared_by_user_code(x):
    y = x + 1
    found = OddNames.attribute
    return y * 2, found


@check()
def test_arguments_are_refused_where_another_new_has_left_its_slot(x):
    class Base:
        def __new__(cls, *args):
            raise AssertionError

    class Derived(Base):
        __new__ = object.__new__

        def __init__(self, value):
            self.value = value

    class Plain:
        def __init__(self, value):
            self.value = value

    seen = [said(Derived, 3), said(Base)]
    del Derived.__new__, Base.__new__
    return x + 1, seen, said(Derived, 3), said(object.__new__, Derived, 3), Plain(3).value


UNNAMED = types.ModuleType.__new__(types.ModuleType)


# -- objects ----------------------------------------------------------------------------------------------------------


@check()
def test_tuples_that_stay_what_they_are(x):
    one = (1, x)
    empty = ()
    same = [one * 1 is one, 1 * one is one, one + empty is one, empty + one is one, one[:] is one, id(one) == id(one * 1)]
    return x + 1, same, one * 0 is empty, one * 2


@check()
def test_comparison_keys(x):
    key = functools.cmp_to_key(lambda a, b: (a % 3 > b % 3) - (a % 3 < b % 3))
    four = key(4)
    seen = [sorted([3, 1, 2, 5, 7], key=key), four < key(2), four == key(1), four != key(1), max([1, 5, 3], key=key)]
    seen += [type(key).__name__, type(four) is type(key), key.obj, four.obj, key(obj=7).obj, callable(four)]
    seen += [said(operator.lt, four, 3), said(hash, four), said(key), said(key, 1, 2), said(key, other=1), said(type(key))]
    seen += [said(operator.lt, key, key), said(getattr, four, "other")]
    four.obj = 5
    return x + 1, seen, four.obj, four == key(2)


def makes_keys(x):
    key = functools.cmp_to_key(lambda a, b: b - a)
    return x + 1, key, key(4)


@program("eager")
def test_comparison_keys_leave(compiled):
    y, key, four = compiled(makes_keys)(torch.ones(2))
    compare = compiled(lambda x: (x + 1, key(1) < key(2), four < key(5), four.obj, key.obj))
    return y, key(1) < key(2), four < key(5), compare(y)


@check()
def test_slots_refuse_wrong_arguments(x):
    thing = Thing()
    calls = [thing.__setattr__, thing.__delattr__, thing.__getattribute__, type.__setattr__, Thing.__delattr__]
    seen = [said(call) for call in calls] + [said(call, "a", 1, 2) for call in calls[:3]]
    return x + 1, seen, said(getattr, math, "other"), said(getattr, UNNAMED, "other")


class Replaced(str):
    def __hash__(self):
        return hash("entry")

    def __eq__(self, other):
        return str(self) == str(other)


@check(lambda: (torch.ones(2), {"entry": 1, "other": 2}), graphs=2, breaks=1)
def test_a_key_takes_the_place_of_an_equal_one(x, table):
    del table["entry"]
    table[Replaced("entry")] = 3
    return x + 1, [type(key).__name__ for key in table]


# -- who lives --------------------------------------------------------------------------------------------------------


class Thing:
    pass


@program()
def test_finalizers_of_any_callable_run_in_time(compiled):
    log = []

    def drop(box, x):
        framejit.graph_break()
        thing, y = box.pop(), x + 1
        del thing
        log.append("behind")
        return y

    for callback in (log.append, functools.partial(log.append)):
        made = [Thing()]
        kept = weakref.ref(made[0], callback)
        compiled(drop)(made, torch.ones(2))
        log.append(kept() is None)
        del kept
    made = [Thing()]
    last = weakref.finalize(made[0], log.append, "final")
    compiled(drop)(made, torch.ones(2))
    return [str(type(entry)) if isinstance(entry, weakref.ref) else entry for entry in log], last.alive


def has_a_proxy(x):
    thing, log = Thing(), []
    proxy = weakref.proxy(thing, log.append)
    y = x + 1
    del thing
    return y * 2, len(log), said(getattr, proxy, "other")[0]


@program()
def test_objects_with_proxies(compiled):
    return compiled(has_a_proxy)(torch.ones(2))


class Own(dict):
    def __init__(self):
        self.__dict__ = self


def makes_a_cycle(x):
    own = Own()
    own.attribute = 42
    kept = weakref.ref(own)
    del own
    gc.collect()
    return kept() is None, x + 1


def test_what_a_constructor_made_is_not_held_by_its_exit():
    framejit.reset()
    assert framejit.compile(makes_a_cycle, backend="eager")(torch.ones(2))[0]


def test_captures_let_go_of_their_paths():
    items = [object() for _ in range(50_000)]
    framejit.reset()
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        framejit.compile(lambda x: x + len(items), backend="eager")(torch.ones(2))
        assert len(gc.get_objects()) - before < 20_000
    finally:
        gc.enable()


# -- exceptions -------------------------------------------------------------------------------------------------------


class Bad(Exception):
    def __init__(self):
        raise RuntimeError("cannot be made")


def raises_bad(x):
    y = x + 1
    try:
        next(iter(Raises()))
    except RuntimeError:
        traceback = sys.exc_info()[2]
        return y, traceback.tb_frame.f_code.co_name
    return y, None


class Raises:
    def __iter__(self):
        return self

    def __next__(self):
        raise Bad


@program("eager")
def test_an_exception_that_cannot_be_made(compiled):
    return compiled(raises_bad)(torch.ones(2))


def waits():
    try:
        yield
    except KeyboardInterrupt:
        yield "caught"


def interrupted(x, log):
    generator = waits()
    next(generator)
    y = x + 1
    log += map(operator.call, (_thread.interrupt_main, functools.partial(generator.send, None)))
    return y


def test_an_interruption_reaches_the_frame_that_is_captured():
    framejit.reset()
    log: list[object] = []
    with framejit.config.patch(capture_without_tensors=True):
        framejit.compile(interrupted, backend="eager")(torch.ones(2), log)
    assert log == [None, "caught"]


# -- text -------------------------------------------------------------------------------------------------------------


class Shown:
    def __str__(self):
        return "straß"

    def __repr__(self):
        return "repré"


Named = collections.namedtuple("Named", "a b")


@check()
def test_printf_style_formats_of_objects(x):
    one = Shown()
    seen = ["%s" % one, "%r" % one, "%a" % one, "%10s|%-10r|%.3s" % (one, one, one), "%d %5.2f %s %%" % (3, 2.5, one)]
    seen += ["%(k)s %(k)r %(n)03d" % {"k": one, "n": 4, }, "%s %s" % Named(one, 1), "%s" % (Named(one, 1),)]
    seen += ["%x %s" % (255, [one, Abstract]), "%s" % ((one,),), "%c%s" % ("x", one)]
    return x + 1, seen, type(iter("é")).__name__, type(iter("e")).__name__


class Slotted:
    __slots__ = ("value", "__dict__")


class Namespace(dict):
    pass


@check(lambda: (torch.ones(2), Thing()))
def test_other_dicts_for_objects(x, real):
    a, b, c, d, e, f = Thing(), Thing(), Thing(), Thing(), Thing(), Slotted()
    a.__dict__ = b.__dict__
    b.value = 1
    c.__dict__ = d.__dict__
    e.__dict__ = Namespace(other=3)
    f.value, f.__dict__ = 2, {"z": 1}
    g = Own()
    g.w = 3
    old = real.__dict__
    old["before"] = 1
    real.__dict__ = {"k": 4}
    real.m = 5
    wrong = [said(setattr, a, "__dict__", value) for value in (1, None, [], Thing())]
    same = vars(a) is vars(b), vars(c) is vars(d), vars(g) is g
    return x + 1, [a, b, e, f, vars(f)], g, old, wrong, same, [type(vars(e)), a.value, e.other, g["w"]]


@check()
def test_comparisons_of_aliases(x):
    one, two = list[int], dict[str, list[int]]
    same = [one == list[int], one != list[int], one == list[str], one == two, two == dict[str, list[int]], one == 3]
    return x + 1, same, (int | str) == (str | int), (int | str) != (int | None), one == (int | str)


class Weak:
    __slots__ = ("value", "__weakref__")


@check()
def test_the_first_weak_reference(x):
    one, two = Weak(), Weak()
    reference = weakref.ref(one)
    return x + 1, one.__weakref__ is reference, two.__weakref__


@check(*[lambda number=number: (torch.ones(2), [number], number) for number in range(3, 8)], graphs=None, breaks=0)
def test_small_numbers_are_one_object(x, numbers, number):
    table = {0: number}
    return x + 1, table[0] is number, numbers[0] is 4, number is None, number is 3.0  # noqa: F632


@check()
def test_formats_of_dicts(x):
    table = {"a": 1, "b": x.shape[0]}
    return x + 1, "%(a)s %(b)d" % table, "%s" % {"a": 1}, "%%" % table, "%(a)s%%" % {"a": Shown()}  # noqa: F507


@check()
def test_a_class_that_makes_objects_of_another(x):
    class Made(typing.Protocol):
        pass

    class Maker(Made):
        def __new__(cls):
            return [1]

        def __init__(self):
            raise AssertionError

    return x + 1, Maker()


class Bits(enum.IntFlag):
    ONE = 1
    TWO = 2


@check(*[lambda number=number: (torch.ones(2), number) for number in range(1, 6)], graphs=None, breaks=0)
def test_flags_of_changing_numbers(x, number):
    return x + 1, Bits.ONE & number, Bits.TWO | number
