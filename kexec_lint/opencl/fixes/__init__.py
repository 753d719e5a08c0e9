"""Fixes for Python host code: a finding becomes a change of the text that was tried before it is offered.

LibCST gives the places (formatting and comments stay the author's); the analysis itself says whether the changed
file is right. Nothing here is imported unless fixes are asked for.
"""

from __future__ import annotations

import re

from kexec_lint.findings import Finding, Fix
from kexec_lint.source import Options, Project, Source

Key = tuple[str, int, int]
"""Code, row and column of a finding."""


def key_of(finding: Finding) -> Key:
    """Return what tells a finding of a file from the others."""
    return finding.code, finding.location.row, finding.location.column


def offers(source: Source, project: Project, options: Options, wanted: frozenset[Key]) -> dict[Key, Fix]:
    """Return a fix for each of the wanted findings of a Python file that has one.

    A fix is offered only if the changed file is valid, its graph holds the missing edge on every path, the
    finding is gone, no other one came, and every comment is still there.
    """
    import libcst as cst

    from kexec_lint.opencl.fixes import arrays, host, orderings, places  # noqa: F401  they register themselves
    from kexec_lint.opencl.fixes.candidate import PROPOSERS, candidates
    from kexec_lint.opencl.fixes.pairs import Case
    from kexec_lint.opencl.fixes.tree import Tree
    from kexec_lint.opencl.fixes.trial import Trial

    if source.cells is not None or source.suffix not in (".py", ".pyw"):
        return {}
    if not any(code in PROPOSERS for code, _, _ in wanted):
        return {}
    trial = Trial.start(source, project, options)
    if trial is None:
        return {}
    try:
        tree = Tree(source.text)
    except cst.ParserSyntaxError:
        return {}
    found: dict[Key, Fix] = {}
    taken: set[str] = set()
    for finding, evidence, graph in trial.judged:
        key = key_of(finding)
        if key not in wanted or key in found or evidence.code not in PROPOSERS:
            continue
        case = Case(tree, source.path, graph, evidence, taken)
        for candidate in candidates(case):
            revision = trial.passes(tree.rows, case, candidate)
            if revision is not None:
                applicability = "safe" if candidate.safe else "unsafe"
                found[key] = Fix(applicability, candidate.message, revision.edits(source.path))
                taken.update(word for change in candidate.changes for word in re.findall(r"\w+", change.content))
                break
    return found
