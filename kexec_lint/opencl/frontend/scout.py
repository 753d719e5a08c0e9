"""Where a text names what the analysis is after: a cheap superset of its call sites, without a tree."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Sequence

from kexec_lint.opencl.program import Span

_WORD = re.compile(r"\w+")
_ROW_END = re.compile(r"\r\n|\r|\n")


def rows_naming(text: str, names: Collection[str]) -> list[int]:
    """Return the rows, ascending, on which one of `names` stands as a word, comments and strings included."""
    places = [word.start() for word in _WORD.finditer(text) if word[0] in names]
    ends = [end.end() for end in _ROW_END.finditer(text)] if places else []
    return sorted({_row(ends, place) for place in places})


def _row(ends: Sequence[int], place: int) -> int:
    return bisect_left(ends, place + 1) + 1


def touches(span: Span, rows: Sequence[int]) -> bool:
    """Tell whether one of the ascending `rows` lies within `span`."""
    place = bisect_left(rows, span.row)
    return place < len(rows) and rows[place] <= span.end_row
