"""A stand-in framework in C, compiled once, and strace to refuse what it asks."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
STRACE = shutil.which("strace")
COMPILER = shutil.which("cc") or shutil.which("gcc")


def traceable() -> bool:
    """Say whether strace is here and may trace."""
    return STRACE is not None and subprocess.run([STRACE, "-o", "/dev/null", "true"], check=False).returncode == 0


@pytest.fixture(scope="session")
def framework(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the compiled stand-in."""
    if COMPILER is None:
        pytest.skip("needs a C compiler")
    program = tmp_path_factory.mktemp("framework") / "framework"
    source = str(HERE / "framework.c")
    subprocess.run([COMPILER, "-Wall", "-Werror", "-o", str(program), source, "-pthread"], check=True)
    return program


@pytest.fixture(scope="session")
def strace() -> str:
    """Return the path of strace."""
    if not traceable() or STRACE is None:
        pytest.skip("needs strace (package strace) and the right to trace")
    return STRACE


@pytest.fixture
def node(tmp_path: Path) -> Callable[[str], Path]:
    """Return a maker of plain files that stand in for device nodes: `node("dri/renderD128")`."""

    def make(name: str) -> Path:
        path = tmp_path / "dev" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        return path

    return make
