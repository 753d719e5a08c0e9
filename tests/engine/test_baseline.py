"""Known findings stay known when lines move, and new ones of the same kind are told."""

from __future__ import annotations

import json

import pytest
from briefly import brief

from kexec_lint.engine import baseline
from kexec_lint.engine.settings import SettingsError

ONE = "a = 1  # MARK[OCL101]\n"


@pytest.fixture
def known(tree, run):
    tree({"a.py": ONE})
    report = run()
    baseline.write("known.json", report.findings, report.texts)


@pytest.mark.parametrize(
    ("text", "new", "gone"),
    [
        (ONE, [], 0),
        ("import x\n\n\n" + ONE, [], 0),
        ("if x:\n    " + ONE, [], 0),
        (ONE + ONE, [2], 0),
        ("b = 2  # MARK[OCL101]\n" + ONE, [1], 0),
        ("a = 1  # MARK[OCL102]\n", [1], 1),
        ("", [], 1),
    ],
)
def test_what_is_new(tree, run, known, text, new, gone):
    tree({"a.py": text})
    report = run()
    findings, left = baseline.unknown("known.json", report.findings, report.texts)
    assert ([f.location.row for f in findings], left) == (new, gone)


def test_another_file_has_findings_of_its_own(tree, run, known):
    tree({"b.py": ONE})
    report = run()
    findings, _ = baseline.unknown("known.json", report.findings, report.texts)
    assert [f.location.filename for f in findings] == ["b.py"]


def test_paths_are_those_seen_from_the_baseline(tree, run, known, monkeypatch):
    tree({"sub/x": ""})
    monkeypatch.chdir("sub")
    report = run("..")
    assert brief(report)
    findings, _ = baseline.unknown("../known.json", report.findings, report.texts)
    assert findings == []


def test_the_file_reads_well(known):
    with open("known.json") as file:
        assert json.load(file) == {
            "version": 1,
            "findings": [{"code": "OCL101", "file": "a.py", "content": "a = 1 # MARK[OCL101]", "count": 1}],
        }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "known.json: not a baseline"),
        ("[]", "known.json: not a baseline"),
        ('{"version": 1, "findings": [3]}', "known.json: not a baseline"),
        ('{"version": 9, "findings": []}', "known.json: baseline of version 9"),
    ],
)
def test_what_is_no_baseline(tree, text, message):
    tree({"known.json": text})
    with pytest.raises(SettingsError, match=message):
        baseline.unknown("known.json", [], None)


def test_a_baseline_that_is_not_there(tree):
    tree({})
    with pytest.raises(SettingsError, match="no such baseline; --write-baseline makes it"):
        baseline.unknown("none.json", [], None)
