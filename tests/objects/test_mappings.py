"""Dicts, their views and relatives, and sets: eager against symbolic."""

from __future__ import annotations

import enum
from collections import ChainMap, Counter, OrderedDict, defaultdict
from types import MappingProxyType

import pytest

from symbolic import check, outcome


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Key:
    def __init__(self, value):
        self.value = value

    def __hash__(self):
        return hash(self.value)

    def __eq__(self, other):
        return isinstance(other, Key) and self.value == other.value


class Config(dict):
    def __missing__(self, key):
        return f"no {key}"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]


def basics(d):
    d["new"] = d["a"]
    d["a"] = 5
    e = {1: "x", True: "y", 1.0: "z", None: 0, (1, "t"): 2, Color.RED: 3, int: 4}
    e.update(q=1)
    e |= {"w": 2}
    del e[None]
    return (
        e, e[1], d.get("zz"), d.get("zz", 3), "a" in d, "b" in d, d.setdefault("s", []), e.pop("q"), e.pop("none", 9), len(e),
        list(e), list(e.items()), list(e.values()), e == dict(e), {**d, "z": 1}, dict([("k", 1)], j=2), dict.fromkeys("ab", 0), e.popitem(),
        [k for k in reversed(d)], repr(e),
    )  # fmt: skip


def partial_reads(d):
    return d["a"], "missing" in d, d.get("b")


def partial_writes(d):
    d["a"] = 1
    d["n1"] = 2
    del d["b"]
    d["b"] = 3
    d["n2"] = 4
    del d["n2"]


def writes_then_iteration(d):
    d["n1"] = 2
    del d["a"]
    d["a"] = "again"
    return list(d), list(d.items()), len(d)


def errors(d):
    return (
        outcome(lambda: d["zz"]), outcome(lambda: d.pop("zz")), outcome(lambda: {}.popitem()), outcome(lambda: {[]: 1}),
        outcome(lambda: dict([1])), outcome(lambda: dict([(1, 2, 3)])), outcome(lambda: d.__delitem__("zz")), outcome(lambda: {1} < 3),
        outcome(lambda: {1: 2} < {1: 3}), outcome(lambda: set([[]])), outcome(lambda: {1}.remove(5)), outcome(lambda: d.get()),
    )  # fmt: skip


def mutated_while_iterating(d):
    def grow():
        for k in d:
            d[k + "x"] = 1

    def replace():
        for k, v in d.items():
            d[k] = (v, k)
        return list(d.values())

    return replace(), outcome(grow)


def views(d):
    keys, values, items = d.keys(), d.values(), d.items()
    d["late"] = 1
    return (
        keys & {"a"}, keys | ["q"], sorted(keys - {"a"}), len(values), ("late", 1) in items, list(keys), "late" in keys, keys == {"a", "b", "late"},
        values, items, next(iter(items)), next(iter(keys)), list(reversed(values)), 1 in values, keys.isdisjoint(["z"]), repr(keys),
    )  # fmt: skip


def ordered(o):
    o["c"] = 3
    o.move_to_end("a")
    p = OrderedDict([("x", 1), ("y", 2)])
    p.move_to_end("y", last=False)
    return (
        list(o),
        o,
        p,
        p.popitem(last=False),
        p == {"x": 1},
        o == OrderedDict(o),
        list(p.items()),
        repr(p),
        o.pop("c"),
        list(reversed(o)),
    )


def defaults(d):
    d["k"].append(1)
    e = defaultdict(int, a=1)
    e["b"] += 5
    f = defaultdict(lambda: [0])
    f["z"][0] += 1
    return d, e, f["z"], d.default_factory, outcome(lambda: defaultdict(None)["q"]), e.copy(), "nope" in e, repr(e)


def counters(c):
    c["a"] += 1
    d = Counter("hello")
    d.update("lo")
    return c, d, d["l"], d["zz"], d.most_common(2), sum(d.values()), d + Counter(h=5), list(d.elements())


def chained(d):
    m = ChainMap({"x": 1}, d)
    m["y"] = 2
    return m["a"], m["x"], "b" in m, sorted(m), m.maps[0]


def user_keys(n):
    d = {Key(1): "a"}
    d[Key(1)] = "b"
    d[Key(2)] = "c"
    return len(d), d[Key(1)], Key(2) in d, Key(3) in d, d.get(Key(2)), len({Key(1), Key(1)})


def identity_keys(a):
    o, p = object(), object()
    d = {o: 1, p: 2}
    return d[o], d[p], len(d), o in d


def config(c):
    made = Config(a=1)
    made["b"] = 2
    c["n"] = c["zz"]
    return made, made["nope"], made.a, made.get("nope"), c.a, c["a"], list(c), isinstance(c, dict), made == {"a": 1, "b": 2}


def proxies(d):
    p = MappingProxyType(d)
    return p["a"], len(p), list(p), "a" in p, p.get("zz", 1), outcome(lambda: p.__setitem__("a", 1))[1]


def sets(s):
    t = {1, 2, 3}
    t.add(2)
    t |= {9}
    t.discard(100)
    s.add("z")
    f = frozenset([1, 2])
    return (
        t, s, 2 in t, t & {1, 9}, t - {1}, t ^ {1, 50}, t | f, len(t), t == {1, 2, 3, 9}, {1} <= t, t.issuperset(f), f, f | {3},
        frozenset("ab") == {"a", "b"}, t.union([7], [8]), t.isdisjoint([55]), sorted(t), {f: 1}[frozenset([2, 1])], set(), {x % 2 for x in range(5)},
        t.intersection([1]), {(1, 2): 3}, repr({5}), bool(set()), t.copy(), max(t),
    )  # fmt: skip


def set_updates(s):
    s.remove("a")
    s.update("xy")
    s.difference_update(["x"])
    return sorted(s), {1}.pop(), outcome(lambda: set().pop()), outcome(lambda: s.remove("zz"))


A_B = {"a": 1, "b": 2}
PROGRAMS = [
    (basics, A_B), (partial_reads, A_B), (partial_writes, A_B), (writes_then_iteration, A_B), (errors, A_B), (mutated_while_iterating, A_B),
    (views, A_B), (ordered, OrderedDict(a=1, b=2)), (defaults, defaultdict(list)), (counters, Counter("ab")), (chained, A_B), (user_keys, 1),
    (identity_keys, 1), (config, Config(a=3)), (proxies, A_B), (sets, {"q"}), (set_updates, {"a", "b"}),
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0].__name__)
def test_mappings(program):
    check(*program)
