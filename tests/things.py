"""Classes for tests of weak references: an object, and one with the operators of numbers."""


class Thing:
    def __init__(self, value=0):
        self.value = value

    def method(self):
        return self.value

    def __repr__(self):
        return f"Thing({self.value})"


class Num(Thing):
    def __add__(self, o):
        return self.value + (o.value if isinstance(o, Num) else o)

    def __radd__(self, o):
        return o + self.value

    def __iadd__(self, o):
        self.value += o
        return self

    def __bool__(self):
        return bool(self.value)

    def __iter__(self):
        return iter([self.value, 1])

    def __len__(self):
        return 5

    def __getitem__(self, i):
        return i * 2

    def __setitem__(self, i, v):
        self.value = v

    def __contains__(self, i):
        return i == 3

    def __call__(self, *a, **k):
        return (a, k, self.value)

    def __eq__(self, o):
        return isinstance(o, Num) and self.value == o.value

    def __lt__(self, o):
        return self.value < o.value

    def __hash__(self):
        return hash(self.value)

    def __neg__(self):
        return -self.value

    def __index__(self):
        return self.value

    def __str__(self):
        return f"num {self.value}"

    def __repr__(self):
        return f"Num({self.value})"
