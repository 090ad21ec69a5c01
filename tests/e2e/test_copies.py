"""copy and deepcopy inside captured code."""

from __future__ import annotations

import collections
import copy
import copyreg
import dataclasses

import torch

from support import check


class Plain:
    def __init__(self, **names):
        self.__dict__.update(names)


class Slotted:
    __slots__ = ("a", "__b", "c")

    def __init__(self, a):
        self.a, self.__b = a, [a]

    def __eq__(self, other):
        return observed(self) == observed(other)


class Both(Slotted):
    def __init__(self, a):
        super().__init__(a)
        self.d = a


class WithState(Plain):
    def __getstate__(self):
        return {"state": [1], **self.__dict__}

    def __setstate__(self, state):
        self.__dict__.update(state, restored=True)


class WithArguments(int):
    def __new__(cls, a, *, b=0):
        made = int.__new__(cls, a)
        made.b = b
        return made

    def __getnewargs_ex__(self):
        return (int(self),), {"b": self.b}


class WithHooks(Plain):
    def __copy__(self):
        return Plain(how="copy")

    def __deepcopy__(self, memo):
        made = memo[id(self)] = Plain(how="deepcopy")
        return made


class Reduced(Plain):
    def __reduce__(self):
        return Plain, (), {"reduced": self.__dict__}


class Names(list):
    pass


class Numbers(dict):
    pass


@dataclasses.dataclass
class Config:
    width: int
    tags: list = dataclasses.field(default_factory=list)


class Complaining:
    def __reduce_ex__(self, protocol):
        raise ValueError(protocol)


def observed(value):
    if isinstance(value, Slotted):
        return type(value), value.a, value._Slotted__b, hasattr(value, "c"), getattr(value, "d", None)
    return type(value), getattr(value, "__dict__", None), value if isinstance(value, (list, dict, set, tuple, collections.deque)) else None


MAKERS = (
    lambda: Plain(a=1, b=[2]), lambda: Slotted(3), lambda: Both(4), lambda: WithState(a=[5]), lambda: WithHooks(a=1), lambda: Reduced(a=1),
    lambda: Names([1, [2]]), lambda: Numbers(a=[1]), lambda: Config(3, ["a"]), lambda: {1, 2}, lambda: frozenset({3}), lambda: (1, [2]),
    lambda: collections.deque([1, [2]], 5), lambda: collections.OrderedDict(a=[1]), lambda: collections.defaultdict(list, a=[1]),
    lambda: [1, {"k": (2, [3])}],
)  # fmt: skip


@check()
def test_copies_of_what_is_born_here(x):
    return x + 1, [observed(f(make())) for make in MAKERS for f in (copy.copy, copy.deepcopy)]


@check(lambda: (torch.arange(4.0), [value for make in MAKERS if type(value := make()) is not collections.deque]))
def test_copies_of_what_is_passed_in(x, values):
    found = [f(value) for value in values for f in (copy.copy, copy.deepcopy)]
    return x + 1, [observed(value) for value in found], [a is b for a, b in zip(found, [v for v in values for _ in "ab"])]


@check(lambda: (torch.arange(4.0), Config(1, [2]), Config(3, [4])), calls=4)
def test_a_config_is_copied_whichever_it_is(x, one, other):
    both = copy.deepcopy([one, other, one])
    both[0].width += 1
    return x * both[2].width, both


def shared():
    one = Config(1, [2])
    return torch.arange(4.0), one, one


@check(lambda: (torch.arange(4.0), Config(1, [2]), Config(1, [2])), shared, breaks=0)
def test_aliases_stay_aliases(x, one, other):
    a, b = copy.deepcopy((one, other))
    return x + 1, a is b, a.tags is b.tags, a is one


@check(lambda: (torch.arange(4.0), (1, [2]), (1, [2])))
def test_tuples(x, one, other):
    a, b, c = copy.deepcopy([one, other, one])
    return x + 1, a is b, a is c, a, one is other


@check()
def test_cycles(x):
    loop = [1]
    loop.append(loop)
    node = Plain()
    node.me = node
    a, b = copy.deepcopy(loop), copy.deepcopy(node)
    return x + 1, a[1] is a, b.me is b, b is node


@check()
def test_errors(x):
    found = []
    for value in (Complaining(), (i for i in "ab")):
        for function in (copy.copy, copy.deepcopy):
            try:
                function(value)
            except Exception as error:
                found.append((type(error), error.args))
    return x + 1, found


def reduce_config(config):
    return Config, (config.width * 2,)


@check()
def test_a_memo(x):
    value = Config(1, [2])
    memo = {}
    made = copy.deepcopy(value, memo)
    return x + 1, memo[id(value)] is made, len(memo), made, copy.deepcopy(value, memo) is made


@check(breaks=0)
def test_reductions(x):
    return x + 1, Plain(a=1).__reduce_ex__(2), Both(1).__reduce_ex__(4)[2], Plain(a=1).__reduce__()[1:], copyreg.__newobj__(list)


@check(breaks=0)
def test_a_class_of_the_region_is_in_no_table_that_exists(x):
    class Uncopied:
        def __getattribute__(self, name):
            if name.startswith("__reduce"):
                raise AttributeError(name)
            return object.__getattribute__(self, name)

    try:
        copy.copy(Uncopied())
    except copy.Error as error:
        return x + 1, str(error).split(">")[-1]
