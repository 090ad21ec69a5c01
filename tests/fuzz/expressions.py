"""Random expressions, by the kind of value that they give."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.scope import Scope, Source

Rule = Callable[["Expressions", Scope, int], str]
RULES: dict[str, list[Rule]] = {}
LITERALS: dict[str, Callable[[Source], str]] = {
    "int": lambda r: str(r.small()),
    "float": lambda r: r.pick(["0.5", "1.5", "-2.0", "0.0", "3.25", "-0.0"]),
    "bool": lambda r: r.pick(["True", "False"]),
    "str": lambda r: repr(r.pick(["", "a", "bc", "key", "xyz w", "Q7"])),
    "list": lambda r: repr([r.small() for _ in range(r.random.randrange(5))]),
    "dict": lambda r: repr({key: r.small() for key in r.random.sample("abcdk", r.random.randrange(4))}),
    "set": lambda r: repr({r.small() for _ in range(1 + r.random.randrange(3))}),
    "tuple": lambda r: repr(tuple(r.small() for _ in range(r.random.randrange(4)))),
    "nested": lambda r: r.pick(["[[1], [2, 3]]", "[[]]", "[[0]] * 2", "[[i, i + 1] for i in range(2)]"]),
    "tensor": lambda r: r.pick(["torch.ones(4)", "torch.arange(4.0)", "torch.zeros(4)", "torch.tensor([1.0, -2.0, 0.5, 3.0])"]),
    "itensor": lambda r: r.pick(["torch.arange(4)", "torch.tensor([3, 1, 2, 0])", "torch.ones(4, dtype=torch.int64)"]),
    "matrix": lambda r: r.pick(["torch.arange(8.0).reshape(2, 4)", "torch.ones(2, 4)"]),
}


def templates(kind: str, *texts: str) -> None:
    """Rules from texts in which `{kind}` stands for an expression of that kind, and `{0}` for a fresh name."""
    for text in texts:
        RULES.setdefault(kind, []).append(_template(text))


def _template(text: str) -> Rule:
    def rule(gen: Expressions, scope: Scope, depth: int) -> str:
        return gen.fill(text, scope, depth)

    return rule


class Expressions:
    """Builds expressions; the texts below are all that it knows."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.extra: dict[str, list[str]] = {}

    def leaf(self, kind: str, scope: Scope) -> str:
        """A variable of this kind or a literal."""
        names = scope.visible(kind)
        if names and (self.source.chance(0.85) or kind not in LITERALS):
            return self.source.pick(names)
        if kind in LITERALS:
            return LITERALS[kind](self.source)
        extra = self.extra.get(kind)
        return self.fill(self.source.pick(extra), scope, 0) if extra else "None"

    def __call__(self, kind: str, scope: Scope, depth: int = 2) -> str:
        """An expression of this kind, `depth` levels deep at most."""
        if depth <= 0 or self.source.chance(0.3):
            return self.leaf(kind, scope)
        extra = self.extra.get(kind)
        if extra and self.source.chance(0.35):
            return self.fill(self.source.pick(extra), scope, depth)
        if kind not in RULES:
            return self.leaf(kind, scope)
        return self.source.pick(RULES[kind])(self, scope, depth)

    def _hole(self, kind: str, scope: Scope, depth: int, before: str) -> str:
        text = self(kind, scope, depth - 1)
        if "f'" in before:  # until 3.12 the quotes of an f-string cannot stand inside it
            text = text.replace("'", '"')
        return text if text.isidentifier() else f"({text})"

    def fill(self, text: str, scope: Scope, depth: int) -> str:
        """A template with its holes filled; `@kind` is a hole, `$1` a fresh name."""
        out = []
        names: dict[str, str] = {}
        place = 0
        while place < len(text):
            char = text[place]
            if char in "@$":
                end = place + 1
                while end < len(text) and (text[end].isalnum() or text[end] == "_"):
                    end += 1
                word = text[place + 1 : end]
                out.append(
                    names.setdefault(word, self.source.fresh("v"))
                    if char == "$"
                    else self._hole(word, scope, depth, text[:place])
                )
                place = end
            else:
                out.append(char)
                place += 1
        return "".join(out)


