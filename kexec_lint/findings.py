"""Finding and its parts: the one currency between the rooms of the house."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Severity(str, Enum):
    """How bad it is if the finding is right."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Confidence(str, Enum):
    """How much of the finding was resolved; see `rules.md`: possible ones are shown only when asked for."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"

    @property
    def rank(self) -> int:
        """0 for certain, 2 for possible."""
        return ("certain", "likely", "possible").index(self.value)


@dataclass(frozen=True, order=True)
class Location:
    """A span of source. Rows and columns start at 1 and count code points; the end column is exclusive."""

    filename: str
    row: int
    column: int
    end_row: int
    end_column: int
    cell: int | None = None
    """Number of the notebook cell (from 1) whose rows are counted, or None outside notebooks."""


@dataclass(frozen=True)
class Related:
    """A further place that explains the finding: the earlier command, the queue's creation."""

    message: str
    location: Location


@dataclass(frozen=True)
class Edit:
    """Replace the text at `location` by `content`."""

    location: Location
    content: str


@dataclass(frozen=True)
class Fix:
    """A set of edits that belong together; `applicability` is "safe", "unsafe" or "display" as ruff means them."""

    applicability: str
    message: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Finding:
    """One thing to say to the author of the code.

    `message` is one sentence; `help` says in words which edge or kernel is missing and where it belongs.
    `steps` tell the story in order (the earlier command first) and become a SARIF code flow.
    `extra` holds fields that only one family has (`operator`, `model`, `verdicts`), JSON-able.
    """

    code: str
    name: str
    severity: Severity
    confidence: Confidence
    message: str
    location: Location
    help: str | None = None
    hazard: str | None = None
    related: tuple[Related, ...] = ()
    steps: tuple[Related, ...] = ()
    fix: Fix | None = None
    extra: tuple[tuple[str, object], ...] = field(default=(), compare=False)

    @property
    def sort_key(self) -> tuple[str, int, int, int, str, str]:
        """Order of a report: by file, cell, place, code."""
        at = self.location
        return (at.filename, at.cell or 0, at.row, at.column, self.code, self.message)
