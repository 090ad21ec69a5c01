"""Python's random numbers: drawn at once where the generator's state is known, else from a twin of it in front of the graph.

The state of a generator is a place in a stream: where the stream starts (a seed, a state, or the state in which the object was
found) and how many draws were made. Numbers from a known start are constants. Those from a start that only the run knows are
numbers of the program: it draws them from a private twin while it checks its guards, so that a miss has no effect. Behind the
graph the real generator does all of it once.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from framejit.core.heap import MISSING
from framejit.core.path import CALLED, ITEM, Called, Path
from framejit.core.services import Services
from framejit.core.value import NONE, Const, Lazy, Number, Pack, Ref, Value
from framejit.lib import random_ as lib
from framejit.objects.dict_ import lookup
from framejit.objects.fold import run, unwrap
from framejit.objects.model import ByType, model
from framejit.objects.rebuild import WRITERS
from framejit.objects.type_ import new_instance
from framejit.reasons import R
from framejit.rules.builtins_ import takes
from framejit.rules.registry import handler

BASE, Random = lib.BASE, random.Random
STATE = ("random",)
LONGEST = 200  # draws that are repeated one by one at the exit; a known state is set at once then


class Stream:
    """The numbers that follow one start, as far as they were drawn; `places` are the program's results of unknown ones."""

    __slots__ = ("start", "state", "given", "twin", "steps", "answers", "places", "text")

    def __init__(self, start: tuple[str, Any] | None, state: Any, given: Value | None, place: Path | None, text: str):
        self.start, self.state, self.given, self.text = start, state, given, text
        self.twin = BASE(0)
        lib.advance(self.twin, state, start, ())
        self.steps: list[tuple[str, tuple[Any, ...]]] = []
        self.answers: list[Any] = []
        self.places: list[Path] = [] if place is None else [place]

    def branch(self, count: int) -> Stream:
        """Another stream with the same first draws."""
        found = Stream(self.start, self.state, self.given, self.places[0] if self.places else None, self.text)
        for name, args in self.steps[:count]:
            found.draw(name, args)
        return found

    def draw(self, name: str, args: tuple[Any, ...]) -> None:
        """Make one more draw."""
        answer = lib.DRAWS[name](self.twin, *args)
        self.steps.append((name, args))
        self.answers.append(answer)
        if self.places:
            called = Called(lib.drawn, (name, *args), f"draw {len(self.steps)} of {self.text}", True)
            self.places.append(self.places[-1].to(CALLED, called))


class Place(Const):
    """The state of a generator: this many draws behind the start of a stream."""

    __slots__ = ("stream", "count")

    def __init__(self, stream: Stream, count: int = 0):
        super().__init__(self)
        self.stream, self.count = stream, count


def _writer(place: Place) -> tuple[Any, list[Value]]:
    stream = place.stream
    start, steps = stream.start, tuple(stream.steps[: place.count])
    if start is not None and len(steps) > LONGEST:
        start, steps = ("setstate", stream.branch(place.count).twin.getstate()), ()
    return lib.advance, [stream.given or NONE, Const(start), Const(steps)]


WRITERS[STATE] = _writer


@model(BASE)
class GeneratorModel(ByType):
    """random.Random and its subclasses: an instance dict, and the state of the C part."""

    __slots__ = ()

    def new(self, s: Services, cls: type, args: Sequence[Value], kwargs: dict[str, Value]) -> Value | None:
        return new_instance(s, cls)

    def initialise(self, s: Services, v: Value, args: Sequence[Value], kwargs: dict[str, Value]) -> bool:
        return True

    def truth(self, s: Services, v: Value) -> bool | None:
        return True

    def hash_key(self, s: Services, v: Value) -> Any:
        return v


def generator(s: Services, v: Value) -> Ref:
    """The generator that a C method was called on."""
    v = s.force(v)
    if isinstance(v, Const):  # the receiver of a bound method that was found as a whole
        v = s.force(s.input(v.path or s.trace.roots.const(v.obj), v.obj))
    if not isinstance(v, Ref) or not issubclass(v.cls, BASE):
        return s.unsupported(R.RANDOM_STATE, v)
    return v


def place_of(s: Services, ref: Ref) -> Place:
    """The present state of a generator."""
    found = s.heap.get(ref, STATE)
    if found is None:
        if ref.path is None:
            return s.unsupported(R.RANDOM_STATE, ref, "its seed is only known when the program runs")
        path = ref.path.to(CALLED, Called(lib.twin_of, (), f"{ref.path}"))
        s.guard(path, "LEN", 2)
        found = Place(Stream(None, BASE.getstate(ref.real), None, path, str(ref.path)))
        s.heap.load(ref, STATE, found)
    assert isinstance(found, Place)
    return found


