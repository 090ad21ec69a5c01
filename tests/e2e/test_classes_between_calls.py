"""What a region took from classes is asked again when the program changes them between calls."""

from __future__ import annotations

import abc
import builtins
import enum
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import framejit
from support import Counter, same


class Described:
    def __get__(self, instance: Any, owner: Any) -> Any:
        return self if instance is None else "descriptor"


class Holder:
    field = Described()


def descriptors() -> Iterator[Any]:
    holder = type("Holder", (), {"field": (kind := type("Described", (Described,), {}))()})()
    vars(holder)["field"] = "instance"
    for name in ("__set__", "__delete__"):
        yield holder
        setattr(kind, name, lambda *args: None)
        yield holder
        delattr(kind, name)
    yield holder


def read(holder: Any) -> Any:
    return holder.field


class Left:
    def __add__(self, other: Any) -> Any:
        return "left"


def reflected() -> Iterator[Any]:
    base = type("Base", (Left,), {})
    right = type("Right", (base,), {})
    yield base(), right()
    right.__radd__ = lambda self, other: "right"  # type: ignore[attr-defined]
    yield base(), right()
    base.__radd__ = right.__radd__  # type: ignore[attr-defined]
    yield base(), right()
    base.__iadd__ = lambda self, other: "in place"  # type: ignore[attr-defined]
    yield base(), right()
    base.__radd__ = lambda self, other: "base"  # type: ignore[attr-defined]
    right.__bases__ = (Left,)
    del base.__iadd__  # type: ignore[attr-defined]
    yield base(), right()


def added(pair: Any) -> Any:
    left, right = pair
    both = left
    both += right
    return left + right, both


def compared(pair: Any) -> Any:
    left, right = pair
    return left == right, left < right


def comparisons() -> Iterator[Any]:
    def answer(text: str) -> Callable[..., str]:
        return lambda self, other: text

    base = type("Base", (Left,), {"__eq__": answer("base"), "__lt__": answer("base")})
    right = type("Right", (base,), {"__eq__": answer("right"), "__gt__": answer("right")})
    yield base(), right()
    right.__bases__ = (Left,)
    yield base(), right()


def names() -> Iterator[Any]:
    kind = type("Kind", (Left,), {})
    yield kind()
    kind.__name__ = "Other"
    yield kind()
    kind.__qualname__ = "Other.kind"
    yield kind()
    kind.__module__ = "somewhere"
    yield kind()
    kind.__bases__ = (Holder,)
    yield kind()


def named(value: Any) -> Any:
    kind = type(value)
    return kind.__name__, kind.__qualname__, kind.__module__, kind.__bases__, [base.__name__ for base in kind.__mro__], kind.__doc__


def descents() -> Iterator[Any]:
    kind = type("Kind", (Left,), {})
    yield kind()
    kind.__bases__ = (Holder,)
    yield kind()
    yield type("Kind", (kind,), {})()


def descent(value: Any) -> Any:
    return isinstance(value, Left), issubclass(type(value), Holder), isinstance(value, (int, Holder))


class First:
    def say(self) -> str:
        return "first"


class Second:
    def say(self) -> str:
        return "second"


def chains() -> Iterator[Any]:
    class Third(First):
        def say(self) -> str:
            return "third " + super().say()

    class Fourth(Third):
        pass

    yield Third()
    Third.__bases__ = (Second,)
    yield Third()
    yield Fourth()
    Fourth.__bases__ = (Third, First)
    Third.__bases__ = (First,)
    yield Fourth()
    Third.__bases__ = (Second, First)
    yield Fourth()


def said(value: Any) -> Any:
    return value.say()


class Wrong(Exception):
    pass


def raised() -> Iterator[Any]:
    base, other = type("Base", (Wrong,), {}), type("Other", (Wrong,), {})
    kind = type("Kind", (base,), {})
    yield kind("x"), base
    kind.__bases__ = (other,)
    yield kind("x"), base
    yield kind("x"), (base, other)


def caught(pair: Any) -> Any:
    error, kinds = pair
    try:
        raise error
    except kinds:
        return "caught"
    except Wrong:
        return "passed"


def abstract() -> Iterator[Any]:
    kind = abc.ABCMeta("Kind", (), {"go": abc.abstractmethod(lambda self: 1)})
    yield kind
    kind.go = lambda self: 2  # type: ignore[attr-defined]
    abc.update_abstractmethods(kind)
    yield kind
    kind.go = abc.abstractmethod(lambda self: 3)  # type: ignore[attr-defined]
    abc.update_abstractmethods(kind)
    yield kind


