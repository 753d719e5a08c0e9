"""OCL505 nanny-drop: the event of a host transfer waits when it is destroyed."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.findings import Confidence, Severity
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import Evidence, check
from kexec_lint.opencl.checks.words import name, row, start


@check("OCL505")
def dropped(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield transfers whose event is thrown away: they wait, for ever if a user event holds them back.

    PyOpenCL, `src/wrap_cl.hpp`, `~nanny_event`: the destructor waits and holds the interpreter's lock meanwhile.
    """
    for point in graph.points:
        if point.kind != "wait" or not point.what.startswith("NannyEvent"):
            continue
        for event in point.events:
            command = event.command
            if command is None or not graph.holds(command) or command.blocking is not False:
                continue
            gate = _gate(graph, command, point)
            if gate is not None:
                yield Evidence(
                    "OCL505",
                    command.site,
                    f"The event of {name(command)} is dropped (line {row(point.site, command.site)}) and waits as "
                    "it dies, but a user event that is not set yet holds the command back: the whole interpreter "
                    "hangs",
                    "keep the event until the user event is set: event = cl.enqueue_copy(…)",
                    related=(("the user event is created here", gate.created),),
                    confidence=Confidence.LIKELY if gate.escaped else Confidence.CERTAIN,
                )
            elif command.dropped:
                yield Evidence(
                    "OCL505",
                    command.site,
                    f"{start(command)} is not asynchronous: its event is dropped at once, and waits as it dies",
                    "keep the event to let the host go on, or make the call blocking to say what it does",
                    severity=Severity.INFO,
                )


def _gate(graph: g.EnqueueGraph, command: g.Command, point: g.HostPoint) -> g.Event | None:
    """Return a user event that surely holds a command back when the host reaches a point."""
    for event in graph.user_events:
        if any(p.kind == "status" and event in p.events and p.index < point.index for p in graph.points):
            continue
        for other in graph.commands:
            waits = any(e is event and guard <= other.guard for e, guard in other.waits)
            if waits and (other is command or graph.reaches(other, command, certainly=True)):
                if event.escaped and not graph.threaded:
                    return None  # code that cannot be seen may have set it
                return event
    return None
