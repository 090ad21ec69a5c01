"""Objects that weak references' callbacks wait for: they die, and the callbacks run, where CPython has it."""

from __future__ import annotations

import copy
import weakref

from support import check
from things import Num, Thing


class Tagged(weakref.ref):
    __slots__ = ("tag",)

    def __new__(cls, of, callback=None, tag=""):
        made = super().__new__(cls, of, callback)
        made.tag = tag
        return made

    def __init__(self, of, callback=None, tag=""):
        super().__init__(of, callback)


class DictRef(weakref.ref):
    pass


class CallRef(weakref.ref):
    def __call__(self):
        o = super().__call__()
        return ("wrapped", o is not None)


def note(log, value):
    return lambda ref: log.append(value)


@check()
def test_cb_rebind(x):
    log = []
    one = Thing(1)
    ref = weakref.ref(one, log.append)
    one = Thing(2)
    log.append(0)
    return (x + 1, log[0] is ref, len(log))


@check()
def test_cb_order(x):
    log = []
    one = Thing(1)
    r1 = weakref.ref(one, lambda r: log.append(1))
    r2 = weakref.ref(one, lambda r: log.append(2))
    r3 = weakref.ref(one, lambda r: log.append(3))
    del r2
    del one
    return (x + 1, log)


@check()
def test_cb_cascade(x):
    log = []
    a = Thing(1)
    a.b = Thing(2)
    a.b.c = Thing(3)
    refs = [weakref.ref(o, lambda r, v=o.value: log.append(v)) for o in (a, a.b, a.b.c)]
    log.append("x")
    a = None
    log.append("y")
    return (x + 1, log, [r() for r in refs])


@check()
def test_cb_raises(x):
    log = []
    one = Thing(1)

    def cb(r):
        log.append(1)

    ref = weakref.ref(one, cb)
    cbk = ref.__callback__ is cb
    del one
    return (x + 1, log, cbk, ref.__callback__)


@check()
def test_cb_resurrect_other(x):
    log = []
    one = Thing(1)
    two = Thing(2)

    def cb(r):
        nonlocal two
        log.append("one")
        two = None
        log.append("end")

    r1 = weakref.ref(one, cb)
    r2 = weakref.ref(two, lambda r: log.append("two"))
    one = None
    return (x + 1, log, r1() is None, r2() is None)


@check()
def test_cb_tensor_in_cb(x):
    out = []
    one = Thing(1)
    r = weakref.ref(one, lambda r: out.append(x * 3))
    del one
    return out[0] + x


@check()
def test_cb_loop(x):
    log = []
    for i in range(4):
        one = Thing(i)
        r = weakref.ref(one, lambda r, i=i: log.append(i))
    log.append("end")
    one = None
    return (x + 1, log)


@check()
def test_cb_exception(x):
    log = []

    def f():
        one = Thing(1)
        r = weakref.ref(one, lambda r: log.append("dead"))
        log.append(r() is one)
        raise ValueError

    try:
        f()
    except ValueError:
        log.append("caught")
    log.append("after")
    return (x + 1, log)


@check()
def test_cb_exception_holds(x):
    log = []
    ref = None

    def f():
        nonlocal ref
        one = Thing(1)
        ref = weakref.ref(one, lambda r: log.append("dead"))
        raise ValueError

    try:
        f()
    except ValueError as e:
        log.append("caught")
    log.append("after")
    return (x + 1, log)


@check()
def test_escaped_cb(x):
    log = []
    t = Thing(1)
    r = weakref.ref(t, lambda r: log.append("dead"))
    return (x + 1, r() is t, log)


@check()
def test_wvd(x):
    d = weakref.WeakValueDictionary()
    a, b = (Thing(1), Thing(2))
    d["a"], d["b"] = (a, b)
    r = [
        len(d),
        d["a"] is a,
        "b" in d,
        d.get("z"),
        sorted(d),
        [v.value for v in d.values()],
        [(k, v.value) for k, v in d.items()],
    ]
    del b
    r += [len(d), "b" in d, d.get("b"), list(d)]
    return (x + 1, r)


@check()
def test_wvd_more(x):
    a, b, c = (Thing(1), Thing(2), Thing(3))
    d = weakref.WeakValueDictionary({"a": a, "b": b}, c=c)
    r = [
        d.pop("a") is a,
        d.setdefault("q", a) is a,
        d.popitem()[0],
        len(d.valuerefs()),
        sorted(d.copy()),
        d.pop("none", 5),
    ]
    d.update(z=b)
    r.append(sorted(d.keys()))
    del d["z"]
    try:
        d["z"]
    except KeyError as e:
        r.append(e.args)
    r.append(sorted((d | {"m": a}).keys()))
    d.clear()
    return (x + 1, r, len(d))


@check()
def test_wkd(x):
    d = weakref.WeakKeyDictionary()
    a, b = (Thing(1), Thing(2))
    d[a], d[b] = ("a", "b")
    r = [
        len(d),
        d[a],
        b in d,
        d.get(Thing(9)),
        [k.value for k in d],
        list(d.values()),
        [(k.value, v) for k, v in d.items()],
        len(d.keyrefs()),
    ]
    del b
    r += [len(d), [k.value for k in d], d.pop(a), len(d)]
    return (x + 1, r)


