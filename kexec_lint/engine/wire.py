"""Findings as JSON-able lists and back: the form in which they cross processes and rest in the cache."""

from __future__ import annotations

from typing import Any

from kexec_lint.findings import Confidence, Edit, Finding, Fix, Location, Related, Severity


def pack(finding: Finding) -> list[Any]:
    """Return the JSON-able form of a finding."""
    return [
        finding.code,
        finding.name,
        finding.severity.value,
        finding.confidence.value,
        finding.message,
        _pack_location(finding.location),
        finding.help,
        finding.hazard,
        [[r.message, _pack_location(r.location)] for r in finding.related],
        [[r.message, _pack_location(r.location)] for r in finding.steps],
        finding.fix and _pack_fix(finding.fix),
        [list(pair) for pair in finding.extra],
    ]


def unpack(data: list[Any]) -> Finding:
    """Return the finding that `pack` packed."""
    code, name, severity, confidence, message, at, help_, hazard, related, steps, fix, extra = data
    return Finding(
        code=code,
        name=name,
        severity=Severity(severity),
        confidence=Confidence(confidence),
        message=message,
        location=Location(*at),
        help=help_,
        hazard=hazard,
        related=tuple(Related(text, Location(*place)) for text, place in related),
        steps=tuple(Related(text, Location(*place)) for text, place in steps),
        fix=fix and _unpack_fix(fix),
        extra=tuple((key, value) for key, value in extra),
    )


def _pack_location(at: Location) -> list[Any]:
    return [at.filename, at.row, at.column, at.end_row, at.end_column, at.cell]


def _pack_fix(fix: Fix) -> list[Any]:
    return [fix.applicability, fix.message, [[_pack_location(e.location), e.content] for e in fix.edits]]


def _unpack_fix(data: list[Any]) -> Fix:
    applicability, message, edits = data
    return Fix(applicability, message, tuple(Edit(Location(*at), content) for at, content in edits))
