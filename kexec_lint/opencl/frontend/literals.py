"""Where a character of a Python string constant stands in the file, for findings inside kernel sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from kexec_lint.opencl.frontend.positions import cut, split_rows
from kexec_lint.opencl.program import Span

_LITERAL = re.compile(
    r"(?P<prefix>[bBrRuU]{0,2})(?P<quote>\"\"\"|'''|\"|')(?P<body>(?:\\.|(?!(?P=quote)).)*)(?P=quote)|#[^\n]*",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:\n|x..|u.{4}|U.{8}|N\{[^}]*\}|[0-7]{1,3}|[\\'\"abfnrtv])", re.DOTALL)


def locate(text: str, span: Span, value: str, offset: int) -> tuple[int, int]:
    """Return row and column in the file `text` of the character at `offset` of the string constant at `span`.

    Exact for a constant written as one or more adjacent literals, with escapes and in any quotes. For any other
    text that yields `value` (a part of an f-string) the row counts line ends in `value`, the column is the first.
    """
    written, characters, places = _written(text, span)
    if characters != value or offset > len(value):
        return min(span.row + value.count("\n", 0, offset), span.end_row), 1
    place = places[offset] if offset < len(places) else len(written)
    before = written[:place].split("\n")
    return span.row + len(before) - 1, len(before[-1]) + (span.column if len(before) == 1 else 1)


@lru_cache(maxsize=4)
def _written(text: str, span: Span) -> tuple[str, str, tuple[int, ...]]:
    """Return what stands at `span`, the characters of that constant, and the place of each in what is written."""
    written = cut(split_rows(text), span)
    places = list(_places(written))
    return written, "".join([character for character, _ in places]), tuple(place for _, place in places)


def _places(written: str) -> Iterator[tuple[str, int]]:
    """Yield each character of the constant with its place in what is written."""
    for literal in _LITERAL.finditer(written):
        if literal["quote"] is None:
            continue
        raw = "r" in literal["prefix"].lower()
        place = literal.start("body")
        while place < literal.end("body"):
            escape = None if raw else _ESCAPE.match(written, place)
            if escape is None:
                yield written[place], place
                place += 1
            else:
                if escape[0] != "\\\n":
                    yield ast.literal_eval(f'"{escape[0]}"'), place
                place = escape.end()
