"""How sure it is that two accesses which nothing orders conflict."""

from __future__ import annotations

from kexec_lint.findings import Confidence
from kexec_lint.opencl import graph as g


def judge(graph: g.EnqueueGraph, conflict: g.Conflict) -> Confidence | None:
    """Return how sure it is that the two accesses conflict, None if they do not."""
    first, second = conflict.first, conflict.second
    earlier, later = conflict.earlier, conflict.later
    if graph.threaded:
        return Confidence.POSSIBLE
    partial = first.partial or first.memory.partial, second.partial or second.memory.partial
    if all(partial) or (any(partial) and (first.extent is not None or second.extent is not None)):
        return Confidence.POSSIBLE
    if (not first.certain and not second.certain) or second.role == "passed":
        return Confidence.POSSIBLE
    if second.memory.root.kind == "svm-shared" and getattr(later, "kind", "") == "access":
        return Confidence.POSSIBLE  # host and device may work on different bytes of it at once
    level = Confidence.CERTAIN if first.certain and second.certain else Confidence.LIKELY
    if isinstance(earlier, g.Command) and isinstance(later, g.Command):
        if earlier.kernel_object is later.kernel_object and earlier.kind == later.kind == "library":
            return None  # two runs of one command buffer: OCL111
        kernels = _kernel_pair(earlier, later, first, second, conflict.hazard)
        if kernels is None:
            return None
        if kernels.rank > level.rank:
            level = kernels
        if earlier.queue is later.queue is not None and later.queue.maybe:
            level = max(level, Confidence.LIKELY, key=lambda one: one.rank)
    return level


def _kernel_pair(
    earlier: g.Command, later: g.Command, first: g.Access, second: g.Access, hazard: str
) -> Confidence | None:
    """Judge what is known of the kernels' accesses."""
    unknown = first.writes is None or first.reads is None, second.writes is None or second.reads is None
    alike = (
        earlier.kind == later.kind == "kernel"
        and first.position is not None
        and first.position == second.position
        and first.memory is second.memory
        and _same_kernel(earlier, later)
    )
    if alike:
        repeated = (
            earlier.launch is not None and later.launch is not None and _same_launch(earlier.launch, later.launch)
        )
        if any(unknown):
            return Confidence.POSSIBLE
        if first.reads and first.writes and second.reads and second.writes:
            return Confidence.CERTAIN if repeated else Confidence.LIKELY
        return Confidence.POSSIBLE
    if not any(unknown):
        return Confidence.CERTAIN
    if first.writes or second.writes:
        return Confidence.LIKELY
    if all(unknown):
        if _same_kernel(earlier, later):
            return Confidence.LIKELY
        memory = first.memory.root
        return Confidence.LIKELY if memory.known and not memory.initialised else Confidence.POSSIBLE
    sure = second if unknown[0] else first
    if sure.memory.access == "read":
        return None
    if (later.kind in ("read", "migrate") or (later.kind == "map" and second.reads)) and unknown[0]:
        return Confidence.LIKELY  # why fetch what no kernel has written?
    return Confidence.POSSIBLE


def _same_kernel(a: g.Command, b: g.Command) -> bool:
    if a.kernel is not None and a.kernel == b.kernel:
        return True
    if a.kernel_object is None:
        return False
    one, other = getattr(a.kernel_object, "state", None), getattr(b.kernel_object, "state", None)
    return a.kernel_object == b.kernel_object or (one is not None and one is other)


def _same_launch(a: g.Launch, b: g.Launch) -> bool:
    if len(a.values) != len(b.values):
        return False
    return all(i == j and (v is w or v == w) for (i, v), (j, w) in zip(a.values, b.values, strict=True))
