"""What programs take from the standard library: enumerations, data classes, functools, contextlib; and numbers at their limits."""

from __future__ import annotations

from fuzz.expressions import LITERALS, templates
from fuzz.scope import Scope, indent
from fuzz.statements import KINDS, SIMPLE, Statements, maker

PRELUDE = """
class Color(enum.Enum):
    RED = 1
    BLUE = 2
    ALSO = 1
    def other(self):
        return Color.BLUE if self is Color.RED else Color.RED

class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5

@functools.total_ordering
@dataclasses.dataclass(frozen=True)
class Key:
    a: int
    b: str = "k"
    def __lt__(self, other):
        return (self.a, self.b) < (other.a, other.b)

@dataclasses.dataclass
class Record:
    name: str
    items: list = dataclasses.field(default_factory=list)
    total: int = dataclasses.field(init=False, default=0)
    def __post_init__(self):
        self.total = len(self.items)
        LOG.append(self.name)
    def grow(self, n):
        self.items.append(n)
        self.total += n
        return self

@functools.singledispatch
def kind_of(value):
    return "object"

@kind_of.register
def _(value: int):
    return f"int {value}"

@kind_of.register(list)
def _(value):
    return f"list {len(value)}"

class Meta(type):
    made = 0
    def __call__(cls, *args):
        Meta.made += 1
        return super().__call__(*args)
    def __len__(cls):
        return Meta.made

class Shape(abc.ABC, metaclass=abc.ABCMeta):
    @abc.abstractmethod
    def area(self): ...
    @property
    def double(self):
        return self.area() * 2

class Square(Shape):
    __slots__ = ("side",)
    def __init__(self, side):
        self.side = side
    def area(self):
        return self.side ** 2
    def __eq__(self, other):
        return type(other) is Square and self.side == other.side
    __hash__ = None

class Counted(metaclass=Meta):
    def __init__(self, n=0):
        self.n = n
    add = functools.partialmethod(lambda self, n, m: self.n + n + m, 1)

class Left:
    def who(self):
        return ["left"]

class Right:
    def who(self):
        return ["right", *getattr(super(), "who", list)()]

class Both(Left, Right):
    def who(self):
        return ["both", *super().who(), *Right.who(self)]

class Stack(list):
    def push(self, value):
        self.append(value)
        return self
    def __getitem__(self, key):
        LOG.append("get")
        return super().__getitem__(key)

class Table(dict):
    def __missing__(self, key):
        self[key] = len(self)
        return self[key]
    def __setitem__(self, key, value):
        LOG.append(key)
        super().__setitem__(key, value)

@functools.lru_cache(maxsize=4)
def cached(n):
    return n * 2
"""

