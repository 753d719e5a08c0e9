"""What a run says to the findings of `kexec-lint check`: confirmed, not executed, ordered at run time by …."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from kexec_lint.findings import Finding
from kexec_lint.opencl import graph as g
from kexec_lint.verify.run import Pair
from kexec_lint.verify.trace import Ran, Trace
from kexec_lint.verify.verdicts import CONFIRMED, INCONCLUSIVE, NOT_EXECUTED, ORDERED, Verdict, attach

Place = tuple[str, int]


def executed_files(trace: Trace) -> list[str]:
    """Return the files below the working folder whose code enqueued commands."""
    start = os.getcwd() + os.sep
    files = {place.path for ran in trace.commands for place in ran.command.site}
    return sorted(file for file in files if file.startswith(start) and os.path.isfile(file))


def static_findings(files: Sequence[str]) -> list[Finding]:
    """Return what `check` finds in files, OpenCL only."""
    from kexec_lint import check

    return [f for f in check(files) if f.code.startswith("OCL")] if files else []


def join(static: Sequence[Finding], pairs: Sequence[Pair], trace: Trace) -> list[Finding]:
    """Return the static findings about two commands that the run did not find, each with what it says to them."""
    found = {_key(pair.finding) for pair in pairs}
    rows: dict[Place, list[Ran]] = {}
    for ran in trace.commands:
        for place in ran.command.site:
            rows.setdefault((os.path.realpath(place.path), place.span.row), []).append(ran)
    device = ", ".join(trace.devices) or "no device"
    joined = []
    for finding in static:
        if _key(finding) not in found and len(finding.steps) == 2:
            joined.append(attach(finding, [_verdict(finding, rows, trace, device)]))
    return joined


def unordered(pair: Pair, trace: Trace) -> Verdict:
    """Return the verdict of a run without a gate on a pair that it found."""
    return Verdict(
        ", ".join(trace.devices) or "no device",
        CONFIRMED,
        "both ran, and nothing ordered them in this run; --gate shows whether this device reorders them",
        "run",
    )


def _key(finding: Finding) -> tuple[str, str, int]:
    return finding.code, os.path.realpath(finding.location.filename), finding.location.row


def _verdict(finding: Finding, rows: dict[Place, list[Ran]], trace: Trace, device: str) -> Verdict:
    first, second = ((os.path.realpath(s.location.filename), s.location.row) for s in finding.steps)
    earlier, later = rows.get(first, []), rows.get(second, [])
    if not earlier:
        return Verdict(device, NOT_EXECUTED, f"line {first[1]} enqueued nothing in this run", "run")
    if not later:
        if finding.code.startswith("OCL2"):
            return Verdict(
                device, INCONCLUSIVE, "what the host does to its arrays is not recorded; use verify replay", "run"
            )
        return Verdict(device, NOT_EXECUTED, f"line {second[1]} enqueued nothing in this run", "run")
    for two in reversed(later):
        one = next((r for r in reversed(earlier) if r.number < two.number), None)
        if one is not None:
            return Verdict(device, ORDERED, _what_orders(one, two, trace), "run")
    return Verdict(device, NOT_EXECUTED, "the two lines ran in the other order only", "run")


def _what_orders(one: Ran, two: Ran, trace: Trace) -> str:
    """Name what stands between two commands that ran: a path in the graph, or that they touch other bytes."""
    graph = next((graph for graph in trace.graphs if graph.holds(two.command)), None)
    if graph is None or not graph.holds(one.command):
        return "the host waited for everything in between"
    if not graph.reaches(one.command, two.command):
        return "they use different bytes in this run"
    for node, kind in _path(one.command, two.command):
        line = f" in line {node.site[-1].span.row}" if node.site else ""
        if isinstance(node, g.HostPoint) and node.kind in ("wait", "finish"):
            return f"ordered by the host's {node.what or node.kind}{line}"
        if isinstance(node, g.Command) and node.kind in ("marker", "barrier"):
            return f"ordered by the {node.kind}{line}"
        if kind == "event":
            return f"ordered by the wait list of the command{line}"
    return "ordered by the in-order queue"


def _path(start: g.Node, end: g.Node) -> Iterator[tuple[g.Node, str]]:
    """Yield the nodes after `start` on a shortest path to `end` with the kind of the edge into each."""
    came: dict[int, tuple[g.Node, str] | None] = {end.index: None}
    layer = [end]
    while layer and start.index not in came:
        following = []
        for node in layer:
            for source, _, kind in node.before:
                if source.index not in came:
                    came[source.index] = node, kind
                    following.append(source)
        layer = following
    step = came.get(start.index)
    while step is not None:
        yield step
        step = came[step[0].index]
