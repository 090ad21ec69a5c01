"""Objects die where CPython has it, whoever held them last: frames, containers, generators, tracebacks."""

from __future__ import annotations

import weakref

from support import check
from things import Thing


class Tagged(weakref.ref):
    __slots__ = ("tag",)

    def __new__(cls, of, callback=None, tag=""):
        made = super().__new__(cls, of, callback)
        made.tag = tag
        return made

    def __init__(self, of, callback=None, tag=""):
        super().__init__(of, callback)


STORE = []


def note(log, value):
    return lambda ref: log.append(value)


@check(breaks=1)
def test_attr_two(x):  # the order is that in which instances of the class got their attributes first
    y = x + 1
    log = []
    o = Thing(0)
    o.a = Thing(1)
    o.b = Thing(2)
    refs = [weakref.ref(t, note(log, t.value)) for t in (o.a, o.b)]
    del o
    log.append("end")
    return (y, log)


@check()
def test_init_arg(x):
    log = []
    keep = []

    class H:
        def __init__(self, t):
            u = Thing(9)
            keep.append(weakref.ref(u, note(log, "u")))
            keep.append(weakref.ref(t, note(log, "t")))
            t = None
            log.append("in")

    H(Thing(1))
    log.append("end")
    return (x + 1, log)


@check()
def test_call_arg(x):
    log = []
    keep = []

    def f(t):
        keep.append(weakref.ref(t, note(log, "t")))
        t = None
        log.append("in")

    f(Thing(1))
    log.append("end")
    f(*(Thing(1),))
    log.append("end")
    return (x + 1, log)


@check()
def test_kw_arg(x):
    log = []
    keep = []

    def f(t, *, k):
        keep.append(weakref.ref(k, note(log, "k")))
        k = None
        log.append("in")

    f(1, k=Thing(1))
    log.append("end")
    f(1, **{"k": Thing(1)})
    log.append("end2")
    return (x + 1, log)


@check()
def test_dunder_arg(x):
    log = []
    keep = []

    class A:
        def __add__(self, o):
            keep.append(weakref.ref(o, note(log, "o")))
            o = None
            log.append("in")
            return 5

        def __getitem__(self, o):
            keep.append(weakref.ref(o, note(log, "o")))
            o = None
            log.append("in")
            return 5

        def __setitem__(self, o, v):
            keep.append(weakref.ref(v, note(log, "v")))
            v = None
            log.append("in")

        def __eq__(self, o):
            keep.append(weakref.ref(o, note(log, "o")))
            o = None
            log.append("in")
            return True

        def __call__(self, o):
            keep.append(weakref.ref(o, note(log, "o")))
            o = None
            log.append("in")
            return True

    a = A()
    a + Thing(1)
    log.append("1")
    a[Thing(1)] = Thing(2)
    log.append("2")
    a == Thing(2)
    log.append("3")
    a(Thing(2))
    log.append("4")
    return (x + 1, log)


@check()
def test_gen_items(x):
    log = []
    keep = []

    def mk(i):
        t = Thing(i)
        keep.append(weakref.ref(t, note(log, i)))
        return t

    def g():
        for i in range(3):
            yield mk(i)
            log.append("resumed")

    for t in g():
        log.append("body")
    log.append("end")
    return (x + 1, log)


@check()
def test_comp(x):
    log = []
    keep = []

    def mk(i):
        t = Thing(i)
        keep.append(weakref.ref(t, note(log, i)))
        return t

    n = [mk(i).value for i in range(3)]
    log.append("a")
    n = {i: mk(i) for i in range(3)}
    log.append("b")
    n = 0
    return (x + 1, log)


@check()
def test_exc_stack(x):
    log = []
    keep = []

    def mk(i):
        t = Thing(i)
        keep.append(weakref.ref(t, note(log, i)))
        return t

    def f(*a):
        raise ValueError

    try:
        f(mk(1), mk(2))
    except ValueError:
        log.append("caught")
    log.append("end")
    try:
        [mk(3), f(mk(4))]
    except ValueError as e:
        log.append("caught")
    log.append("end")
    return (x + 1, log)


@check()
def test_exc_finally(x):
    log = []
    keep = []

    def mk(i):
        t = Thing(i)
        keep.append(weakref.ref(t, note(log, i)))
        return t

    def f():
        a = mk(1)
        try:
            raise KeyError
        finally:
            log.append("fin")

    try:
        f()
    except KeyError:
        log.append("caught")
    log.append("end")
    return (x + 1, log)


@check()
def test_multi_cb_order(x):
    log = []
    t = Thing(2)
    rs = [
        weakref.ref(t),
        weakref.ref(t, note(log, 1)),
        weakref.ref(t, note(log, 2)),
        Tagged(t, None, "z"),
        weakref.ref(t, note(log, 3)),
    ]
    c = weakref.getweakrefcount(t)
    order = [rs.index(r) if not isinstance(r, Tagged) else 9 for r in weakref.getweakrefs(t)]
    t = None
    return (x + 1, log, c, [r() for r in rs])


@check()
def test_cb_kills_other(x):
    log = []
    box = {}
    box["b"] = Thing(2)
    rb = weakref.ref(box["b"], note(log, "b"))
    a = Thing(1)
    ra = weakref.ref(a, lambda r: (log.append("a"), box.clear(), log.append("a2")))
    a = None
    return (x + 1, log)


@check()
def test_cb_resurrects_child(x):
    log = []
    saved = []
    a = Thing(1)
    a.c = Thing(2)
    wc = weakref.ref(a.c, note(log, "c"))
    ra = weakref.ref(a, lambda r: saved.append(wc()))
    a = None
    log.append(len(saved))
    saved.clear()
    log.append("end")
    return (x + 1, log)


