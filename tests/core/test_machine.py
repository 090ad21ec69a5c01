"""What the machine promises beyond the meaning of single ops: misses, replays, stamps, weak constants, explanations."""

import functools
import gc
import pickle
import signal
import struct
import threading
import time
import types
import weakref

import pytest

from framejit import _C
from framejit.core import reference
from framejit.core.program import CHECKS, EFFECTS, EXITS, OPS, Instruction, Listing


def pack(*rows, consts=(), nregs=12, weak=()):
    """A packed program from rows written as (op, operands...)."""
    return Listing("test", tuple(Instruction(row[0], row[1:]) for row in rows), consts, nregs, weak).pack()


def run(program, *slots, **roots):
    """A run on these slots; the registers of an exit dropped."""
    return _C.run(program, slots, **roots)


class Point:
    def __init__(self, x=0):
        self.x = x

    def method(self):
        return self.x

    @property
    def double(self):
        return 2 * self.x


LOAD, RETURN = ("LOAD_SLOT", 0, 0), ("RETURN", 0)


# ---- Loads run no user code -------------------------------------------------------------------------------------------


class Hostile(dict):
    """Whatever can be overridden raises."""

    def refuse(self, *args):
        raise AssertionError("user code ran")

    __getitem__ = __contains__ = __len__ = __iter__ = __getattribute__ = __eq__ = __bool__ = keys = items = __missing__ = refuse
    __hash__ = dict.__hash__


def test_loads_and_checks_run_no_user_code():
    hostile = Hostile()
    dict.__setitem__(hostile, "x", 1)
    program = pack(
        LOAD, ("LOAD_INSTANCE_DICT", 1, 0), ("LOAD_DICT_ITEM", 2, 0, 0), ("CHECK_EQ", 2, 1), ("CHECK_LEN", 0, 1), ("CHECK_DICT_KEYS", 0, 2),
        ("CHECK_DICT_MISSING", 0, 3), ("LOAD_DICT_KEY", 3, 0, 0), ("LOAD_DICT_VALUE", 3, 0, 0), ("LOAD_TYPE", 4, 0), ("CHECK_IS_NOT", 0, 1), RETURN,
        consts=("x", 1, ("x",), "y"),
    )  # fmt: skip
    assert run(program, hostile)[0] == "exit"
    truth = pack(LOAD, ("CHECK_TRUTH", 0, 1), RETURN)
    assert run(truth, hostile) == ("miss", 1)
    assert run(pack(LOAD, ("CHECK_EQ", 0, 0), RETURN, consts=(1,)), hostile) == ("miss", 1)


@pytest.mark.parametrize("touch", [lambda p: None, lambda p: p.__dict__, lambda p: setattr(p, "y", 1), lambda p: p.__dict__.update(z=1)])
def test_instance_dict_of_inline_values(touch):
    point = Point(5)
    touch(point)
    program = pack(LOAD, ("LOAD_INSTANCE_DICT", 1, 0), ("LOAD_DICT_ITEM", 2, 1, 0), ("CHECK_EQ", 2, 1), RETURN, consts=("x", 5))
    for _ in range(3):
        assert run(program, point)[0] == "exit"
    point.x = 6
    assert run(program, point) == ("miss", 3)
    del point.x
    assert run(program, point) == ("miss", 2)
    assert vars(point).get("x") is None


def test_store_into_inline_values():
    point = Point(1)
    program = pack(LOAD, ("STORE_INSTANCE_DICT", 0, 0, 0), ("STORE_ATTR", 0, 1, 0), RETURN, consts=("a", "b"))
    run(program, point)
    assert point.a is point and point.b is point and list(vars(point)) == ["x", "a", "b"]
    point.__dict__.clear()


def test_attribute_stores_keep_class_caches_true():
    class Local:
        value = 1

    def read():
        return Local.value

    assert [read() for _ in range(100)][-1] == 1
    run(pack(LOAD, ("LOAD_SLOT", 1, 1), ("STORE_ATTR", 0, 0, 1), RETURN, consts=("value",)), Local, 2)
    assert read() == 2


