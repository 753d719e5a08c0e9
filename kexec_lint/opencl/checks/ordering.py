"""Pairs of a command and a later command or host access that nothing orders: OCL101 to OCL108 and their kin."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.findings import Confidence, Severity
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.confidence import judge
from kexec_lint.opencl.checks.device_pairs import device_pair
from kexec_lint.opencl.checks.evidence import Evidence, check
from kexec_lint.opencl.checks.host_pairs import host_pair
from kexec_lint.opencl.checks.words import name, related


@check(
    "OCL101",
    "OCL102",
    "OCL103",
    "OCL104",
    "OCL105",
    "OCL106",
    "OCL107",
    "OCL108",
    "OCL201",
    "OCL202",
    "OCL203",
    "OCL206",
    "OCL208",
    "OCL209",
    "OCL210",
    "OCL211",
    "OCL501",
    "OCL502",
    "OCL503",
    "OCL506",
    "OCL508",
)
def unordered(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield one finding for each later command or access that nothing orders after a conflicting command."""
    found: dict[int, list[tuple[Confidence, g.Conflict]]] = {}
    for conflict in graph.conflicts():
        if conflict.first.role == "mapping" and getattr(conflict.earlier, "kind", "") == "unmap":
            continue  # a mapped array used after its end is OCL204
        confidence = judge(graph, conflict)
        if confidence is not None:
            found.setdefault(conflict.later.index, []).append((confidence, conflict))
    evidence: list[tuple[g.Conflict, Evidence]] = []
    for pairs in _without_implied(graph, found):
        pairs.sort(key=lambda pair: (pair[0].rank, -pair[1].earlier.index))
        confidence, conflict = pairs[0]
        others = [c for _, c in pairs[1:] if c.earlier is not conflict.earlier]
        evidence.append((conflict, describe(graph, conflict, confidence, others)))
    yield from summarise(graph, evidence)


Pair = tuple[Confidence, g.Conflict]


def _without_implied(graph: g.EnqueueGraph, found: dict[int, list[Pair]]) -> Iterator[list[Pair]]:
    """Yield the pairs by later node, without those that the missing edge of another pair would order too.

    If B lacks an edge from A and C is ordered after B, then C lacks none of its own.
    """
    later_than: dict[int, list[tuple[int, g.Node]]] = {}
    for pairs in found.values():
        for confidence, conflict in pairs:
            later_than.setdefault(conflict.earlier.index, []).append((confidence.rank, conflict.later))
    for pairs in found.values():
        kept = [
            (confidence, conflict)
            for confidence, conflict in pairs
            if not any(
                rank <= max(confidence.rank, Confidence.LIKELY.rank)
                and other.index < conflict.later.index
                and graph.reaches(other, conflict.later)
                for rank, other in later_than[conflict.earlier.index]
            )
        ]
        if kept:
            yield kept


def describe(graph: g.EnqueueGraph, conflict: g.Conflict, confidence: Confidence, others: list[g.Conflict]) -> Evidence:
    """Name the rule that fits a pair best, and say which edge is missing."""
    earlier, later = conflict.earlier, conflict.later
    assert isinstance(earlier, g.Command)
    if isinstance(later, g.HostPoint):
        code, message, help, extra = host_pair(graph, conflict)
    else:
        assert isinstance(later, g.Command)
        code, message, help, extra = device_pair(graph, conflict, later)
    more = tuple(
        (f"{name(o.earlier)} is not ordered before it either", o.earlier.site)
        for o in others[:3]
        if isinstance(o.earlier, g.Command)
    )
    return Evidence(
        code,
        later.site,
        message,
        help,
        severity=Severity.WARNING if code == "OCL506" else None,
        against=earlier.site,
        hazard=conflict.hazard,
        confidence=confidence,
        related=related(graph, conflict) + extra + more,
        nodes=(earlier, later),
    )


def summarise(graph: g.EnqueueGraph, evidence: list[tuple[g.Conflict, Evidence]]) -> Iterator[Evidence]:
    """Say it once (OCL107) for an out-of-order queue none of whose commands takes part in any event order."""
    by_queue: dict[g.Queue, list[Evidence]] = {}
    for conflict, item in evidence:
        later = conflict.later
        if item.code != "OCL101" or not isinstance(later, g.Command) or not isinstance(conflict.earlier, g.Command):
            continue
        if later.queue is conflict.earlier.queue and later.queue is not None and later.queue.constructed:
            by_queue.setdefault(later.queue, []).append(item)
    summarised: set[int] = set()
    for queue, items in by_queue.items():
        sites = {item.at for item in items}
        if len(sites) >= 2 and not queue.maybe and _unmanaged(graph, queue):
            summarised |= {id(item) for item in items}
            first = min(items, key=lambda item: item.confidence.rank)
            yield Evidence(
                "OCL107",
                queue.created,
                f"The queue `{queue.name}` is out-of-order, but no event orders its commands: {len(sites)} of "
                "them may start before a command that they depend on is complete",
                "drop OUT_OF_ORDER_EXEC_MODE_ENABLE (an in-order queue needs no events), or pass events through "
                "wait_for",
                hazard=first.hazard,
                confidence=first.confidence,
                related=tuple((item.message, item.at) for item in items[:4]),
                nodes=first.nodes,
            )
    for _, item in evidence:
        if id(item) not in summarised:
            yield item


def _unmanaged(graph: g.EnqueueGraph, queue: g.Queue) -> bool:
    for command in graph.commands:
        if command.queue is not queue:
            continue
        if command.waits or command.kind in ("marker", "barrier"):
            return False
        event = command.event
        if event is not None and event.waited:
            return False
    return not any(
        event.command is not None and event.command.queue is queue
        for command in graph.commands
        for event, _ in command.waits
    )
