"""Logs given as text, judged."""

from __future__ import annotations

from kexec_lint.boundary import logs
from kexec_lint.boundary.verdicts import Report, judge


def report(text: str, name: str = "log") -> Report:
    """Judge a log that is given as text."""
    return judge(logs.read_lines(text.splitlines(), name))


def verdicts(text: str) -> list[str]:
    """Return the verdicts on a log, probes left out, in order."""
    return [r.verdict.value for r in report(text).refusals if r.verdict.value != "probe"]