def negative_nan():
    return struct.unpack("d", struct.pack("Q", 0xFFF8000000000000))[0]


EQUAL = [
    (2**70, 2**70), (-5000, -5000), ("text" * 9, "text" * 9), (b"bytes" * 9, b"bytes" * 9), (1.5, 1.5), (float("nan"), float("nan")),
    (-0.0, -0.0), (complex(1, -0.0), complex(1, -0.0)), ((1, (2.5, "x")), (1, (2.5, "x"))), (frozenset({1, "x"}), frozenset({"x", 1})),
    (frozenset({float("nan")}), frozenset({float("nan")})), ((), ()), (None, None), (..., ...), ("\u20ac", "\u20ac"),
]  # fmt: skip
UNEQUAL = [
    (1, True), (1, 1.0), (0, False), (0.0, -0.0), (0.0, 0), (float("nan"), negative_nan()), (complex(1, 0.0), complex(1, -0.0)),
    ((1, 2), (1, 2.0)), ((1,), (1, 1)), ((1,), [1]), (frozenset({1}), frozenset({True})), (frozenset({1, 2}), frozenset({1})),
    (frozenset({1}), {1}), ("x", b"x"), ("a", "b"), ("\u20ac", "\xac"), (2**70, 2**70 + 1), (None, 0), ([], []), (object(), object()),
]  # fmt: skip


@pytest.mark.parametrize("a, b, equal", [(a, b, True) for a, b in EQUAL] + [(a, b, False) for a, b in UNEQUAL])
def test_exact_equality(a, b, equal):
    for value, expected in ((a, b), (b, a)):
        program = pack(LOAD, ("CHECK_EQ", 0, 0), RETURN, consts=(expected,))
        assert (_C.run(program, [pickle.loads(pickle.dumps(value))])[0] == "exit") is equal is reference.exactly_equal(value, expected)


# ---- Stamps -----------------------------------------------------------------------------------------------------------


def test_dict_group_sees_every_change():
    program = pack(
        LOAD, ("DICT_GROUP", 0, 0, 6, (1, 2)), ("LOAD_DICT_ITEM", 1, 0, 0), ("LOAD_DICT_ITEM", 2, 0, 1), ("CHECK_EQ", 1, 2),
        ("DICT_STAMP", 0, 0, (1, 2)), ("BUILD_TUPLE", 3, (1, 2)), ("RETURN", 3), consts=("a", "b", 1),
    )  # fmt: skip

    def result(d):
        found = run(program, d)
        return found[2][3] if found[0] == "exit" else found

    d = {"a": 1, "b": "old"}
    assert result(d) == result(d) == (1, "old")
    d["b"] = "new"
    assert result(d) == result(d) == (1, "new")
    d["a"] = 2
    assert result(d) == ("miss", 4)
    d["a"] = 1
    other = dict(d, b="other")
    assert result(other) == (1, "other") and result(d) == (1, "new") and result(d.copy()) == (1, "new")
    del d["b"]
    assert result(d) == ("miss", 3)
    del d, other
    gc.collect()
    assert all(result({"a": 1, "b": i}) == (1, i) for i in range(300))  # new dicts in old places


def change_attribute(point, i):
    point.a = i


def change_item(point, i):
    point.__dict__["a"] = i


def update(point, i):
    point.__dict__.update(a=i)


def merge(point, i):
    d = point.__dict__
    d |= {"a": i}


def pop_and_store(point, i):
    point.__dict__.pop("a")
    point.a = i


def delete_and_default(point, i):
    del point.a
    point.__dict__.setdefault("a", i)


def clear(point, i):
    point.__dict__.clear()
    point.b, point.a = "old", i


def set_attribute(point, i):
    setattr(point, "a", i)


