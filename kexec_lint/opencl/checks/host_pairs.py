"""OCL102, OCL105, OCL201, OCL202, OCL206, OCL208 to OCL210, OCL508: the host and a command in flight."""

from __future__ import annotations

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.sync import wrong_queue
from kexec_lint.opencl.checks.words import Words, name, row


def _host_lifetime(later: g.HostPoint, earlier: g.Command, memory: g.Memory, line: int) -> Words:
    """Host memory goes (C, C++) while a transfer may still use it."""
    end = "goes out of scope" if later.what == "scope" else "is freed"
    return (
        "OCL203",
        f"`{memory.name}` {end} while {name(earlier)} (line {line}) may still use it",
        "wait for its event or finish the queue first, make the transfer blocking, or let the memory live longer",
        (),
    )


def host_pair(graph: g.EnqueueGraph, conflict: g.Conflict) -> Words:
    """Say which rule fits a host access to memory in flight best, and what it has to wait for."""
    earlier, later = conflict.earlier, conflict.later
    assert isinstance(earlier, g.Command)
    assert isinstance(later, g.HostPoint)
    assert earlier.queue is not None
    memory = conflict.second.memory
    line = row(earlier.site, later.site)
    if later.kind == "release" and memory.root.allocator:
        return (
            "OCL506",
            f"`{memory.name}` of an SVM allocator without a queue dies while {name(earlier)} (line {line}) may "
            "still use it: it is freed at once",
            "make the allocator with queue=, or finish the queue before the last reference goes",
            (),
        )
    if later.kind == "release" and later.memory is not None and later.memory.root.kind == "host":
        return _host_lifetime(later, earlier, later.memory, line)
    if later.kind == "release":
        return (
            "OCL209",
            f"`{memory.name}` is freed while {name(earlier)} (line {line}) may still use it: freeing SVM does not wait",
            f"wait for the event of {name(earlier)} or finish its queue first, or free with enqueue_release",
            (),
        )
    reads = conflict.hazard == "read-after-write"
    verb = "reads" if reads else "writes"
    uses = "write" if reads else "use"
    message = f"The host {verb} `{memory.name}` while {name(earlier)} (line {line}) may still {uses} it"
    wait = "wait for its event first, or make it blocking"
    between = graph.nodes[earlier.index + 1 : later.index]
    flush = next(
        (n for n in between if isinstance(n, g.HostPoint) and n.kind == "flush" and n.queue is earlier.queue), None
    )
    poll = next((n for n in between if _asks(n, earlier)), None)
    if poll is not None:
        return (
            "OCL211",
            message,
            f"asking for the status (line {row(poll.site)}) is no synchronisation, even when it is COMPLETE: call "
            "event.wait() after it",
            (("the status is asked for here", poll.site),),
        )
    if later.mapping is not None and later.mapping.command is earlier:
        return (
            "OCL206",
            f"The mapped array is used before the map (line {line}) is complete",
            "wait for the map's event first, or map with is_blocking=True",
            (),
        )
    if memory.root.kind.startswith("svm"):
        return (
            "OCL208",
            message,
            f"finish the queue or wait for the event of {name(earlier)} before the host touches shared memory",
            (),
        )
    if flush is not None:
        return (
            "OCL210",
            message,
            f"the flush in line {row(flush.site)} submits the commands, it does not wait for them: {wait}",
            (("flush does not wait", flush.site),),
        )
    wrong = wrong_queue([n for n in between if isinstance(n, g.HostPoint)], earlier, earlier)
    if wrong is not None:
        queue, node = wrong
        return (
            "OCL105",
            message,
            f"the finish in line {row(node.site)} concerns `{queue.name}` only: finish `{earlier.queue.name}` or "
            f"{wait}",
            ((f"this finish says nothing of `{earlier.queue.name}`", node.site),),
        )
    partial = _partial_host_wait(between, earlier)
    if partial is not None:
        return (
            "OCL102",
            message,
            f"the wait in line {row(partial.site)} is for other commands: add the event of {name(earlier)}",
            (("this wait does not cover it", partial.site),),
        )
    if reads and earlier.what == "get":
        return "OCL508", message, "wait for the event that get_async returned before using the array", ()
    return ("OCL201" if reads else "OCL202"), message, wait, ()


def _asks(node: g.Node, command: g.Command) -> bool:
    """Return whether the host decides something by the status of a command here."""
    asks = isinstance(node, g.HostPoint) and node.kind == "poll" and node.what == "tested"
    return asks and isinstance(node, g.HostPoint) and command.event in node.events


def _partial_host_wait(between: list[g.Node], earlier: g.Command) -> g.HostPoint | None:
    """Return a wait for another command of the same out-of-order queue that was thought to cover this one."""
    if earlier.queue is None or earlier.queue.order is not g.Order.OUT_OF_ORDER:
        return None
    for node in between:
        if isinstance(node, g.HostPoint) and node.kind == "wait" and node.what == "wait":
            for event in node.events:
                if event.command is not None and event.command.queue is earlier.queue and event.command is not earlier:
                    return node
    return None
