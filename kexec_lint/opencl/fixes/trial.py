"""Tries a fix: analyses the changed text and compares what is found there with what was found before."""

from __future__ import annotations

import gc
import io
import tokenize
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from kexec_lint import rulebook
from kexec_lint.findings import Finding
from kexec_lint.opencl import NATIVE
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.analysis import Analysis, analyse
from kexec_lint.opencl.checks.evidence import Evidence, place
from kexec_lint.opencl.fixes import Key, key_of
from kexec_lint.opencl.fixes.candidate import Candidate
from kexec_lint.opencl.fixes.changes import Change, Revision, Rows
from kexec_lint.opencl.fixes.pairs import Pair
from kexec_lint.opencl.frontend import SyntaxProblem
from kexec_lint.opencl.program import Span
from kexec_lint.opencl.report import judged
from kexec_lint.source import ModelError, Options, Project, Source

Numbering = tuple[str, int, tuple[tuple[str, Span], ...]]
"""Kind of a node, how many of its kind and call chain came before, path and span of each call."""

Judged = list[tuple[Finding, Evidence, g.EnqueueGraph]]


class Passed(NamedTuple):
    """A finding's fix that was tried."""

    evidence: Evidence
    candidate: Candidate
    revision: Revision
    gone: frozenset[Key]
    """Findings that it puts right, its own among them."""


@dataclass(frozen=True)
class Trial:
    """What is found in a file as it is, by all rules that are on by default and those that are asked for."""

    source: Source
    project: Project
    options: Options
    analysis: Analysis
    judged: Judged

    @staticmethod
    def start(source: Source, project: Project, options: Options) -> Trial | None:
        """Analyse a file; None if it is not valid."""
        defaults = {code for code, rule in rulebook.load().items() if code.startswith("OCL") and rule.default}
        options = replace(options, codes=options.codes | defaults)
        analysis = _analysed(source, project, options)
        return (
            None
            if analysis is None
            else Trial(source, project, options, analysis, judged(analysis.graphs, source, options))
        )

    def passes(self, rows: Rows, case: Pair, candidate: Candidate) -> Passed | None:
        """Return the fix if it puts the finding right and brings nothing new.

        Only the entry points that run through a changed function are looked at again; see `kept`.
        """
        try:
            revision = Revision(rows, candidate.changes)
        except ValueError:
            return None
        affected = self._affected(revision)
        here = frozenset(n for n, entry in enumerate(self.analysis.entries) if entry.graph is case.graph)
        analysis = self._brings_nothing(revision, [case.evidence], here)
        if analysis is None:
            return None  # most that fail do so where the finding comes from
        if affected != here:
            analysis = self._brings_nothing(revision, [case.evidence], affected)
        if analysis is None:
            return None
        if affected is not None:
            elsewhere = (keys for number, keys in enumerate(self._keys) if number not in affected)
            if any(case.key in keys for keys in elsewhere):
                return None  # found from another entry point too, which the change does not reach
        if len(case.evidence.nodes) == 2 and not self._ordered(case, candidate, revision, analysis.graphs):
            return None
        left = frozenset((e.code, *_start(e)) for _, e, _ in self._judged(revision, analysis))
        graphs = {id(e.graph) for n, e in enumerate(self.analysis.entries) if affected is None or n in affected}
        gone = {
            key_of(finding)
            for finding, evidence, graph in self.judged
            if id(graph) in graphs and (evidence.code, *_moved_start(evidence, revision)) not in left
        }
        return Passed(case.evidence, candidate, revision, frozenset(gone))

    def kept(self, rows: Rows, passed: Mapping[Key, Passed]) -> dict[Key, Passed]:
        """Return those fixes that bring nothing in the whole file either: tried together, and alone if need be."""
        found: dict[Key, Passed] = {}
        pending = dict(passed)
        while pending:
            batch = _apart(pending)
            if self._hold(rows, batch.values()):
                found |= batch
            elif len(batch) > 1:
                found |= {key: one for key, one in batch.items() if self._hold(rows, [one])}
            pending = {key: one for key, one in pending.items() if key not in batch}
        return found

    def _hold(self, rows: Rows, batch: Collection[Passed]) -> bool:
        revision = Revision(rows, [change for one in batch for change in one.revision.changes])
        return self._brings_nothing(revision, [one.evidence for one in batch], None) is not None

    def _brings_nothing(
        self, revision: Revision, fixed: Iterable[Evidence], only: frozenset[int] | None
    ) -> Analysis | None:
        """Return the analysis of a changed text if what is `fixed` is gone, nothing has come and comments stay."""
        changed = self._changed(revision)
        analysis = _analysed(changed, self.project, self.options, only)
        if analysis is None or len(analysis.entries) != len(self.analysis.entries):
            return None
        gone = {id(evidence) for evidence in fixed}
        before = {
            (evidence.code, *_moved_start(evidence, revision))
            for _, evidence, _ in self.judged
            if id(evidence) not in gone
        }
        if any((e.code, *_start(e)) not in before for _, e, _ in self._judged(revision, analysis)):
            return None
        comments, errors = _parsed(changed)
        before_comments, before_errors = self._parsed
        return analysis if comments == before_comments and errors <= before_errors else None

    def _changed(self, revision: Revision) -> Source:
        data = b"" if self.source.cells is not None else revision.text.encode(errors="surrogateescape")
        cells = None if self.source.cells is None else revision.cells(self.source.cells)
        return replace(self.source, text=revision.text, data=data, cells=cells)

    def _judged(self, revision: Revision, analysis: Analysis) -> Judged:
        return judged(analysis.graphs, self._changed(revision), self.options)

    def _affected(self, revision: Revision) -> frozenset[int] | None:
        """Return the numbers of the entry points that run through a changed function, None for all."""
        numbers: set[int] = set()
        for start, end, _ in revision.changes:
            first, last = revision.rows.place(start), revision.rows.place(end)

            def holds(span: Span, first: tuple[int, int] = first, last: tuple[int, int] = last) -> bool:
                return span[:2] < first and last <= span[2:]

            here = {n for n, entry in enumerate(self.analysis.entries) if any(map(holds, entry.ran))}
            if not here or any(map(holds, self.analysis.shared)):
                return None
            numbers |= here
        return frozenset(numbers)

    @cached_property
    def _keys(self) -> list[frozenset[Key]]:
        """What is found from each entry point."""
        graphs = ([entry.graph] if entry.graph is not None else [] for entry in self.analysis.entries)
        alone = (judged(graph, self.source, self.options) for graph in graphs)
        return [frozenset(key_of(finding) for finding, _, _ in found) for found in alone]

    @cached_property
    def _parsed(self) -> tuple[Counter[str] | None, int]:
        return _parsed(self.source)

    def _ordered(self, case: Pair, candidate: Candidate, revision: Revision, graphs: list[g.EnqueueGraph]) -> bool:
        """Return whether the later node surely comes after each of the earlier ones in the changed program."""
        wanted = {id(node): key for key, node in _numbered(case.graph).items()}
        pairs = (*(candidate.covers or case.earlier), case.later)
        for graph in graphs:
            if graph.name != case.graph.name:
                continue
            after = _numbered(graph)
            moved = [after.get(self._moved(wanted[id(node)], revision)) for node in pairs]
            later = moved.pop()
            if later is not None and all(node is not None and _surely(graph, node, later) for node in moved):
                return True
        return False

    def _moved(self, key: Numbering, revision: Revision) -> Numbering:
        """Return the number that a node has once the text has changed."""
        kind, number, chain = key
        here = self.source.path
        return kind, number, tuple((path, revision.span(at) if path == here else at) for path, at in chain)