def rebind(point, i):
    point.__dict__ = {"b": "old", "a": i}


def change_global(point, i):
    exec("global a\na = i", point.__dict__, {"i": i})


@pytest.mark.parametrize(
    "change",
    [change_attribute, change_item, update, merge, pop_and_store, delete_and_default, clear, set_attribute, rebind, change_global],
)
def test_dict_group_sees_changes_of_instances(change):
    program = pack(
        LOAD, ("LOAD_INSTANCE_DICT", 3, 0), ("DICT_GROUP", 3, 0, 6, (1, 2)), ("LOAD_DICT_ITEM", 1, 3, 0), ("LOAD_DICT_ITEM", 2, 3, 1),
        ("DICT_STAMP", 3, 0, (1, 2)), RETURN, consts=("a", "b"),
    )  # fmt: skip
    point = Point()
    point.a, point.b = 0, "old"
    for i in range(200):  # often enough for CPython to specialise the change
        change(point, i)
        for _ in range(2):
            assert run(program, point)[2][1:3] == [i, "old"] and point.a == i


def test_type_attributes():
    class Base:
        def f(self): ...

    class Derived(Base):
        pass

    before = Base.f
    program = pack(LOAD, ("CHECK_TYPE_ATTRS", 0, 0, (1, 2, 3, 4)), RETURN, consts=(Derived, "f", before, "g", _C.MISSING))
    assert run(program, 0)[0] == run(program, 0)[0] == "exit"
    for _ in range(3):
        Base.unrelated = object()  # the version moves, the look-ups hold
        assert run(program, 0)[0] == "exit"
    Derived.g = 1
    assert run(program, 0) == ("miss", 1)
    del Derived.g
    assert run(program, 0)[0] == "exit"
    Derived.f = lambda self: None
    assert run(program, 0) == ("miss", 1)
    del Derived.f
    Derived.__bases__ = (type("Other", (), {}),)
    assert run(program, 0) == ("miss", 1)
    Derived.__bases__ = (Base,)
    for i in range(3000):  # on 3.13 a class runs out of version tags
        Base.unrelated = i
        assert run(program, 0)[0] == "exit"
    Base.f = 1
    assert run(program, 0) == ("miss", 1)


def test_descent_of_classes():
    class Base:
        pass

    class Derived(Base):
        pass

    program = pack(LOAD, ("CHECK_TYPE_ATTRS", 0, 0, (1, 2, 3, 4, 1, 5)), RETURN, consts=(Derived, Base, True, int, False, 1), weak=(0, 1))
    assert run(program, 0)[0] == run(program, 0)[0] == "exit"
    other = type("Other", (), {})
    Derived.__bases__ = (other,)
    assert run(program, 0) == ("miss", 1)
    Derived.__bases__ = (other, Base)
    assert run(program, 0) == ("miss", 1)  # a base, but at another place
    Derived.__bases__ = (Base, other)
    assert run(program, 0)[0] == "exit"
    for place in (True, 1 << 70, -1, None):
        consts = (Derived, Base, place)
        if place is True:
            assert run(pack(LOAD, ("CHECK_TYPE_ATTRS", 0, 0, (1, 2)), RETURN, consts=consts), 0)[0] == "exit"
        else:
            with pytest.raises(ValueError, match="MRO"):
                pack(LOAD, ("CHECK_TYPE_ATTRS", 0, 0, (1, 2)), RETURN, consts=consts)


# ---- Weak constants ---------------------------------------------------------------------------------------------------


def test_weak_constants_die_with_their_program():
    def function(): ...

    class Local: ...

    module = types.ModuleType("local")
    for value in (function, Local, module):
        ref = weakref.ref(value)
        program = pack(LOAD, ("CHECK_IS", 0, 0), RETURN, consts=(value,), weak=(0,))
        assert run(program, value)[0] == "exit" and not program.dead
        assert run(program, None) == ("miss", 1)
        function = Local = module = value = None
        gc.collect()
        if ref() is None:
            assert program.dead and program.consts == (None,) and run(program, None)[0] == "miss"
    assert ref() is None


