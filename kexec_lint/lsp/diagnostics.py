"""A finding → a diagnostic of the protocol, with its related places and the address of its page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lsprotocol import types as lsp

from kexec_lint.findings import Finding, Location, Severity
from kexec_lint.lsp.places import span
from kexec_lint.report import rule_url

SOURCE = "kexec-lint"

Placing = Callable[[Location], lsp.Location]
"""Where a location lies, in a document or a cell of a notebook."""

_SEVERITY = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.INFO: lsp.DiagnosticSeverity.Information,
}


def diagnostic(finding: Finding, place: Placing) -> lsp.Diagnostic:
    """Return the diagnostic of a finding."""
    seen = {finding.location}
    related = []
    for item in (*finding.related, *finding.steps):
        if item.location not in seen:
            seen.add(item.location)
            related.append(lsp.DiagnosticRelatedInformation(place(item.location), item.message))
    text = finding.message if finding.help is None else f"{finding.message}\nhelp: {finding.help}"
    return lsp.Diagnostic(
        range=place(finding.location).range,
        message=text,
        severity=_SEVERITY[finding.severity],
        code=finding.code,
        code_description=lsp.CodeDescription(rule_url(finding.code)),
        source=SOURCE,
        tags=[lsp.DiagnosticTag.Unnecessary] if finding.code == "KXL001" else None,
        related_information=related or None,
    )


def located(uri: str, lines: Sequence[str], at: Location, encoding: str) -> lsp.Location:
    """Return the protocol's location of a place in a document."""
    return lsp.Location(uri, span(lines, at, encoding))
