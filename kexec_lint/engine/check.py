"""A run up to the files that matter: find files, read them, keep those that hold a needle of an executor.

Most files of most trees end here, so nothing that analyses or reports is imported before the first that does not.
"""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kexec_lint.engine import discovery, executors, index, reading, shard
from kexec_lint.engine.discovery import Target
from kexec_lint.engine.request import Profile, Profiles, Request

if TYPE_CHECKING:
    from concurrent.futures import Executor as Pool

    from kexec_lint.engine.pool import Remote
    from kexec_lint.engine.quiet import Quiet
    from kexec_lint.engine.results import Cache
    from kexec_lint.engine.since import Changes
    from kexec_lint.engine.texts import Texts
    from kexec_lint.findings import Finding

__all__ = ["Report", "Request", "Run", "check", "files"]

_MANY = 64
"""For fewer files, opening the cache to ask whether they must be read costs more than reading them."""

_RUNS = itertools.count(1)


class Report:
    """Outcome of a run. `notes` are files that could not be checked, `errors` are our own failures.

    `texts` holds the sources that findings point into; `slowest` are pairs of seconds and file. `unchecked` are
    displayed names of files of which nothing may be concluded from silence; `facts` are what executors noted of each.
    """

    def __init__(self, findings: list[Finding] | None = None, texts: Texts | None = None, files: int = 0) -> None:
        self.findings = findings or []
        self.notes: list[str] = []
        self.errors: list[str] = []
        self.files = files
        self.analysed = 0
        self.cached = 0
        self.silenced = 0
        self.timings: dict[str, float] = {}
        self.slowest: list[tuple[float, str]] = []
        self.unchecked: set[str] = set()
        self.facts: dict[str, dict[str, dict[str, Any]]] = {}
        self._texts = texts

    @property
    def texts(self) -> Texts:
        """The text of files by displayed name, read when it is asked for."""
        if self._texts is None:
            from kexec_lint.engine.texts import Texts

            self._texts = Texts({})
        return self._texts

    @texts.setter
    def texts(self, texts: Texts) -> None:
        self._texts = texts


def check(
    request: Request, pool: Pool | Remote | None = None, progress: Callable[[int, int], None] | None = None
) -> Report:
    """Check files. Raises SettingsError, UnknownRule or FileNotFoundError for what the user must put right.

    `pool` may be any `concurrent.futures.Executor`, or a `cluster.Cluster`; `progress` is called with the number of
    analysed files and of those that need analysis.
    """
    run = Run(request)
    try:
        run.find()
        run.read()
        if run.candidates or run.commented:
            from kexec_lint.engine import analysis

            analysis.complete(run, pool, progress)
    finally:
        run.close()
    run.report.notes = list(dict.fromkeys(run.report.notes))
    run.report.errors += dict.fromkeys(run.index.errors)
    return run.report


def files(request: Request) -> tuple[list[str], list[str]]:
    """Return the displayed names of the files that a run would read, and the notes on the rest."""
    run = Run(request)
    run.find()
    return [target.shown for target in run.targets if run.shows(target)], run.report.notes