@check()
def test_store_attr_replace(x):
    log = []
    o = Thing(1)
    o.t = Thing(2)
    r = weakref.ref(o.t, lambda r: log.append(o.t))
    o.t = 5
    log.append("end")
    return (x + 1, log)


@check()
def test_closure_cell(x):
    log = []

    def f():
        t = Thing(1)

        def g():
            return t

        r = weakref.ref(t, note(log, "t"))
        keep.append(r)
        return g

    keep = []
    g = f()
    log.append(g().value)
    del g
    log.append("end")
    return (x + 1, log)


@check()
def test_with_stmt(x):
    log = []

    class C:
        def __enter__(self):
            self.t = Thing(1)
            keep.append(weakref.ref(self.t, note(log, "t")))
            return self

        def __exit__(self, *a):
            log.append("exit")

    keep = []
    with C() as c:
        log.append("body")
    c = None
    log.append("end")
    with C():
        log.append("body")
    log.append("end")
    return (x + 1, log)


@check()
def test_global_holder(x):
    log = []
    STORE.clear()
    STORE.append(Thing(1))
    r = weakref.ref(STORE[0], note(log, "t"))
    log.append("a")
    STORE.pop()
    log.append("b")
    return (x + 1, log)


@check()
def test_return_value_alive(x):
    log = []
    keep = []

    def f():
        t = Thing(1)
        keep.append(weakref.ref(t, note(log, "t")))
        return t

    f()
    log.append("a")
    t = f()
    log.append("b")
    t = 1
    log.append("c")
    return (x + 1, log)


@check()
def test_prop(x):
    log = []
    keep = []

    class C:
        @property
        def p(self):
            t = Thing(1)
            keep.append(weakref.ref(t, note(log, "t")))
            return 5

    n = C().p
    log.append("a")
    return (x + n, log)


@check()
def test_partial_cb(x):
    import functools

    log = []
    t = Thing(1)
    r = weakref.ref(t, functools.partial(lambda a, r: log.append((a, r() is None)), 5))
    del t
    return (x + 1, log)


@check()
def test_method_cb(x):
    log = []

    class C:
        def m(self, r):
            log.append(r is self.r)

    c = C()
    t = Thing(1)
    c.r = weakref.ref(t, c.m)
    del t
    return (x + 1, log)


@check()
def test_zip_enum(x):
    log = []
    keep = []

    def mk(i):
        t = Thing(i)
        keep.append(weakref.ref(t, note(log, i)))
        return t

    for i, t in enumerate((mk(j) for j in range(3))):
        log.append(("body", i))
    log.append("e")
    for a, b in zip([mk(1), mk(2)], [3, 4]):
        log.append(b)
    log.append("e2")
    return (x + 1, log)


@check()
def test_unpacking(x):
    log = []
    keep = []

    def mk(i):
        t = Thing(i)
        keep.append(weakref.ref(t, note(log, i)))
        return t

    a, b = (mk(1), mk(2))
    a, b = (b, 5)
    log.append("s")
    a, *b = [mk(3), mk(4)]
    log.append("t")
    del a, b
    return (x + 1, log)


@check()
def test_kwargs_hold(x):
    log = []
    keep = []

    def f(**kw):
        keep.append(weakref.ref(kw["a"], note(log, "a")))
        kw.clear()
        log.append("f")

    f(a=Thing(1))
    log.append("e")
    return (x + 1, log)


@check()
def test_default_hold(x):
    log = []
    keep = []

    def f(a=Thing(1)):
        return a

    r = weakref.ref(f(), note(log, "a"))
    f = None
    log.append("e")
    return (x + 1, log)


@check()
def test_class_hold(x):
    log = []

    class C:
        t = Thing(1)

    r = weakref.ref(C.t, note(log, "a"))
    C.t = 1
    log.append("e")
    return (x + 1, log)


@check()
def test_undead_callback(x):
    log = []
    t = Thing(2)

    class Other:
        def __init__(self):
            self.r = weakref.ref(t, self.dead)

        def dead(self, r):
            log.append("dead")

    Other()
    log.append("x")
    t = None
    return (x + 1, log)


@check(graphs=None, breaks=1)
def test_dict_replace(x):
    log = []
    d = {1: Thing(2)}
    r = weakref.ref(d[1], lambda r: log.append(dict(d)))
    d[1] = 5
    log.append("end")
    d[2] = Thing(3)
    r = weakref.ref(d[2], lambda r: log.append(dict(d)))
    d.pop(2)
    d.update({3: Thing(3)})
    r = weakref.ref(d[3], lambda r: log.append(dict(d)))
    d.update({3: 4, 5: 6})
    return (x + 1, log)


@check(graphs=None, breaks=1)
def test_sorted_key(x):
    log = []
    keep = []

    def key(t):
        u = Thing(0)
        keep.append(weakref.ref(u, note(log, ("u", t))))
        return -t

    r = sorted([1, 2, 3], key=key)
    return (x + 1, log, r)


@check()
def test_exc_nested(x):
    log = []
    keep = []

    def mk(i):
        t = Thing(i)
        keep.append(weakref.ref(t, note(log, i)))
        return t

    def f():
        a = mk(1)
        try:
            g()
        except KeyError:
            log.append("f")
            raise ValueError

    def g():
        b = mk(2)
        raise KeyError

    try:
        f()
    except ValueError as e:
        log.append("caught")
        c = e.__context__
    log.append("x")
    del c
    log.append("end")
    return (x + 1, log)
