"""Runs of the engine with the marker executor alone, in a folder and with a cache of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import marker_executor
import pytest
from hypothesis import HealthCheck, settings

from kexec_lint.engine import executors
from kexec_lint.engine.check import Report, check
from kexec_lint.engine.request import Request

Run = Callable[..., Report]

# A busy machine is slow at times; that is no fault of what is tested.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


@pytest.fixture
def marker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the marker executor be the only one."""
    monkeypatch.setattr(executors, "EXECUTORS", {"marker": "marker_executor"})
    marker_executor.SCANNED.clear()


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, str]], Path]:
    """Write files and make their folder the working folder."""
    top = tmp_path / "project"
    top.mkdir()
    monkeypatch.chdir(top)

    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_text(text, encoding="utf-8")
        return top

    return write


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Check paths; keyword arguments are those of Request."""

    def go(*paths: str, **options: Any) -> Report:
        options.setdefault("cache_directory", str(tmp_path / "cache"))
        pool = options.pop("pool", None)
        return check(Request(paths=paths or (".",), **options), pool=pool)

    return go
