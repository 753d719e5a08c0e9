"""What travels between the engine and the executors: a source file, the tree it belongs to, options, results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from kexec_lint.findings import Finding


class ModelError(ValueError):
    """A declaration under `models` in the settings that makes no sense; `name` is its key, the text says why.

    `scan` raises it before it looks at the file: it is the user's to mend, and the same for every file.
    """

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"models.{name!r}{problem}")
        self.name = name

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.name, str(self)[len(f"models.{self.name!r}") :])


@dataclass(frozen=True)
class Source:
    """One file as text. `path` is shown to the user; `data` are the bytes it was decoded from.

    For a notebook, `text` is the concatenation of its code cells and `cells[row - 1]` gives, for every row of
    `text`, the pair (cell number, row within the cell).
    """

    path: str
    text: str
    data: bytes
    cells: tuple[tuple[int, int], ...] | None = None

    @property
    def suffix(self) -> str:
        """File name extension with its dot, lower case; a notebook counts as `.py`."""
        if self.cells is not None:
            return ".py"
        dot = self.path.rfind(".")
        return self.path[dot:].lower() if dot > max(self.path.rfind("/"), self.path.rfind("\\")) else ""


class Project(Protocol):
    """The scanned tree, as an executor sees it. Every successful or failed look-up is recorded as a dependency."""

    def module(self, name: str, level: int, importer: str) -> Source | None:
        """Return the source of Python module `name`, imported with `level` leading dots by file `importer`."""

    def read(self, path: str, relative_to: str) -> Source | None:
        """Return a text file named by the source (kernel file, include), relative to file `relative_to`."""


@dataclass(frozen=True)
class Flags:
    """What a compilation database says of a file: folders of headers, and macros (None for one that is undefined)."""

    include: tuple[str, ...]
    defines: tuple[tuple[str, str | None], ...]


@runtime_checkable
class NativeProject(Project, Protocol):
    """A scanned tree that knows C and C++ files, too. Every look-up is recorded."""

    def include(self, name: str, importer: str) -> Source | None:
        """Return the file that `#include "name"` (`#include <name>`, with its angles) means in file `importer`."""

    def counterpart(self, header: str) -> Source | None:
        """Return the source file that holds what a header declares."""

    def flags(self, path: str) -> Flags | None:
        """Return what the compilation database says of a file, None if there is none."""


@dataclass(frozen=True)
class Options:
    """What the user asked of the analysis. `models` declares own helpers (see docs/configuration)."""

    codes: frozenset[str]
    confidence: str = "likely"
    assume_out_of_order: bool = False
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    compile_commands: str = ""
    """The compilation database that the user named, absolute."""
    explicit: frozenset[str] = frozenset()
    """Codes that the user named (by code, prefix or ALL): their findings of severity info are shown too."""


@dataclass
class FileResult:
    """Outcome of one file. `facts` is JSON-able and goes to the executor's `conclude`; `notes` are one-liners, put
    behind the name of the file unless they start with it.
    """

    findings: list[Finding] = field(default_factory=list)
    facts: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)


class Executor(Protocol):
    """The face of an executor's package (`kexec_lint.opencl`, `.aten`, `.executorch`): light to import.

    MENTIONS (optional): by suffix, a few byte strings of which every file that matters holds at least one (`torch`).
    They are looked for before the needles: a tree that does not concern the executor costs little more than reading.

    UNLESS (optional): needle → longer strings in which it does not count; none of them is a part of another.

    ALONE (optional): True if `conclude` never finds anything, since every file is judged by itself.

    SUFFIXES: file extensions it reads. `needles(codes, suffix)`: literal byte strings made from rule and API metadata;
    a file of that suffix that holds none of them cannot yield a finding of these codes nor facts that one needs.
    """

    SUFFIXES: frozenset[str]

    def needles(self, codes: frozenset[str], suffix: str) -> frozenset[bytes]:
        """Return the literal needles for the enabled rules in files of one suffix."""

    def scan(self, source: Source, project: Project, options: Options) -> FileResult:
        """Analyse one file; runs in a worker process, is cached by content and dependencies."""

    def conclude(self, facts: Mapping[str, dict[str, Any]], options: Options) -> list[Finding]:
        """Judge what only the facts of all files together show; runs once in the main process."""
