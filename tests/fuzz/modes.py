"""How a program is run: stress put into its source, and what happens between its calls."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import NamedTuple


class Plan(NamedTuple):
    """One way of running a program."""

    name: str
    variants: tuple[int, ...]
    """The arguments of each call."""
    every: int = 0
    """A break before every n-th statement or around every n-th expression; 0 for none."""
    how: str = "graph_break"
    reset: bool = False
    """Whether everything captured is forgotten between the calls."""
    keep_locals: bool = False
    instructions: int = 0
    """A region ends after so many bytecode instructions; 0 for no such limit."""
    guards: int = 0
    """Every n-th guard that passes is reported as failed; 0 for none."""


PLANS: dict[str, Callable[[int], Plan]] = {
    "plain": lambda seed: Plan("plain", (0, 0, 1)),
    "arguments": lambda seed: Plan("arguments", (0, 2, 0, 3, 1, 4, 5, 3)),
    "break": lambda seed: Plan("break", (0, 1, 1), every=1 + seed % 5),
    "opaque": lambda seed: Plan("opaque", (0, 3), every=2 + seed % 5, how="opaque"),
    "peek": lambda seed: Plan("peek", (0, 1), every=2 + seed % 4, how="peek"),
    "value": lambda seed: Plan("value", (0, 1), every=3 + seed % 7, how="value"),
    "reset": lambda seed: Plan("reset", (3, 3, 4), reset=True, keep_locals=True),
    "repeat": lambda seed: Plan("repeat", tuple(range(6)) * 2),
    "instruction": lambda seed: Plan("instruction", (0, 3, 1), instructions=1 + seed * 7 % 19),
    "guard": lambda seed: Plan("guard", (0, 0, 1, 0, 5), guards=1 + seed * 13 % 150),
}
CALLS = {"graph_break": "framejit.graph_break()", "opaque": "opaque()", "peek": "peek(len(LOG), G_DICT, G_LIST)"}


class _Stress(ast.NodeTransformer):
    """Puts breaks before statements or around expressions of the program's own functions."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.count, self.inside = plan, 0, False

    def _due(self) -> bool:
        self.count += 1
        return self.count % self.plan.every == 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        before, self.inside = self.inside, node.name != "make"
        self.generic_visit(node)
        self.inside = before
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if self.inside and self.plan.how != "value" and not isinstance(node, (ast.ClassDef, ast.Match)):
            for field in ("body", "orelse", "finalbody"):
                block = getattr(node, field, None)
                if isinstance(block, list):
                    setattr(node, field, self._block(block))
        return node

    def _block(self, block: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for statement in block:
            if self._due() and not isinstance(statement, (ast.Nonlocal, ast.Global)):
                out += ast.parse(CALLS[self.plan.how]).body
            out.append(statement)
        return out

    def visit_expression(self, node: ast.expr) -> ast.AST:
        super().generic_visit(node)
        if self.inside and isinstance(getattr(node, "ctx", ast.Load()), ast.Load) and self._due():
            return ast.Call(ast.Name("opaque_value", ast.Load()), [node], [])
        return node

    visit_BinOp = visit_Call = visit_Subscript = visit_Name = visit_Attribute = visit_Compare = visit_expression


def stressed(source: str, plan: Plan) -> str:
    """The source with the plan's breaks in it."""
    if not plan.every:
        return source
    tree = ast.parse(source)
    stress = _Stress(plan)
    if plan.how != "value":
        for name in ("visit_BinOp", "visit_Call", "visit_Subscript", "visit_Name", "visit_Attribute", "visit_Compare"):
            setattr(stress, name, stress.generic_visit)
    text = ast.unparse(ast.fix_missing_locations(stress.visit(tree)))
    try:
        compile(text, "<fuzz>", "exec")
    except SyntaxError:
        return source
    return text
