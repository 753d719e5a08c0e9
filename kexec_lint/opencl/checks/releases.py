"""OCL315 user-event-release-order: objects are released while commands wait for a user event that is not set."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import Evidence, check
from kexec_lint.opencl.checks.user_events import settings
from kexec_lint.opencl.checks.words import name, row


@check("OCL315")
def released_before_set(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield the first release of another object than an event while a user event in a wait list is not set.

    API specification, clCreateUserEvent, note: such a release before clSetUserEventStatus has undefined behaviour.
    """
    if graph.threaded or graph.truncated:
        return
    for event in graph.user_events:
        if event.escaped:
            continue
        waiting = [c for c in graph.commands if any(waited is event for waited, _ in c.waits)]
        sets = settings(graph, event)
        for point in graph.points:
            if point.kind != "give back":
                continue
            held = next((c for c in waiting if c.index < point.index and c.guard <= point.guard), None)
            if held is None or any(s.index < point.index and not g.exclusive(s.guard, point.guard) for s in sets):
                continue
            yield Evidence(
                "OCL315",
                point.site,
                f"{point.what} releases an object while {name(held)} (line {row(held.site, point.site)}) waits for a "
                "user event that is not set yet",
                "call clSetUserEventStatus first, and release objects afterwards",
                against=held.site,
                related=(
                    ("the user event is created here", event.created),
                    (f"{name(held)} waits for it here", held.site),
                ),
            )
            break
