"""Remove one event edge at a time from real host code that has it, and see whether `check` notices.

    python benchmarks/mutation.py PATH… [--sample N] [--as-written]

Every element of a `wait_for=` argument is one edge: a list item, or a term of a sum of lists. For each, the file is
written again without it and analysed as a library author would (`--assume-out-of-order`). A mutant counts as noticed
if a finding that the unmutated file does not have stands at the row that lost the edge, or at a command or host access
that was in order with what lost it: in the helper that the list was handed to, or further down a chain of events. A
third place is where the user event is made that nothing waits for any more. Mutants at rows where the unmutated file
has a finding are left out. Of the others `redundancy.py` tries to prove that the edge was redundant. Of a rule page
(`.md`) the good examples are taken. Prints the mutants that nobody noticed with the reason, and a row a file.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from redundancy import PROBE, redundant

from kexec_lint import rulebook
from kexec_lint.engine.tree import RecordingProject, Tree
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.analysis import analyse
from kexec_lint.opencl.report import findings
from kexec_lint.source import Options, Project, Source

CODES = frozenset({f"OCL10{n}" for n in range(1, 8)} | {"OCL201", "OCL202", "OCL501", "OCL502", "OCL503"})
"""Rules that say which order is missing."""

CHECKED = frozenset(rule.code for rule in rulebook.load().values() if rule.default and rule.code.startswith("OCL"))
"""Rules of host code that `check` applies when nothing is selected."""


@dataclass(frozen=True)
class Mutant:
    """A file without one edge. `row` is the row of the call that lost it; `probed` is the file with the edge marked."""

    row: int
    end_row: int
    edge: str
    text: str
    probed: str


def mutants(text: str) -> Iterator[Mutant]:
    """Yield the file with each edge removed."""
    lines = text.splitlines(keepends=True)
    for call in ast.walk(ast.parse(text)):
        if not isinstance(call, ast.Call):
            continue
        for keyword in call.keywords:
            if keyword.arg != "wait_for":
                continue
            for edge, rest, marked in _without_one(keyword.value):
                changed, probed = (_replace(lines, keyword.value, ast.unparse(new)) for new in (rest, marked))
                yield Mutant(call.lineno, call.end_lineno or call.lineno, edge, changed, probed)


def _without_one(value: ast.expr) -> Iterator[tuple[str, ast.expr, ast.expr]]:
    """Yield each edge of a wait list with the list that lacks it and the list in which it is marked."""
    terms = _terms(value)
    for number, term in enumerate(terms):
        first, last = terms[:number], terms[number + 1 :]
        if isinstance(term, ast.List):
            for position, element in enumerate(term.elts):
                before, after = term.elts[:position], term.elts[position + 1 :]
                kept = ast.List([*before, *after], ast.Load())
                marked = ast.List([*before, _marked(element), *after], ast.Load())
                yield ast.unparse(element), _sum([*first, kept, *last]), _sum([*first, marked, *last])
        elif isinstance(term, ast.Attribute) and term.attr == "events":
            yield ast.unparse(term), _sum([*first, *last]), _sum([*first, _marked(term), *last])


def _marked(edge: ast.expr) -> ast.expr:
    if isinstance(edge, ast.Starred):
        return ast.Starred(_marked(edge.value), ast.Load())
    return ast.Call(ast.Name(PROBE, ast.Load()), [edge], [])


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
    """What is said of a file: (code, row, message) by confidence, and the graphs."""

    sure: Counter[tuple[str, int, str]]
    possible: set[int]
    graphs: list[g.EnqueueGraph]

    def at(self, mutant: Mutant) -> list[tuple[str, int, str]]:
        """Return the sure findings at the row that loses its edge."""
        return [place for place in self.sure if mutant.row <= place[1] <= mutant.end_row]


def read(path: str, text: str, project: Project, options: Options) -> Reading:
    """Analyse a file; a command that is reached through a call counts at both places."""
    source = Source(path, text, text.encode())
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


def losers(before: Reading, after: Reading) -> set[tuple[str, int]]:
    """Return the commands that lost an event, as path and row."""
    found: set[tuple[str, int]] = set()
    for whole, mutated in zip(before.graphs, after.graphs, strict=False):
        for command, twin in zip(whole.commands, mutated.commands, strict=False):
            if len(twin.waits) < len(command.waits) and command.site:
                found.add((command.site[-1].path, command.site[-1].span.row))
    return found


def neighbours(before: Reading, after: Reading, path: str) -> set[int]:
    """Return the rows of a file at which a node stands that was in order with a command that lost an event."""
    rows: set[int] = set()
    for whole, mutated in zip(before.graphs, after.graphs, strict=False):
        for command, twin in zip(whole.commands, mutated.commands, strict=False):
            if len(twin.waits) < len(command.waits):
                for node in whole.nodes:
                    if node is command or whole.reaches(command, node) or whole.reaches(node, command):
                        rows |= {place.span.row for place in node.site if place.path == path}
    return rows


def origins(before: Reading, after: Reading, path: str) -> set[int]:
    """Return the rows of a file at which user events are made for which a command waited that lost an event."""
    return {
        event.created[-1].span.row
        for whole, mutated in zip(before.graphs, after.graphs, strict=False)
        for command, twin in zip(whole.commands, mutated.commands, strict=False)
        if len(twin.waits) < len(command.waits)
        for event, _ in command.waits
        if event.kind == "user" and event.created and event.created[-1].path == path
    }


def explain(before: Reading, after: Reading, mutant: Mutant) -> str:
    """Say why nobody noticed a mutant whose edge is not proved redundant."""
    lost = losers(before, after)
    if not lost:
        return "no command in sight loses an event: what is handed the list cannot be seen"
    where = ", ".join(str(row) for _, row in sorted(lost))
    if any(row in after.possible - before.possible for row in (*range(mutant.row, mutant.end_row + 1),)):
        return f"reported as possible only (lost at {where})"
    pairs = [
        earlier
        for graph in after.graphs
        for command in graph.commands
        if command.site and (command.site[-1].path, command.site[-1].span.row) in lost
        for earlier in graph.commands[: graph.commands.index(command)]
        if not {id(a.memory.root) for a in command.accesses}.isdisjoint(id(a.memory.root) for a in earlier.accesses)
    ]
    if not pairs:
        return f"no earlier command in sight touches the memory of what lost it (lost at {where})"
    return f"code that cannot be seen may order them (lost at {where})"


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
    for file, text in [one for p in paths for one in programs(p)]:
        try:
            candidates = list(mutants(text)) if "wait_for" in text else []
        except SyntaxError:
            continue
        if sample and len(candidates) > sample:
            candidates = random.Random(0).sample(candidates, sample)
        if candidates:
            root = str(package_root(file))
            yield file, text, candidates, RecordingProject(Tree(root, [root]))


def programs(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the Python files of a path with their texts; of a rule page, its good examples."""
    for file in sorted(f for f in path.rglob("*") if f.suffix in (".py", ".md")) if path.is_dir() else [path]:
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if file.suffix == ".py":
            yield file, text
        elif "## Good" in text:
            good = re.split(r"^## ", text.partition("## Good")[2], maxsplit=1, flags=re.MULTILINE)[0]
            for number, example in enumerate(re.findall(r"^```python\b.*\n((?s:.*?))^```$", good, re.MULTILINE), 1):
                yield file.with_name(f"{file.stem}_good_{number}.py"), example


