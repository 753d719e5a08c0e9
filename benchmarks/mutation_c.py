"""Remove one event edge at a time from real C and C++ host code that has it, and see whether `check` notices.

    python benchmarks/mutation_c.py PATH… [--sample N] [--verbose]

Files that make an out-of-order queue are taken. A mutant lacks one wait list (its count is 0, its pointer NULL), one
element that is appended to a list of events, or one host wait (clWaitForEvents, clFinish, `wait()`, `finish()`). The
unmutated file has to be silent; a mutant counts as noticed if a finding that the unmutated file does not have appears.

A mutant that is not noticed is *equivalent* if the graphs prove it, and counted apart:

- **order**, for a host wait: whatever was complete after the wait is already complete where the host came to it, by
  the edges that are left; for a wait list: every pair of nodes that was ordered still is;
- **memory**, for a wait list only: the pairs that lost their order are pairs of commands, all of whose operands are
  known, and no two of a pair use the same memory object. What the host does keeps its order.

Both compare the closures of the two graphs node by node; graphs that do not match node by node prove nothing.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kexec_lint.engine.tree import RecordingProject, Tree
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.analysis import analyse
from kexec_lint.opencl.api import c as c_api
from kexec_lint.opencl.api import hpp
from kexec_lint.opencl.frontend.c import unwrapped
from kexec_lint.opencl.frontend.c_unit import language_of, named, parser
from kexec_lint.opencl.report import findings
from kexec_lint.source import Options, Project, Source

CODES = frozenset(
    {f"OCL10{n}" for n in range(1, 8)}
    | {"OCL111", "OCL112", "OCL201", "OCL202", "OCL203", "OCL207", "OCL210"}
    | {"OCL204", "OCL205", "OCL206", "OCL208", "OCL209"}
    | {"OCL302", "OCL303", "OCL312", "OCL313", "OCL316"}
)
OPT_IN = frozenset({"OCL313"})
SUFFIXES = frozenset({".c", ".cc", ".cpp", ".cxx", ".hpp", ".h"})


_WAITS = frozenset({"clWaitForEvents", "clFinish", "wait", "finish"})


@dataclass(frozen=True)
class Mutant:
    """A file without one edge."""

    row: int
    kind: str
    edge: str
    text: str


def mutants(path: Path, text: str) -> Iterator[Mutant]:
    """Yield the file with each edge removed; the rows stay."""
    data = unwrapped(text).encode()
    pending = [parser(language_of(path.suffix, text)).parse(data).root_node]
    while pending:
        node = pending.pop()
        pending.extend(node.children)
        if node.type == "call_expression":
            for start, end, new, kind in _edges(node, data):
                gone = data[start:end].decode(errors="replace")
                rows = gone.count("\n")
                changed = (data[:start] + (new + "\n" * rows).encode() + data[end:]).decode(errors="replace")
                yield Mutant(node.start_point[0] + 1, kind, " ".join(gone.split())[:60], changed)


def _edges(node: Any, data: bytes) -> Iterator[tuple[int, int, str, str]]:
    function, listed = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or listed is None:
        return
    given = named(listed)
    field = function.child_by_field_name("field") if function.type == "field_expression" else None
    name = data[(field or function).start_byte : (field or function).end_byte].decode(errors="replace")
    name = re.sub(r"<.*", "", name)
    row = (hpp.QUEUE if field is not None else c_api.FUNCTIONS).get(name)
    if row is not None and "events" in row.params and row.does != "wait":
        at = row.params.index("events")
        if at < len(given) and data[given[at].start_byte : given[at].end_byte] not in (b"NULL", b"nullptr", b"0"):
            if "num" in row.params:
                count = row.params.index("num")
                yield given[count].start_byte, given[at].end_byte, "0, NULL", "wait list"
            else:
                yield given[at].start_byte, given[at].end_byte, "nullptr", "wait list"
    elif name in _WAITS and (field is None or not given):
        yield node.start_byte, node.end_byte, "0", "host wait"
    elif (
        field is not None
        and name == "push_back"
        and re.search(rb"[Ee]vent|[Ww]ait", data[node.start_byte : node.end_byte])
    ):
        yield node.start_byte, node.end_byte, "0", "list element"


def said(path: str, text: str, project: Project) -> tuple[Counter[str], list[g.EnqueueGraph]]:
    """Return what is said of a file at default confidence, without places, and its graphs."""
    source = Source(path, text, text.encode())
    options = Options(CODES, explicit=OPT_IN)
    analysis = analyse(source, project, options)
    found = findings(analysis, source, options)
    return Counter(f"{f.code} {f.location.row}" for f in found if f.confidence.value != "possible"), analysis.graphs


def equivalent(whole: list[g.EnqueueGraph], mutated: list[g.EnqueueGraph], row: int) -> str | None:
    """Return by which criterion a mutant is proved equivalent, None if it is not."""
    if len(whole) != len(mutated):
        return None
    criterion = "order"
    for before, after in zip(whole, mutated, strict=True):
        waits = [node for node in before.nodes if _waits_at(node, row)]
        nodes = [node for node in before.nodes if not _left_out(node, row)]
        twins = [node for node in after.nodes if not _left_out(node, row)]
        if [_key(node) for node in nodes] != [_key(node) for node in twins] or before.truncated or before.threaded:
            return None
        twin_of = {id(node): twin for node, twin in zip(nodes, twins, strict=True)}
        for wait in waits:
            for command in before.commands:
                if before.reaches(command, wait) and not _complete_at(command, wait, twin_of, after):
                    return None
        if waits:
            continue
        for number, node in enumerate(nodes):
            for command in nodes[:number]:
                if not isinstance(command, g.Command) or not before.reaches(command, node, certainly=True):
                    continue
                if after.reaches(twin_of[id(command)], twin_of[id(node)], certainly=True):
                    continue
                if not isinstance(node, g.Command) or not _apart(command, node):
                    return None
                criterion = "memory"
    return criterion


def _waits_at(node: g.Node, row: int) -> bool:
    return (
        isinstance(node, g.HostPoint)
        and node.kind in ("wait", "finish")
        and any(place.span.row == row for place in node.site)
    )


def _left_out(node: g.Node, row: int) -> bool:
    """Return whether a node has no twin: the removed wait, and the places where paths meet, which depend on it."""
    return _waits_at(node, row) or (isinstance(node, g.HostPoint) and node.kind == "meet")


def _complete_at(command: g.Node, point: g.Node, twin_of: dict[int, g.Node], after: g.EnqueueGraph) -> bool:
    """Return whether a command is complete, in the mutant, before the host comes to where a wait was removed."""
    earlier = [source for source, _, kind in point.before if kind == "program"]
    return bool(earlier) and all(
        after.reaches(twin_of[id(command)], twin_of[id(source)], certainly=True)
        if id(source) in twin_of
        else _complete_at(command, source, twin_of, after)
        for source in earlier
    )


def _key(node: g.Node) -> tuple[object, ...]:
    return type(node).__name__, node.kind, tuple(place.span.row for place in node.site)  # type: ignore[attr-defined]


def _apart(first: g.Command, second: g.Command) -> bool:
    """Return whether all memory of two commands is known, and they share none."""
    roots = [[access.memory.root for access in command.accesses] for command in (first, second)]
    every = [*roots[0], *roots[1]]
    if not all(root.known for root in every) or first.kind == "library" or second.kind == "library":
        return False
    hosts = [{id(r) for r in one} | {id(r.host_pointer.root) for r in one if r.host_pointer} for one in roots]
    return hosts[0].isdisjoint(hosts[1])


def _share(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.0f} %"


def main() -> int:
    """Run over the files given and print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("paths", nargs="+", type=Path)
    options.add_argument("--sample", type=int, default=0, help="at most so many mutants a file")
    options.add_argument("--verbose", action="store_true")
    arguments = options.parse_args()
    totals: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    timed: Counter[str] = Counter()
    proved: Counter[tuple[str, str]] = Counter()
    missed: list[str] = []
    loud = files_seen = 0
    for root in arguments.paths:
        files = sorted(f for f in root.rglob("*") if f.suffix in SUFFIXES) if root.is_dir() else [root]
        for file in files:
            text = file.read_text(encoding="utf-8", errors="replace")
            if "OUT_OF_ORDER_EXEC_MODE_ENABLE" not in text or not re.search(r"nqueue[A-Z]", text):
                continue
            project = RecordingProject(Tree(str(file.parent), [str(file.parent)]))
            before, whole = said(str(file), text, project)
            files_seen += 1
            if set(before) - {found for found in before if found[:6] in OPT_IN}:
                loud += 1
                if arguments.verbose:
                    print(f"{file}: not silent: {', '.join(before)}")
                continue
            candidates = list(mutants(file, text))
            if arguments.sample:
                candidates = candidates[:: max(1, len(candidates) // arguments.sample)]
            for mutant in candidates:
                totals[mutant.kind] += 1
                found, graphs = said(str(file), mutant.text, project)
                new = found - before
                proof = equivalent(whole, graphs, mutant.row)
                if any(one[:6] not in OPT_IN for one in new):
                    hits[mutant.kind] += 1
                    continue
                if new:
                    timed[mutant.kind] += 1
                    proof = "noticed by OCL313 only"
                elif proof is not None:
                    proved[proof, mutant.kind] += 1
                missed.append(f"{file}:{mutant.row}: {mutant.kind} {mutant.edge}: {proof or 'missed'}")
    if arguments.verbose:
        print(*missed, sep="\n")
    print(f"{files_seen} files with out-of-order queues, {loud} of them not silent as they are")
    rows = [*sorted(totals), "all"]
    totals["all"], hits["all"], timed["all"] = totals.total(), hits.total(), timed.total()
    for (proof, _), count in list(proved.items()):
        proved[proof, "all"] += count
    for kind in rows:
        total, order, memory = totals[kind], proved["order", kind], proved["memory", kind]
        seen = hits[kind] + timed[kind]
        print(f"{kind}: {total} removed; noticed {hits[kind]} ({_share(hits[kind], total)})", end="")
        print(f", with OCL313 {seen} ({_share(seen, total)})", end="")
        print(f"; the rest proved equivalent: {order} by order, {memory} by memory", end="")
        left = total - order - memory
        print(f"; of the others noticed {_share(hits[kind], left)}, with OCL313 {_share(seen, left)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
