"""A JSON list of findings; the fields that ruff has carry ruff's names and meaning (docs/json.md)."""

from __future__ import annotations

from collections.abc import Sequence
from json import dumps
from typing import Any

from kexec_lint.engine.check import Report
from kexec_lint.findings import Finding, Location, Related
from kexec_lint.report import Context, rule_url


def render(report: Report, context: Context) -> str:
    """Return the list, one finding after another, indented."""
    entries = [entry(finding, context) for finding in report.findings]
    return dumps(entries, indent=2, ensure_ascii=False, default=str) + "\n"


def entry(finding: Finding, context: Context) -> dict[str, Any]:
    """Return one finding as a JSON object; file names are absolute."""
    at = finding.location
    fields: dict[str, Any] = {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "hazard": finding.hazard,
        "message": finding.message,
        "help": finding.help,
        "filename": context.absolute(at.filename),
        "cell": at.cell,
        **_span(at),
        "url": rule_url(finding.code),
        "fix": None,
        "related": _places(finding.related, context),
        "steps": _places(finding.steps, context),
    }
    if finding.fix is not None:
        fields["fix"] = {
            "applicability": finding.fix.applicability,
            "message": finding.fix.message,
            "edits": [{"content": edit.content, **_span(edit.location)} for edit in finding.fix.edits],
        }
    for key, value in finding.extra:
        fields.setdefault(key, value)
    return fields


def _places(items: Sequence[Related], context: Context) -> list[dict[str, Any]]:
    return [
        {
            "message": item.message,
            "filename": context.absolute(item.location.filename),
            "cell": item.location.cell,
            **_span(item.location),
        }
        for item in items
    ]


def _span(at: Location) -> dict[str, dict[str, int]]:
    return {
        "location": {"row": at.row, "column": at.column},
        "end_location": {"row": at.end_row, "column": at.end_column},
    }
