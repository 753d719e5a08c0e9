"""Whole programs in many styles: findings stand where the comments say, and nowhere else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kexec_lint

PROGRAMS = sorted((Path(__file__).parent.parent / "data" / "programs").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_findings_are_those_of_the_comments(program: Path) -> None:
    lines = program.read_text(encoding="utf-8").splitlines()
    expected = [(n, code) for n, line in enumerate(lines, 1) for code in re.findall(r"# expect: (\w+)", line)]
    found = [(finding.location.row, finding.code) for finding in kexec_lint.check([str(program)], isolated=True)]
    assert found == expected
