"""What a release is made of: the same bytes from the same source, one version, licences of all dependencies told."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import kexec_lint

TOP = Path(__file__).parent.parent


def test_one_version() -> None:
    project = (TOP / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'^version = "(.+)"$', project, re.M)[1] == kexec_lint.__version__
    assert (
        re.search(r"^## (\S+)", (TOP / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)[1] == kexec_lint.__version__
    )


def test_the_licence_of_every_dependency_is_told() -> None:
    project = (TOP / "pyproject.toml").read_text(encoding="utf-8")
    page = (TOP / "docs" / "versions.md").read_text(encoding="utf-8")
    base = re.search(r"^dependencies = \[\n(.*?)^\]", project, re.M | re.S)[1]
    for name in re.findall(r'^  "([\w-]+)', base, re.M):
        assert re.search(rf"^\|[^|]*\b{re.escape(name)}\b[^|]*\|", page, re.M), name
    others = "distributed pyopencl numpy pocl-binary-distribution pygls ahocorasick-rs torch executorch"
    for name in others.split():
        assert re.search(rf"\b{name}\s", page), name


def test_all_is_every_extra_that_a_user_may_want() -> None:
    project = (TOP / "pyproject.toml").read_text(encoding="utf-8")
    extras = re.search(r"^\[project.optional-dependencies\]\n(.*?)^\[", project, re.M | re.S)[1]
    names = set(re.findall(r"^(\w+) = \[", extras, re.M))
    together = re.search(r'^all = \["kexec-lint\[(.*)\]"\]$', extras, re.M)[1].split(",")
    assert set(together) == names - {"all", "docs", "test"}


def test_every_public_name_is_there() -> None:
    assert [name for name in kexec_lint.__all__ if not hasattr(kexec_lint, name)] == []
    with pytest.raises(AttributeError):
        kexec_lint.nothing  # noqa: B018


@pytest.mark.parametrize("target", ["wheel", "sdist"])
def test_two_builds_are_the_same_bytes(tmp_path: Path, target: str) -> None:
    pytest.importorskip("hatchling", reason="builds: pip install hatchling")
    digests = set()
    for number, mask in enumerate((0o022, 0o077)):
        copy = tmp_path / ("x" * (number + 1))
        for name in ("kexec_lint", "rules", "docs", "examples", "tests/data"):
            shutil.copytree(
                TOP / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"), copy_function=shutil.copyfile
            )
        for name in ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE"):
            shutil.copyfile(TOP / name, copy / name)
        for path in copy.rglob("*"):
            os.utime(path, (time.time() - 10_000 * number,) * 2)
        command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(tmp_path / f"out{number}")]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
        subprocess.run(command, cwd=copy, env=environment, check=True, umask=mask, capture_output=True)
        (made,) = (tmp_path / f"out{number}").iterdir()
        digests.add((made.name, hashlib.sha256(made.read_bytes()).hexdigest()))
    assert len(digests) == 1
