"""One line a finding, as editors and grep read it."""

from __future__ import annotations

from kexec_lint.engine.check import Report
from kexec_lint.report import Context
from kexec_lint.report.style import Style, place, plain


def render(report: Report, context: Context) -> str:
    """Return `file:row:column: CODE [severity, confidence] message` lines."""
    style = Style(context.colour)
    return "".join(
        f"{style.bold(place(f.location))}: {style.severity(f.severity, f.code)} {plain(f.message)} "
        f"{style.dim(f'[{f.severity.value}, {f.confidence.value}]')}\n"
        for f in report.findings
    )
