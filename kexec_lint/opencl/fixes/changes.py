"""Changes of a text by offsets: applied together, and as a map from old places to new ones."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from kexec_lint.findings import Edit, Location
from kexec_lint.opencl.program import Span
from kexec_lint.source import Source


class Change(NamedTuple):
    """Replace `text[start:end]` by `content`; an insertion has `start == end`."""

    start: int
    end: int
    content: str


class Rows:
    """Offsets of rows and columns in a text, whose rows end in a line feed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def offset(self, row: int, column: int) -> int:
        """Return the offset of a row and column, both counted from 1."""
        return self._starts[row - 1] + column - 1

    def place(self, offset: int) -> tuple[int, int]:
        """Return row and column, from 1, of an offset."""
        import bisect

        row = bisect.bisect_right(self._starts, offset)
        return row, offset - self._starts[row - 1] + 1


class Revision:
    """A text and the changes that turn it into another. Raises ValueError for changes that overlap."""

    def __init__(self, rows: Rows, changes: Iterable[Change]) -> None:
        self.rows = rows
        self.changes = sorted(dict.fromkeys(changes))
        for one, other in zip(self.changes, self.changes[1:], strict=False):
            if other.start < one.end or (one.start == one.end == other.start == other.end):
                raise ValueError("two changes of one place")

    @cached_property
    def text(self) -> str:
        """The text with all changes made."""
        parts, last = [], 0
        for start, end, content in self.changes:
            parts += [self.rows.text[last:start], content]
            last = end
        return "".join((*parts, self.rows.text[last:]))

    @cached_property
    def _new_rows(self) -> Rows:
        return Rows(self.text)

    def span(self, span: Span) -> Span:
        """Return where the text of a span stands afterwards; what is inserted at its ends lies outside."""
        start = self.rows.offset(span.row, span.column)
        end = self.rows.offset(span.end_row, span.end_column)
        moved = self._new_rows.place(self._moved(start, True)), self._new_rows.place(self._moved(end, False))
        return Span(*moved[0], *moved[1])

    def _moved(self, offset: int, behind: bool) -> int:
        """Return a new offset; `behind` puts it behind what is inserted exactly there."""
        shift = 0
        for start, end, content in self.changes:
            if start == end == offset:
                shift += len(content) if behind else 0
            elif end <= offset:
                shift += len(content) - (end - start)
            elif start < offset:
                return start + shift
        return offset + shift

    def cells(self, cells: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        """Return the cells of a notebook's rows afterwards: new rows belong to the cell that they are put into."""
        numbers = [cell for cell, _ in cells]
        for start, end, content in reversed(self.changes):
            first, last = self.rows.place(start)[0], self.rows.place(end)[0]
            numbers[first - 1 : last] = [numbers[first - 1]] * (content.count("\n") + 1)
        rows: dict[int, int] = {}
        found = []
        for cell in numbers:
            rows[cell] = rows.get(cell, 0) + 1
            found.append((cell, rows[cell]))
        return tuple(found)

    def edits(self, source: Source) -> tuple[Edit, ...]:
        """Return the changes as edits of a finding's fix, in a notebook by cell."""
        return tuple(
            Edit(_located(source, Span(*self.rows.place(start), *self.rows.place(end))), content)
            for start, end, content in self.changes
        )


def _located(source: Source, span: Span) -> Location:
    if source.cells is None:
        return Location(source.path, *span)
    (cell, row), (_, end_row) = source.cells[span.row - 1], source.cells[span.end_row - 1]
    return Location(source.path, row, span.column, end_row, span.end_column, cell)