def made(kind: Any) -> Any:
    try:
        return kind().go()
    except TypeError as error:
        return str(error)


def operands() -> Iterator[Any]:
    kind = type("Kind", (Left,), {})
    yield kind()
    kind.__torch_function__ = classmethod(lambda cls, function, types, args=(), kwargs=None: function.__name__)  # type: ignore[attr-defined]
    yield kind()


def with_tensor(value: Any) -> Any:
    try:
        return torch.ones(2) * value
    except TypeError as error:
        return str(error)


class Meta(type):
    kind = "one"


class OtherMeta(type):
    kind = "other"

    def __call__(cls, *args: Any) -> Any:
        return "called"

    def __bool__(cls) -> bool:
        return False


def metaclasses() -> Iterator[Any]:
    kind = Meta("Kind", (), {})
    value = kind()
    yield kind, value
    kind.__class__ = OtherMeta
    yield kind, value
    kind.__class__ = Meta
    yield kind, value


def kinds(pair: Any) -> Any:
    cls, value = pair
    return cls.kind, bool(cls), type(cls()) is cls, type(value).kind, type(cls) is Meta, isinstance(cls, OtherMeta)


def kinds_of_classes() -> Iterator[Any]:
    for _, value in metaclasses():
        yield value


def kind_of_class(value: Any) -> Any:
    return type(type(value)) is Meta, value.__class__.__class__ is OtherMeta


def module_classes() -> Iterator[Any]:
    module = types.ModuleType("module")
    module.value = 1  # type: ignore[attr-defined]
    yield module
    other = type("Lazy", (types.ModuleType,), {"value": property(lambda self: "late"), "__len__": lambda self: 0})
    module.__class__ = other
    yield module
    module.__class__ = types.ModuleType
    yield module


def module_class(module: Any) -> Any:
    return module.value, bool(module), type(module) is types.ModuleType


def members() -> Iterator[Any]:
    one, other = (enum.Enum(name, {"A": 1}, type=mixin) for name, mixin in (("One", First), ("Other", Second)))
    member = one.A  # type: ignore[attr-defined]
    yield member
    member.__class__ = other
    yield member


def member_class(member: Any) -> Any:
    return member.say(), type(member).__name__, member.name


def descriptor_classes() -> Iterator[Any]:
    kind, other = (type(name, (), {"__get__": lambda self, *args, name=name: name}) for name in ("One", "Other"))
    holder = type("Holder", (), {"field": kind()})()
    yield holder
    vars(type(holder))["field"].__class__ = other
    yield holder
    other.__set__ = lambda *args: None  # type: ignore[attr-defined]
    vars(holder)["field"] = "instance"
    yield holder
    vars(type(holder))["field"].__class__ = kind
    yield holder


def hooks() -> Iterator[Any]:
    kind, registered = abc.ABCMeta("Kind", (), {}), type("Registered", (), {})
    yield kind, registered()
    kind.register(registered)
    yield kind, registered()
    kind.__subclasshook__ = classmethod(lambda cls, other: False if other is registered else NotImplemented)  # type: ignore[attr-defined]
    yield kind, registered()


def belongs(pair: Any) -> Any:
    kind, value = pair
    return isinstance(value, kind), issubclass(type(value), kind)


CASES = {
    "hooks of abstract classes": (belongs, hooks),
    "classes of descriptors": (read, descriptor_classes),
    "metaclasses": (kinds, metaclasses),
    "metaclasses of classes of values": (kind_of_class, kinds_of_classes),
    "classes of modules": (module_class, module_classes),
    "classes of members": (member_class, members),
    "data descriptors": (read, descriptors),
    "reflected operators": (added, reflected),
    "comparisons": (compared, comparisons),
    "names": (named, names),
    "descents": (descent, descents),
    "super": (said, chains),
    "exceptions": (caught, raised),
    "abstract methods": (made, abstract),
    "torch functions": (with_tensor, operands),
}


@pytest.mark.parametrize("name", CASES)
def test_a_changed_class_is_asked_again(name: str) -> None:
    """The captured answer is the eager one after each change, and every answer came from a region."""
    ask, values = CASES[name]

    def run(value: Any, x: torch.Tensor) -> Any:
        return ask(value), x + 1

    x, counter = torch.ones(2), Counter()
    compiled = framejit.compile(run, backend=counter)
    number = 0
    for number, value in enumerate(values(), 1):  # noqa: B007
        before = counter.runs
        same(compiled(value, x), run(value, x))
        assert counter.runs > before
    assert number > 1


