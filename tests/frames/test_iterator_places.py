"""Places of real iterators, set by the layout that CPython gives their types."""

import itertools
import sys

from frames.core import C


class Doubles:
    def __getitem__(self, index):
        if index > 3:
            raise IndexError
        return index * 2


SAMPLES = ([1, 2, 3, 4], (1, 2, 3, 4), "abcd", "āēīō", b"abcd", Doubles())


def fails(kind, function, *args):
    try:
        function(*args)
    except kind:
        return
    raise AssertionError(f"{function} took {args}")


def test_forward():
    for sample in SAMPLES:
        it = iter(sample)
        next(it)
        C.set_place(it, 2, False)
        assert list(it) == list(sample)[2:]


def test_backward():
    for sample in ([1, 2, 3, 4], (1, 2, 3, 4), "abcd"):
        it = reversed(sample)
        next(it)
        C.set_place(it, 1, False)
        assert list(it) == list(sample)[1::-1]


def test_ended():
    for sample in SAMPLES:
        it = iter(sample)
        before = sys.getrefcount(sample)
        C.set_place(it, 0, True)
        assert sys.getrefcount(sample) in (before - 1, before) and list(it) == []


def test_a_list_that_is_shorter_than_the_place():
    sample = [1, 2, 3, 4]
    it = iter(sample)
    del sample[1:]
    C.set_place(it, 3, False)
    sample.extend("abcd")
    assert list(it) == ["c", "d"]


def test_enumerate():
    it = enumerate("abc", 5)
    next(it)
    C.set_place(it, 9, False)
    assert list(it) == [(9, "b"), (10, "c")]
    fails(ValueError, C.set_place, it, 9, True)


def test_islice():
    source = iter("cdefgh")
    it = itertools.islice(source, 1, 7, 2)
    assert next(it) == "d"
    next(source)
    C.set_slice(it, 5, 3, False)
    assert list(it) == ["h"]
    it = itertools.islice("abc", 2)
    C.set_slice(it, 2, 2, True)
    assert list(it) == []


def test_until():
    it = iter([1, 2, 3].pop, 2)
    C.end_until(it)
    assert list(it) == []


def test_other_objects():
    for function, args in ((C.set_place, (0, False)), (C.set_slice, (0, 0, False)), (C.end_until, ())):
        for wrong in (1, [], iter({}), zip()):
            fails(TypeError, function, wrong, *args)
    fails(TypeError, C.set_place, iter([]), "x", False)
