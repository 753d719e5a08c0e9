"""An executor of the house: files of build options, one a row, as its kernels are built with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kexec_lint.findings import Confidence, Finding, Location, Severity
from kexec_lint.source import FileResult, Options, Project, Source

SUFFIXES = frozenset({".clopts"})
FAST = "-cl-fast-relaxed-math"


def needles(codes: frozenset[str], suffix: str) -> frozenset[bytes]:
    """Return the strings of which every file that matters holds one."""
    return frozenset({FAST.encode()})


def scan(source: Source, project: Project, options: Options) -> FileResult:
    """Report the option that drops IEEE semantics; leave what was found as a fact."""
    rows = [row for row, line in enumerate(source.text.split("\n"), 1) if line.strip() == FAST]
    return FileResult([_finding(source.path, row) for row in rows], {"fast": rows})


def conclude(facts: Mapping[str, dict[str, Any]], options: Options) -> list[Finding]:
    """Every file is judged by itself."""
    return []


def _finding(path: str, row: int) -> Finding:
    at = Location(path, row, 1, row, len(FAST) + 1)
    message = f"{FAST} changes results from device to device"
    return Finding("ACM201", "fast-math", Severity.WARNING, Confidence.CERTAIN, message, at)
