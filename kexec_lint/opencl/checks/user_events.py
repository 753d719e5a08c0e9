"""OCL301 user-event-never-set and OCL310 user-event-misuse: the life of a user event."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.findings import Confidence, Severity
from kexec_lint.opencl import NATIVE
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import Evidence, check
from kexec_lint.opencl.checks.words import name, row


def settings(graph: g.EnqueueGraph, event: g.Event) -> list[g.HostPoint]:
    """Return the points at which the status of a user event is set for good."""
    return [p for p in graph.points if p.kind == "status" and event in p.events and p.what != "invalid"]


def waiters(graph: g.EnqueueGraph, event: g.Event) -> list[g.Node]:
    """Return the commands that have a user event in their wait list, and host waits for it."""
    return [
        node
        for node in graph.nodes
        if (isinstance(node, g.Command) and any(e is event for e, _ in node.waits))
        or (isinstance(node, g.HostPoint) and node.kind == "wait" and event in node.events)
    ]


def covered(graph: g.EnqueueGraph, waiter: g.Node, sets: list[g.HostPoint]) -> bool:
    """Return whether on every path that has the waiter the status is set; raising again counts as set."""
    guards = [_conditions(graph, s.guard, _interrupted(graph, waiter, s)) for s in sets]
    guards += [_conditions(graph, guard, False) for guard in graph.raised]
    return _covered(_conditions(graph, waiter.guard, False), guards)


def _conditions(graph: g.EnqueueGraph, guard: g.Guard, interrupted: bool) -> g.Guard:
    """Say which arms are taken by their conditions alone.

    That a `try` block goes through to its end is a condition only if it may be `interrupted`.
    """
    plain: set[int] = set()
    for number in guard:
        condition = graph.decisions.get(abs(number))
        if condition is None or (len(condition) != 1 and number < 0) or (not condition and interrupted):
            plain.add(number)
        else:
            plain |= {c if number > 0 else -c for c in condition}
    return frozenset(plain)


def _interrupted(graph: g.EnqueueGraph, waiter: g.Node, setting: g.HostPoint) -> bool:
    """Return whether code that cannot be seen runs in the same `try` block between the two, and may raise."""
    tries = {number for number in setting.guard if graph.decisions.get(number) == frozenset()}
    return bool(tries) and any(
        p.kind == "call" and waiter.index < p.index < setting.index and not tries.isdisjoint(p.guard)
        for p in graph.points
    )


def _covered(given: g.Guard, guards: list[g.Guard], depth: int = 8) -> bool:
    open_guards = [guard for guard in guards if not g.exclusive(guard, given)]
    if any(guard <= given for guard in open_guards):
        return True
    if not open_guards or not depth:
        return False
    number = min(open_guards[0] - given)
    return all(_covered(given | {outcome}, open_guards, depth - 1) for outcome in (number, -number))


@check("OCL301")
def never_set(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield user events that something waits for in vain: not set on some path, or only after the host waited."""
    if graph.threaded or graph.truncated:
        return
    for event in graph.user_events:
        waiting = waiters(graph, event)
        if event.escaped or not waiting:
            continue
        sets = settings(graph, event)
        left = next((w for w in waiting if not covered(graph, w, sets)), None)
        if left is not None:
            where = f"{name(left)} (line {row(left.site, event.created)})"
            how = "on some path " if any(not g.exclusive(s.guard, left.guard) for s in sets) else ""
            if how and event.created[-1].path.endswith(tuple(NATIVE)):
                continue  # C leaves on every error; those paths end the use of the queue
            yield Evidence(
                "OCL301",
                event.created,
                f"{where[0].upper()}{where[1:]} waits for this user event, whose status is {how}never set: the "
                "command and all that wait for it hang",
                "call set_status(cl.command_execution_status.COMPLETE) on every path, in a `finally` block if "
                "something may raise in between",
                against=left.site,
                related=(
                    ("it is waited for here", left.site),
                    *(("it is set here, on one path", s.site) for s in sets[:3]),
                ),
            )
            continue
        stuck = _blocked_before(graph, event, waiting, sets)
        if stuck is not None:
            point, first = stuck
            yield Evidence(
                "OCL301",
                event.created,
                f"The host waits (line {row(point.site, event.created)}) for {name(first)}, which waits for this "
                f"user event, before it sets the event (line {row(sets[0].site, event.created)}): a deadlock",
                "set the status before the host waits, or from another thread",
                against=point.site,
                related=(("the host waits here", point.site), ("the event is set here", sets[0].site)),
            )


def _blocked_before(
    graph: g.EnqueueGraph, event: g.Event, waiting: list[g.Node], sets: list[g.HostPoint]
) -> tuple[g.HostPoint, g.Node] | None:
    """Return a host wait that cannot end because the status is set only after it, and what it waits for."""
    first_set = min(s.index for s in sets)
    for point in graph.points:
        if point.index >= first_set or point.kind not in ("wait", "finish") or point.what.startswith("NannyEvent"):
            continue  # a NannyEvent that waits as it dies is OCL505
        if any(g.exclusive(point.guard, s.guard) for s in sets):
            continue
        for node in waiting:
            if node is point:
                return point, node
            direct = any(source is node and certain for source, certain, _ in point.before)
            if isinstance(node, g.Command) and direct and not g.exclusive(node.guard, point.guard):
                return point, node
    return None


@check("OCL310")
def misused(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield user events that are set twice, set to what is no end, or set for nobody."""
    for event in graph.user_events:
        points = [p for p in graph.points if p.kind == "status" and event in p.events]
        for point in points:
            if point.what == "invalid":
                yield Evidence(
                    "OCL310",
                    point.site,
                    "The status of a user event can be set to COMPLETE or to a negative error code only",
                    "use cl.command_execution_status.COMPLETE",
                    related=(("the user event is created here", event.created),),
                )
        yield from _set_twice(event, [p for p in points if p.what != "invalid"])
        lonely = not event.escaped and not graph.threaded and not graph.truncated
        if points and lonely and not waiters(graph, event):
            yield Evidence(
                "OCL310",
                event.created,
                f"This user event is set (line {row(points[0].site, event.created)}), but nothing waits for it: "
                "it holds no command back",
                "put it into the wait list of the command that it is meant to hold back, or leave it out",
                severity=Severity.WARNING,
                related=(("its status is set here", points[0].site),),
            )


def _set_twice(event: g.Event, points: list[g.HostPoint]) -> Iterator[Evidence]:
    for number, second in enumerate(points):
        first = next((p for p in points[:number] if not g.exclusive(p.guard, second.guard)), None)
        if first is not None:
            yield Evidence(
                "OCL310",
                second.site,
                f"The status of this user event has been set already (line {row(first.site, second.site)}): the "
                "second call fails with INVALID_OPERATION",
                "set it once; make a new user event for every use",
                against=first.site,
                confidence=Confidence.CERTAIN if first.guard <= second.guard else Confidence.LIKELY,
                related=(("it is set here first", first.site), ("it is created here", event.created)),
            )
            return
