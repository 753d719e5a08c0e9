"""Fixes: asks the executors for those of a run's findings, applies them until none is left, writes whole files.

The languages' own rooms say what a fix changes and try it out; here stands only what holds for all of them.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from kexec_lint.engine import executors, rewriting
from kexec_lint.engine.check import Report, check
from kexec_lint.engine.decoding import Unreadable, decode
from kexec_lint.engine.place import Place
from kexec_lint.engine.request import Request
from kexec_lint.engine.rewriting import apart, applied
from kexec_lint.engine.texts import Texts
from kexec_lint.engine.tree import RecordingProject
from kexec_lint.engine.unneeded import without_code
from kexec_lint.findings import Finding

_ROUNDS = 50

Keep = Callable[[list[Finding], Texts], list[Finding]]
"""What is left of the findings of a file once those that are not to be touched are gone."""


@dataclass
class Fixed:
    """One file: its bytes before and after, what was fixed in it, and the findings that stay."""

    filename: str
    before: bytes
    after: bytes
    fixed: Counter[tuple[str, str]] = field(default_factory=Counter)
    left: list[Finding] = field(default_factory=list)


def offer(findings: Sequence[Finding], request: Request, data: Callable[[str], bytes | None]) -> list[Finding]:
    """Return the findings, each with its fix if it has one. `data` gives the bytes of a file by displayed name."""
    at = Place(request)
    by_file: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_file[finding.location.filename].append(finding)
    fixes: dict[Finding, Finding] = {}
    for filename, here in by_file.items():
        content = data(filename)
        if content is None:
            continue
        try:
            source = decode(filename, content)
        except Unreadable:
            continue
        profile = at.profile(filename)
        wanted = {(f.code, f.location.cell or 0, f.location.row, f.location.column): f for f in here if f.fix is None}
        for reader in profile.readers:
            find = getattr(executors.load(reader.module), "propose_fixes", None)
            if find is not None and reader.wants(source.suffix, content):
                found = find(source, RecordingProject(at.tree), profile.options, frozenset(wanted))
                for key, fix in found.items():
                    fixes[wanted[key]] = replace(wanted[key], fix=fix)
        for finding in here:
            if finding.code == "KXL001" and source.cells is None:
                fixes[finding] = replace(finding, fix=without_code(source, finding))
    return [fixes.get(finding, finding) for finding in findings]


def fix(report: Report, request: Request, unsafe: bool, keep: Keep) -> list[Fixed]:
    """Apply the fixes of the findings of a report, file by file and in memory.

    Safe ones only, unless `unsafe`. After every round the file is checked again, so that a fix builds on those
    before it; a round that would bring a finding is taken back.
    """
    done = []
    for filename in dict.fromkeys(finding.location.filename for finding in report.findings):
        before = report.texts.data(filename)
        if before is not None:
            here = [finding for finding in report.findings if finding.location.filename == filename]
            done.append(_fix_file(Fixed(filename, before, before, left=here), request, unsafe, keep))
    return done


def _fix_file(file: Fixed, request: Request, unsafe: bool, keep: Keep) -> Fixed:
    for _ in range(_ROUNDS):
        offered = offer(file.left, _with(request, file.filename, file.after), lambda _: file.after)
        able = [f for f in offered if f.fix is not None and (f.fix.applicability == "safe" or unsafe)]
        able = [f for f in able if f.fix is not None and f.fix.applicability != "display"]
        file.left = offered
        chosen = apart(able)
        while chosen:
            after = applied(file.filename, file.after, [f.fix for f in chosen if f.fix is not None])
            again = check(_with(request, file.filename, after))
            left = keep([f for f in again.findings if f.location.filename == file.filename], again.texts)
            if not again.errors and _no_more(left, file.left, chosen):
                break
            chosen = chosen[: len(chosen) // 2]  # two fixes that are right alone may not be so together
        if not chosen:
            break
        file.fixed += Counter(map(_what, file.left)) - Counter(map(_what, left))
        file.after, file.left = after, left
    return file


def _what(finding: Finding) -> tuple[str, str]:
    return finding.code, finding.name


def _no_more(after: Iterable[Finding], before: Iterable[Finding], fixed: Iterable[Finding]) -> bool:
    """Return whether no code has more findings than it had, and those fixed are gone."""
    counts = Counter(finding.code for finding in before)
    counts.subtract(finding.code for finding in fixed)
    return Counter(finding.code for finding in after) <= counts


def _with(request: Request, filename: str, data: bytes) -> Request:
    """Return the request for one file with other content."""
    if request.stdin is not None:
        return request._replace(stdin=(request.stdin[0], data), cache_results=False, shard=None)
    path = os.path.abspath(filename)
    others = tuple((p, d) for p, d in request.buffers if p != path)
    return request._replace(
        paths=(filename,), buffers=(*others, (path, data)), jobs=1, cache_results=False, shard=None, since=None
    )


def write(file: Fixed) -> None:
    """Put the fixed bytes in the place of the file. Raises OSError."""
    rewriting.write(file.filename, file.after)
