"""Makes a failing program smaller, while it fails in the same way."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterator

Fails = Callable[[str], bool]
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


class Shrinker:
    """Edits one tree in place and takes back what makes the failure go away."""

    def __init__(self, source: str, fails: Fails, seconds: float) -> None:
        self.tree = ast.parse(source)
        self.fails, self.end = fails, time.monotonic() + seconds
        self.tried: set[str] = set()
        self.source = source

    def run(self) -> str:
        """The smallest program found in time."""
        before = None
        while before != self.source and self.left():
            before = self.source
            for change in (self.remove, self.hoist, self.simplify):
                change()
        return self.source

    def left(self) -> bool:
        """Whether there is time for another try."""
        return time.monotonic() < self.end

    def attempt(self, undo: Callable[[], None]) -> bool:
        """Keep the edit just made if the program still fails, else undo it."""
        try:
            text = ast.unparse(ast.fix_missing_locations(self.tree))
            compile(text, "<fuzz>", "exec")
        except (SyntaxError, ValueError, AttributeError, TypeError, IndexError):
            text = self.source
        if len(text) < len(self.source) and text not in self.tried and self.left():
            self.tried.add(text)
            if self.fails(text):
                self.source = text
                return True
        undo()
        return False

    def blocks(self) -> list[tuple[ast.AST, str]]:
        """All blocks, the longest first."""
        found = [(node, field) for node in ast.walk(self.tree) for field in BLOCKS if isinstance(getattr(node, field, None), list)]
        return sorted(found, key=lambda entry: -sum(1 for item in getattr(*entry) for _ in ast.walk(item)) * (not isinstance(entry[0], ast.Module)))

    def remove(self) -> None:
        """Remove runs of statements, long ones first."""
        for node, field in self.blocks():
            if not any(entry is node for entry in ast.walk(self.tree)):
                continue
            block = getattr(node, field)
            size = len(block)
            while size and self.left():
                for start in range(max(len(block) - size, 0), -1, -size):
                    old = list(block)
                    del block[start : start + size]
                    if not block and field == "body":
                        block.append(ast.Pass())
                    self.attempt(lambda block=block, old=old: block.__setitem__(slice(None), old))  # type: ignore[misc]
                size //= 2

    def hoist(self) -> None:
        """Put the statements of a block in the place of the statement that holds it."""
        for node, field in self.blocks():
            block = getattr(node, field)
            for index in range(len(block) - 1, -1, -1):
                item = block[index]
                inner = [line for name in ("body", "orelse", "finalbody") for line in getattr(item, name, [])]
                if field in ("handlers", "cases") or not inner or isinstance(item, (ast.FunctionDef, ast.ClassDef, ast.Lambda)):
                    continue
                block[index : index + 1] = inner
                self.attempt(lambda b=block, i=index, n=len(inner), item=item: b.__setitem__(slice(i, i + n), [item]))  # type: ignore[misc]

    def simplify(self) -> None:
        """Put a part or a literal in the place of an expression."""
        for node, field, index in list(self.expressions()):
            holder = getattr(node, field)
            value = holder if index is None else holder[index] if index < len(holder) else None
            if value is None or not isinstance(getattr(value, "ctx", ast.Load()), ast.Load) or not self.left():
                continue
            parts = [child for child in ast.iter_child_nodes(value) if isinstance(child, ast.expr)]
            for new in [ast.Constant(1), *parts[:4]]:
                self._put(node, field, index, new)
                if self.attempt(lambda n=node, f=field, i=index, v=value: self._put(n, f, i, v)):  # type: ignore[misc]
                    break

    @staticmethod
    def _put(node: ast.AST, field: str, index: int | None, value: ast.AST) -> None:
        if index is None:
            setattr(node, field, value)
        else:
            getattr(node, field)[index] = value

    def expressions(self) -> Iterator[tuple[ast.AST, str, int | None]]:
        """All places of expressions that are more than a name."""
        for node in ast.walk(self.tree):
            for field, value in ast.iter_fields(node):
                if isinstance(value, ast.expr) and not isinstance(value, (ast.Constant, ast.Name)):
                    yield node, field, None
                elif isinstance(value, list):
                    for index, item in enumerate(value):
                        if isinstance(item, ast.expr) and not isinstance(item, (ast.Constant, ast.Name)):
                            yield node, field, index


def shrink(source: str, fails: Fails, seconds: float) -> str:
    """A smaller program for which `fails` holds, looked for during so many seconds."""
    return Shrinker(source, fails, seconds).run()
