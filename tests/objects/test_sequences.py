"""Lists, tuples, slices, ranges, strings and deques: eager against symbolic."""

from __future__ import annotations

from collections import deque, namedtuple

import pytest

from symbolic import check, outcome

Point = namedtuple("Point", "x y", defaults=(7,))


def list_basics(a):
    a.append(a[0])
    a.extend((1, 2))
    a.insert(1, "i")
    a += [3]
    a[2:3] = "xy"
    a[-1] = None
    b = a[::2]
    del a[0]
    return b, a.pop(), a.pop(0), len(a), a.index(1), a.count(2), a == b, [1] < [1, 2], a * 2, a + b


def list_errors(a):
    return (
        outcome(lambda: a[10]), outcome(lambda: a.pop(9)), outcome(lambda: [].pop()), outcome(lambda: a.remove("zz")),
        outcome(lambda: a.index("zz")), outcome(lambda: a["k"]), outcome(lambda: a.append()), outcome(lambda: a.append(1, 2)),
        outcome(lambda: a.__setitem__(9, 1)), outcome(lambda: [1] < ["a"]), outcome(lambda: [1] + (2,)), outcome(lambda: a.insert("x", 1)),
        outcome(lambda: a.sort(1)),
    )  # fmt: skip


def slices_assigned(a):
    a[1:1] = [8, 9]
    a[::2] = "pqr"[: len(a[::2])]
    del a[::3]
    return a, outcome(lambda: a.__setitem__(slice(0, 2, 2), [1, 2, 3])), outcome(lambda: a.__setitem__(slice(0, 1), 3))


def appended_without_reading(a):
    a.append(1)
    a.append(2)


def appended_then_read(a):
    a.append(1)
    return a[-1], a[0], len(a)


def aliases(a):
    b = [a, a, [a]]
    b[0].append(5)
    return b, a is b[1]


def sorting(a):
    b = sorted(a)
    a.sort(key=lambda v: -v)
    c = sorted([(2, "b"), (1, "z"), (2, "a")], key=lambda p: p[0], reverse=True)
    d = sorted([[2], [1, 5], [1]])
    return b, c, d, sorted("hello"), outcome(lambda: sorted([1, "a"])), a.sort()


def iteration_while_growing(a):
    seen = []
    for x in a:
        seen.append(x)
        if len(a) < 6:
            a.append(x + 10)
    it = iter(a)
    next(it)
    return seen, it, list(reversed(a))


def exhausted_iterator(a):
    it = iter(a)
    first = list(it)
    a.append(1)
    return first, list(it), it


def tuples(a, b):
    t = (a, b, 3)
    x, *rest = t
    return (
        t + (1,),
        t * 2,
        t[1:],
        t[::-1],
        t[-1],
        3 in t,
        t.index(3),
        t.count(b),
        hash((1, "a")) == hash((1, "a")),
        x,
        rest,
        t < (a, b, 4),
        t[:] is t,
    )


def tuple_input(t):
    a, (b, c), d = t
    return a, b, c, d, len(t), t[1][0], t == (1, (2, 3), "d"), t


def named(p):
    q = Point(1)
    r = q._replace(x=5)
    return q, r, q.x + q.y, r._asdict(), p.x, p[1], p == (3, 4), Point._fields, isinstance(p, tuple), Point._make([8, 9]), repr(q)


def texts(a):
    s = f"{a!r:>5}|{3:03d}|{a}"
    return (
        s, s.split("|"), "-".join(["a", "b"]), s[1:3], "b" in "abc", "%s=%r" % ("k", "v"), "{} {x}".format(1, x=2), "abc".upper(),
        "a,b".partition(","), list("xyz"), "x" * 3, "abc" < "abd", len("abc"), "abc".encode(), b"ab" + b"c", b"abc"[1], ord("a"), chr(98),
        "a-b".translate({45: "+"}), str(12), repr("q"), "%d %.2f" % (3, 2.5), str.join("", ("a", "b")), "Abc".swapcase().center(9, "*"),
    )  # fmt: skip


def text_errors(a):
    return (
        outcome(lambda: a + 1),
        outcome(lambda: a[7]),
        outcome(lambda: a.index("z")),
        outcome(lambda: "%d" % "x"),
        outcome(lambda: a.join([1])),
        outcome(lambda: int(a)),
    )


def ranges(n):
    r = range(2, 10, 3)
    return (
        list(r),
        len(r),
        r[1],
        r[-1],
        r[1:],
        5 in r,
        list(reversed(r)),
        [i for i in range(n)],
        r == range(2, 11, 3),
        sum(range(4)),
        r.start,
        r.index(5),
        repr(r),
    )


def deques(n):
    d = deque([1, 2, 3], maxlen=3)
    d.append(4)
    d.appendleft(0)
    d.rotate(1)
    e = deque("ab")
    e.extendleft([1, 2])
    return (
        d,
        d.maxlen,
        d.popleft(),
        e,
        e.pop(),
        list(reversed(e)),
        1 in e,
        e[0],
        outcome(lambda: deque().pop()),
        len(d),
        e + deque([5]),
        repr(d),
    )


class Bag(list):
    def __init__(self, items, name):
        super().__init__(items)
        self.name = name

    def append(self, item):
        super().append(item * 2)

    def __getitem__(self, key):
        return ("got", super().__getitem__(key))


def list_subclass(bag):
    other = Bag([1, 2], "other")
    other.append(4)
    bag.append(1)
    bag.name += "!"
    return other, other[0], len(other), list(other), bag[0], [x for x in bag], isinstance(other, list), other.name


PROGRAMS = [
    (list_basics, [5, 6]), (list_errors, [1, 2]), (slices_assigned, [1, 2, 3]), (appended_without_reading, [3]), (appended_then_read, [3]),
    (aliases, [1]), (sorting, [3, 1, 2]), (iteration_while_growing, [1, 2]), (exhausted_iterator, [1]), (tuples, 1, "b"),
    (tuple_input, (1, (2, 3), "d")), (named, Point(3, 4)), (texts, "t"), (text_errors, "abc"), (ranges, 4), (deques, 1),
    (list_subclass, Bag([7], "n")),
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0].__name__)
def test_sequences(program):
    check(*program)
