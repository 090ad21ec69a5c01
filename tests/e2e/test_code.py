"""compile, eval and exec of constants; exceptions that C constructors fill in; frames cleared by unittest."""

from __future__ import annotations

import unittest

import torch

from support import Counter, check

import framejit

SCALE = 2


@check()
def test_eval_reads_locals_and_globals(x):
    y = 5
    return x * eval("y + SCALE"), eval(" [i * SCALE for i in range(3)]"), eval(compile("SCALE ** 2", "<here>", "eval"))


@check()
def test_exec_fills_a_namespace(x):
    names = {"start": 1}
    exec("def f(y):\n    return y + start\nlast = [f(i) for i in range(3)]", names)
    other = {}
    exec("a = SCALE\nb = a + 1", globals(), other)
    return x + names["f"](4), names["last"], sorted(key for key in names if key != "__builtins__"), other


@check()
def test_wrong_source_raises(x):
    try:
        compile("a b", "<here>", "exec")
    except SyntaxError as error:
        return x + error.lineno, error.filename, error.text, error.offset, str(error), error.msg


@check()
def test_code_raises_what_it_raises(x):
    try:
        eval("1 / 0")
    except ZeroDivisionError as error:
        return x + 1, str(error)


@check()
def test_exceptions_computed_by_their_constructors_are_returned(x):
    missing = FileNotFoundError(2, "no such", "name")
    return x + missing.errno, OSError(13, "denied"), UnicodeDecodeError("utf8", b"x", 0, 1, "bad"), str(missing), type(OSError(2, "a"))


case = unittest.TestCase()


@check()
def test_unittest_catches_exceptions(x):
    with case.assertRaises(ValueError) as caught:
        int("four")
    case.assertRaises(SyntaxError, eval, "1 +")
    with case.assertRaisesRegex(KeyError, "key"):
        {}["key"]
    return x + 1, caught.exception.args, caught.exception


def test_very_long_texts_and_lists_do_not_take_all_memory():
    """Every append can be undone: a region ends where that would take too much."""
    text = "f'" + "{number} " * 9_000 + "'"
    x = torch.ones(2)

    def function(x, number):
        squares = [index * index for index in range(9_000)]
        squares.append(number)
        table = {index: -index for index in squares}
        return x + 1, eval(text), squares, len(table), len(set(squares) | {-1}), len({index for index in squares})  # noqa: S307, C416

    counter = Counter()
    found = framejit.compile(function, backend=counter)(x, 1)
    assert found[1] == "1 " * 9_000 and found[2] == [index * index for index in range(9_000)] + [1] and counter.runs >= 1
    assert found[3:] == (9_000, 9_001, 9_000)
