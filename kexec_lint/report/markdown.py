"""A Markdown comment for a pull request: the verdict first, a table of findings, what to do folded below."""

from __future__ import annotations

from kexec_lint.engine.check import Report
from kexec_lint.findings import Finding
from kexec_lint.report import Context, rule_url
from kexec_lint.report.style import plain

MARKS = {"error": "❌", "warning": "⚠️", "info": "ℹ️"}  # noqa: RUF001
MOST = 60
"""Rows of the table; GitHub cuts comments at 65,536 characters."""


def render(report: Report, context: Context, verdict: str = "") -> str:
    """Return the comment. `verdict` is the line of its heading."""
    worst = next((name for name in MARKS if any(f.severity.value == name for f in report.findings)), None)
    mark = MARKS[worst] if worst else "✅"
    lines = [f"### {mark} kexec-lint: {_text(verdict or f'{len(report.findings)} findings')}", ""]
    if report.findings:
        lines += ["| | rule | where | what |", "|---|---|---|---|"]
        lines += [_row(finding) for finding in report.findings[:MOST]]
        if len(report.findings) > MOST:
            lines.append(f"| | | | … and {len(report.findings) - MOST} more |")
        helps = dict.fromkeys(finding.help for finding in report.findings if finding.help)
        if helps:
            lines += ["", "<details><summary>What to do</summary>", ""]
            lines += [f"- {_text(line)}" for line in list(helps)[:MOST]]
            lines += ["", "</details>"]
    lines += [f"> {_text(note)}" for note in report.notes]
    return "\n".join(lines) + "\n"


def _row(finding: Finding) -> str:
    at = finding.location
    where = f"`{_code(at.filename)}:{at.row}`"
    return (
        f"| {MARKS[finding.severity.value]} | [{finding.code}]({rule_url(finding.code)}) | {where} "
        f"| {_text(finding.message)} |"
    )


def _code(text: str) -> str:
    return plain(text).replace("`", "'").replace("|", "\\|")


def _text(text: str) -> str:
    """Escape what Markdown would take as markup outside of code spans; names with `_`, `*`, `<` and `|` stay
    readable.
    """
    text = plain(text)
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        pieces = [text.replace("`", "'")]
    shown = []
    for index, piece in enumerate(pieces):
        if index % 2:
            shown.append(f"`{piece}`".replace("|", "\\|"))
        else:
            for mark in "\\*_[]<>|":
                piece = piece.replace(mark, f"\\{mark}" if mark not in "<>" else {"<": "&lt;", ">": "&gt;"}[mark])
            shown.append(piece)
    return "".join(shown)
