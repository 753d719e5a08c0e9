"""Every example on every rule page: bad ones get their rule where they say so, good ones get nothing at all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import runners

from kexec_lint import rulebook
from kexec_lint.engine.rules import Selection
from kexec_lint.findings import Severity
from kexec_lint.rulebook import Example, Rule

EXPECT = re.compile(r"expect:\s*([A-Z]{3}\d{3}(?:\s*,\s*[A-Z]{3}\d{3})*)")
PAGES = sorted(rulebook.rules_directory().rglob("[A-Z]*.md"))
RUN = {**runners.SUFFIXES, **runners.RUNNERS}


def examples() -> list[object]:
    rows = []
    for page in PAGES:
        rule = rulebook.read(page)
        for example in rule.examples():
            kind = "bad" if example.bad else "good"
            rows.append(pytest.param(rule, example, id=f"{rule.code}-{kind}-{example.row}"))
    return rows


def expected(example: Example) -> list[tuple[int, str]]:
    return [
        (row, code)
        for row, line in enumerate(example.text.split("\n"), 1)
        for codes in EXPECT.findall(line)
        for code in re.split(r"\s*,\s*", codes)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page: Path) -> None:
    rule = rulebook.read(page)
    for heading in ("## Why", "## Bad", "## Good", "## How to fix", "## Source"):
        assert f"\n{heading}\n" in rule.body, f"the page lacks {heading}"
    assert rule.body.startswith(f"# {rule.name} ({rule.code})\n")
    assert any(expected(example) for example in rule.examples()), "no example says what it expects"


def test_codes_and_names_are_unique() -> None:
    rules = [rulebook.read(page) for page in PAGES]
    assert len({rule.code for rule in rules}) == len(rules)
    # Two executors may have a rule of one name: duplicate-registration is ATN111 and EXT116.
    assert len({(rule.code[:3], rule.name) for rule in rules}) == len(rules)


@pytest.mark.parametrize(("rule", "example"), examples())
def test_example(rule: Rule, example: Example, tmp_path: Path) -> None:
    assert example.language in RUN, f"tests/rules/runners.py has no runner for {example.language}"
    if example.bad:
        assert all(code == rule.code for _, code in expected(example)), "an example is about the rule of its page"
        assert expected(example), "a bad example says with `expect: CODE` where it is bad"
        findings = runners.run(rule, example, tmp_path, Selection(select=(rule.code,)))
        assert [(f.location.row, f.code) for f in findings] == expected(example)
        assert all(f.name == rule.name for f in findings)
        ranks = list(Severity)  # the worst first: a finding may be milder than its rule, not worse
        assert all(ranks.index(f.severity) >= ranks.index(rule.severity) for f in findings)
    else:
        findings = runners.run(rule, example, tmp_path, Selection())
        findings += runners.run(rule, example, tmp_path, Selection(select=(rule.code,)))
        assert [(f.location.row, f.code, f.message) for f in findings] == []
