"""Kernel sources in the string literals of C and C++, and where their characters stand in the file."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kexec_lint.opencl.frontend.c import outline
from kexec_lint.opencl.frontend.c_literals import string, unescaped
from kexec_lint.opencl.frontend.c_unit import Unit, named
from kexec_lint.source import Source

_KERNEL = re.compile(rb"kernel(?:(?<!\wkernel)|(?<=\b__kernel))\b")
_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]+|[0-7]{1,3}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|\r?\n|.)", re.DOTALL)


@dataclass(frozen=True)
class Piece:
    """One literal: where its value starts in the whole, its text as written, and where that stands."""

    start: int
    written: str
    row: int
    column: int
    raw: bool


@dataclass(frozen=True)
class KernelString:
    """The value of one or more adjacent literals."""

    value: str
    pieces: tuple[Piece, ...]

    def locate(self, offset: int) -> tuple[int, int]:
        """Return row and column in the file of the character at an offset of the value."""
        piece = next(p for p in reversed(self.pieces) if p.start <= offset)
        rest, place = offset - piece.start, 0
        if piece.raw:
            place = min(rest, len(piece.written))
        while not piece.raw and rest > 0 and place < len(piece.written):
            escape = _ESCAPE.match(piece.written, place)
            place = escape.end() if escape is not None else place + 1
            rest -= len(unescaped(escape[0])) if escape is not None else 1
        before = piece.written[:place].split("\n")
        return piece.row + len(before) - 1, len(before[-1]) + (piece.column if len(before) == 1 else 1)


def kernel_strings(source: Source) -> Iterator[KernelString]:
    """Yield the string constants of a file that hold kernels; a macro among them ends one and begins the next."""
    if not _KERNEL.search(source.data):
        return
    parsed = outline(source)
    unit = parsed.unit
    places = [match.start() for match in _KERNEL.finditer(unit.data)]
    pending = [parsed.root]
    while pending:
        node = pending.pop()
        if bisect_left(places, node.start_byte) == bisect_left(places, node.end_byte):
            continue
        if node.type in ("string_literal", "raw_string_literal", "concatenated_string"):
            if _KERNEL.search(unit.data, node.start_byte, node.end_byte):
                made = _joined(unit, node)
                if "{" in made.value:
                    yield made
            continue
        pending.extend(reversed(node.named_children))


def _joined(unit: Unit, node: Any) -> KernelString:
    value, pieces = "", []
    for one in named(node) if node.type == "concatenated_string" else [node]:
        text, span = unit.text(one), unit.span(one)
        if one.type not in ("string_literal", "raw_string_literal"):
            continue
        raw = one.type == "raw_string_literal"
        head = text.index("(") + 1 if raw else text.index('"') + 1
        written = string(text) if raw else text[head:-1]
        pieces.append(Piece(len(value), written, span.row, span.column + head, raw))
        value += string(text)
    return KernelString(value, tuple(pieces))
