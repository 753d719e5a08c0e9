"""OCL311 to OCL313: times of commands, asked for where there are none."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import Evidence, check
from kexec_lint.opencl.checks.words import name, row


def _queries(graph: g.EnqueueGraph) -> Iterator[tuple[g.HostPoint, g.Event]]:
    """Yield the first query of each event from each place."""
    seen: set[tuple[int, int]] = set()
    for point in graph.points:
        if point.kind != "profile":
            continue
        for event in point.events:
            key = (id(event), point.site[-1].span.row)
            if key not in seen:
                seen.add(key)
                yield point, event


@check("OCL311")
def not_enabled(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield profiling queries on events of a queue made without PROFILING_ENABLE."""
    for point, event in _queries(graph):
        queue = event.command.queue if event.command is not None else None
        if queue is None or not queue.constructed or queue.profiling is not False:
            continue
        yield Evidence(
            "OCL311",
            point.site,
            f"The queue `{queue.name}` was created without profiling, so its events have no times",
            "create it with properties=cl.command_queue_properties.PROFILING_ENABLE",
            against=queue.created,
            related=(("the queue is created here", queue.created),),
        )


@check("OCL312")
def before_complete(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield profiling queries on events that may not be complete, and on user events.

    API specification, clGetEventProfilingInfo: CL_PROFILING_INFO_NOT_AVAILABLE in both cases.
    """
    for point, event in _queries(graph):
        if event.kind == "user":
            yield Evidence(
                "OCL312",
                point.site,
                "A user event has no profiling times",
                "ask the event of the command that waits for it",
                against=event.created,
                related=(("the user event is created here", event.created),),
            )
            continue
        command = event.command
        if command is None or not graph.holds(command) or graph.threaded:
            continue
        if command.queue is not None and command.queue.profiling is False and command.queue.constructed:
            continue
        if g.exclusive(command.guard, point.guard) or graph.reaches(command, point):
            continue
        yield Evidence(
            "OCL312",
            point.site,
            f"The times of {name(command)} (line {row(command.site, point.site)}) are asked for before it is complete",
            "wait for the event first: event.wait()",
            against=command.site,
            related=((f"{name(command)} is enqueued here", command.site),),
            nodes=(command, point),
        )


@check("OCL313")
def timed_enqueue(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield the second of two host timestamps with commands between them that may still run at the second."""
    timers = [p for p in graph.points if p.kind == "timer"]
    for begin, end in pairwise(timers):
        running = [
            c
            for c in graph.commands
            if begin.index < c.index < end.index and c.guard <= end.guard and not graph.reaches(c, end)
        ]
        if not running or graph.threaded or begin.site[:-1] != end.site[:-1] or begin.what != end.what:
            continue
        last = running[-1]
        yield Evidence(
            "OCL313",
            end.site,
            f"This time is taken while {name(last)} (line {row(last.site, end.site)}) may still run: the "
            "difference measures the enqueueing",
            "wait first (event.wait(), queue.finish()), or use the event's profiling times",
            against=last.site,
            related=(("the first time is taken here", begin.site), (f"{name(last)} is enqueued here", last.site)),
        )
