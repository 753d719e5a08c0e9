"""`check --runtime MODULE`: the dispatcher's tables in place of guesses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'kexec-lint[export]'")

MODULE = """import torch
NAMES = ["gain", "loss"]
lib = torch.library.Library("runtimetest", "DEF")
for n in NAMES:
    lib.define(n + "(Tensor x) -> Tensor")
lib.impl("gain", lambda x: x * 2, "CPU")
lib.impl("gian", lambda x: x * 2, "CPU")
lib.define("quiet(Tensor x) -> Tensor")
lib.impl("".join(["qui", "et"]), lambda x: x + 1, "CPU")
"""


def check(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kexec_lint", "check", "--isolated", "--no-cache", "--output-format=json", *args],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_computed_names_are_known_at_run_time(tmp_path: Path) -> None:
    (tmp_path / "ops_of_mine.py").write_text(MODULE, encoding="utf-8")
    assert json.loads(check(tmp_path, "ops_of_mine.py").stdout) == []
    run = check(tmp_path, "--runtime", "ops_of_mine", "ops_of_mine.py")
    assert run.returncode == 1
    assert [(f["code"], f["location"]["row"]) for f in json.loads(run.stdout)] == [("ATN101", 5), ("ATN110", 7)]


def test_a_module_that_fails_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("raise OSError('libmine.so: cannot open')\n", encoding="utf-8")
    run = check(tmp_path, "--runtime", "broken", "broken.py")
    assert run.returncode == 2
    assert run.stderr.strip().splitlines() == [
        "kexec-lint: --runtime broken: importing broken raises OSError: libmine.so: cannot open"
    ]


LOOP = """import atexit
import torch
lib = torch.library.Library("runtimeloop", "DEF")
for name in dict(gain=1, loss=2):
    lib.define(name + "(Tensor x) -> Tensor")
    lib.impl({"gain": "gian"}.get(name, name), lambda x: x + 1, "CPU")
    torch.library.register_fake("runtimeloop::" + name, lambda x: torch.empty_like(x), lib=lib)
atexit.register(print, "bye")
print("hello")
"""


def test_what_only_the_dispatcher_sees_is_reported_where_it_is_registered(tmp_path: Path) -> None:
    (tmp_path / "loops.py").write_text(LOOP, encoding="utf-8")
    for path in ("loops.py", str(tmp_path / "loops.py")):
        run = check(tmp_path, "--runtime", "loops", path)
        found = json.loads(run.stdout)
        assert [(f["code"], f["location"]["row"]) for f in found] == [("ATN101", 5), ("ATN110", 6)]
        assert found[0]["message"] == "'runtimeloop::gain' is defined but no kernel implements it"
        assert found[1]["message"].startswith("no operator 'runtimeloop::gian' is defined")