def test_a_class_and_its_program_are_no_cycle():
    class Local:
        @property
        def p(self): ...

        @classmethod
        def c(cls): ...

        @staticmethod
        def s(): ...

        __slots__ = ("member", "__dict__")

    names = ["p", "c", "s", "member", "__dict__"]
    pairs = [value for name in names for value in (name, vars(Local)[name])]
    program = pack(
        LOAD, ("CHECK_TYPE", 0, 0), ("CHECK_TYPE_ATTRS", 0, 0, tuple(range(1, len(pairs) + 1))), ("LOAD_MEMBER", 1, 0, 8), RETURN,
        consts=(Local, *pairs), weak=tuple(range(len(pairs) + 1)),
    )  # fmt: skip
    instance = Local()
    instance.member = 5
    result = run(program, instance)
    assert result[0] == "exit" and result[2][1] == 5
    Local.p = property(vars(Local)["p"].fget)  # an equal property of the same function: the look-up gives the same
    assert run(program, instance)[0] == "exit"
    Local.p = property(lambda self: None)
    assert run(program, instance) == ("miss", 2)
    ref = weakref.ref(Local)
    del Local, instance, pairs, result
    gc.collect()
    assert ref() is None and program.dead


def test_weak_bound_method():
    point = Point()
    program = pack(LOAD, ("CHECK_IS", 0, 0), RETURN, consts=(point.method,), weak=(0,))
    assert run(program, point.method)[0] == "exit"
    assert run(program, Point().method) == ("miss", 1) and run(program, Point.method) == ("miss", 1)
    ref = weakref.ref(point)
    del point
    gc.collect()
    assert ref() is None and program.dead


def test_a_reference_may_outlive_its_program():
    class Local:
        @property
        def p(self): ...

    program = pack(LOAD, ("CHECK_IS", 0, 0), RETURN, consts=(vars(Local)["p"],), weak=(0,))
    parts = program.consts[0]
    assert type(parts) is tuple
    del program
    del Local
    gc.collect()
    assert all(part() is None for part in parts[1:] if isinstance(part, weakref.ref))


def test_a_program_can_be_collected_in_a_cycle():
    holder = Point()
    holder.program = pack(LOAD, ("CHECK_IS", 0, 0), RETURN, consts=(holder,))
    ref = weakref.ref(holder)
    del holder
    gc.collect()
    assert ref() is None


def test_misses_keep_nothing_alive():
    point = Point()
    program = pack(LOAD, ("CHECK_TYPE", 0, 0), RETURN, consts=(int,))
    assert run(program, point) == ("miss", 1)
    ref = weakref.ref(point)
    del point
    assert ref() is None and program.explain_failure() == (1, "<Point>")


# ---- Explanations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value, seen",
    [
        (5, "5"), (2.5, "2.5"), ("text", "'text'"), (None, "None"), (True, "True"), (int, "<class int>"),
        ([], "<list>"), (_C.NULL, "nothing"),
    ],
)  # fmt: skip
def test_explains(value, seen):
    program = pack(LOAD, ("CHECK_EQ", 0, 0), RETURN, consts=(1j,))
    assert program.explain_failure() is None
    run(program, value)
    assert program.explain_failure() == (0 if value is _C.NULL else 1, seen)


def test_counts_hits():
    program = pack(LOAD, ("CHECK_EQ", 0, 0), RETURN, consts=(1,))
    for value in (1, 2, 1, 1, "x"):
        run(program, value)
    assert program.hits == 3


# ---- The graph ----------------------------------------------------------------------------------------------------------


def graph_program(graph, flags=1, outputs=(1,), after=()):
    """Calls a graph on slot 0."""
    return pack(LOAD, ("CALL_GRAPH", 0, flags, (0,), outputs), *after, RETURN, consts=(graph, "x"))


