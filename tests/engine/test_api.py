"""`kexec_lint.check`, the library's face."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import kexec_lint
from kexec_lint.api import CheckError
from kexec_lint.engine.rules import UnknownRule


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEXEC_LINT_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.parametrize("paths", ["a.py", Path("a.py"), ["a.py"], ["."]])
def test_findings_come_as_a_list(tree, paths):
    tree({"a.py": "MARK[OCL101] MARK[OCL102]\n"})
    assert [f.code for f in kexec_lint.check(paths)] == ["OCL101", "OCL102"]
    assert [f.code for f in kexec_lint.check(paths, select=["OCL102"], use_cache=False)] == ["OCL102"]
    assert kexec_lint.check(paths, ignore=["ALL"]) == []


def test_errors_are_exceptions(tree):
    tree({"a.py": "CRASH\n", "b.py": "MARK[OCL101]\n"})
    with pytest.raises(CheckError, match=r"a\.py: internal error: ZeroDivisionError") as error:
        kexec_lint.check(".")
    assert [f.location.filename for f in error.value.findings] == ["b.py"]
    with pytest.raises(FileNotFoundError):
        kexec_lint.check("none.py")
    with pytest.raises(UnknownRule):
        kexec_lint.check(".", select=["NONE"])


def test_importing_the_package_imports_no_engine():
    program = "import sys, kexec_lint; print([m for m in sys.modules if m.startswith('kexec_lint')])"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "['kexec_lint']\n"
    assert not hasattr(kexec_lint, "nothing")
