"""The whole run: find files, filter, look into the cache, analyse, conclude, silence, sort."""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor as Pool
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kexec_lint.engine import discovery, executors, idle, index, suppressions, wire
from kexec_lint.engine.cache import Cache
from kexec_lint.engine.decoding import LIMIT
from kexec_lint.engine.discovery import Target
from kexec_lint.engine.request import Profile, Profiles, Request
from kexec_lint.engine.rules import RuleEntry
from kexec_lint.engine.texts import Texts, in_cells
from kexec_lint.engine.tree import Lookup, content_digest
from kexec_lint.findings import Finding

__all__ = ["Report", "Request", "check", "files"]

_RUNS = itertools.count(1)


@dataclass
class Report:
    """Outcome of a run. `notes` are files that could not be checked, `errors` are our own failures."""

    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    files: int = 0
    analysed: int = 0
    cached: int = 0
    silenced: int = 0
    timings: dict[str, float] = field(default_factory=dict)
    slowest: list[tuple[float, str]] = field(default_factory=list)
    rules: dict[str, RuleEntry] = field(default_factory=dict)
    texts: Texts = field(default_factory=lambda: Texts({}))


def check(
    request: Request, pool: Pool | None = None, progress: Callable[[int, int], None] | None = None
) -> Report:
    """Check files. Raises SettingsError, UnknownRule or FileNotFoundError for what the user must put right.

    `progress` is called with the number of analysed files and of those that need analysis.
    """
    return _Run(request, pool, progress).report_all()


