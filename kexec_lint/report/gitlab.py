"""GitLab's Code Quality report."""

from __future__ import annotations

from json import dumps

from kexec_lint.engine.check import Report
from kexec_lint.findings import Severity
from kexec_lint.report import Context, relative_uri, repository_root
from kexec_lint.report.fingerprint import fingerprints

_SEVERITY = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.INFO: "info"}


def render(report: Report, context: Context) -> str:
    """Return the JSON list of issues, named relative to the repository."""
    root = repository_root(context.start)
    uris = [relative_uri(finding.location.filename, context, root) for finding in report.findings]
    issues = [
        {
            "check_name": finding.code,
            "description": f"{finding.code} ({finding.name}): {finding.message}",
            "severity": _SEVERITY[finding.severity],
            "fingerprint": fingerprint,
            "location": {
                "path": uri,
                "positions": {
                    "begin": {"line": finding.location.row, "column": finding.location.column},
                    "end": {"line": finding.location.end_row, "column": finding.location.end_column},
                },
            },
        }
        for finding, uri, fingerprint in zip(report.findings, uris, fingerprints(report, uris), strict=True)
    ]
    return dumps(issues, indent=2, ensure_ascii=False) + "\n"
