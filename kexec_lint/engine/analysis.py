"""A run from the files that matter to the findings: look into the cache, analyse, conclude, silence, sort."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor as Pool
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kexec_lint import plugins
from kexec_lint.engine import discovery, executors, idle, pool, suppressions, wire
from kexec_lint.engine.check import Run, processors
from kexec_lint.engine.discovery import Target
from kexec_lint.engine.request import Profile
from kexec_lint.engine.settings import SettingsError, row_of
from kexec_lint.engine.texts import Texts, in_cells
from kexec_lint.engine.tree import Lookup, Tree, content_digest
from kexec_lint.findings import Confidence, Finding

if TYPE_CHECKING:
    from kexec_lint.engine.since import Earlier


_STORED_AT_ONCE = 500


@dataclass
class Gathered:
    """What the executors said: findings of single files, and facts by executor and file."""

    findings: list[Finding] = field(default_factory=list)
    facts: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    """Displayed names of the files that the changes touch, in a run since a revision."""


@dataclass(frozen=True)
class Result:
    """What an executor found in one file, and the look-ups that it hangs on with digests of what they found."""

    findings: list[Finding]
    facts: dict[str, Any] | None
    notes: list[str]
    dependencies: list[tuple[Lookup, str | None]]

    def holds(self, digest: Callable[[Lookup], str | None]) -> bool:
        """Return whether every look-up finds today what it found then."""
        return all(digest(lookup) == known for lookup, known in self.dependencies)


def complete(run: Run, workers: Pool | pool.Remote | None, progress: Callable[[int, int], None] | None) -> None:
    """Fill the report of a run whose files have been read."""
    gathered = Gathered()
    tree = pool.tree(run.number, run.start, run.roots)
    earlier = None if run.changes is None else run.changes.earlier(tree)
    _gather(run, gathered, tree, earlier, workers, progress)
    run.report.facts = gathered.facts
    with run.timed("concluding"):
        unsaved = {discovery.shown(path, run.start): data for path, data in run.buffers.items()}
        run.report.texts = Texts(unsaved | run.data)
        known = set() if earlier is None else _known(run, gathered, earlier)
        _conclude(run, gathered)
        found = _judge(run, gathered.findings)
        if earlier is not None:
            found = [f for f in found if f.location.filename in gathered.touched or f not in known]
            run.report.files = sum(t.shown in gathered.touched and run.tells(t.shown) for t in run.targets)
        run.report.findings = found


def _gather(
    run: Run,
    gathered: Gathered,
    tree: Tree,
    earlier: Earlier | None,
    workers: Pool | pool.Remote | None,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Answer from the cache what it knows; analyse and store the rest."""
    for path, data in run.buffers.items():
        tree.overlay(path, data)
    for shown, data in run.data.items():
        tree.overlay(os.path.join(run.start, shown), data)
    names = {reader.module: reader.name for _, _, reader in run.candidates}
    jobs: dict[pool.Job, str] = {}
    hits = []
    if run.changes is not None:
        gathered.touched |= {target.shown for target in run.targets if run.changes.hold(target.path)}
    with run.timed("cache"):
        fingerprint = content_digest(run.index.fingerprint.encode())
        keys = [_key(run, fingerprint, *candidate) for candidate in run.candidates]
        stored = run.cache.get(keys)
        for key, (target, profile, reader) in zip(keys, run.candidates, strict=True):
            result = _unpack(stored.get(key))
            if result is not None and result.holds(tree.digest):
                hits.append(key)
                _take(run, gathered, target.shown, reader.name, result, earlier)
            else:
                jobs[_job(run, target, profile, reader, run.data[target.shown])] = key
    run.report.cached = len(hits)
    run.report.analysed = len(jobs)
    fresh: dict[str, str] = {}
    count = run.request.jobs or processors()
    with (
        run.timed("analysing"),
        _kept(run, fresh, hits),
        closing(pool.outcomes(list(jobs), count, workers)) as outcomes,
    ):
        for done, (job, outcome) in enumerate(outcomes, 1):
            if progress is not None:
                progress(done, len(jobs))
            run.report.slowest.append((outcome.seconds, job.shown))
            if outcome.refused is not None:
                settings = run.profile(job.shown).settings
                file = settings.file
                if outcome.refused.name not in settings.models:
                    raise SettingsError(f"a plug-in of the group {plugins.MODELS}: {outcome.refused}")
                row = row_of(str(file), outcome.refused.name)
                raise SettingsError(f"{file}:{row}: {outcome.refused}")
            # A fresh result takes the road of a stored one, so that a warm run cannot say anything else.
            result = _unpack(outcome.value)
            if result is None:
                run.unchecked.add(job.shown)
                run.report.errors.append(f"{job.shown}: internal error: {outcome.error}")
            else:
                if not outcome.passing:
                    fresh[jobs[job]] = outcome.value
                if len(fresh) == _STORED_AT_ONCE:  # a run that is killed has not worked for nothing
                    run.cache.put(fresh)
                    fresh.clear()
                _take(run, gathered, job.shown, names[job.module], result, earlier)


