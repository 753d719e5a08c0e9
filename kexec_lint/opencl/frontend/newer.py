"""Syntax newer than the running Python, replaced by older syntax of the same rows and columns.

LibCST reads every version's grammar on every Python. What it finds of 3.11 to 3.14 is rewritten in place: type
parameters and aliases are blanked (PEP 695, 696), `except*` becomes `except` (PEP 654), unparenthesised exception
types are joined by `|` (PEP 758), a template string becomes an f-string (PEP 750), an f-string with its own quotes
inside takes others there (PEP 701). What fits no older grammar at all becomes the name `_`: unknown.
"""

from __future__ import annotations

import ast
import re
from typing import ClassVar

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from kexec_lint.opencl.frontend.positions import cut, split_rows
from kexec_lint.opencl.program import Span


def replaced(text: str) -> str | None:
    """Return `text` in older syntax, or None if LibCST does not accept it either."""
    try:
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    except cst.ParserSyntaxError:
        return None
    rewriter = _Rewriter(split_rows(text))
    wrapper.visit(rewriter)
    return "\n".join(rewriter.rows)


class _Rewriter(cst.CSTVisitor):
    """Rewrites the newer syntax that it meets, in `rows`."""

    METADATA_DEPENDENCIES: ClassVar = (PositionProvider,)

    def __init__(self, rows: list[str]) -> None:
        super().__init__()
        self.rows = rows

    def visit_TypeAlias(self, node: cst.TypeAlias) -> bool:
        self._blank(node, "pass")
        return False

    def visit_TypeParameters(self, node: cst.TypeParameters) -> bool:
        self._blank(node)
        return False

    def visit_ExceptHandler(self, node: cst.ExceptHandler) -> None:
        self._join_types(node.type)

    def visit_ExceptStarHandler(self, node: cst.ExceptStarHandler) -> None:
        self._rewrite(node, r"^(except\s*)\*", r"\1 ")
        self._join_types(node.type)

    def visit_Index(self, node: cst.Index) -> None:
        if node.star:
            self._rewrite(node, r"^\*", " ")

    def visit_Annotation(self, node: cst.Annotation) -> None:
        if isinstance(node.annotation, cst.StarredElement):
            self._rewrite(node.annotation, r"^\*", " ")

    def visit_TemplatedString(self, node: cst.TemplatedString) -> bool:
        self._rewrite(node, r"^([rR]?)[tT]", r"\1f")
        return self._parses(node) or self._requote(node)

    def visit_FormattedString(self, node: cst.FormattedString) -> bool:
        return self._parses(node) or self._requote(node)

    def _join_types(self, types: cst.BaseExpression | None) -> None:
        if isinstance(types, cst.Tuple) and not types.lpar:
            for element in types.elements:
                if isinstance(element.comma, cst.Comma):
                    self._rewrite(element.comma, ",", "|")

    def _requote(self, node: cst.FormattedString | cst.TemplatedString) -> bool:
        """Give the strings inside the braces other quotes than those around."""
        quote = node.quote[0]
        other = "'" if quote == '"' else '"'
        for part in node.parts:
            if isinstance(part, cst.FormattedStringExpression | cst.TemplatedStringExpression):
                if re.search(rf"[\\#\n{other}]|{quote}.*{quote}.*{quote}", cut(self.rows, self._span(part))):
                    self._blank(part, "{_", "}")
                else:
                    self._rewrite(part, quote, other)
        if not self._parses(node):
            self._rewrite(node, r"[^\n]", " ")
            self._rewrite(node, r" (?=\n)", "\\\\")
            self._rewrite(node, r"^ ", "_")
        return False

    def _parses(self, node: cst.CSTNode) -> bool:
        try:
            ast.parse(cut(self.rows, self._span(node)))
        except SyntaxError:
            return False
        return True

    def _blank(self, node: cst.CSTNode, start: str = "", end: str = "") -> None:
        span = self._span(node)
        text = list(re.sub(r"[^\n]", " ", cut(self.rows, span)))
        free = [place for place, character in enumerate(text) if character == " "]
        for place, character in [*zip(free, start, strict=False), *zip(free[-len(end) :], end, strict=False)]:
            text[place] = character
        self._put(span, "".join(text))

    def _rewrite(self, node: cst.CSTNode, pattern: str, replacement: str) -> None:
        span = self._span(node)
        self._put(span, re.sub(pattern, replacement, cut(self.rows, span)))

    def _span(self, node: cst.CSTNode) -> Span:
        place = self.get_metadata(PositionProvider, node)
        assert isinstance(place, CodeRange)
        return Span(place.start.line, place.start.column + 1, place.end.line, place.end.column + 1)

    def _put(self, span: Span, text: str) -> None:
        """Write `text`, of as many rows and columns, at `span`."""
        before = self.rows[span.row - 1][: span.column - 1]
        after = self.rows[span.end_row - 1][span.end_column - 1 :]
        self.rows[span.row - 1 : span.end_row] = (before + text + after).split("\n")
