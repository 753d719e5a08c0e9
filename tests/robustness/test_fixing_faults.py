"""`--fix` that is killed, or cannot write: each file is what it was or what it should become, nothing between."""

from __future__ import annotations

import os
import random
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

FIX = ("check", "--fix", "--select", "OCL101,KXL001", "--exit-zero", "--output-format", "concise")

KILLS = 10 * int(os.environ.get("KEXEC_LINT_FAULTS", "1"))

CONTENTS = {
    "plain.py": b"x = 1\ny = 2  # kexec: ignore[OCL101]\n" * 40,
    "windows.py": b"x = 1\r\ny = 2  # kexec: ignore[OCL101]\r\n" * 40,
    "mark.py": b"\xef\xbb\xbfx = 1  # kexec: ignore[OCL101]\n",
    "latin.py": b"# -*- coding: latin-1 -*-\nname = '\xe9'  # kexec: ignore[OCL101]\n",
    "no_end.py": b"x = 1  # kexec: ignore[OCL101]",
    "private.py": b"x = 1  # kexec: ignore[OCL101]\n",
    "script.py": b"#!/usr/bin/env python\nx = 1  # kexec: ignore[OCL101]\n",
}
MODES = {"private.py": 0o600, "script.py": 0o755}


def put(top: Path, more: Mapping[str, bytes] = MappingProxyType({})) -> None:
    for left in top.glob(".kexec-lint-*"):
        left.unlink()
    for name, content in {**CONTENTS, **more}.items():
        (top / name).write_bytes(content)
        (top / name).chmod(MODES.get(name, 0o644))


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "project").mkdir()
    put(tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def state(top: Path) -> dict[str, tuple[bytes, int]]:
    names = [name for name in os.listdir(top) if not name.startswith(".kexec-lint-")]
    return {name: ((top / name).read_bytes(), stat.S_IMODE((top / name).stat().st_mode)) for name in names}


def test_encoding_line_ends_marks_and_permissions_stay(top: Path, tool):
    before = state(top)
    assert tool(*FIX).returncode == 0
    after = state(top)
    for name, (content, mode) in before.items():
        expected = content.replace(b"  # kexec: ignore[OCL101]", b"")
        assert after[name] == (expected, mode), name


def test_a_run_that_is_killed_leaves_whole_files(top: Path, environment, tool):
    many = {f"copy{number}.py": CONTENTS["windows.py"] for number in range(30)}
    put(top, many)
    before = state(top)
    began = time.monotonic()
    tool(*FIX)
    taken = time.monotonic() - began
    fixed = state(top)
    choose = random.Random(6)
    partly = 0
    for number in range(KILLS):
        put(top, many)
        run = subprocess.Popen([sys.executable, "-m", "kexec_lint", *FIX], env=environment, stderr=subprocess.PIPE)
        if number % 2:
            time.sleep(taken * choose.random())
        else:  # in the middle of the writing, which is short
            first = top / "copy0.py"
            while first.read_bytes() == many[first.name] and run.poll() is None:
                pass
            time.sleep(0.01 * choose.random())
        run.kill()
        run.communicate()
        now = state(top)
        assert now.keys() == before.keys(), number
        assert all(now[name] in (before[name], fixed[name]) for name in now), number
        partly += now not in (before, fixed)
    assert partly > 0, "some were killed between two files"
    tool(*FIX)
    assert state(top) == fixed


def test_a_disk_that_is_full_leaves_the_file(top: Path, tool):
    resource = pytest.importorskip("resource")
    before = state(top)

    def little() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))

    called = tool(*FIX, "plain.py", preexec_fn=little)
    assert called.returncode == 2
    assert called.stderr == "kexec-lint: plain.py: file too large, fixes not written\n"
    assert state(top) == before
    assert not [name for name in os.listdir(top) if name.startswith(".kexec-lint-")]


def test_links_stay_links(top: Path, tool):
    (top.parent / "elsewhere").mkdir()
    shutil.move(top / "plain.py", top.parent / "elsewhere" / "plain.py")
    (top / "plain.py").symlink_to("../elsewhere/plain.py")
    assert tool(*FIX).returncode == 0
    assert os.readlink(top / "plain.py") == "../elsewhere/plain.py"
    assert b"kexec" not in (top / "plain.py").read_bytes()
    assert (top.parent / "elsewhere" / "plain.py").stat().st_nlink == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
def test_the_owner_stays(top: Path, tool):
    os.chown(top / "plain.py", 1234, 2345)
    assert tool(*FIX).returncode == 0
    owner = (top / "plain.py").stat()
    assert (owner.st_uid, owner.st_gid) == (1234, 2345)


def test_all_names_of_a_file_are_fixed(top: Path, tool):
    os.link(top / "plain.py", top.parent / "other_name.py")
    assert tool(*FIX).returncode == 0
    assert (top.parent / "other_name.py").read_bytes() == (top / "plain.py").read_bytes()
    assert b"kexec" not in (top / "plain.py").read_bytes()
