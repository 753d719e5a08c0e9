"""Spans of syntax nodes: `ast` counts columns in UTF-8 bytes from 0, a `Span` in code points from 1."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TypeAlias

from kexec_lint.opencl.program import Span

Located: TypeAlias = ast.expr | ast.stmt | ast.excepthandler | ast.pattern | ast.keyword | ast.alias | ast.arg
SpanOf: TypeAlias = Callable[[Located], Span]

_NEWLINE = re.compile(r"\r\n|\r|\n")


def split_rows(text: str) -> list[str]:
    """Return the rows of `text` as Python's tokenizer counts them (form feeds and U+2028 end no row)."""
    return _NEWLINE.split(text)


def spans_of(text: str) -> SpanOf:
    """Return the function from a node of `ast.parse(text)` to its span."""
    new = tuple.__new__

    def ascii_span(node: Located) -> Span:
        return new(
            Span,
            (node.lineno, node.col_offset + 1, node.end_lineno, node.end_col_offset + 1),  # type: ignore[operator]
        )

    if text.isascii():
        return ascii_span
    wide = {row: line.encode() for row, line in enumerate(split_rows(text), 1) if not line.isascii()}

    def column(row: int, offset: int) -> int:
        line = wide.get(row)
        return 1 + (offset if line is None else len(line[:offset].decode(errors="replace")))

    def wide_span(node: Located) -> Span:
        if node.lineno not in wide and node.end_lineno not in wide:
            return ascii_span(node)
        end_row, end_offset = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return Span(node.lineno, column(node.lineno, node.col_offset), end_row, column(end_row, end_offset))

    return wide_span


def cut(rows: list[str], span: Span) -> str:
    """Return the text at `span`, line ends as newlines."""
    first, last = span.row - 1, span.end_row - 1
    if first == last:
        return rows[first][span.column - 1 : span.end_column - 1]
    return "\n".join([rows[first][span.column - 1 :], *rows[first + 1 : last], rows[last][: span.end_column - 1]])
