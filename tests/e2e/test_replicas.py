"""Bytearrays, buffers, arrays and Structs made in captured code: what they hold is known, so nothing breaks."""

import array
import contextlib
import copy
import io
import struct
import sys

import pytest
import torch

import framejit
from support import Counter, check, same

HEADER = struct.Struct("<hi")


@check()
def test_bytearray(x):
    data = bytearray(b"abc")
    data.append(100)
    data += b"xy"
    data[0:2] = b"--"
    del data[-1]
    other = data
    other.extend([1, 2])
    found = [len(data), data[3], data[1:3], b"d" in data, 100 in data, data.find(b"d"), bytes(data), list(data), data == b"z", data * 2, b"q" + data]
    return x + data[2], data, other is data, found, repr(data), bool(bytearray()), data.hex(), max(data), data.decode("latin1")


@check()
def test_bytearray_iterated_while_it_changes(x):
    data, seen = bytearray(b"ab"), []
    for byte in data:
        seen.append(byte)
        if len(data) < 5:
            data.append(byte + 1)
    it = iter(data)
    next(it)
    return x + 1, seen, it, sorted(data), dict(enumerate(data))


@check()
def test_errors(x):
    found = []
    data = bytearray(3)
    for attempt in (
        lambda: data[9], lambda: data.append(256), lambda: bytearray("text"), lambda: data.remove(9), lambda: data.pop(1, 2), lambda: hash(data),
        lambda: data + "a", lambda: data < 3, lambda: data.extend("a"), lambda: bytearray(-1), lambda: data.nothing, lambda: setattr(data, "a", 1),
        lambda: io.StringIO(3), lambda: io.StringIO().write(b"a"), lambda: io.BytesIO().write("a"), lambda: array.array("q", "ab"),
        lambda: array.array("b", [300]), lambda: struct.Struct("z"), lambda: HEADER.pack(1), lambda: bytearray.fromhex("zz"),
    ):  # fmt: skip
        try:
            found.append(attempt())
        except (TypeError, ValueError, IndexError, AttributeError, OverflowError, struct.error) as error:
            found.append((type(error).__name__, str(error)))
    return x + 1, found, data


@check()
def test_buffers(x):
    text, data = io.StringIO("first\nsecond"), io.BytesIO(b"12")
    found = [text.readline(), text.read(3), text.tell(), text.seek(0, 2), text.write("!"), text.getvalue(), data.read(), data.write(b"3")]
    text.seek(0)
    lines = [line for line in text]
    with io.StringIO() as closed:
        closed.write("a")
    try:
        closed.read()
    except ValueError as error:
        found.append(str(error))
    return x + 1, found, lines, text.getvalue(), text.tell(), data.getvalue(), closed.closed, text.closed, text.readable(), list(io.StringIO("a\nb"))


def _returned(x):
    text, data, numbers = io.StringIO(), io.BytesIO(), array.array("d", [0.5])
    text.write("left off")
    text.seek(3)
    data.write(b"bytes")
    numbers.append(x.dim())
    return x + 1, text, data, numbers, [text]


def test_buffers_that_are_returned():
    framejit.reset()
    seen = []
    with framejit.config.patch(strict=True):
        compiled = framejit.compile(_returned, backend="eager")
        unsubscribe = framejit.events.subscribe(seen.append, framejit.events.Break)
        for _ in range(3):
            _, text, data, numbers, (again,) = compiled(torch.ones(2))
            assert (text.read(), text.getvalue(), data.tell(), data.getvalue()) == ("t off", "left off", 5, b"bytes")
            assert numbers == array.array("d", [0.5, 1]) and again is text
            text.write("changed"), numbers.append(9)
        unsubscribe()
    assert not seen


@check()
def test_arrays(x):
    numbers = array.array("i", [3, 1, 2])
    numbers.extend([5])
    numbers[1] += 4
    numbers.reverse()
    return x + sum(numbers), numbers, numbers.tolist(), numbers.typecode, numbers.itemsize, numbers[1:], numbers.index(3), repr(numbers), len(numbers)


@check()
def test_structs(x):
    own = struct.Struct(">h")
    return x + own.size, own.pack(258), own.format, HEADER.pack(1, 2), HEADER.unpack(HEADER.pack(3, 4)), HEADER.size, HEADER.unpack_from(b"." * 9, 2)


@check()
def test_hexadecimal_text_gives_a_new_bytearray_each_time(x):
    data = bytearray.fromhex("0102")
    data.append(3)
    return x + 1, data, bytearray(b"a").fromhex("ff")


