"""Rows and columns of findings (from 1, code points) ↔ lines and characters of the protocol (from 0, units)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lsprotocol import types as lsp

from kexec_lint.findings import Location

_BYTES = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
"""Position encoding → codec and bytes in a unit."""


def split(text: str) -> list[str]:
    """Return the lines as the protocol and the engine count them; `str.splitlines` knows more line ends."""
    return re.split(r"\r\n|\r|\n", text)


def units(text: str, encoding: str) -> int:
    """Return how many units of a position encoding a text takes."""
    codec, size = _BYTES[encoding]
    return len(text) if text.isascii() else len(text.encode(codec, "surrogatepass")) // size


def position(lines: Sequence[str], row: int, column: int, encoding: str) -> lsp.Position:
    """Return the protocol's position of a row and column; what lies behind the text is put at its end."""
    if row > len(lines):
        last = lines[-1] if lines else ""
        return lsp.Position(max(len(lines) - 1, 0), units(last, encoding))
    return lsp.Position(row - 1, units(lines[row - 1][: column - 1], encoding))


def place_of(lines: Sequence[str], at: lsp.Position, encoding: str) -> tuple[int, int]:
    """Return the row and column of a position of the protocol."""
    line = lines[at.line] if at.line < len(lines) else ""
    codec, size = _BYTES[encoding]
    units = line.encode(codec, "surrogatepass")[: at.character * size]
    return at.line + 1, len(units.decode(codec, "ignore")) + 1


def span(lines: Sequence[str], at: Location, encoding: str) -> lsp.Range:
    """Return the protocol's range of a location."""
    return lsp.Range(position(lines, at.row, at.column, encoding), position(lines, at.end_row, at.end_column, encoding))


def touches(one: lsp.Range, other: lsp.Range) -> bool:
    """Return whether two ranges share a place; an empty one (a cursor) touches what it stands in or at."""

    def key(at: lsp.Position) -> tuple[int, int]:
        return at.line, at.character

    return key(one.start) <= key(other.end) and key(other.start) <= key(one.end)
