"""The whole run: find files, filter, look into the cache, analyse, conclude, silence, sort."""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor as Pool
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kexec_lint import __version__
from kexec_lint.engine import discovery, executors, index, suppressions, wire
from kexec_lint.engine.cache import Cache
from kexec_lint.engine.decoding import LIMIT, Unreadable, decode
from kexec_lint.engine.discovery import Target
from kexec_lint.engine.patterns import Patterns
from kexec_lint.engine.rules import RuleEntry, Selection, UnknownRule, check_selectors, enabled
from kexec_lint.engine.settings import Finder, Settings, SettingsError
from kexec_lint.engine.tree import Lookup, content_digest
from kexec_lint.findings import Confidence, Edit, Finding, Fix, Location, Related, Severity
from kexec_lint.source import Options, Source

_RUNS = itertools.count(1)


@dataclass(frozen=True)
class Request:
    """What to check and how. None means: as the settings files say."""

    paths: tuple[str, ...] = (".",)
    selection: Selection = field(default_factory=Selection)
    confidence: str | None = None
    assume_out_of_order: bool | None = None
    config: str | None = None
    isolated: bool = False
    force_exclude: bool = False
    jobs: int | None = None
    cache_directory: Path | None = None
    cache_results: bool = True
    stdin: tuple[str, bytes] | None = None
    """Displayed name and content of standard input, checked instead of the file of that name."""


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


class Texts:
    """The text of files that findings point into, read when a report shows it."""

    def __init__(self, known: dict[str, bytes]) -> None:
        self._data = known
        self._sources: dict[str, Source | None] = {}

    def source(self, filename: str) -> Source | None:
        """Return a file by its displayed name, or None if it cannot be read."""
        if filename not in self._sources:
            try:
                data = self._data.get(filename)
                if data is None:
                    with open(filename, "rb") as file:
                        data = file.read(LIMIT + 1)
                self._sources[filename] = decode(filename, data)
            except (OSError, Unreadable):
                self._sources[filename] = None
        return self._sources[filename]

    def line(self, at: Location, row: int) -> str | None:
        """Return one line of the file (or cell) that `at` points into, without its end; None if there is none."""
        source = self.source(at.filename)
        if source is None:
            return None
        lines = source.text.split("\n")
        if at.cell is not None and source.cells is not None:
            try:
                row = source.cells.index((at.cell, row)) + 1
            except ValueError:
                return None
        return lines[row - 1] if 0 < row <= len(lines) else None


@dataclass(frozen=True)
class Profile:
    """Settings resolved against the rules and the command line; shared by all files that they hold for."""

    settings: Settings
    codes: frozenset[str]
    confidence: Confidence
    options: Options
    readers: tuple[executors.Reader, ...]
    per_file_ignores: tuple[tuple[Patterns, frozenset[str]], ...]

    def ignores(self, path: str, code: str) -> bool:
        """Return whether per-file-ignores silence a rule in a file."""
        return any(code in codes and patterns.covers(path) for patterns, codes in self.per_file_ignores)


class Profiles:
    """Profiles by folder."""

    def __init__(self, request: Request, rules: index.Index) -> None:
        self.finder = Finder(request.config, request.isolated)
        self._request = request
        self._index = rules
        self._by_file: dict[str | None, Profile] = {}
        self._by_folder: dict[str, Profile] = {}
        check_selectors(rules.rules, _selectors(request.selection))

    def of(self, folder: str) -> Profile:
        """Return the profile of files directly in `folder`. Raises SettingsError or UnknownRule."""
        profile = self._by_folder.get(folder)
        if profile is None:
            settings = self.finder.of(folder)
            profile = self._by_file.get(settings.file)
            if profile is None:
                profile = self._by_file[settings.file] = self._resolve(settings)
            self._by_folder[folder] = profile
        return profile

    def all(self) -> list[Profile]:
        """Return the profiles met so far."""
        return list(self._by_file.values())

    def _resolve(self, settings: Settings) -> Profile:
        own = Selection(settings.select, settings.extend_select, settings.ignore)
        rules, request = self._index.rules, self._request
        try:
            check_selectors(rules, [*_selectors(own), *itertools.chain(*settings.per_file_ignores.values())])
        except UnknownRule as error:
            raise SettingsError(f"{settings.file}: {error}") from None
        codes = enabled(rules, (own, request.selection))
        out_of_order = request.assume_out_of_order
        return Profile(
            settings=settings,
            codes=codes,
            confidence=Confidence(request.confidence or settings.confidence),
            options=Options(
                codes=codes,
                # The threshold is applied at the end: a comment that silences a finding below it is not unused,
                # and one cached result serves every threshold.
                confidence=Confidence.POSSIBLE.value,
                assume_out_of_order=settings.assume_out_of_order if out_of_order is None else out_of_order,
                models=settings.models,
            ),
            readers=tuple(self._index.readers(codes)),
            per_file_ignores=tuple(
                (Patterns(settings.base, (pattern,)), enabled(rules, (Selection(select=selectors),)))
                for pattern, selectors in settings.per_file_ignores.items()
            ),
        )


