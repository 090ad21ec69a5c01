"""Hand-built traces are lowered, run by the machine, and compared with what plain Python would do."""

import collections
import types

import torch
import torch.fx

from framejit import _C
from framejit.bytecode.decode import decode
from framejit.core.heap import MISSING, Heap
from framejit.core.path import BINARY, BUILTINS, COMPARE, DICT, DICT_ITEM, FUNC, GLOBALS, ITEM, SLOT, TYPE, UNARY
from framejit.core.program import REPLAY
from framejit.core.state import Exit, ExitKind, FrameState, Phase
from framejit.core.trace import Trace
from framejit.core.value import NONE, NULL, Const, Lazy, Node, Number, Pack, Ref
from framejit.lower.region import Lowering
from framejit.objects import function
from framejit.objects.members import Items, Members, listed

NAMES = {number: name for number, (name, _, _) in enumerate(_C.OPS)}
ITEMS = Heap.ITEMS


def code_of(function):
    return function.__code__


def sample(x, y):
    z = x + y
    print(z)
    return z


class Build:
    """A trace under construction over the slots of `function`."""

    def __init__(self, function=sample):
        self.function = function
        self.trace = Trace()
        self.heap = self.trace.heap

    def slot(self, index, name=""):
        return self.trace.roots.root(SLOT, (index, name))

    def tensor(self, path, real):
        node = Node(torch.Tensor, None, None, path, None, real)
        node.node = self.trace.placeholder(path, real, node, real)
        return node

    def call(self, target, *args):
        fx = self.trace.node("call_function", target, tuple(getattr(a, "node", a) for a in args), {}, None)
        return Node(torch.Tensor, fx, None)

    def lower(self, leave, **options):
        lowering = Lowering(self.trace, leave, self.function.__code__, 0, **options)
        graph = None
        if lowering.close_graph():
            graph = torch.fx.GraphModule({}, self.trace.graph).forward
        return lowering.finish(graph, REPLAY)

    def returning(self, value):
        return self.lower(Exit(ExitKind.RETURN, value=value))


def ops(lowered):
    return [NAMES[ins[0]] for ins in lowered.program.instructions]


def run(lowered, slots, **frame):
    """The register contents at the exit: what RETURN returns, or what SLOTS writes."""
    outcome = _C.run(lowered.program, slots, **frame)
    if outcome[0] != "exit":
        return outcome
    _, at, registers = outcome
    ins = lowered.program.instructions[at]
    if NAMES[ins[0]] == "RETURN":
        return registers[ins[1]]
    return [r if r < 0 else registers[r] for r in ins[1]]


def test_graph_and_return():
    b = Build()
    x, y = torch.ones(2), torch.full((2,), 3.0)
    value = b.call(torch.add, b.tensor(b.slot(0, "x"), x), b.tensor(b.slot(1, "y"), y))
    lowered = b.returning(value)
    assert ops(lowered) == ["LOAD_SLOT", "LOAD_SLOT", "CALL_GRAPH", "RETURN"]
    assert torch.equal(run(lowered, [x, y]), x + y)


def test_returned_input_needs_no_graph():
    b = Build()
    x = torch.ones(2)
    node = b.tensor(b.slot(0), x)
    b.call(torch.sin, node)
    lowered = b.returning(node)
    assert "CALL_GRAPH" not in ops(lowered)
    assert run(lowered, [x, x]) is x


def test_unused_operators_and_inputs_are_dropped():
    b = Build()
    x, y = b.tensor(b.slot(0), torch.ones(1)), b.tensor(b.slot(1), torch.ones(1))
    b.call(torch.cos, y)
    lowered = b.returning(b.call(torch.sin, x))
    assert ops(lowered).count("LOAD_SLOT") == 1


def test_guards_miss():
    b = Build()
    path = b.slot(0, "x")
    b.trace.guard(path, "TYPE", int)
    b.trace.guard(path, "EQ", 7)
    lowered = b.returning(Const(1))
    assert run(lowered, [7, 0]) == 1
    assert run(lowered, [8, 0])[0] == "miss"
    index, seen = lowered.program.explain_failure()
    assert (lowered.notes[index].expected(7), seen) == ("L.x == 7", "8")
    assert run(lowered, [7.0, 0])[0] == "miss"


