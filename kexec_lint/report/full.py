"""Findings for people: source of every command concerned, carets, the missing edge in words, numbered steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kexec_lint.engine.check import Report
from kexec_lint.engine.texts import Texts
from kexec_lint.findings import Confidence, Finding, Location, Related
from kexec_lint.report import Context
from kexec_lint.report.style import Style, place, plain

_TAB = 4
_MANY_ROWS = 5
_NARROW = 60


@dataclass(frozen=True)
class Mark:
    """A span to underline, with its label; `main` for the place of the finding itself."""

    at: Location
    label: str
    main: bool

    def rows(self) -> list[int]:
        """Return the rows to show: all of a short main span, first and last of a long one, else the first."""
        at = self.at
        last = at.end_row - 1 if at.end_row > at.row and at.end_column == 1 else at.end_row
        rows = list(range(at.row, max(last, at.row) + 1))
        if not self.main:
            return rows[:1]
        return rows if len(rows) <= _MANY_ROWS else [*rows[:2], rows[-1]]


def render(report: Report, context: Context) -> str:
    """Return all findings, a blank line after each."""
    painter = _Painter(Style(context.colour), report.texts, max(context.width, _NARROW) if context.width else 0)
    return "".join("\n".join(painter.finding(finding)) + "\n\n" for finding in report.findings)


@dataclass(frozen=True)
class _Painter:
    style: Style
    texts: Texts
    width: int

    def finding(self, finding: Finding) -> Iterator[str]:
        style = self.style
        sure = "" if finding.confidence is Confidence.CERTAIN else style.dim(f" ({finding.confidence.value})")
        head = style.severity(finding.severity, f"{finding.severity.value}[{finding.code}]")
        yield f"{head} {style.bold(plain(finding.message))}{sure}"
        related = _without_repeats(finding.related, finding.location)
        gutter = len(str(max(m.end_row for m in (finding.location, *(r.location for r in related)))))
        pad = " " * gutter
        main = Mark(finding.location, plain(finding.hazard or ""), True)
        yield f"{pad}{style.frame('-->')} {place(finding.location)}"
        here = [r for r in related if _same_text(r.location, finding.location)]
        yield from self.snippet([main, *_marks(here)], gutter)
        others = [r for r in related if not _same_text(r.location, finding.location)]
        while others:
            first = others[0].location
            marks = _marks([r for r in others if _same_text(r.location, first)])
            others = [r for r in others if not _same_text(r.location, first)]
            yield f"{pad}{style.frame(':::')} {place(first)}"
            yield from self.snippet(marks, gutter)
        if finding.steps:
            yield f"{pad} {style.frame('=')} {style.bold('in order:')}"
            for number, step in enumerate(finding.steps, 1):
                yield f"{pad}   {style.frame(f'{number}.')} {style.dim(place(step.location))}  {plain(step.message)}"
        if finding.help:
            yield from self.block(f"{pad} {style.frame('=')} ", "help", finding.help, gutter)
        if finding.fix is not None:
            yield from self.block(f"{pad} {style.frame('=')} ", "fix", finding.fix.message, gutter)
        for verdict in verdicts_of(finding):
            yield from self.block(f"{pad} {style.frame('=')} ", verdict["verdict"], verdict_words(verdict), gutter)
        yield f"{pad} {style.frame('=')} {style.bold('why:')} kexec-lint rule {finding.code} ({plain(finding.name)})"

    def block(self, lead: str, title: str, text: str, gutter: int) -> Iterator[str]:
        """Yield a titled paragraph, wrapped to the terminal."""
        indent = gutter + len(title) + 5
        lines = [piece for line in text.split("\n") for piece in self.wrap(plain(line), indent)]
        yield f"{lead}{self.style.bold(f'{plain(title)}:')} {lines[0]}"
        for line in lines[1:]:
            yield f"{' ' * indent}{line}"

    def wrap(self, text: str, indent: int) -> list[str]:
        """Return text in lines that fit behind an indent."""
        import textwrap

        return textwrap.wrap(text, max(self.width - indent, 20)) or [""] if self.width else [text]

    def snippet(self, marks: Sequence[Mark], gutter: int) -> Iterator[str]:
        """Yield the rows that the marks span, each followed by its underlines; a gap is three dots."""
        bar = f"{' ' * gutter} {self.style.frame('|')}"
        found = {row: self.texts.line(marks[0].at, row) for mark in marks for row in mark.rows()}
        lines = {row: line for row, line in sorted(found.items()) if line is not None}
        yield bar
        last = None
        for row, line in lines.items():
            if last is not None and row == last + 2:
                between = self.texts.line(marks[0].at, last + 1)
                yield self.source_row(last + 1, self.crop(_expand(between or ""), 0)[0], gutter)
            elif last is not None and row > last + 1:
                yield self.style.frame("..." if gutter < 3 else "." * gutter)
            last = row
            here = sorted((m for m in marks if row in m.rows()), key=lambda m: (not m.main, m.at.column))
            start = min(_underline(m, row, line)[0] for m in here)
            text, shift = self.crop(_expand(line), start)
            yield self.source_row(row, text, gutter)
            for mark in here:
                begin, end = _underline(mark, row, line)
                begin, end = max(begin - shift, 0), min(max(end - shift, 1), _width(text))
                sign = ("^" if mark.main else "-") * max(end - begin, 1)
                label = mark.label if row == mark.rows()[-1] else ""
                paint = self.style.main if mark.main else self.style.note
                fits = not self.width or gutter + 4 + begin + len(sign) + _width(label) < self.width
                yield f"{bar} {' ' * begin}{paint(sign)}{' ' + paint(label) if label and fits else ''}"
                if label and not fits:
                    yield from (f"{bar} {' ' * begin}{paint(part)}" for part in self.wrap(label, gutter + 3 + begin))
        if lines:
            yield bar

    def source_row(self, row: int, text: str, gutter: int) -> str:
        """Return one row of source behind its number."""
        return f"{self.style.frame(f'{row:>{gutter}} |')} {text}".rstrip()

    def crop(self, text: str, start: int) -> tuple[str, int]:
        """Return the part of a long line that holds column `start`, and how many columns were cut at the left."""
        room = self.width - 12 if self.width else 200
        if _width(text) <= room:
            return text, 0
        cut = max(start - 20, 0) if start > room - 20 else 0
        return text[cut : cut + room], cut


def verdicts_of(finding: Finding) -> list[dict[str, str]]:
    """Return what devices said to a finding (`kexec_lint.verify.verdicts`)."""
    found = dict(finding.extra).get("verdicts", ())
    return [verdict for verdict in found if isinstance(verdict, dict)] if isinstance(found, (list, tuple)) else []


def verdict_words(verdict: dict[str, str]) -> str:
    """Return a verdict as a sentence behind its word."""
    return f"on {verdict['device']}: {verdict['reason']}"


def _without_repeats(related: Sequence[Related], main: Location) -> list[Related]:
    return [r for r in dict.fromkeys(related) if r.location != main or r.message]


def _marks(related: Sequence[Related]) -> list[Mark]:
    """Return a mark for each place; what several say of the same place stands in one label."""
    labels: dict[Location, list[str]] = {}
    for item in related:
        labels.setdefault(item.location, []).append(item.message)
    return [Mark(at, plain("; ".join(filter(None, texts))), False) for at, texts in labels.items()]


def _same_text(a: Location, b: Location) -> bool:
    return (a.filename, a.cell) == (b.filename, b.cell)


def _underline(mark: Mark, row: int, line: str) -> tuple[int, int]:
    """Return first and past-the-last terminal column, from 0, of a mark on one of its rows."""
    at = mark.at
    first = at.column - 1 if row == at.row else len(line) - len(line.lstrip())
    last = at.end_column - 1 if row == at.end_row else len(line.rstrip())
    return _width(_expand(line[:first])), max(_width(_expand(line[:last])), _width(_expand(line[:first])) + 1)


def _expand(text: str) -> str:
    """Return text with tabs as spaces and without control characters, which would move the carets."""
    return "".join(c if c.isprintable() else "�" for c in text.expandtabs(_TAB))


def _width(text: str) -> int:
    """Return how many terminal columns a text takes."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
