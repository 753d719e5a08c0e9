"""What a build registers: the data that every reader of `readers/` fills, each element with its file and line."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from kexec_lint.findings import Confidence, Finding, Location


class Kind(str, Enum):
    """What a file says about a build."""

    SELECTION = "selection"
    """Which operators codegen is asked for: selected_operators.yaml, ROOT_OPS, a BUCK target, a plain list."""
    KERNELS = "kernels"
    """Which kernels codegen can bind: functions.yaml, custom-operator YAML."""
    REGISTERED = "registered"
    """Which kernels the binary registers: generated C++, linker map, ELF, the installed runtime."""
    SETTINGS = "settings"
    """Options and link lines alone: CMake files, generated headers."""


@dataclass(frozen=True)
class Selected:
    """One operator of a selection. `keys` is None where the selection says nothing about kernel metadata."""

    operator: str
    at: Location
    keys: tuple[str, ...] | None = None
    root: bool = True
    all_overloads: bool = False
    keys_at: Location | None = None


@dataclass(frozen=True)
class Kernel:
    """A kernel that codegen can bind: `keys` holds `default` or specialised keys."""

    operator: str
    at: Location
    keys: tuple[str, ...] = ("default",)
    out_variant: bool = True


@dataclass(frozen=True)
class Registered:
    """A kernel in the binary, from `source` (a file or a CMake target). `bytes` of code where a map tells."""

    operator: str
    key: str
    at: Location
    source: str
    bytes: int | None = None


@dataclass
class Part:
    """What one file says. `problems` are findings of its own; `broken` means that codegen stops on it."""

    path: str
    kind: Kind
    at: Location
    selected: list[Selected] = field(default_factory=list)
    metadata: dict[str, Selected] = field(default_factory=dict)
    kernels: list[Kernel] = field(default_factory=list)
    registered: list[Registered] = field(default_factory=list)
    include_all: Location | None = None
    null_metadata: Location | None = None
    is_list: bool = False
    problems: list[Finding] = field(default_factory=list)
    broken: bool = False
    models: dict[str, Location] = field(default_factory=dict)
    libraries: dict[str, Location] = field(default_factory=dict)
    stripped: dict[str, Location] = field(default_factory=dict)
    backends: dict[str, Location] = field(default_factory=dict)
    backends_known: bool = False
    files: list[tuple[str, str, Location]] = field(default_factory=list)
    dtype_selective: Location | None = None
    dtypes: dict[str, frozenset[str] | None] | None = None
    capacity: tuple[int, Location] | None = None
    prim: frozenset[str] | None = None
    optimized: bool = False
    unresolved: list[str] = field(default_factory=list)
    custom_unresolved: bool = False
    exact: bool = False
    top_level: bool = False
    """Whether the part shows all that is in the binary, primitive operators too."""


class RegistrationError(ValueError):
    """A file that says nothing a build could be judged by; the message names it and what to do."""


def place(path: str, row: int = 1, column: int = 1, length: int = 0) -> Location:
    """Return a location on one line."""
    return Location(path, row, column, row, column + length)


def finding(
    code: str,
    message: str,
    at: Location,
    *,
    help: str | None = None,
    confidence: Confidence = Confidence.CERTAIN,
    operator: str | None = None,
    model: str | None = None,
    **more: object,
) -> Finding:
    """Return a finding with the name and severity of its rule page; `operator`, `model` and others go to
    `extra`.
    """
    from kexec_lint.executorch.pages import rule

    page = rule(code)
    extra = {"operator": operator, "model": model, **more}
    shown = tuple((name, value) for name, value in extra.items() if value is not None)
    return Finding(code, page.name, page.severity, confidence, message, at, help=help, extra=shown)
