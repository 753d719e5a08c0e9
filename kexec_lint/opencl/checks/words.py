"""Commands, queues and places in the words of a sentence."""

from __future__ import annotations

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import place

Words = tuple[str, str, str, tuple[tuple[str, g.Site], ...]]
"""Rule code, message, help, and further places that explain it."""

VERBS = {
    "read-after-write": ("reads", "writes"),
    "write-after-read": ("writes", "reads"),
    "write-after-write": ("writes", "writes"),
}


def name(node: g.Node) -> str:
    """Name a command or host access in a sentence."""
    if isinstance(node, g.HostPoint):
        return {"access": "the host", "release": "freeing it"}.get(node.kind, "the host")
    assert isinstance(node, g.Command)
    nouns = {
        "read": "the download",
        "write": "the upload",
        "copy": "the copy",
        "fill": "the fill",
        "map": "the map",
        "unmap": "the unmap",
        "migrate": "the migration",
        "acquire": "the acquisition",
        "release": "the release",
        "free": "the free",
        "marker": "the marker",
        "barrier": "the barrier",
    }
    if node.kind == "kernel":
        if not node.what or node.what == "kernel":
            return "the kernel"
        return node.what if " " in node.what else f"kernel {node.what}"
    return nouns.get(node.kind, "the command")


def start(node: g.Node) -> str:
    """Name a command or host access at the beginning of a sentence."""
    words = name(node)
    return words[0].upper() + words[1:]


def row(site: g.Site, against: g.Site | None = None) -> int:
    """Return the row of a site for a sentence."""
    return place(site, against).span.row


def queue_words(queue: g.Queue) -> str:
    """Name a queue with its order."""
    order = {g.Order.IN_ORDER: "in-order ", g.Order.OUT_OF_ORDER: "out-of-order "}.get(queue.order, "")
    words = "queue" if queue.name == "the queue" else f"queue `{queue.name}`"
    return f"{words} (out-of-order on some paths)" if queue.maybe else f"{order}{words}"


def related(graph: g.EnqueueGraph, conflict: g.Conflict) -> tuple[tuple[str, g.Site], ...]:
    """Return the places that explain a pair: the earlier command, the queues, the memory object."""
    earlier = conflict.earlier
    assert isinstance(earlier, g.Command)
    places: list[tuple[str, g.Site]] = [
        (f"{name(earlier)} {VERBS[conflict.hazard][1]} `{conflict.first.memory.name}` here", earlier.site)
    ]
    queues = [earlier.queue, conflict.later.queue if isinstance(conflict.later, g.Command) else None]
    for queue in dict.fromkeys(q for q in queues if q is not None):
        if queue.created:
            places.append((f"{queue_words(queue)} is created here", queue.created))
    memory = conflict.first.memory.root
    if memory.created:
        places.append((f"`{memory.name}` is created here", memory.created))
    return tuple(places)