def test_paths_are_loaded_once():
    b = Build()
    holder = b.slot(0)
    item = holder.to(ITEM, 0)
    for _ in range(2):
        b.trace.guard(holder, "TYPE", list)
        b.trace.guard(item, "IS", None)
    lowered = b.returning(Pack(tuple, (Lazy(item, None), Lazy(item, None))))
    assert ops(lowered) == ["LOAD_SLOT", "CHECK_TYPE", "LOAD_ITEM", "CHECK_IS", "BUILD_TUPLE", "RETURN"]
    assert run(lowered, [[None], 0]) == (None, None)


class Holder:
    pass


def test_dict_group():
    b = Build()
    obj = Holder()
    obj.a, obj.b, obj.t = 1, "two", [3]
    namespace = b.slot(0).to(DICT)
    for name in "ab":
        b.trace.guard(namespace.to(DICT_ITEM, name), "EQ", getattr(obj, name))
    b.trace.guard(namespace, "DICT_MISSING", "hook")
    lowered = b.returning(Lazy(namespace.to(DICT_ITEM, "t"), obj.t))
    names = ops(lowered)
    assert names.count("DICT_GROUP") == names.count("DICT_STAMP") == 1
    for _ in range(3):
        assert run(lowered, [obj, 0]) is obj.t
    obj.b = "other"
    assert run(lowered, [obj, 0])[0] == "miss"
    obj.b = "two"
    assert run(lowered, [obj, 0]) is obj.t
    obj.hook = 1
    assert run(lowered, [obj, 0])[0] == "miss"


def test_present_key_needs_only_its_load():
    b = Build()
    item = b.slot(0).to(DICT_ITEM, "k")
    b.trace.guard(item, "IS_NOT", MISSING)
    lowered = b.returning(Lazy(item, 1))
    assert "CHECK_IS_NOT" not in ops(lowered)
    assert run(lowered, [{"k": 5}, 0]) == 5
    assert run(lowered, [{}, 0])[0] == "miss"


def test_class_attributes_are_checked_together():
    class C:
        def f(self):
            return 1

    b = Build()
    b.trace.guard(b.slot(0), "TYPE", C)
    b.trace.guard_type_attr(C, "f", C.f)
    b.trace.guard_type_attr(C, "g", MISSING)
    lowered = b.returning(NONE)
    assert ops(lowered).count("CHECK_TYPE_ATTRS") == 1
    assert run(lowered, [C(), 0]) is None
    C.other = 1
    assert run(lowered, [C(), 0]) is None
    C.g = 1
    assert run(lowered, [C(), 0])[0] == "miss"


def test_computed_numbers():
    b = Build()
    i = b.slot(0)
    two = b.trace.roots.const(2)
    cases = {"+": 9, "-": 5, "*": 14, "//": 3, "%": 1, "**": 49, "&": 2, "|": 7, "^": 5, "<<": 28, ">>": 1}
    values = [Number(int, i.to(BINARY, (symbol, two)), result) for symbol, result in cases.items()]
    values.append(Number(bool, i.to(COMPARE, (">", two)), True))
    values += [Number(int, i.to(UNARY, "-"), -7), Number(int, i.to(UNARY, "~"), -8), Number(bool, i.to(UNARY, "not"), False)]
    lowered = b.returning(Pack(tuple, tuple(values)))
    assert run(lowered, [7, 0]) == (*cases.values(), True, -7, -8, False)


def test_virtual_containers_keep_sharing_and_cycles():
    b = Build()
    inner = b.heap.new(list, {ITEMS: (Const(1),)})
    outer = b.heap.new(list, {ITEMS: (inner, inner)})
    b.heap.set(outer, ITEMS, (inner, inner, outer))
    table = b.heap.new(dict, {ITEMS: {"a": (Const("a"), outer)}})
    result = run(b.returning(table), [0, 0])
    assert list(result) == ["a"]
    made = result["a"]
    assert made[0] is made[1] and made[0] == [1] and made[2] is made


