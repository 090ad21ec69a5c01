"""Compound statements made of functions and classes of their own: local classes, recursion, coroutines, unusual control flow."""

from __future__ import annotations

from fuzz.scope import Scope, indent
from fuzz.statements import Statements, maker


def _caught(lines: list[str]) -> list[str]:
    return ["try:", *indent(lines), "except Exception as caught:", *indent(["LOG.append((type(caught).__name__, str(caught)[:60]))"])]


@maker(0.8)
def _local_class(gen: Statements, scope: Scope, depth: int) -> list[str]:
    """A class in a function, whose methods read and write the function's variables."""
    name, argument, result = gen.source.fresh("Local"), gen.source.fresh("p"), gen.source.fresh("n")
    inner = Scope(scope)
    inner.own = [(argument, "int"), ("self.k", "int")]
    shared = scope.assignable("int")
    head = [f"nonlocal {gen.source.pick(shared)}"] if shared and gen.source.chance(0.4) else []
    if head:
        inner.own.append((head[0].split()[1], "int"))
    base = gen.source.pick(["", "(Box)", "(Point)", "(list)", "(dict)", "(int)", "(Custom)", "(Manager)"])
    init = [f"def __init__(self, {argument}):", *indent([f"self.k = {argument}", *gen.body(inner, 1, gen.source.random.randint(0, 1))])]
    if base == "(int)":
        init = [f"def __new__(cls, {argument}):", *indent([f"self = super().__new__(cls, {argument} % 50)", f"self.k = {argument}", "return self"])]
    method = ["def m(self, " + argument + "):", *indent([*head, *gen.body(inner, 1, gen.source.random.randint(1, 2)), f"return {gen.e('int', inner)}"])]
    special = gen.source.pick([
        ["def __len__(self):", *indent(["return abs(self.k) % 4"])], ["def __eq__(self, other):", *indent(["LOG.append('eq')", "return self is other"]), "__hash__ = None"],
        ["def __call__(self, *args):", *indent([f"return len(args) + {gen.e('int', Scope(scope))}"])], ["def __getattribute__(self, name):", *indent(["if name == 'zed': return 9", "return super().__getattribute__(name)"])],
        ["def __delattr__(self, name):", *indent(["LOG.append(('del', name))", "super().__delattr__(name)"])], ["@functools.cached_property", "def cached(self):", *indent(["LOG.append('cached')", "return self.k"])],
        ["def __init_subclass__(cls, **more):", *indent(["LOG.append(cls.__name__)", "super().__init_subclass__(**more)"])], ["total = 0", "@classmethod", "def bump(cls):", *indent(["cls.total += 1", "return cls.total"])], [],
    ])  # fmt: skip
    uses = {"__len__": "LOG.append(len({0}))", "__eq__": "LOG.append({0} in [1, {0}])", "__call__": "LOG.append({0}(1, 2))", "getattribute": "LOG.append({0}.zed)", "__delattr__": "del {0}.k", "cached": "LOG.append({0}.cached + {0}.cached)", "subclass": "class Sub({1}): pass", "bump": "LOG.append({0}.bump() + {1}.bump())"}  # fmt: skip
    use = next((text for key, text in uses.items() if any(key in line for line in special)), "LOG.append(type({0}).__name__)")
    made = gen.source.fresh("o")
    lines = [f"class {name}{base}:", *indent([*init, *method, *special]), f"{made} = {name}({gen.e('int', scope)})", f"{result} = {made}.m({gen.e('int', scope)})", use.format(made, name)]
    lines += [f"KEPT.append({made})"] if gen.source.chance(0.3) else [f"LOG.append({result})"]
    return _caught(lines)


@maker(0.7)
def _leaving(gen: Statements, scope: Scope, depth: int) -> list[str]:
    """A function that is left from inside of `try`, `with` and loops."""
    name, argument = gen.source.fresh("leave"), gen.source.fresh("p")
    inner = Scope(scope)
    inner.own = [(argument, "int")]
    test = gen.e("bool", inner)
    leave = [gen.source.pick([f"return {gen.e('int', inner)}", "break", "continue", f"raise Custom({argument})", "pass"]) for _ in range(3)]
    body = [
        f"for {argument}_ in range({argument}, {argument} + 3):",
        *indent([
            "try:", *indent([f"with {gen.source.pick(['managed(1)', 'Manager(2, True)', 'Manager(3, False)', 'contextlib.suppress(KeyError)'])}:", *indent([gen.failing(inner) if gen.source.chance(0.4) else "pass", f"if {test}: {leave[0]}"])]),
            f"except {gen.source.pick(['Custom', 'Exception', '(KeyError, IndexError)', 'ArithmeticError'])} as error:", *indent([f"LOG.append({argument}_)", leave[1]]),
            *(["else:", *indent([f"if {gen.e('bool', inner)}: {leave[2]}"])] if gen.source.chance(0.4) else []),
            "finally:", *indent([f"LOG.append(('finally', {argument}_))", *([f"if {gen.e('bool', inner)}: {gen.source.pick(['return 77', 'break', 'continue', 'raise KeyError(5)'])}"] if gen.source.chance(0.3) else [])]),
        ]),
        "else:", *indent(["LOG.append('else')"]),
        f"return {gen.e('int', inner)}",
    ]  # fmt: skip
    return [f"def {name}({argument}):", *indent(body), *_caught([f"LOG.append({name}({gen.e('int', scope)} % 4))"])]


