"""Class creation in captured code: keywords, metaclasses, hooks in CPython's order, `__mro_entries__`, namespaces of any kind."""

from __future__ import annotations

import abc
import functools
import types

from support import check


@check()
def test_keywords_and_hooks_in_order(x):
    log = []

    class Named:
        def __set_name__(self, owner, name):
            log.append(("set_name", owner.__name__, name, owner.__dict__.get(name) is self))
            self.name = name

        def __get__(self, instance, owner):
            return (self.name, instance is None, owner.__name__)

    class Base:
        def __init_subclass__(cls, /, tag=None, **kwargs):
            log.append(("init_subclass", cls.__name__, tag, kwargs, cls.first))
            super().__init_subclass__(**kwargs)
            cls.tag = tag

    class Derived(Base, tag="t"):
        first = Named()
        second = Named()

    return x + 1, log, Derived.tag, Derived.first, Derived().second, list(Derived.__dict__)


@check()
def test_a_metaclass_in_python(x):
    log = []

    class Meta(type):
        @classmethod
        def __prepare__(mcls, name, bases, **kwargs):
            log.append(("prepare", name, [base.__name__ for base in bases], kwargs))
            return {"prepared": 1}

        def __new__(mcls, name, bases, namespace, **kwargs):
            log.append(("new", name, sorted(namespace)))
            namespace["added"] = 2
            cls = super().__new__(mcls, name, bases, namespace)
            cls.after = 3
            return cls

        def __init__(cls, name, bases, namespace, **kwargs):
            log.append(("init", cls.__name__, kwargs))
            super().__init__(name, bases, namespace)

        def __call__(cls, *args):
            log.append(("call", args))
            return super().__call__(*args)

        def of_meta(cls):
            return cls.__name__

    class A(metaclass=Meta, key=1):
        def __init__(self, y):
            self.y = y

    class B(A):
        pass

    made = B(x)
    facts = (type(B) is Meta, B.prepared, B.added, B.after, B.of_meta(), isinstance(B, Meta), type(A).__name__)
    return made.y + 1, log, facts, B.__mro__[1] is A


@check()
def test_metaclass_conflicts_raise(x):
    class M1(type):
        pass

    class M2(type):
        pass

    class A(metaclass=M1):
        pass

    class B(metaclass=M2):
        pass

    try:

        class C(A, B):
            pass

    except TypeError as error:
        return x + 1, str(error)


@check()
def test_entries_of_bases(x):
    log = []

    class Base:
        pass

    class Alias:
        def __mro_entries__(self, bases):
            log.append(len(bases))
            return (Base,)

    alias = Alias()

    class C(alias, Base if False else object):
        pass

    return x + 1, log, C.__mro__[1] is Base, C.__orig_bases__[0] is alias, C.__bases__ == (Base, object)


@check()
def test_a_namespace_in_python(x):
    log = []

    class Namespace(dict):
        def __setitem__(self, key, value):
            log.append(key)
            dict.__setitem__(self, key, value)

        def __missing__(self, key):
            if key.startswith("__"):
                raise KeyError(key)
            return key * 2

    class Meta(type):
        @classmethod
        def __prepare__(mcls, name, bases):
            return Namespace()

        def __new__(mcls, name, bases, namespace):
            return type.__new__(mcls, name, bases, dict(namespace))

    class C(metaclass=Meta):
        one = 1
        two = unknown  # noqa: F821

    return x + C.one, C.two, log


@check()
def test_type_called_with_three_arguments(x):
    def get(self):
        return self.value

    C = type("C", (), {"value": 3, "get": get})
    D = types.new_class("D", (C,), {}, lambda namespace: namespace.update(more=4))
    return x + D().get(), D.more, C.__name__, C.__module__, C.__qualname__, D.__mro__[1] is C, type(D()) is D


@check()
def test_abstract_classes(x):
    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self): ...

        @property
        @abc.abstractmethod
        def name(self): ...

    class Square(Shape):
        def __init__(self, side):
            self.side = side

        def area(self):
            return self.side * self.side

        @property
        def name(self):
            return "square"

    try:
        Shape()
    except TypeError as error:
        text = str(error)
    square = Square(x)
    return square.area(), square.name, text, sorted(Shape.__abstractmethods__), Square.__abstractmethods__, isinstance(square, Shape)