@check()
def test_copies(x):
    data = bytearray(b"ab")
    copied, deep = copy.copy(data), copy.deepcopy([data, data])
    data.append(1)
    return x + 1, data, copied, deep, deep[0] is deep[1]


# -- what is printed into an object of the program -----------------------------------------------------------------------


class Log:
    def __init__(self):
        self.pieces = []

    def write(self, text):
        self.pieces.append(text)

    def flush(self):
        self.pieces.append(None)


@check()
def test_printed_into_objects(x):
    text, log = io.StringIO(), Log()
    print("a", 1, [2.5], sep="-", end="!", file=text)
    print(file=text)
    print("b", None, file=log, flush=True)
    return x + 1, text.getvalue(), log.pieces


@check()
def test_redirected(x):
    text = io.StringIO()
    before = sys.stdout
    with contextlib.redirect_stdout(text):
        print("inside", x.dim())
        y = x + 1
        print("again", end="")
    return y * 2, text.getvalue(), sys.stdout is before


@check()
def test_redirected_twice(x):
    outer, inner = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(outer):
        print("outer")
        with contextlib.suppress(KeyError), contextlib.redirect_stdout(inner), contextlib.redirect_stderr(outer):
            print("inner")
            print("error", file=sys.stderr)
            raise KeyError
        print("outer again")
    return x + 1, outer.getvalue(), inner.getvalue()


class Loud(io.StringIO):
    def write(self, text):
        return super().write(text.upper())


@check(graphs=1, breaks=3)
def test_subclasses_are_left_to_cpython(x):
    text = Loud()
    text.write("a")
    return x + 1, text.getvalue()


@check(lambda: (torch.ones(2), bytearray(b"ab")), graphs=1)
def test_compared_with_real_ones(x, data):
    made = bytearray(b"ab")
    return x + 1, made == data, data == made, made != data, made < data, made == b"ab", made == "ab", made == 3


@check(lambda: (torch.ones(2), bytearray(b"ab"), array.array("b", [1])), graphs=1, breaks=0)
def test_real_ones_that_grow(x, data, numbers):
    data.append(99)
    numbers.append(2)
    return x + len(data), data, numbers


@pytest.mark.parametrize("name", ["getvalue", "read"])
def test_behind_a_break(name):
    def writes(x):
        text = io.StringIO()
        text.write("before")
        framejit.graph_break()
        text.write(" behind")
        text.seek(2)
        return x + 1, getattr(text, name)()

    framejit.reset()
    with framejit.config.patch(strict=True):
        compiled = framejit.compile(writes, backend="eager")
        for _ in range(2):
            assert compiled(torch.ones(2))[1] == writes(torch.ones(2))[1]


def _reads(x, data, numbers, text, raw):
    found = [len(data), data[0], 97 in data, bytes(data), list(data), data == b"abc", b"x" + data, data.find(b"c"), data[1:], max(data)]
    found += [len(numbers), numbers[1], numbers.tolist(), list(numbers), numbers.typecode, numbers.itemsize, sum(numbers), bytes(numbers)]
    return x + 1, found, text.getvalue(), text.tell(), raw.getvalue(), text.closed, raw.readable(), bool(data), repr(data), dict(enumerate(data))


def _writes(x, data, numbers, text, raw):
    data.append(1)
    data[0] = 2
    data.extend(b"zz")
    numbers.append(7)
    numbers[0] += 1
    found = [text.read(2), text.write("more"), text.getvalue(), raw.write(b"m"), raw.getvalue(), data.pop(1)]
    print("printed", file=text)
    del data[:1]
    raw.seek(0)
    return x + len(data), found, numbers.index(7), list(raw)


def _keeps(x, data, numbers, text, raw):
    it = iter(data)
    next(it)
    with raw:
        raw.read()
    other = data
    other += b"!"
    return x + 1, it, other is data, [line for line in text]


def _given():
    text = io.StringIO("first\nsecond")
    raw = io.BytesIO(b"12")
    raw.seek(1)
    return bytearray(b"abc"), array.array("h", [1, 2, 3]), text, raw


def _states(data, numbers, text, raw):
    return data, numbers, None if text.closed else (text.getvalue(), text.tell()), None if raw.closed else (raw.getvalue(), raw.tell())


