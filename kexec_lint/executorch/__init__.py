"""ExecuTorch: operator sets of programs, what a build registers, and whether the one runs on the other.

This module is the executor's face for `check`: the rules that need no model, on YAML, CMake, Buck and Python
files.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # a reader of one program must not pay for what the engine passes around, nor for typing
    from collections.abc import Mapping
    from typing import Any

    from kexec_lint.findings import Finding
    from kexec_lint.source import FileResult, Options, Project, Source

MENTIONS = frozenset(
    {b"xecutorch", b"XECUTORCH", b"_pt2e", b"Xnnpack", b"_operator", b"_metadata", b"kernel_name", b"arg_meta"}
    | {b"ops_dict", b"_OPS", b"SELECTIVE", b"gen_selected", b"include_all", b"_load_program", b"target_link_libraries"}
)
"""Byte strings of which every file that concerns ExecuTorch holds at least one; tested before the needles."""

SUFFIXES = frozenset(
    {".yaml", ".yml", ".cmake", ".bzl", ".py", "cmakelists.txt", "cmakepresets.json", "buck", "targets"}
)

ALONE = True
"""Every rule of plain `check` is decided file by file."""

IN_FILES = frozenset(
    "EXT102 EXT103 EXT104 EXT105 EXT112 EXT113 EXT114 EXT117 EXT118 EXT119 EXT120 EXT204 EXT305 EXT306".split()  # noqa: SIM905
)
"""Rules that a single source file decides."""


def needles(codes: frozenset[str]) -> frozenset[bytes]:
    """Return the literal needles of the enabled rules, from their pages."""
    from kexec_lint.executorch.pages import rule

    return frozenset(needle.encode() for code in codes & IN_FILES for needle in rule(code).needles)


def scan(source: Source, project: Project, options: Options) -> FileResult:
    """Judge one file by itself. What does not parse is no finding: half-typed files are checked in editors."""
    from kexec_lint.executorch import files
    from kexec_lint.source import FileResult

    found = files.check(source, project) if options.codes & IN_FILES else []
    return FileResult([finding for finding in found if finding.code in options.codes])


def conclude(facts: Mapping[str, dict[str, Any]], options: Options) -> list[Finding]:
    """Every rule of plain `check` is decided file by file."""
    return []