KINDS.update({"color": 0.3, "key": 0.4, "record": 0.5, "square": 0.3, "stack": 0.4, "table": 0.4, "big": 0.4, "special": 0.4, "complex": 0.3})  # type: ignore[dict-item]
LITERALS.update({
    "color": lambda r: r.pick(["Color.RED", "Color.BLUE", "Color.ALSO", "Color(2)"]),
    "key": lambda r: f"Key({r.small()})",
    "record": lambda r: r.pick(["Record('r')", "Record('s', [1, 2])"]),
    "square": lambda r: f"Square({r.small()})",
    "stack": lambda r: f"Stack({[r.small() for _ in range(r.random.randrange(4))]})",
    "table": lambda r: r.pick(["Table()", "Table(a=1)", "Table({'b': 2})"]),
    "big": lambda r: r.pick(["2 ** 40", "-3 ** 45", "1 << 70", "10 ** 20", "7"]),
    "special": lambda r: r.pick(["float('inf')", "float('nan')", "-0.0", "1e300", "1e-320", "-math.inf"]),
    "complex": lambda r: r.pick(["1j", "complex(1, 2)", "(2 - 1j)"]),
})  # fmt: skip
templates("color", "@color.other()", "(@color if @bool else @color)", "Color['RED']", "max([@color, @color], key=lambda $1: $1.value)")
templates("key", "Key(@int)", "Key(@int, @str)", "dataclasses.replace(@key, a=@int)", "max(@key, @key)", "sorted([@key, @key])[0]")
templates("record", "Record(@str, @list[:3])", "@record.grow(@int)", "(@record if @bool else @record)", "copy.copy(@record)", "copy.deepcopy(@record)")
templates("square", "Square(@int)", "(@square if @bool else @square)")
templates("stack", "Stack(@list)", "@stack.push(@int)", "Stack(sorted(@stack))", "(@stack if @bool else @stack)")
templates("table", "Table(@dict)", "Table(a=@int)", "(@table if @bool else @table)")
templates("big", "(@big + @int)", "(@big * @int) % 10 ** 30", "(@big // 3)", "(@big ^ @int)", "-@big", "(@big >> 3)", "abs(@big)", "(@big & @big)")
templates("special", "(@special + @float)", "-@special", "(@special * @int)", "min(@special, @float)", "abs(@special)", "(@special - @special)", "math.copysign(1.0, @special)", "max(@float, @special)")
templates("complex", "(@complex + @int)", "(@complex * @complex)", "@complex.conjugate()", "complex(@float, @int)", "-@complex")
templates(
    "int",
    "@color.value", "Level(5) + @int", "(Level.LOW | @int) & 63", "@key.a", "hash(@key) % 9", "len({@key: 1, @key: 2})", "{@key: @int}.get(@key, 0)", "@record.total", "len(@record.items)", "@square.area() % 90",
    "@square.double % 70", "len(Counted)", "Counted(@int).add(2)", "cached(@int)", "len(Both().who())", "@stack[-1]", "@stack[0]", "len(@stack)", "sum(@stack)", "@table['a']", "@table[@str]", "len(@table)", "@big % 97",
    "int(@big).bit_length()", "functools.partial(operator.add, @int)(2)", "operator.methodcaller('count', @int)(@list)", "int(@complex.real)", "len(str(@big))", "{Color.RED: 1, Color.BLUE: 2}[@color]", "sum(@record.items)",
    "list(Color).index(@color)", "len(vars(@record))", "copy.copy(@list).pop()", "len(copy.deepcopy(@nested))", "eval('1 + 2')", "len(locals()) * 0", "int(math.isnan(@special))", "next(filter(lambda $1: $1 > 0, @list), 3)",
)  # fmt: skip
templates(
    "bool",
    "(@color is Color.RED)", "(@color in (Color.BLUE,))", "(@color == @color)", "(@key < @key)", "(@key >= @key)", "(@key == @key)", "(@record == @record)", "(@square == @square)", "isinstance(@square, Shape)",
    "(@big > @int)", "(@big == @big)", "(@special < @float)", "(@special == @special)", "math.isinf(@special)", "(@complex == @complex)", "(@stack == @list)", "('a' in @table)", "isinstance(@color, Color)", "(Level.LOW < @int)",
    "issubclass(Both, Right)", "isinstance(@int, (str, Level))", "(@record in [@record])", "operator.lt(@int, @int)", "math.isclose(@float, @float)",
)  # fmt: skip
templates(
    "str",
    "@color.name", "repr(@color)", "str(Level.LOW)", "repr(@key)", "repr(@record)[:30]", "kind_of(@int)", "kind_of(@list)", "kind_of(@str)", "','.join(Both().who())", "repr(@big)[:12]", "repr(@special)", "repr(@complex)[:9]",
    "f'{@special:.3g}'", "f'{@big:,}'[:14]", "f'{@color}'", "type(@stack).__name__", "repr(@table)[:12]", "'%s|%5.1f|%x' % (@str, @float, abs(@int))", "@str.zfill(4)", "@str.join(['a', 'b'])", "@str.rjust(4, '.')[:6]",
    "'{:>{}}'.format(@str, 4)", "@str.translate({97: 'A'})", "'|'.join(@str.split('b'))", "@str.removeprefix('a')", "textwrap.shorten(@str, 5)", "string.ascii_letters[@int % 20]", "f'{@key.a!r:>4}'",
)  # fmt: skip
templates("list", "list(@stack)", "@stack.copy()", "[$1.value for $1 in Color]", "@record.items", "list(@table.values())", "[*@table]", "copy.copy(@list)", "sorted(@list, key=functools.cmp_to_key(lambda $1, $2: $2 - $1))", "list(zip(@list, @list, strict=True)) and []", "[int($1) for $1 in @str if $1.isdigit()]", "[@int, *map(cached, @list)]")
templates("float", "(@special if @special == @special and abs(@special) < 9 else @float)", "math.fsum([@float, @float])", "math.hypot(@float, 2.0)", "@complex.imag", "float(@big % 1000)", "math.exp(min(@float, 2.0))", "statistics.mean([@float, 1.0])", "(@float // 2)")
templates("dict", "dict(@table)", "vars(@record).copy()", "{$1.name: $1.value for $1 in Color}", "dataclasses.asdict(@key)", "copy.copy(@dict)")
templates("tuple", "dataclasses.astuple(@key)", "@float.as_integer_ratio()", "tuple(@stack)", "(@key.a, @key.b)", "@complex.__reduce__()[1:] and (1,)")
SIMPLE += [
    ("@=record.total += 1", 0.3), ("@=record.items.append(@int)", 0.3), ("@=record.grow(@int)", 0.3), ("@=square.side = @int", 0.3), ("@=key.a = 3", 0.1), ("@=stack.push(@int)", 0.3), ("@=stack.append(@int)", 0.3), ("del @=stack[:1]", 0.2),
    ("@=stack[0] = @int", 0.2), ("@=table[@str] = @int", 0.3), ("@=table.update(z=@int)", 0.2), ("@=table.pop('a', 0)", 0.2), ("LOG.append(@table['new'])", 0.2), ("@=big *= 3", 0.2), ("@=special += 1", 0.2), ("LOG.append(@complex)", 0.2),
    ("LOG.append(@key)", 0.2), ("KEPT.append(@record)", 0.2), ("KEPT.append(@square)", 0.2), ("Meta.made = 0", 0.1), ("Square(1).color = 3", 0.1), ("Shape()", 0.1), ("LOG.append(Both.__mro__[1].__name__)", 0.1), ("LOG.append(@special)", 0.2),
    ("@=record.__dict__['extra'] = @int", 0.1), ("@=record.extra = @list", 0.1), ("setattr(@=record, @str or 'x', @int)", 0.1), ("@=record = dataclasses.replace(@record, name=@str)", 0.2), ("LOG.append(cached.cache_info().maxsize)", 0.1),
    ("import math as m; LOG.append(m.floor(@float))", 0.2), ("from collections import ChainMap; LOG.append(ChainMap({'a': @int}, @dict)['a'])", 0.2), ("LOG.append(sorted(locals())[:0])", 0.1), ("exec('LOG.append(5)')", 0.05),
]  # fmt: skip


