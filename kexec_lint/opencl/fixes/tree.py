"""A file's LibCST tree with positions: the calls, statements and blocks that fixes ask for."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from functools import cached_property

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, ParentNodeProvider, PositionProvider

from kexec_lint.opencl.fixes.changes import Change, Rows
from kexec_lint.opencl.program import Span

Block = cst.Module | cst.BaseSuite
Line = cst.SimpleStatementLine | cst.BaseCompoundStatement


class Tree:
    """The syntax of one file, without the bodies of the functions that hold none of `rows`, for time's sake.

    `plain` is the text as Python, with the same rows and columns; that of a notebook may hold more. Raises
    libcst.ParserSyntaxError for what is not valid Python.
    """

    def __init__(self, text: str, plain: str, rows: Collection[int]) -> None:
        self.text = text
        self.rows = Rows(text)
        wrapper = MetadataWrapper(cst.parse_module(_thinned(plain, rows)), unsafe_skip_copy=True)
        self.module = wrapper.module
        self._positions = wrapper.resolve(PositionProvider)
        self._parents = wrapper.resolve(ParentNodeProvider)

    # --- places -------------------------------------------------------------------------------------------

    def range(self, node: cst.CSTNode) -> tuple[int, int]:
        """Return the offsets of a node's first and past its last character, without its parentheses."""
        at = self._positions[node]
        assert isinstance(at, CodeRange)
        return (
            self.rows.offset(at.start.line, at.start.column + 1),
            self.rows.offset(at.end.line, at.end.column + 1),
        )

    def source(self, node: cst.CSTNode) -> str:
        """Return a node's text as it stands in the file, with its parentheses."""
        start, end = self.whole(node)
        return self.text[start:end]

    def whole(self, node: cst.CSTNode) -> tuple[int, int]:
        """Return the offsets of an expression with its parentheses."""
        start, end = self.range(node)
        left, right = getattr(node, "lpar", ()), getattr(node, "rpar", ())
        if left:
            start = min(start, self.range(left[0])[0])
        if right:
            end = max(end, self.range(right[-1])[1])
        return start, end

    @cached_property
    def _calls(self) -> dict[tuple[int, int], cst.Call]:
        return {self.range(node): node for node in self._positions if isinstance(node, cst.Call)}

    def call_at(self, span: Span) -> cst.Call | None:
        """Return the call that spans exactly these characters."""
        return self._calls.get((self.rows.offset(*span[:2]), self.rows.offset(*span[2:])))

    def node_at(self, span: Span) -> cst.CSTNode | None:
        """Return the smallest expression or statement that holds these characters."""
        start, end = self.rows.offset(*span[:2]), self.rows.offset(*span[2:])
        best: tuple[int, cst.CSTNode] | None = None
        for node in self._positions:
            if isinstance(node, (cst.BaseExpression, cst.BaseSmallStatement, Line)):
                first, last = self.range(node)
                if first <= start and end <= last and (best is None or last - first < best[0]):
                    best = last - first, node
        return best[1] if best else None

    # --- structure ----------------------------------------------------------------------------------------

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the node around a node."""
        found = self._parents.get(node)
        return found if isinstance(found, cst.CSTNode) else None

    def above(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield a node and everything around it, inside out."""
        at: cst.CSTNode | None = node
        while at is not None:
            yield at
            at = self.parent(at)

    def line(self, node: cst.CSTNode) -> Line | None:
        """Return the statement line, or the compound statement whose header holds the node, before which a new
        line can stand.
        """
        for at in self.above(node):
            if isinstance(at, (cst.FunctionDef, cst.ClassDef, cst.Lambda)) and at is not node:
                return None  # a default, a decorator, the body of a lambda
            if isinstance(at, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
                outer = self.parent(at)
                while isinstance(outer, cst.If) and outer.orelse is at:  # `elif` has no place before it
                    at, outer = outer, self.parent(outer)
                return at if isinstance(outer, (cst.Module, cst.IndentedBlock)) else None
        return None

    def small(self, node: cst.CSTNode) -> cst.BaseSmallStatement | None:
        """Return the simple statement that holds a node."""
        return next((at for at in self.above(node) if isinstance(at, cst.BaseSmallStatement)), None)

    def blocks(self, node: cst.CSTNode) -> list[tuple[Block, cst.CSTNode]]:
        """Return the blocks around a node in its function, inside out, each with its statement that holds it."""
        found: list[tuple[Block, cst.CSTNode]] = []
        below = node
        for at in self.above(node):
            if isinstance(at, (cst.Module, cst.BaseSuite)):
                found.append((at, below))
            elif isinstance(at, (cst.FunctionDef, cst.ClassDef, cst.Lambda)) and at is not node:
                break
            below = at
        return found

    def precedes(self, earlier: cst.CSTNode, later: cst.CSTNode) -> bool:
        """Return whether whoever gets to `later` has come through `earlier`, by the blocks that they stand in."""
        for at in self.above(earlier):
            if isinstance(at, (cst.IfExp, cst.BooleanOperation, cst.BaseComp, cst.Comparison)):
                return False  # may not be evaluated, or not once
            if isinstance(at, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
                break
        around = {id(block): statement for block, statement in self.blocks(later)}
        for block, statement in self.blocks(earlier):
            if id(block) in around:
                return self.range(statement)[1] <= self.range(around[id(block)])[0]
            if not isinstance(self.parent(block), cst.With):
                return False
        return False

    def function(self, node: cst.CSTNode) -> cst.CSTNode:
        """Return the function, or the module, whose variables a node sees."""
        return next((at for at in self.above(node) if isinstance(at, (cst.FunctionDef, cst.Lambda))), self.module)

    # --- names --------------------------------------------------------------------------------------------

    @cached_property
    def names(self) -> frozenset[str]:
        """Every word of the file."""
        return frozenset(re.findall(r"\w+", self.text))

    def parameters(self, name: str, method: bool) -> tuple[str, ...]:
        """Return the parameters, without a method's `self`, of the function of this name that the file defines."""
        for node in self._positions:
            if isinstance(node, cst.FunctionDef) and node.name.value == name:
                names = tuple(param.name.value for param in node.params.params)
                return names[1:] if method and names[:1] in (("self",), ("cls",)) else names
        return ()

    def bound(self, name: str, before: cst.CSTNode) -> bool:
        """Return whether a variable has been assigned by whoever gets to a node."""
        function = self.function(before)
        return any(
            isinstance(node, cst.AssignTarget)
            and isinstance(node.target, cst.Name)
            and node.target.value == name
            and self.function(node) is function
            and self.precedes(node, before)
            for node in self._positions
        )

    def reads(self, name: str, function: cst.CSTNode) -> bool:
        """Return whether a function uses a variable for more than to be assigned."""
        for node in self._positions:
            if isinstance(node, cst.Name) and node.value == name and self.function(node) is function:
                holder = self.parent(node)
                while isinstance(holder, (cst.Element, cst.Tuple)):
                    holder = self.parent(holder)
                if not isinstance(holder, (cst.AssignTarget, cst.For)):
                    return True
        return False

    @cached_property
    def pyopencl(self) -> str | None:
        """The name under which the file imports PyOpenCL."""
        for node in self._positions:
            if (
                isinstance(node, cst.ImportAlias)
                and isinstance(self.parent(node), cst.Import)
                and node.evaluated_name == "pyopencl"
            ):
                return node.evaluated_alias or "pyopencl"
        return None

    # --- new lines ----------------------------------------------------------------------------------------

    def before(self, line: Line, statement: str) -> Change:
        """Insert a statement above a line."""
        start = self.range(line)[0]
        if isinstance(line, (cst.FunctionDef, cst.ClassDef)) and line.decorators:
            start = self.range(line.decorators[0])[0]
        row_start = self.text.rfind("\n", 0, start) + 1
        return Change(start, start, f"{statement}\n{self.text[row_start:start]}")

    def behind(self, line: cst.SimpleStatementLine, statement: str) -> Change:
        """Insert a statement below a line, and below the comment at its end."""
        start, end = self.range(line)
        row_start = self.text.rfind("\n", 0, start) + 1
        row_end = self.text.find("\n", end)
        at = row_end if row_end >= 0 else len(self.text)
        return Change(at, at, f"\n{self.text[row_start:start]}{statement}")

    def taken_out(self, call: cst.Call) -> list[Change] | None:
        """Remove the line that is nothing but a call; its comment stays. None if it is needed for the syntax."""
        line = self.line(call)
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
            return None
        block = self.parent(line)
        alone = isinstance(block, cst.IndentedBlock) and len(block.body) == 1
        if not isinstance(line.body[0], cst.Expr) or line.body[0].value is not call or alone:
            return None
        start, end = self.whole(call)
        if line.trailing_whitespace.comment is not None:
            return [
                Change(start, start + len(self.text[start:end]) + len(line.trailing_whitespace.whitespace.value), "")
            ]
        row_start, row_end = self.text.rfind("\n", 0, start) + 1, self.text.find("\n", end)
        return [Change(row_start, row_end + 1 if row_end >= 0 else len(self.text), "")]


def _thinned(text: str, rows: Collection[int]) -> str:
    """Return a text of the same rows and columns, in which functions around none of `rows` do nothing."""
    try:
        pending: list[ast.AST] = [ast.parse(text)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text  # newer syntax, which LibCST may know
    lines = text.split("\n")
    while pending:
        node = pending.pop()
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if isinstance(child, (ast.ClassDef, ast.If, ast.Try, ast.With)):
                    pending.append(child)
                continue
            first, last = child.body[0], child.body[-1]
            start, end = child.lineno, last.end_lineno or last.lineno
            above = getattr(first, "decorator_list", None) or [first]
            body = min(part.lineno for part in above)
            if (
                body > start
                and not any(start <= row <= end for row in rows)
                and not lines[body - 1][: first.col_offset].strip()
            ):
                lines[body - 1 : end] = [" " * first.col_offset + "..."] + [""] * (end - body)
    return "\n".join(lines)
