"""Synchronisation that stands between two nodes and does not order them."""

from __future__ import annotations

from kexec_lint.opencl import graph as g


def what_sync(node: g.Node) -> str:
    """Name a synchronisation."""
    return node.kind if isinstance(node, g.Command) else "finish"


def wrong_queue(between: list[g.Node], earlier: g.Command, later: g.Command) -> tuple[g.Queue, g.Node] | None:
    """Return a finish, barrier or marker between the two of another queue than the earlier command's."""
    for node in reversed(between):
        if isinstance(node, g.HostPoint):
            whole = node.kind == "finish" and node.what != "with"
        elif isinstance(node, g.Command):
            whole = node.kind in ("barrier", "marker") and node.wait_list in ("none", "empty")
        else:
            continue
        if whole and node.queue is not None and node.queue is not earlier.queue:
            return node.queue, node
    return None
