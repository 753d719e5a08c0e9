"""Find the entries that a log's lines match: literal needles first, then bounded patterns where one stands.

Cost: one pass over a long text for all needles (over a short one, one per needle whose trigrams all occur), and one
pattern search per pair of (piece of at most `clean.PIECE` characters, entry whose needle stands in it). All grow
linearly with the text; what a pattern may spend on overlong lines is capped by `BUDGET`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import compress, islice

from kexec_lint.diagnose.clean import Line
from kexec_lint.diagnose.knowledge import Code, Entry, Family, Knowledge, Spelling, folded

MOST_LINES = 500
"""Lines recorded for one entry; a log that repeats a message a million times needs no more evidence."""
MOST_CODES = 50
"""Codes looked at in one piece for one spelling."""
MOST_TRIED = 20_000
"""Lines looked at for one spelling."""
NEAR = 3
"""Lines around a message in which its context must stand, where an entry asks for one."""
WINDOW = 160
"""Characters before and after a code in which its context must stand."""
LONG = 1000
MANY = 100_000
"""Characters of a text in which all needles are looked for at once: below, one by one is faster."""
BUDGET = 100_000
"""Characters of pieces longer than `LONG` that one pattern is run over: logs have few such lines, attacks many."""
_EXECUTORCH = re.compile(
    r"\b[EF] \S{0,40} ?\[?executorch:[\w.\-]{1,100}:\d|\bT(?:osa|OSA)ValueError: "
    r"|\b(?:MLX|XNNPACK|MPS) (?:lowering|delegate)\b"
)
"""What heads a line of ExecuTorch's: its kernels and its lowering say of a dtype what ATen's kernels say."""


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


@cache
def _trigrams(text: str) -> frozenset[tuple[str, str, str]]:
    return frozenset(zip(text, text[1:], text[2:], strict=False))


class _Text:
    """The cleaned lines as one string, with what is needed to find the lines that hold a literal."""

    def __init__(self, lines: Sequence[Line], knowledge: Knowledge) -> None:
        self.lines = lines
        self.blob = "\n".join(line.text for line in lines)
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line.text) + 1)
        self._where: dict[str, list[int]] = {}
        self._spoken: dict[tuple[str, int], bool] = {}
        self._trigrams: set[tuple[str, ...]] = set()
        if len(self.blob) > MANY:
            self._find_all(knowledge)
        else:
            self._trigrams.update(zip(self.blob, self.blob[1:], self.blob[2:], strict=False))

    def holding(self, literals: Sequence[str]) -> Iterator[int]:
        """Yield the indices of the lines that hold one of `literals`, ascending; overlong ones within `BUDGET`."""
        found: set[int] = set()
        for needle in literals:
            if needle not in self._where:
                self._where[needle] = list(self._lines_with(needle))
            found.update(self._where[needle])
        spent = 0
        for index in sorted(found):
            length = len(self.lines[index].text)
            if length > LONG:
                spent += length
                if spent > BUDGET:
                    continue
            yield index

    def _find_all(self, knowledge: Knowledge) -> None:
        """Look for all needles in one pass over the text, by four characters of each that few others have."""
        text, grams = self.blob, knowledge.grams
        self._where = {needle: [] for of in grams.values() for _, needle in of}
        windows = zip(text, text[1:], text[2:], text[3:], strict=False)
        for at in compress(range(len(text)), map(grams.__contains__, windows)):
            for offset, needle in grams[tuple(text[at : at + 4])]:
                if at >= offset and text.startswith(needle, at - offset):
                    found, index = self._where[needle], bisect_right(self._starts, at) - 1
                    if not found or found[-1] != index:
                        found.append(index)

    def _lines_with(self, needle: str) -> Iterator[int]:
        if self._trigrams and not _trigrams(needle) <= self._trigrams:
            return
        at = self.blob.find(needle)
        while at >= 0:
            index = bisect_right(self._starts, at) - 1
            yield index
            at = self.blob.find(needle, self._starts[index + 1])

    def spoken(self, pattern: str, index: int) -> bool:
        """Return whether `pattern` matches on a line or within `NEAR` lines of it."""
        if (pattern, index) not in self._spoken:
            search = _compiled(pattern).search
            near = self.lines[max(0, index - NEAR) : index + NEAR + 1]
            self._spoken[pattern, index] = any(search(line.text) for line in near)
        return self._spoken[pattern, index]


def find(knowledge: Knowledge, lines: Sequence[Line]) -> list[Hit]:
    """Return at most one hit a line, in line order: the matching entry that comes first in the knowledge."""
    text = _Text(lines, knowledge)
    best: dict[int, Hit] = {}

    def weight(hit: Hit) -> tuple[bool, bool, bool, int]:
        aten = knowledge.layer[hit.entry.layer].executor == "aten"
        foreign = aten and _EXECUTORCH.search(lines[hit.index].text) is not None
        return foreign, hit.entry.last, hit.by_number, knowledge.rank[hit.entry.id]

    def offer(hits: Iterator[Hit]) -> None:
        for count, hit in enumerate(hits, 1):
            held = best.get(hit.index)
            if held is None or weight(hit) < weight(held):
                best[hit.index] = hit
            if count >= MOST_LINES:
                return

    for entry in knowledge.entries:
        if entry.pattern is not None:
            offer(_entry_hits(entry, entry.pattern, text))
    for family in knowledge.families:
        for spelling in family.spellings:
            offer(_code_hits(knowledge, family, spelling, text))
    return [best[index] for index in sorted(best)]


def _entry_hits(entry: Entry, pattern: str, text: _Text) -> Iterator[Hit]:
    for index in text.holding(entry.needles):
        match = _compiled(pattern).search(text.lines[index].text)
        if match is not None and (entry.near is None or text.spoken(entry.near, index)):
            yield Hit(entry, index, _fields(match))


def _code_hits(knowledge: Knowledge, family: Family, spelling: Spelling, text: _Text) -> Iterator[Hit]:
    for index in islice(text.holding(spelling.needles), MOST_TRIED):
        line = text.lines[index].text
        for count, match in enumerate(_compiled(spelling.find).finditer(line)):
            if count >= MOST_CODES:
                break
            code = code_of(family, match)
            if code is not None and _in_context(family, spelling, match, index, text):
                fields = {**_fields(match), **describe(code)}
                entry = knowledge.by_id[_at_call(family, code, index, text) or code.entry]
                yield Hit(entry, index, fields, "code" in _fields(match))
                break


def _at_call(family: Family, code: Code, index: int, text: _Text) -> str | None:
    """Return the entry for the call that returned `code`: the first named on its line, or the only kind nearby."""
    line = text.lines[index].text[:LONG]
    named = {kind: match.start() for kind in code.at if (match := _compiled(family.calls[kind]).search(line))}
    if named:
        return code.at[min(named, key=named.__getitem__)]
    near = [kind for kind in code.at if text.spoken(family.calls[kind], index)]
    return code.at[near[0]] if len(near) == 1 else None


def _in_context(family: Family, spelling: Spelling, match: re.Match[str], index: int, text: _Text) -> bool:
    line, (start, end) = match.string, match.span()
    if spelling.before is not None:
        at = max(0, start - WINDOW)
        if _compiled(spelling.before).search(line[at:start]) is None:
            return False
    if spelling.after is not None and _compiled(spelling.after).search(line[end : end + WINDOW]) is None:
        return False
    if spelling.near is not None and not text.spoken(spelling.near, index):
        return False
    around = line[max(0, start - WINDOW) : end + WINDOW]
    return family.ignore is None or _compiled(family.ignore).search(around) is None


_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")  # OutOfResources, as bindings to .NET spell OUT_OF_RESOURCES


def code_of(family: Family, match: re.Match[str]) -> Code | None:
    """Return the table's row for a spelled code, or None if the table has none."""
    groups = match.groupdict()
    if name := groups.get("name"):
        return family.by_name.get(name.upper()) or family.by_name.get(_HUMP.sub("_", name).upper())
    if number := groups.get("code"):
        return family.by_number.get(_number(number))
    if words := folded(groups.get("text") or "").split():
        for count in range(len(words), 1, -1):
            if (code := family.by_text.get(" ".join(words[:count]))) is not None:
                return code
    return None


def describe(code: Code) -> dict[str, str]:
    """Return what a row of a code table adds to the fields of a hit."""
    fields = {"code_name": code.names[0], "meaning": code.meaning}
    if code.number is not None:
        fields["number"] = str(code.number)
    if code.earlier is not None:
        fields["number"] = f"{fields.get('number', 'no number')}; {code.earlier} before CUDA 10.1"
    return fields


def _fields(match: re.Match[str]) -> dict[str, str]:
    """Return the named groups; `op2` and the like are alternatives of `op`."""
    return {name.rstrip("0123456789"): value.strip() for name, value in match.groupdict().items() if value}


def _number(text: str) -> int:
    """Return the value of a spelled code; ExecuTorch's Python API prints `0x:14`, a `%u` 4294967291 for -5."""
    digits = text.lower().replace("0x:", "0x")
    number = int(digits, 16 if digits.startswith("0x") else 10)
    return number - 2**32 if 2**31 <= number < 2**32 else number
