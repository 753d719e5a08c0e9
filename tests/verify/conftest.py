"""Devices for the tests: PoCL, which the extra `verify` brings; without the extra these tests are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kexec_lint.verify.process import Player
from kexec_lint.verify.process import devices as find


@pytest.fixture(scope="session")
def player() -> Iterator[Player]:
    """A player process for all tests."""
    with Player() as made:
        yield made


@pytest.fixture(scope="session")
def pocl(player: Player) -> dict[str, Any]:
    """PoCL's CPU device."""
    return find(player, "Portable Computing Language")[0]


@pytest.fixture
def on_pocl(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs choose PoCL by themselves."""
    monkeypatch.setenv("PYOPENCL_CTX", "portable")
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
