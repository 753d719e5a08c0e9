"""Changes of a text by offsets: applied together, and as a map from old places to new ones."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from kexec_lint.findings import Edit, Location
from kexec_lint.opencl.program import Span


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

    def edits(self, filename: str) -> tuple[Edit, ...]:
        """Return the changes as edits of a finding's fix."""
        return tuple(
            Edit(Location(filename, *self.rows.place(start), *self.rows.place(end)), content)
            for start, end, content in self.changes
        )