class Run:
    """State of one run. `data` holds the content of the files that matter, by displayed name.

    `candidates` are files with a needle of an executor; `commented` may hold a suppression; `buffers` holds what
    stands for files on the disk, by absolute path. `number` tells the runs of one process apart.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.report = Report()
        self.start = os.getcwd()
        self.buffers = dict(request.buffers)
        self.number = next(_RUNS)
        with self.timed("rules and settings"):
            self.index = index.load(request.cache_directory)
            self.report.notes += self.index.notes
            self.profiles = Profiles(request, self.index)
        self.targets: list[Target] = []
        self.roots: tuple[str, ...] = ()
        self._suffixes: frozenset[str] = frozenset()
        self.candidates: list[tuple[Target, Profile, executors.Reader]] = []
        self.data: dict[str, bytes] = {}
        self.commented: set[str] = set()
        self.unchecked = self.report.unchecked
        self.changes: Changes | None = None
        if request.since is not None:
            from kexec_lint.engine.since import Changes

            self.changes = Changes(request.since, request.paths)

    def shows(self, target: Target) -> bool:
        """Return whether the run reports on a file whatever it depends on: one of its part that changed."""
        return self.tells(target.shown) and (self.changes is None or self.changes.hold(target.path))

    def tells(self, shown: str) -> bool:
        """Return whether the run reports on a file, or another part of it does."""
        return shard.holds(self.request.shard, shown)

    @cached_property
    def cache(self) -> Cache:
        """The results of earlier runs, opened when they are first asked for."""
        from kexec_lint.engine.results import Cache

        return Cache(self.request.cache_directory if self.request.cache_results else None)

    def close(self) -> None:
        """Close the cache, if it was opened."""
        if "cache" in self.__dict__:
            self.cache.close()

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the time that the block takes to a stage of the report's timings."""
        began = time.perf_counter()
        yield
        self.report.timings[stage] = self.report.timings.get(stage, 0.0) + time.perf_counter() - began

    def profile(self, shown: str) -> Profile:
        """Return the profile of a file by its displayed name."""
        return self.profiles.of(os.path.dirname(os.path.join(self.start, shown)))

    def find(self) -> None:
        """Find the targets. Raises FileNotFoundError for a path that is not there."""
        if self.request.stdin is not None:
            name, data = self.request.stdin
            path = os.path.abspath(name)
            target = Target(path, discovery.shown(path, self.start))
            if self.request.force_exclude and discovery.excluded(path, self.profiles.finder.exclude, directory=False):
                return
            self.data[target.shown] = data
            self.targets = [target]
            return
        with self.timed("finding files"):
            readers = self.profiles.of(self.start).readers
            suffixes = frozenset(itertools.chain.from_iterable(reader.needles for reader in readers))
            if ".py" in suffixes:
                suffixes |= {".ipynb"}
            exclude = self.profiles.finder.exclude
            found = discovery.discover(self.request.paths, suffixes, exclude, self.request.force_exclude)
        if found.missing:
            raise FileNotFoundError(f"{found.missing[0]}: no such file or folder")
        self.report.notes += found.notes
        self.targets = found.targets
        self.roots = tuple(found.roots)
        self._suffixes = suffixes
        self.targets += [Target(path, discovery.shown(path, self.start)) for path in self.buffers if self.lacks(path)]

    def lacks(self, path: str) -> bool:
        """Return whether a file would be a target if it were there: one not saved yet, one deleted."""
        below = any(path.startswith(root.rstrip(os.sep) + os.sep) for root in self.roots)
        read = below and discovery.suffix(path) in self._suffixes and not os.path.lexists(path)
        return read and not discovery.excluded(path, self.profiles.finder.exclude, directory=False)

    def read(self) -> None:
        """Read the targets; keep those that hold a needle of an executor or may hold a suppression."""
        families = b"|".join(sorted({code[:3].encode() for code in self.index.rules}))
        silencing = re.compile(rb"noqa[ \t]*:[^\n]*\b(?i:%b)" % families)
        with self.timed("reading files"):
            quiet = self._quiet()
            wishes: list[tuple[Target, Profile, reading.Wish, str]] = []
            finders: dict[tuple[int, str, bool], Callable[[bytes], Any] | None] = {}
            for target in self.targets:
                tells = self.tells(target.shown)
                self.report.files += self.shows(target)
                profile = self.profiles.of(os.path.dirname(target.path))
                stamp = ""
                if quiet is not None:
                    stamp = quiet.stamp(target.path, profile.reading)
                    if quiet.knows(target.path, stamp):
                        continue
                readers = profile.readers if tells else tuple(r for r in profile.readers if not r.alone)
                if readers or tells:
                    data = self.data.get(target.shown, self.buffers.get(target.path))
                    suffix = discovery.suffix(target.path)
                    key = (id(profile), suffix, tells)
                    if key not in finders:
                        finders[key] = reading.finder(suffix, readers, tells) if len(self.targets) > _MANY else None
                    pattern = silencing if tells else None
                    wish = reading.Wish(target.path, suffix, readers, pattern, data, finders[key])
                    wishes.append((target, profile, wish, stamp if tells and data is None else ""))
            seen = reading.look_all([wish for _, _, wish, _ in wishes], self.request.jobs or processors())
            for (target, profile, wish, stamp), (wanted, commented, data, problem) in zip(wishes, seen, strict=True):
                if problem:
                    self._skip(target, problem)
                    continue
                if commented:
                    self.commented.add(target.shown)
                if data is not None:
                    self.data[target.shown] = data
                elif quiet is not None:
                    quiet.note(target.path, stamp)
                self.candidates += [(target, profile, wish.readers[at]) for at in wanted]
            if quiet is not None:
                quiet.save()

    def _quiet(self) -> Quiet | None:
        """Return what earlier runs know of the files, where that is worth asking."""
        if len(self.targets) < _MANY or not self.request.cache_results or self.request.cache_directory is None:
            return None
        from kexec_lint.engine.quiet import Quiet

        return Quiet(self.cache, [target.path for target in self.targets if target.path not in self.buffers])

    def _skip(self, target: Target, reason: str) -> None:
        self.unchecked.add(target.shown)
        if self.shows(target):
            self.report.notes.append(f"{target.shown}: {reason}")


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
