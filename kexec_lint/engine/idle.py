"""Findings about suppression comments that silence nothing (KXL001) or name no rule (KXL002)."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from kexec_lint.engine.rules import RuleEntry
from kexec_lint.engine.suppressions import Suppression
from kexec_lint.findings import Confidence, Finding, Location, Severity
from kexec_lint.source import Source


def findings(
    source: Source,
    comments: Sequence[Suppression],
    rules: dict[str, RuleEntry],
    codes: frozenset[str],
) -> Iterable[Finding]:
    """Yield KXL002 for codes that no rule has and KXL001 for those that silence nothing in this run."""
    families = {code[:3] for code in rules}
    for comment in comments:
        if not comment.told:
            continue
        at = Location(source.path, comment.row, comment.column, comment.row, comment.end_column)
        if not comment.codes:
            message = "the comment names no rule, so it silences nothing"
            yield _engine_finding(rules, "KXL002", at, message, "write the code in brackets")
        for written in comment.codes:
            code = written.upper()
            if code not in rules:
                # A code of another family after noqa belongs to another linter.
                if not comment.noqa or code[:3] in families:
                    message = f"no rule has the code {written}, so the comment silences nothing"
                    yield _engine_finding(rules, "KXL002", at, message, _nearest(code, rules))
            elif code in codes and code not in comment.used and not code.startswith("KXL"):
                message = f"{code} ({rules[code].name}) is not reported here, so its suppression is not needed"
                yield _engine_finding(rules, "KXL001", at, message, f"remove {code} from the comment")


def _nearest(code: str, rules: dict[str, RuleEntry]) -> str:
    close = difflib.get_close_matches(code, rules, n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else "`kexec-lint rule --all` lists the codes"


def _engine_finding(rules: dict[str, RuleEntry], code: str, at: Location, message: str, help_: str) -> Finding:
    rule = rules[code]
    return Finding(code, rule.name, Severity(rule.severity), Confidence.CERTAIN, message, at, help=help_)
