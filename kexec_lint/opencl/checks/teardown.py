"""OCL316 in-flight-at-teardown: the process ends, or a program is built again, while commands may run."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import Evidence, check
from kexec_lint.opencl.checks.words import name, row


@check("OCL316")
def in_flight(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield ends of the process and rebuilds with commands in flight.

    Releasing memory objects and queues is no such end: the runtime keeps them until their commands are over.
    """
    if graph.threaded or graph.truncated:
        return
    for point in graph.points:
        if point.kind not in ("exit", "rebuild"):
            continue
        pending = [
            c
            for c in graph.commands
            if c.index < point.index
            and (c.guard <= point.guard or (_ends(point) and not g.exclusive(c.guard, point.guard)))
            and c.kind not in ("marker", "barrier", "migrate", "free", "unmap", "map")
            and (point.kind == "exit" or c.event in point.events)
            and not graph.reaches(c, point)
        ]
        if not pending:
            continue
        last = pending[-1]
        if point.kind == "rebuild":
            yield Evidence(
                "OCL316",
                point.site,
                f"The program is built again while {name(last)} (line {row(last.site, point.site)}) may still run",
                "finish the queue first, or make a new cl.Program",
                against=last.site,
                related=((f"{name(last)} is enqueued here", last.site),),
            )
        elif _ends(point):
            yield Evidence(
                "OCL316",
                last.site,
                f"The program ends while {name(last)} may still run, or has not begun to",
                "finish the queue at the end: queue.finish()",
            )
        else:
            yield Evidence(
                "OCL316",
                point.site,
                f"{point.what}() ends the process while {name(last)} (line {row(last.site, point.site)}) may still run",
                "finish the queue first",
                against=last.site,
                related=((f"{name(last)} is enqueued here", last.site),),
            )


def _ends(point: g.HostPoint) -> bool:
    """Return whether every path that is left leads here: the end of the program."""
    return point.what.startswith("the end")
