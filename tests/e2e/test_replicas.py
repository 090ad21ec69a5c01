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
from support import check

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


@check(lambda: (torch.ones(2), bytearray(b"ab"), array.array("b", [1])), graphs=1, breaks=3)
def test_real_ones_are_left_to_cpython(x, data, numbers):
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