def raiser(error):
    def graph(x):
        raise error

    return graph


def test_graph_results():
    assert run(graph_program(lambda x: (x + 1,)), 1)[2][:2] == [1, 2]
    assert run(graph_program(lambda x: [x, x + 1], outputs=(-1, 1)), 1)[2][:2] == [1, 2]
    for bad in (lambda x: None, lambda x: (1, 2), lambda x: iter((1,))):
        assert run(graph_program(bad), 1) == ("replay",)
        with pytest.raises((TypeError, ValueError), match="graph"):
            run(graph_program(bad, flags=0), 1)


def test_replay_is_for_exceptions_of_a_graph_that_allows_it():
    assert run(graph_program(raiser(ValueError())), 1) == ("replay",)
    with pytest.raises(ValueError):
        run(graph_program(raiser(ValueError()), flags=0), 1)
    for error in (KeyboardInterrupt(), SystemExit(), GeneratorExit()):
        with pytest.raises(type(error)):
            run(graph_program(raiser(error)), 1)


def test_no_replay_after_an_effect():
    point = Point()
    after = (("STORE_ATTR", 0, 1, 1), ("LIST_APPEND", 0, 0))  # the second fails: no list
    with pytest.raises(TypeError):
        run(graph_program(lambda p: (7,), after=after), point)
    assert point.x == 7
    assert run(graph_program(lambda p: (7,), after=(("BINARY", 2, 0, 0, 1),)), "text") == ("replay",)
    with pytest.raises(TypeError):
        run(graph_program(lambda p: (7,), flags=0, after=(("BINARY", 2, 0, 0, 1),)), "text")


def test_computes_before_the_graph_miss():
    program = pack(LOAD, ("BINARY", 1, 2, 0, 0), RETURN)
    assert run(program, 0) == ("miss", 1) and run(program, 2)[2][1] == 1


def test_random_state_is_restored_for_a_replay():
    log = []

    def save():
        log.append("save")
        return "state"

    before = _C.set_rng_hooks(save, log.append)
    try:
        assert run(graph_program(lambda x: (x,), flags=3), 1)[0] == "exit"
        assert log == ["save"]
        assert run(graph_program(raiser(ValueError()), flags=3), 1) == ("replay",)
        assert run(graph_program(raiser(ValueError()), flags=1), 1) == ("replay",)
        assert log == ["save", "save", "state"]
        with pytest.raises(KeyboardInterrupt):
            run(graph_program(raiser(KeyboardInterrupt()), flags=3), 1)
        assert log == ["save", "save", "state", "save"]
    finally:
        _C.set_rng_hooks(*before)


class Timeout(Exception):
    pass


def on_alarm(number, frame):
    give_up()


def give_up():
    raise Timeout


class Alarm:
    def method(self, number, frame):
        raise Timeout

    def __call__(self, number, frame):
        raise Timeout


def wait(x):
    end = time.monotonic() + 5
    while time.monotonic() < end:
        pass
    return (x,)


def wait_and_wrap(x):
    try:
        return wait(x)
    except Timeout as error:
        raise ValueError from error


