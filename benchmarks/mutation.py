"""Remove one event edge at a time from real host code that has it, and see whether `check` notices.

    python benchmarks/mutation.py PATH… [--sample N] [--as-written]

Every element of a `wait_for=` argument is one edge: a list item, or a term of a sum of lists. For each, the file is
written again without it and analysed as a library author would (`--assume-out-of-order`). A mutant counts as noticed
if a finding stands at the command that lost the edge, where the unmutated file has none. Prints the mutants that
nobody noticed with the reason, and a row a file.
"""

from __future__ import annotations

import argparse
import ast
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mutation_c import equivalent

from kexec_lint.engine.tree import RecordingProject, Tree
from kexec_lint.opencl.analysis import analyse
from kexec_lint.opencl.graph import EnqueueGraph
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


@dataclass
class Reading:
    """What is said of a file: (code, row, message) by confidence, and the commands by row."""

    sure: Counter[tuple[str, int, str]]
    possible: set[int]
    graphs: list[EnqueueGraph]

    def at(self, mutant: Mutant) -> list[tuple[str, int, str]]:
        """Return the sure findings at a command."""
        return [place for place in self.sure if mutant.row <= place[1] <= mutant.end_row]


def read(path: str, text: str, project: Project, assume: bool) -> Reading:
    """Analyse a file; a command that is reached through a call counts at both places."""
    source = Source(path, text, text.encode())
    options = Options(CODES, assume_out_of_order=assume)
    analysis = analyse(source, project, options)
    reading = Reading(Counter(), set(), analysis.graphs)
    for finding in findings(analysis, source, options):
        rows = {finding.location.row}
        rows |= {r.location.row for r in finding.related if r.location.filename == path and "enqueued" in r.message}
        if finding.confidence.value == "possible":
            reading.possible |= rows
        else:
            reading.sure.update((finding.code, row, finding.message) for row in rows)
    return reading


EQUIVALENT = "proved equivalent"
HANDED_ON = "not a command: a call that hands the list on to code with waits of its own"


def explain(before: Reading, reading: Reading, mutant: Mutant) -> str:
    """Say why nobody noticed a mutant. The proof of equivalence is that of `mutation_c.py`, on the two graphs."""
    if any(mutant.row <= row <= mutant.end_row for row in reading.possible):
        return "reported as possible only"
    pairs = [
        (graph, earlier, command)
        for graph in reading.graphs
        for command in graph.commands
        if mutant.row <= command.site[-1].span.row <= mutant.end_row
        for earlier in graph.commands[: graph.commands.index(command)]
        if not {id(a.memory.root) for a in command.accesses}.isdisjoint(id(a.memory.root) for a in earlier.accesses)
    ]
    if not _is_command(reading, mutant):
        return HANDED_ON
    if equivalent(before.graphs, reading.graphs, mutant.row) is not None:
        return EQUIVALENT
    if not pairs:
        return "no earlier command in sight touches its memory"
    return "code that cannot be seen may order them"


def _is_command(reading: Reading, mutant: Mutant) -> bool:
    return any(
        mutant.row <= command.site[-1].span.row <= mutant.end_row
        for graph in reading.graphs
        for command in graph.commands
    )


def package_root(file: Path) -> Path:
    """Return the folder above the outermost package that holds a file."""
    folder = file.resolve().parent
    while (folder / "__init__.py").exists():
        folder = folder.parent
    return folder


def mutated(paths: Iterable[Path], sample: int) -> Iterator[tuple[Path, str, list[Mutant], Project]]:
    """Yield the files that have mutants, each with its text, the mutants (at most `sample` if that is not 0) and the
    tree that it belongs to.
    """
    for file in [f for p in paths for f in (sorted(p.rglob("*.py")) if p.is_dir() else [p])]:
        try:
            text = file.read_text(encoding="utf-8")
            candidates = list(mutants(text)) if "wait_for" in text else []
        except (SyntaxError, UnicodeDecodeError):
            continue
        if sample and len(candidates) > sample:
            candidates = random.Random(0).sample(candidates, sample)
        if candidates:
            root = str(package_root(file))
            yield file, text, candidates, RecordingProject(Tree(root, [root]))


def main() -> int:
    """Run over the files given and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--sample", type=int, default=0, help="at most so many mutants a file")
    parser.add_argument("--as-written", action="store_true", help="do not assume that queues are out-of-order")
    options = parser.parse_args()
    noticed = total = loud = 0
    missed: Counter[str] = Counter()
    for file, text, candidates, project in mutated(options.paths, options.sample):
        before = read(str(file), text, project, not options.as_written)
        hits = tried = 0
        for mutant in candidates:
            if before.at(mutant):
                loud += 1  # the author's own code already lacks an edge there
                continue
            tried += 1
            after = read(str(file), mutant.text, project, not options.as_written)
            if after.at(mutant):
                hits += 1
            else:
                why = explain(before, after, mutant)
                missed[why] += 1
                print(f"  {file}:{mutant.row}: without {mutant.edge}: {why}")
        noticed, total = noticed + hits, total + tried
        print(f"{file}: {hits} of {tried}", flush=True)
    real = total - missed[EQUIVALENT] - missed[HANDED_ON]
    print(f"noticed {noticed} of {total} removed edges ({100 * noticed / max(total, 1):.0f} %)")
    print(f"  of the {real} whose removal changes what a command waits for: {100 * noticed / max(real, 1):.0f} %")
    for why, count in missed.most_common():
        print(f"  not noticed, {why}: {count}")
    print(f"  left out, a finding stands there already: {loud}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
