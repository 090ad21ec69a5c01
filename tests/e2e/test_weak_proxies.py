"""Weak proxies do what the object that they stand for does, until that is dead."""

from __future__ import annotations

import operator
import weakref

from support import check
from things import Num, Thing


@check()
def test_counts(x):
    t = Thing(1)
    r = [weakref.getweakrefcount(t), weakref.getweakrefs(t)]
    a = weakref.ref(t)
    b = weakref.ref(t)
    c = weakref.ref(t, print)
    d = weakref.proxy(t)
    r += [a is b, weakref.getweakrefcount(t), len(weakref.getweakrefs(t)), weakref.getweakrefs(t)[0] is a]
    del c
    r.append(weakref.getweakrefcount(t))
    return (x + 1, r, weakref.getweakrefcount(5), weakref.getweakrefs("a"))


@check()
def test_proxy_attr(x):
    t = Thing(5)
    pr = weakref.proxy(t)
    pr.value = 6
    pr.new = 3
    r = (
        t.value,
        pr.new,
        pr.method(),
        hasattr(pr, "nope"),
        isinstance(pr, Thing),
        type(pr) is weakref.ProxyType,
        pr.__class__ is Thing,
    )
    del pr.new
    return (x + 1, r, hasattr(t, "new"))


@check()
def test_proxy_ops(x):
    n = Num(5)
    pr = weakref.proxy(n)
    r = [
        pr + 1,
        1 + pr,
        pr + pr,
        bool(pr),
        list(pr),
        len(pr),
        pr[4],
        3 in pr,
        pr(1, a=2),
        pr == n,
        n == pr,
        -pr,
        operator.index(pr),
        str(pr),
        pr < Num(9),
    ]
    pr[1] = 7
    r.append(n.value)
    return (x + 1, r, type(pr) is weakref.CallableProxyType)


@check()
def test_proxy_iadd(x):
    n = Num(5)
    pr = weakref.proxy(n)
    pr += 3
    return (x + 1, n.value, type(pr).__name__)


@check()
def test_proxy_dead(x):
    n = Num(5)
    pr = weakref.proxy(n)
    del n
    out = []
    for f in (
        lambda: pr.value,
        lambda: pr + 1,
        lambda: bool(pr),
        lambda: list(pr),
        lambda: pr(),
        lambda: len(pr),
        lambda: str(pr),
        lambda: pr[1],
        lambda: setattr(pr, "a", 1),
    ):
        try:
            f()
        except ReferenceError as e:
            out.append(e.args)
    return (x + 1, out)


@check()
def test_proxy_same(x):
    t = Thing(5)
    return (x + 1, weakref.proxy(t) is weakref.proxy(t), weakref.getweakrefcount(t))


@check()
def test_proxy_hash(x):
    t = Thing(5)
    try:
        hash(weakref.proxy(t))
    except TypeError as e:
        return (x + 1, e.args)


@check()
def test_proxy_cb(x):
    log = []
    t = Thing(5)
    pr = weakref.proxy(t, lambda p: log.append("dead"))
    del t
    return (x + 1, log)


@check()
def test_bad(x):
    out = []
    for f in (
        lambda: weakref.ref(1),
        lambda: weakref.proxy(1),
        lambda: weakref.ref(),
        lambda: weakref.ref(Thing(1), None, 3),
        lambda: weakref.ref(Thing(), callback=None),
        lambda: weakref.ref(Thing())(1),
        lambda: weakref.WeakMethod(3),
        lambda: weakref.WeakMethod(len),
    ):
        try:
            out.append(f())
        except TypeError as e:
            out.append(e.args)
    return (x + 1, out)
