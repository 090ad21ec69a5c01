"""Memoryviews made in captured code."""

import array
import struct

import torch

import framejit
from support import Counter, check, same


@check()
def test_views_of_bytes(x):
    view = memoryview(b"abcdef")
    part = view[1:5:2]
    found = [
        len(view), view[0], view[-1], part.tobytes(), part.tolist(), list(part), bytes(part), view == b"abcdef", view[:3] == view[0:3], b"ab" == view[:2],
        view != b"", 97 in view, b"a" in view, part.nbytes, view.format, view.itemsize, view.ndim, part.shape, part.strides, view.readonly,
        part.contiguous, view.c_contiguous, view.f_contiguous, view.suboffsets, view.hex(), view.hex("-", 2), bool(view), bool(memoryview(b"")),
        view.tobytes(order="C"), hash(view) == hash(b"abcdef"), {b"ab": 1}[view[:2]], view.obj, bytearray(part), max(view), sorted(view[:3]),
        tuple(reversed(view)), [*enumerate(part)],
        view is view[:], view.cast("H").tolist(), view.cast("B", shape=[2, 3]).tolist(), memoryview(view) == view, view.toreadonly().readonly,
    ]  # fmt: skip
    return x + view[1], found


@check()
def test_views_that_write(x):
    data, numbers = bytearray(b"abcdef"), array.array("h", [1, 2, 3])
    view, second = memoryview(data), memoryview(numbers)
    view[0] = 120
    view[2:4] = b"--"
    view[4:][0] = 1
    second[1] = -5
    second.cast("B")[0] = 9
    data[5] = 33
    readonly = view.toreadonly()
    return x + view[0], data, bytes(view), view[5], second.tolist(), numbers, bytes(readonly), view.obj is data, readonly == data, bytes(numbers)


@check()
def test_views_that_are_released(x):
    found = []
    with memoryview(bytearray(b"abc")) as view:
        found.append(view[0])
        part = view[1:]
    for attempt in (lambda: view[0], lambda: len(view), lambda: view.tobytes(), lambda: view.nbytes, lambda: view.obj):
        try:
            found.append(attempt())
        except ValueError as error:
            found.append(str(error))
    part.release()
    part.release()
    return x + 1, found, view == part, view == view


@check()
def test_errors(x):
    view, found = memoryview(b"abcd"), []
    for attempt in (
        lambda: view[9], lambda: view["a"], lambda: view.__setitem__(0, 1), lambda: view.__delitem__(0), lambda: view.cast("z"), lambda: memoryview(3),
        lambda: memoryview("a"), lambda: view < b"a", lambda: view + b"a", lambda: view.cast("B", shape=[3]), lambda: view.nothing,
        lambda: hash(memoryview(bytearray(b"a"))), lambda: setattr(view, "a", 1), lambda: memoryview(bytearray(2)).__setitem__(0, 256),
        lambda: memoryview(bytearray(2)).__setitem__(slice(0, 2), b"abc"), lambda: iter(view.cast("B", shape=[2, 2])), lambda: view(),
    ):  # fmt: skip
        try:
            found.append(attempt())
        except (TypeError, ValueError, IndexError, AttributeError, NotImplementedError) as error:
            found.append((type(error).__name__, str(error)))
    return x + 1, found


@check()
def test_views_that_are_iterated(x):
    data = bytearray(b"abc")
    it = iter(memoryview(data))
    seen = [next(it)]
    data[1] = 0
    return x + 1, seen, list(it), [a + b for a, b in zip(memoryview(b"ab"), memoryview(b"cd"))]


@check()
def test_what_bytes_makes_of_an_array(x):
    return x + 1, bytes(array.array("h", [1, 2])), bytes(bytearray(b"ab")), bytes([1, 2])


@check()
def test_what_reads_buffers(x):
    view, data, numbers = memoryview(b"ab"), bytearray(b"ab"), array.array("h", [25185])
    return x + 1, [
        (b"x" + each, b"x-".join([each, each]), b"cab".find(each), int.from_bytes(each, "big"), struct.unpack("<H", each), str(each, "ascii"),
         b"cab".replace(each, b"!"), each in b"cab", b"ab" == each, each == view, b"cab".startswith(bytes(each)), bytes(each), data + each)
        for each in (view, data, numbers, b"ab")
    ]  # fmt: skip


