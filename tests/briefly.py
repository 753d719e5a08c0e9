"""Findings of a run in few words, for tables of expectations."""

from __future__ import annotations

from kexec_lint.engine.check import Report


def brief(report: Report) -> list[str]:
    """Return the findings as `file:row code`."""
    return [f"{f.location.filename}:{f.location.row} {f.code}" for f in report.findings]
