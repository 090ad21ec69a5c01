"""Opaque operations that the programs of the matrix do not reach, and the messages of those that fail."""

import sys
import types

from frames.core import KEY, C, callbacks, compiled, find, install, nothing_handled, opaque, raised
from frames.stepper import Stepper

log = []


class Manager:
    def __init__(self, swallow):
        self.swallow = swallow

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        log.append((kind, value, type(sys.exc_info()[1])))
        return self.swallow


def inside_with(manager):
    with manager:
        manager.work()
        return "body"
    return "after"


def inside_try(kinds):
    try:
        kinds()
    except kinds:
        return "matched"
    return "end"


def test_leaving_a_with_block_by_an_exception():
    leave = find(inside_with, "WITH_EXCEPT_START")
    for swallow, wanted in ((True, "after"), (False, None)):
        manager, error = Manager(swallow), KeyError("k")
        install(inside_with, ("LOAD_SLOT", 0, 0), ("LOAD_CONST", 1, manager.__exit__), ("LOAD_CONST", 2, error),
                ("LOAD_CONST", 3, find(inside_with, "CALL").own_pc // 2), ("LOAD_CONST", 4, None), ("SLOTS", [0, 1, 3, 4, 2]),
                ("SET_HANDLED", 2), opaque(leave, "WITH_EXIT"))
        log.clear()
        if wanted:
            assert compiled(inside_with)(manager) == wanted
        else:
            assert raised(compiled(inside_with), manager) is error
        assert log == [(KeyError, error, KeyError)] and nothing_handled()
        C.reset(inside_with.__code__)
    log.clear()


def test_except_clauses():
    match = find(inside_try, "CHECK_EXC_MATCH")
    error = KeyError("k")
    for kind, wanted in ((KeyError, "matched"), ((ValueError, LookupError), "matched"), (ValueError, KeyError), (3, TypeError),
                         ((KeyError, 3), TypeError)):
        install(inside_try, ("LOAD_SLOT", 0, 0), ("LOAD_CONST", 1, error), ("LOAD_CONST", 2, None), ("SLOTS", [0, 2, 1, 0]),
                ("SET_HANDLED", 1), opaque(match))
        if isinstance(wanted, str):
            assert compiled(inside_try)(kind) == wanted
        else:
            assert type(raised(compiled(inside_try), kind)) is wanted
        assert nothing_handled()
        C.reset(inside_try.__code__)


# ---- one instruction at a time ----
def slices(x):
    a, b = 1, len(x)
    y = x[a:b]
    x[a:b] = [7]
    x[a:] += [8]
    del x[0]
    return x, y, x[::2]


def comprehension(x):
    return {k: v for k, v in zip(x, x, strict=True)}, {v + 1 for v in x}, [v for v in x if v > 1]


def deletes(x):
    y = x
    del x
    z = [y]
    del z[0], y
    return z


def deletes_cell(x):
    def inner():
        return x  # noqa: F821

    del x
    return inner


def deletes_twice(x):
    del x
    del x  # noqa: F821


class Base:
    def hello(self, x):
        return "base", x

    value = 5


class Derived(Base):
    def hello(self, x):
        return super().hello(x), super().value, super(Derived, self).value


def jumps(x):
    count = 0
    while x:
        x = x[1:]
        count += 1
        if not x or count > 10:
            break
    return count if x is not None and not x else -1


def starred(f, x):
    a, *b = x
    return f(*b, **{"k": a}), (*x, *b), {**{1: 2}, **{3: a}}


def unpacks(x):
    a, b = x
    return a, b


def unpacks_more(x):
    a, b, *c = x
    return a, b, c


def undefined(x):
    return missing_name  # noqa: F821


def bad_import(x):
    from math import missing  # noqa: F401, PLC0415


def calls_with(f, x):
    return f(**x)


def calls_star(f, x):
    return f(*x)


def formats(x, y):
    return f"{x!r:>10}|{y:{x}}|{x!s}|{x}"


def keywords(f, x):
    return f(x, key=x)


def echo(*args, **kwargs):
    return args, kwargs


def with_both(a, k):
    return a, k


CASES = [
    (slices, lambda: ([1, 2, 3, 4],)), (comprehension, lambda: ([1, 2],)), (deletes, lambda: (1,)), (deletes_twice, lambda: (1,)),
    (Derived.hello, lambda: (Derived(), 1)), (jumps, lambda: ([1, 2],)), (jumps, lambda: (None,)), (starred, lambda: (echo, [1, 2, 3])),
    (unpacks, lambda: ([1, 2],)), (unpacks, lambda: ([1],)), (unpacks, lambda: ([1, 2, 3],)), (unpacks, lambda: (5,)),
    (unpacks_more, lambda: ([1],)), (unpacks_more, lambda: (range(4),)), (undefined, lambda: (1,)), (bad_import, lambda: (1,)),
    (calls_with, lambda: (echo, {"a": 1})), (calls_with, lambda: (echo, 5)), (calls_with, lambda: (echo, {1: 1})),
    (calls_star, lambda: (echo, 5)), (calls_star, lambda: (echo, {1: 2})), (calls_star, lambda: (with_both, [1])),
    (formats, lambda: ("5", 3.5)), (formats, lambda: ("d", 3)), (keywords, lambda: (echo, 1)), (keywords, lambda: (with_both, 1)),
    (keywords, lambda: (5, 1)),
]


def outcome(call, arguments):
    try:
        return "returned", call(*arguments)
    except Exception as error:
        entry, lines = error.__traceback__.tb_next, []
        while entry:
            lines.append(entry.tb_lineno)
            entry = entry.tb_next
        return type(error), str(error), lines, getattr(error, "name", None)


def codes_of(code):
    return {code}.union(*(codes_of(const) for const in code.co_consts if isinstance(const, types.CodeType)))


def test_values_and_messages():
    met = set()
    for function, arguments in CASES:
        stepper = Stepper(codes_of(function.__code__))
        wanted = outcome(function, arguments())
        C.reset()
        with callbacks(stepper.miss, stepper.classify):
            for _ in range(2):
                got = outcome(compiled(function), arguments())
                assert got == wanted, (function.__name__, got, wanted)
        met |= stepper.opaque
    assert {"STORE_SUBSCR", "DELETE_SUBSCR", "MAP_ADD", "SET_ADD", "LIST_APPEND", "UNPACK_EX", "CALL_EX"} <= met, sorted(met)
    C.reset()


def test_closures_and_cells():
    stepper = Stepper(codes_of(deletes_cell.__code__))
    with callbacks(stepper.miss, stepper.classify):
        inner = compiled(deletes_cell)(1)
        assert type(raised(inner)) is NameError
    C.reset()


def test_deleting_slots():
    row = find(deletes, "DELETE_FAST")
    local = [ins.value for ins in (row,)][0]
    install(deletes, ("NATIVE", 0))
    C.reset(deletes.__code__)
    install(deletes, ("LOAD_SLOT", 0, 0), ("SLOTS", [0, 0, -1]), opaque(row, "DELETE_SLOT", local))
    assert compiled(deletes)(1) == []
    C.reset(deletes.__code__)
    again = find(deletes_twice, "DELETE_FAST", 1)
    install(deletes_twice, ("SLOTS", [-1]), opaque(again, "DELETE_SLOT", again.value))
    wanted = outcome(deletes_twice, (1,))
    assert outcome(compiled(deletes_twice), (1,))[:3] == wanted[:3]
    C.reset(deletes_twice.__code__)


def test_names_of_a_class_body():
    source = "a = 1\nb = a + 1\ndel a\ntry:\n  a\nexcept NameError as error:\n  found = str(error)\nfor i in range(2): pass\n"
    code = compile(source, "<class body>", "exec")

    def run():
        namespace = {}
        exec(code, {"__builtins__": __builtins__}, namespace)
        return {name: value for name, value in namespace.items() if name != "error"}

    wanted = run()
    stepper = Stepper({code})
    with callbacks(stepper.miss, stepper.classify):
        before = C.hook_enabled(True)
        try:
            assert run() == wanted and run() == wanted
        finally:
            C.hook_enabled(before)
    assert {"LOAD_NAME", "STORE_NAME", "DELETE_NAME"} <= stepper.opaque
    C.reset(code)


def test_kinds_without_an_operation_run_natively():
    load = find(unpacks, "RETURN_VALUE")
    install(unpacks, ("LOAD_CONST", 0, "value"), ("SLOTS", [-1, -1, -1, 0]), opaque(load, "IMPORT_STAR"))
    assert compiled(unpacks)([1, 2]) == "value"
    C.reset(unpacks.__code__)
    assert KEY and unpacks([1, 2]) == (1, 2)
