"""Workflow commands that GitHub Actions turns into annotations of a pull request."""

from __future__ import annotations

from kexec_lint.engine.check import Report
from kexec_lint.findings import Severity
from kexec_lint.report import TOOL, Context, relative_uri, repository_root
from kexec_lint.report.style import place

_COMMAND = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(report: Report, context: Context) -> str:
    """Return one `::error …` line a finding."""
    root = repository_root(context.start)
    lines = []
    for finding in report.findings:
        at = finding.location
        properties = {
            "title": f"{TOOL} {finding.code} ({finding.name})",
            "file": relative_uri(at.filename, context, root),
            "line": str(at.row),
            "endLine": str(at.end_row),
        }
        if at.row == at.end_row:  # columns of different rows make GitHub drop the annotation
            properties |= {"col": str(at.column), "endColumn": str(at.end_column)}
        text = "\n".join(
            [
                f"{place(at)}: {finding.code} {finding.message}",
                *(f"  {place(r.location)}: {r.message}" for r in finding.related),
                *([f"  help: {finding.help}"] if finding.help else []),
            ]
        )
        head = ",".join(f"{key}={_escape(value, ',:')}" for key, value in properties.items())
        lines.append(f"::{_COMMAND[finding.severity]} {head}::{_escape(text)}\n")
    return "".join(lines)


def _escape(text: str, more: str = "") -> str:
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text