def draw(s: Services, v: Value, name: str, *args: Any) -> Value:
    """The next number of a generator."""
    ref = generator(s, v)
    place = place_of(s, ref)
    stream, count = place.stream, place.count
    if count < len(stream.steps) and stream.steps[count] != (name, args):
        stream = stream.branch(count)
    if count == len(stream.steps):
        stream.draw(name, args)
    s.heap.set(ref, STATE, Place(stream, count + 1))
    answer = stream.answers[count]
    if not stream.places:
        return Const(answer)
    path = stream.places[count + 1]
    s.guard(path, "LEN", 2)  # in order, one by one
    return Number(type(answer), path.to(ITEM, 1), answer)


@takes(BASE.random, "self /")
def random_(s: Services, self: Value) -> Value:
    return draw(s, self, "random")


@takes(BASE.getrandbits, "self k /")
def getrandbits(s: Services, self: Value, k: Value) -> Value:
    bits = s.constant(k)
    if not isinstance(bits, int) or bits < 0:
        return run(s, BASE(0).getrandbits, bits)
    return draw(s, self, "getrandbits", int(bits))


@handler(Random._randbelow_with_getrandbits)  # type: ignore[attr-defined]
def randbelow(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Any:
    """One draw, where nobody has put another `getrandbits` in the way."""
    self = s.force(args[0])
    if len(args) != 2 or kwargs or not isinstance(self, Ref) or s.type_lookup(self.cls, "getrandbits") is not BASE.getrandbits:
        return NotImplemented
    namespace, n = s.dict_of(self), s.constant(args[1])
    if namespace is None or lookup(s, namespace, "getrandbits") is not MISSING or type(n) is not int or n < 1:
        return NotImplemented
    return draw(s, self, "below", n)


@takes(BASE.seed, "self a= /")
def seed(s: Services, self: Value, a: Value | None) -> Value:
    ref = generator(s, self)
    v = NONE if a is None else s.force(a)
    if v.cls is type(None):
        return s.unsupported(R.RANDOM_STATE, ref, "seeded by the operating system")
    if issubclass(v.cls, int):
        v = unwrap(s, v)
    given = s.constant(v) if v.cls in (int, float, str, bytes, bool) else s.constant(s.hash(v))
    s.heap.set(ref, STATE, Place(Stream(("seed", given), None, None, None, "")))
    return NONE


@handler(BASE.__init__)
def initialise(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return s.unsupported(R.RANDOM_STATE, BASE)


@handler(Random.seed)
def seed_by_text(s: Services, args: list[Value], kwargs: dict[str, Value]) -> Any:
    """A text is made a number of by a hash function; all else is done in Python."""
    if len(args) != 2 or kwargs or not isinstance(v := s.force(args[1]), Const) or type(v.obj) not in (str, bytes):
        return NotImplemented
    text = v.obj.encode() if issubclass(type(v.obj), str) else v.obj
    number = int.from_bytes(text + random._sha512(text).digest(), "big")  # type: ignore[attr-defined]
    s.call(Const(BASE.seed), [args[0], Const(number)])
    s.setattr(args[0], "gauss_next", NONE)
    return NONE


@takes(BASE.getstate, "self /")
def getstate(s: Services, self: Value) -> Value:
    ref = generator(s, self)
    place = place_of(s, ref)
    stream, count = place.stream, place.count
    state = (stream if count == len(stream.steps) else stream.branch(count)).twin.getstate()
    if not stream.places:
        return Pack(tuple, tuple(map(Const, state)))
    path = stream.places[count].to(CALLED, Called(lib.state_behind, (), f"state {count} of {stream.text}", True))
    s.guard(path, "LEN", len(state))  # read now, not when the twin has gone on
    return s.input(path, state)


@takes(BASE.setstate, "self state /")
def setstate(s: Services, self: Value, state: Value) -> Value:
    ref = generator(s, self)
    path = getattr(state, "path", None)
    known = state.real if isinstance(state, Lazy) else s.constant(state) if path is None else None
    if isinstance(state, Pack) and path is not None:
        known = tuple(item.real if isinstance(item, Lazy) else s.constant(item) for item in state.items)
    if type(known) is not tuple:
        path, known = None, s.constant(state)
    try:
        BASE(0).setstate(known)
    except Exception:  # noqa: BLE001 - whatever it raises, the program raises
        return run(s, BASE(0).setstate, s.constant(state))
    if path is None:
        stream = Stream(("setstate", known), None, None, None, "")
    else:
        twin = path.to(CALLED, Called(lib.twin_in, (), f"a generator in {path}"))
        s.guard(twin, "LEN", 2)
        stream = Stream(None, known, state, twin, f"a generator in {path}")
    s.heap.set(ref, STATE, Place(stream))
    return NONE
