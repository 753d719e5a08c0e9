"""Models against builds: every check in one call, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kexec_lint.executorch import tables
from kexec_lint.executorch.build import Build
from kexec_lint.executorch.checks import dtypes, missing, programs, registry, selection
from kexec_lint.executorch.program import Program
from kexec_lint.findings import Finding, Severity


@dataclass
class Comparison:
    """What comes out of comparing models with builds. `broken` are the model files that do not read."""

    models: list[Program]
    builds: list[Build]
    findings: list[Finding] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """One line: do these models run on these builds?"""
        errors = [entry for entry in self.findings if entry.severity is Severity.ERROR]
        what = _count(len(self.models) + len(self.broken), "model")
        where = _count(len(self.builds), "build") if self.builds else "no build"
        if errors:
            operators = {dict(entry.extra).get("operator") for entry in errors if entry.code in ("EXT101", "EXT109")}
            lacking = f", {_count(len(operators), 'operator')} missing" if operators else ""
            return f"will not run: {what} against {where}, {_count(len(errors), 'error')}{lacking}"
        if any(not build.complete for build in self.builds) or not self.builds:
            return f"unknown: {what} against {where}: {'; '.join(self.notes) or 'nothing to compare with'}"
        rest = len(self.findings)
        return f"runs: {what} against {where}" + (f", {_count(rest, 'warning')}" if rest else "")


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def compare(
    models: Sequence[Program],
    builds: Sequence[Build],
    release: tables.Release,
    data: frozenset[str] | None = None,
    memory_limit: int | None = None,
) -> Comparison:
    """Return every finding about the models, the builds and the pairs of them; each finding once."""
    result = Comparison(list(models), list(builds))
    found: list[Finding] = []
    for model in models:
        found.extend(programs.check(model, release, data))
        found.extend(programs.memory(model, memory_limit))
        if not builds:
            found.extend(missing.fallback(model, None))
    for build in builds:
        result.notes.extend(build.notes)
        found.extend(build_findings(build))
        broken = any(part.broken for part in build.parts)
        for model in models:
            if not broken:
                found.extend(missing.operators(model, build))
                found.extend(dtypes.check(model, build))
            found.extend(missing.backends(model, build))
            found.extend(missing.fallback(model, build))
        found.extend(registry.unneeded(build, list(models)))
        found.extend(registry.stale(build, list(models)))
        found.extend(dtypes.ineffective(build, list(models)))
    result.findings = unique(found)
    return result


def build_findings(build: Build) -> Iterable[Finding]:
    """Yield what is wrong with a build whatever the model."""
    also = frozenset(build.available) | frozenset(
        operator for library in build.libraries for operator in build.release.library(library) or ()
    )
    for part in build.parts:
        yield from selection.check(part, build.release, also)
    yield from selection.unmatched(build)
    yield from registry.capacity(build)
    yield from registry.duplicates(build)
    yield from registry.stripped(build)


def unique(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings in the order of a report, each once."""
    seen: dict[tuple[object, ...], Finding] = {}
    for entry in findings:
        extra = dict(entry.extra)
        seen.setdefault((entry.sort_key, extra.get("operator"), extra.get("model"), extra.get("build")), entry)
    return sorted(seen.values(), key=lambda entry: entry.sort_key)
