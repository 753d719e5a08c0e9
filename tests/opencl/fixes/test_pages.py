"""The bad examples of the rules whose pages promise a fix: fixed, clean, the same when fixed again."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixing import comments, run

from kexec_lint import rulebook
from kexec_lint.rulebook import Example, Rule

FIXED = (
    *("OCL101", "OCL102", "OCL103", "OCL104", "OCL105", "OCL106"),
    *("OCL110", "OCL307", "OCL308", "OCL503"),
    *("OCL201", "OCL202", "OCL206", "OCL209", "OCL210", "OCL302", "OCL303", "OCL311", "OCL501", "OCL502", "OCL508"),
)
"""Rules of which every bad Python example has a fix."""
NATIVE = ("OCL101", "OCL102", "OCL103", "OCL104", "OCL105", "OCL201", "OCL202", "OCL206", "OCL210", "OCL302")
"""Rules of which every bad example in C and C++ has one."""
SUFFIXES = {"python": ".py", "c": ".c", "cpp": ".cpp"}


def examples() -> list[object]:
    rows = []
    for code in sorted({*FIXED, *NATIVE}):
        rule = rulebook.rule(code)
        for example in rule.examples():
            if (
                example.bad
                and example.language in SUFFIXES
                and code in (FIXED if example.language == "python" else NATIVE)
            ):
                rows.append(pytest.param(rule, example, id=f"{code}-{example.row}"))
    return rows


@pytest.mark.parametrize(("rule", "example"), examples())
def test_bad_example(rule: Rule, example: Example, tmp_path: Path) -> None:
    path = tmp_path / f"example{SUFFIXES[example.language]}"
    fixed, report = run(path, example.text, unsafe=True, code=rule.code)
    assert fixed != example.text
    assert [(f.location.row, f.code, f.message) for f in report.findings] == []
    assert comments(path.name, fixed) == comments(path.name, example.text)
    assert run(path, fixed, unsafe=True, code=rule.code)[0] == fixed
    if example.language == "python":
        compile(fixed, "example.py", "exec")
