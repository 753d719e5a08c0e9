"""The seed of the project: a captured write event in the kernel's wait list is silent; without it, a finding."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from opencl_cases import NoProject

from kexec_lint import rulebook
from kexec_lint.opencl.report import scan_native
from kexec_lint.source import Options, Source

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize("name", ["missing_event.c", "captured_event.c"])
def test_seed(name: str) -> None:
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    codes = frozenset(code for code, rule in rulebook.load().items() if rule.default)
    found = scan_native(Source(name, text, text.encode()), NoProject(), Options(codes)).findings
    expected = [
        (row, code)
        for row, line in enumerate(text.split("\n"), 1)
        for code in re.findall(r"expect: ([A-Z]{3}\d{3})", line)
    ]
    assert [(f.location.row, f.code) for f in found if f.confidence.rank < 2] == expected
