"""What a device says to a finding, and how verdicts travel with findings."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace

from kexec_lint.findings import Finding
from kexec_lint.verify import VerifyError

CONFIRMED, HELD_BACK, INCONCLUSIVE = "confirmed", "held-back", "inconclusive"
NOT_EXECUTED, ORDERED = "not-executed", "ordered-at-run-time"


@dataclass(frozen=True)
class Verdict:
    """`verdict` is one of the words above; `reason` one sentence. Held back is not refuted: the race stays one."""

    device: str
    verdict: str
    reason: str
    how: str = "replay"
    """How it was found: "replay", "run" or "gate"."""


def attach(finding: Finding, verdicts: Sequence[Verdict]) -> Finding:
    """Return the finding with its verdicts, after those that it has."""
    if not verdicts:
        return finding
    extra = dict(finding.extra)
    known = extra.get("verdicts", ())
    assert isinstance(known, (list, tuple))
    extra["verdicts"] = [*known, *(asdict(verdict) for verdict in verdicts)]
    return replace(finding, extra=tuple(extra.items()))


def of(finding: Finding) -> list[Verdict]:
    """Return the verdicts that a finding carries."""
    known = dict(finding.extra).get("verdicts", ())
    assert isinstance(known, (list, tuple))
    return [Verdict(**verdict) for verdict in known]


def read(file: str) -> dict[tuple[str, str, int, int], list[Verdict]]:
    """Return the verdicts of a JSON report of `verify` by code, absolute file, row and column.

    Raises VerifyError if the file is none.
    """
    try:
        with open(file, encoding="utf-8") as opened:
            entries = json.load(opened)
        return {
            (
                entry["code"],
                os.path.realpath(entry["filename"]),
                entry["location"]["row"],
                entry["location"]["column"],
            ): [Verdict(**verdict) for verdict in entry.get("verdicts", ())]
            for entry in entries
        }
    except OSError as error:
        raise VerifyError(f"{file}: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, KeyError, TypeError):
        raise VerifyError(f"{file}: not a report of `kexec-lint verify … --output-format json`") from None


def join(findings: Iterable[Finding], file: str) -> list[Finding]:
    """Return the findings with the verdicts that a file holds for them."""
    known = read(file)
    joined = []
    for finding in findings:
        at = finding.location
        key = (finding.code, os.path.realpath(at.filename), at.row, at.column)
        joined.append(attach(finding, known.get(key, ())))
    return joined
