"""Renders findings over real files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from report_sample import HOST, KERNEL

from kexec_lint.engine.check import Report
from kexec_lint.engine.texts import Texts
from kexec_lint.findings import Finding
from kexec_lint.report import Context, render


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the two files, as the working folder."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app.py").write_text(HOST, encoding="utf-8")
    (tmp_path / "src" / "k.cl").write_text(KERNEL, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def write(project: Path) -> Callable[..., str]:
    """Render findings in a format."""

    def go(name: str, *findings: Finding, colour: bool = False, width: int = 0, **fields: list[str]) -> str:
        report = Report(list(findings), Texts({}), files=2)
        report.__dict__.update(fields)
        return render(name, report, Context(str(project), colour, width))

    return go
