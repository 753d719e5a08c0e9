"""OCL208 svm-host-race for coarse-grain memory: the host may touch it only while it is mapped."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.findings import Confidence
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import Evidence, check
from kexec_lint.opencl.checks.mapping import alive
from kexec_lint.opencl.checks.words import name, row


@check("OCL208")
def coarse_without_map(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield host accesses to coarse-grain memory that no map covers ("Shared Virtual Memory")."""
    if graph.threaded:
        return
    for point in graph.points:
        if point.kind != "access" or point.mapping is not None:
            continue
        for access in point.accesses:
            memory = access.memory.root
            if memory.kind != "svm" or any(m.memory.root is memory and alive(m, point) for m in graph.mappings):
                continue
            command = next(
                (
                    c
                    for c in reversed(graph.commands)
                    if c.index < point.index
                    and not g.exclusive(c.guard, point.guard)
                    and any(a.memory.root is memory for a in c.accesses)
                ),
                None,
            )
            if command is None:
                continue
            verb = "reads" if access.reads else "writes"
            yield Evidence(
                "OCL208",
                point.site,
                f"The host {verb} the coarse-grain memory `{memory.name}` without a map after {name(command)} "
                f"(line {row(command.site, point.site)}) used it",
                f"map it for the time of the access: with cl.SVM({memory.name}).map_rw(queue) as view",
                against=command.site,
                confidence=Confidence.CERTAIN if access.certain else Confidence.LIKELY,
                related=((f"`{memory.name}` is created here", memory.created),),
                nodes=(command, point),
            )
