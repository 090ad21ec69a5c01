"""CPython's object protocol where it is least expected: mixed slots, pretended classes, comparisons that change what they compare."""

from collections import deque

import torch

import framejit
from support import check


def said(action, *args, **kwargs):
    try:
        return action(*args, **kwargs)
    except Exception as error:
        return type(error).__name__, str(error)


class Clears:
    def __init__(self, target):
        self.target = target

    def __eq__(self, other):
        self.target.clear()
        return NotImplemented


class Meddles:
    def __init__(self, target):
        self.target = target

    def __eq__(self, other):
        self.target.append(0)
        return False


@check()
def test_comparisons_that_change_their_operands(x):
    seen = []
    target = []
    target.append(Clears(target))
    other = [Clears(target)]
    seen.append(target == other)
    for action in (list.index, list.count, list.remove, list.__contains__):
        items = [1, 2]
        items[0] = Clears(items)
        seen.append(said(action, items, 5))
    for action in (deque.index, deque.count, deque.remove, deque.__contains__):
        queue = deque([1, 2])
        queue[0] = Meddles(queue)
        seen.append(said(action, queue, 5))
    return x + 1, seen


class Odd(dict):
    __setattr__ = dict.__setitem__
    __getattr__ = dict.__getitem__


class Wrong(list):
    __len__ = dict.__len__


class Asks:
    def __init__(self):
        self.count = 0

    def __call__(self, name):
        self.count += 1
        return name * 2


class Answers:
    __getattr__ = Asks()


@check()
def test_special_methods_that_are_other_descriptors(x):
    odd = Odd()
    odd.y = 42
    return x + odd["y"], odd.y, said(len, Wrong()), Answers().ab, Answers.__getattr__.count > 0


@check()
def test_receivers_of_c_methods(x):
    seen = [said(set.add), said(set.add, 0), said(list.__len__), said(list.__len__, ()), said(dict.get, [], 1)]
    seen += [said(set.add.__get__, 0), said(list.__len__.__get__, 0)]
    seen += [said(object.__new__, Clears, 5), said(object.__init__, object(), 5), said(type(iter([]).__next__), 1)]
    return x + 1, [item if isinstance(item, tuple) else 0 for item in seen]


@check()
def test_bound_methods_of_c(x):
    items, other = [], []
    seen = [items.append == items.append, items.append == other.append, items.append != items.append, items.append == items.extend]
    seen += [items.__add__ == items.__add__, items.__add__ == other.__add__, items.__len__ == items.append]
    seen += [len({items.append, items.append, other.append, items.__len__}), type(items.__len__).__name__, type(items.append).__name__]
    return x + 1, seen, items.append.__self__ is items, items.__len__.__name__, items.__add__.__objclass__


class Real:
    def shout(self):
        return "real"


class Proxy:
    def __init__(self, target):
        self._target = target

    @property
    def __class__(self):
        return Real


class Delegates:
    def __getattribute__(self, name):
        if name == "__class__":
            return str
        return object.__getattribute__(self, name)


@check()
def test_instances_by_their_pretended_class(x):
    return x + 1, isinstance(Proxy(1), Real), isinstance(Proxy(1), Proxy), isinstance(Delegates(), str), isinstance(Delegates(), (int, list))


class Deprecated(type):
    asked = []

    def __getattribute__(cls, name):
        if name == "old":
            type.__getattribute__(cls, "asked").append(name)
        return super().__getattribute__(name)


class Old(metaclass=Deprecated):
    old = 3


@check()
def test_attribute_hooks_of_metaclasses(x):
    Deprecated.asked.clear()
    return x + Old.old, list(Deprecated.asked)


class Base:
    def bare(self):
        del self
        return super()

    def kept(self):
        def inner():
            return self

        del self
        return super(), inner


@check()
def test_super_without_its_argument(x):
    return x + 1, said(Base().bare), said(Base().kept)


@check()
def test_unpacking(x):
    import itertools

    first, second = said(lambda: 0), 1
    del first, second

    def two(items):
        a, b = items
        return a, b

    def starred(items):
        a, *b, c = items
        return a, b, c

    seen = [said(two, 3), said(two, object), said(two, itertools.count()), said(two, [1]), said(two, (1, 2, 3)), said(starred, 5)]
    return x + 1, [item[1] for item in seen], starred(range(5))


class Point:
    __match_args__ = ("a", "b")

    def __init__(self):
        self.a, self.b = 1, 2


class Listed:
    __match_args__ = ["a"]
    a = 1


class Same:
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


class Names:
    one, other = "k", "k"


@check()
def test_patterns_refuse_as_in_c(x):
    def twice(subject):
        match subject:
            case Point(1, a=1):
                return 1

    def many(subject):
        match subject:
            case Point(1, 2, 3):
                return 1

    def listed(subject):
        match subject:
            case Listed(1):
                return 1

    def bare(subject):
        match subject:
            case Same(1):
                return 1

    def called(subject):
        match subject:
            case said():
                return 1

    def keys(subject):
        match subject:
            case {Names.one: _, Names.other: _}:
                return 1

    seen = [said(twice, Point()), said(many, Point()), said(listed, Listed()), said(bare, Same()), said(called, 1), said(keys, {"k": 1})]
    return x + 1, seen


