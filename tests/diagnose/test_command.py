"""The command line: files, standard input, codes, commands, JSON, exit codes, settings, joined findings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PYTHON = sys.executable
FIELDS = ["id", "executor", "layer", "severity", "root", "lines", "cause", "next_steps", "rules", "sources"]
OPENCL = "pyopencl._cl.LogicError: clEnqueueNDRangeKernel failed: INVALID_WORK_GROUP_SIZE"


def run(*arguments: str, cwd: Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PYTHON, "-m", "kexec_lint", "diagnose", *arguments],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "KEXEC_LINT_CACHE_DIR": str(cwd / "cache"), "COLUMNS": "100"},
    )


def test_json_of_a_file_has_exactly_the_fields(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text(f"start\n{OPENCL}\n")
    result = run("run.log", "--output-format", "json", cwd=tmp_path)
    (found,) = json.loads(result.stdout)
    assert list(found) == FIELDS
    assert (found["layer"], found["executor"], found["root"], found["lines"]) == (
        "opencl-api",
        "opencl",
        True,
        [2],
    )
    assert result.returncode == 0


def test_standard_input_and_a_clean_log(tmp_path: Path) -> None:
    assert json.loads(run("-", "--output-format", "json", cwd=tmp_path, stdin="all 3 tests passed\n").stdout) == []
    assert "opencl-api" in run("-", cwd=tmp_path, stdin=OPENCL).stdout


@pytest.mark.parametrize(
    ("arguments", "layer"),
    [
        (["--", "-54"], "opencl-api"),
        (["-54"], "opencl-api"),
        (["CL_INVALID_WORK_GROUP_SIZE"], "opencl-api"),
        (["--", "CL_INVALID_WORK_GROUP_SIZE"], "opencl-api"),
        (["--", "-5"], "unknown"),  # by its specification any of several
        (["clFinish failed: -5"], "gpu-async-fault"),
        (["--", "-6"], "opencl-driver"),
        (["0x14"], "executorch-selective-build"),
        (["RuntimeError: Missing operator: [0] aten::add.out"], "executorch-selective-build"),
    ],
)
def test_bare_codes_and_messages(tmp_path: Path, arguments: list[str], layer: str) -> None:
    result = run("--output-format", "json", *arguments, cwd=tmp_path)
    assert json.loads(result.stdout)[0]["layer"] == layer
    assert result.returncode == 0


def test_a_command_s_output_and_exit_code_pass_through(tmp_path: Path) -> None:
    script = f"import sys; print('out'); print({OPENCL!r}, file=sys.stderr); sys.exit(7)"
    result = run("--", PYTHON, "-c", script, cwd=tmp_path)
    assert result.returncode == 7
    assert result.stdout.startswith("out\n")
    assert OPENCL in result.stderr
    assert "opencl-api" in result.stdout
    assert "status 7" in result.stdout
    found = run("--output-format", "json", "--", PYTHON, "-c", script, cwd=tmp_path)
    assert json.loads(found.stdout)[0]["layer"] == "opencl-api"
    assert "out" in found.stderr
    assert found.returncode == 7


@pytest.mark.skipif(sys.platform == "win32", reason="signals as exit codes are POSIX")
def test_a_command_killed_by_a_signal(tmp_path: Path) -> None:
    result = run("--output-format", "json", "--", PYTHON, "-c", "import os; os.kill(os.getpid(), 11)", cwd=tmp_path)
    assert result.returncode == 139
    (found,) = json.loads(result.stdout)
    assert found["layer"] == "unknown"
    assert "SIGSEGV" in found["cause"]


def test_a_good_command_says_so(tmp_path: Path) -> None:
    result = run("--", PYTHON, "-c", "print('fine')", cwd=tmp_path)
    assert result.returncode == 0
    assert "nothing in this says that something failed" in result.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_command_under_a_terminal_has_one_too(tmp_path: Path) -> None:
    import pty

    parent, child = pty.openpty()
    script = "import sys; print('tty', sys.stdout.isatty(), sys.stderr.isatty())"
    process = subprocess.Popen(
        [PYTHON, "-m", "kexec_lint", "diagnose", "--", PYTHON, "-c", script],
        stdout=child,
        stderr=child,
        cwd=tmp_path,
    )
    os.close(child)
    said = b""
    while True:
        try:
            data = os.read(parent, 4096)
        except OSError:
            break
        if not data:
            break
        said += data
    assert process.wait() == 0
    assert b"tty True True" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nosuch.log"], "no such file"),
        (["."], "is a folder"),
        (["--knowledge", "nosuch.yaml", "-54"], "no such file"),
        ([], "give a FILE"),
        (["a.log", "--", "true"], "either a FILE or"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(tmp_path: Path, arguments: list[str], message: str) -> None:
    result = run(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_a_command_that_is_not_there_is_127_as_in_a_shell(tmp_path: Path) -> None:
    result = run("--", "no-such-command-here", "x", cwd=tmp_path)
    assert result.returncode == 127
    assert "no-such-command-here: no such file" in result.stderr


def test_exit_code_option(tmp_path: Path) -> None:
    assert run("-", "--exit-code", cwd=tmp_path, stdin=OPENCL).returncode == 1
    assert run("-", "--exit-code", cwd=tmp_path, stdin="fine\n").returncode == 0


def test_knowledge_from_the_settings_file(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.kexec-lint.diagnose]\nknowledge = ["own.yaml"]\n')
    (tmp_path / "own.yaml").write_text(
        "layer: gpu-driver\nentries:\n- id: acme\n  pattern: 'ACME E\\d+'\n  examples: ['ACME E7']\n"
        "  look_alikes: ['ACME ok']\n  cause: It is lost.\n"
    )
    (found,) = json.loads(run("-", "--output-format", "json", cwd=tmp_path, stdin="ACME E7\n").stdout)
    assert (found["id"], found["layer"]) == ("acme", "gpu-driver")


def test_utf_16_logs_are_read(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_bytes(OPENCL.encode("utf-16"))
    assert json.loads(run("run.log", "--output-format", "json", cwd=tmp_path).stdout)[0]["layer"] == "opencl-api"


def test_a_finding_in_the_code_that_the_log_names_is_shown(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "import torch\nfrom torch.library import Library\n\n\ndef make():\n"
        '    lib = Library("kx2", "DEF")\n    lib.define("baz(Tensor x) -> Tensor")\n\n\n'
        "make()\ntorch.ops.kx2.baz(torch.ones(1))\n"
    )
    (tmp_path / "run.log").write_text(
        'Traceback (most recent call last):\n  File "app.py", line 11, in <module>\n'
        "    torch.ops.kx2.baz(torch.ones(1))\n"
        "AttributeError: '_OpNamespace' 'kx2' object has no attribute 'baz'\n"
    )
    (found,) = json.loads(run("run.log", "--output-format", "json", cwd=tmp_path).stdout)
    if not any("app.py:" in step for step in found["next_steps"]):
        pytest.skip("the rules of the aten executor are not there")
    assert found["next_steps"][0].startswith("app.py:6: ATN113")
    assert found["rules"][0] == "ATN113"
    (plain,) = json.loads(run("run.log", "--no-static", "--output-format", "json", cwd=tmp_path).stdout)
    assert not any("app.py:" in step for step in plain["next_steps"])
