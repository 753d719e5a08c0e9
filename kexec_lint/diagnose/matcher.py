"""Find the entries that a log's lines match: literal needles first, then bounded patterns where one stands.

Cost: one pass over the text per needle, plus one pattern search per pair of (piece of at most `clean.PIECE`
characters, entry whose needle stands in it). Both grow linearly with the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from kexec_lint.diagnose.clean import Line
from kexec_lint.diagnose.knowledge import Code, Entry, Family, Knowledge, folded

MOST_LINES = 500
"""Lines recorded for one entry; a log that repeats a message a million times needs no more evidence."""

NEAR = 3
"""Lines around a bare code in which its family must be spoken of."""


@dataclass(frozen=True)
class Hit:
    """A line (index into the cleaned lines) that an entry matched, and what the message names (op, key, …)."""

    entry: Entry
    index: int
    fields: dict[str, str] = field(default_factory=dict, hash=False)
    by_number: bool = False
    """Found by a bare number, which counts less than a name or words on the same line."""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def find(knowledge: Knowledge, lines: Sequence[Line]) -> list[Hit]:
    """Return at most one hit a line, in line order: the matching entry that comes first in the knowledge."""
    blob = "\n".join(line.text for line in lines)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.text) + 1)
    best: dict[int, Hit] = {}

    def offer(hit: Hit) -> None:
        held = best.get(hit.index)
        if held is None or weight(hit) < weight(held):
            best[hit.index] = hit

    def weight(hit: Hit) -> tuple[bool, bool, int]:
        return hit.entry.last, hit.by_number, knowledge.rank[hit.entry.id]

    for entry in knowledge.entries:
        if entry.pattern is not None and any(needle in blob for needle in entry.needles):
            for hit in _entry_hits(entry, blob, starts, lines):
                offer(hit)
    for family in knowledge.families:
        for spelling, literals in zip(family.spellings, family.needles, strict=True):
            if any(needle in blob for needle in literals):
                for hit in _family_hits(knowledge, family, spelling, literals, blob, starts, lines):
                    offer(hit)
        if family.nearby is not None and any(needle in blob for needle in family.nearby_needles):
            for hit in _nearby_hits(knowledge, family, blob, starts, lines):
                if hit.index not in best:
                    best[hit.index] = hit
    return [best[index] for index in sorted(best)]


def _entry_hits(entry: Entry, blob: str, starts: list[int], lines: Sequence[Line]) -> Iterator[Hit]:
    assert entry.pattern is not None
    search = _compiled(entry.pattern).search
    found = 0
    for index in _holding(entry.needles, blob, starts):
        match = search(lines[index].text)
        if match is not None and (entry.near is None or _spoken(entry.near, index, lines)):
            yield Hit(entry, index, _fields(match))
            found += 1
            if found >= MOST_LINES:
                return


def _family_hits(
    knowledge: Knowledge,
    family: Family,
    spelling: str,
    literals: tuple[str, ...],
    blob: str,
    starts: list[int],
    lines: Sequence[Line],
) -> Iterator[Hit]:
    pattern = _compiled(spelling)
    ignored: Callable[[str], object] = _compiled(family.ignore).search if family.ignore else lambda text: None
    found = 0
    for index in _holding(literals, blob, starts):
        text = lines[index].text
        for match in pattern.finditer(text):
            code = code_of(family, match)
            if code is not None and not ignored(text):
                fields = {**_fields(match), **describe(code)}
                yield Hit(knowledge.by_id[code.entry], index, fields, "code" in _fields(match))
                found += 1
                break
        if found >= MOST_LINES:
            return


def _nearby_hits(
    knowledge: Knowledge, family: Family, blob: str, starts: list[int], lines: Sequence[Line]
) -> Iterator[Hit]:
    """Yield hits of bare codes on lines near which the family is spoken of."""
    assert family.nearby is not None
    assert family.context is not None
    search = _compiled(family.nearby).search
    ignored = _compiled(family.ignore).search if family.ignore else lambda text: None
    found = 0
    for index in _holding(family.nearby_needles, blob, starts):
        text = lines[index].text
        match = search(text)
        code = code_of(family, match) if match is not None else None
        if match is None or code is None or ignored(text):
            continue
        if _spoken(family.context, index, lines):
            yield Hit(knowledge.by_id[code.entry], index, {**_fields(match), **describe(code)})
            found += 1
            if found >= MOST_LINES:
                return


def _spoken(pattern: str, index: int, lines: Sequence[Line]) -> bool:
    """Return whether `pattern` matches on a line or within `NEAR` lines of it."""
    search = _compiled(pattern).search
    return any(search(line.text) for line in lines[max(0, index - NEAR) : index + NEAR + 1])


def code_of(family: Family, match: re.Match[str]) -> Code | None:
    """Return the table's row for a spelled code, or None if the table has none."""
    groups = match.groupdict()
    if name := groups.get("name"):
        return family.by_name.get(name.upper())
    if number := groups.get("code"):
        return family.by_number.get(_number(number))
    if text := groups.get("text"):
        return family.by_text.get(folded(text))
    return None


def describe(code: Code) -> dict[str, str]:
    """Return what a row of a code table adds to the fields of a hit."""
    fields = {"code_name": code.names[0], "meaning": code.meaning}
    if code.number is not None:
        fields["number"] = str(code.number)
    return fields


def _fields(match: re.Match[str]) -> dict[str, str]:
    """Return the named groups; `op2` and the like are alternatives of `op`."""
    return {name.rstrip("0123456789"): value.strip() for name, value in match.groupdict().items() if value}


def _holding(literals: Sequence[str], blob: str, starts: list[int]) -> list[int]:
    """Return the indices of the lines that hold one of `literals`, ascending."""
    found: set[int] = set()
    for needle in literals:
        at = blob.find(needle)
        while at >= 0:
            index = bisect_right(starts, at) - 1
            found.add(index)
            at = blob.find(needle, starts[index + 1])
    return sorted(found)


def _number(text: str) -> int:
    """Return the value of a spelled code; ExecuTorch's Python API prints `0x:14`."""
    digits = text.lower().replace("0x:", "0x")
    return int(digits, 16 if digits.startswith("0x") else 10)
