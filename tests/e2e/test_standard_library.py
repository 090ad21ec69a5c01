"""Parts of the standard library that keep state: locks, partials, caches, iterators that are asked how long they are."""

from __future__ import annotations

import codecs
import collections
import functools
import gc
import itertools
import operator
import sys
import threading

import torch

import framejit
from support import Counter, check, same


class Partial(functools.partial):
    pass


def listed(*args, **kwargs):
    return args, tuple(kwargs.items())


def attempt(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return type(error), error.args


@check()
def test_locks_that_are_born_here(x):
    lock, mutex, event = threading.RLock(), threading.Lock(), threading.Event()
    with lock, lock, mutex:
        inside = lock._is_owned(), mutex.locked(), mutex.acquire(False), attempt(lock.release)
        lock.acquire()
    event.set()
    return x + 1, inside, event.is_set(), attempt(mutex.release), attempt(lock.release), mutex.locked()


def test_a_lock_leaves_the_region_as_it_is():
    def make(x):
        lock = threading.Lock()
        lock.acquire()
        return x + 1, lock

    framejit.reset()
    _, lock = framejit.compile(make, backend="eager")(torch.ones(2))
    assert lock.locked() and not lock.acquire(False)


@check(lambda: (torch.arange(4.0), functools.partial(listed, 1, b=2)))
def test_partials(x, given):
    made = functools.partial(listed, 1, b=2)
    made.attr = 5
    kept, flat = Partial(made, 3), Partial(given, 2, c=3)
    flat.z = 1
    found = [made(5), kept(6, d=1), flat(), given(4), kept.func is made, flat.func is listed, flat.args, flat.keywords, made.__dict__]
    found += [attempt(setattr, made, "func", 1), attempt(functools.partial, 3), attempt(functools.partial)]
    found += [made.__reduce__()[1:], given.__reduce__()[1:]]
    made.__setstate__((listed, (9,), {}, {"k": 1}))
    found += [made(), made.k, attempt(made.__setstate__, (1, 2))]
    return x + 1, found, type(flat), flat(8), vars(flat)


def test_partials_leave_the_region():
    def make(x):
        first = functools.partial(listed, x)
        first.attr = "a"
        second = Partial(listed, b=1)
        second.attr = "b"
        return first, second

    framejit.reset()
    x = torch.ones(2)
    first, second = framejit.compile(make, backend="eager")(x)
    assert first()[0][0] is x and first.attr == "a" and type(second) is Partial and second(2) == ((2,), (("b", 1),)) and second.attr == "b"


@check()
def test_wrapped_functions_tell_what_they_wrap(x):
    def inner():
        "text"

    @functools.wraps(inner)
    def outer():
        return inner()

    made = functools.wraps(listed)(lambda: 1)
    return x + 1, outer.__doc__, outer.__name__, outer.__module__, made.__module__, made.__name__, outer.__wrapped__ is inner, made()


class Counting:
    hashed = 0

    def __init__(self, value):
        self.value = value

    def __hash__(self):
        Counting.hashed += 1
        return 3

    def __eq__(self, other):
        return self.value == other.value


@check()
def test_caches_that_are_born_here(x):
    calls = []

    @functools.lru_cache(maxsize=2)
    def add(a, b=0):
        calls.append((a, b))
        return x + a + b

    first = add(1)
    found = [add(1) is first, add(2), add(3), add(1) is first, add(1, b=2), tuple(add.cache_info())]
    add.cache_clear()
    found += [tuple(add.cache_info()), add(3), add.__name__, attempt(add, [])]

    class Model:
        @functools.lru_cache(None)
        def scale(self, by):
            calls.append(by)
            return x * by

    one, other = Model(), Model()
    found += [one.scale(2) is one.scale(2), one.scale(2) is other.scale(2), tuple(Model.scale.cache_info())]

    @functools.lru_cache(typed=True)
    def typed(a):
        return type(a)

    return found, calls, typed(1), typed(1.0), typed(True), tuple(typed.cache_info())


@check()
def test_a_cache_hashes_its_arguments_once(x):
    hashed = []

    class Key(Counting):
        def __hash__(self):
            hashed.append(self.value)
            return 3

    @functools.lru_cache
    def double(key):
        return key.value * 2

    return x + 1, double(Key(1)), double(Key(1)), double(Key(2)), hashed, tuple(double.cache_info())


def test_a_function_with_a_cache_counts_and_remembers():
    runs = []

    @functools.lru_cache
    def plus(n):
        return n + 1

    def use(x):
        return x + plus(1) + plus(1) + plus(n=2)

    framejit.reset()
    compiled = framejit.compile(use, backend="eager")
    compiled(torch.ones(2))
    runs.append(tuple(plus.cache_info()))
    plus.cache_clear()
    use(torch.ones(2))
    runs.append(tuple(plus.cache_info()))
    plus.cache_clear()
    compiled(torch.ones(2))
    runs.append(tuple(plus.cache_info()))
    assert runs[0] == runs[1] == runs[2]


def test_a_cache_that_was_used_leaves_the_region():
    def make(x):
        @functools.lru_cache
        def add(n):
            return x + n

        return add, add(1)

    framejit.reset()
    add, first = framejit.compile(make, backend="eager")(torch.ones(2))
    assert add(1) is first and tuple(add.cache_info()) == (1, 1, 128, 1)


class Sized:
    def __len__(self):
        return 3

    def __getitem__(self, index):
        return index


class Hinted:
    def __init__(self, hint):
        self.hint = hint

    def __length_hint__(self):
        if isinstance(self.hint, Exception):
            raise self.hint
        return self.hint


@check()
def test_length_hints(x):
    iterators = [
        iter([1, 2]), iter((1,)), reversed([1, 2]), iter("ab"), iter(range(3)), iter({1: 2}), iter({1: 2}.items()), iter({1, 2}),
        iter(collections.deque([1, 2])), itertools.repeat(1, 4), reversed((1, 2)), zip(), iter(Sized()), reversed(Sized()), reversed({1: 2}),
    ]  # fmt: skip
    found = [operator.length_hint(each) for each in iterators]
    for each in iterators:
        next(each, None)
    found += [operator.length_hint(each, 7) for each in iterators]
    for each in iterators:
        if not isinstance(each, (itertools.repeat, type(iter(Sized())))):
            list(each)
    found += [operator.length_hint(each, 7) for each in iterators]
    hints = (3, -1, "x", NotImplemented, TypeError(), KeyError(1))
    found += [attempt(operator.length_hint, Hinted(hint), 5) for hint in hints]
    return x + 1, found, attempt(operator.length_hint, [], "a"), attempt(operator.length_hint, itertools.repeat(1))


@check()
def test_operators_with_bodies(x):
    nan = float("nan")
    return (
        x + 1, operator.countOf([1, 2, 1, nan], 1), operator.countOf([nan, nan], nan), operator.indexOf("abc", "b"), operator.call(max, 1, 2),
        attempt(operator.indexOf, [1], 2), attempt(operator.countOf, 5, 2), operator.inv(5),
    )  # fmt: skip


@check(lambda: (torch.arange(4.0), [3, 1, 2]))
def test_functions_of_a_module_that_was_loaded_again(x, values):
    FRESH.heapify(values)
    FRESH.heappush(values, 0)
    return x + 1, values, attempt(FRESH.heappop, [])


def _fresh():
    import importlib.util
    import sys

    known = sys.modules.pop("_heapq")
    try:
        spec = importlib.util.find_spec("_heapq")
        made = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
        return made
    finally:
        sys.modules["_heapq"] = known


FRESH = _fresh()


def test_settings_are_asked_for_again():
    def ask(x):
        return x + 1, sys.getrecursionlimit(), gc.get_threshold(), sys.get_int_max_str_digits()

    framejit.reset()
    counter = Counter()
    compiled = framejit.compile(ask, backend=counter, fullgraph=True)
    limit, threshold = sys.getrecursionlimit(), gc.get_threshold()
    try:
        with framejit.config.patch(strict=True):
            for step in range(4):
                gc.set_threshold(700 + step % 2)
                sys.setrecursionlimit(limit + 10 * (step // 2))
                assert compiled(torch.ones(2))[1:] == ask(torch.ones(2))[1:]
    finally:
        sys.setrecursionlimit(limit)
        gc.set_threshold(*threshold)
    assert counter.graphs == 4


def test_error_handlers_of_the_program():
    """What encodes by a handler that the program registered asks the one of now; it is not called while the code is captured."""
    asked = []

    def answer(text):
        def handle(error):
            asked.append(text)
            return text, error.end

        return handle

    def run(x):
        text = "caf\u00e9"
        return text.encode("ascii", "of the tests"), bytes(text, "ascii", errors="of the tests"), text.encode("latin-1"), x + 1

    counter = Counter()
    compiled, x = framejit.compile(run, backend=counter), torch.ones(2)
    for text in "?!!":
        codecs.register_error("of the tests", answer(text))
        same(compiled(x), run(x))
    assert counter.runs >= 3
    assert asked == ["?"] * 4 + ["!"] * 8
