"""Writes suppression comments at the findings of a run (`check --add-ignore`)."""

from __future__ import annotations

import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Sequence

from kexec_lint.engine.decoding import Unreadable, decode
from kexec_lint.findings import Finding
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
