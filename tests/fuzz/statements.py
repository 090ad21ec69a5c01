"""Random statements and function bodies."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.expressions import Expressions
from fuzz.scope import Scope, Source, indent

KINDS = {
    "int": 5, "float": 2, "bool": 1, "str": 2, "list": 3, "dict": 2, "set": 1, "tuple": 1, "nested": 1, "tensor": 4, "itensor": 1, "matrix": 1,
}  # fmt: skip
ERRORS = ("ValueError", "KeyError", "IndexError", "Custom", "TypeError")
Maker = Callable[["Statements", Scope, int], list[str]]
MAKERS: dict[Maker, float] = {}
SIMPLE: list[tuple[str, float]] = [
    ("@=list.append(@int)", 2), ("@=list.extend(@list[:3])", 1), ("@=list.insert(@int, @int)", 1), ("@=list.sort()", 1), ("@=list.reverse()", 1),
    ("@=list.pop()", 1), ("@=list[0] = @int", 1), ("@=list[1:2] = @list[:2]", 1), ("del @=list[:1]", 1), ("@=list.remove(@int)", 0.5),
    ("@=list[@int % 2] += @int", 1), ("@=list.clear()", 0.3), ("@=list += [@int]", 1), ("@=list *= 2; del @=list[6:]", 0.3), ("@=list.sort(key=lambda v: -v)", 0.5),
    ("@=dict[@str] = @int", 2), ("@=dict.update(a=@int)", 1), ("@=dict.update(@dict)", 1), ("@=dict.pop(@str, None)", 1), ("@=dict['a'] += 1", 1),
    ("del @=dict['a']", 0.3), ("@=dict.setdefault('q', @int)", 1), ("@=dict |= {'m': @int}", 0.5), ("@=dict.popitem()", 0.3), ("@=dict.clear()", 0.2),
    ("@=set.add(@int)", 1), ("@=set.discard(@int)", 1), ("@=set |= {@int}", 1), ("@=set.update(@list)", 0.5), ("@=set -= {@int}", 0.5),
    ("@=nested.append(@list)", 1), ("@=nested[0].append(@int)", 1), ("@=nested[-1] = @list", 1), ("@=nested.append([@int])", 0.5), ("@=nested[0] += [@int]", 1),
    ("@=int += @int", 2), ("@=int -= 1", 1), ("@=int = @int * 2 % 51", 1), ("@=float *= 0.5", 1), ("@=float += @int", 1), ("@=str += @str[:2]", 1),
    ("@=tuple += (@int,)", 0.5), ("@=bool = not @bool", 0.5), ("@=int |= 3", 0.5), ("@=int ^= @bool", 0.5), ("@=bool &= @bool", 0.5),
    ("@=tensor += @tensor", 1), ("@=tensor += @int", 1), ("@=tensor *= 0.5", 1), ("@=tensor.add_(@tensor)", 1), ("@=tensor.mul_(0.5)", 1), ("@=tensor[0] = @float", 1),
    ("@=tensor[1:3] = @tensor[:2]", 1), ("@=tensor[@int % 4] += 1", 1), ("@=tensor.zero_()", 0.3), ("@=tensor.view(2, 2)[0].add_(1)", 0.7), ("@=tensor[1:] *= 2", 0.7),
    ("@=tensor.copy_(@tensor)", 0.5), ("@=tensor.clamp_(-5, 5)", 0.5), ("@=itensor += 1", 0.7), ("@=itensor[0] = @int", 0.7), ("@=matrix[0] += @tensor", 0.7),
    ("@=tensor.data.add_(1)", 0.1), ("@=matrix.t()[0] = @int", 0.4), ("@=tensor = @tensor.sin(); @=tensor.add_(1)", 0.5),
    ("LOG.append(@int)", 2), ("LOG.append(@str)", 1), ("LOG.append(list(@list))", 1), ("note(@int)", 1), ("note(@bool)", 0.5), ("LOG.append(f'{@list}{@dict}')", 0.5),
    ("G_LIST.append(@int)", 1), ("G_DICT[@str] = @int", 1), ("del G_LIST[4:]", 0.5), ("BOX.value = @int", 0.7), ("BOX.items = @list", 0.4), ("BOX.value += 1", 0.7),
    ("BOX.tensor = @tensor", 0.4), ("LOG.append(BOX.value)", 0.5), ("assert @bool, @str", 0.2), ("raise ValueError(@int)", 0.1), ("@list.append(@int)", 0.5),
    ("@=int, @=list = @int, @list", 1), ("@=int, *@=list = [@int, *@list]", 1), ("@=int, (@=str, @=float) = @int, (@str, @float)", 1),
    ("*@=list, @=int = @tuple + (1,)", 1), ("@=list[0], @=int = @int, @int", 0.7), ("@=list = @=list2 = @list", 1), ("@=int, @=int2 = @int, @int", 1),
    ("(lambda: LOG.append(@int))()", 0.5), ("print(end='')", 0.1), ("@=tensor = @tensor", 1), ("@=list = [@int for _ in range(2)]", 0.5), ("peek(@tensor, @list)", 0.25),
    ("peek(@dict, @int)", 0.15), ("BOX.value, @=int = @int, BOX.value", 0.5), ("setattr(BOX, 'value', @int)", 0.3), ("globals()['G_INT'] = @int", 0.1),
    ("@=list[:] = @list[:5]", 0.5), ("@=nested = [@list for _ in range(2)]", 0.3), ("random.shuffle(@=list)", 0.1), ("torch.manual_seed(@int & 7)", 0.1),
]  # fmt: skip


def maker(weight: float) -> Callable[[Maker], Maker]:
    """Register a compound statement."""

    def register(make: Maker) -> Maker:
        MAKERS[make] = weight
        return make

    return register


class Statements:
    """Builds statements in a scope; `depth` limits nesting."""

    def __init__(self, source: Source, expressions: Expressions) -> None:
        self.source, self.expression = source, expressions
        self.simple = list(SIMPLE)
        self.size = 0

    # -- pieces ---------------------------------------------------------------------------------------------------------

    def e(self, kind: str, scope: Scope) -> str:
        """An expression."""
        return self.expression(kind, scope)

    def kind(self) -> str:
        """A kind of value."""
        kind: str = self.source.weighted(KINDS)
        return kind

    def new(self, scope: Scope, kind: str) -> str:
        """A fresh variable of this scope; the caller assigns it."""
        name = self.source.fresh({"int": "n", "float": "f", "tensor": "x"}.get(kind, kind[0]))
        scope.own.append((name, kind))
        return name

    def target(self, scope: Scope, kind: str) -> str | None:
        """A variable that may be assigned."""
        names = scope.assignable(kind)
        return self.source.pick(names) if names else None

    def block(self, scope: Scope, depth: int, low: int = 1, high: int = 3) -> list[str]:
        """An indented block; names made in it are not used after it."""
        before = list(scope.own)
        lines: list[str] = []
        for _ in range(self.source.random.randint(low, high)):
            lines += self.statement(scope, depth - 1)
        scope.own = before
        return indent(lines)

    def statement(self, scope: Scope, depth: int) -> list[str]:
        """One statement."""
        self.size += 1
        roll = self.source.random.random()
        if depth > 0 and roll < 0.4 and self.size < 120:
            return self.source.weighted(MAKERS)(self, scope, depth)  # type: ignore[no-any-return]
        if roll < 0.6:
            kind = self.kind()
            value = self.e(kind, scope)
            old = self.target(scope, kind) if self.source.chance(0.5) else None
            return [f"{old or self.new(scope, kind)} = {value}"]
        return self.plain(scope)

    def plain(self, scope: Scope) -> list[str]:
        """One of the simple statements whose targets exist."""
        for _ in range(20):
            text = self.source.weighted(dict(self.simple))
            filled = self._targets(text, scope)
            if filled is not None:
                return self.expression.fill(filled, scope, 2).split("; ")
        return [f"LOG.append({self.e('int', scope)})"]

    def _targets(self, text: str, scope: Scope) -> str | None:
        chosen: dict[str, str] = {}
        parts = text.split("@=")
        out = [parts[0]]
        for part in parts[1:]:
            length = next((i for i, char in enumerate(part) if not char.isalnum()), len(part))
            word, rest = part[:length], part[length:]
            name = chosen.get(word) or self.target(scope, word.rstrip("2"))
            if name is None:
                return None
            chosen[word] = name
            out.append(name + rest)
        return "".join(out)

    def body(self, scope: Scope, depth: int, count: int) -> list[str]:
        """The statements of a function."""
        lines: list[str] = []
        for _ in range(count):
            lines += self.statement(scope, depth)
        return lines

    def failing(self, scope: Scope) -> str:
        """A statement that may raise."""
        error = self.source.pick(ERRORS)
        return self.source.pick([
            f"raise {error}({self.e('int', scope)})", f"if {self.e('bool', scope)}: raise {error}({self.e('str', scope)}, {self.e('int', scope)})",
            f"LOG.append({self.e('list', scope)}[{self.e('int', scope)}])", f"LOG.append({self.e('dict', scope)}[{self.e('str', scope)}])",
            f"LOG.append({self.e('int', scope)} // {self.e('int', scope)})", f"LOG.append({self.e('int', scope)} + {self.e('str', scope)})",
            f"LOG.append(int({self.e('str', scope)}))", f"{self.e('tensor', scope)}.view(3, 3)", f"LOG.append(next(iter({self.e('list', scope)})))",
            f"{self.e('list', scope)}.index(77)", "BOX.missing", f"fail({self.e('int', scope)})", f"{self.e('tensor', scope)} + torch.ones(3)",
            f"a, b = {self.e('list', scope)}", f"LOG.append(None.{self.source.pick(['foo', 'bar'])})", "undefined_name", "(lambda a: a)()", f"{self.e('int', scope)}()",
        ])  # fmt: skip


# -- control flow -------------------------------------------------------------------------------------------------------


@maker(3)
def _if(gen: Statements, scope: Scope, depth: int) -> list[str]:
    test = (
        gen.e("bool", scope)
        if gen.source.chance(0.85)
        else gen.source.pick([gen.e("int", scope), gen.e("list", scope), gen.e("str", scope)])
    )
    lines = [f"if {test}:", *gen.block(scope, depth)]
    if gen.source.chance(0.3):
        lines += [f"elif {gen.e('bool', scope)}:", *gen.block(scope, depth)]
    if gen.source.chance(0.5):
        lines += ["else:", *gen.block(scope, depth)]
    return lines


@maker(0.3)
def _if_tensor(gen: Statements, scope: Scope, depth: int) -> list[str]:
    return [
        f"if {gen.e('tensor', scope)}.sum() > {gen.e('int', scope)}:",
        *gen.block(scope, depth),
        "else:",
        *gen.block(scope, depth),
    ]


def _loop_body(gen: Statements, scope: Scope, depth: int) -> list[str]:
    scope.loops += 1
    lines = gen.block(scope, depth)
    if gen.source.chance(0.3):
        lines += indent([f"if {gen.e('bool', scope)}: {gen.source.pick(['break', 'continue'])}"])
        lines += gen.block(scope, depth, 1, 1)
    scope.loops -= 1
    return lines


@maker(4)
def _for(gen: Statements, scope: Scope, depth: int) -> list[str]:
    before = list(scope.own)
    header = gen.source.pick([
        ("int", "for {0} in range(3)"), ("int", "for {0} in @list[:4]"), ("str", "for {0}, {1} in list(@dict.items())[:3]"), ("int", "for {0}, {1} in enumerate(@list[:3])"),
        ("int", "for {0}, {1} in zip(@list[:3], @tuple)"), ("str", "for {0} in @str[:3]"), ("list", "for {0} in @nested[:3]"), ("tensor", "for {0} in [@tensor, @tensor]"),
        ("int", "for {0} in count_up(@int % 4)"), ("int", "for {0} in reversed(@list[:3])"), ("int", "for {0} in itertools.chain(@list[:2], @tuple[:2])"),
        ("str", "for {0} in sorted(@dict)[:3]"), ("int", "for {0} in ({1} + 1 for {1} in @list[:3])"), ("int", "for {0} in map(abs, @list[:3])"), ("int", "for {0} in iter(lambda: len(LOG) % 3, 0)"),
    ])  # fmt: skip
    kind, text = header
    if "iter(lambda" in text:
        text = "for {0} in list(zip(iter(lambda: len(LOG) % 3, 0), range(3)))"
        kind = "tuple"
    iterable = gen.expression.fill(text, scope, 2)
    names = [gen.source.fresh("i"), gen.source.fresh("j")]
    scope.own.append((names[0], kind))
    if "{0}, {1}" in text:
        scope.own.append((names[1], "int"))
    lines = [iterable.replace("{0}", names[0]).replace("{1}", names[1]) + ":", *_loop_body(gen, scope, depth)]
    scope.own = before
    if gen.source.chance(0.25):
        lines += ["else:", *gen.block(scope, depth)]
    return lines


@maker(1)
def _while(gen: Statements, scope: Scope, depth: int) -> list[str]:
    name = gen.source.fresh("w")
    lines = [
        f"{name} = {gen.source.small(1, 4)}",
        f"while ({name} := {name} - 1) >= 0 and {gen.e('bool', scope)}:",
        *_loop_body(gen, scope, depth),
    ]
    return lines + (["else:", *gen.block(scope, depth)] if gen.source.chance(0.2) else [])


@maker(4)
def _try(gen: Statements, scope: Scope, depth: int) -> list[str]:
    lines = ["try:", *gen.block(scope, depth)]
    if gen.source.chance(0.75):
        lines += indent([gen.failing(scope)])
    handlers = gen.source.chance(0.9)
    if handlers:
        name = gen.source.fresh("error")
        clause = gen.source.pick(
            [
                "except Exception as {}",
                "except (KeyError, ValueError, TypeError) as {}",
                "except Custom as {}",
                "except LookupError as {}",
            ]
        )
        lines += [
            clause.format(name) + ":",
            *indent(
                [
                    gen.source.pick(
                        [
                            f"LOG.append(type({name}).__name__)",
                            f"LOG.append({name}.args[:1])",
                            f"KEPT.append({name})",
                            "pass",
                            f"LOG.append(str({name}))",
                        ]
                    )
                ]
            ),
        ]
        lines += gen.block(scope, depth, 0, 2) if gen.source.chance(0.7) else []
        if gen.source.chance(0.2):
            lines += indent(
                [
                    gen.source.pick(
                        [
                            "raise",
                            f"raise Custom({name}.args) from {name}",
                            "raise RuntimeError('again')",
                            "raise KeyError(1) from None",
                            f"raise {name}",
                        ]
                    )
                ]
            )
        elif scope.loops and gen.source.chance(0.2):
            lines += indent([gen.source.pick(["continue", "break"])])
        if gen.source.chance(0.3):
            lines += ["except Exception:", *gen.block(scope, depth)]
        if gen.source.chance(0.3):
            lines += ["else:", *gen.block(scope, depth)]
    if not handlers or gen.source.chance(0.4):
        lines += ["finally:", *gen.block(scope, depth, 1, 2)]
        if scope.loops and gen.source.chance(0.1):
            lines += indent([gen.source.pick(["continue", "break"])])
    return lines


@maker(1)
def _guarded(gen: Statements, scope: Scope, depth: int) -> list[str]:
    """An error raised some frames down and caught here."""
    lines = [
        "try:",
        *indent([gen.failing(scope)]),
        "except Exception as caught:",
        *indent(["LOG.append((type(caught).__name__, str(caught.args)[:40]))"]),
    ]
    return lines


@maker(2)
def _with(gen: Statements, scope: Scope, depth: int) -> list[str]:
    name = gen.source.fresh("c")
    manager = gen.source.pick([
        f"Manager({gen.e('int', scope)}, {gen.e('bool', scope)}) as {name}", f"managed({gen.e('int', scope)}) as {name}", "torch.no_grad()", "contextlib.suppress(ValueError, KeyError)",
        f"contextlib.nullcontext({gen.e('int', scope)}) as {name}", "torch.enable_grad()", f"Manager(1, True), managed({gen.e('int', scope)})", "contextlib.ExitStack() as " + name,
    ])  # fmt: skip
    lines = [f"with {manager}:", *gen.block(scope, depth)]
    if "ExitStack" in manager:
        lines[1:1] = indent([f"{name}.callback(LOG.append, {gen.e('int', scope)})", f"{name}.enter_context(managed(2))"])
    if gen.source.chance(0.4):
        lines += indent([gen.failing(scope)])
    if gen.source.chance(0.4) and "Manager" not in manager:
        lines = ["try:", *indent(lines), "except Exception as caught:", *indent(["LOG.append(type(caught).__name__)"])]
    return lines


@maker(2)
def _match(gen: Statements, scope: Scope, depth: int) -> list[str]:
    kind = gen.source.pick(["list", "dict", "int", "tuple", "str", "object"])
    subject = (
        gen.e(kind, scope)
        if kind != "object"
        else gen.source.pick(
            [
                f"Point({gen.e('int', scope)}, {gen.e('int', scope)})",
                "BOX",
                gen.e("nested", scope),
                f"({gen.e('str', scope)}, {gen.e('list', scope)})",
            ]
        )
    )
    patterns = {
        "list": ["[a, *rest]", "[]", "[a, b]", "[1 | 2 as a, *_]"], "dict": ["{'a': a, **rest}", "{'b': b}", "{}"], "int": ["0", "1 | 2", "int() as a if a > 3", "-1"],
        "tuple": ["(a, b)", "(0, *rest)", "tuple()"], "str": ["'a' | 'bc'", "str() as a", "''"], "object": ["Point(a, b)", "Point(a=0)", "Box(value=a)", "[[*a], *_]", "(str() as a, [b, *_])"],
    }[kind]  # fmt: skip
    lines = [f"match {subject}:"]
    for pattern in gen.source.random.sample(patterns, 2):
        names = [
            name
            for name in ("a", "b", "rest")
            if name
            in pattern.replace("tuple", "")
            .replace("value", "")
            .replace("a=", "")
            .replace("'a'", "")
            .replace("'b", "")
            .replace("bc", "")
        ]
        log = f"LOG.append(({pattern!r}, {', '.join(f'str({name})[:20]' for name in names if 'Point(a=' not in pattern)}))"
        lines += indent([f"case {pattern}:", *indent([log]), *gen.block(scope, depth, 0, 2)])
    lines += indent(["case _:", *gen.block(scope, depth, 1, 2)])
    return lines


# -- functions ----------------------------------------------------------------------------------------------------------


@maker(2)
def _closure(gen: Statements, scope: Scope, depth: int) -> list[str]:
    name = gen.source.fresh("inner")
    argument = gen.source.fresh("p")
    inner = Scope(scope)
    inner.own = [(argument, "int")]
    head = []
    shared = scope.assignable("int")
    if shared and gen.source.chance(0.6):
        chosen = gen.source.pick(shared)
        head = [f"nonlocal {chosen}"]
        inner.own.append((chosen, "int"))
    default = f"={gen.e('int', scope)}" if gen.source.chance(0.3) else ""
    body = head + gen.body(inner, min(depth - 1, 2), gen.source.random.randint(1, 3))
    body += [f"return {gen.e('int', inner)}"]
    decorator = [f"@{gen.source.pick(['logged', 'twice(2)', 'functools.lru_cache'])}"] if gen.source.chance(0.2) else []
    lines = [*decorator, f"def {name}({argument}{default}):", *indent(body)]
    result = gen.new(scope, "int")
    calls = gen.source.pick(
        [
            f"{result} = {name}({gen.e('int', scope)})",
            f"{result} = sum({name}(k) for k in range(2))",
            f"{result} = sum([{name}({argument}=k) for k in (1, 2)])",
            f"{result} = sum(map({name}, {gen.e('list', scope)}[:2]))",
        ]
    )
    lines += [calls]
    if gen.source.chance(0.3):
        lines += [f"KEPT.append({name})"]
    return lines


@maker(2)
def _generator(gen: Statements, scope: Scope, depth: int) -> list[str]:
    name, argument = gen.source.fresh("generate"), gen.source.fresh("p")
    inner = Scope(scope, generator=True)
    inner.own = [(argument, "int")]
    body: list[str] = []
    for _ in range(gen.source.random.randint(1, 3)):
        body += gen.statement(inner, min(depth - 1, 1))
        body += gen.source.pick([
            [f"yield {gen.e('int', inner)}"], [f"{argument} = (yield {gen.e('int', inner)}) or {argument}"], [f"yield from {gen.e('list', inner)}[:2]"], [f"{argument} = yield from count_up(2)"],
            ["try:", *indent([f"yield {gen.e('int', inner)}"]), "except ValueError as thrown:", *indent(["LOG.append(str(thrown))", "yield 5"])],
            ["try:", *indent([f"yield {gen.e('int', inner)}"]), "finally:", *indent([f"LOG.append({gen.e('int', inner)})"])],
            ["with managed(1):", *indent([f"yield {gen.e('int', inner)}"])], [f"for k in range(2): yield k + {gen.e('int', inner)}"],
        ])  # fmt: skip
    body += [f"return {gen.e('int', inner)}"] if gen.source.chance(0.3) else []
    lines = [f"def {name}({argument}):", *indent(body)]
    running = gen.source.fresh("it")
    result = gen.source.fresh("out")
    uses = [
        [f"{result} = list({name}({gen.e('int', scope)}))"], [f"{result} = [k * 2 for k in {name}({gen.e('int', scope)})]"], [f"{running} = {name}({gen.e('int', scope)})", f"{result} = [next({running}), *{running}]"],
        [f"{running} = {name}(1)", f"{result} = [next({running})]", "try:", *indent([f"{result}.append({running}.send({gen.e('int', scope)}))"]), "except StopIteration as stop:", *indent(["LOG.append(stop.value)"])],
        [f"{running} = {name}(2)", f"{result} = [next({running}, 0)]", f"{running}.close()"],
        [f"{running} = {name}(2)", f"{result} = [next({running}, 0)]", "try:", *indent([f"{result}.append({running}.throw(ValueError('thrown')))"]), "except (ValueError, StopIteration) as stop:", *indent(["LOG.append(type(stop).__name__)"])],
        [f"{running} = {name}({gen.e('int', scope)})", f"{result} = []", f"for k in {running}:", *indent([f"{result}.append(k)", f"if k == {gen.e('int', scope)}: break"]), *([f"KEPT.append({running})"] if gen.source.chance(0.5) else [])],
        [f"{result} = list(zip({name}(1), {name}(2)))[:3] and [{gen.e('int', scope)}]"], [f"{running} = {name}(0)", f"{result} = [sum({running})]"], [f"{running} = {name}({gen.e('int', scope)})", f"KEPT.append({running})", f"{result} = [next({running}, 1)]"],
    ]  # fmt: skip
    lines += gen.source.pick(uses)
    scope.own.append((result, "list"))
    return lines


@maker(1)
def _global(gen: Statements, scope: Scope, depth: int) -> list[str]:
    name = gen.source.fresh("bump")
    inner = Scope(scope)
    return [
        f"def {name}():",
        *indent(["global G_INT", f"G_INT = (G_INT + {gen.e('int', inner)}) % 31", f"return {gen.e('tensor', inner)}"]),
        f"{gen.new(scope, 'tensor')} = {name}()",
    ]


@maker(0.7)
def _arguments(gen: Statements, scope: Scope, depth: int) -> list[str]:
    name, first, rest, more = (gen.source.fresh(prefix) for prefix in ("f", "p", "args", "kw"))
    inner = Scope(scope)
    inner.own = [(first, "int"), (rest, "tuple"), (more, "dict")]
    signature = gen.source.pick(
        [
            f"{first}, *{rest}, **{more}",
            f"{first}=2, /, *{rest}, **{more}",
            f"*{rest}, {first}=1, **{more}",
            f"{first}, {rest}=(1, 2), *, {more}={{'a': 1}}",
        ]
    )
    call = gen.source.pick(
        [
            f"{name}(1, a=2)",
            f"{name}(*{gen.e('list', scope)}[:2], **{gen.e('dict', scope)})",
            f"{name}({gen.e('int', scope)})",
            f"functools.partial({name}, 1)()",
            f"{name}(*[1, 2], **{{'b': 3}})",
        ]
    )
    body = [
        *gen.body(inner, 1, gen.source.random.randint(0, 2)),
        f"{more}['z'] = {gen.e('int', inner)}",
        f"return {first} + len({rest}) + len({more})",
    ]
    result = gen.source.fresh("n")
    lines = [
        f"def {name}({signature}):",
        *indent(body),
        "try:",
        *indent([f"LOG.append({call})"]),
        "except TypeError as wrong:",
        *indent(["LOG.append(str(wrong))"]),
    ]
    return [f"{result} = 0", *lines]


@maker(0.5)
def _delete(gen: Statements, scope: Scope, depth: int) -> list[str]:
    name = gen.source.fresh("gone")
    return [
        f"{name} = {gen.e(gen.kind(), scope)}",
        f"if {gen.e('bool', scope)}: del {name}",
        "try:",
        *indent([f"LOG.append(type({name}).__name__)"]),
        "except UnboundLocalError as unbound:",
        *indent(["LOG.append(str(unbound))"]),
    ]


@maker(0.7)
def _return(gen: Statements, scope: Scope, depth: int) -> list[str]:
    if not scope.returns or not gen.source.chance(0.5):
        return gen.plain(scope)
    value = gen.e(gen.kind(), scope)
    return gen.source.pick([
        [f"if {gen.e('bool', scope)}: return {value}"], ["try:", *indent([f"if {gen.e('bool', scope)}: return {value}"]), "finally:", *gen.block(scope, depth, 1, 1)],
    ])  # fmt: skip


@maker(0.6)
def _views(gen: Statements, scope: Scope, depth: int) -> list[str]:
    base = gen.e("tensor", scope)
    name, view = gen.source.fresh("base"), gen.source.fresh("view")
    lines = [
        f"{name} = {base}",
        f"{view} = {name}{gen.source.pick(['[1:]', '[:2]', '.view(2, 2)', '.view(4)[::2]', '.reshape(2, 2).t()', '[None]', '.unsqueeze(0)', '.view(2, 2)[0]', '[...]'])}",
    ]
    lines += [
        gen.source.pick(
            [
                f"{view}.add_(1)",
                f"{view} *= 2",
                f"{name}.mul_(0.5)",
                f"{view}[0] = 3",
                f"{name}[1] = {gen.e('float', scope)}",
                f"{view}.zero_()",
            ]
        )
        for _ in range(2)
    ]
    lines += [f"KEPT.append({view})"] if gen.source.chance(0.5) else [f"LOG.append({view}.shape)"]
    scope.own.append((name, "tensor"))
    return lines
