"""The needles never hide a finding: what they leave out yields nothing when it is analysed all the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kexec_lint import rulebook
from kexec_lint.engine import executors
from kexec_lint.engine.discovery import suffix
from kexec_lint.engine.pool import tree
from kexec_lint.engine.tree import RecordingProject
from kexec_lint.source import Options, Source

TOP = Path(__file__).parents[2]
SUFFIXES = {"python": ".py", "c": ".c", "cpp": ".cpp", "opencl": ".cl", "yaml": ".yaml", "cmake": ".cmake"}
CODES = frozenset(rulebook.load())


def texts() -> list[tuple[str, str]]:
    """Every example of every page, every program of the tests and examples, and some of our own sources."""
    found = [
        (f"{code}-{number}{SUFFIXES[example.language]}", example.text)
        for code, rule in sorted(rulebook.load().items())
        for number, example in enumerate(rule.examples())
        if example.language in SUFFIXES
    ]
    for folder in ("examples", "tests/data", "kexec_lint/engine"):
        for path in sorted((TOP / folder).rglob("*")):
            if path.suffix in SUFFIXES.values():
                found.append((path.relative_to(TOP).as_posix(), path.read_text(encoding="utf-8")))
    return found


@pytest.mark.parametrize("name", executors.EXECUTORS)
def test_what_holds_no_needle_yields_nothing(name):
    module = executors.EXECUTORS[name]
    reader, executor = executors.reader(name, module, CODES), executors.load(module)
    project = RecordingProject(tree(-1, os.getcwd(), ()))
    kept = left = 0
    for path, text in texts():
        if suffix(path) not in reader.needles:
            continue
        if reader.wants(suffix(path), text.encode()):
            kept += 1
            continue
        left += 1
        try:
            result = executor.scan(Source(path, text, text.encode()), project, Options(CODES, "possible", True))
        except SyntaxError:
            continue
        told = [finding for finding in result.findings if finding.code in CODES]
        assert not told, (path, told)
        assert not executor.conclude({path: result.facts}, Options(CODES, "possible")) if result.facts else True, path
    assert kept > 5, "the needles let something through"
    assert left > 100, "and leave out a great deal"