def _numbered(graph: g.EnqueueGraph) -> dict[Numbering, g.Node]:
    """Return the nodes of a graph by kind, call chain and how often they came before (loops run twice)."""
    counts: Counter[tuple[str, tuple[tuple[str, Span], ...]]] = Counter()
    found: dict[Numbering, g.Node] = {}
    for node in graph.nodes:
        chain = tuple((at.path, at.span) for at in node.site)
        kind = f"{type(node).__name__} {getattr(node, 'kind', '')}"
        found[kind, counts[kind, chain], chain] = node
        counts[kind, chain] += 1
    return found


def _surely(graph: g.EnqueueGraph, earlier: g.Node, later: g.Node) -> bool:
    if graph.reaches(earlier, later, certainly=True):
        return True
    return any(source is earlier and certain for source, certain, _ in later.before)


def _analysed(
    source: Source, project: Project, options: Options, only: frozenset[int] | None = None
) -> Analysis | None:
    gc.collect(0)  # the graphs of the trial before, which `offers` keeps from being walked with all the rest
    try:
        return analyse(source, project, options, only)
    except (SyntaxProblem, ModelError, RecursionError):
        return None


def _apart(fixes: Mapping[Key, Passed]) -> dict[Key, Passed]:
    """Return those that touch no place that one before them touches."""
    chosen: dict[Key, Passed] = {}
    taken: list[Change] = []
    for key, one in fixes.items():
        if not any(
            mine.start <= other.end and other.start <= mine.end for mine in one.revision.changes for other in taken
        ):
            chosen[key] = one
            taken += one.revision.changes
    return chosen


def _start(evidence: Evidence) -> tuple[int, int]:
    """Return the row and column of a finding in the text that was analysed."""
    span = place(evidence.at, evidence.against).span
    return span.row, span.column


def _moved_start(evidence: Evidence, revision: Revision) -> tuple[int, int]:
    span = revision.span(place(evidence.at, evidence.against).span)
    return span.row, span.column


def _parsed(source: Source) -> tuple[Counter[str] | None, int]:
    """Return the comments of a file, and how many errors its syntax has."""
    if source.suffix not in NATIVE:
        from kexec_lint.opencl.frontend.notebook import plain

        return _comments(source.text if source.cells is None else plain(source)[0]), 0
    from kexec_lint.opencl.fixes.native_tree import comments_and_errors

    return comments_and_errors(source)


def _comments(text: str) -> Counter[str] | None:
    """Count the comments of a text; None if it is not Python."""
    try:
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)
    except (tokenize.TokenError, SyntaxError):
        return None