def test_virtual_instances():
    class C:
        __slots__ = ("a", "__dict__")

        def __init__(self):
            raise AssertionError("must not run")

    b = Build()
    ref = b.heap.new(C)
    namespace = b.heap.new(dict, {ITEMS: {"me": (Const("me"), ref), "n": (Const("n"), Const(4))}})
    b.heap.set(ref, C.a, Const(3))
    b.heap.set(ref, ("dict",), namespace)
    made = run(b.returning(ref), [0, 0])
    assert type(made) is C and made.a == 3 and made.me is made and vars(made) == {"me": made, "n": 4}


def test_virtual_builtin_objects():
    b = Build()
    point = collections.namedtuple("point", "x y")
    cell = b.heap.new(types.CellType, {("contents",): Const(5)})
    values = [
        Pack(slice, (NONE, Const(2), NONE)), Pack(point, (Const(1), Const(2))), Pack(frozenset, (Const(1), Const(2))),
        b.heap.new(set, {ITEMS: members_of(1)}), b.heap.new(collections.deque, {ITEMS: (Const(1),), ("maxlen",): Const(3)}),
        b.heap.new(collections.OrderedDict, {ITEMS: {1: (Const(1), Const(2))}}), cell,
        b.heap.new(collections.defaultdict, {collections.defaultdict.default_factory: Const(list), ITEMS: {1: (Const(1), Const(2))}}),
    ]  # fmt: skip
    made = run(b.returning(Pack(tuple, tuple(values))), [0, 0])
    expected = [
        slice(None, 2), point(1, 2), frozenset({1, 2}), {1}, collections.deque([1], 3), collections.OrderedDict({1: 2}),
        types.CellType(5), collections.defaultdict(list, {1: 2}),
    ]  # fmt: skip
    assert [type(value) for value in made] == [type(value) for value in expected]
    assert list(made) == expected and made[4].maxlen == 3 and made[7].default_factory is list


def test_bound_method():
    b = Build()
    real = Holder()
    method = Pack(types.MethodType, (Const(code_of), Lazy(b.slot(0), real)))
    made = run(b.returning(method), [real, 0])
    assert made.__self__ is real and made.__func__ is code_of


def closure_source(n):
    def inner(k=2, *, q=3):
        "doc"
        return n + k + q

    return inner


def test_virtual_function():
    b = Build()
    code = next(c for c in closure_source.__code__.co_consts if isinstance(c, types.CodeType))
    cell = b.heap.new(types.CellType, {("contents",): Const(10)})
    globals_ = Ref(dict, b.trace.roots.root(GLOBALS), globals())
    kwdefaults = b.heap.new(dict, {ITEMS: {"q": (Const("q"), Const(3))}})
    ref = b.heap.new(types.FunctionType, {
        function.CODE: code, function.GLOBALS: globals_, function.DEFAULTS: Pack(tuple, (Const(2),)),
        function.KWDEFAULTS: kwdefaults, function.CLOSURE_FIELD: (cell,), function.ANNOTATIONS: NONE,
        function.NAME: Const("other"), function.QUALNAME: Const(code.co_qualname), ("dict",): b.heap.new(dict, {ITEMS: {}}),
    })  # fmt: skip
    made = run(b.returning(ref), [0, 0], globals=globals())
    assert made() == 15 and made.__name__ == "other" and made.__globals__ is globals()


def test_recursive_function():
    from framejit.objects import function

    b = Build()
    code = next(c for c in closure_source.__code__.co_consts if isinstance(c, types.CodeType))
    cell = b.heap.new(types.CellType, {})
    ref = b.heap.new(types.FunctionType, {
        function.CODE: code, function.GLOBALS: Ref(dict, b.trace.roots.root(GLOBALS), globals()), function.DEFAULTS: NONE,
        function.KWDEFAULTS: NONE, function.CLOSURE_FIELD: (cell,), function.ANNOTATIONS: NONE,
        function.NAME: Const("f"), function.QUALNAME: Const("f"),
    })  # fmt: skip
    b.heap.set(cell, ("contents",), ref)
    made = run(b.returning(ref), [0, 0], globals=globals())
    assert made.__closure__[0].cell_contents is made


def real_ref(b, index, real, **fields):
    ref = Ref(type(real), b.slot(index), real)
    b.trace.remember(real, ref)
    return ref


