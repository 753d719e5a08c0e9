"""Remove one event edge at a time from real host code that has it, and see whether `check` notices.

    python benchmarks/mutation.py PATH… [--sample N] [--verbose]

Every element of a `wait_for=` argument is one edge: a list item, or a term of a sum of lists. For each, the file is
written again without it and analysed as a library author would (`--assume-out-of-order`). A mutant counts as noticed
if a finding that the unmutated file does not have stands at the command that lost the edge, or at the call through
which the caller reaches it. Prints a row a file, then the mutants that nobody noticed with the reason.
"""

from __future__ import annotations

import argparse
import ast
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kexec_lint.engine.tree import RecordingProject, Tree
from kexec_lint.opencl.analysis import analyse
from kexec_lint.opencl.report import findings
from kexec_lint.source import Options, Project, Source

CODES = frozenset({f"OCL10{n}" for n in range(1, 8)} | {"OCL201", "OCL202", "OCL501", "OCL502", "OCL503"})


@dataclass(frozen=True)
class Mutant:
    """A file without one edge. `row` is the row of the command that lost it."""

    row: int
    end_row: int
    edge: str
    text: str


def mutants(text: str) -> Iterator[Mutant]:
    """Yield the file with each edge removed."""
    lines = text.splitlines(keepends=True)
    for call in ast.walk(ast.parse(text)):
        if not isinstance(call, ast.Call):
            continue
        for keyword in call.keywords:
            if keyword.arg != "wait_for":
                continue
            for edge, replaced in _without_one(keyword.value):
                new = ast.unparse(replaced)
                changed = _replace(lines, keyword.value, f"({new})" if "\n" in new else new)
                yield Mutant(call.lineno, call.end_lineno or call.lineno, edge, changed)


def _without_one(value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    terms = _terms(value)
    for number, term in enumerate(terms):
        rest = terms[:number] + terms[number + 1 :]
        if isinstance(term, ast.List):
            for position, element in enumerate(term.elts):
                kept = ast.List([e for i, e in enumerate(term.elts) if i != position], ast.Load())
                yield ast.unparse(element), _sum([*terms[:number], kept, *terms[number + 1 :]])
        elif isinstance(term, ast.Attribute) and term.attr == "events":
            yield ast.unparse(term), _sum(rest)


def _terms(value: ast.expr) -> list[ast.expr]:
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return [*_terms(value.left), *_terms(value.right)]
    return [value]


def _sum(terms: list[ast.expr]) -> ast.expr:
    terms = [t for t in terms if not (isinstance(t, ast.List) and not t.elts)]
    if not terms:
        return ast.Constant(None)
    result = terms[0]
    for term in terms[1:]:
        result = ast.BinOp(result, ast.Add(), term)
    return result


def _replace(lines: list[str], node: ast.expr, new: str) -> str:
    """Replace a node and keep the number of rows, so that everything else stays where it is."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    first, last = node.lineno - 1, node.end_lineno - 1
    head = lines[first].encode()[: node.col_offset].decode()
    tail = lines[last].encode()[node.end_col_offset :].decode()
    rows = last - first
    middle = f"({new}" + "\n" * rows + ")" if rows else new
    return "".join([*lines[:first], head + middle + tail, *lines[last + 1 :]])


def places(path: str, text: str, project: Project, assume: bool) -> Counter[tuple[str, int]]:
    """Return (code, row) of everything that is said of a file, the commands behind call sites included."""
    source = Source(path, text, text.encode())
    options = Options(CODES, assume_out_of_order=assume)
    said: Counter[tuple[str, int]] = Counter()
    for finding in findings(analyse(source, project, options), source, options):
        if finding.confidence.value == "possible":
            continue
        rows = {finding.location.row}
        rows |= {r.location.row for r in finding.related if r.location.filename == path and "enqueued" in r.message}
        said.update((finding.code, row) for row in rows)
    return said


def main() -> int:
    """Run over the files given and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--sample", type=int, default=0, help="at most so many mutants a file")
    parser.add_argument("--as-written", action="store_true", help="do not assume that queues are out-of-order")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    noticed = total = 0
    missed: list[str] = []
    files = [f for p in options.paths for f in (sorted(p.rglob("*.py")) if p.is_dir() else [p])]
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
            candidates = list(mutants(text)) if "wait_for" in text else []
        except (SyntaxError, UnicodeDecodeError):
            continue
        if options.sample and len(candidates) > options.sample:
            candidates = random.Random(0).sample(candidates, options.sample)
        if not candidates:
            continue
        project = RecordingProject(Tree(str(file.parent), [str(file.parent)]))
        before = places(str(file), text, project, not options.as_written)
        hits = 0
        for mutant in candidates:
            new = places(str(file), mutant.text, project, not options.as_written) - before
            if any(mutant.row <= row <= mutant.end_row for _, row in new):
                hits += 1
            else:
                elsewhere = ", ".join(f"{code} in line {row}" for code, row in sorted(new))
                missed.append(f"{file}:{mutant.row}: {mutant.edge}" + (f" ({elsewhere})" if elsewhere else ""))
        noticed, total = noticed + hits, total + len(candidates)
        print(f"{file}: {hits} of {len(candidates)}", flush=True)
    print(*missed, sep="\n")
    print(f"noticed {noticed} of {total} removed edges ({100 * noticed / max(total, 1):.0f} %)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
