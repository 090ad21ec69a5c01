"""What iterators of itertools and collections hold, read and written by the layout that CPython gives their types."""

import collections
import copy
import itertools
import sys

from frames.core import C

MISSING = C.MISSING


def fails(kind, function, *args):
    try:
        function(*args)
    except kind:
        return
    raise AssertionError(f"{function} took {args}")


def test_pairwise():
    it = itertools.pairwise("abc")
    source, previous = C.iterator_fields(it)
    assert previous is MISSING and next(source) == "a"
    C.set_iterator_fields(it, (source, "x"))
    assert C.iterator_fields(it) == (source, "x") and list(it) == [("x", "b"), ("b", "c")]
    assert C.iterator_fields(it) == (MISSING, MISSING)


def test_cycle():
    it = itertools.cycle("ab")
    assert next(it) == "a"
    source, saved, index, first = C.iterator_fields(it)
    assert (saved, index, first) == (["a"], 0, 0)
    C.set_iterator_fields(it, (MISSING, ["x", "y", "z"], 2, 0))
    assert list(itertools.islice(it, 4)) == ["z", "x", "y", "z"] and next(source) == "b"


def test_accumulate():
    it = itertools.accumulate([1, 2], initial=5)
    total, source, function, initial = C.iterator_fields(it)
    assert (total, function, initial) == (MISSING, MISSING, 5)
    C.set_iterator_fields(it, (7, source, function, None))
    assert list(it) == [8, 10]


def test_zip_longest():
    it = itertools.zip_longest("abc", "x", fillvalue=0)
    next(it)
    next(it)
    _, active, sources, _, fill = C.iterator_fields(it)
    assert (active, sources[1], fill) == (1, MISSING, 0)
    C.set_iterator_fields(it, (None, 0, sources, None, fill))
    assert list(it) == []
    other = itertools.zip_longest("abc", "xyz")
    C.set_iterator_fields(other, (None, 1, (MISSING, C.iterator_fields(other)[2][1]), None, "-"))
    assert list(other) == [("-", "x"), ("-", "y"), ("-", "z")]


def test_groupby_and_its_groups():
    it = itertools.groupby("aab")
    assert C.iterator_fields(it)[2:] == (MISSING, MISSING, MISSING, 0)
    key, group = next(it)
    assert C.iterator_fields(it)[2:] == ("a", "a", "a", id(group)) and C.iterator_fields(group) == (it, "a")
    assert next(group) == "a"
    assert C.iterator_fields(it)[2:] == ("a", MISSING, MISSING, id(group))
    source, function = C.iterator_fields(it)[:2]
    C.set_iterator_fields(it, (source, function, "a", "c", "C", 0))
    assert list(group) == []
    key, group = next(it)
    assert (key, list(group)) == ("c", ["C"])


def test_what_can_only_be_read():
    queue = collections.deque([1, 2, 3])
    it = iter(queue)
    next(it)
    fields = C.iterator_fields(it)
    assert fields[2] is queue and fields[3] == C.iterator_fields(queue)[-1] and fields[4] == 2
    queue.append(4)
    assert fields[3] != C.iterator_fields(queue)[-1]
    back = reversed(queue)
    assert C.iterator_fields(back)[2:] == (queue, C.iterator_fields(queue)[-1], 4)
    table = collections.OrderedDict(a=1, b=2)
    kind, source, size, _, following, _ = C.iterator_fields(iter(table))
    assert (kind, source, size, following) == (2, table, 2, "a")
    kind, _, _, _, following, _ = C.iterator_fields(reversed(table.items()))
    assert (kind, following) == (7, "b")
    for one in (queue, it, back, iter(table), next(itertools.groupby("a"))[1]):
        fails(TypeError, C.set_iterator_fields, one, C.iterator_fields(one))


def test_no_reference_is_kept_or_lost():
    held, other = object(), object()
    it = itertools.pairwise([])
    before = sys.getrefcount(held), sys.getrefcount(other)
    for _ in range(100):
        C.set_iterator_fields(it, (MISSING, held))
        C.set_iterator_fields(it, (MISSING, other))
        C.iterator_fields(it)
    C.set_iterator_fields(it, (MISSING, MISSING))
    longest = itertools.zip_longest([held], [other])
    for _ in range(100):
        C.set_iterator_fields(longest, C.iterator_fields(longest))
    del longest
    assert (sys.getrefcount(held), sys.getrefcount(other)) == before


def test_what_does_not_fit():
    it = itertools.cycle("ab")
    fields = C.iterator_fields(it)
    for wrong in (fields[:2], (fields[0], (), 0, 0), (fields[0], [], -1, 0), (fields[0], [], "x", 0), (fields[0], [], 0, 2), (fields[0], [], 1 << 80, 0)):
        fails(ValueError, C.set_iterator_fields, it, wrong)
    longest = itertools.zip_longest("ab", "c")
    for sources in ((), [], (1,), None):
        fails(ValueError, C.set_iterator_fields, longest, (None, 1, sources, None, None))
    groups = itertools.groupby("a")
    fails(ValueError, C.set_iterator_fields, groups, (*C.iterator_fields(groups)[:5], 1234))
    fails(TypeError, C.set_iterator_fields, it, list(fields))
    fails(TypeError, C.iterator_fields, [])
    fails(TypeError, C.set_iterator_fields, itertools.count(), ())
    assert list(itertools.islice(it, 3)) == ["a", "b", "a"] and copy.copy(fields) == fields
