"""action.yml: its shape by the schema of actions, its script by running it as a runner does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parent.parent
RACE = (CHECKOUT / "examples" / "upload.py").read_text(encoding="utf-8")
SHAPES = {
    "action.yml": "vendor.github-actions",
    "examples/ci/github.yml": "vendor.github-workflows",
    "examples/ci/gitlab.yml": "vendor.gitlab-ci",
}

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@pytest.mark.parametrize(("file", "schema"), SHAPES.items())
def test_files_for_ci_are_valid(file: str, schema: str):
    pytest.importorskip("check_jsonschema", reason="needs check-jsonschema: pip install check-jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(CHECKOUT / file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def step(tmp_path: Path):
    """Run the action's script in a repository; return its exit code, output and the files that a runner reads."""
    project, runner = tmp_path / "my project", tmp_path / "runner"
    (project / ".git").mkdir(parents=True)
    tool = runner / "kexec-lint" / "bin" / "kexec-lint"  # as an earlier step of the job left it
    tool.parent.mkdir(parents=True)
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kexec_lint "$@"\n')
    tool.chmod(0o755)

    def go(text: str, **inputs: str) -> tuple[int, str, str, str]:
        (project / "app.py").write_text(text)
        files = {"GITHUB_OUTPUT": tmp_path / "output", "GITHUB_STEP_SUMMARY": tmp_path / "summary"}
        for file in files.values():
            file.write_text("")
        env = {
            **os.environ,
            **{name: str(file) for name, file in files.items()},
            "RUNNER_TEMP": str(runner),
            "ACTION_PATH": str(CHECKOUT),
            "KEXEC_LINT_CACHE_DIR": str(tmp_path / "cache"),
            **{f"INPUT_{name.upper()}": value for name, value in inputs.items()},
        }
        script = str(CHECKOUT / "scripts" / "github_action.sh")
        done = subprocess.run(["bash", script], cwd=project, env=env, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr, *(file.read_text() for file in files.values())

    go.project = project
    return go


def test_findings_are_annotations_a_summary_and_sarif(step):
    code, printed, output, summary = step(RACE, sarif="out.sarif")
    assert code == 1
    assert "::error title=kexec-lint OCL101 (missing-wait-edge),file=app.py,line=23," in printed
    assert output == "exit-code=1\n"
    assert "[OCL101](" in summary
    assert '"ruleId": "OCL101"' in (step.project / "out.sarif").read_text()


def test_findings_need_not_fail_the_step(step):
    code, _, output, summary = step(RACE, fail="false", summary="false", annotations="false")
    assert (code, output, summary) == (0, "exit-code=1\n", "")


def test_options_are_words_and_never_commands(step):
    code, printed, output, _ = step(RACE, args="--select $(touch${IFS}pwned)", fail="false")
    assert (code, output) == (2, "exit-code=2\n")
    assert "no rule answers to" in printed
    assert not (step.project / "pwned").exists()