def test_effects_on_lists():
    b = Build()
    one, two = [1], [1, 2]
    first, second = real_ref(b, 0, one), real_ref(b, 1, two)
    items = (Lazy(b.slot(0).to(ITEM, 0), 1),)
    b.heap.load(first, ITEMS, items)
    b.heap.set(first, ITEMS, (*items, Const(5)))
    b.heap.load(second, ITEMS, (Const(1), Const(2)))
    b.heap.set(second, ITEMS, (Const(2),))
    lowered = b.returning(NONE)
    assert ops(lowered)[-3:] == ["LIST_APPEND", "LIST_ASSIGN", "RETURN"]
    assert "CHECK_DISTINCT" in ops(lowered)
    run(lowered, [one, two])
    assert one == [1, 5] and two == [2]
    assert run(lowered, [one, one])[0] == "miss"


def test_effects_on_dicts_are_minimal_and_keep_order():
    b = Build()
    real = {"a": 1, "b": 2, "c": 3}
    ref = real_ref(b, 0, real)
    items = {key: (Const(key), Const(value)) for key, value in real.items()}
    b.heap.load(ref, ITEMS, items)
    changed = {"a": items["a"], "c": (Const("c"), Const(9)), "d": (Const("d"), Const(4))}
    b.heap.set(ref, ITEMS, changed)
    lowered = b.returning(NONE)
    assert ops(lowered)[-4:] == ["DICT_DEL", "DICT_SET", "DICT_SET", "RETURN"]
    run(lowered, [real, 0])
    assert list(real.items()) == [("a", 1), ("c", 9), ("d", 4)]


def test_effect_that_moves_a_key():
    b = Build()
    real = {"a": 1, "b": 2}
    ref = real_ref(b, 0, real)
    items = {key: (Const(key), Const(value)) for key, value in real.items()}
    b.heap.load(ref, ITEMS, items)
    b.heap.set(ref, ITEMS, {"b": items["b"], "a": items["a"]})
    run(b.returning(NONE), [real, 0])
    assert list(real) == ["b", "a"]


def members_of(*numbers):
    entries = {number: (Const(number), NONE) for number in numbers}
    return Members(entries, set, (listed(entries),))


def test_effects_on_single_keys():
    b = Build()
    real = {"a": 1, "b": 2}
    ref = real_ref(b, 0, real)
    b.heap.load(ref, ("k", "a"), Const(1))
    b.heap.set(ref, ("k", "a"), MISSING)
    b.heap.set(ref, ("k", "z"), Const(0))
    b.heap.load(ref, ("k", "q"), MISSING)
    b.heap.set(ref, ("k", "q"), MISSING)
    run(b.returning(NONE), [real, 0])
    assert real == {"b": 2, "z": 0}


def test_effects_on_sets_cells_and_slots():
    class Slotted:
        __slots__ = ("v",)

    b = Build(lambda a, b, c: None)
    real, cell, obj = {1, 2}, types.CellType(1), Slotted()
    first = real_ref(b, 0, real)
    known = Members({1: (Const(1), NONE), 2: (Const(2), NONE)}, None, real=real, path=first.path)
    b.heap.load(first, ITEMS, known)
    fewer = Members({2: (Const(2), NONE)}, set.discard, (Items(None, ((1, Const(1)),)),), base=known)
    b.heap.set(first, ITEMS, Members({2: (Const(2), NONE), 3: (Const(3), NONE)}, set.add, (Items(None, ((3, Const(3)),)),), base=fewer))
    b.heap.set(real_ref(b, 1, cell), ("contents",), Const(8))
    b.heap.set(real_ref(b, 2, obj), Slotted.v, Const(9))
    run(b.returning(NONE), [real, cell, obj])
    assert real == {2, 3} and cell.cell_contents == 8 and obj.v == 9


def test_effects_come_after_the_graph():
    b = Build()
    x, out = torch.ones(1), []
    ref = real_ref(b, 1, out)
    b.heap.load(ref, ITEMS, ())
    y = b.call(torch.neg, b.tensor(b.slot(0), x))
    b.heap.set(ref, ITEMS, (y, y))
    lowered = b.returning(NONE)
    names = ops(lowered)
    assert names.index("CALL_GRAPH") < names.index("LIST_APPEND")
    run(lowered, [x, out])
    assert out[0] is out[1] and out[0].item() == -1


