"""Fixes for host code: a finding becomes a change of the text that was tried before it is offered.

LibCST gives the places in Python, tree-sitter those in C and C++ (formatting and comments stay the author's); the
analysis itself says whether the changed file is right. Nothing here is imported unless fixes are asked for.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kexec_lint.findings import Finding, Fix
from kexec_lint.opencl import NATIVE
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import Evidence
from kexec_lint.source import Options, Project, Source

if TYPE_CHECKING:
    from kexec_lint.opencl.fixes.candidate import Proposers
    from kexec_lint.opencl.fixes.changes import Rows
    from kexec_lint.opencl.fixes.pairs import Pair

Key = tuple[str, int, int, int]
"""Code, cell (0 outside notebooks), row and column of a finding."""


def key_of(finding: Finding) -> Key:
    """Return what tells a finding of a file from the others."""
    at = finding.location
    return finding.code, at.cell or 0, at.row, at.column


def offers(source: Source, project: Project, options: Options, wanted: frozenset[Key]) -> dict[Key, Fix]:
    """Return a fix for each of the wanted findings of a file that has one.

    A fix is offered only if the changed file is valid, its graph holds the missing edge on every path, the
    finding is gone, no other one came, and every comment is still there.
    """
    if source.suffix not in (".py", ".pyw", *NATIVE):
        return {}
    collects = gc.isenabled()
    gc.disable()  # half of the time would go into walking the syntax tree again and again
    try:
        return _offers(source, project, options, wanted)
    finally:
        if collects:
            gc.enable()


def _offers(source: Source, project: Project, options: Options, wanted: frozenset[Key]) -> dict[Key, Fix]:
    from kexec_lint.opencl.fixes.trial import Passed, Trial

    proposers, parsed = _native(source) if source.suffix in NATIVE else _python(source)
    if not any(code in proposers.by_code for code, *_ in wanted):
        return {}
    trial = Trial.start(source, project, options)
    if trial is None:
        return {}
    open_ = [item for item in trial.judged if key_of(item[0]) in wanted and item[1].code in proposers.by_code]
    made = parsed(frozenset(row for _, evidence, graph in open_ for row in _rows(source.path, evidence, graph)))
    if made is None:
        return {}
    make, rows = made
    passed: dict[Key, Passed] = {}
    taken: set[str] = set()
    for finding, evidence, graph in open_:
        case = make(path=source.path, graph=graph, evidence=evidence, key=key_of(finding), taken=taken)
        # What another finding's fix puts right needs none of its own.
        shared = [one.candidate for one in passed.values() if case.key in one.gone and one.candidate.safe]
        for candidate in (*(replace(one, covers=()) for one in shared), *proposers.candidates(case)):
            one = trial.passes(rows, case, candidate)
            if one is not None:
                passed[case.key] = one
                taken.update(word for change in candidate.changes for word in re.findall(r"\w+", change.content))
                break
    return {
        key: Fix("safe" if one.candidate.safe else "unsafe", one.candidate.message, one.revision.edits(source))
        for key, one in trial.kept(rows, passed).items()
    }


Parsed = Callable[[frozenset[int]], "tuple[Callable[..., Pair], Rows] | None"]
"""Makes what takes a finding to its `Case`, once the rows that matter are known; None if there is no syntax tree."""


def _python(source: Source) -> tuple[Proposers, Parsed]:
    import libcst as cst

    from kexec_lint.opencl.fixes import arrays, host, orderings, places  # noqa: F401  they register themselves
    from kexec_lint.opencl.fixes.candidate import PYTHON
    from kexec_lint.opencl.fixes.pairs import Case
    from kexec_lint.opencl.fixes.tree import Tree
    from kexec_lint.opencl.frontend.notebook import plain, written

    def parsed(rows: frozenset[int]) -> tuple[Callable[..., Pair], Rows] | None:
        try:
            if source.cells is None:
                tree = Tree(source.text, source.text, rows)
            else:
                tree = Tree(written(source), plain(source)[0], rows)
        except cst.ParserSyntaxError:
            return None
        return partial(Case, tree=tree), tree.rows

    return PYTHON, parsed


def _native(source: Source) -> tuple[Proposers, Parsed]:
    from kexec_lint.opencl.fixes import native
    from kexec_lint.opencl.fixes.candidate import NATIVE as proposers
    from kexec_lint.opencl.fixes.native_tree import NativeTree

    def parsed(rows: frozenset[int]) -> tuple[Callable[..., Pair], Rows]:
        tree = NativeTree(source)
        return partial(native.Case, tree=tree), tree.rows

    return proposers, parsed


def _rows(path: str, evidence: Evidence, graph: g.EnqueueGraph) -> Iterator[int]:
    """Yield the rows of a file that a finding, or anything in its graph, stands on."""
    sites = [evidence.at, evidence.against or (), *(node.site for node in graph.nodes)]
    yield from {at.span.row for site in sites for at in site if at.path == path}
