"""What the author calls an object that a recorded call uses, and where it is made, read from the source."""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass
from functools import lru_cache

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.program import Span

_POSITIONS = {
    "enqueue_copy": {"dest": 1, "src": 2},
    "enqueue_fill_buffer": {"mem": 1},
    "enqueue_fill": {"dest": 1},
    "enqueue_map_buffer": {"buf": 1},
    "enqueue_nd_range_kernel": {},
}


_ARRAY_METHODS = frozenset({"get", "get_async", "set", "fill", "copy", "map_to_host"})


@dataclass(frozen=True)
class Named:
    """A name and the call that makes the object, if the source shows it."""

    name: str
    span: Span | None


@lru_cache(maxsize=256)
def _tree(path: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError):
        return None


def span(path: str, row: int, column: int, end_row: int, end_column: int) -> Span:
    """Return a place of the recorder in code points from 1; without columns, the first call of the row."""
    if column < 0:
        call = _call_of_row(path, row)
        return _span(path, call) if call is not None else Span(row, 1, row, len(linecache.getline(path, row)))
    return Span(row, _points(path, row, column), end_row, _points(path, end_row, end_column))


def _points(path: str, row: int, column: int) -> int:
    line = linecache.getline(path, row)
    return len(line.encode()[:column].decode(errors="replace")) + 1


def _span(path: str, node: ast.expr) -> Span:
    end_row, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    return Span(node.lineno, _points(path, node.lineno, node.col_offset), end_row, _points(path, end_row, end_column))


@lru_cache(maxsize=4096)
def _call_of_row(path: str, row: int) -> ast.Call | None:
    tree = _tree(path)
    if tree is None:
        return None
    return next((n for n in ast.walk(tree) if isinstance(n, ast.Call) and n.lineno == row), None)


@lru_cache(maxsize=4096)
def _call(path: str, at: Span) -> tuple[ast.Call, tuple[ast.AST, ...]] | None:
    """Return the call at a span and the functions and classes around it, innermost last."""
    tree = _tree(path)
    if tree is None:
        return None
    pending: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(tree, ())]
    while pending:
        node, around = pending.pop()
        if isinstance(node, ast.Call) and _span(path, node) == at:
            return node, around
        inner = (*around, node) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) else around
        pending.extend((child, inner) for child in ast.iter_child_nodes(node))
    return None


def operand(site: g.Site, what: str, position: int) -> tuple[Named, g.Site] | None:
    """Return what the source calls an operand of a call, and the site where it is made, if both can be read.

    `what` is "queue", "dest", "src", "mem" or "argument" (of the kernel, at `position`).
    """
    if not site:
        return None
    place = site[-1]
    found = _call(place.path, place.span)
    if found is None:
        return None
    call, _ = found
    expression = _argument(call, what, position)
    return _resolve(site, expression) if expression is not None else None


def _argument(call: ast.Call, what: str, position: int) -> ast.expr | None:
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    keyword = next((k.value for k in call.keywords if k.arg == what), None)
    if keyword is not None:
        return keyword
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    if what == "queue" and function in ("finish", "flush") and isinstance(call.func, ast.Attribute):
        return call.func.value
    if function in _ARRAY_METHODS and isinstance(call.func, ast.Attribute) and what in ("dest", "src"):
        return call.func.value
    if what == "queue":
        index = 0
    elif what == "argument":
        if function.startswith("enqueue"):
            return None
        index = 3 + position
    else:
        known = _POSITIONS.get(function)
        if known is None:
            return None
        index = known.get(what, known.get("mem", known.get("dest", known.get("buf", len(call.args)))))
    return call.args[index] if index < len(call.args) else None


def _resolve(site: g.Site, expression: ast.expr) -> tuple[Named, g.Site] | None:
    """Follow a name to the assignment that makes the object, through parameters of the callers."""
    place = site[-1]
    if (
        isinstance(expression, ast.Call)
        and ast.unparse(expression.func).rpartition(".")[2] == "SVM"
        and expression.args
    ):
        expression = expression.args[0]
    while isinstance(expression, ast.Attribute) and expression.attr in ("data", "base_data", "queue"):
        expression = expression.value
    if not isinstance(expression, (ast.Name, ast.Attribute)):
        return None
    text = ast.unparse(expression)
    found = _call(place.path, place.span)
    around = found[1] if found is not None else ()
    function = next((n for n in reversed(around) if not isinstance(n, ast.ClassDef)), None)
    tree = _tree(place.path)
    assert tree is not None
    if isinstance(expression, ast.Name):
        made = _assignment(function or tree, text) if function is not None else _assignment(tree, text)
        if made is not None:
            return Named(text, _span(place.path, made)), (*site[:-1], place._replace(span=_span(place.path, made)))
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and len(site) > 1:
            outer = _from_caller(site, function, text)
            if outer is not None:
                return outer
        made = _assignment(tree, text)
    else:
        owner = next((n for n in reversed(around) if isinstance(n, ast.ClassDef)), None)
        made = _assignment(owner, text, inner=True) if owner is not None else None
    if made is None:
        return Named(text, None), ()
    created = g.Place(0, place.path, _span(place.path, made))
    name = text.removeprefix("self.") if text.startswith("self.") else text
    return Named(name, created.span), (created,)


def _from_caller(
    site: g.Site, function: ast.FunctionDef | ast.AsyncFunctionDef, name: str
) -> tuple[Named, g.Site] | None:
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    outer = site[:-1]
    found = _call(outer[-1].path, outer[-1].span)
    if name not in names or found is None:
        return None
    call, _ = found
    keyword = next((k.value for k in call.keywords if k.arg == name), None)
    index = names.index(name) - (1 if names[0] in ("self", "cls") and isinstance(call.func, ast.Attribute) else 0)
    if keyword is None and (index < 0 or index >= len(call.args)):
        return None
    expression = keyword if keyword is not None else call.args[index]
    return None if isinstance(expression, ast.Starred) else _resolve(outer, expression)


def _assignment(scope: ast.AST, text: str, inner: bool = False) -> ast.Call | None:
    """Return the last call that a scope assigns to a name."""
    made: ast.Call | None = None
    pending: list[ast.AST] = list(ast.iter_child_nodes(scope))
    while pending:
        node = pending.pop(0)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and not inner:
            continue
        if isinstance(node, ast.Assign):
            for target in node.targets:
                value = node.value
                if isinstance(target, ast.Tuple) and isinstance(value, ast.GeneratorExp):
                    value = value.elt
                    hit = any(ast.unparse(element) == text for element in target.elts)
                elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                    pairs = zip(target.elts, value.elts, strict=False)
                    hit, value = next(((True, v) for t, v in pairs if ast.unparse(t) == text), (False, value))
                else:
                    hit = ast.unparse(target) == text
                if hit and isinstance(value, ast.Call):
                    made = value
        pending[:0] = list(ast.iter_child_nodes(node))
    return made
