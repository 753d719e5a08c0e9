"""ACM101: a rule of the house, over the enqueue graph."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import Evidence, check


@check("ACM101")
def unnamed_transfer(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield blocking transfers: in this house a transfer hands on its event."""
    for command in graph.commands:
        if command.kind in ("read", "write", "copy") and command.blocking is True:
            yield Evidence(
                "ACM101", command.site, "This transfer blocks the host", "pass is_blocking=False and its event on"
            )