@contextmanager
def _kept(run: Run, fresh: dict[str, str], hits: list[str]) -> Iterator[None]:
    """Store what is fresh at the end of the block, also of a run that is interrupted."""
    try:
        yield
    finally:
        if fresh:
            run.cache.put(fresh, hits)


def _job(run: Run, target: Target, profile: Profile, reader: executors.Reader, data: bytes) -> pool.Job:
    return pool.Job(
        module=reader.module,
        shown=target.shown,
        path=target.path,
        data=data,
        options=profile.options,
        start=run.start,
        roots=run.roots,
        run=run.number,
    )


def _key(run: Run, fingerprint: str, target: Target, profile: Profile, reader: executors.Reader) -> str:
    """Return the cache key: everything but the dependencies that a result can hang on."""
    options = profile.options
    parts = (
        fingerprint,
        sys.version_info[:2],
        reader.name,
        reader.module,
        executors.version(reader.module),
        sorted(options.codes),
        sorted(options.explicit),
        options.assume_out_of_order,
        options.compile_commands,
        repr(options.models),
        run.start,
        target.path,
        run.roots,
        content_digest(run.data[target.shown]),
    )
    return content_digest(repr(parts).encode(errors="surrogateescape"))


def _unpack(value: str | None) -> Result | None:
    """Return a stored result, or None if it is none or not one of ours."""
    if value is None:
        return None
    try:
        findings, facts, notes, dependencies = json.loads(value)
        return Result(
            [wire.unpack(finding) for finding in findings],
            facts if facts is None else dict(facts),
            [str(note) for note in notes],
            [((kind, name, level, origin), known) for (kind, name, level, origin), known in dependencies],
        )
    except (TypeError, ValueError, KeyError, AttributeError):
        return None


def _take(run: Run, gathered: Gathered, shown: str, executor: str, result: Result, earlier: Earlier | None) -> None:
    if earlier is not None and shown not in gathered.touched and not result.holds(earlier.digest):
        gathered.touched.add(shown)
    if result.facts is not None:
        gathered.facts.setdefault(executor, {})[shown] = result.facts
    if run.tells(shown):
        gathered.findings += result.findings
    if result.notes:
        run.unchecked.add(shown)
        if run.tells(shown) and (earlier is None or shown in gathered.touched):
            run.report.notes += result.notes


