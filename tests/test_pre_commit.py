"""The hooks, run by the real pre-commit on a repository of their own.

They install this checkout as a user's pre-commit would, so they take a while; CI runs them in its second step.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pre_commit", reason="needs pre-commit: pip install pre-commit")

CHECKOUT = Path(__file__).parent.parent
RACE = (CHECKOUT / "examples" / "upload.py").read_text(encoding="utf-8")
ORDERED = RACE.replace("None, x, y)", "None, x, y, wait_for=[up])")


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that holds this checkout as it is, committed or not."""
    top = tmp_path_factory.mktemp("hooks")
    for name in ("kexec_lint", "rules"):
        shutil.copytree(CHECKOUT / name, top / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml"):
        shutil.copy(CHECKOUT / name, top)
    commit(top)
    return top


@pytest.fixture
def project(tmp_path: Path) -> Path:
    top = tmp_path / "project"
    top.mkdir()
    git(top, "init", "-q")
    return top


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """pre-commit's own folder, shared by the tests so that the hooks are installed once."""
    return tmp_path_factory.mktemp("home")


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "all")


def run(hooks: Path, project: Path, home: Path, hook: str, *arguments: str) -> tuple[int, str]:
    """Stage everything and run one hook; return its exit code and what it printed."""
    git(project, "add", "-A")
    env = {**os.environ, "PRE_COMMIT_HOME": str(home), "KEXEC_LINT_CACHE_DIR": str(home / "cache")}
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "try-repo", str(hooks), hook, "--verbose", "--color=never", *arguments],
        cwd=project,
        env=env,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def test_staged_files_are_checked(hooks: Path, project: Path, home: Path):
    (project / "app.py").write_text(RACE)
    (project / "notes.txt").write_text("cl.enqueue_copy(queue, x, y)\n")
    code, text = run(hooks, project, home, "kexec-lint")
    assert code == 1
    assert "error[OCL101] Kernel square reads `x`" in text
    assert "Traceback" not in text
    (project / "app.py").write_text(ORDERED)
    code, text = run(hooks, project, home, "kexec-lint")
    assert (code, "Passed" in text) == (0, True), text


def test_an_excluded_file_that_is_staged_stays_out(hooks: Path, project: Path, home: Path):
    (project / "vendored").mkdir()
    (project / "vendored" / "app.py").write_text(RACE)
    (project / "kexec-lint.toml").write_text('exclude = ["vendored/"]\n')
    code, text = run(hooks, project, home, "kexec-lint")
    assert (code, "Passed" in text) == (0, True), text


def test_a_wrong_setting_is_one_line(hooks: Path, project: Path, home: Path):
    (project / "app.py").write_text(ORDERED)
    (project / "kexec-lint.toml").write_text("ignroe = []\n")
    code, text = run(hooks, project, home, "kexec-lint")
    assert code == 1
    assert "kexec-lint.toml:1: unknown key 'ignroe'; did you mean 'ignore'?" in text
    assert "Traceback" not in text


def test_the_whole_project_is_checked_when_one_file_is_staged(hooks: Path, project: Path, home: Path):
    (project / "ops.py").write_text(
        'import torch\nlib = torch.library.Library("shop", "DEF")\nlib.define("f(Tensor x) -> Tensor")\n'
    )
    (project / "kernel.py").write_text(
        'import torch\n\n@torch.library.impl("shop::f", "CPU")\ndef f(x):\n    return x.clone()\n'
    )
    commit(project)
    (project / "ops.py").write_text((project / "ops.py").read_text() + "# a comment\n")
    code, text = run(hooks, project, home, "kexec-lint-project", "--hook-stage", "manual")
    assert (code, "Passed" in text) == (0, True), text
    (project / "kernel.py").write_text("import torch\n")
    code, text = run(hooks, project, home, "kexec-lint-project", "--hook-stage", "manual")
    assert (code, "ATN101" in text) == (1, True), text


def test_fixes_are_applied_and_stop_the_commit(hooks: Path, project: Path, home: Path):
    (project / "app.py").write_text(RACE)
    code, text = run(hooks, project, home, "kexec-lint-fix")
    assert (code, "files were modified by this hook" in text) == (1, True), text
    assert "wait_for=[up]" in (project / "app.py").read_text()
    code, text = run(hooks, project, home, "kexec-lint-fix")
    assert (code, "Passed" in text) == (0, True), text


def test_opset_names_what_it_needs(hooks: Path, project: Path, home: Path):
    (project / "selected_operators.yaml").write_text("operators: {}\n")
    code, text = run(hooks, project, home, "kexec-lint-opset")
    assert code == 1
    assert "Usage: kexec-lint opset check" in text
    assert "Traceback" not in text
