"""Texts with the address of an object in them: put together when the object is there."""

import abc
import collections
import gc
import weakref

import pytest
import torch

import framejit
from support import Counter


class Plain:
    pass


class Named:
    def __str__(self):
        return "named"


class Abstract(abc.ABC):  # noqa: B024
    pass


class Described:
    def __repr__(self):
        return f"<{super().__repr__()}>"


def texts(x, given):
    class Local:
        pass

    made, local, mark, slotted = Plain(), Local(), object(), Abstract()
    holder = []
    try:
        raise ValueError(f"bad {made}: {given!r:s}" if x is None else f"bad {made}: {given!r}")
    except ValueError as error:
        holder.append(str(error))
    found = [
        repr(made), str(made), f"{made}", f"{made!s} and {made!r}", "a" + repr(made) + "b", ", ".join([repr(made), "x", str(given)]), repr(Named()),
        f"{local}", repr(mark), repr(slotted), repr(Described()), str(Named()), repr(given), object.__repr__(made) == 1 if x is None else 0,
    ]  # fmt: skip
    return x + 1, found + holder, (made, given, local, mark, slotted)


def expected(made, given, local, mark, slotted):
    shown = [object.__repr__(one) for one in (made, given, local, mark, slotted)]
    return [
        shown[0], shown[0], shown[0], f"{shown[0]} and {shown[0]}", f"a{shown[0]}b", f"{shown[0]}, x, {shown[1]}", None, shown[2], shown[3], shown[4],
        None, "named", shown[1], 0, f"bad {shown[0]}: {shown[1]}",
    ]  # fmt: skip


def test_texts():
    framejit.reset()
    counter = Counter()
    compiled = framejit.compile(texts, backend=counter, fullgraph=True)
    for _ in range(3):
        _, found, objects = compiled(torch.ones(2), Plain())
        for one, other in zip(found, expected(*objects), strict=True):
            assert other is None or one == other
        assert found[6].startswith(f"<{__name__}.Named object at 0x")
        assert found[10].startswith(f"<<{__name__}.Described object at 0x") and found[10].endswith(">>")
    assert counter.graphs == 1


def containers(x, given):
    made = Plain()
    return x + 1, [
        f"{[made, 1]}", repr((made,)), repr((made, given)), str({"a": made}), repr({made: [given]}), repr({made}), f"{collections.deque([made], 3)}",
        repr(collections.OrderedDict(a=made)), repr(ValueError(made, 1)), str(ValueError(made, 1)), str(KeyError(made)), repr({1: made}.values()),
        repr(collections.defaultdict(None, {1: made})), repr([]), repr(()), repr({}), repr(set()), str(ValueError()), repr(frozenset([made])),
    ], made, given  # fmt: skip


def test_containers():
    framejit.reset()
    compiled = framejit.compile(containers, backend="eager", fullgraph=True)
    for _ in range(3):
        _, found, made, given = compiled(torch.ones(2), Plain())
        _, other, ours, theirs = containers(torch.ones(2), Plain())
        assert found == [text.replace(repr(ours), repr(made)).replace(repr(theirs), repr(given)) for text in other]


def asks(x, given, what):
    text = f"{given}"
    return x + 1, what(text)


QUESTIONS = {
    "length": len, "equality": lambda text: text == "a", "inequality": lambda text: text != "a", "equal to itself": lambda text: text == text[:],
    "membership": lambda text: "Plain" in text, "the other way": lambda text: text in "abc", "truth": bool, "hash": lambda text: {text: 1}[text],
    "order": lambda text: text < "a", "upper": lambda text: text.upper(), "an index": lambda text: text[0], "iteration": list,
    "percent": lambda text: f"{text}" % (), "format": lambda text: "{}".format(text),  # noqa: UP030, UP032
    "padding": lambda text: f"{text:>90}", "repr": repr, "ascii": ascii, "times": lambda text: text * 2, "set": lambda text: {text} & {text, "a"},
    "in place": lambda text: [text := text + "b", text], "identity": lambda text: text is text, "type": type, "isinstance": lambda text: isinstance(text, str),
    "wrong": lambda text: _refused(lambda: text + 1), "wrong join": lambda text: _refused(lambda: ",".join([text, 1])), "bytes": lambda text: text.encode(),
    "attribute": lambda text: _refused(lambda: getattr(Plain(), text)), "argument": lambda text: ValueError(text).args, "int": lambda text: _refused(lambda: int(text)),
    "starts": lambda text: text.startswith("<"), "max": lambda text: max(text, "z"), "sorted": lambda text: sorted([text, "a"]), "%": lambda text: "%s" % text,  # noqa: UP031
    "in a list": lambda text: text in ["a", text], "pair": lambda text: (text, "a") == (text, "a"), "str": str, "new": lambda text: str(text) is text,
}  # fmt: skip


def _refused(attempt):
    try:
        return attempt()
    except (TypeError, AttributeError, ValueError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", QUESTIONS)
def test_questions(name):
    framejit.reset()
    compiled, given = framejit.compile(asks, backend="eager"), Plain()
    for _ in range(2):
        one, other = compiled(torch.ones(2), given, QUESTIONS[name])[1], asks(torch.ones(2), given, QUESTIONS[name])[1]
        assert repr(one) == repr(other)


def test_raised():
    framejit.reset()

    def function(x, given):
        x = x + 1
        raise ValueError(f"cannot use {given}")

    given = Plain()
    with pytest.raises(ValueError, match=f"cannot use {object.__repr__(given)}"):
        framejit.compile(function, backend="eager")(torch.ones(2), given)


def test_over_a_break():
    framejit.reset()
    counter = Counter()

    def function(x):
        made = Plain()
        text = f"made {made}"
        x = x + 1
        framejit.graph_break()
        return x * 2, text, made

    compiled = framejit.compile(function, backend=counter)
    for _ in range(4):
        _, text, made = compiled(torch.ones(2))
        assert text == f"made {made}"
    assert counter.graphs == 2


def test_the_text_does_not_keep_the_object():
    framejit.reset()

    def function(x):
        made = Plain()
        reference = weakref.ref(made)
        text = repr(made)
        del made
        return x + 1, reference() is None, text, reference

    _, gone, text, reference = framejit.compile(function, backend="eager")(torch.ones(2))
    gc.collect()
    assert gone and reference() is None and text.startswith(f"<{__name__}.Plain object at 0x")


def test_the_repr_of_a_very_long_list():
    def program(x):
        return x + 1, repr([0] * 300_000)

    assert framejit.compile(program, backend="eager")(torch.ones(1))[1] == program(torch.ones(1))[1]
