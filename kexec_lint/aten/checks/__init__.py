"""Checks: functions from the registry to reports, one module a family; `CHECKS` maps a code to its functions."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kexec_lint import plugins
from kexec_lint.aten.registry import Registry
from kexec_lint.findings import Location, Related


@dataclass(frozen=True)
class Report:
    """What a check says of one place; the page adds name and severity unless `severity` is given."""

    at: Location
    message: str
    help: str | None = None
    confidence: str = "certain"
    related: tuple[Related, ...] = ()
    severity: str | None = None
    operator: str = ""


FAMILIES = ("coverage", "definitions", "fakes", "kernels", "loading", "native", "signatures")

Check = Callable[[Registry], Iterator[Report]]
CHECKS: dict[str, list[Check]] = {}


def check(code: str) -> Callable[[Check], Check]:
    """Register a function as (one of) the checks of a code."""

    def register(function: Check) -> Check:
        CHECKS.setdefault(code, []).append(function)
        return function

    return register


def load() -> dict[str, list[Check]]:
    """Import every family and return the table."""
    for family in FAMILIES:
        importlib.import_module(f"{__name__}.{family}")
    for plugin in plugins.installed(plugins.RULES):
        importlib.import_module(plugin.module)
    return CHECKS
