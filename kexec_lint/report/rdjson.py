"""Reviewdog's diagnostic format, with fixes as suggestions."""

from __future__ import annotations

from json import dumps
from typing import Any

from kexec_lint.engine.check import Report
from kexec_lint.findings import Finding, Location, Severity
from kexec_lint.report import TOOL, TOOL_URL, Context, relative_uri, repository_root, rule_url

_SEVERITY = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.INFO: "INFO"}


def render(report: Report, context: Context) -> str:
    """Return the diagnostics; reviewdog counts columns in bytes of UTF-8, from 1."""
    root = repository_root(context.start)

    def position(at: Location, row: int, column: int) -> dict[str, int]:
        line = report.texts.line(at, row) or ""
        return {"line": row, "column": len(line[: column - 1].encode(errors="replace")) + 1}

    def span(at: Location) -> dict[str, Any]:
        return {"start": position(at, at.row, at.column), "end": position(at, at.end_row, at.end_column)}

    def location(at: Location) -> dict[str, Any]:
        return {"path": relative_uri(at.filename, context, root), "range": span(at)}

    def diagnostic(finding: Finding) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "message": finding.message if not finding.help else f"{finding.message}\n{finding.help}",
            "location": location(finding.location),
            "severity": _SEVERITY[finding.severity],
            "code": {"value": finding.code, "url": rule_url(finding.code)},
        }
        if finding.related:
            entry["relatedLocations"] = [
                {"message": item.message, "location": location(item.location)} for item in finding.related
            ]
        if finding.fix is not None and finding.fix.applicability != "display":
            entry["suggestions"] = [
                {"range": span(edit.location), "text": edit.content}
                for edit in finding.fix.edits
                if edit.location.filename == finding.location.filename
            ]
        return entry

    document = {
        "source": {"name": TOOL, "url": TOOL_URL},
        "diagnostics": [diagnostic(finding) for finding in report.findings],
    }
    return dumps(document, indent=2, ensure_ascii=False) + "\n"