@pytest.mark.parametrize("function", [_reads, _writes, _keeps])
def test_those_that_were_there_before(function):
    framejit.reset()
    counter, breaks = Counter(), []
    compiled = framejit.compile(function, backend=counter)
    unsubscribe = framejit.events.subscribe(breaks.append, framejit.events.Break)
    for _ in range(4):
        ours, theirs = _given(), _given()
        same(compiled(torch.ones(2), *ours), function(torch.ones(2), *theirs))
        same(_states(*ours), _states(*theirs))
    unsubscribe()
    assert counter.graphs == 1 and not breaks


def test_those_that_change_are_left_to_cpython():
    framejit.reset()
    counter = Counter()
    function = lambda x, data, text: (x + len(data), data.append(1), text.write("a"), x * 2)  # noqa: E731
    compiled = framejit.compile(function, backend=counter)
    ours, theirs = (bytearray(), io.StringIO()), (bytearray(), io.StringIO())
    graphs = []
    for _ in range(6):
        same(compiled(torch.ones(2), *ours), function(torch.ones(2), *theirs))
        same((ours[0], ours[1].getvalue()), (theirs[0], theirs[1].getvalue()))
        graphs.append(counter.graphs)
    assert graphs[3] == graphs[-1], graphs


def test_what_is_only_written_to_is_no_constant():
    framejit.reset()
    counter, breaks = Counter(), []

    def function(x, text, raw, data):
        print("step", x.shape[0], file=text)
        raw.write(b"ab")
        data.append(3)
        data.extend(b"zz")
        x = x * 2
        return x, text.write("behind"), raw.write(memoryview(b"abc"))

    compiled = framejit.compile(function, backend=counter)
    unsubscribe = framejit.events.subscribe(breaks.append, framejit.events.Break)
    ours, theirs = [(io.StringIO(), io.BytesIO(), bytearray()) for _ in range(2)]
    for turn in range(6):
        same(compiled(torch.ones(2), *ours), function(torch.ones(2), *theirs))
        same((ours[0].getvalue(), ours[1].getvalue(), ours[2]), (theirs[0].getvalue(), theirs[1].getvalue(), theirs[2]))
        if turn == 3:
            graphs = counter.graphs
    unsubscribe()
    assert counter.graphs == graphs <= 4 and not breaks
    view = memoryview(ours[2])
    with pytest.raises(BufferError):
        compiled(torch.ones(2), *ours)
    del view
    ours[0].close()
    with pytest.raises(ValueError, match="closed"):
        compiled(torch.ones(2), *ours)


def test_those_that_are_alive_behind_a_break():
    framejit.reset()
    counter = Counter()

    def function(x):
        data, text = bytearray(b"abc"), io.StringIO()
        text.write("before")
        x = x + 1
        framejit.graph_break()
        data.append(len(text.getvalue()))
        text.write("behind")
        return x * data[-1], data, text.getvalue()

    compiled = framejit.compile(function, backend=counter)
    for _ in range(4):
        same(compiled(torch.ones(2)), function(torch.ones(2)))
    assert counter.graphs == 2


@pytest.mark.parametrize(("change", "first"), [(lambda d: d.append(1), True), (lambda d: d.append(1), False), (lambda d: d.clear(), True)])
@pytest.mark.parametrize("make", [lambda: bytearray(b"ab"), lambda: array.array("b", [97, 98])])
def test_views_hinder_them_to_grow(change, first, make):
    framejit.reset()

    def function(x, data):
        try:
            data.append(1)
        except BufferError:
            return x - 1
        return x + 1, data

    compiled = framejit.compile(function, backend="eager")
    for viewed in (first, not first, first):
        for run in (compiled, function):
            data = make()
            view = memoryview(data) if viewed else None
            found = run(torch.ones(2), data)
            assert torch.equal(found, torch.zeros(2)) if viewed else len(found[1]) == 3
            del view


def test_views_hinder_buffers():
    framejit.reset()

    def function(x, raw):
        try:
            raw.write(b"1")
        except BufferError:
            return x - 1
        return x + 1

    compiled = framejit.compile(function, backend="eager")
    for viewed in (False, True, False):
        raw = io.BytesIO(b"ab")
        view = raw.getbuffer() if viewed else None
        assert torch.equal(compiled(torch.ones(2), raw), torch.full((2,), 0.0 if viewed else 2.0))
        del view


def test_one_object_at_two_places():
    framejit.reset()
    function = lambda x, a, b: (x + 1, a.append(1), len(b), b.append(2), a == b)  # noqa: E731
    compiled = framejit.compile(function, backend="eager")
    for alike in (False, True, False, True):
        results = []
        for run in (compiled, function):
            one = bytearray(b"a")
            other = one if alike else bytearray(b"a")
            results.append((run(torch.ones(2), one, other), one, other))
        same(*results)
