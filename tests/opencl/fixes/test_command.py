"""`kexec-lint check` with --fix, --diff, --unsafe-fixes and --show-fixes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kexec_lint.cli import cli

START = """
import pyopencl as cl

SOURCE = "__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2.0f; }"


def run(ctx, n):
    queue = cl.CommandQueue(ctx, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    twice = cl.Program(ctx, SOURCE).build().twice
    x = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, 4 * n)
""".lstrip()
RACE = (
    START
    + """    twice(queue, (n,), None, x)
    twice(queue, (n,), None, x).wait()
"""
)
FIXED = (
    START
    + """    twice_done = twice(queue, (n,), None, x)
    twice(queue, (n,), None, x, wait_for=[twice_done]).wait()
"""
)
LOOP = (
    START
    + """    twice(queue, (n,), None, x).wait()
    for _ in range(n):
        last = twice(queue, (n,), None, x)
    last.wait()
"""
)


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    def go(*arguments: str, input: str | None = None) -> Result:
        return CliRunner(env={"NO_COLOR": "1"}).invoke(
            cli, ["check", "--isolated", "--no-cache", *arguments], input=input, prog_name="kexec-lint"
        )

    return go


@pytest.mark.parametrize(
    ("text", "arguments", "code", "changed"),
    [
        (RACE, [], 1, False),
        (RACE, ["--fix"], 0, True),
        (RACE, ["--diff"], 1, False),
        (RACE, ["--diff", "--fix"], 1, False),
        (RACE, ["--diff", "--exit-zero"], 0, False),
        (FIXED, ["--diff"], 0, False),
        (FIXED, ["--fix"], 0, False),
        (LOOP, ["--diff"], 0, False),
        (LOOP, ["--fix"], 1, False),
        (LOOP, ["--fix", "--unsafe-fixes"], 0, True),
        (LOOP, ["--diff", "--unsafe-fixes"], 1, False),
        (RACE, ["--fix", "--add-ignore"], 2, False),
    ],
)
def test_exit_codes(check, tmp_path, text, arguments, code, changed):
    (tmp_path / "a.py").write_text(text)
    result = check("a.py", *arguments)
    assert result.exit_code == code, result.output
    assert ((tmp_path / "a.py").read_text() != text) == changed


def test_fix_is_written_and_told(check, tmp_path):
    (tmp_path / "a.py").write_text(RACE)
    result = check("a.py", "--fix", "--show-fixes")
    assert (tmp_path / "a.py").read_text() == FIXED
    assert "1 OCL101 (missing-wait-edge)" in result.stderr
    assert "Fixed 1 finding." in result.stderr


def test_unsafe_fixes_that_are_left_are_told(check, tmp_path):
    (tmp_path / "a.py").write_text(LOOP)
    result = check("a.py", "--fix")
    assert "1 more with --unsafe-fixes" in result.stderr, result.output


def test_diff_applies_with_patch_in_mind(check, tmp_path):
    (tmp_path / "a.py").write_text(RACE)
    result = check("a.py", "--diff")
    assert result.stdout.startswith("--- a.py\n+++ a.py\n@@ ")
    assert "+    twice_done = twice(queue, (n,), None, x)\n" in result.stdout


def test_standard_input_comes_out_fixed(check):
    result = check("-", "--fix", input=RACE)
    assert result.stdout == FIXED
    assert check("-", "--fix", input="x = 1\n").stdout == "x = 1\n"


def test_formats_that_carry_fixes(check, tmp_path):
    (tmp_path / "a.py").write_text(RACE)
    (finding,) = json.loads(check("a.py", "--output-format", "json").stdout)
    assert finding["fix"]["applicability"] == "safe"
    assert [edit["content"] for edit in finding["fix"]["edits"]] == ["twice_done = ", ", wait_for=[twice_done]"]
    sarif = json.loads(check("a.py", "--output-format", "sarif").stdout)
    (change,) = sarif["runs"][0]["results"][0]["fixes"][0]["artifactChanges"]
    assert len(change["replacements"]) == 2


def test_findings_of_the_baseline_stay_as_they_are(check, tmp_path):
    (tmp_path / "a.py").write_text(RACE)
    check("a.py", "--baseline", "known.json", "--write-baseline")
    assert check("a.py", "--baseline", "known.json", "--fix").exit_code == 0
    assert (tmp_path / "a.py").read_text() == RACE


def test_a_suppressed_finding_is_not_fixed(check, tmp_path):
    silenced = RACE.replace(".wait()", ".wait()  # kexec: ignore[OCL101] meant so")
    (tmp_path / "a.py").write_text(silenced)
    assert check("a.py", "--fix").exit_code == 0
    assert (tmp_path / "a.py").read_text() == silenced


def test_a_folder_without_permission(check, tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text(RACE)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.replace", refuse)
    result = check("a.py", "--fix")
    assert result.exit_code == 2
    assert "a.py: permission denied, fixes not written" in result.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["a.py"]
