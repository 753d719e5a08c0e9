"""The library's face: `kexec_lint.check(paths)` does what `kexec-lint check` does and returns the findings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from kexec_lint.engine import cache
from kexec_lint.engine.check import check as run
from kexec_lint.engine.request import Request
from kexec_lint.engine.rules import Selection
from kexec_lint.findings import Finding


class CheckError(RuntimeError):
    """An internal error in at least one file; `findings` holds what the others gave."""

    def __init__(self, errors: Sequence[str], findings: list[Finding]) -> None:
        super().__init__("; ".join(errors))
        self.findings = findings


def check(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    select: Sequence[str] | None = None,
    extend_select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    confidence: str | None = None,
    assume_out_of_order: bool | None = None,
    config: str | os.PathLike[str] | None = None,
    isolated: bool = False,
    jobs: int | None = None,
    use_cache: bool = True,
) -> list[Finding]:
    """Check files and folders and return the findings in the order of a report.

    The options are those of the command line; None means: as the settings files say. Raises SettingsError for a
    settings file that cannot be used, UnknownRule for a code that no rule has (both are ValueErrors),
    FileNotFoundError for a path that is not there, CheckError for an internal error.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = (paths,)
    report = run(
        Request(
            paths=tuple(os.fspath(path) for path in paths),
            selection=Selection(None if select is None else tuple(select), tuple(extend_select), tuple(ignore)),
            confidence=confidence,
            assume_out_of_order=assume_out_of_order,
            config=None if config is None else os.fspath(config),
            isolated=isolated,
            jobs=jobs,
            cache_directory=cache.folder(),
            cache_results=use_cache,
        )
    )
    if report.errors:
        raise CheckError(report.errors, report.findings)
    return report.findings
