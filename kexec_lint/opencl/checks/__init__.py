"""One module a rule family; a check takes an enqueue graph and yields evidence."""

from __future__ import annotations

import importlib
from functools import cache

from kexec_lint import plugins
from kexec_lint.opencl.checks.evidence import CHECKS, Check

MODULES = (
    "ordering",
    "aliases",
    "redundant",
    "mapping",
    "svm",
    "launches",
    "array_contract",
    "user_events",
    "flushing",
    "callbacks",
    "profiling",
    "teardown",
    "pools",
    "nanny",
    "kernel_sharing",
    "remarks",
    "command_buffers",
    "semaphores",
    "releases",
)
"""The rule families, in the order of their codes."""


@cache
def registered() -> tuple[tuple[frozenset[str], Check], ...]:
    """Import every family and return its checks with their codes."""
    for name in MODULES:
        importlib.import_module(f"kexec_lint.opencl.checks.{name}")
    for plugin in plugins.installed(plugins.RULES):
        importlib.import_module(plugin.module)
    return tuple(CHECKS)
