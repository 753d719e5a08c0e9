"""Tries a fix: analyses the changed text and compares what is found there with what was found before."""

from __future__ import annotations

import io
import tokenize
from collections import Counter
from dataclasses import dataclass, replace

from kexec_lint import rulebook
from kexec_lint.findings import Finding
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.analysis import analyse
from kexec_lint.opencl.checks.evidence import Evidence
from kexec_lint.opencl.fixes.candidate import Candidate
from kexec_lint.opencl.fixes.changes import Revision, Rows
from kexec_lint.opencl.fixes.pairs import Case
from kexec_lint.opencl.frontend import SyntaxProblem
from kexec_lint.opencl.program import Span
from kexec_lint.opencl.report import judged
from kexec_lint.source import ModelError, Options, Project, Source

Numbering = tuple[str, int, tuple[tuple[str, Span], ...]]
"""Kind of a node, how many of its kind and call chain came before, path and span of each call."""

Judged = list[tuple[Finding, Evidence, g.EnqueueGraph]]


@dataclass(frozen=True)
class Trial:
    """What is found in a file as it is, by all rules that are on by default and those that are asked for."""

    source: Source
    project: Project
    options: Options
    judged: Judged

    @staticmethod
    def start(source: Source, project: Project, options: Options) -> Trial | None:
        """Analyse a file; None if it is not valid."""
        defaults = {code for code, rule in rulebook.load().items() if code.startswith("OCL") and rule.default}
        options = replace(options, codes=options.codes | defaults)
        found = _analysed(source, project, options)
        return None if found is None else Trial(source, project, options, found[0])

    def passes(self, rows: Rows, case: Case, candidate: Candidate) -> Revision | None:
        """Return the changed text if it puts the finding right and brings nothing new."""
        try:
            revision = Revision(rows, candidate.changes)
        except ValueError:
            return None
        if _comments(revision.text) != _comments(self.source.text):
            return None
        changed = replace(self.source, text=revision.text, data=revision.text.encode(errors="surrogateescape"))
        found = _analysed(changed, self.project, self.options)
        if found is None:
            return None
        before = {
            (finding.code, *revision.span(_span(finding))[:2])
            for finding, evidence, _ in self.judged
            if evidence is not case.evidence
        }
        if any((finding.code, *_span(finding)[:2]) not in before for finding, _, _ in found[0]):
            return None
        if len(case.evidence.nodes) == 2 and not self._ordered(case, candidate, revision, found[1]):
            return None
        return revision

    def _ordered(self, case: Case, candidate: Candidate, revision: Revision, graphs: list[g.EnqueueGraph]) -> bool:
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


def _analysed(source: Source, project: Project, options: Options) -> tuple[Judged, list[g.EnqueueGraph]] | None:
    try:
        analysis = analyse(source, project, options)
    except (SyntaxProblem, ModelError, RecursionError):
        return None
    return judged(analysis, source, options), analysis.graphs


def _span(finding: Finding) -> Span:
    at = finding.location
    return Span(at.row, at.column, at.end_row, at.end_column)


def _comments(text: str) -> Counter[str] | None:
    """Count the comments of a text; None if it is not Python."""
    try:
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)
    except (tokenize.TokenError, SyntaxError):
        return None