@check()
def test_slots(x):
    class Point:
        __slots__ = ("a", "__b")

        def __init__(self, a, b):
            self.a, self.__b = a, b

        def both(self):
            return self.a + self.__b

    class More(Point):
        __slots__ = ["c"]

    point = More(x, 2)
    point.c = 5
    try:
        point.d = 1
    except AttributeError as error:
        text = str(error)
    return point.both(), point.c, text, More.__slots__, Point.__slots__


def _slotted(x):
    class Point:
        __slots__ = ("a",)

    point = Point()
    point.a = x + 1
    return Point, point


def test_slots_of_an_escaping_instance():
    import torch

    import framejit

    compiled = framejit.compile(_slotted, backend="eager")
    for _ in range(3):
        cls, point = compiled(torch.ones(2))
        assert type(point) is cls and point.a.tolist() == [2.0, 2.0] and not hasattr(point, "__dict__")


@check()
def test_errors_of_set_name(x):
    class Bad:
        def __set_name__(self, owner, name):
            raise ValueError(name)

    try:

        class C:
            attr = Bad()

    except (RuntimeError, ValueError) as error:
        return x + 1, type(error), error.args, type(error.__cause__)


@check()
def test_keywords_that_nobody_takes(x):
    try:

        class C(tag=1):
            pass

    except TypeError as error:
        return x + 1, str(error)


@check()
def test_a_function_as_metaclass(x):
    def meta(name, bases, namespace, **kwargs):
        return [name, bases, sorted(namespace), kwargs]

    class C(metaclass=meta, key=2):
        a = 1

    return x + 1, C


@check()
def test_data_descriptors_and_wrappers(x):
    class Typed:
        def __init__(self, kind):
            self.kind = kind

        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            return getattr(instance, self.name)

        def __set__(self, instance, value):
            if not isinstance(value, self.kind):
                raise TypeError(self.name)
            setattr(instance, self.name, value)

        def __delete__(self, instance):
            delattr(instance, self.name)

    class C:
        size = Typed(int)
        half = functools.partialmethod(lambda self, a, b: self.size * a + b, 2)

        def __init__(self, size):
            self.size = size

        @classmethod
        def make(cls):
            return cls(4)

        def __class_getitem__(cls, item):
            return (cls.__name__, item)

    made = C.make()
    try:
        made.size = "no"
    except TypeError as error:
        text = str(error)
    before = made.size
    del made.size
    return x + before, text, hasattr(made, "size"), C.size.kind is int, vars(made), C[3], C(3).half(1)


def _escaping(x):
    registry = {}

    class Meta(type):
        def __init__(cls, name, bases, namespace):
            registry[name] = cls

    class Hooked:
        def __init_subclass__(cls, **kwargs):
            registry["hook " + cls.__name__] = cls

    class Named:
        def __set_name__(self, owner, name):
            registry.setdefault("named", []).append((owner, name))

    class A(Hooked, metaclass=Meta):
        attr = Named()

    class B(A):
        def kind(self):
            return __class__

        def up(self):
            return super().kind if hasattr(super(), "kind") else "none"

    return registry, A, B, B(), x + 1


def test_escaping_classes_are_made_without_running_hooks_again():
    import torch

    import framejit

    events = []
    unsubscribe = framejit.events.subscribe(events.append, framejit.events.Break)
    compiled = framejit.compile(_escaping, backend="eager")
    try:
        seen = []
        for _ in range(3):
            registry, a, b, made, _ = compiled(torch.ones(2))
            assert list(registry) == ["named", "hook A", "A", "hook B", "B"]
            assert registry["A"] is a and registry["B"] is b and registry["hook B"] is b and b.__bases__ == (a,)
            assert registry["named"] == [(a, "attr")] and type(made) is b and made.kind() is b and made.up() == "none"
            assert list(vars(a)) == ["__module__", "__qualname__", "attr", "__doc__"] or "attr" in vars(a)
            assert [cls.__name__ for cls in b.__mro__] == ["B", "A", "Hooked", "object"]
            seen.append(a)
        assert len(set(seen)) == 3
    finally:
        unsubscribe()
    assert not events, [str(event) for event in events]


