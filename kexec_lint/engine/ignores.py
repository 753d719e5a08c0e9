"""Writes suppression comments at findings: of a run (`check --add-ignore`), or of one in an editor."""

from __future__ import annotations

import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Sequence

from kexec_lint.engine.decoding import Unreadable, decode
from kexec_lint.findings import Edit, Finding, Location
from kexec_lint.source import Source

_PRESENT = re.compile(r"(kexec:\s*ignore\s*\[)([^\]\n]*)(\])")


def add(findings: Sequence[Finding]) -> tuple[list[Finding], list[str]]:
    """Add `kexec: ignore[CODE]` to the lines found. Return the findings that stay, with a note for each reason."""
    by_file: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_file[finding.location.filename].append(finding)
    left: list[Finding] = []
    notes: list[str] = []
    for filename, here in by_file.items():
        try:
            stay = _add_to_file(filename, here)
        except (OSError, Unreadable) as error:
            notes.append(f"{filename}: {error}; no comment added")
            stay = here
        else:
            notes += [
                f"{filename}:{finding.location.row}: no place for a comment on this line ({finding.code})"
                for finding in stay
            ]
        left += stay
    return left, notes


def edit(source: Source, finding: Finding, reason: str) -> Edit | None:
    """Return the edit that silences one finding in its file, or None where no comment can stand."""
    if finding.code.startswith("KXL"):
        return None
    at = finding.location
    rows = {row: row for row in (at.row, at.end_row)}  # row of the text → row as the finding counts it
    if at.cell is not None and source.cells is not None:
        rows = {source.cells.index(place) + 1: place[1] for place in source.cells if place in _ends(at)}
    places = _places(source)
    lines = source.text.split("\n")
    for row, counted in rows.items():
        if row in places:
            line = lines[row - 1]
            commented = _with_comment(line.encode(), {finding.code}, places[row]).decode()
            if _PRESENT.search(line) is None:
                commented = f"{commented} {reason}"
            whole = Location(at.filename, counted, 1, counted, len(line) + 1, at.cell)
            return Edit(whole, commented)
    return None


def _ends(at: Location) -> set[tuple[int, int]]:
    return {(at.cell or 0, at.row), (at.cell or 0, at.end_row)}


def _add_to_file(filename: str, findings: Sequence[Finding]) -> list[Finding]:
    with open(filename, "rb") as file:
        data = file.read()
    source = decode(filename, data)
    if source.cells is not None:
        return list(findings)
    # Work on bytes: encoding, line ends and everything else in the file stay as they are.
    lines = data.splitlines(keepends=True) if b"\f" not in data and b"\v" not in data else _split(data)
    places = _places(source)
    codes: dict[int, set[str]] = defaultdict(set)
    stay = []
    for finding in findings:
        row = next((r for r in (finding.location.row, finding.location.end_row) if r in places), None)
        if row is None or finding.code.startswith("KXL"):
            stay.append(finding)
        else:
            codes[row].add(finding.code)
    for row, new in codes.items():
        lines[row - 1] = _with_comment(lines[row - 1], new, places[row])
    if codes:
        with open(filename, "wb") as file:
            file.write(b"".join(lines))
    return stay


def _split(data: bytes) -> list[bytes]:
    return re.findall(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", data)


def _with_comment(line: bytes, codes: set[str], mark: str) -> bytes:
    body = line.rstrip(b"\r\n")
    end = line[len(body) :]
    text = body.decode("latin-1")
    present = _PRESENT.search(text)
    if present:
        both = sorted({*re.split(r"[\s,]+", present[2].strip()), *codes} - {""})
        text = text[: present.start(2)] + ", ".join(both) + text[present.end(2) :]
    else:
        text = f"{text.rstrip()}  {mark} kexec: ignore[{', '.join(sorted(codes))}]"
    return text.encode("latin-1") + end


def _places(source: Source) -> dict[int, str]:
    """Return the rows whose end can take a comment, with the sign that starts one there."""
    if source.suffix in (".py", ".pyi", ".pyw"):
        return _python_places(source.text)
    sign = "#" if source.suffix in (".yaml", ".yml", ".toml", ".txt", ".cmake") else "//"
    rows = {row: sign for row, line in enumerate(source.text.split("\n"), 1) if not line.endswith("\\")}
    for block in re.finditer(r"/\*.*?\*/", source.text, re.S):
        first = source.text.count("\n", 0, block.start()) + 1
        for row in range(first, first + block[0].count("\n")):
            rows.pop(row, None)
    return rows


def _python_places(text: str) -> dict[int, str]:
    lines = text.split("\n")
    rows = {row: "#" for row, line in enumerate(lines, 1) if not line.endswith("\\")}
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            for row in range(token.start[0], token.end[0]):
                if token.type not in (tokenize.NEWLINE, tokenize.NL):
                    rows.pop(row, None)
                    # Inside a string a comment can only be one of the kernel source that the string holds.
                    if "__kernel" in token.string or "kernel void" in token.string:
                        rows[row] = "//"
    except (tokenize.TokenError, SyntaxError):
        return {}
    return rows
