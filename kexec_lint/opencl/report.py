"""From the evidence of the checks to findings with locations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kexec_lint import rulebook
from kexec_lint.findings import Confidence, Finding, Location, Related, Severity
from kexec_lint.opencl import NATIVE, checks, kernel_sources
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.analysis import Analysis, analyse
from kexec_lint.opencl.checks.evidence import Evidence, place
from kexec_lint.opencl.checks.words import name
from kexec_lint.opencl.frontend import SyntaxProblem
from kexec_lint.opencl.interpreter.relevance import concerns
from kexec_lint.source import FileResult, Options, Project, Source


def scan_python(source: Source, project: Project, options: Options) -> FileResult:
    """Analyse PyOpenCL host code and judge its graphs."""
    try:
        analysis = analyse(source, project, options) if options.models or concerns(source.text) else Analysis()
    except SyntaxProblem as problem:
        return FileResult(notes=[f"not valid Python, {problem}"])
    found = [*findings(analysis, source, options), *kernel_sources.of_strings(source, analysis.graphs, options)]
    return FileResult(findings=found, notes=analysis.notes)


def scan_native(source: Source, project: Project, options: Options) -> FileResult:
    """Analyse host code in C or C++ and judge its graphs."""
    from kexec_lint.opencl.api.native import holds_host_code

    analysis = analyse(source, project, options) if holds_host_code(source.text) else Analysis()
    found = [*findings(analysis, source, options), *kernel_sources.of_native(source, analysis.graphs, options)]
    return FileResult(findings=found, notes=analysis.notes)


def scan_kernels(source: Source, options: Options) -> FileResult:
    """Judge a file of OpenCL C."""
    return FileResult(findings=list(kernel_sources.of_file(source, options)))


def findings(analysis: Analysis, source: Source, options: Options) -> Iterator[Finding]:
    """Run the enabled checks over every graph; the surest of several findings at one place is kept."""
    for finding, _, _ in judged(analysis.graphs, source, options):
        yield finding


def judged(
    graphs: Iterable[g.EnqueueGraph], source: Source, options: Options
) -> list[tuple[Finding, Evidence, g.EnqueueGraph]]:
    """Return the findings, each with the evidence and the graph that it was made from."""
    best: dict[tuple[object, ...], tuple[Finding, Evidence, g.EnqueueGraph]] = {}
    for graph in graphs:
        for evidence in _evidence(graph, options):
            at = place(evidence.at, evidence.against)
            if at.path != source.path or evidence.code not in options.codes:
                continue
            if evidence.severity is Severity.INFO and evidence.code not in options.explicit:
                continue
            finding = _finding(evidence, at, source)
            key = (finding.code, finding.location.row, finding.location.column)
            kept = best.get(key)
            if kept is None or finding.confidence.rank < kept[0].confidence.rank:
                best[key] = finding, evidence, graph
    return sorted(best.values(), key=lambda item: item[0].sort_key)


def _evidence(graph: g.EnqueueGraph, options: Options) -> Iterable[Evidence]:
    for codes, run in checks.registered():
        if codes & options.codes:
            yield from run(graph)


def _finding(evidence: Evidence, at: g.Place, source: Source) -> Finding:
    rule = rulebook.load().get(evidence.code)
    against = place(evidence.against, evidence.at) if evidence.against else None
    related = tuple(
        Related(message, location(place(site, evidence.at), source)) for message, site in evidence.related if site
    )
    if at != evidence.at[-1]:
        related = (Related("the command itself is enqueued here", location(evidence.at[-1], source)), *related)
    steps: tuple[Related, ...] = ()  # of two commands or accesses; where a queue was made is none
    if against is not None and (len(evidence.nodes) == 2 or evidence.hazard):
        first, second = (name(node) for node in evidence.nodes) if len(evidence.nodes) == 2 else ("the command", "it")
        steps = (
            Related(spoken(f"{first} is enqueued", source), location(against, source)),
            Related(spoken(f"{second} need not wait until {first} is complete", source), location(at, source)),
        )
    return Finding(
        evidence.code,
        rule.name if rule is not None else evidence.code,
        evidence.severity or (rule.severity if rule is not None else Severity.ERROR),
        evidence.confidence if isinstance(evidence.confidence, Confidence) else Confidence(evidence.confidence),
        spoken(evidence.message, source),
        location(at, source),
        help=spoken(evidence.help, source),
        hazard=evidence.hazard,
        related=related,
        steps=steps,
    )


def spoken(words: str, source: Source) -> str:
    """Return words of a check in the terms of the source's language."""
    if source.suffix not in NATIVE:
        return words
    from kexec_lint.opencl.checks.native_words import spoken as native

    return native(words)


def location(at: g.Place, source: Source) -> Location:
    """Return where a place is shown: in a notebook, by cell."""
    span = at.span
    if source.cells is not None and at.path == source.path:
        cell, row = source.cells[span.row - 1]
        end_cell, end_row = source.cells[min(span.end_row, len(source.cells)) - 1]
        return Location(at.path, row, span.column, end_row if end_cell == cell else row, span.end_column, cell)
    return Location(at.path, span.row, span.column, span.end_row, span.end_column)
