"""Random classes."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.scope import Scope, indent
from fuzz.statements import Statements

Feature = Callable[[Statements], tuple[list[str], dict[str, list[str]], list[str]]]
"""Lines of the class body; expression templates by kind and simple statements that use an object `@C`."""


def _method(gen: Statements, head: str, own: list[tuple[str, str]], result: str, count: int = 1) -> list[str]:
    scope = Scope()
    scope.own = own
    scope.returns = False
    body = gen.body(scope, 1, gen.source.random.randint(0, count))
    return [head, *indent([*body, f"return {gen.expression.fill(result, scope, 2)}"])]


def features(gen: Statements) -> dict[str, Feature]:
    """Makers of class features by name."""
    r = gen.source
    pick = r.pick

    def method() -> tuple[list[str], dict[str, list[str]], list[str]]:
        lines = _method(gen, "def m(self, k, *, scale=1):", [("k", "int"), ("self.a", "int")], "self.a + k * scale + @int", 3)
        return lines, {"int": ["@C.m(@int)", "@C.m(@int, scale=2)", "type(@C).m(@C, @int)"]}, ["LOG.append(@C.m(@int))"]

    def prop() -> tuple[list[str], dict[str, list[str]], list[str]]:
        lines = ["@property", *_method(gen, "def p(self):", [("self.a", "int")], "self.a + @int")]
        lines += [
            "@p.setter",
            "def p(self, value):",
            *indent([pick(["self.a = value", "LOG.append(value)", "self.a = value % 50; note(value)"])]),
        ]
        return lines, {"int": ["@C.p"]}, ["@C.p = @int", "@C.p += 1"]

    def getattr_() -> tuple[list[str], dict[str, list[str]], list[str]]:
        lines = [
            "def __getattr__(self, name):",
            *indent(
                ["if name.startswith('z'):", *indent(["LOG.append(name)", "return len(name)"]), "raise AttributeError(name)"]
            ),
        ]
        return (
            lines,
            {"int": ["@C.zed", "getattr(@C, 'zz', 3)", "getattr(@C, 'other', @int)"], "bool": ["hasattr(@C, 'nope')"]},
            [],
        )

    def setattr_() -> tuple[list[str], dict[str, list[str]], list[str]]:
        lines = [
            "def __setattr__(self, name, value):",
            *indent([pick(["LOG.append(name)", "G_LIST.append(len(name)); del G_LIST[5:]"]), "super().__setattr__(name, value)"]),
        ]
        return lines, {}, []

    def arithmetic() -> tuple[list[str], dict[str, list[str]], list[str]]:
        lines = [
            "def __add__(self, other):",
            *indent(
                [
                    pick(["if not isinstance(other, int): return NotImplemented", "LOG.append('add')"]),
                    "return self.a + (other if isinstance(other, int) else 1)",
                ]
            ),
        ]
        lines += ["def __radd__(self, other):", *indent([pick(["LOG.append('radd')", "pass"]), "return other - self.a"])]
        lines += (
            ["def __iadd__(self, other):", *indent(["self.a = (self.a + other) % 60", "return self"])] if r.chance(0.6) else []
        )
        lines += [
            "def __mul__(self, other):",
            *indent(["return NotImplemented"]),
            "def __neg__(self):",
            *indent(["return -self.a"]),
        ]
        return (
            lines,
            {"int": ["(@C + @int)", "(@int + @C)", "(-@C)", "sum([@C], @int)"]},
            ["@=C += @int", "LOG.append(@C + @C)"] if "def __iadd__(self, other):" in lines else ["LOG.append(@C + 1)", "@C * 2"],
        )

    def compare() -> tuple[list[str], dict[str, list[str]], list[str]]:
        lines = [
            "def __eq__(self, other):",
            *indent(
                [
                    pick(["LOG.append('eq')", "pass"]),
                    "return isinstance(other, type(self)) and self.a == other.a or NotImplemented",
                ]
            ),
        ]
        lines += ["def __hash__(self):", *indent([pick(["LOG.append('hash')", "pass"]), "return hash(self.a)"])]
        lines += ["def __lt__(self, other):", *indent(["return self.a < (other if isinstance(other, int) else other.a)"])]
        return (
            lines,
            {
                "bool": ["(@C == @C)", "(@C != @int)", "(@C < @C)", "(@int > @C)", "(@C in [@C, 3])"],
                "int": [
                    "len({@C: 1, @C: 2})",
                    "{@C: @int}.get(@C, 0)",
                    "sorted([@C, @C])[0].a",
                    "len({@C, @C})",
                    "max(@C, @C).a",
                ],
            },
            [],
        )

    def container() -> tuple[list[str], dict[str, list[str]], list[str]]:
        lines = [
            "def __len__(self):",
            *indent(["return abs(self.a) % 5"]),
            "def __getitem__(self, key):",
            *indent(
                [
                    pick(["LOG.append(key)", "pass"]),
                    "if isinstance(key, int) and key >= 3: raise IndexError(key)",
                    "return self.b.get(key, 1) if not isinstance(key, slice) else 7",
                ]
            ),
        ]
        lines += ["def __setitem__(self, key, value):", *indent(["self.b[key] = value"])]
        lines += ["def __contains__(self, key):", *indent(["return key in self.b"])] if r.chance(0.5) else []
        lines += (
            ["def __iter__(self):", *indent([pick(["yield from self.b.values()", "return iter([self.a, 2])", "yield self.a"])])]
            if r.chance(0.5)
            else []
        )
        return (
            lines,
            {
                "int": ["len(@C)", "@C[@int % 3]", "sum(@C)", "@C['a']", "@C[1:2]"],
                "bool": ["bool(@C)", "(@int in @C)"],
                "list": ["list(@C)", "[*@C]", "[k + 1 for k in @C]"],
            },
            ["@C[@int] = @int", "@C['a'] += 1"],
        )

    def call() -> tuple[list[str], dict[str, list[str]], list[str]]:
        lines = _method(
            gen, "def __call__(self, x, *rest):", [("x", "tensor"), ("self.a", "int")], "x * 0.5 + self.a + len(rest)", 2
        )
        return lines, {"tensor": ["@C(@tensor)", "@C(@tensor, 1, 2)", "next(map(@C, [@tensor]))"]}, ["BOX.tensor = @C(@tensor)"]

    def manager() -> tuple[list[str], dict[str, list[str]], list[str]]:
        lines = [
            "def __enter__(self):",
            *indent(["self.a += 1", "return self"]),
            "def __exit__(self, kind, error, tb):",
            *indent(["LOG.append(kind and kind.__name__)", f"return {pick(['True', 'False', 'self.a > 2'])}"]),
        ]
        return lines, {}, ["with @C: LOG.append(@int)", "with @C as manager: raise ValueError(@int)"]

    def alternatives() -> tuple[list[str], dict[str, list[str]], list[str]]:
        lines = [
            "@classmethod",
            "def make(cls, k):",
            *indent(["LOG.append(cls.__name__)", "return cls(k)"]),
            "@staticmethod",
            *_method(gen, "def static(k):", [("k", "int")], "k + @int"),
        ]
        lines += [f"shared = {pick(['[1]', '[]', 'G_LIST'])}", f"limit = {r.small()}"]
        return (
            lines,
            {"int": ["@C.static(@int)", "@C.make(@int).a", "len(@C.shared)", "@C.limit", "type(@C).limit"]},
            ["@C.shared.append(@int)", "del @C.shared[3:]", "type(@C).limit += 1", "@C.limit = @int"],
        )

    def descriptor() -> tuple[list[str], dict[str, list[str]], list[str]]:
        return [f"d = {pick(['Field', 'Lazy'])}({r.small()})"], {"int": ["@C.d"]}, ["@C.d = @int", "LOG.append(@C.d)"]

    def text() -> tuple[list[str], dict[str, list[str]], list[str]]:
        lines = ["def __repr__(self):", *indent(["return f'<{type(self).__name__} {self.a}>'"])]
        lines += [
            "def __format__(self, spec):",
            *indent(["return spec + str(self.a)"]),
            "def __bool__(self):",
            *indent([pick(["LOG.append('bool')", "pass"]), "return self.a > 1"]),
            "def __index__(self):",
            *indent(["return abs(self.a) % 2"]),
        ]
        return (
            lines,
            {
                "str": ["repr(@C)", "str(@C)", "f'{@C:q}{@C!r}'"],
                "bool": ["(not @C)", "(@C and True)", "bool(@C)"],
                "int": ["@list[@C]", "(1 if @C else 2)", "operator.index(@C)"],
            },
            ["if @C: LOG.append(1)", "LOG.append(f'{@C}')"],
        )

    return {
        "method": method, "prop": prop, "getattr": getattr_, "setattr": setattr_, "arithmetic": arithmetic, "compare": compare, "container": container, "call": call,
        "manager": manager, "alternatives": alternatives, "descriptor": descriptor, "text": text,
    }  # type: ignore[return-value]  # fmt: skip


def make(gen: Statements, name: str, base: str | None, inherited: dict[str, list[str]], simple: list[str]) -> list[str]:
    """The lines of a class; its uses are added to what the generator knows."""
    r = gen.source
    templates = {kind: list(texts) for kind, texts in inherited.items()}
    statements = list(simple)
    lines: list[str] = []
    if base is None:
        init = ["self.a = k", "self.b = {'a': k} if b is None else b"]
        if r.chance(0.3):
            lines += ["__slots__ = ('a', 'b', '_d', '__dict__')"] if r.chance(0.5) else []
        lines += [
            "def __init__(self, k=1, b=None):",
            *indent([*init, *([r.pick(["LOG.append(k)", "self.extra = [k]", "note(k)"])] if r.chance(0.4) else [])]),
        ]
    elif r.chance(0.6):
        lines += [
            "def __init__(self, k=2, *rest, **more):",
            *indent(
                [
                    r.pick(
                        [
                            "super().__init__(k, *rest, **more)",
                            f"super({name}, self).__init__(k + 1)",
                            f"{base}.__init__(self, k)",
                        ]
                    ),
                    r.pick(["self.c = [k]", "self.a -= 1", "pass"]),
                ]
            ),
        ]
    chosen = r.random.sample(sorted(features(gen)), r.random.randint(2, 5))
    for feature in chosen:
        body, expressions, simples = features(gen)[feature]()  # type: ignore[call-arg]
        lines += body
        for kind, texts in expressions.items():
            templates.setdefault(kind, []).extend(texts)
        statements += simples
    if base is not None and "@C.m(@int)" in inherited.get("int", ()) and "method" not in chosen and r.chance(0.6):
        lines += [
            "def m(self, k, **more):",
            *indent([r.pick(["LOG.append('sub')", "k += 1"]), f"return super().m(k, **more) + {r.small()}"]),
        ]
    inherited.clear()
    inherited.update(templates)
    simple[:] = statements
    return [f"class {name}{f'({base})' if base else ''}:", *indent(lines)]


def register(gen: Statements, name: str, templates: dict[str, list[str]], simple: list[str]) -> None:
    """Let expressions and statements use objects of a finished class, as variables of kind `name`."""
    extra = gen.expression.extra
    for kind, texts in templates.items():
        extra.setdefault(kind, []).extend(text.replace("@C", f"@{name}") for text in texts)
    extra[name] = [f"{name}(@int)", f"{name}(@int, @dict)", f"{name}()"]
    extra["int"].append(f"@{name}.a")
    gen.simple += [
        (text.replace("@C", f"@{name}").replace("@=C", f"@={name}"), 0.5)
        for text in [*simple, "@C.a = @int", "@C.a += 1", "@C.b['q'] = @int", "@C.note = @str", "KEPT.append(@C)"]
    ]
