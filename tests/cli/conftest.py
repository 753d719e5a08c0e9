"""The marker executor stands for all others here: these tests are about what surrounds an executor."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def only_marker(marker: None) -> None:
    pass