@check()
def test_what_refuses_buffers(x):
    found = []
    for each in (memoryview(b"ab"), bytearray(b"ab")):
        for attempt in (
            lambda each=each: "a" + each, lambda each=each: "a" in each, lambda each=each: each in "a", lambda each=each: "".join([each]),
            lambda each=each: str(each, 3), lambda each=each: struct.unpack("<q", each),
        ):  # fmt: skip
            try:
                found.append(attempt())
            except (TypeError, LookupError, struct.error) as error:
                found.append((type(error).__name__, str(error)))
    return x + 1, found


def _returned(x):
    data = bytearray(b"abcdef")
    view = memoryview(data)[1:].cast("B")
    gone = memoryview(b"ab")
    gone.release()
    framejit.graph_break()
    return x + view[0], view, data, gone


def test_views_leave_the_region():
    framejit.reset()
    x, view, data, gone = framejit.compile(_returned, backend="eager")(torch.ones(2))
    assert view.tolist() == list(b"bcdef") and view.obj is data and torch.equal(x, torch.full((2,), 99.0))
    view[0] = 0
    assert data[1] == 0
    for attempt in (lambda: data.append(1), lambda: gone[0]):
        try:
            attempt()
        except (BufferError, ValueError):
            continue
        raise AssertionError(attempt)


def _grows(x):
    data = bytearray(b"ab")
    view = memoryview(data)
    try:
        data.append(1)
    except BufferError as error:
        found = str(error)
    view.release()
    data.append(2)
    return x + 1, found, data


def test_what_a_view_hinders_is_left_to_cpython():
    framejit.reset()
    compiled = framejit.compile(_grows, backend="eager")
    for _ in range(3):
        same(compiled(torch.ones(2)), _grows(torch.ones(2)))


def _reads(x, view):
    return x + view[0], len(view), bytes(view)


def test_views_that_exist_are_left_to_cpython():
    framejit.reset()
    counter = Counter()
    compiled = framejit.compile(_reads, backend=counter)
    for text in (b"abc", b"de", b"f"):
        same(compiled(torch.ones(2), memoryview(text)), _reads(torch.ones(2), memoryview(text)))
    assert counter.graphs <= 3


def _hindered(action):
    try:
        return action()
    except (BufferError, ValueError) as error:
        return type(error).__name__, str(error)


def _iterators_hold(x):
    data = bytearray(b"abc")
    it = iter(memoryview(data))
    first = next(it)
    return x + first, _hindered(data.clear), list(it), _hindered(data.clear), data


def _loops_hold(x):
    data, numbers = bytearray(b"abc"), array.array("h", [1, 2, 3])

    def items():
        yield from memoryview(data)

    it, second = items(), iter(memoryview(numbers))
    first = next(it), next(second)
    framejit.graph_break()
    found = [_hindered(data.clear), _hindered(lambda: numbers.append(4))]
    data[2] = 0
    return x + 1, first, found, list(it), list(second), _hindered(lambda: numbers.append(4)), numbers


def _locals_hold(x):
    data = bytearray(b"abc")
    view = memoryview(data)
    return x + 1, _hindered(data.clear), data


def _exits_in_loops(x):
    data, seen = bytearray(b"abc"), []
    for item in memoryview(data):
        data[2] = 9
        framejit.graph_break()
        seen.append(item)
    pairs = zip(memoryview(b"abc"), "xyz")
    seen.append(next(pairs))
    framejit.graph_break()
    data.append(1)
    return x + 1, seen, data, list(pairs)


def _views_released_under_iterators(x):
    view = memoryview(b"abc")
    it, over = iter(view), iter(memoryview(b"a"))
    seen = [next(it), *over]
    view.release()
    framejit.graph_break()
    return x + 1, seen, _hindered(lambda: next(it)), list(over)


def test_iterators_of_views_at_exits():
    for function in (_iterators_hold, _loops_hold, _locals_hold, _exits_in_loops, _views_released_under_iterators):
        framejit.reset()
        with framejit.config.patch(strict=True):
            compiled = framejit.compile(function, backend=Counter())
            for _ in range(2):
                same(compiled(torch.ones(2)), function(torch.ones(2)))
