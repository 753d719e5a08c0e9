"""The fix of KXL001: a code that silences nothing leaves its comment, the comment goes with its last code."""

from __future__ import annotations

import re

from kexec_lint.findings import Edit, Finding, Fix, Location
from kexec_lint.source import Source

_CODE = re.compile(r"[A-Za-z]+[0-9]+")


def without_code(source: Source, finding: Finding) -> Fix | None:
    """Return the fix that takes the code of a KXL001 finding out of its comment, None where it stands oddly."""
    code = _CODE.match(finding.message)
    at = finding.location
    lines = source.text.split("\n")
    if code is None or at.end_row != at.row:
        return None
    line = lines[at.row - 1]
    written = line[at.column - 1 : at.end_column - 1]
    codes = list(_CODE.finditer(written, max(written.find("["), written.rfind(":", 0, written.find(code[0])), 0)))
    idle = [index for index, match in enumerate(codes) if match[0].upper() == code[0]]
    if not idle:
        return None
    message = f"Remove {code[0]} from the comment"
    if len(codes) > len(idle):
        first = idle[0]
        begin = codes[first].start() if first == 0 else codes[first - 1].end()
        end = codes[1].start() if first == 0 else codes[first].end()
        place = Location(at.filename, at.row, at.column + begin, at.row, at.column + end)
        return Fix("safe", message, (Edit(place, ""),))
    before, behind = line[: at.column - 1], line[at.end_column - 1 :]
    if not written.startswith("#"):
        sign = re.search(r"\s*(?:#|//)\s*$", before)
        if sign is None:
            return None
        before = before[: sign.start()]
    before = before.rstrip()
    more = re.search(r"\s*(?:#|//)", behind)
    behind = behind[more.start() :] if more else ""
    if before or behind:
        begin, end = len(before) + 1, len(line) - len(behind) + 1
        if not before:
            behind_start = len(behind) - len(behind.lstrip())
            begin, end = len(line) - len(line.lstrip()) + 1, end + behind_start
        place = Location(at.filename, at.row, begin, at.row, end)
    elif at.row < len(lines):
        place = Location(at.filename, at.row, 1, at.row + 1, 1)
    else:
        place = Location(at.filename, at.row, 1, at.row, len(line) + 1)
    return Fix("safe", message, (Edit(place, ""),))
