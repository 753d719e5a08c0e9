"""The self-test of devices, and the one line when there is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyopencl", reason="pip install 'kexec-lint[verify]'")

from click.testing import CliRunner

from kexec_lint.cli.verify import command
from kexec_lint.verify import devices, runtimes
from kexec_lint.verify.process import Player


def test_pocl_reorders_and_honours_user_events(player: Player, pocl: dict[str, Any]) -> None:
    ability = devices.examine(pocl, player, 5.0)
    assert ability.accepts_out_of_order
    assert ability.reorders
    assert ability.reorders_across_queues
    assert ability.honours_user_events
    assert ability.gives_profiling_times
    assert not ability.problem


def test_the_answer_is_cached_per_driver(
    player: Player, pocl: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEXEC_LINT_CACHE_DIR", str(tmp_path))
    (first,) = devices.abilities([pocl], player)
    (file,) = (tmp_path / "devices").iterdir()
    file.write_text(json.dumps({**json.loads(file.read_text()), "reorders": False}))
    assert devices.abilities([pocl], player)[0].reorders is False
    assert devices.abilities([pocl], player, fresh=True)[0] == first
    assert devices.abilities([{**pocl, "driver": "another"}], player)[0].reorders


def test_no_device_of_that_kind_is_one_line() -> None:
    result = CliRunner().invoke(command, ["devices", "--device", "abacus"])
    assert result.exit_code == 2
    assert "no device matches 'abacus'; there are: " in result.output


def test_no_platform_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OCL_ICD_FILENAMES", str(tmp_path / "nothing"))
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path / "nowhere"))
    result = CliRunner().invoke(command, ["devices"])
    assert result.exit_code == 2
    assert "OpenCL platform" in result.output
    assert len(result.output.strip().splitlines()) == 1


def test_a_runtime_that_is_gone_is_not_offered_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("OCL_ICD_VENDORS", "OCL_ICD_FILENAMES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(runtimes.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(runtimes, "_unlisted", lambda: iter([("one", "/lib/one.so")]))
    folder = Path(runtimes.environment()["OCL_ICD_VENDORS"])
    assert (folder / "one.icd").read_text() == "/lib/one.so\n"
    monkeypatch.setattr(runtimes, "_unlisted", lambda: iter([("two", "/lib/two.so")]))
    runtimes.environment()
    assert "one.icd" not in {file.name for file in folder.iterdir()}
