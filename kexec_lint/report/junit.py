"""JUnit XML: one suite a file, one failed case a finding."""

from __future__ import annotations

from itertools import groupby
from xml.sax.saxutils import quoteattr

from kexec_lint.engine.check import Report
from kexec_lint.findings import Finding
from kexec_lint.report import TOOL, Context
from kexec_lint.report.markup import escape, legal
from kexec_lint.report.style import place

_PASSED = f'  <testsuite name="{TOOL}" tests="1" failures="0">\n    <testcase name="check"/>\n  </testsuite>\n'


def render(report: Report, context: Context) -> str:
    """Return the suites; a run without findings is one suite with one passed case, which readers expect."""
    suites = [
        _suite(filename, list(findings))
        for filename, findings in groupby(report.findings, key=lambda finding: finding.location.filename)
    ] or [_PASSED]
    total = len(report.findings)
    head = f'<testsuites name="{TOOL}" tests="{total or 1}" failures="{total}" errors="{len(report.errors)}">'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}\n{"".join(suites)}</testsuites>\n'


def _suite(filename: str, findings: list[Finding]) -> str:
    count = len(findings)
    cases = "".join(_case(finding) for finding in findings)
    head = f'<testsuite name={_attribute(filename)} tests="{count}" failures="{count}" errors="0">'
    return f"  {head}\n{cases}  </testsuite>\n"


def _case(finding: Finding) -> str:
    text = "\n".join(
        [
            f"{place(finding.location)}: {finding.message}",
            *(f"{place(item.location)}: {item.message}" for item in finding.related),
            *([finding.help] if finding.help else []),
        ]
    )
    at = finding.location
    return (
        f"    <testcase name={_attribute(f'{finding.code} {at.row}:{at.column}')} "
        f'classname={_attribute(at.filename)} file={_attribute(at.filename)} line="{at.row}">\n'
        f"      <failure type={_attribute(finding.severity.value)} message={_attribute(finding.message)}>"
        f"{escape(text)}</failure>\n    </testcase>\n"
    )


def _attribute(text: str) -> str:
    return quoteattr(legal(text))