templates(
    "int",
    "(@int + @int)", "(@int - @int)", "(@int * @int) % 97", "(-@int)", "(~@int & 31)", "(@int // @int)", "(@int % @int)",
    "(@int | @int) & 255", "(@int ^ @bool)", "(@int >> 1)", "abs(@int)", "len(@list)", "len(@dict)", "len(@str)", "sum(@list)",
    "min(@int, @int)", "max(@list, default=@int)", "@list.count(@int)", "@dict.get(@str, @int)", "int(@float)", "int(@bool)",
    "(@int if @bool else @int)", "(@int and @int)", "(@int or @int)", "next(iter(@list), @int)", "@tensor.ndim", "@tensor.shape[0]",
    "sum($1 * 2 for $1 in @list)", "(lambda $1: $1 + @int)(@int)", "($1 := @int) + $1", "divmod(@int, 3)[1]", "hash(@int) % 11",
    "pow(@int, 2) % 13", "@list[-1]", "@list[@int % 2]", "@tuple[0]", "@dict['a']", "@dict.setdefault('n', @int)", "@list.index(@int)",
    "@dict.pop('k', @int)", "len(@set | @set)", "sum(map(int, @list))", "sum(1 for $1 in @list if $1 > @int)", "round(@float)",
    "functools.reduce(lambda $1, $2: $1 + $2, @list, @int)", "ord(@str[:1] or 'a')", "operator.add(@int, @int)", "@int.bit_length()",
    "getattr(@list, '__len__')()", "max(@list, key=lambda $1: -$1, default=0)", "(*@list, @int)[0]", "G_INT", "len(G_LIST)", "G_DICT['a']",
    "bisect.bisect(sorted(@list), @int)", "math.gcd(@int, 6)", "int(@str or '7', 36) % 50", "len([*@list, *@tuple])", "random.randint(0, 9)",
)  # fmt: skip
templates(
    "float",
    "(@float + @int)", "(@float * 0.5)", "(@float - @float)", "float(@int)", "abs(@float)", "(@int / 4)", "min(@float, 2.5)",
    "math.floor(@float) * 1.0", "round(@float, 1)", "(@float if @bool else @float)", "(@int / @int)", "max(-9.0, min(@float * @float, 9.0))",
    "(@float % 2.0)", "math.sqrt(abs(@float))", "sum([@float, @float])", "random.random()",
)  # fmt: skip
templates(
    "bool",
    "(@int < @int)", "(@int <= @int < @int)", "(@int == @int)", "(not @bool)", "(@bool and @bool)", "(@int in @list)", "(@str in @dict)",
    "(@str == @str)", "bool(@list)", "any(@list)", "all($1 > 0 for $1 in @list)", "isinstance(@int, int)", "(@list == @list)",
    "(@tuple < @tuple)", "(@list is @list)", "(@int is not None)", "(@set <= @set)", "(@dict == @dict)", "callable(len)",
    "(@float > @int)", "(@int not in @set)", "hasattr(@list, 'append')", "@str.startswith('a')", "(@bool == @int)", "(@tensor is @tensor)",
    "(@nested[0] is @nested[-1])", "(@str < @str)", "issubclass(bool, int)", "@tensor.is_contiguous()", "(@bool != @bool)",
)  # fmt: skip
templates(
    "str",
    "(@str + @str)[:12]", "@str.upper()", "f'{@int}'", "f'{@int:03d}|{@str!r:>5}'", "f'{@float:.2f}'", "str(@int)", "repr(@list)[:12]",
    "@str[::-1]", "'-'.join(str($1) for $1 in @list)[:12]", "'%d:%s' % (@int, @str)", "'{}/{}'.format(@int, @bool)", "@str.replace('a', 'b')",
    "(@str if @bool else @str)", "(@str or 'd')", "next(iter(@dict), @str)", "type(@int).__name__", "@str.strip().title()", "@str[:2]",
    "f'{@str}{@int=}'", "','.join(sorted(@dict))", "repr(@float)", "str(@tuple)[:9]", "f'{@int:{@int % 4 + 2}d}'", "@str * 2",
    "''.join(reversed(@str))", "str(@bool)", "chr(97 + @int % 5)", "@str.partition('a')[0]", "@str.center(5, '*')[:7]",
)  # fmt: skip
templates(
    "list",
    "[@int, @int]", "[*@list, @int][:8]", "@list + @list[:3]", "@list[1:]", "@list[::-1]", "sorted(@list)", "[$1 + @int for $1 in @list]",
    "[$1 for $1 in @list if $1 % 2]", "list(range(@int % 4))", "list(@tuple)", "list(@dict.values())", "list(map(lambda $1: $1 * 2, @list))[:6]",
    "list(filter(None, @list))", "[$1 + $2 for $1, $2 in zip(@list, @list)]", "(@list if @bool else @list)", "@list.copy()", "@list * 2 if len(@list) < 4 else []",
    "[$1 * $2 for $1, $2 in enumerate(@list)]", "sorted(@list, key=lambda $1: ($1 % 3, -$1), reverse=@bool)", "@nested[0]", "(@dict.setdefault('l', 0) and []) or []",
    "[$1 for $2 in @nested for $1 in $2]", "list(reversed(@list))", "@list or [1]", "sorted(@set)", "list(itertools.chain(@list, @tuple))[:7]",
    "list(itertools.islice(itertools.count(@int), 3))", "list(itertools.accumulate(@list))", "G_LIST", "[len($1) for $1 in @nested]",
    "[($1 := $2) + 1 for $2 in @list][:5]", "list(itertools.takewhile(lambda $1: $1 < @int, @list))", "@tensor.shape and [@int]",
    "[$3() for $3 in [lambda: $1 for $1 in @list]]", "list(dict.fromkeys(@list))", "(lambda *$1, **$2: [*$1, *$2.values()])(*@list, a=@int)[:6]",
)  # fmt: skip
templates(
    "dict",
    "{'a': @int, **@dict}", "{@str: @int}", "{$1: $2 for $1, $2 in @dict.items()}", "dict(@dict)", "dict(a=@int, b=@int)", "@dict | {'z': @int}",
    "{str($1): $1 for $1 in @list}", "dict(zip('abc', @list))", "@dict.copy()", "(@dict if @bool else @dict)", "G_DICT",
    "{$1: @dict[$1] for $1 in sorted(@dict)}", "dict(sorted(@dict.items(), key=lambda $1: $1[1]))", "dict.fromkeys('ab', @int)",
)  # fmt: skip
templates(
    "set",
    "{@int, @int}", "set(@list)", "@set | @set", "@set & @set", "@set - {@int}", "{$1 % 3 for $1 in @list}", "@set ^ @set", "set(@tuple)", "@set.union(@list)",
)  # fmt: skip
templates(
    "tuple",
    "(@int, @int)", "tuple(@list)[:5]", "@tuple + (@int,)", "@tuple[1:]", "(@tuple if @bool else @tuple)", "(*@list, @int)[-3:]", "divmod(@int, 4)",
    "tuple($1 * 2 for $1 in @list)[:5]", "tuple(sorted(@dict.values()))", "min(@tuple, @tuple)", "tuple(@tensor.shape)",
)  # fmt: skip
templates(
    "nested",
    "[@list, @list]", "[@list] * 2", "[list($1) for $1 in @nested]", "@nested + [@list]", "(@nested if @bool else @nested)", "[[$1] for $1 in @list] or [[]]",
    "@nested[::-1]", "[$1 for $1 in @nested if $1] or [[0]]",
)  # fmt: skip
templates(
    "tensor",
    "(@tensor + @int)", "(@tensor * @float)", "(@tensor - @tensor)", "@tensor.sin()", "(@tensor * @tensor).clamp(-9.0, 9.0)", "@tensor.relu()", "torch.cos(@tensor)",
    "(@tensor if @bool else @tensor)", "-@tensor", "@tensor.abs()", "@tensor.clone()", "(@int - @tensor)", "(@float + @tensor)", "@matrix[0]", "@matrix.sum(0)",
    "torch.where(@tensor > @int, @tensor, @tensor)", "torch.stack([@tensor, @tensor]).mean(0)", "@tensor.flip(0)", "@tensor.view(2, 2).t().reshape(4)",
    "@tensor + @tensor.sum()", "@itensor.float()", "torch.cat([@tensor[:2], @tensor[2:]])", "sum([@tensor, @tensor])", "@tensor.view(-1)", "@tensor[:]",
    "torch.maximum(@tensor, @tensor)", "torch.nn.functional.relu(@tensor)", "@tensor.softmax(0)", "torch.rand(4)", "@tensor.detach()", "@tensor.cumsum(0) * 0.25",
    "torch.full((4,), @float)", "(@tensor / 2)", "(@tensor ** 2).clamp(max=20.0)", "@tensor.new_zeros(4)", "@matrix.t()[:, 1].sum() + @tensor", "@tensor[@itensor % 4]",
    "next($1 for $1 in [@tensor, @tensor])", "functools.reduce(operator.add, [@tensor, @tensor])", "@tensor.mul(@int).add(1, alpha=2)", "@tensor.expand(4)",
)  # fmt: skip
templates(
    "itensor",
    "(@itensor + @int)", "(@itensor * 2) % 7", "@itensor.flip(0)", "(@itensor == @int).long()", "@itensor.clone()", "torch.argsort(@tensor)", "(@itensor // 2)",
)  # fmt: skip
templates(
    "matrix",
    "(@matrix + @tensor)", "@matrix * @float", "torch.stack([@tensor, @tensor])", "@matrix.cos()", "@matrix[:, :]", "torch.outer(@tensor[:2], @tensor)",
)  # fmt: skip
