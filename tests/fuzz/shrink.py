"""Makes a failing program smaller, while it fails in the same way."""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator

Fails = Callable[[str], bool]
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def _blocks(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    for node in ast.walk(tree):
        for field in BLOCKS:
            if isinstance(getattr(node, field, None), list) and getattr(node, field):
                yield node, field


def _edits(tree: ast.AST) -> Iterator[Callable[[ast.AST], bool]]:
    """Edits of a copy of the tree, by position; each says whether it applied."""
    blocks = list(_blocks(tree))
    for number in range(len(blocks)):
        node, field = blocks[number]
        length = len(getattr(node, field))
        size = length
        while size >= 1:
            for start in range(length - size, -1, -size):
                yield lambda other, n=number, s=start, k=size: _remove(other, n, s, k)
            size //= 2
        for index in range(length):
            yield lambda other, n=number, i=index: _hoist(other, n, i)
    expressions = sum(1 for _ in _expressions(tree))
    for number in range(expressions):
        for choice in range(6):
            yield lambda other, n=number, c=choice: _simplify(other, n, c)


def _remove(tree: ast.AST, number: int, start: int, size: int) -> bool:
    node, field = list(_blocks(tree))[number]
    block = getattr(node, field)
    if all(isinstance(item, ast.Pass) for item in block[start : start + size]):
        return False
    del block[start : start + size]
    if not block and field == "body":
        block.append(ast.Pass())
    if isinstance(node, ast.Try) and not node.handlers and not node.finalbody:
        return False
    return True


def _hoist(tree: ast.AST, number: int, index: int) -> bool:
    node, field = list(_blocks(tree))[number]
    block = getattr(node, field)
    item = block[index]
    inner = [line for name in ("body", "orelse", "finalbody") for line in getattr(item, name, [])]
    if field in ("handlers", "cases") or not inner or isinstance(item, (ast.FunctionDef, ast.ClassDef)):
        return False
    block[index : index + 1] = inner
    return True


def _expressions(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None]]:
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and not isinstance(value, (ast.Constant, ast.Name)):
                yield node, field, None
            elif isinstance(value, list):
                for index, item in enumerate(value):
                    if isinstance(item, ast.expr) and not isinstance(item, ast.Constant):
                        yield node, field, index


def _simplify(tree: ast.AST, number: int, choice: int) -> bool:
    node, field, index = list(_expressions(tree))[number]
    value = getattr(node, field) if index is None else getattr(node, field)[index]
    if not isinstance(getattr(value, "ctx", ast.Load()), ast.Load):
        return False
    children = [child for child in ast.iter_child_nodes(value) if isinstance(child, ast.expr)]
    options: list[ast.expr | None] = [None if index is not None else ast.Constant(1), *children[:4], ast.Constant(1)]
    if choice >= len(options):
        return False
    new = options[choice]
    if new is None:
        del getattr(node, field)[index]
    elif index is None:
        setattr(node, field, new)
    else:
        getattr(node, field)[index] = new
    return True


def shrink(source: str, fails: Fails, seconds: float) -> str:
    """A smaller program for which `fails` holds, looked for during so many seconds."""
    end = time.monotonic() + seconds
    tried = set()
    changed = True
    while changed and time.monotonic() < end:
        changed = False
        tree = ast.parse(source)
        for edit in _edits(tree):
            if time.monotonic() > end:
                break
            other = copy.deepcopy(tree)
            try:
                if not edit(other):
                    continue
                text = ast.unparse(ast.fix_missing_locations(other))
                compile(text, "<fuzz>", "exec")
            except (IndexError, SyntaxError, ValueError, AttributeError, TypeError):
                continue
            if text in tried or len(text) >= len(source):
                continue
            tried.add(text)
            if fails(text):
                source, tree, changed = text, other, True
    return source