def main() -> int:
    """Run over the files given and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--sample", type=int, default=0, help="at most so many mutants a file")
    parser.add_argument("--as-written", action="store_true", help="do not assume that queues are out-of-order")
    options = parser.parse_args()
    checked = Options(CHECKED, assume_out_of_order=not options.as_written)
    at_row = further = at_event = total = loud = 0
    proved: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for file, text, candidates, project in mutated(options.paths, options.sample):
        path = str(file)
        before = read(path, text, project, checked)
        hits = tried = 0
        for mutant in candidates:
            if before.at(mutant):
                loud += 1  # the author's own code already lacks an edge there
                continue
            tried += 1
            after = read(path, mutant.text, project, checked)
            rows = {row for _, row, _ in after.sure - before.sure}
            if after.at(mutant):
                at_row += 1
                hits += 1
            elif found := rows & neighbours(before, after, path):
                further += 1
                hits += 1
                print(f"  {file}:{mutant.row}: without {mutant.edge}: noticed at line {min(found)}")
            elif found := rows & origins(before, after, path):
                at_event += 1
                hits += 1
                print(f"  {file}:{mutant.row}: without {mutant.edge}: noticed at the event, line {min(found)}")
            elif reason := redundant(path, mutant.probed, after.graphs, project, checked):
                proved[reason] += 1
                print(f"  {file}:{mutant.row}: without {mutant.edge}: proved redundant: {reason}")
            else:
                why = explain(before, after, mutant)
                missed[why.partition(" (")[0]] += 1
                print(f"  {file}:{mutant.row}: without {mutant.edge}: {why}")
        total += tried
        print(f"{file}: {hits} of {tried}", flush=True)
    noticed, real = at_row + further + at_event, total - proved.total()
    print(f"noticed {noticed} of {total} removed edges ({100 * noticed / max(total, 1):.0f} %)")
    print(f"  {at_row} at the row that lost the edge, {further} at what was in order with it, {at_event} at its event")
    print(f"  proved redundant: {proved.total()}; of the other {real} noticed: {100 * noticed / max(real, 1):.0f} %")
    for why, count in proved.most_common():
        print(f"  proved redundant, {why}: {count}")
    for why, count in missed.most_common():
        print(f"  not noticed, {why}: {count}")
    print(f"  left out, a finding stands there already: {loud}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
