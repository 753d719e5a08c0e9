"""Parts of a run: together they find what one run finds, each finding once, also what only all files show."""

from __future__ import annotations

import json

import pytest
from briefly import brief
from click.testing import CliRunner

from kexec_lint.cli import cli
from kexec_lint.engine import shard

FILES = {f"{folder}/f{i}.py": f"MARK[OCL101] FACT n{i % 5}\n" for folder in ("a", "b") for i in range(12)} | {
    "a/idle.py": "x = 1  # kexec: ignore[OCL101]\n",
    "b/silenced.py": "FACT n1  # kexec: ignore[OCL201]\n",
    "a/syntax.py": "SYNTAX\n",
    "b/alone.py": "FACT alone\n",
    "c.py": "IMPORT a.f1 0\nMARK[OCL101 possible]\n",
}


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_parts_together_are_the_whole(tree, run, parts):
    tree(FILES)
    whole = run(cache_results=False)
    assert {f.code for f in whole.findings} == {"OCL101", "OCL102", "OCL201", "KXL001"}
    reports = [run(shard=(part, parts), cache_results=False) for part in range(1, parts + 1)]
    found = [finding for report in reports for finding in report.findings]
    assert sorted(found, key=lambda finding: finding.sort_key) == whole.findings
    assert sorted(note for report in reports for note in report.notes) == whole.notes
    assert sum(report.files for report in reports) == whole.files
    assert sum(report.silenced for report in reports) == whole.silenced
    if parts > 1:
        assert max(len(report.findings) for report in reports) < len(whole.findings)


def test_an_executor_that_judges_files_alone_reads_its_part_only(tree, run, monkeypatch):
    import marker_executor

    monkeypatch.setattr(marker_executor, "ALONE", True, raising=False)
    tree({f"f{i}.py": "MARK[OCL101]\n" for i in range(8)})
    reports = [run(shard=(part, 2), cache_results=False, cache_directory=None) for part in (1, 2)]
    assert sorted(marker_executor.SCANNED) == [f"f{i}.py" for i in range(8)], "each file once"
    assert [report.analysed for report in reports] == [report.files for report in reports]
    assert sorted(name for report in reports for name in brief(report)) == [f"f{i}.py:1 OCL101" for i in range(8)]


def test_a_part_stays_the_same_when_files_come_and_go() -> None:
    assert [name for name in "abcdefgh" if shard.holds((1, 3), name)] == ["a", "c", "d", "e", "h"]


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "1/0", "a/2", "1/b", "-1/2", "1/2/3"])
def test_what_is_no_part_is_refused(tree, text):
    tree({"a.py": ""})
    result = CliRunner().invoke(cli, ["check", "--shard", text])
    assert result.exit_code == 2
    assert "is not I/N with I from 1 to N" in result.output


@pytest.fixture
def call(tmp_path):
    def go(*arguments: str):
        caller = CliRunner(env={"KEXEC_LINT_CACHE_DIR": str(tmp_path / "cache")})
        return caller.invoke(cli, list(arguments))

    return go


@pytest.mark.parametrize("format", ["json", "sarif"])
def test_merged_reports_are_the_report_of_the_whole(tree, call, format):
    top = tree(FILES)
    whole = call("check", "--output-format", format)
    assert whole.exit_code == 1
    files = []
    for part in ("3/3", "1/3", "2/3"):
        files.append(f"../{part[0]}.{format}")
        assert call("check", "--shard", part, "--output-format", format, "--output-file", files[-1]).exit_code == 1
    merged = call("merge", *files)
    assert merged.exit_code == 1
    assert json.loads(merged.stdout) == json.loads(whole.stdout)
    assert call("merge", *files, *files).stdout == merged.stdout, "a report that is given twice counts once"
    assert call("merge", *files, "--exit-zero", "-o", "../all").exit_code == 0
    assert (top.parent / "all").read_text("utf-8") == merged.stdout


def test_clean_parts_end_with_0_and_a_fault_in_one_ends_with_2(tree, call):
    tree({"a.py": "", "b.py": "", "c.py": "", "d.py": ""})
    for format in ("json", "sarif"):
        for part in "12":
            call("check", "--shard", f"{part}/2", "--output-format", format, "--output-file", f"{part}.{format}")
        assert call("merge", f"1.{format}", f"2.{format}").exit_code == 0
    tree({"c.py": "CRASH\n"})
    for part in "12":
        call("check", "--shard", f"{part}/2", "--output-format", "sarif", "--output-file", f"{part}.sarif")
    result = call("merge", "1.sarif", "2.sarif")
    assert result.exit_code == 2
    assert result.stderr.startswith("c.py: internal error: ZeroDivisionError")
    assert json.loads(result.stdout)["runs"][0]["invocations"][0]["executionSuccessful"] is False


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        (["[", "[]"], "0: not a whole JSON document"),
        (["[]", '{"runs": []}'], "0: JSON; 1: SARIF: cannot be joined"),
        (["[]", '[{"code": 3}]'], "0, 1: not all are reports that kexec-lint wrote"),
        (["{}"], "0: not all are reports that kexec-lint wrote"),
        (["3"], "0: not all are reports that kexec-lint wrote"),
        (['{"runs": [{"tool": {"driver": {"name": "x", "version": "1"}}}]}'], "0: reports of x 1 cannot be joined"),
    ],
)
def test_what_cannot_be_merged_is_one_line(tree, call, texts, line):
    tree({str(number): text for number, text in enumerate(texts)})
    result = call("merge", *map(str, range(len(texts))))
    assert result.exit_code == 2
    assert result.stderr == f"kexec-lint: {line}\n" if hasattr(result, "stderr") else line in result.output
    assert call("merge", "none").exit_code == 2
