"""OCL112 semaphore-ooo: on an out-of-order queue neither a signal nor a wait orders its neighbours."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import Evidence, check
from kexec_lint.opencl.checks.words import name, row, start


@check("OCL112")
def unordered_semaphores(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield signals that do not wait for earlier commands, and commands that do not wait for a semaphore wait.

    Extension specification, cl_khr_semaphore: on an out-of-order queue there are no implicit dependencies.
    """
    if graph.threaded:
        return
    for command in graph.commands:
        queue = command.queue
        if command.kind not in ("signal", "await") or queue is None or not queue.constructed:
            continue
        if queue.order is not g.Order.OUT_OF_ORDER or command.wait_list == "unknown":
            continue
        others = [
            c for c in graph.commands if c.queue is queue and c.accesses and not g.exclusive(c.guard, command.guard)
        ]
        if command.kind == "signal":
            left = [c for c in others if c.index < command.index and not graph.reaches(c, command)]
            if left:
                last = left[-1]
                yield Evidence(
                    "OCL112",
                    command.site,
                    f"The semaphore may be signalled before {name(last)} (line {row(last.site, command.site)}) is "
                    f"complete: the queue `{queue.name}` is out-of-order",
                    f"put the event of {name(last)} into the wait list of the signal, or enqueue a barrier before it",
                    against=last.site,
                    related=((f"{name(last)} is enqueued here", last.site),),
                    nodes=(last, command),
                )
            continue
        early = [c for c in others if c.index > command.index and not graph.reaches(command, c)]
        if early:
            first = early[0]
            yield Evidence(
                "OCL112",
                first.site,
                f"{start(first)} may start before the semaphore wait (line {row(command.site, first.site)}) is over: "
                f"the queue `{queue.name}` is out-of-order",
                "put the event of the semaphore wait into its wait list, or enqueue a barrier after the wait",
                against=command.site,
                related=(("the semaphore is waited for here", command.site),),
                nodes=(command, first),
            )
