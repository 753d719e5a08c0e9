"""OCL504 pool-cross-queue and OCL506 svm-copy-lifetime: memory that is handed out again, or gone, in flight."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.findings import Confidence
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import Evidence, check
from kexec_lint.opencl.checks.words import name, row, start


def running(graph: g.EnqueueGraph, memory: g.Memory, point: g.Node) -> list[g.Command]:
    """Return the commands that use a memory object and may still run at a point."""
    return [
        command
        for command in graph.commands
        if command.index < point.index
        and not g.exclusive(command.guard, point.guard)
        and any(a.memory.root is memory for a in command.accesses)
        and not graph.reaches(command, point)
    ]


@check("OCL504")
def reused_block(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield commands that may get a pool's block while one of another queue still uses it.

    A MemoryPool hands a freed block out again without synchronisation (`src/wrap_mempool.cpp`, issue 447).
    """
    if graph.threaded:
        return
    reported: set[int] = set()
    for memory, point in graph.freed:
        for earlier in running(graph, memory, point):
            later = next(
                (
                    c
                    for c in graph.commands
                    if c.index > point.index
                    and not g.exclusive(c.guard, point.guard)
                    and _new_block(memory, point, c)
                    and not graph.reaches(earlier, c)
                ),
                None,
            )
            if later is None or later.index in reported:
                continue
            reported.add(later.index)
            assert earlier.queue is not None
            yield Evidence(
                "OCL504",
                later.site,
                f"{start(later)} may get the pool's block of `{memory.name}`, which {name(earlier)} (line "
                f"{row(earlier.site, later.site)}) on `{earlier.queue.name}` may still use: it went back to the "
                f"pool in line {row(point.site, later.site)}, which does not wait",
                f"finish `{earlier.queue.name}` before the block goes back, give each queue a pool of its own, or "
                "use SVMPool with an SVMAllocator(context, queue=queue)",
                against=earlier.site,
                confidence=Confidence.LIKELY,
                related=(
                    (f"{name(earlier)} uses the block here", earlier.site),
                    ("the block goes back to the pool here", point.site),
                ),
                nodes=(earlier, later),
            )


def _new_block(old: g.Memory, point: g.HostPoint, command: g.Command) -> bool:
    """Return whether a command uses a block that the pool has handed out since, of a size that may fit."""
    for access in command.accesses:
        memory = access.memory.root
        if memory.pool is None or memory.pool is not old.pool or memory is old or memory.born < point.index:
            continue
        if old.size is None or memory.size is None or old.size // 2 < memory.size <= old.size:
            return True
    return False


@check("OCL506")
def host_array_dies(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield asynchronous SVM copies whose host array may be gone before they are complete.

    PyOpenCL, `src/wrap_cl.hpp`, `enqueue_svm_memcpy`: the call keeps no reference to a host array.
    """
    for memory, command, point in graph.host_deaths:
        if graph.reaches(command, point) or graph.threaded:
            continue
        here = command.site[-1].span
        temporary = memory.created and here.row <= memory.created[-1].span.row <= here.end_row
        what = "a temporary array" if temporary else f"`{memory.name}`, which does not outlive it"
        yield Evidence(
            "OCL506",
            command.site,
            f"An asynchronous SVM copy of {what}: PyOpenCL keeps no reference to it, so its memory may be freed "
            "while the copy runs",
            "keep the array until the copy's event was waited for, or copy with is_blocking=True",
            related=((f"`{memory.name}` is created here", memory.created),) if memory.created else (),
        )
