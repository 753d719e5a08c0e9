"""Runs of the whole tool in processes of their own, on real sources."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import planting
import pytest

Tool = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of real sources, as the working folder."""
    top = tmp_path / "project"
    planting.plant(top, every=4)
    monkeypatch.chdir(top)
    return top


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "KEXEC_LINT_CACHE_DIR": str(tmp_path / "cache"), "NO_COLOR": "1", "PYTHONHASHSEED": "0"}


@pytest.fixture
def tool(environment: dict[str, str]) -> Tool:
    """Call the command line; its output is text."""

    def call(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
        variables = {**environment, **options.pop("env", {})}
        command = [sys.executable, "-m", "kexec_lint", *arguments]
        return subprocess.run(command, env=variables, capture_output=True, text=True, check=False, **options)

    return call
