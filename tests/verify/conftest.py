"""The device of the tests: PoCL, which the extra `verify` brings; without the extra these tests are skipped.

PoCL's wheel has an LLVM of 2022 and builds no kernel for processors that are newer. Another runtime for the CPU stands
in there (`pip install intel-opencl-rt intel-cmplr-lib-rt`); without one the tests are skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from kexec_lint.verify import devices, runtimes
from kexec_lint.verify.process import Player
from kexec_lint.verify.process import devices as find


@pytest.fixture(scope="session")
def player() -> Iterator[Player]:
    """A player process for all tests."""
    with Player() as made:
        yield made


@pytest.fixture(scope="session")
def pocl(player: Player) -> dict[str, Any]:
    """PoCL's CPU device, or the one that stands in for it."""
    found = [device for device in find(player) if "cpu" in device["kind"].lower()]
    found.sort(key=lambda device: "Portable" not in device["platform"])
    problems = []
    for device in found:
        problem = devices.examine(device, player, 5.0).problem
        if not problem:
            return device
        problems.append(f"{device['platform']}: {problem}")
    pytest.skip("no device builds kernels here: " + "; ".join(problems))


@pytest.fixture
def on_pocl(pocl: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs choose that device by themselves: they see the platforms that the player sees."""
    for name, value in runtimes.environment().items():
        if value != os.environ.get(name):
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYOPENCL_CTX", ":".join(map(str, pocl["index"])))
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
