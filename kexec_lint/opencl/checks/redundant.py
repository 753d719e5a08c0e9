"""OCL109, OCL110 and the asserted form of OCL211: synchronisation that is not needed, or not to be relied on."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import Evidence, check
from kexec_lint.opencl.checks.words import name, queue_words, row, start


@check("OCL109")
def blocking_write_elsewhere(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield uses on another queue of what a blocking write wrote, ordered by its blocking alone.

    Up to version 2.2-8 the specification let a blocking write return when the data was copied; since 2.2-9
    it returns when the command is complete.
    """
    for write in graph.commands:
        if write.kind != "write" or write.blocking is not True or write.queue is None:
            continue
        written = [a for a in write.accesses if a.writes]
        for use in graph.commands:
            if use.index < write.index or use.queue is write.queue or use.queue is None:
                continue
            seen_made = use.queue.constructed and write.queue.constructed
            if not seen_made or g.exclusive(use.guard, write.guard):
                continue
            shared = [
                a.memory.root
                for a in use.accesses
                for b in written
                if a.memory.root is b.memory.root and g.overlap(a, b)
            ]
            if not shared or _reaches_otherwise(write, use):
                continue
            yield Evidence(
                "OCL109",
                use.site,
                f"{start(use)} on `{use.queue.name}` relies on the blocking write of line "
                f"{row(write.site, use.site)} on `{write.queue.name}` being complete on the device, which "
                "runtimes before OpenCL 2.2-9 do not promise",
                f"pass the event of the upload: wait_for=[event], or finish `{write.queue.name}`",
                against=write.site,
                related=(("the blocking write", write.site),),
                nodes=(write, use),
            )
            break


def _reaches_otherwise(write: g.Command, use: g.Command) -> bool:
    """Return whether an edge orders the two that is not the blocking of the write itself."""
    pending: list[g.Node] = [use]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if node.index in seen or node.index < write.index:
            continue
        seen.add(node.index)
        if isinstance(node, g.HostPoint) and node.covers >= write.index:
            return True
        for source, _, _ in node.before:
            if source is not write:
                pending.append(source)
            elif not (isinstance(node, g.HostPoint) and node.what == "blocking" and write.event in node.events):
                return True
    return False


@check("OCL110")
def redundant(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield waits, barriers and wait-list entries that an in-order queue makes needless."""
    queues = [q for q in graph.queues if q.constructed]
    for node in graph.nodes:
        queue = node.queue if isinstance(node, g.Command | g.HostPoint) else None
        if queue is None or not queue.constructed or queue.order is not g.Order.IN_ORDER or graph.threaded:
            continue
        found: Finding | None = None
        if isinstance(node, g.Command) and not node.array:
            found = _needless_edge(node, queue)
        elif isinstance(node, g.HostPoint) and node.kind == "finish" and len(queues) == 1:
            found = _needless_finish(graph, node, queue)
        if found is not None:
            message, help, place = found
            places = (("the queue is created here", queue.created), place)
            yield Evidence("OCL110", node.site, message, help, related=places)


Finding = tuple[str, str, tuple[str, g.Site]]


def _needless_edge(command: g.Command, queue: g.Queue) -> Finding | None:
    own = [e.command for e, _ in command.waits if e.command is not None and e.command.queue is queue]
    foreign = len(own) < len(command.waits) or command.wait_list == "unknown"
    if command.kind == "barrier" and command.dropped and not foreign:
        return (
            f"A barrier on the {queue_words(queue)} orders nothing that the queue does not order by itself",
            "remove the barrier",
            ("", ()),
        )
    if own and not foreign and command.kind not in ("marker", "barrier"):
        return (
            f"{start(command)} waits for an earlier command of the same {queue_words(queue)}, which is "
            "complete by then anyway",
            "remove wait_for",
            ("it waits for this command", own[0].site),
        )
    return None


def _needless_finish(graph: g.EnqueueGraph, point: g.HostPoint, queue: g.Queue) -> Finding | None:
    before = next((source for source, _, kind in point.before if kind == "program"), None)
    commands = [c for c in graph.commands if c.queue is queue and c.index < point.index]
    if point.what == "with" or queue.profiling is True or not commands or not isinstance(before, g.HostPoint):
        return None
    if before.kind not in ("wait", "finish") or before.what.startswith("NannyEvent"):
        return None
    if before.events and before.events[0].command is not None and before.events[0].command.kind == "write":
        return None  # an older runtime may return from a blocking write before it is complete
    if all(graph.reaches(c, before, certainly=True) for c in commands):
        return (
            f"All commands of `{queue.name}` are complete already (line {row(before.site, point.site)}): this "
            "finish waits for nothing",
            "remove it",
            ("the host has waited here", before.site),
        )
    return None


@check("OCL211")
def asserted_unfinished(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield assertions that a command is not complete yet, with no user event that would hold it back."""
    for point in graph.points:
        if point.kind != "unfinished":
            continue
        for event in point.events:
            command = event.command
            if command is None or not graph.holds(command):
                continue
            gates = [n for n in graph.commands if any(e.kind != "command" for e, _ in n.waits)]
            if any(gate is command or graph.reaches(gate, command) for gate in gates):
                continue
            yield Evidence(
                "OCL211",
                point.site,
                f"Nothing keeps {name(command)} (line {row(command.site, point.site)}) from being complete here: "
                "the assertion fails on a fast device",
                "hold it back with a user event, or do not ask",
                against=command.site,
                related=((f"{name(command)} is enqueued here", command.site),),
            )
