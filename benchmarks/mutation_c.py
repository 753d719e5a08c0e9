"""Remove one event edge at a time from real C and C++ host code that has it, and see whether `check` notices.

    python benchmarks/mutation_c.py PATH… [--sample N] [--verbose]

Files that make an out-of-order queue are taken. A mutant lacks one wait list (its count is 0, its pointer NULL), one
element that is appended to a list of events, or one host wait (clWaitForEvents, clFinish, `wait()`, `finish()`). The
unmutated file has to be silent; a mutant counts as noticed if a finding that the unmutated file does not have appears.
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
    | {"OCL302", "OCL303", "OCL312", "OCL316"}
)
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


def said(path: str, text: str, project: Project) -> Counter[str]:
    """Return what is said of a file at default confidence, without places."""
    source = Source(path, text, text.encode())
    found = findings(analyse(source, project, Options(CODES)), source, Options(CODES))
    return Counter(f"{f.code} {f.location.row}" for f in found if f.confidence.value != "possible")


def main() -> int:
    """Run over the files given and print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("paths", nargs="+", type=Path)
    options.add_argument("--sample", type=int, default=0, help="at most so many mutants a file")
    options.add_argument("--verbose", action="store_true")
    arguments = options.parse_args()
    totals: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    missed: list[str] = []
    loud = files_seen = 0
    for root in arguments.paths:
        files = sorted(f for f in root.rglob("*") if f.suffix in SUFFIXES) if root.is_dir() else [root]
        for file in files:
            text = file.read_text(encoding="utf-8", errors="replace")
            if "OUT_OF_ORDER_EXEC_MODE_ENABLE" not in text or not re.search(r"nqueue[A-Z]", text):
                continue
            project = RecordingProject(Tree(str(file.parent), [str(file.parent)]))
            before = said(str(file), text, project)
            files_seen += 1
            if before:
                loud += 1
                if arguments.verbose:
                    print(f"{file}: not silent: {', '.join(before)}")
                continue
            candidates = list(mutants(file, text))
            if arguments.sample:
                candidates = candidates[:: max(1, len(candidates) // arguments.sample)]
            for mutant in candidates:
                totals[mutant.kind] += 1
                if said(str(file), mutant.text, project) - before:
                    hits[mutant.kind] += 1
                else:
                    missed.append(f"{file}:{mutant.row}: {mutant.kind} {mutant.edge}")
    if arguments.verbose:
        print(*missed, sep="\n")
    print(f"{files_seen} files with out-of-order queues, {loud} of them not silent as they are")
    for kind, total in sorted(totals.items()):
        print(f"{kind}: noticed {hits[kind]} of {total} ({100 * hits[kind] / total:.0f} %)")
    every = sum(totals.values())
    print(f"all: noticed {sum(hits.values())} of {every} ({100 * sum(hits.values()) / max(every, 1):.0f} %)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