@maker(0.5)
def _except_star(gen: Statements, scope: Scope, depth: int) -> list[str]:
    members = ", ".join(gen.source.pick(["ValueError(1)", "KeyError('k')", "Custom(3)", "ExceptionGroup('in', [ValueError(2), TypeError(4)])"]) for _ in range(2))
    name = gen.source.fresh("group")
    lines = ["try:", *indent([f"raise ExceptionGroup('g', [{members}])"]), f"except* {gen.source.pick(['ValueError', '(KeyError, TypeError)'])} as {name}:"]
    lines += indent([f"LOG.append([type(e).__name__ for e in {name}.exceptions])", *gen.plain(scope)])
    if gen.source.chance(0.6):
        lines += [f"except* {gen.source.pick(['Custom', 'Exception', 'KeyError'])} as {name}:", *indent([f"LOG.append(str({name}))"])]
    if gen.source.chance(0.3):
        lines += ["finally:", *indent(["LOG.append('finally')"])]
    return _caught(lines)


@maker(0.6)
def _recursive(gen: Statements, scope: Scope, depth: int) -> list[str]:
    name, argument, result = gen.source.fresh("deep"), gen.source.fresh("p"), gen.source.fresh("n")
    fixed = Scope(scope)
    fixed.own = [(argument, "int")]  # not to be assigned: the recursion has to end
    inner = Scope(fixed)
    inner.own = [("memo", "dict"), ("path", "list")]
    memo = gen.source.pick(["memo={}", "memo=None"])
    body = [*(["memo = {} if memo is None else memo"] if "None" in memo else []), f"path.append({argument})", f"if {argument} <= 0: return {gen.e('int', inner)}", f"if {argument} in memo: return memo[{argument}]"]
    body += [*gen.body(inner, 1, gen.source.random.randint(0, 1)), f"memo[{argument}] = ({name}({argument} - 1, path, memo) + {name}({argument} - 2, path, memo)) % 1000", f"return memo[{argument}]"]
    visited = gen.source.fresh("l")
    lines = [f"def {name}({argument}, path, {memo}):", *indent(body), f"{visited} = []", f"{result} = {name}({gen.e('int', scope)} % 5, {visited})"]
    scope.own += [(result, "int"), (visited, "list")]
    return lines


@maker(0.5)
def _coroutine(gen: Statements, scope: Scope, depth: int) -> list[str]:
    """Coroutines driven by hand."""
    name, outer, running, argument = (gen.source.fresh(prefix) for prefix in ("co", "outer", "run", "p"))
    inner = Scope(scope)
    inner.own = [(argument, "int")]
    body = [*gen.body(inner, 1, gen.source.random.randint(0, 2)), gen.source.pick(["pass", f"await Step({argument})", f"LOG.append(await Step({gen.e('int', inner)}))"]), f"return {gen.e('int', inner)}"]
    around = gen.source.pick([
        [f"return await {name}({argument}) + 1"], ["try:", *indent([f"return await {name}({argument})"]), "finally:", *indent(["LOG.append('after')"])],
        [f"async with Step({argument}) as got:", *indent([f"LOG.append(got + await {name}({argument}))"]), "return 0"], [f"return [await {name}(k) for k in (1, 2)]"],
    ])  # fmt: skip
    drive = [f"{running} = {outer}({gen.e('int', scope)})", "try:", *indent([f"for k in range(9): LOG.append({running}.send(None if k == 0 else k))"]), "except StopIteration as stop:", *indent(["LOG.append(stop.value)"])]
    if gen.source.chance(0.2):
        drive.insert(1, f"KEPT.append({running}.close())")
    return [f"async def {name}({argument}):", *indent(body), f"async def {outer}({argument}):", *indent(around), *_caught(drive)]


@maker(0.5)
def _globals(gen: Statements, scope: Scope, depth: int) -> list[str]:
    """Globals made, changed, read and deleted by functions."""
    name, made = gen.source.fresh("touch"), gen.source.fresh("G_NEW")
    inner = Scope(scope)
    kind = gen.kind()
    action = gen.source.pick([f"{made} = {gen.e(kind, inner)}", f"{made} = [{gen.e('int', inner)}]; {made}.append(G_INT)", f"{made} = G_LIST; G_LIST = [*G_LIST[:3], {gen.e('int', inner)}]", f"{made} = dict(G_DICT); G_DICT = {{'a': {gen.e('int', inner)}}}"])
    lines = [f"def {name}():", *indent([f"global {made}, G_LIST, G_DICT", *action.split("; "), f"return {gen.e('int', inner)}"]), f"LOG.append({name}())"]
    lines += [gen.source.pick([f"LOG.append(type({made}).__name__)", f"KEPT.append({made})", f"del globals()[{made!r}]", f"LOG.append({made!r} in globals())", f"globals().pop({made!r}, None)"])]
    return _caught(lines)


@maker(0.6)
def _network(gen: Statements, scope: Scope, depth: int) -> list[str]:
    """A module of torch: its forward, its buffers, its gradients."""
    x = gen.new(scope, "tensor")
    return gen.source.pick([
        [f"{x} = NET(({gen.e('tensor', scope)}).float())"], [f"{x} = NET(({gen.e('tensor', scope)}).float()).detach()", "NET.calls += 1"], [f"{x} = NET.scale * {gen.e('tensor', scope)}", f"NET.label = {gen.e('str', scope)}"],
        [f"{x} = NET(({gen.e('tensor', scope)}).float())", "LOG.append([name for name, _ in NET.named_parameters()]); LOG.append(NET.training)"],
        ["NET.train(not NET.training)", f"{x} = NET(({gen.e('tensor', scope)}).float())"], [f"{x} = torch.nn.functional.linear(({gen.e('tensor', scope)}).float(), NET.inner.weight)"],
        [f"{x} = ({gen.e('tensor', scope)}).detach().float()", f"with torch.no_grad(): NET.scale.mul_({gen.source.pick(['0.5', '2.0', '-1.0'])})"],
    ])  # fmt: skip
