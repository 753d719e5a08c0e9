"""What the server knows of the files: findings by path, brought up to date one file or all folders at a time."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kexec_lint import rulebook
from kexec_lint.engine import cache
from kexec_lint.engine.check import Report, check
from kexec_lint.engine.patterns import PatternError
from kexec_lint.engine.request import Request
from kexec_lint.engine.rules import UnknownRule
from kexec_lint.engine.settings import SettingsError
from kexec_lint.findings import Finding, Location
from kexec_lint.lsp.buffers import Buffer
from kexec_lint.lsp.moved import move
from kexec_lint.lsp.settings import ClientSettings

Facts = dict[str, dict[str, dict[str, Any]]]
"""Executor → displayed name of a file → what `conclude` is told of it."""


@dataclass(frozen=True)
class Known:
    """What is known of a file: findings of its text of a version, judged under the settings of a generation.

    `good` are the findings of the last text that could be checked, `lines` that text; None for a notebook.
    """

    version: int | None
    generation: int
    findings: list[Finding]
    good: list[Finding]
    lines: list[str] | None


@dataclass(frozen=True)
class Survey:
    """Outcome of a run over all folders, as it crosses processes. `problem` is what the user must know of it;
    `failed` says that there are no findings for that reason.
    """

    findings: list[Finding] = field(default_factory=list)
    facts: Facts = field(default_factory=dict)
    unchecked: frozenset[str] = frozenset()
    problem: str | None = None
    failed: bool = False


class Session:
    """State of one server. `start` is the folder that displayed names are relative to; `partial` says that there are
    files of which nothing is known yet.
    """

    def __init__(self) -> None:
        self.start = os.getcwd()
        self.settings = ClientSettings()
        self.generation = 0
        self.partial = False
        self.known: dict[str, Known] = {}
        self._facts: Facts = {}

    def absolute(self, filename: str) -> str:
        """Return the absolute path of a file by its displayed name."""
        return os.path.normpath(os.path.join(self.start, filename))

    def shown(self, path: str) -> str:
        """Return the displayed name of a file by its absolute path."""
        return path[len(self.start) + 1 :] if path.startswith(self.start.rstrip(os.sep) + os.sep) else path

    def is_current(self, buffer: Buffer) -> bool:
        """Return whether the findings are those of the buffer's very text under the settings in force."""
        known = self.known.get(buffer.path)
        return known is not None and (known.version, known.generation) == (buffer.version, self.generation)

    def check(self, buffer: Buffer, others: Sequence[Buffer]) -> str | None:
        """Check one file as the editor holds it, judged together with what the others left as facts.

        Return what the user must put right, if anything.
        """
        generation, shown = self.generation, self.shown(buffer.path)
        facts = {
            name: {file: told for file, told in by_file.items() if file != shown}
            for name, by_file in self._facts.items()
        }
        request = self._request(others)._replace(
            stdin=(buffer.path, buffer.data), extra_facts=tuple(facts.items()), cache_results=False
        )
        report, problem = _checked(request)
        if report is not None:
            for name in {*report.facts, *facts}:
                self._facts[name] = {**facts.get(name, {}), **_of(report.facts.get(name, {}), shown)}
            mine = [finding for finding in report.findings if finding.location.filename == shown]
            if self.partial:  # what takes the facts of all files would be judged on this one's
                mine = [finding for finding in mine if rulebook.rule(finding.code).page.parent.name not in report.facts]
            self._take(buffer, generation, mine, shown in report.unchecked)
        return problem

    def offer(self, buffer: Buffer, others: Sequence[Buffer], findings: Sequence[Finding]) -> list[Finding]:
        """Return findings of an open file with the fixes that there are for them."""
        from kexec_lint.engine import fixing

        request = self._request(others)._replace(stdin=(buffer.path, buffer.data), cache_results=False)
        return fixing.offer(findings, request, lambda _: buffer.data)

    def order_at(self, buffer: Buffer, others: Sequence[Buffer], at: Location) -> str | None:
        """Return Markdown about the order that holds at a place of an open file, None if no command is there."""
        from kexec_lint.engine import place

        request = self._request(others)._replace(stdin=(buffer.path, buffer.data), cache_results=False)
        return place.order_at(request, buffer.data, at)

    def survey(self, folders: Sequence[str], buffers: Sequence[Buffer]) -> Request:
        """Return the request for a run over all folders, for `survey` in another process."""
        return self._request(buffers)._replace(paths=tuple(folders))

    def accept(self, survey: Survey, buffers: Mapping[str, Buffer], generation: int) -> set[str]:
        """Take over the findings of a run over all folders that saw `buffers`; return the paths that changed.

        What a file says that has been checked since stays: it is newer.
        """
        by_path: dict[str, list[Finding]] = {path: [] for path in self.known}
        for finding in survey.findings:
            by_path.setdefault(self.absolute(finding.location.filename), []).append(finding)
        newer = {
            path
            for path, known in self.known.items()
            if known.version is not None and (path not in buffers or buffers[path].version != known.version)
        }
        changed = set()
        for path, findings in by_path.items():
            if path in newer or generation != self.generation:
                continue
            before = self.known[path].findings if path in self.known else []
            if path in buffers:
                self._take(buffers[path], generation, findings, self.shown(path) in survey.unchecked)
            elif findings or path in self.known:
                self.known[path] = Known(None, generation, findings, findings, None)
            if path in self.known and self.known[path].findings != before:
                changed.add(path)
        if self.partial:
            self.partial = False
            for path in newer:  # judged without the facts of the others
                self.known[path] = replace(self.known[path], generation=-1)
        fresh = {self.shown(path) for path in newer}
        self._facts = {
            name: {
                **{file: told for file, told in by_file.items() if file not in fresh},
                **{file: told for file, told in self._facts.get(name, {}).items() if file in fresh},
            }
            for name, by_file in survey.facts.items()
        }
        return changed

    def forget(self, path: str) -> None:
        """Let a closed file be one on the disk again."""
        known = self.known.get(path)
        if known is not None:
            self.known[path] = Known(None, known.generation, known.good, known.good, None)

    def _take(self, buffer: Buffer, generation: int, findings: list[Finding], unchecked: bool) -> None:
        lines = buffer.parts[None][1] if None in buffer.parts else None
        before = self.known.get(buffer.path)
        if unchecked and before is not None:
            # It does not parse while it is typed: what was found stays, where its lines stand now.
            good, was = before.good, before.lines
            now = move(good, was, lines) if was is not None and lines is not None else good
            self.known[buffer.path] = Known(buffer.version, generation, now, good, was)
        else:
            self.known[buffer.path] = Known(buffer.version, generation, findings, findings, lines)

    def _request(self, buffers: Sequence[Buffer]) -> Request:
        asked = self.settings
        return Request(
            selection=asked.selection,
            confidence=asked.confidence,
            assume_out_of_order=asked.assume_out_of_order,
            config=asked.config and os.path.join(self.start, asked.config),
            force_exclude=True,
            cache_directory=cache.folder(),
            buffers=tuple((buffer.path, buffer.data) for buffer in buffers),
        )


def survey(start: str, request: Request) -> Survey:
    """Check all folders; runs in a process of its own, whose working folder becomes `start`."""
    os.chdir(start)
    report, problem = _checked(request)
    if report is None:
        return Survey(problem=problem, failed=True)
    return Survey(report.findings, report.facts, frozenset(report.unchecked), problem)


def _checked(request: Request) -> tuple[Report | None, str | None]:
    try:
        report = check(request)
    except (SettingsError, UnknownRule, PatternError, FileNotFoundError) as error:
        return None, str(error)
    return report, report.errors[0] if report.errors else None


def _of(facts: Mapping[str, dict[str, Any]], shown: str) -> dict[str, dict[str, Any]]:
    return {shown: facts[shown]} if shown in facts else {}