class _Run:
    """State of one run; each step below is one stage of it."""

    def __init__(self, request: Request, pool: Pool | None, progress: Callable[[int, int], None] | None) -> None:
        self.request = request
        self.pool = pool
        self.progress = progress
        self.report = Report()
        self.start = os.getcwd()
        self.run = next(_RUNS)
        with self.timed("rules and settings"):
            self.index = index.load(request.cache_directory)
            self.report.notes += self.index.notes
            self.report.rules = self.index.rules
            self.profiles = Profiles(request, self.index)
        self.profile_of_file: dict[str, Profile] = {}
        self.paths: dict[str, str] = {}
        self.data: dict[str, bytes] = {}
        self.commented: dict[str, bytes] = {}
        self.unchecked: set[str] = set()
        self.facts: dict[str, dict[str, dict[str, Any]]] = {}
        self.raw: list[Finding] = []

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.report.timings[stage] = self.report.timings.get(stage, 0.0) + time.perf_counter() - began

    def report_all(self) -> Report:
        with self.timed("finding files"):
            targets, roots = self.targets()
        with self.timed("reading files"):
            candidates = self.candidates(targets)
        self.report.files = len(targets)
        if candidates:
            self.analyse(candidates, roots)
        with self.timed("concluding"):
            self.conclude()
            self.report.findings = self.judge()
        self.report.notes = list(dict.fromkeys(self.report.notes))
        self.report.errors += dict.fromkeys(self.index.errors)
        self.report.texts = Texts(self.data)
        return self.report

    def targets(self) -> tuple[list[Target], tuple[str, ...]]:
        if self.request.stdin is not None:
            name, data = self.request.stdin
            path = os.path.abspath(name)
            self.data[discovery.shown(path, self.start)] = data
            return [Target(path, discovery.shown(path, self.start))], ()
        readers = self.profiles.of(self.start).readers
        suffixes = frozenset(itertools.chain.from_iterable(reader.suffixes for reader in readers))
        found = discovery.discover(
            self.request.paths,
            suffixes | {".ipynb"} if ".py" in suffixes else suffixes,
            self.profiles.finder.exclude,
            self.request.force_exclude,
        )
        if found.missing:
            raise FileNotFoundError(f"{found.missing[0]}: no such file or folder")
        self.report.notes += found.notes
        return found.targets, tuple(found.roots)

    def candidates(self, targets: list[Target]) -> list[tuple[Target, Profile, executors.Reader]]:
        """Read the files; keep those that hold a needle of an executor."""
        result = []
        for target in targets:
            data = self.data.get(target.shown)
            if data is None:
                try:
                    with open(target.path, "rb") as file:
                        data = file.read(LIMIT + 1)
                except OSError as error:
                    self.skip(target, f"{(error.strerror or str(error)).lower()}, not checked")
                    continue
            if len(data) > LIMIT:
                self.skip(target, f"larger than {LIMIT // (1024 * 1024)} MB, not checked")
                continue
            profile = self.profiles.of(os.path.dirname(target.path))
            suffix = target.path[target.path.rfind(".") :].lower()
            if suffix == ".ipynb":
                suffix = ".py"
            wanted = [(target, profile, reader) for reader in profile.readers if reader.wants(suffix, data)]
            if suppressions.may_hold(data):
                self.commented[target.shown] = data
            if wanted or target.shown in self.commented:
                self.data[target.shown] = data
                self.paths[target.shown] = target.path
                self.profile_of_file[target.shown] = profile
            result += wanted
        return result

    def skip(self, target: Target, reason: str) -> None:
        self.unchecked.add(target.shown)
        self.report.notes.append(f"{target.shown}: {reason}")

    def analyse(self, candidates: list[tuple[Target, Profile, executors.Reader]], roots: tuple[str, ...]) -> None:
        """Answer from the cache what it knows; analyse and store the rest."""
        from kexec_lint.engine import pool

        tree = pool.tree(self.run, self.start, roots)
        for shown, data in self.data.items():
            tree.overlay(os.path.join(self.start, shown), data)
        with self.timed("cache"):
            cache = Cache(self.request.cache_directory if self.request.cache_results else None)
            keys = [self.key(target, profile, reader, roots) for target, profile, reader in candidates]
            stored = cache.get(keys)
            jobs: dict[pool.Job, str] = {}
            hits = []
            for key, (target, profile, reader) in zip(keys, candidates, strict=True):
                result = _unpack(stored.get(key))
                if result is not None and result.holds(tree.digest):
                    hits.append(key)
                    self.take(target.shown, reader.name, result)
                    continue
                job = pool.Job(
                    reader.module,
                    target.shown,
                    target.path,
                    self.data[target.shown],
                    profile.options,
                    self.start,
                    roots,
                    self.run,
                )
                jobs[job] = key
        self.report.cached = len(hits)
        self.report.analysed = len(jobs)
        names = {reader.module: reader.name for _, _, reader in candidates}
        fresh: dict[str, Any] = {}
        with self.timed("analysing"):
            workers = self.request.jobs or _processors()
            for done, (job, outcome) in enumerate(pool.outcomes(list(jobs), workers, self.pool), 1):
                if self.progress is not None:
                    self.progress(done, len(jobs))
                self.report.slowest.append((outcome.seconds, job.shown))
                if outcome.error is not None:
                    self.unchecked.add(job.shown)
                    self.report.errors.append(f"{job.shown}: internal error: {outcome.error}")
                    continue
                fresh[jobs[job]] = [outcome.findings, outcome.facts, outcome.notes, outcome.dependencies]
                # Fresh results take the road of stored ones, so that a warm run cannot say anything else.
                result = _unpack(fresh[jobs[job]])
                assert result is not None, "an executor returned what JSON cannot hold"
                self.take(job.shown, names[job.module], result)
        with self.timed("cache"):
            if fresh:
                cache.put(fresh, hits)
            cache.close()

    def key(self, target: Target, profile: Profile, reader: executors.Reader, roots: tuple[str, ...]) -> str:
        """Return the cache key: everything but the dependencies that a result can hang on."""
        options = profile.options
        parts = (
            self.index.digest,
            sys.version_info[:2],
            reader.name,
            reader.module,
            executors.version(reader.module),
            sorted(options.codes),
            options.assume_out_of_order,
            repr(options.models),
            self.start,
            target.path,
            roots,
            content_digest(self.data[target.shown]),
        )
        return content_digest(repr(parts).encode(errors="surrogateescape"))

    def take(self, shown: str, executor: str, result: _Result) -> None:
        """Accept a result, fresh or from the cache."""
        self.raw += result.findings
        if result.facts is not None:
            self.facts.setdefault(executor, {})[shown] = result.facts
        if result.notes:
            self.unchecked.add(shown)
            self.report.notes += result.notes

    def conclude(self) -> None:
        """Let every executor that gathered facts judge them together, once for each set of settings."""
        modules = {r.name: r.module for profile in self.profiles.all() for r in profile.readers}
        for name, facts in sorted(self.facts.items()):
            for profile in self.profiles.all():
                from kexec_lint.engine.pool import describe

                try:
                    ordered = dict(sorted(facts.items()))
                    findings = executors.load(modules[name]).conclude(ordered, profile.options)
                except Exception as error:
                    self.report.errors.append(f"{name}: internal error: {describe(error)}")
                    continue
                self.raw += [f for f in findings if self.profile(f.location.filename) is profile]

    def profile(self, shown: str) -> Profile:
        known = self.profile_of_file.get(shown)
        if known is None:
            known = self.profiles.of(os.path.dirname(os.path.join(self.start, shown)))
            self.profile_of_file[shown] = known
        return known

    def judge(self) -> list[Finding]:
        """Apply selection, comments, per-file-ignores and the threshold; report idle comments."""
        by_file: dict[str, list[Finding]] = {shown: [] for shown in self.commented}
        for finding in dict.fromkeys(self.raw):
            by_file.setdefault(finding.location.filename, []).append(finding)
        texts = Texts(self.data)
        kept: list[Finding] = []
        for shown, findings in by_file.items():
            profile = self.profile(shown)
            path = os.path.join(self.start, shown)
            findings = [f for f in findings if f.code in profile.codes and not profile.ignores(path, f.code)]
            before = len(findings)
            source = texts.source(shown) if shown in self.commented or shown not in self.data else None
            if source is not None and suppressions.may_hold(source.data):
                comments = suppressions.find(source)
                findings = suppressions.silence(findings, comments)
                self.report.silenced += before - len(findings)
                if shown not in self.unchecked:
                    told = [
                        finding
                        for finding in idle.findings(source, comments, self.index.rules, profile.codes)
                        if finding.code in profile.codes and not profile.ignores(path, finding.code)
                    ]
                    findings += suppressions.silence(told, comments)
            findings = [f for f in findings if f.confidence.rank <= profile.confidence.rank]
            if findings and shown.lower().endswith(".ipynb"):
                source = texts.source(shown)
                if source is not None and source.cells is not None:
                    findings = [in_cells(finding, source) for finding in findings]
            kept += findings
        return sorted(kept, key=lambda finding: finding.sort_key)


@dataclass(frozen=True)
class _Result:
    """What an executor found in one file, and the look-ups that it hangs on with digests of what they found."""

    findings: list[Finding]
    facts: dict[str, Any] | None
    notes: list[str]
    dependencies: list[tuple[Lookup, str | None]]

    def holds(self, digest: Callable[[Lookup], str | None]) -> bool:
        """Return whether every look-up finds today what it found then."""
        return all(digest(lookup) == known for lookup, known in self.dependencies)


def _unpack(value: Any) -> _Result | None:
    """Return a stored result, or None if it is none or not one of ours."""
    try:
        findings, facts, notes, dependencies = value
        return _Result(
            [wire.unpack(finding) for finding in findings],
            facts if facts is None else dict(facts),
            [str(note) for note in notes],
            [((kind, name, level, origin), known) for (kind, name, level, origin), known in dependencies],
        )
    except (TypeError, ValueError, KeyError, AttributeError):
        return None


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def files(request: Request) -> tuple[list[str], list[str]]:
    """Return the displayed names of the files that a run would read, and the notes on the rest."""
    run = _Run(request, None, None)
    targets, _ = run.targets()
    return [target.shown for target in targets], run.report.notes
