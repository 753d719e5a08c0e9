"""OCL401 barrier-is-not-global and OCL402 barrier-divergence: what a kernel's text alone shows of its barriers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from kexec_lint.findings import Confidence
from kexec_lint.opencl.kernels import read_units

NEEDLES = {"OCL401": ("barrier", "mem_fence", "while", "for"), "OCL402": ("barrier",)}


@dataclass(frozen=True)
class KernelIssue:
    """Something wrong in a kernel's text. Spans are half-open offsets in characters of that text.

    `many_groups`: it needs more than one work-group, so a launch with exactly one makes it void.
    """

    code: str
    kernel: str
    span: tuple[int, int]
    message: str
    help: str
    related: tuple[tuple[str, tuple[int, int]], ...]
    confidence: Confidence
    many_groups: bool


@lru_cache(maxsize=256)
def kernel_issues(text: str) -> tuple[KernelIssue, ...]:
    """Return the issues of every kernel of an OpenCL C text, by place. Never raises for any text."""
    if "kernel" not in text or not any(word in text for word in ("barrier", "mem_fence", "while", "for")):
        return ()
    from kexec_lint.opencl.kernels.merge import required_size

    found: dict[tuple[str, tuple[int, int]], KernelIssue] = {}
    units, _ = read_units(text)
    for unit in units:
        for place in unit.kernels():
            function = unit.function(place)
            if function.sound and function.known_signature:
                for issue in _examine(unit, function, required_size(unit, place)):
                    found.setdefault((issue.code, issue.span), issue)
    return tuple(sorted(found.values(), key=lambda issue: (issue.span, issue.code)))