def _selectors(selection: Selection) -> Iterable[str]:
    return (*(selection.select or ()), *selection.extend_select, *selection.ignore)


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
    def timed(self, stage: str) -> Any:
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
                value = stored.get(key)
                if value is not None and _still_true(value, tree.digest):
                    hits.append(key)
                    self.take(target.shown, reader.name, value)
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
                value = [outcome.findings, outcome.facts, outcome.notes, outcome.dependencies]
                fresh[jobs[job]] = value
                self.take(job.shown, names[job.module], value)
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

    def take(self, shown: str, executor: str, value: list[Any]) -> None:
        """Accept a result, fresh or from the cache."""
        findings, facts, notes, _ = value
        self.raw += [wire.unpack(finding) for finding in findings]
        if facts is not None:
            self.facts.setdefault(executor, {})[shown] = facts
        if notes:
            self.unchecked.add(shown)
            self.report.notes += notes

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
                    idle = [
                        finding
                        for finding in _idle(source, comments, self.index.rules, profile.codes)
                        if finding.code in profile.codes and not profile.ignores(path, finding.code)
                    ]
                    findings += suppressions.silence(idle, comments)
            findings = [f for f in findings if f.confidence.rank <= profile.confidence.rank]
            if findings and shown.lower().endswith(".ipynb"):
                source = texts.source(shown)
                if source is not None and source.cells is not None:
                    findings = [_in_cells(finding, source) for finding in findings]
            kept += findings
        return sorted(kept, key=lambda finding: finding.sort_key)


def _still_true(value: Any, digest: Callable[[Lookup], str | None]) -> bool:
    """Return whether every look-up of a stored result finds today what it found then."""
    try:
        return all(digest((lookup[0], lookup[1], lookup[2], lookup[3])) == known for lookup, known in value[3])
    except (TypeError, IndexError, ValueError):
        return False


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _idle(
    source: Source,
    comments: Sequence[suppressions.Suppression],
    rules: dict[str, RuleEntry],
    codes: frozenset[str],
) -> Iterable[Finding]:
    """Yield KXL002 for codes that no rule has and KXL001 for those that silence nothing in this run."""
    families = {code[:3] for code in rules}
    for comment in comments:
        if not comment.told:
            continue
        at = Location(source.path, comment.row, comment.column, comment.row, comment.end_column)
        if not comment.codes:
            message = "the comment names no rule, so it silences nothing"
            yield _engine_finding(rules, "KXL002", at, message, "write the code in brackets")
        for written in comment.codes:
            code = written.upper()
            if code not in rules:
                # A code of another family after noqa belongs to another linter.
                if not comment.noqa or code[:3] in families:
                    message = f"no rule has the code {written}, so the comment silences nothing"
                    yield _engine_finding(rules, "KXL002", at, message, _nearest(code, rules))
            elif code in codes and code not in comment.used and not code.startswith("KXL"):
                message = f"{code} ({rules[code].name}) is not reported here, so its suppression is not needed"
                yield _engine_finding(rules, "KXL001", at, message, f"remove {code} from the comment")


def _nearest(code: str, rules: dict[str, RuleEntry]) -> str:
    import difflib

    close = difflib.get_close_matches(code, rules, n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else "`kexec-lint rule --all` lists the codes"


def _engine_finding(rules: dict[str, RuleEntry], code: str, at: Location, message: str, help_: str) -> Finding:
    rule = rules.get(code) or RuleEntry(code, code.lower(), Severity.WARNING, True, "engine")
    return Finding(code, rule.name, rule.severity, Confidence.CERTAIN, message, at, help=help_)


def _in_cells(finding: Finding, source: Source) -> Finding:
    """Return a finding of a notebook with its places counted within cells."""

    def place(at: Location) -> Location:
        cells = source.cells or ()
        if at.filename != source.path or not 0 < at.row <= len(cells):
            return at
        cell, row = cells[at.row - 1]
        end_row = row + at.end_row - at.row
        return Location(at.filename, row, at.column, end_row, at.end_column, cell)

    def places(items: Sequence[Related]) -> tuple[Related, ...]:
        return tuple(Related(item.message, place(item.location)) for item in items)

    fix = finding.fix
    if fix is not None:
        edits = tuple(Edit(place(edit.location), edit.content) for edit in fix.edits)
        fix = Fix(fix.applicability, fix.message, edits)
    return replace(
        finding,
        location=place(finding.location),
        related=places(finding.related),
        steps=places(finding.steps),
        fix=fix,
    )


def settings_text(request: Request) -> str:
    """Return the settings in force in the working folder, as `--show-settings` prints them."""
    rules = index.load(request.cache_directory)
    profile = Profiles(request, rules).of(os.getcwd())
    settings = profile.settings
    rows: list[tuple[str, object]] = [
        ("version", __version__),
        ("file", settings.file or "none (built-in settings)"),
        ("rules", " ".join(sorted(profile.codes)) or "none"),
        ("confidence", profile.confidence.value),
        ("assume-out-of-order", str(profile.options.assume_out_of_order).lower()),
        ("exclude", " ".join(settings.exclude) or "none beyond the built-in folders"),
        ("models", " ".join(settings.models) or "none"),
        ("cache", request.cache_directory or "none"),
    ]
    rows += [
        (f"per-file-ignores {pattern}", " ".join(codes)) for pattern, codes in settings.per_file_ignores.items()
    ]
    rows += [(f"executor {r.name}", " ".join(sorted(r.suffixes))) for r in profile.readers]
    return "\n".join(f"{name}: {value}" for name, value in rows)


def files(request: Request) -> tuple[list[str], list[str]]:
    """Return the displayed names of the files that a run would read, and the notes on the rest."""
    run = _Run(request, None, None)
    targets, _ = run.targets()
    return [target.shown for target in targets], run.report.notes
