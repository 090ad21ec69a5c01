"""Whole random programs: a prelude, classes, helper functions, `main`, and `make` for its arguments."""

from __future__ import annotations

import ast

from fuzz import classes, containers, functions, library, tensors
from fuzz.expressions import LITERALS, Expressions
from fuzz.scope import Scope, Source, indent
from fuzz.statements import KINDS, Statements

assert containers and functions and tensors  # imported for their rows
PRELUDE = """
import abc, bisect, collections, contextlib, copy, dataclasses, enum, functools, itertools, math, operator, random, statistics, string, textwrap
import torch
LOG, KEPT = [], []
G_INT, G_LIST, G_DICT = 3, [1, 2], {"a": 1}

class Custom(Exception):
    pass

class Box:
    def __init__(self):
        self.value = 1
        self.items = []
        self.tensor = None

BOX = Box()

@dataclasses.dataclass
class Point:
    a: int
    b: int = 0

Pair = collections.namedtuple("Pair", "first second")

class Step:
    def __init__(self, number):
        self.number = number
    def __await__(self):
        LOG.append(("step", self.number))
        got = yield self.number
        return got or 0
    async def __aenter__(self):
        return self.number
    async def __aexit__(self, kind, error, tb):
        LOG.append(kind and kind.__name__)
        return False

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
        self.scale = torch.nn.Parameter(torch.ones(4))
        self.register_buffer("seen", torch.zeros(()))
        self.calls, self.label = 0, ""
        with torch.no_grad():
            self.inner.weight.copy_(torch.arange(16.0).reshape(4, 4) % 3 - 1)
            self.inner.bias.zero_()
    def forward(self, x):
        self.calls += 1
        if self.training:
            self.seen += 1
        return self.inner(x) * self.scale

NET = Net()

class Field:
    def __init__(self, start):
        self.start = start
    def __set_name__(self, owner, name):
        self.name = "_" + name
    def __get__(self, obj, owner=None):
        return self if obj is None else obj.__dict__.get(self.name, self.start)
    def __set__(self, obj, value):
        LOG.append(("set", value))
        obj.__dict__[self.name] = value

class Lazy:
    def __init__(self, start):
        self.start = start
    def __get__(self, obj, owner=None):
        LOG.append("lazy")
        return self.start

class Manager:
    def __init__(self, number, swallow):
        self.number, self.swallow = number, swallow
    def __enter__(self):
        LOG.append(("enter", self.number))
        return self
    def __exit__(self, kind, error, tb):
        LOG.append(("exit", kind.__name__ if kind else None))
        return self.swallow

@contextlib.contextmanager
def managed(number):
    LOG.append(number)
    try:
        yield number
    finally:
        LOG.append(-number)

def count_up(n):
    for k in range(n):
        yield k
    return n

def note(value):
    LOG.append(value)
    return value

def fail(n):
    raise Custom(n)

def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        LOG.append(function.__name__)
        return function(*args, **kwargs)
    return wrapper

def twice(times):
    def decorate(function):
        return lambda *args, **kwargs: sum(function(*args, **kwargs) for _ in range(times))
    return decorate
"""
MAKE = """
def make(v):
    x = torch.arange(4.0) - v
    y = torch.ones(4) * (v + 1)
    items, d = [v, 1, 2], {"a": v + 1, "b": 2}
    n, f, s, flag = v + 1, 0.5 + v, "ab" + "c" * v, v % 2 == 0
    nested = [items, [v]] if v == 3 else [[1], [v]]
    obj = {cls}(v + 2)
    if v == 2:
        n, f, items, s = True, 2.0, [], ""
    elif v == 3:
        y, d = x, {"b": v}
    elif v == 4:
        x, n = x.double(), 10 ** 3
    elif v == 5:
        y = torch.arange(8.0)[::2] if not {grad} else torch.ones(4, requires_grad=True)
    return x, y, n, f, s, flag, items, d, nested, obj
"""
VARIANTS = 6
PARAMETERS = [
    ("x", "tensor"), ("y", "tensor"), ("n", "int"), ("f", "float"), ("s", "str"), ("flag", "bool"), ("items", "list"), ("d", "dict"), ("nested", "nested"),
]  # fmt: skip


def program(seed: int) -> str:
    """The source of the program of this seed: `main(*make(variant))` is to be run."""
    for attempt in range(50):
        text = _program(Source(seed * 64 + attempt))
        try:
            compile(text, "<fuzz>", "exec")
        except SyntaxError:
            continue
        return ast.unparse(ast.parse(text))
    raise RuntimeError(f"seed {seed} makes no program")


def _program(source: Source) -> str:
    expressions = Expressions(source)
    expressions.extra["int"] = []
    gen = Statements(source, expressions)
    lines: list[str] = []
    names = []
    for _ in range(source.random.randint(1, 2)):
        templates: dict[str, list[str]] = {}
        simple: list[str] = []
        base = None
        for _ in range(source.random.randint(1, 2)):
            name = source.fresh("C")
            lines += classes.make(gen, name, base, templates, simple)
            base = name
        classes.register(gen, name, templates, simple)
        names.append(name)
    gen.size = 0
    for _ in range(source.random.randint(0, 2)):
        lines += _helper(gen)
    scope = Scope()
    scope.own = [*PARAMETERS, ("obj", names[0])]
    body: list[str] = []
    for _ in range(source.random.randint(14, 20)):
        body += _kept_going(gen, scope)
    while gen.size < 30:
        body += _kept_going(gen, scope)
    for name in names[1:]:
        made = source.fresh("o")
        body.insert(0, f"{made} = {name}({source.small()})")
        scope.own.append((made, name))
    kept = [name for name, _ in scope.own if name.isidentifier()]
    body.append(f"return [{', '.join(source.random.sample(kept, min(len(kept), 12)))}]")
    parameters = ", ".join([*(name for name, _ in PARAMETERS), "obj"])
    lines += [f"def main({parameters}):", *indent(body)]
    grad = source.chance(0.15)
    return PRELUDE + library.PRELUDE + "\n".join(lines) + "\n" + MAKE.replace("{cls}", names[0]).replace("{grad}", str(grad))


def _kept_going(gen: Statements, scope: Scope) -> list[str]:
    """A statement of `main`, mostly one whose exceptions do not end the program."""
    before = len(scope.own)
    lines = gen.statement(scope, 3)
    if gen.source.chance(0.12):
        return lines
    made = [f"{name} = {LITERALS[kind](gen.source) if kind in LITERALS else kind + '()'}" for name, kind in scope.own[before:]]
    return [
        *made,
        "try:",
        *indent(lines),
        "except Exception as caught:",
        *indent(["LOG.append((type(caught).__name__, str(caught)))"]),
    ]


def _helper(gen: Statements) -> list[str]:
    """A function of the module, and its call as an expression."""
    name = gen.source.fresh("helper")
    kinds = [gen.source.weighted(KINDS) for _ in range(gen.source.random.randint(1, 3))]
    result = gen.source.weighted(KINDS)
    scope = Scope()
    scope.returns = False
    scope.own = [(f"q{index}", kind) for index, kind in enumerate(kinds)]
    body = gen.body(scope, 2, gen.source.random.randint(1, 4))
    body.append(f"return {gen.e(result, scope)}")
    gen.expression.extra.setdefault(result, []).append(f"{name}({', '.join('@' + kind for kind in kinds)})")
    return [f"def {name}({', '.join(name for name, _ in scope.own[: len(kinds)])}):", *indent(body)]
