"""Findings of an earlier text, put where their lines stand now: shown while the text does not parse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kexec_lint.findings import Finding, Location, Related


def move(findings: Sequence[Finding], before: Sequence[str], after: Sequence[str]) -> list[Finding]:
    """Return the findings of `before` whose lines are still there in `after`, with their rows there."""
    shorter = min(len(before), len(after))
    head = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    tail = next((i for i in range(shorter - head) if before[-1 - i] != after[-1 - i]), shorter - head)
    by = len(after) - len(before)
    kept = []
    for finding in findings:
        filename = finding.location.filename

        def place(at: Location, filename: str = filename) -> Location | None:
            if at.filename != filename or at.end_row <= head:
                return at
            return replace(at, row=at.row + by, end_row=at.end_row + by) if at.row > len(before) - tail else None

        def places(items: Sequence[Related]) -> tuple[Related, ...]:
            put = ((item.message, place(item.location)) for item in items)
            return tuple(Related(message, at) for message, at in put if at is not None)

        location = place(finding.location)
        if location is not None:
            related, steps = places(finding.related), places(finding.steps)
            # An edit made for the earlier text is not one for this text.
            kept.append(replace(finding, location=location, related=related, steps=steps, fix=None))
    return kept
