"""OCL309 blocking-in-callback: what a function that the runtime calls must not do."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.findings import Severity
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import Evidence, check


@check("OCL309")
def blocking_in_callback(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield blocking calls in event callbacks, and commands enqueued there with no flush after them.

    API specification, clSetEventCallback: the behaviour of blocking calls in a callback is undefined; a callback
    that enqueues must flush.
    """
    for callback in graph.callbacks:
        body = callback.body
        if body is None:
            continue
        registered = ("the function is registered here", callback.site)
        blocking = [
            p for p in body.points if p.kind == "finish" or (p.kind == "wait" and not p.what.startswith("finish of"))
        ]
        for point in blocking[:1]:
            what = "finish()" if point.kind == "finish" else "a blocking call"
            yield Evidence(
                "OCL309",
                point.site,
                f"{what[0].upper()}{what[1:]} in an event callback: the thread that calls it may be the one that "
                "has to complete the command",
                "only signal another thread from the callback (threading.Event.set()), and wait there",
                related=(registered,),
            )
        if blocking or not body.commands:
            continue
        last = body.commands[-1]
        if not any(p.kind in ("flush", "opaque") and p.index > last.index for p in body.points):
            yield Evidence(
                "OCL309",
                last.site,
                "A command is enqueued in an event callback and never flushed there: nothing may ever submit it",
                "call queue.flush() at the end of the callback",
                severity=Severity.WARNING,
                related=(registered,),
            )
