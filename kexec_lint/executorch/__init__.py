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

SUFFIXES = frozenset(
    {".yaml", ".yml", ".cmake", ".bzl", ".py", "cmakelists.txt", "cmakepresets.json", "buck", "targets"}
)

ALONE = True
"""Every rule of plain `check` is decided file by file."""

MENTIONS = {".py": frozenset({b"torch"})}
"""Whoever quantises, lowers or loads a program in Python imports it from torch, torchao or executorch."""

IN_FILES = frozenset(
    "EXT102 EXT103 EXT104 EXT105 EXT112 EXT113 EXT114 EXT117 EXT118 EXT119 EXT120 EXT204 EXT305 EXT306".split()  # noqa: SIM905
)
"""Rules that a single source file decides."""

IN_PYTHON = frozenset({"EXT204", "EXT305", "EXT306"})
"""Those of them that concern Python."""


def needles(codes: frozenset[str], suffix: str) -> frozenset[bytes]:
    """Return the literal needles of the enabled rules, from their pages."""
    from kexec_lint.executorch.pages import rule

    here = codes & (IN_PYTHON if suffix == ".py" else IN_FILES - IN_PYTHON)
    return frozenset(needle.encode() for code in here for needle in rule(code).needles)


def scan(source: Source, project: Project, options: Options) -> FileResult:
    """Judge one file by itself. What does not parse is no finding: half-typed files are checked in editors."""
    from kexec_lint.executorch import files
    from kexec_lint.source import FileResult

    found = files.check(source, project) if options.codes & IN_FILES else []
    return FileResult([finding for finding in found if finding.code in options.codes])


def conclude(facts: Mapping[str, dict[str, Any]], options: Options) -> list[Finding]:
    """Every rule of plain `check` is decided file by file."""
    return []
