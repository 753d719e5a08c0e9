"""Texts of files that findings point into, and places within the cells of notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kexec_lint.engine import notebooks
from kexec_lint.engine.decoding import Unreadable, decode
from kexec_lint.engine.reading import LIMIT
from kexec_lint.findings import Edit, Finding, Fix, Location, Related
from kexec_lint.source import Source


class Texts:
    """The text of files that findings point into, read when a report shows it."""

    def __init__(self, known: dict[str, bytes]) -> None:
        self._data = known
        self._sources: dict[str, Source | None] = {}

    def source(self, filename: str) -> Source | None:
        """Return a file by its displayed name, or None if it cannot be read."""
        if filename not in self._sources:
            try:
                data = self._data.get(filename)
                if data is None:
                    with open(filename, "rb") as file:
                        data = file.read((notebooks.LIMIT if filename.lower().endswith(".ipynb") else LIMIT) + 1)
                self._sources[filename] = decode(filename, data)
            except (OSError, Unreadable):
                self._sources[filename] = None
        return self._sources[filename]

    def data(self, filename: str) -> bytes | None:
        """Return the bytes of a file by its displayed name, or None if it cannot be read."""
        source = self.source(filename)
        return None if source is None else source.data

    def line(self, at: Location, row: int) -> str | None:
        """Return one line of the file (or cell) that `at` points into, without its end; None if there is none."""
        source = self.source(at.filename)
        if source is None:
            return None
        lines = source.text.split("\n")
        if at.cell is not None and source.cells is not None:
            try:
                row = source.cells.index((at.cell, row)) + 1
            except ValueError:
                return None
        return lines[row - 1] if 0 < row <= len(lines) else None


def in_cells(finding: Finding, source: Source) -> Finding:
    """Return a finding of a notebook with its places counted within cells."""

    def place(at: Location) -> Location:
        cells = source.cells or ()
        if at.cell is not None or at.filename != source.path or not 0 < at.row <= len(cells):
            return at
        cell, row = cells[at.row - 1]
        end_row = row + at.end_row - at.row
        return Location(at.filename, row, at.column, end_row, at.end_column, cell)

    def places(items: Sequence[Related]) -> tuple[Related, ...]:
        return tuple(Related(item.message, place(item.location)) for item in items)

    fix = finding.fix
    if fix is not None:
        edits = tuple(Edit(place(edit.location), edit.content) for edit in fix.edits)
        fix = Fix(fix.applicability, fix.message, edits)
    return replace(
        finding,
        location=place(finding.location),
        related=places(finding.related),
        steps=places(finding.steps),
        fix=fix,
    )
