"""Count the enqueue calls of Python files as their syntax has them and as the enqueue graphs hold them.

    python benchmarks/calls.py TREE…

A call of one of PyOpenCL's `enqueue_…` functions counts as seen if a command of some graph stands on its rows: as long
as nothing calls the function that holds it, or what its `cl` is cannot be told, there is none.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from kexec_lint import rulebook
from kexec_lint.engine.pool import tree
from kexec_lint.engine.tree import RecordingProject
from kexec_lint.opencl import needles
from kexec_lint.opencl.analysis import analyse
from kexec_lint.opencl.api import pyopencl as api
from kexec_lint.opencl.frontend import SyntaxProblem
from kexec_lint.source import Options, Source

NAMES = {name for name, model in api.FUNCTIONS.items() if model.does in ("command", "copy") and "enqueue_" in name}
OPTIONS = Options(frozenset(rulebook.load()), "possible")


def calls(text: str) -> Iterator[range]:
    """Yield the rows of each enqueue call of a file."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in NAMES:
            yield range(node.lineno, (node.end_lineno or node.lineno) + 1)


def main() -> int:
    """Print one row a tree, and the sum."""
    sys.setrecursionlimit(50_000)
    total = [0, 0]
    for top in map(os.path.abspath, sys.argv[1:]):
        there: list[tuple[str, range]] = []
        seen: set[tuple[str, int]] = set()
        for path in sorted(Path(top).rglob("*.py")):
            data = path.read_bytes()
            if not any(needle in data for needle in needles(OPTIONS.codes, ".py")):
                continue
            text = data.decode(errors="replace")
            there += [(str(path), rows) for rows in calls(text)]
            try:
                analysis = analyse(Source(str(path), text, data), RecordingProject(tree(0, top, (top,))), OPTIONS)
            except (SyntaxProblem, RecursionError):
                continue
            for graph in analysis.graphs:
                seen.update((place.path, place.span.row) for node in graph.commands for place in node.site)
        # Modules that a file imports are known by their path below the tree.
        known = {(os.path.join(top, path), row) for path, row in seen}
        found = sum(any((path, row) in known for row in rows) for path, rows in there)
        total = [total[0] + len(there), total[1] + found]
        print(f"{os.path.basename(top)}: {len(there)} calls, {found} seen")
    print(f"all: {total[0]} calls, {total[1]} seen, {100 * total[1] / max(total[0], 1):.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
