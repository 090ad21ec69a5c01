"""The runtime side of `typing` in captured code."""

from __future__ import annotations

import typing
from typing import (
    Annotated, Any, Callable, ClassVar, Dict, Generic, List, Literal, NamedTuple, Optional, Tuple, TypeVar, Union, cast, get_args, get_origin,
    get_type_hints,
)  # fmt: skip

import torch
from support import check

import framejit

T = TypeVar("T")
ALIAS = Dict[str, List[int]]


class Box(Generic[T]):
    """Holds one value."""

    def __init__(self, value: T):
        self.value = value


class Row(NamedTuple):
    """A typed named tuple."""

    first: int
    second: Optional[int] = None


# This module's annotations are strings: functions made from text have real ones.
exec(  # noqa: S102
    """
def annotated(x):
    def inner(a: Optional[int], b: List[T], c: Callable[[int], str]) -> Dict[str, Tuple[int, ...]]:
        return a
    return x + 1, inner.__annotations__
""",
    globals(),
)
test_annotations_of_inner_functions = check(breaks=0)(globals()["annotated"])


@check(breaks=0)
def test_forms_subscripted(x):
    forms = Union[int, None], Literal["a", "b"], Annotated[int, "x"], ClassVar[int], List["Row"], Callable[..., Any], Tuple[()], Optional[List[T]][int]
    return x + 1, forms, List[int] is List[int], [get_origin(form) for form in forms], [get_args(form) for form in forms]


@check(breaks=0)
def test_generic_classes(x):
    box = Box[int](3)
    return x + box.value, Box[int], Box[T][str], box.__orig_class__, typing.get_origin(Box[int]) is Box


@check(breaks=0)
def test_hints(x):
    return x + 1, get_type_hints(Box.__init__), get_type_hints(Row), ALIAS.__args__, cast(List[int], [1])


@check(breaks=0)
def test_unions_of_aliases(x):
    return x + 1, list[int] | None, dict[str, int] | List[int], int | str | None, hash(Union) == hash(Union)


@check(breaks=0)
def test_errors_are_those_of_typing(x):
    said = []
    for attempt in (lambda: List[int, int], lambda: isinstance(3, ClassVar), lambda: isinstance(3, List[int]), lambda: Optional[1, 2], lambda: Box[int, str]):
        try:
            attempt()
        except TypeError as error:
            said.append(str(error))
    return x + 1, said, isinstance([], List), issubclass(list, List)


@check(lambda: (torch.ones(2), List[int]), lambda: (torch.ones(2), List[str]), breaks=0)
def test_an_alias_given_is_guarded(x, alias):
    return x + len(get_args(alias)), get_args(alias)[0] is int


@check(breaks=0)
def test_type_variables_made_in_the_capture(x):
    S = TypeVar("S", bound=int)
    return x + 1, List[S].__args__[0] is S, List[S] is List[S], S.__bound__, S.__name__


@check(breaks=0)
def test_aliases_of_new_type_variables_leave_the_capture(x):
    S = TypeVar("S")
    alias = Dict[str, List[S]]
    return x + 1, alias.__args__[1].__args__[0].__name__, str(alias), alias is Dict[str, List[S]], alias[int]


def test_the_caches_of_typing_know_what_left_the_capture():
    def function(x):
        S = TypeVar("S")
        return x + 1, S, List[S]

    x, variable, alias = framejit.compile(function, backend="eager", fullgraph=True)(torch.ones(2))
    assert alias is List[variable] and alias.__parameters__ == (variable,)


@check(breaks=0)
def test_a_generic_class_over_a_new_type_variable(x):
    S = TypeVar("S")

    class Pair(Generic[S]):
        def __init__(self, a: S, b: S):
            self.both = a, b

    return x + 1, Pair[int](1, 2).both, Pair.__parameters__ == (S,), get_args(Pair[str]), get_type_hints(Pair.__init__) == {"a": S, "b": S}
