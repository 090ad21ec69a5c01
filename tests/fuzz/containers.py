"""Containers beyond lists, dicts, sets and tuples: their kinds, literals, expressions and simple statements."""

from __future__ import annotations

from fuzz.expressions import LITERALS, templates
from fuzz.statements import KINDS, SIMPLE

KINDS.update({"deque": 0.8, "default": 0.6, "ordered": 0.6, "counter": 0.4, "frozen": 0.4, "bytes": 0.4, "named": 0.6, "point": 0.7})  # type: ignore[dict-item]
LITERALS.update({
    "deque": lambda r: f"collections.deque({[r.small() for _ in range(r.random.randrange(4))]}{r.pick(['', ', 3', ', maxlen=4'])})",
    "default": lambda r: r.pick(["collections.defaultdict(list)", "collections.defaultdict(list, a=[1])", "collections.defaultdict(list, {'b': [2]})"]),
    "ordered": lambda r: r.pick(["collections.OrderedDict()", "collections.OrderedDict(a=1, b=2)", "collections.OrderedDict([('k', 3)])"]),
    "counter": lambda r: r.pick(["collections.Counter('abca')", "collections.Counter()", "collections.Counter(a=2)"]),
    "frozen": lambda r: f"frozenset({[r.small() for _ in range(r.random.randrange(4))]})",
    "bytes": lambda r: r.pick(["b''", "b'ab'", "b'xyz'", "bytes([1, 2])"]),
    "named": lambda r: f"Pair({r.small()}, {r.small()})",
    "point": lambda r: f"Point({r.small()}, {r.small()})",
})  # fmt: skip

SIMPLE += [
    ("@=deque.append(@int)", 0.5), ("@=deque.appendleft(@int)", 0.5), ("@=deque.rotate(@int)", 0.3), ("@=deque.pop()", 0.3), ("@=deque.popleft()", 0.3), ("@=deque.extend(@list)", 0.3),
    ("@=deque[0] = @int", 0.2), ("@=deque += [@int]", 0.2), ("@=deque.clear()", 0.1), ("del @=deque[0]", 0.1), ("@=default[@str].append(@int)", 0.5), ("@=default['a'] += [@int]", 0.3),
    ("LOG.append(@=default[@str])", 0.2), ("@=default.pop(@str, None)", 0.2), ("@=ordered[@str] = @int", 0.4), ("@=ordered.move_to_end('a')", 0.2), ("@=ordered.popitem(last=@bool)", 0.3),
    ("@=ordered.update(@dict)", 0.2), ("@=counter[@str] += 1", 0.3), ("@=counter.update(@str)", 0.3), ("@=counter.subtract(a=@int)", 0.2), ("@=bytes += b'q'", 0.2), ("@=frozen |= {@int}", 0.2),
    ("@=point.a = @int", 0.4), ("@=point.b += @int", 0.4), ("@=named = @=named._replace(first=@int)", 0.3), ("@=int, @=int2 = @named", 0.3), ("LOG.append(repr(@point))", 0.3),
]  # fmt: skip

templates("deque", "collections.deque(@list)", "collections.deque(@list, 3)", "@deque.copy()", "@deque + @deque", "(@deque if @bool else @deque)", "collections.deque(reversed(@deque))")
templates("default", "collections.defaultdict(list, @default)", "@default.copy()", "(@default if @bool else @default)")
templates("ordered", "collections.OrderedDict(@dict)", "collections.OrderedDict(sorted(@dict.items()))", "@ordered.copy()", "@ordered | {'z': @int}")
templates("counter", "collections.Counter(@str)", "@counter + @counter", "@counter - @counter", "collections.Counter(@list)")
templates("frozen", "frozenset(@list)", "@frozen | @frozen", "@frozen & @set", "@frozen - {@int}", "frozenset($1 % 3 for $1 in @list)")
templates("bytes", "@bytes + @bytes", "@bytes[::-1]", "@str.encode()", "bytes([@int % 9])", "@bytes[1:]", "@bytes.upper()")
templates("named", "Pair(@int, @int)", "Pair(second=@int, first=@int)", "@named._replace(second=@int)", "Pair._make([@int, @int])", "Pair(*@named)")
templates("point", "Point(@int)", "Point(b=@int, a=@int)", "dataclasses.replace(@point, a=@int)", "(@point if @bool else @point)", "Point(*@named)")
templates(
    "int",
    "len(@deque)", "sum(@deque)", "@deque[-1]", "@deque.count(@int)", "len(@default['a'])", "sum(map(len, @default.values()))", "next(iter(@ordered.values()), @int)",
    "@counter[@str]", "@counter['a']", "len(@frozen)", "len(@bytes)", "(@bytes[0] if @bytes else @int)", "@named.first", "@named[1]", "sum(@named)", "@point.a", "(@point.a - @point.b)",
    "max(@frozen, default=@int)", "hash(@frozen) % 7", "hash(@named) % 7", "@default.get('a', [@int])[-1:].count(1)", "operator.attrgetter('a')(@point)", "operator.itemgetter(0)(@named)",
)  # fmt: skip
templates(
    "list",
    "list(@deque)", "list(@ordered.values())", "[*@deque]", "@default['b']", "@default[@str]", "sorted(@counter.values())", "sorted(@frozen)", "list(@bytes)", "list(@named)",
    "[$1 for $1, $2 in enumerate(@deque)]", "list(dataclasses.astuple(@point))", "[$1.a for $1 in [@point, @point]]", "sum(@default.values(), [])", "list(itertools.chain.from_iterable(@nested))",
    "[$2 for $1, $2 in itertools.zip_longest(@list, @list, fillvalue=0)]", "list(itertools.starmap(operator.add, zip(@list, @list)))", "[len(list($2)) for $1, $2 in itertools.groupby(@list)]",
    "list(itertools.repeat(@int, 2))", "[$1 + $2 for $1, $2 in itertools.product(@list[:2], @list[:2])]", "[sum($1) for $1 in itertools.combinations(@list[:3], 2)]", "list(itertools.pairwise(@list)) and @list",
)  # fmt: skip
templates(
    "bool",
    "(@deque == @deque)", "(@int in @deque)", "(@str in @default)", "(@ordered == @ordered)", "(@ordered == @dict)", "(@frozen <= @frozen)", "(@int in @frozen)", "(@bytes < @bytes)", "(@named == @tuple)",
    "(@point == @point)", "isinstance(@named, tuple)", "bool(@counter)", "(@named < @named)", "(@frozen == @set)", "(@point is @point)", "dataclasses.is_dataclass(@point)",
)  # fmt: skip
templates(
    "str",
    "repr(@deque)[:14]", "repr(@ordered)[:16]", "repr(@counter)[:14]", "repr(@point)", "repr(@named)", "@bytes.decode()", "repr(@bytes)", "'{0.a}'.format(@point)", "f'{@point}'", "next(iter(@ordered), 'n')",
    "''.join(map(str, @deque))[:9]", "str(dict(@default))[:12]",
)  # fmt: skip
templates("dict", "dict(@ordered)", "dict(@counter)", "dataclasses.asdict(@point)", "@named._asdict()", "{**@ordered, 'y': @int}", "vars(@point).copy()")
templates("tuple", "tuple(@deque)", "tuple(@named)", "(*@named, @int)", "dataclasses.astuple(@point)", "tuple(@bytes)", "@named[:1]", "@named + (@int,)")
templates("set", "set(@deque)", "set(@frozen)", "@set | @frozen", "{*@named}", "set(@bytes)", "{$1.a for $1 in [@point]}")
