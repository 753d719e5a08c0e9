"""Colours and places, as every text format writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # a run that finds nothing does not pay for them
    from kexec_lint.findings import Location, Severity

_SEVERITY = {"error": "1;31", "warning": "1;33", "info": "1;36"}


class Style(NamedTuple):
    """ANSI colours, or none."""

    colour: bool

    def paint(self, codes: str, text: str) -> str:
        """Return `text` in the given SGR codes."""
        return f"\x1b[{codes}m{text}\x1b[0m" if self.colour and text else text

    def bold(self, text: str) -> str:
        """Return text that leads."""
        return self.paint("1", text)

    def dim(self, text: str) -> str:
        """Return text that stays behind."""
        return self.paint("2", text)

    def frame(self, text: str) -> str:
        """Return a piece of the frame around source: arrows, bars, row numbers."""
        return self.paint("1;34", text)

    def main(self, text: str) -> str:
        """Return what marks the place of the finding itself."""
        return self.paint("1;31", text)

    def note(self, text: str) -> str:
        """Return what marks a place that explains the finding."""
        return self.paint("1;36", text)

    def severity(self, severity: Severity, text: str) -> str:
        """Return text in the colour of a severity."""
        return self.paint(_SEVERITY[severity.value], text)


def plain(text: str) -> str:
    """Return text in one line without what a terminal would obey or a reader not see; most has nothing of that."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " if c in "\n\t" else "�" for c in text)


def place(at: Location) -> str:
    """Return a location as terminals make it clickable: file:row:column, with the cell of a notebook."""
    cell = f":cell {at.cell}" if at.cell is not None else ""
    return f"{plain(at.filename)}{cell}:{at.row}:{at.column}"