@check()
def test_an_iterator_ended_by_its_own_function(x):
    def step():
        if len(seen) == 1:
            seen.append(0)
            list(numbers)
        seen.append(1)
        return len(seen)

    seen = []
    numbers = iter(step, 6)
    return x + 1, next(numbers), next(numbers, "end"), next(numbers, "end"), len(seen)


def test_equal_constants_stay_different_objects():
    def program(x):
        word = "xyzpdq"
        other = word[:3] + "pdq"
        big = 10**10
        framejit.graph_break()
        return x + 1, word, other, big, 10 ** len("0123456789")

    _, word, other, big, same = framejit.compile(program, backend="eager")(torch.ones(2))
    assert word == other and word is not other and big == same and big is not same


def test_hashes_by_identity_are_those_of_the_real_objects():
    class Plain:
        pass

    def program(x):
        items = frozenset([Plain(), Plain()])
        nan = float("nan")
        return x + 1, items, hash(items), nan, hash(nan)

    _, items, number, nan, other = framejit.compile(program, backend="eager")(torch.ones(2))
    assert hash(items) == number and hash(nan) == other


def test_methods_that_need_their_class_are_bound():
    import re

    def program(x, pattern):
        found = pattern.search
        framejit.graph_break()
        return x + 1, found("ab").span()

    pattern = re.compile("b")
    assert framejit.compile(program, backend="eager")(torch.ones(2), pattern)[1] == (1, 2)


def test_nothing_is_captured_while_a_builtin_is_replaced(monkeypatch):
    import builtins

    calls = []

    def counted(items, real=len):
        calls.append(1)
        return real(items)

    def program(x, items):
        return x + len(items)

    compiled = framejit.compile(program, backend="eager")
    with monkeypatch.context() as patch:
        patch.setattr(builtins, "len", counted)
        result = compiled(torch.ones(2), [1, 2])
        seen = len(calls)
    assert torch.equal(result, torch.ones(2) + 2) and seen
    assert torch.equal(compiled(torch.ones(2), [1]), torch.ones(2) + 1) and len(calls) == seen


class Slotted:
    __slots__ = ("a", "b")


def test_slots_that_are_filled_and_emptied():
    def program(x, held):
        held.a = 1
        held.b = 2
        del held.a
        return x + held.b

    compiled = framejit.compile(program, backend="eager")
    for held in (Slotted(), Slotted()):
        assert torch.equal(compiled(torch.ones(2), held), torch.ones(2) + 2)
        assert held.b == 2 and not hasattr(held, "a")


@check(breaks=1)
def test_class_methods_of_c_on_classes_defined_here(x):
    class Shifted(float):
        def __new__(cls, value):
            return float.__new__(cls, value + 1)

    found = Shifted.fromhex((1.5).hex())
    return x + float(found), type(found) is Shifted


@check()
def test_errors_of_format_fields(x):
    class Plain:
        def __format__(self, spec):
            return spec

    seen = []
    for text in ("{0:>3}", "{0.%s}" % "a", "{0[}", "{!}", "{0!rs}", "{%s}" % ("9" * 30), "{0[%s]}" % ("9" * 30)):
        seen.append(said(text.format, Plain()))
    return x + 1, seen


class Watched:
    seen = []

    def __getattribute__(self, name):
        Watched.seen.append(name)
        return object.__getattribute__(self, name)


def test_a_break_asks_objects_for_nothing():
    def program(x):
        Watched.seen.clear()
        held = Watched()
        for _ in range(3):
            framejit.graph_break()
            x = x + 1
            held.value = 1
            held.value, held
        return x, list(Watched.seen)

    expected = program(torch.ones(2))[1]
    with framejit.config.patch(strict=True):
        compiled = framejit.compile(program, backend="eager")
        for _ in range(3):
            assert compiled(torch.ones(2))[1] == expected


class Tracked(frozenset):
    pass


class Computed:
    @property
    def __len__(self):
        return lambda: 3

    @property
    def __getattr__(self):
        return lambda name: name * 2


@check()
def test_corners_of_the_protocol(x):
    import operator

    seen = [said(operator.concat, 13, [1]), said(operator.concat, [1], 2), said(operator.concat, {}, [1]), operator.concat([1], [2])]
    seen += [said(super, 1, 2), said(object.__new__)]
    kinds = [Tracked(), Tracked(), Tracked([])]
    return x + 1, seen, kinds[0] is kinds[1], kinds[0] is kinds[0], frozenset() is frozenset(), len(Computed()), Computed().ab


def test_a_finished_iterator_of_a_set_survives():
    def program(x):
        numbers = iter({1})
        found = [next(numbers), next(numbers, None)]
        return x + 1, found, numbers

    assert list(framejit.compile(program, backend="eager")(torch.ones(2))[2]) == []
