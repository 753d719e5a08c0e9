"""Fingerprints of findings that stay the same when the lines around them move."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from kexec_lint.engine.check import Report
from kexec_lint.findings import Finding


def fingerprints(report: Report, uris: Sequence[str]) -> list[str]:
    """Return one for each finding, `uris` being the files' names: rule, file, text of the line, and its turn."""
    seen: Counter[str] = Counter()
    result = []
    for finding, uri in zip(report.findings, uris, strict=True):
        line = report.texts.line(finding.location, finding.location.row) or ""
        digest = _digest(finding, uri, line)
        seen[digest] += 1
        result.append(f"{digest}:{seen[digest]}")
    return result


def _digest(finding: Finding, uri: str, line: str) -> str:
    text = "\0".join((finding.code, uri, " ".join(line.split())))
    return hashlib.blake2b(text.encode(errors="surrogateescape"), digest_size=8).hexdigest()
