"""Enums defined in captured code."""

from __future__ import annotations

import enum
from enum import Enum, Flag, IntEnum, IntFlag, StrEnum, auto, unique

from support import check


@check()
def test_a_plain_enum(x):
    @unique
    class Color(Enum):
        RED = 1
        GREEN = "g"

        def twice(self):
            return (self, self.value)

        @property
        def shown(self):
            return self.name.lower()

    try:
        Color("missing")
    except ValueError as error:
        text = str(error)
    facts = (
        Color.RED.value, Color.RED.name, Color(1) is Color.RED, Color["GREEN"] is Color.GREEN, len(Color), [c.name for c in Color],
        list(Color.__members__), Color.RED in Color, isinstance(Color.RED, Color), Color.RED.shown, Color.GREEN.twice()[1], text,
        Color.RED == Color.GREEN, repr(Color.RED), str(Color.GREEN), hasattr(Color, "ALIAS"),
    )  # fmt: skip
    return x + 1, facts


@check()
def test_aliases(x):
    class Color(Enum):
        RED = 1
        ALSO = 1
        BLUE = auto()

    return x + Color.BLUE.value, Color.ALSO is Color.RED, list(Color.__members__), len(Color)


@check()
def test_int_and_str_enums(x):
    class Size(IntEnum):
        SMALL = auto()
        LARGE = auto()

    class Name(StrEnum):
        FIRST = auto()

    return x + Size.LARGE, Size.SMALL < Size.LARGE, Name.FIRST + "!", Size(2) is Size.LARGE, Name("first").name, f"{Name.FIRST}", Size.SMALL + 1


@check()
def test_flags(x):
    class Perm(Flag):
        R = auto()
        W = auto()
        X = auto()
        RW = R | W

    class Bits(IntFlag):
        A = 1
        B = 2

    both = Perm.R | Perm.X
    return x + Bits.B, both.value, Perm.R in both, Perm.RW.value, (Perm.RW & Perm.R) is Perm.R, bool(Perm.R & Perm.W), (~Perm.R).value, [p.name for p in Perm]


@check()
def test_members_with_attributes(x):
    class Planet(Enum):
        MERCURY = (3.3, 2.4)
        EARTH = (5.9, 6.3)

        def __init__(self, mass, radius):
            self.mass, self.radius = mass, radius

        @property
        def density(self):
            return self.mass / self.radius

    return x + Planet.EARTH.mass, Planet.EARTH.density, Planet((3.3, 2.4)).name


@check()
def test_the_functional_api(x):
    Animal = Enum("Animal", ["ANT", "BEE"], module=__name__)
    return x + Animal.BEE.value, Animal.ANT.name, Animal.__name__


MADE = []


@check(calls=3)
def test_the_functional_api_makes_a_class_of_this_module_each_time(x):
    Plant, Bits = Enum("Plant", "OAK ELM"), IntFlag("Bits", "ONE TWO")
    again = any(Plant is one for one in MADE)
    MADE.append(Plant)
    return x + Plant.ELM.value, Plant.__module__, Bits.__module__, repr(Bits.ONE | Bits.TWO), again


@check()
def test_what_enums_forbid(x):
    class Color(Enum):
        RED = 1

    seen = []
    for act in (lambda: setattr(Color, "RED", 2), lambda: delattr(Color, "RED"), lambda: Color.RED.missing, lambda: type("More", (Color,), {})):
        try:
            act()
        except (AttributeError, TypeError) as error:
            seen.append((type(error).__name__, str(error)))
    return x + 1, seen


def _made(x):
    class Color(Enum):
        RED = 1
        BLUE = x.shape[0]

    return Color, Color.BLUE, x + Color.RED.value


def test_an_escaping_enum_is_a_real_one():
    import torch

    import framejit

    compiled = framejit.compile(_made, backend="eager")
    seen = []
    for _ in range(3):
        color, blue, _ = compiled(torch.ones(3))
        assert isinstance(color, enum.EnumMeta) and color.BLUE is blue and color(3) is blue and list(color) == [color.RED, blue]
        assert color["RED"].name == "RED" and blue.name == "BLUE" and repr(blue) == "<Color.BLUE: 3>"
        assert [member.value for member in color] == [1, 3] and color.RED._sort_order_ == 0 and hash(blue) == hash("BLUE")
        seen.append(color)
    assert len(set(map(id, seen))) == 3