@maker(0.6)
def _managers(gen: Statements, scope: Scope, depth: int) -> list[str]:
    """The managers of contextlib, and functions that they wrap."""
    name = gen.source.fresh("m")
    return gen.source.pick([
        [f"with contextlib.ExitStack() as {name}:", *indent([f"LOG.append({name}.enter_context(managed({gen.e('int', scope)})))", f"{name}.callback(note, {gen.e('int', scope)})", f"{name}.push(lambda *error: LOG.append(error[0] is None))"]), *gen.block(scope, depth, 1, 2)],
        [f"@managed({gen.e('int', scope)})", f"def {name}(k):", *indent([f"return k + {gen.e('int', Scope(scope))}"]), f"LOG.append({name}(1) + {name}(2))"],
        [f"with contextlib.closing(count_up(3)) as {name}:", *indent([f"LOG.append(next({name}))"]), *gen.block(scope, depth, 1, 1)],
        [f"with contextlib.suppress(Custom), managed(4) as {name}, Manager(5, {gen.e('bool', scope)}):", *gen.block(scope, depth, 1, 2), *indent([gen.failing(scope)])],
        [f"class {name}(contextlib.ContextDecorator):", *indent(["def __enter__(self): LOG.append('in')", "def __exit__(self, *error): LOG.append(error[0] and error[0].__name__)"]), f"with {name}():", *gen.block(scope, depth, 1, 1)],
    ])  # fmt: skip


@maker(0.5)
def _changing(gen: Statements, scope: Scope, depth: int) -> list[str]:
    """Containers that change while they are iterated, sorted or unpacked."""
    name = gen.source.fresh("c")
    attempt = gen.source.pick([
        [f"{name} = {gen.e('list', scope)}", f"for k in {name}:", *indent([f"if len({name}) < 8: {name}.append(k + 1)"])], [f"{name} = dict({gen.e('dict', scope)}, a=1)", f"for k in {name}: {name}[k + 'x'] = 1"],
        [f"{name} = {{1, 2, 3}}", f"for k in {name}: {name}.discard(2)"], [f"{name} = {gen.e('list', scope)}", f"{name}.sort(key=lambda v: {name}.append(v) or v)"], [f"{name} = [3, 1, 2]", f"for k, v in enumerate({name}): {name}[k] = v * {gen.e('int', scope)}"],
        [f"{name} = collections.deque([1, 2])", f"for k in {name}: {name}.append(k)"], [f"{name} = {{'a': 1, 'b': 2}}", f"for k, v in {name}.items(): {name}[k] = v + {gen.e('int', scope)}"], [f"{name} = iter({gen.e('list', scope)})", f"LOG.append(list(zip({name}, {name})))"],
        [f"{name} = [1, 2, 3]", f"{name}[:], {name}[0:1] = {name}[::-1], [{gen.e('int', scope)}, 5]"], [f"{name} = {gen.e('list', scope)}", f"while {name}: LOG.append({name}.pop())"],
    ])  # fmt: skip
    return ["try:", *indent([*attempt, f"LOG.append(len({name}))" if "iter(" not in attempt[0] else "pass"]), "except Exception as changed:", *indent(["LOG.append((type(changed).__name__, str(changed)))"])]