class Found(enum.Enum):
    A = 1
    B = 2

    @classmethod
    def _missing_(cls, value: Any) -> Any:
        ASKED.append(value)
        if value == 8:
            raise KeyError(value)
        return cls.A if value == "a" else None


class Asking(enum.EnumMeta):
    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        ASKED.append("call")
        return super().__call__(*args, **kwargs)


class Asked(enum.Enum, metaclass=Asking):
    A = 1


ASKED: list[Any] = []


@pytest.mark.parametrize("kind", [Found, Asked])
@pytest.mark.parametrize("value", [1, "a", 5, 8])
def test_what_an_enum_asks_its_class_runs_in_each_call(kind: Any, value: Any) -> None:
    """`_missing_` and the `__call__` of a metaclass are code of the program: the capture does not run them itself."""

    def run(value: Any, x: torch.Tensor) -> Any:
        try:
            return kind(value), x + 1
        except (ValueError, KeyError) as error:
            return type(error), error.args, x + 2

    x, counter = torch.ones(2), Counter()
    compiled = framejit.compile(run, backend=counter)
    for _ in range(3):
        ASKED.clear()
        expected, asked = run(value, x), list(ASKED)
        ASKED.clear()
        same(compiled(value, x), expected)
        assert asked == ASKED
    assert counter.graphs


def test_signatures_of_functions_that_change() -> None:
    """`inspect.signature` sees what a function is made of now."""

    def target(a: Any, b: int = 2, *, c: int = 3) -> Any:
        return a

    def run(function: Any, x: torch.Tensor) -> Any:
        return str(inspect.signature(function)), x + 1

    x, counter = torch.ones(2), Counter()
    compiled = framejit.compile(run, backend=counter)

    def changes() -> Iterator[None]:
        yield
        target.__defaults__ = (1, 2)
        yield
        target.__kwdefaults__["c"] = 4
        yield
        target.__annotations__["a"] = int
        yield
        target.__signature__ = inspect.Signature()  # type: ignore[attr-defined]
        yield

    for _ in changes():
        same(compiled(target, x), run(target, x))
    assert counter.runs == 5


def test_modules_that_change_their_class() -> None:
    """A name that the dict of a module lacks is looked up in its class."""
    module = types.ModuleType("module")

    def run(module: Any, x: torch.Tensor) -> Any:
        return getattr(module, "late", None), x + 1

    x, counter = torch.ones(2), Counter()
    compiled = framejit.compile(run, backend=counter)
    same(compiled(module, x), run(module, x))
    module.__class__ = type("Lazy", (types.ModuleType,), {"late": property(lambda self: "late")})
    same(compiled(module, x), run(module, x))
    assert counter.runs == 2


def test_what_a_class_of_modules_computes_is_computed_once_in_each_call() -> None:
    """A property of a module runs where the program reads it, not when the region is checked."""
    asked: list[int] = []

    class Computing(types.ModuleType):
        @property
        def late(self) -> int:
            asked.append(len(asked))
            return len(asked)

        def scaled(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.factor  # type: ignore[no-any-return]

    module = Computing("module")
    module.factor = 2  # type: ignore[attr-defined]

    def run(x: torch.Tensor) -> Any:
        return module.late, module.scaled(x), module.__name__

    x, counter = torch.ones(2), Counter()
    compiled = framejit.compile(run, backend=counter)
    for count in range(8):
        if count == 4:
            module.scaled = lambda x: x + 1  # type: ignore[method-assign]
        asked.clear()
        expected = run(x)
        asked.clear()
        same(compiled(x), expected)
        assert asked == [0]
    assert counter.graphs


def test_functions_behind_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """`class` and `import` call what the builtins hold now."""

    def run(x: torch.Tensor) -> Any:
        class Made:
            pass

        from math import tau  # noqa: PLC0415

        return Made.__name__, tau, x + 1

    x, counter = torch.ones(2), Counter()
    compiled = framejit.compile(run, backend=counter)
    same(compiled(x), run(x))
    made, imported = builtins.__build_class__, builtins.__import__
    with monkeypatch.context() as patch:
        patch.setattr(builtins, "__build_class__", lambda body, name, *bases, **kw: made(body, name.replace("Made", "Built"), *bases, **kw))
        same(compiled(x), run(x))
    with monkeypatch.context() as patch:
        patch.setattr(builtins, "__import__", lambda name, *more: types.SimpleNamespace(tau=6) if name == "math" else imported(name, *more))
        same(compiled(x), run(x))
    same(compiled(x), run(x))
    assert counter.runs == 4
