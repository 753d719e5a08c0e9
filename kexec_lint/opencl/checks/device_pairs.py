"""OCL101 to OCL106, OCL108, OCL501 to OCL503: which rule fits two commands that nothing orders, and its words."""

from __future__ import annotations

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.sync import what_sync, wrong_queue
from kexec_lint.opencl.checks.words import VERBS, Words, name, queue_words, row


def device_pair(graph: g.EnqueueGraph, conflict: g.Conflict, later: g.Command) -> Words:
    """Say which rule fits a pair of commands best, and which edge is missing."""
    earlier = conflict.earlier
    assert isinstance(earlier, g.Command)
    assert earlier.queue is not None
    assert later.queue is not None
    memory = conflict.second.memory.name
    does, did = VERBS[conflict.hazard]
    where = (
        f"{_two(earlier.queue.name, later.queue.name)} have no order between them"
        if earlier.queue is not later.queue
        else f"nothing orders them on the {queue_words(later.queue)}"
    )
    start = f"{name(later)} {does} `{memory}` while {name(earlier)} (line {row(earlier.site, later.site)}) may still"
    message = f"{start[0].upper()}{start[1:]} {did[:-1]} it: {where}"
    edge = f"put the event of {name(earlier)} (line {row(earlier.site, later.site)}) into wait_for of {name(later)}"
    arrays = _array_words(conflict, earlier, later)
    if arrays is not None:
        return arrays[0], message, arrays[1], ()
    between = [n for n in graph.nodes[earlier.index + 1 : later.index] if not g.exclusive(n.guard, later.guard)]
    overlapping = conflict.first.memory is not conflict.second.memory and conflict.first.memory.known
    if overlapping:
        return (
            "OCL108",
            message,
            f"{edge}: the two memory objects overlap, and a command that writes one may not run beside one that "
            "uses the other",
            (),
        )
    for node in between:
        if isinstance(node, g.Command) and node.queue is later.queue and node.queue is earlier.queue:
            if node.kind == "marker" and node.wait_list in ("none", "empty"):
                return (
                    "OCL103",
                    message,
                    f"the marker in line {row(node.site)} holds nothing back: use enqueue_barrier there, or {edge}",
                    (("the marker does not hold back later commands", node.site),),
                )
            if node.kind == "barrier" and node.wait_list == "events":
                return (
                    "OCL104",
                    message,
                    f"the barrier in line {row(node.site)} waits for its list only: add the event of "
                    f"{name(earlier)} (line {row(earlier.site, later.site)}) to it, or give it no list",
                    (("the barrier waits only for the events in its list", node.site),),
                )
    wrong = wrong_queue(between, earlier, later)
    if wrong is not None:
        queue, node = wrong
        return (
            "OCL105",
            message,
            f"the {what_sync(node)} in line {row(node.site)} concerns `{queue.name}` only: {edge}, or synchronise "
            f"`{earlier.queue.name}`",
            ((f"this {what_sync(node)} says nothing of `{earlier.queue.name}`", node.site),),
        )
    if later.wait_list == "events":
        return "OCL102", message, f"{edge}: its wait list names other commands only", ()
    ends_with_barrier = bool(getattr(earlier.kernel, "ends_with_global_barrier", False))
    if ends_with_barrier and later.kind == "kernel":
        return (
            "OCL106",
            message,
            f"{edge}: the barrier at the end of {name(earlier)} orders the work-items of one work-group, not kernels",
            (),
        )
    return "OCL101", message, edge, ()


def _array_words(conflict: g.Conflict, earlier: g.Command, later: g.Command) -> tuple[str, str] | None:
    """Pairs that involve the events of `pyopencl.array.Array`."""
    memory = conflict.first.memory.root
    if not memory.tracked:
        return None
    if later.array and earlier.array:
        generated = earlier.what == "a generated kernel"
        if generated:
            return "OCL502", f"call {memory.name}.add_event(…) with the event that {name(earlier)} returns"
        return "OCL503", (f"PyOpenCL does not track this order: call {memory.name}.finish(), or use an in-order queue")
    if earlier.array and not later.array:
        return "OCL501", (
            f"`{memory.name}.data` hands out the memory without its events: pass wait_for={memory.name}.events"
        )
    if later.array and not earlier.array:
        if later.what == "set":
            return "OCL503", (
                f"Array.set does not wait for pending commands: wait for the event of {name(earlier)} first"
            )
        if conflict.hazard == "write-after-read":
            return (
                "OCL503",
                f"PyOpenCL does not record readers of `{memory.name}`: wait for the kernel's event first",
            )
        return "OCL502", f"call {memory.name}.add_event(…) with the event of {name(earlier)}"
    return None


def _two(one: str, other: str) -> str:
    """Name two queues, which may have the same name in two objects."""
    return f"two queues, both called `{one}`," if one == other else f"two queues, `{one}` and `{other}`,"
