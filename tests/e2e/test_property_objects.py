"""Properties of classes defined in captured code: their texts, and whether they are abstract."""

from support import check


@check()
def test_texts_of_properties(x):
    class Base:
        foo = property(doc="hello")

        @foo.getter
        def foo(self):
            return 1

        @foo.setter
        def foo(self, value):
            self.value = value

    class Derived(Base):
        @Base.foo.deleter
        def foo(self):
            """own"""

    def shown(self):
        """doc"""

    first = property(shown)
    return x + Base().foo, Base.foo.__doc__, Derived.foo.__doc__, first.__doc__, first.getter(lambda self: 1).__doc__


@check()
def test_abstract_properties(x):
    seen = []
    for value in (True, False, [], [1], "", "1"):

        def getter(self):
            return 1

        getter.__isabstractmethod__ = value

        class Holder:
            foo = property(getter)

        seen.append(Holder.foo.__isabstractmethod__)
    return x + 1, seen
