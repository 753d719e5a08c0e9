"""An executor for tests of the engine: it reports what comments of the file ask it to.

`MARK[OCL101]` reports that code at the word, `MARK[OCL101 possible]` with that confidence; `IMPORT name level` and
`READ file` look something up and report OCL102 if it is found, with its first line; `FACT name` leaves a fact, and
a name left in two files is reported as OCL201 at both; `CRASH`, `DEEP`, `SYNTAX`, `DIE`, `SPIN`, `HANG` and `EAT`
fail in their ways.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from kexec_lint.findings import Confidence, Finding, Location, Related, Severity
from kexec_lint.source import FileResult, Options, Project, Source

SUFFIXES = frozenset((".py", ".c", ".cl"))
SCANNED: list[str] = []
NAMES = {"OCL101": "missing-wait-edge", "OCL102": "partial-wait-list", "ATN206": "invisible-operator"}


def needles(codes: frozenset[str], suffix: str) -> frozenset[bytes]:
    return frozenset(
        (b"MARK", b"FACT", b"IMPORT", b"READ", b"CRASH", b"DEEP", b"NOTE", b"DIE", b"SYNTAX", b"SPIN", b"HANG", b"EAT")
    )


def scan(source: Source, project: Project, options: Options) -> FileResult:
    SCANNED.append(source.path)
    result = FileResult()
    facts: dict[str, Any] = {}
    for row, line in enumerate(source.text.split("\n"), 1):
        for word in re.finditer(r"MARK\[(\w+) ?(\w*)\]", line):
            at = Location(source.path, row, word.start() + 1, row, word.end() + 1)
            result.findings.append(_finding(word[1], at, Confidence(word[2] or "certain")))
        if word := re.search(r"IMPORT (\S+) (\d)", line):
            _found(project.module(word[1], int(word[2]), source.path), source, row, result)
        if word := re.search(r"READ (\S+)", line):
            _found(project.read(word[1], source.path), source, row, result)
        if word := re.search(r"FACT (\w+)", line):
            facts[word[1]] = row
        if "CRASH" in line:
            raise ZeroDivisionError("asked to crash")
        if "NOTE" in line:
            result.notes.append("line 1: odd, not checked")
        if "DEEP" in line:
            raise RecursionError
        if "SYNTAX" in line:
            compile("def f(:", source.path, "exec")
        if "DIE" in line:
            os._exit(3)
        while "SPIN" in line:
            pass
        if "HANG" in line:
            re.match("(a+)+$", "a" * 64 + "b")  # in C, where no exception is heard
        if "EAT" in line:
            bytearray(64 * 1024**3)
    result.facts = facts or None
    return result


def conclude(facts: Mapping[str, dict[str, Any]], options: Options) -> list[Finding]:
    names = [name for here in facts.values() for name in here]
    return [
        _finding("OCL201", Location(path, row, 99, row, 100), Confidence.CERTAIN)
        for path, here in facts.items()
        for name, row in here.items()
        if names.count(name) > 1
    ]


def _found(found: Source | None, source: Source, row: int, result: FileResult) -> None:
    if found is not None:
        at = Location(source.path, row, 1, row, 2)
        first = Related(found.text.split("\n")[0], Location(found.path, 1, 1, 1, 2))
        finding = _finding("OCL102", at, Confidence.CERTAIN)
        result.findings.append(Finding(**{**finding.__dict__, "related": (first,)}))


def _finding(code: str, at: Location, confidence: Confidence) -> Finding:
    return Finding(code, NAMES.get(code, "other"), Severity.ERROR, confidence, f"{code} was asked for", at)
