"""Where a file's code may touch host arrays: found in its syntax once, looked at only while a transfer is in flight.

What counts as reading or writing is what `kexec-lint check` takes for it (`opencl.api.host`). A place that a line
need not reach (an arm of a conditional expression, the second operand of `and`, a statement after a semicolon) is
left out: when the line begins nobody knows whether it will be reached.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kexec_lint.opencl.api import host as host_api

Path = tuple[Any, ...]
"""How to get from the variables of a frame to an object without running code of the program:
("name", NAME), ("attr", PATH, NAME), ("item", PATH, PATH), ("const", VALUE), ("slice", PATH…), ("tuple", PATH…).
"""

NOTHING: Path = ("const", None)


@dataclass(frozen=True)
class Use:
    """A place where code may touch an array.

    `kind`: "element" (`x[i]`), "store" (`x[i] = …`), "augment" (`x += …`), "method" (`x.name()`), "argument" (of
    `callee` at `position`, or by keyword: -1), "operand" (its value is used). `span` in rows from 1, columns in bytes.
    """

    kind: str
    array: Path
    span: tuple[int, int, int, int]
    index: Path | None = None
    name: str = ""
    callee: Path | None = None
    position: int = -1


Rows = dict[tuple[int, str], tuple[Use, ...]]
"""Row and name of the code object → places in the order of their evaluation."""


def of_file(path: str) -> Rows:
    """Return the places of a file; none if it cannot be read."""
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError, RecursionError):
        return {}
    collector = _Collector()
    collector.block(tree.body, "<module>")
    return {key: tuple(uses) for key, uses in collector.rows.items()}


class _Collector:
    def __init__(self) -> None:
        self.rows: dict[tuple[int, str], list[Use]] = {}

    def add(self, scope: str, use: Use) -> None:
        self.rows.setdefault((use.span[0], scope), []).append(use)

    # --- statements ---------------------------------------------------------------------------------------------

    def block(self, body: list[ast.stmt], scope: str, above: int = 0) -> None:
        """Collect a block; `above` is the row of the statement that holds it, or of the one before it."""
        for statement in body:
            if statement.lineno != above:
                self.statement(statement, scope)
            above = statement.end_lineno or statement.lineno

    def statement(self, node: ast.stmt, scope: str) -> None:
        """Collect a statement that begins its row."""
        if any(isinstance(inner, ast.NamedExpr) for inner in ast.walk(node)) and not hasattr(node, "body"):
            return  # names change within the line
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.block(node.body, node.name, node.lineno)
                return
            case ast.ClassDef():
                self.block(node.body, node.name, node.lineno)
                return
            case ast.Assign():
                self.expression(node.value, scope)
                for target in node.targets:
                    self.target(target, node, scope)
            case ast.AnnAssign() if node.value is not None:
                self.expression(node.value, scope)
                self.target(node.target, node, scope)
            case ast.AugAssign():
                self.operand(node.value, scope)
                if (array := path(node.target)) is not None:
                    self.add(scope, Use("augment", array, span(node)))
                if isinstance(node.target, ast.Subscript):
                    self.element(node.target, scope, "augment", span(node))
            case ast.For() | ast.AsyncFor():
                self.operand(node.iter, scope)
            case ast.If() | ast.While() | ast.Assert():
                self.operand(node.test, scope)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    self.expression(item.context_expr, scope)
            case ast.Match():
                self.expression(node.subject, scope)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.expression(child, scope)
        for block in _blocks(node):
            self.block(block, scope, node.lineno)

    def target(self, target: ast.expr, node: ast.Assign | ast.AnnAssign, scope: str) -> None:
        """Collect `x[i] = value`."""
        if isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                self.target(element, node, scope)
        elif isinstance(target, ast.Subscript):
            assert node.value is not None
            if (value := path(node.value)) is not None:
                self.add(scope, Use("operand", value, span(target)))
            self.element(target, scope, "store", span(target))

    # --- expressions --------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr, scope: str) -> None:
        """Collect what an expression surely evaluates."""
        match node:
            case ast.Lambda():
                self.operand(node.body, "<lambda>")
            case ast.IfExp():
                self.operand(node.test, scope)
                self.later((node.body, node.orelse), node.test, scope)
            case ast.BoolOp():
                self.operand(node.values[0], scope)
                self.later(node.values[1:], node.values[0], scope)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self.comprehension(node, scope)
            case ast.BinOp():
                self.operand(node.left, scope)
                self.operand(node.right, scope)
            case ast.UnaryOp():
                self.operand(node.operand, scope)
            case ast.Compare():
                self.operand(node.left, scope, quiet=isinstance(node.ops[0], (ast.Is, ast.IsNot)))
                if len(node.ops) == 1:
                    quiet = isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn))
                    self.operand(node.comparators[0], scope, quiet)
            case ast.Call():
                self.call(node, scope)
            case ast.Subscript():
                self.expression(node.value, scope)
                self.expression(node.slice, scope)
                self.element(node, scope, "element", span(node))
            case ast.JoinedStr():
                for part in node.values:
                    if isinstance(part, ast.FormattedValue):
                        self.expression(part.value, scope)
                        if (array := path(part.value)) is not None:
                            self.add(scope, Use("operand", array, span(node)))
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.expression(child, scope)

    def operand(self, node: ast.expr, scope: str, quiet: bool = False) -> None:
        """Collect an expression whose value is looked at."""
        self.expression(node, scope)
        if not quiet and (array := path(node)) is not None:
            self.add(scope, Use("operand", array, span(node)))

    def later(self, nodes: Iterator[ast.expr] | tuple[ast.expr, ...] | list[ast.expr], test: ast.expr, s: str) -> None:
        """Collect what is evaluated only after a test, if it stands in rows of its own: then the row tells."""
        for node in nodes:
            if node.lineno > (test.end_lineno or test.lineno):
                self.operand(node, s)

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, scope: str) -> None:
        """Collect the first iterable, which the enclosing code evaluates, and the body where it is code of its own."""
        first = node.generators[0]
        self.operand(first.iter, scope)
        if len(node.generators) > 1 or first.ifs:
            return
        names = {
            ast.ListComp: "<listcomp>", ast.SetComp: "<setcomp>", ast.DictComp: "<dictcomp>",
            ast.GeneratorExp: "<genexpr>",
        }  # fmt: skip
        if isinstance(node, ast.GeneratorExp) or sys.version_info < (3, 12):
            for body in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
                if body.lineno > first.iter.lineno or body.lineno == node.lineno:
                    self.expression(body, names[type(node)])

    def element(self, node: ast.Subscript, scope: str, kind: str, where: tuple[int, int, int, int]) -> None:
        """Collect `x[i]`."""
        array = path(node.value)
        if array is not None:
            self.add(scope, Use(kind, array, where, index=path(node.slice) or ("unknown",)))

    def call(self, node: ast.Call, scope: str) -> None:
        """Collect a call: of a method of an array, or with arrays as arguments."""
        callee = path(node.func)
        self.expression(node.func, scope)
        for position, argument in enumerate(node.args):
            self.expression(argument, scope)
            if callee is not None and (array := path(argument)) is not None:
                self.add(scope, Use("argument", array, span(argument), callee=callee, position=position))
        for keyword in node.keywords:
            self.expression(keyword.value, scope)
            if callee is not None and keyword.arg is not None and (array := path(keyword.value)) is not None:
                self.add(scope, Use("argument", array, span(node), name=keyword.arg, callee=callee))
        if isinstance(node.func, ast.Attribute) and (array := path(node.func.value)) is not None:
            name = node.func.attr
            if name not in host_api.QUIET_METHODS:
                self.add(scope, Use("method", array, span(node), name=name))


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
    for handler in getattr(node, "handlers", ()):
        yield handler.body
    for case in getattr(node, "cases", ()):
        yield case.body


def span(node: ast.expr | ast.stmt) -> tuple[int, int, int, int]:
    """Return rows and byte columns of a node."""
    end_row, end = node.end_lineno, node.end_col_offset
    return node.lineno, node.col_offset, end_row or node.lineno, end if end is not None else node.col_offset


def path(node: ast.expr) -> Path | None:
    """Return the way to what an expression means, None if only running it could tell."""
    match node:
        case ast.Name():
            return ("name", node.id)
        case ast.Attribute():
            inner = path(node.value)
            return None if inner is None else ("attr", inner, node.attr)
        case ast.Subscript():
            base, index = path(node.value), path(node.slice)
            return None if base is None or index is None else ("item", base, index)
        case ast.Constant():
            return ("const", node.value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return ("const", -value)
        case ast.Slice():
            parts = [path(part) if part is not None else NOTHING for part in (node.lower, node.upper, node.step)]
            return None if None in parts else ("slice", *parts)
        case ast.Tuple():
            parts = [path(element) for element in node.elts]
            return None if None in parts else ("tuple", *parts)
    return None
