"""`kexec-lint check` as people and scripts call it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kexec_lint.cli import cli

MARK = "x = 1  # MARK[OCL101]\n"


@pytest.fixture
def check(tmp_path: Path):
    """Call `kexec-lint check` with arguments; `input` is standard input."""

    def go(*arguments: str, input: bytes | None = None, **environment: str) -> Result:
        caller = CliRunner(env={"KEXEC_LINT_CACHE_DIR": str(tmp_path / "cache"), "NO_COLOR": "", **environment})
        return caller.invoke(cli, ["check", *arguments], input=input, prog_name="kexec-lint")

    return go


@pytest.mark.parametrize(
    ("files", "arguments", "code"),
    [
        ({"a.py": "x = 1\n"}, [], 0),
        ({"a.py": MARK}, [], 1),
        ({"a.py": MARK}, ["--exit-zero"], 0),
        ({"a.py": MARK}, ["--ignore", "OCL"], 0),
        ({"a.py": "x = 1  # MARK[OCL101 possible]\n"}, [], 0),
        ({"a.py": "x = 1  # MARK[OCL101 possible]\n"}, ["--confidence", "possible"], 1),
        ({"a.py": "SYNTAX\n"}, [], 0),
        ({"a.py": "CRASH\n", "b.py": MARK}, [], 2),
        ({"a.py": "CRASH\n"}, ["--exit-zero"], 2),
        ({}, ["missing.py"], 2),
        ({}, ["--select", "NONE"], 2),
        ({}, ["--colour"], 2),
        ({}, ["--output-format", "xml"], 2),
        ({}, ["--output-format", "json:"], 2),
        ({}, ["--output-format", "json", "--output-format", "full"], 2),
        ({}, ["--confidence", "sure"], 2),
        ({}, ["--write-baseline"], 2),
        ({}, ["--isolated", "--config", "x.toml"], 2),
        ({}, ["--config", "none.toml"], 2),
        ({"kexec-lint.toml": "selct = []\n"}, [], 2),
        ({"a.py": MARK}, ["--output-file", "a.py/x"], 2),
        ({"a.py": MARK}, ["a.py", "-"], 2),
        ({"a.py": MARK}, ["--stdin-filename", "a.py"], 2),
        ({}, [], 0),
    ],
)
def test_exit_codes(tree, check, files, arguments, code):
    tree(files)
    result = check(*arguments)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output


def test_findings_go_to_stdout_and_troubles_to_stderr(tree, check):
    tree({"a.py": MARK, "b.py": "SYNTAX\n", "c.py": "CRASH\n"})
    result = check("--output-format", "concise")
    assert result.stdout == (
        "a.py:1:10: OCL101 OCL101 was asked for [error, certain]\nFound 1 finding in 3 files: 1 error.\n"
    )
    lines = result.stderr.splitlines()
    assert lines[0] == "b.py:1: not valid Python (invalid syntax), not checked"
    assert lines[1].startswith("c.py: internal error: ZeroDivisionError: asked to crash at marker_executor.py:")
    assert "Please report it" in lines[2]
    assert len(lines) == 3


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["missing.py"], "kexec-lint: missing.py: no such file or folder"),
        (["--select", "OCLX"], "kexec-lint: no rule answers to 'OCLX'; did you mean OCL?"),
    ],
)
def test_an_error_is_one_line(tree, check, arguments, line):
    tree({})
    assert check(*arguments).stderr == f"{line}\n"


def test_the_line_of_an_unknown_key(tree, check):
    top = tree({"pyproject.toml": '[project]\nname = "x"\n\n[tool.kexec-lint]\nselect = []\nexlude = []\n'})
    message = f"kexec-lint: {top}/pyproject.toml:6: unknown key 'exlude'; did you mean 'exclude'?\n"
    assert check().stderr == message


def test_codes_come_in_lists_and_several_times(tree, check):
    tree({"a.py": "MARK[OCL101] MARK[OCL102] MARK[OCL201] MARK[ATN206]\n"})
    found = check("--select", "OCL101,OCL102", "--select", "ATN206", "--ignore=OCL102", "--output-format", "json")
    assert [entry["code"] for entry in json.loads(found.stdout)] == ["OCL101", "ATN206"]


def test_standard_input(tree, check):
    tree({"kexec-lint.toml": 'per-file-ignores = {"src/" = ["OCL101"]}\n'})
    both = b"MARK[OCL101] MARK[OCL102]\n"
    plain = json.loads(check("-", "--output-format", "json", input=both).stdout)
    assert [entry["code"] for entry in plain] == ["OCL101", "OCL102"]
    named = json.loads(check("-", "--stdin-filename", "src/a.py", "--output-format", "json", input=both).stdout)
    assert [(entry["code"], entry["filename"]) for entry in named] == [("OCL102", f"{os.getcwd()}/src/a.py")]
    full = check("-", "--stdin-filename", "src/a.py", input=both).stdout
    assert "1 | MARK[OCL101] MARK[OCL102]" in full, "the source shown is that of standard input"


def test_several_reports_in_one_run(tree, check):
    tree({"a.py": MARK})
    result = check(
        "--output-format", "concise", "--output-format", "json:out/r.json", "--output-format", "sarif:r.sarif"
    )
    assert result.stdout.startswith("a.py:1:10: OCL101")
    assert json.loads(Path("out/r.json").read_text())[0]["code"] == "OCL101"
    assert json.loads(Path("r.sarif").read_text())["runs"][0]["results"][0]["ruleId"] == "OCL101"


def test_output_file(tree, check):
    tree({"a.py": MARK})
    result = check("--output-format", "json", "--output-file", "r.json", FORCE_COLOR="1")
    assert result.stdout == ""
    assert len(json.loads(Path("r.json").read_text())) == 1


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_colour(tree, check, environment, coloured):
    tree({"a.py": MARK})
    assert ("\x1b[" in check(**environment).stdout) == coloured


def test_statistics(tree, check):
    tree({"a.py": "MARK[OCL101] MARK[OCL102] MARK[OCL101]\n"})
    assert check("--statistics", "--quiet").stdout == "2  OCL101  missing-wait-edge\n1  OCL102  partial-wait-list\n"
    assert json.loads(check("--statistics", "--output-format", "json").stdout)[0] == {
        "code": "OCL101",
        "name": "missing-wait-edge",
        "count": 2,
    }


def test_show_files_and_settings(tree, check):
    tree({"kexec-lint.toml": 'select = ["OCL101"]\n', "a.py": MARK, "b.txt": "", ".venv/c.py": ""})
    assert check("--show-files").stdout == "a.py\n"
    settings = check("--show-settings").stdout
    assert "rules: OCL101\n" in settings
    assert "kexec-lint.toml\n" in settings


def test_verbose_says_where_the_time_went(tree, check):
    tree({"a.py": MARK, "b.py": MARK})
    lines = check("--verbose").stderr
    assert "analysing: " in lines
    assert "2 files, 2 analysed, 0 from the cache" in lines
    assert "2 files, 0 analysed, 2 from the cache" in check("--verbose").stderr
    assert "2 files, 2 analysed, 0 from the cache" in check("--verbose", "--no-cache").stderr


def test_cache_dir(tree, check, tmp_path: Path):
    tree({"a.py": MARK})
    check("--cache-dir", str(tmp_path / "mine"))
    assert (tmp_path / "mine" / "results.sqlite").exists()
    assert not (tmp_path / "cache").exists()


def test_baseline(tree, check):
    tree({"a.py": MARK})
    written = check("--baseline", "known.json", "--write-baseline")
    assert (written.exit_code, written.stdout) == (0, "")
    assert check("--baseline", "known.json").exit_code == 0
    tree({"b.py": MARK})
    result = check("--baseline", "known.json", "--output-format", "concise")
    assert result.exit_code == 1
    assert result.stdout.startswith("b.py:1:10: OCL101")
    Path("a.py").unlink()
    assert "1 entry no longer found" in check("--baseline", "known.json").stderr
    assert check("--baseline", "none.json").exit_code == 2


def test_add_ignore(tree, check):
    tree({"a.py": MARK})
    result = check("--add-ignore")
    assert (result.exit_code, result.stderr) == (0, "1 finding silenced by comments; say the reason in each\n")
    assert Path("a.py").read_text() == "x = 1  # MARK[OCL101]  # kexec: ignore[OCL101]\n"
    assert check().exit_code == 0


def test_quiet(tree, check):
    tree({"a.py": "x = 1\n"})
    assert check("--quiet").stdout == ""
    assert check().stdout == "No findings in 1 file.\n"


def test_force_exclude(tree, check):
    tree({"kexec-lint.toml": 'exclude = ["a.py"]\n', "a.py": MARK})
    assert check("a.py").exit_code == 1
    assert check("a.py", "--force-exclude").exit_code == 0


def test_notebooks(tree, check):
    cells = [{"cell_type": "code", "source": ["%pip install x\n", "y = 1  # MARK[OCL101]\n"], "metadata": {}}]
    tree({"n.ipynb": json.dumps({"cells": [{**cells[0], "source": "a\n"}, *cells], "metadata": {}, "nbformat": 4})})
    (entry,) = json.loads(check("--output-format", "json").stdout)
    assert (entry["cell"], entry["location"]["row"]) == (2, 2)


@pytest.mark.parametrize("option", ["--select", "--confidence", "--output-format", "--baseline", "--jobs"])
def test_help_names_the_options(check, option):
    assert option in check("--help").stdout