@pytest.mark.parametrize(
    "handler", [on_alarm, Alarm().method, Alarm(), functools.partial(lambda extra, number, frame: give_up(), 1)], ids=str
)
def test_what_a_signal_handler_raises_is_not_replayed(handler):
    before = signal.signal(signal.SIGALRM, handler)
    try:
        for graph, error in ((wait, Timeout), (wait_and_wrap, ValueError)):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(error):
                run(graph_program(graph), 1)
        assert run(graph_program(raiser(Timeout())), 1) == ("replay",)  # the same class from the graph itself
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            wait(1)
        except Timeout:
            assert run(graph_program(raiser(ValueError())), 1) == ("replay",)  # while what a handler raised is being handled
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_the_hook_is_off_in_calls_and_on_again():
    if not hasattr(_C, "hook_enabled"):
        return
    seen = []

    def look(*args):
        was = _C.hook_enabled(False)
        seen.append(was)
        _C.hook_enabled(was)
        return (True,)

    program = pack(
        LOAD, ("LOAD_CONST", 1, 0), ("CHECK_PY", 0, (0,)), ("CALL_GRAPH", 0, 1, (0,), (2,)), ("CALL", 3, 1, (0,), ()),
        ("CALL_EFFECT", 1, (), ()), RETURN, consts=(look,),
    )  # fmt: skip
    before = _C.hook_enabled(False)
    try:
        assert run(program, 1)[0] == "exit"
        look()
    finally:
        _C.hook_enabled(before)
    assert seen == [False] * 5


def test_keyword_calls():
    def f(*args, **kwargs):
        return args, kwargs

    program = pack(
        LOAD, ("LOAD_CONST", 1, 0), ("LOAD_CONST", 2, 1), ("CALL", 3, 0, (1, 2), (2,)), ("RETURN", 3), consts=(1, 2, ("k",)), nregs=4
    )
    assert run(program, f)[2][3] == ((1,), {"k": 2})


def test_predicates():
    program = pack(LOAD, ("CHECK_PY", 0, (0,)), RETURN, consts=(lambda x: 1 / x,))
    assert run(program, 1)[0] == "exit" and run(program, 0) == ("miss", 1)
    with pytest.raises(KeyboardInterrupt):
        run(pack(LOAD, ("CHECK_PY", 0, ()), RETURN, consts=(raiser_without_arguments,)), 1)


def raiser_without_arguments():
    raise KeyboardInterrupt


def test_new_runs_no_python():
    class Custom(dict):
        def __new__(cls):
            raise AssertionError("user code ran")

        __init__ = __new__

    class Error(Exception):
        def __init__(self):
            raise AssertionError("user code ran")

    program = pack(LOAD, ("NEW", 1, 0), ("RETURN", 1))
    for kind in (Custom, Error, Point, list, set):
        assert type(run(program, kind)[2][1]) is kind
    assert run(program, 5) == ("miss", 1) and run(program, types.FunctionType) == ("miss", 1)


def test_functions():
    def template(a, b=2, *, c=3):
        """Text."""
        return a, b, c

    consts = (template.__code__, {"__name__": "there"}, "name", "qual.name", (5,), {"c": 7})
    rows = [("LOAD_CONST", i, i) for i in range(1, 6)]
    made = run(pack(*rows, ("BUILD_FUNCTION", 0, 0, (1, 2, 3, 4, 5, -1, -1)), RETURN, consts=consts))[2][0]
    assert made(1) == (1, 5, 7) and made.__name__ == "name" and made.__qualname__ == "qual.name"
    assert made.__module__ == "there" and made.__doc__ == "Text." and made.__annotations__ == {}


def test_threads_share_programs():
    program = pack(
        LOAD, ("DICT_GROUP", 0, 0, 4, (1,)), ("LOAD_DICT_ITEM", 1, 0, 0), ("DICT_STAMP", 0, 0, (1,)),
        ("CALL_GRAPH", 1, 1, (1,), (2,)), RETURN, consts=("x", lambda x: (x,)),
    )  # fmt: skip
    failures = []

    def work(i):
        d = {"x": i}
        for _ in range(3000):
            if run(program, d)[2][2] != i:
                failures.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_op_tables():
    assert [OPS[name].code for name in OPS] == list(range(len(_C.OPS)))
    assert CHECKS == {name for name in OPS if name.startswith(("CHECK_", "DICT_GROUP", "DICT_STAMP"))}
    assert not any(name.startswith(("LOAD_", "CHECK_", "BUILD_")) for name in EFFECTS | EXITS)
    assert all(set(row.kinds) <= set("dorkilL*DK") and row.doc for row in OPS.values())
