"""Comments that silence findings: `kexec: ignore[OCL101] reason`, `noqa: OCL101`, `kexec: file-ignore[OCL101]`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kexec_lint.findings import Finding
from kexec_lint.source import Source

_OURS = re.compile(r"\bkexec:\s*(file-)?ignore\b\s*(?:\[([^\]\n]*)\])?", re.I)
_MARK = re.compile(r"kexec:|noqa", re.I)
_NOQA = re.compile(r"#\s*noqa\s*:\s*([A-Z]+[0-9]+(?:[\s,]+[A-Z]+[0-9]+)*)", re.I)
_C_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
_HASH_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n]*", re.M)


@dataclass
class Suppression:
    """One comment. It covers findings that touch one of `rows`, or all if `rows` is None.

    `codes` are as written. `told` is False inside a string, where a comment of kernel source cannot be told from
    text about one: it works but is never called unused. `used` collects the codes that it silenced.
    """

    codes: tuple[str, ...]
    rows: frozenset[int] | None
    row: int
    column: int
    end_column: int
    told: bool = True
    noqa: bool = False
    used: set[str] = field(default_factory=set)

    def covers(self, finding: Finding) -> bool:
        """Return whether the comment silences a finding: its code, on the first or last row of its place."""
        if finding.code not in (code.upper() for code in self.codes):
            return False
        at = finding.location
        return self.rows is None or at.row in self.rows or at.end_row in self.rows


def find(source: Source) -> list[Suppression]:
    """Return the suppressions of a file in order."""
    if _MARK.search(source.text) is None:
        return []
    if source.suffix in (".py", ".pyi", ".pyw"):
        comments = _python_comments(source.text)
    elif source.suffix in (".yaml", ".yml", ".toml", ".cfg", ".txt", ".cmake"):
        comments = _comments(source.text, _HASH_COMMENT)
    else:
        comments = _comments(source.text, _C_COMMENT)
    lines = source.text.split("\n")
    return [s for row, column, text, told in comments for s in _parse(lines, row, column, text, told)]


def silence(findings: Iterable[Finding], suppressions: list[Suppression]) -> list[Finding]:
    """Return the findings that no suppression covers; those that do cover one are marked as used."""
    kept = []
    for finding in findings:
        covering = [s for s in suppressions if s.covers(finding)]
        for suppression in covering:
            suppression.used.add(finding.code)
        if not covering:
            kept.append(finding)
    return kept


def _parse(lines: list[str], row: int, column: int, text: str, told: bool) -> Iterator[Suppression]:
    rows = frozenset((row,))
    if not lines[row - 1][: column - 1].strip():
        # A comment that stands alone speaks for the next line of code.
        below = row + text.count("\n")
        alone = "#" if text.startswith("#") else "//"
        while below < len(lines) and (not lines[below].strip() or lines[below].lstrip().startswith(alone)):
            below += 1
        rows = frozenset((row, below + 1))
    for match in _OURS.finditer(text):
        yield Suppression(
            codes=tuple(re.split(r"[\s,]+", match[2].strip())) if match[2] and match[2].strip() else (),
            rows=None if match[1] else rows,
            row=row + text.count("\n", 0, match.start()),
            column=column + match.start() if "\n" not in text[: match.start()] else 1,
            end_column=column + match.end() if "\n" not in text[: match.end()] else 1 + len(match[0]),
            told=told,
        )
    noqa = _NOQA.search(text)
    if noqa:
        yield Suppression(
            codes=tuple(re.split(r"[\s,]+", noqa[1])),
            rows=frozenset((row,)),
            row=row,
            column=column + noqa.start(),
            end_column=column + noqa.end(),
            told=told,
            noqa=True,
        )


def _python_comments(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """Yield row, column, text of each comment; those of kernel source inside strings count as not told."""
    import io
    import tokenize

    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.start[1] + 1, token.string, True
            elif "kexec:" in token.string and token.type not in (tokenize.NAME, tokenize.OP):
                row, column = token.start
                for match in _C_COMMENT.finditer(_inside(token.string)):
                    if match[0].startswith("/"):
                        above = token.string.count("\n", 0, match.start())
                        line_start = token.string.rfind("\n", 0, match.start()) + 1
                        at = match.start() - line_start + 1 + (column if not above else 0)
                        yield row + above, at, match[0], False
    except (tokenize.TokenError, SyntaxError):
        return  # such a file is reported by whoever parses it


def _inside(literal: str) -> str:
    """Blank the quotes of a string literal, lest they read as a C string around the whole kernel."""
    return re.sub(r"^\w*(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')$", lambda m: " " * len(m[0]), literal)


def _comments(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, int, str, bool]]:
    for match in pattern.finditer(text):
        if match[0][0] in "/#":
            row = text.count("\n", 0, match.start()) + 1
            column = match.start() - (text.rfind("\n", 0, match.start()) + 1) + 1
            yield row, column, match[0], True