@check()
def test_abstract_checks_of_captured_classes(x):
    log = []

    class Sized(abc.ABC):
        @classmethod
        def __subclasshook__(cls, other):
            log.append(other.__name__)
            if cls is Sized:
                return any("size" in vars(base) for base in other.__mro__) or NotImplemented
            return NotImplemented

    class Has:
        size = 3

    class Not:
        pass

    class Later:
        pass

    class Other(abc.ABC):
        pass

    Other.register(Later)
    facts = [issubclass(Has, Sized), isinstance(Not(), Sized), isinstance(Has(), Sized), issubclass(Later, Other), isinstance(Not(), Other)]
    return x + 1, facts, log, isinstance(Later(), (Sized, Other))


@check()
def test_dir_and_mro(x):
    class A:
        one = 1

    class B(A):
        def __init__(self):
            self.two = 2

        @property
        def three(self):
            return 3

    class C(B):
        def __dir__(self):
            return ["z", "a"]

    return x + 1, dir(B()), dir(B), dir(C()), [cls.__name__ for cls in B.mro()], [cls.__name__ for cls in A.__subclasses__()], sorted(vars(A))


def test_stand_ins_are_nobodys_subclasses():
    import torch

    import framejit

    class Base:
        pass

    def make(x):
        class Made(Base):
            pass

        return Made().__class__.__name__, x + 1

    compiled = framejit.compile(make, backend="eager")
    for _ in range(2):
        assert compiled(torch.ones(2))[0] == "Made"
        assert Base.__subclasses__() == []


@check()
def test_a_metaclass_whose_call_is_a_class(x):
    class Meta(type):
        __call__ = dict

    class C(metaclass=Meta):
        pass

    return x + 1, C(a=2)


def _rewritten(x):
    class C:
        a = 1
        b = 2

    C.d = C()
    C.a = [C]
    del C.b
    C.b = 4
    C.e = 1
    del C.e
    C.__qualname__ = "Renamed"
    C.__doc__ = "text"
    setattr(C, "__len__", lambda self: 7)
    C.f = C.d
    return C, C.d, x + 1


def test_classes_that_are_written_to_leave_as_they_are():
    import torch

    import framejit

    compiled = framejit.compile(_rewritten, backend="eager")
    expected = _rewritten(torch.ones(2))[0]
    for _ in range(3):
        cls, made, _ = compiled(torch.ones(2))
        assert [name for name in vars(cls)] == [name for name in vars(expected)]
        assert cls.d is made and type(made) is cls and cls.a == [cls] and cls.b == 4 and len(made) == 7 and cls.f is made
        assert cls.__qualname__ == "Renamed" and cls.__doc__ == "text" and not hasattr(cls, "e")


def _generic(x):
    from typing import Generic, TypeVar

    T = TypeVar("T")

    class B(Generic[T]):
        def __init__(self, value: T):
            self.value = value

    class C(B[int]):
        pass

    return B, C, C(3).value, x + 1


def test_generic_classes_leave():
    import typing

    import torch

    import framejit

    events = []
    unsubscribe = framejit.events.subscribe(events.append, framejit.events.Break)
    compiled = framejit.compile(_generic, backend="eager")
    try:
        for _ in range(3):
            b, c, value, _ = compiled(torch.ones(2))
            assert value == 3 and c.__bases__ == (b,) and b.__bases__ == (typing.Generic,) and len(b.__parameters__) == 1
            assert c.__orig_bases__[0].__origin__ is b and c.__parameters__ == () and b[str]("a").value == "a"
    finally:
        unsubscribe()
    assert not events, [str(event) for event in events]


NAMELESS: dict = {"M": type("M", (type,), {}), "Hooked": type("Hooked", (), {"__init_subclass__": classmethod(lambda cls: None)})}
exec("""
def classes_without_a_module(x):
    made = type("A", (), {"n": 1}), type("B", (Hooked,), {}), M("C", (), {}), type("D", (Exception,), {})
    return x + 1, [hasattr(each, "__module__") for each in made], [repr(each) for each in made], [sorted(vars(each)) for each in made]
""", NAMELESS)
test_classes_where_the_globals_have_no_name = check()(NAMELESS["classes_without_a_module"])
