"""The fixing half of `kexec-lint check`: `--fix`, `--diff`, `--show-fixes`, and fixes in the formats with room."""

from __future__ import annotations

import difflib
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

import click

from kexec_lint.cli import Failure
from kexec_lint.engine.check import Report
from kexec_lint.engine.decoding import encoding_of
from kexec_lint.engine.fixing import Fixed, Keep, fix, offer, write
from kexec_lint.engine.request import Request
from kexec_lint.engine.texts import Texts


def attach(report: Report, request: Request) -> None:
    """Give the findings of a report their fixes."""
    if report.findings:
        report.findings = offer(report.findings, request, report.texts.data)


def apply(report: Report, request: Request, unsafe: bool, keep: Keep) -> list[Fixed]:
    """Fix what can be fixed and write it (standard input goes to standard output); the report keeps the rest."""
    files = fix(report, request, unsafe, keep)
    for file in files:
        if request.stdin is not None:
            sys.stdout.buffer.write(file.after)
        elif file.after != file.before:
            try:
                write(file)
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                raise Failure(f"{file.filename}: {reason}, fixes not written") from None
    if request.stdin is not None and not files:
        sys.stdout.buffer.write(request.stdin[1])
    sys.stdout.flush()
    report.findings = sorted((f for file in files for f in file.left), key=lambda finding: finding.sort_key)
    report.texts = Texts({file.filename: file.after for file in files})
    return files


def diff(report: Report, request: Request, unsafe: bool, keep: Keep) -> int:
    """Show what `--fix` would change, and return how many findings it would fix."""
    files = fix(report, request, unsafe, keep)
    for file in files:
        click.echo("".join(_unified(file)), nl=False)
    return sum(file.fixed.total() for file in files)


def _unified(file: Fixed) -> Iterator[str]:
    encoding = encoding_of(file.before, python=True)
    before, after = (data.decode(encoding).replace("\r\n", "\n").splitlines(True) for data in (file.before, file.after))
    for line in difflib.unified_diff(before, after, file.filename, file.filename):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def summary(files: Sequence[Fixed]) -> Iterator[str]:
    """Yield what was fixed in which file."""
    for file in files:
        if file.fixed:
            yield f"{file.filename}:"
            for (code, name), count in sorted(file.fixed.items()):
                yield f"    {count} {code} ({name})"


def counts(files: Sequence[Fixed]) -> Counter[str]:
    """Count findings "fixed", and those "unsafe" ones that stay for want of `--unsafe-fixes`."""
    left = [finding for file in files for finding in file.left if finding.fix is not None]
    return Counter(
        fixed=sum(file.fixed.total() for file in files),
        unsafe=sum(finding.fix.applicability == "unsafe" for finding in left if finding.fix is not None),
    )