@check()
def test_cache_pattern(x):
    d = weakref.WeakValueDictionary()

    def get(k):
        o = d.get(k)
        if o is None:
            o = d[k] = Thing(k)
        return o

    a = get(1)
    b = get(1)
    c = get(2)
    del c
    return (x + 1, a is b, len(d), get(2).value)


@check()
def test_observer(x):

    class Subject:
        def __init__(self):
            self.obs = []

        def attach(self, m):
            self.obs.append(weakref.WeakMethod(m, self.detach))

        def detach(self, r):
            self.obs.remove(r)

        def fire(self, v):
            return [m()(v) for m in self.obs if m() is not None]

    class Ob:
        def __init__(self, k):
            self.k = k

        def on(self, v):
            return v * self.k

    s = Subject()
    a, b = (Ob(2), Ob(3))
    s.attach(a.on)
    s.attach(b.on)
    r = [s.fire(x)]
    del b
    r.append(s.fire(x))
    return (r, len(s.obs))


@check()
def test_wmethod_cb(x):
    log = []
    t = Thing(4)
    m = weakref.WeakMethod(t.method, lambda r: log.append("dead"))
    del t
    return (x + 1, log, m() is None)


@check()
def test_eq_hash(x):
    a, b = (Num(1), Num(1))
    r, q = (weakref.ref(a), weakref.ref(b))
    out = [r == q, r != q, hash(r) == hash(a), len({r, q}), r == a, r is q]
    del a
    out += [hash(r) == hash(1), r == q, r == r, r != r, r in {r: 1}]
    return (x + 1, out)


@check()
def test_hash_dead(x):
    r = weakref.ref(Num(1))
    try:
        hash(r)
    except TypeError as e:
        return (x + 1, e.args)


@check()
def test_subclass(x):
    t = Thing(1)
    a, b = (Tagged(t, None, "a"), Tagged(t, None, "b"))
    d = DictRef(t)
    d.extra = 5
    c = CallRef(t)
    out = [
        a is b,
        a == b,
        a.tag,
        b.tag,
        d.extra,
        d() is t,
        c(),
        isinstance(a, weakref.ref),
        DictRef(t) is d,
        weakref.getweakrefcount(t),
    ]
    del t
    out += [c(), a() is None]
    return (x + 1, out)


@check()
def test_subclass_cb(x):
    log = []
    t = Thing(1)
    a = Tagged(t, lambda r: log.append(r.tag), "a")
    del t
    return (x + 1, log)


@check()
def test_func_ref(x):

    def f():
        return 3

    r = weakref.ref(f)
    out = [r()(), r() is f]
    del f
    return (x + 1, out, r() is None)


@check()
def test_set_ref(x):
    s = {1, 2}
    r = weakref.ref(s)
    out = [r() is s, len(r())]
    del s
    return (x + 1, out, r() is None)


@check()
def test_gen_ref(x):

    def g():
        yield 1

    h = g()
    r = weakref.ref(h)
    out = [next(h), r() is h]
    del h
    return (x + 1, out, r() is None)


@check()
def test_copy_wvd(x):
    t = Thing(1)
    d = weakref.WeakValueDictionary(a=t)
    c, e = (copy.copy(d), copy.deepcopy(d))
    return (x + 1, c["a"] is t, e["a"] is t, type(e).__name__)


@check()
def test_order_locals(x):
    log = []

    def f():
        a = Thing(1)
        ra = weakref.ref(a, note(log, "a"))
        b = Thing(2)
        rb = weakref.ref(b, note(log, "b"))
        keep.append((ra, rb))

    keep = []
    f()
    return (x + 1, log)


@check()
def test_order_ref_first(x):
    log = []

    def f():
        r = None
        a = Thing(1)
        r = weakref.ref(a, note(log, "a"))

    f()

    def g():
        a = None
        r = None
        a = Thing(1)
        r = weakref.ref(a, note(log, "g"))

    g()
    return (x + 1, log)


@check()
def test_later_alive(x):
    log = []

    def f():
        a = Thing(1)
        b = Thing(2)
        wb = weakref.ref(b)
        keep.append(weakref.ref(a, lambda r: log.append(wb() is not None)))
        keep.append(weakref.ref(b, lambda r: log.append("b")))

    keep = []
    f()
    return (x + 1, log)


@check()
def test_list_del(x):
    log = []
    l = [Thing(i) for i in range(3)]
    refs = [weakref.ref(t, note(log, t.value)) for t in l]
    del l
    log.append("end")
    return (x + 1, log)


@check()
def test_dict_del(x):
    log = []
    d = {i: Thing(i) for i in range(3)}
    refs = [weakref.ref(t, note(log, t.value)) for t in d.values()]
    d = None
    log.append("end")
    return (x + 1, log)
