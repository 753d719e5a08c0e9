"""OCL302 and OCL303: a wait for an event of another queue whose commands were never submitted."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import Evidence, check
from kexec_lint.opencl.checks.words import name, queue_words, row


@check("OCL302", "OCL303")
def not_flushed(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield commands that wait for an event of another queue which is not flushed before the host blocks.

    API specification, clFlush: to wait in one queue for events of another, the application must flush the other,
    or make a blocking call on it.
    """
    if graph.threaded or graph.truncated:
        return
    for command in graph.commands:
        for event, _ in command.waits:
            source = event.command
            if source is None or not graph.holds(source) or not _foreign(source, command):
                continue
            blocked = _first_block(graph, command)
            if blocked is None or _flushed(graph, source, blocked.index + 1, start=source.index):
                continue
            assert source.queue is not None
            assert command.queue is not None
            later = _flushed(graph, source, len(graph.nodes), start=blocked.index + 1)
            edge = f"{source.queue.name}.flush() after {name(source)} (line {row(source.site, command.site)})"
            if later is None:
                yield Evidence(
                    "OCL302",
                    command.site,
                    f"`{command.queue.name}` waits for {name(source)} of `{source.queue.name}`, which is never "
                    f"flushed before the host blocks on `{command.queue.name}` (line "
                    f"{row(blocked.site, command.site)}): it may wait for ever",
                    edge,
                    against=source.site,
                    related=(
                        (f"{name(source)} is enqueued on {queue_words(source.queue)} here", source.site),
                        ("the host blocks here", blocked.site),
                    ),
                    nodes=(source, command),
                )
            else:
                yield Evidence(
                    "OCL303",
                    blocked.site,
                    f"The host blocks on `{command.queue.name}`, where {name(command)} waits for "
                    f"`{source.queue.name}`, which is flushed only afterwards (line "
                    f"{row(later.site, blocked.site)}): a deadlock where commands wait for the flush",
                    f"{edge}, or finish `{source.queue.name}` first",
                    against=source.site,
                    related=(
                        (f"{name(source)} is enqueued on {queue_words(source.queue)} here", source.site),
                        (f"{name(command)} waits for it here", command.site),
                        ("the flush comes too late", later.site),
                    ),
                    nodes=(source, command),
                )
            break


def _foreign(source: g.Command, command: g.Command) -> bool:
    """Return whether two commands stand in queues that are surely different."""
    a, b = source.queue, command.queue
    return a is not None and b is not None and a is not b and a.constructed and b.constructed


def _first_block(graph: g.EnqueueGraph, command: g.Command) -> g.HostPoint | None:
    """Return the first point at which the host surely waits for a command."""
    for point in graph.points:
        if point.index < command.index or point.kind not in ("wait", "finish"):
            continue
        if command.guard <= point.guard and graph.reaches(command, point, certainly=True):
            return point
    return None


def _flushed(graph: g.EnqueueGraph, source: g.Command, end: int, start: int) -> g.Node | None:
    """Return a node between two places that submits, or may submit, the queue of a command."""
    for node in graph.nodes[start:end]:
        if isinstance(node, g.Command):
            if node.queue is source.queue and node.index > source.index and node.blocking is not False:
                return node
            continue
        if not isinstance(node, g.HostPoint):
            continue
        if node.kind == "opaque":
            return node
        queue = node.queue if node.kind in ("flush", "finish") else None
        if queue is not None and (queue is source.queue or not queue.constructed):
            return node
        if node.kind == "wait" and any(e.command is None or e.command.queue is source.queue for e in node.events):
            return node
    return None