def at(function, op):
    return next(ins for ins in decode(function.__code__).instructions if ins.op == op)


def test_opaque_exit_keeps_and_drops_slots():
    b = Build()
    x, y = torch.ones(1), torch.ones(1)
    nodes = b.tensor(b.slot(0), x), b.tensor(b.slot(1), y)
    z = b.call(torch.add, *nodes)
    ins = at(sample, "CALL")
    printer = Const(print)
    state = FrameState(sample.__code__, Const(sample), ins.pc, (*nodes, z), (NULL, printer, z))
    lowered = b.lower(Exit(ExitKind.OPAQUE, state=state, instr=ins))
    assert ops(lowered)[-2:] == ["SLOTS", "OPAQUE"]
    slots = run(lowered, [x, y])
    assert slots[:2] == [-2, -2] and slots[3:5] == [-1, print] and slots[2] is slots[5]
    assert lowered.program.instructions[-1][1:] == (0, 1, ins.pc, ins.next_pc, -1, ())


def dead_locals(x, y):
    t = x + y
    u = t * 2
    print(u)
    return u


def test_dead_locals_are_no_graph_outputs():
    b = Build(dead_locals)
    x, y = torch.ones(1), torch.ones(1)
    nodes = b.tensor(b.slot(0), x), b.tensor(b.slot(1), y)
    t = b.call(torch.add, *nodes)
    u = b.call(torch.mul, t, 2)
    ins = at(dead_locals, "CALL")
    state = FrameState(dead_locals.__code__, Const(dead_locals), ins.pc, (*nodes, t, u), (NULL, Const(print), u))
    leave = Exit(ExitKind.OPAQUE, state=state, instr=ins)
    slots = run(b.lower(leave), [x, y])
    assert slots[2] == -1 and torch.equal(slots[3], torch.full((1,), 4.0))


def test_dead_locals_are_kept_on_request():
    b = Build(dead_locals)
    x, y = torch.ones(1), torch.ones(1)
    nodes = b.tensor(b.slot(0), x), b.tensor(b.slot(1), y)
    t = b.call(torch.add, *nodes)
    ins = at(dead_locals, "CALL")
    state = FrameState(dead_locals.__code__, Const(dead_locals), ins.pc, (*nodes, t, NULL), (NULL, Const(print), t))
    slots = run(b.lower(Exit(ExitKind.OPAQUE, state=state, instr=ins), keep_locals=True), [x, y])
    assert torch.equal(slots[2], torch.full((1,), 2.0))


def test_callee_chain():
    b = Build(dead_locals)
    x, y = torch.ones(1), torch.ones(1)
    nodes = b.tensor(b.slot(0), x), b.tensor(b.slot(1), y)
    outer_call, inner_call = at(dead_locals, "CALL"), at(sample, "CALL")
    outer = FrameState(
        dead_locals.__code__, Const(dead_locals, b.trace.roots.root(FUNC)), outer_call.pc, (*nodes, NULL, NULL), (),
        Phase.RETURNS, outer_call.next_pc,
    )  # fmt: skip
    inner = FrameState(sample.__code__, Const(sample), inner_call.pc, (*nodes, NULL), (NULL, Const(print), nodes[0]), parent=outer)
    lowered = b.lower(Exit(ExitKind.OPAQUE, state=inner, instr=inner_call))
    assert ops(lowered)[-3:] == ["SLOTS", "CALLEE", "OPAQUE"]
    callee = lowered.program.instructions[-2]
    assert callee[2:5] == (outer_call.pc, outer_call.next_pc, 0) and callee[-1] == len(ops(lowered)) - 1


def test_roots():
    b = Build()
    values = [Lazy(b.trace.roots.root(kind), None) for kind in (GLOBALS, BUILTINS, FUNC)]
    values.append(Lazy(b.slot(0).to(TYPE), int))
    made = run(b.returning(Pack(tuple, tuple(values))), [3, 0], globals={"a": 1}, builtins={"b": 2}, func=sample)
    assert made == ({"a": 1}, {"b": 2}, sample, int)