def _known(run: Run, now: Gathered, earlier: Earlier) -> set[Finding]:
    """Return what could be found before the changes in the files that they do not touch.

    What only all files together show may be new there: the kernel that another file had is gone. For that the facts
    of the touched files are gathered anew, from what they were.
    """
    facts = {name: {k: v for k, v in files.items() if k not in now.touched} for name, files in now.facts.items()}
    before = Gathered([f for f in now.findings if f.location.filename not in now.touched], facts)
    gone = [Target(path, discovery.shown(path, run.start)) for path in earlier.gone() if run.lacks(path)]
    for target in [*(target for target in run.targets if target.shown in now.touched), *gone]:
        profile = run.profiles.of(os.path.dirname(target.path))
        readers = [reader for reader in profile.readers if not reader.alone]
        data = earlier.content(target.path) if readers else None
        suffix = discovery.suffix(target.path)
        for reader in readers:
            if data is not None and reader.wants(".py" if suffix == ".ipynb" else suffix, data):
                outcome = pool.scan(_job(run, target, profile, reader, data), earlier)
                result = _unpack(outcome.value)
                if result is not None and result.facts is not None:
                    before.facts.setdefault(reader.name, {})[target.shown] = result.facts
    silenced = run.report.silenced
    _conclude(run, before)
    known = set(_judge(run, [f for f in before.findings if f.location.filename not in now.touched]))
    run.report.silenced = silenced
    return known


def _conclude(run: Run, gathered: Gathered) -> None:
    """Let every executor that gathered facts judge them together, once for each set of settings."""
    modules = {reader.name: reader.module for profile in run.profiles.all() for reader in profile.readers}
    for name, more in run.request.extra_facts:
        if name in modules:
            gathered.facts.setdefault(name, {}).update(more)
    for name, facts in sorted(gathered.facts.items()):
        ordered = dict(sorted(facts.items()))
        for profile in run.profiles.all():
            try:
                findings = executors.load(modules[name]).conclude(ordered, profile.options)
            except Exception as error:
                run.report.errors.append(f"{name}: internal error: {pool.describe(error)}")
            else:
                told = [f for f in findings if run.tells(f.location.filename)]
                gathered.findings += [f for f in told if run.profile(f.location.filename) is profile]


def _judge(run: Run, raw: list[Finding]) -> list[Finding]:
    """Apply selection, comments, per-file-ignores and the threshold; report idle comments."""
    by_file: dict[str, list[Finding]] = {shown: [] for shown in run.commented}
    for finding in dict.fromkeys(raw):
        by_file.setdefault(finding.location.filename, []).append(finding)
    kept: list[Finding] = []
    for shown, findings in by_file.items():
        profile = run.profile(shown)
        path = os.path.join(run.start, shown)

        def wanted(finding: Finding, profile: Profile = profile, path: str = path) -> bool:
            return finding.code in profile.codes and not profile.ignores(path, finding.code)

        findings = [finding for finding in findings if wanted(finding)]
        if findings or shown in run.commented:
            findings = _silence(run, shown, findings, wanted)
        threshold = Confidence(profile.confidence).rank
        kept += [finding for finding in findings if finding.confidence.rank <= threshold]
    return sorted(map(_placed(run.report.texts), kept), key=lambda finding: finding.sort_key)


def _silence(run: Run, shown: str, findings: list[Finding], wanted: Callable[[Finding], bool]) -> list[Finding]:
    """Apply the comments of a file and add what is to say about those that silence nothing."""
    source = run.report.texts.source(shown)
    if source is None:
        return findings
    comments = suppressions.find(source)
    kept = suppressions.silence(findings, comments)
    run.report.silenced += len(findings) - len(kept)
    if shown not in run.unchecked and run.tells(shown):
        told = idle.findings(source, comments, run.index.rules, run.profile(shown).codes)
        kept += suppressions.silence(filter(wanted, told), comments)
    return kept


def _placed(texts: Texts) -> Callable[[Finding], Finding]:
    """Return what counts the places of a finding in a notebook within its cells."""

    def place(finding: Finding) -> Finding:
        if not finding.location.filename.lower().endswith(".ipynb"):
            return finding
        source = texts.source(finding.location.filename)
        return finding if source is None or source.cells is None else in_cells(finding, source)

    return place
