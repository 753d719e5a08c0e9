"""The OpenCL executor: host code in, enqueue graphs, findings out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kexec_lint.findings import Finding, Fix
from kexec_lint.source import FileResult, Options, Project, Source

NATIVE = frozenset({".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".hh", ".inl"})
SUFFIXES = frozenset({".py", ".pyi", ".cl", ".ocl"}) | NATIVE
ALONE = True
_EVENTS = frozenset({b"clReleaseEvent", b"clWaitForEvents", b"clSetUserEventStatus", b"clSVM", b"MemFreeINTEL"})
_KERNELS = frozenset({b"al_id"})  # get_global_id, get_local_id: no kernel makes do with get_group_id
MENTIONS = dict.fromkeys((".py", ".pyi"), _KERNELS | {b"ueue", b"pyopencl"}) | dict.fromkeys(
    NATIVE, _KERNELS | _EVENTS | {b"ueue"}
)
"""What the needles have in common: fewer words to look for in files that hold none. In Python nothing can be said of
`wait_for=` alone, without a queue or PyOpenCL."""


def needles(codes: frozenset[str], suffix: str) -> frozenset[bytes]:
    """Return the names without which a file can hold no OpenCL host code or kernel."""
    if all(code.startswith(("ATN", "EXT", "KXL")) for code in codes):  # other letters are those of a plug-in
        return frozenset()
    from kexec_lint.opencl.api import native, pyopencl

    if suffix in NATIVE:
        return native.NEEDLES | pyopencl.KERNEL_NEEDLES
    return pyopencl.NEEDLES if suffix in (".py", ".pyi") else pyopencl.KERNEL_NEEDLES | {b"kernel"}


def scan(source: Source, project: Project, options: Options) -> FileResult:
    """Analyse one file. A syntax error of the source is a note, not a failure."""
    from kexec_lint.opencl.report import scan_kernels, scan_native, scan_python

    if source.suffix in NATIVE:
        return scan_native(source, project, options)
    if source.suffix in (".py", ".pyi"):
        return scan_python(source, project, options)
    return scan_kernels(source, options)


def propose_fixes(
    source: Source, project: Project, options: Options, wanted: frozenset[tuple[str, int, int, int]]
) -> dict[tuple[str, int, int, int], Fix]:
    """Return the fixes that there are for some findings of a file, each named by code, cell, row and column."""
    from kexec_lint.opencl.fixes import offers

    return offers(source, project, options, wanted)


def tell_order(source: Source, project: Project, options: Options, at: tuple[int, int]) -> str | None:
    """Return Markdown about the order that holds at the command at a row and column, None if there is none."""
    from kexec_lint.opencl.order import order_at

    if source.suffix in (".cl", ".ocl"):
        return None
    return order_at(source, project, options, at)


def conclude(facts: Mapping[str, dict[str, Any]], options: Options) -> list[Finding]:
    """Every OpenCL rule is decided file by file."""
    return []
