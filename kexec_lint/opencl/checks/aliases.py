"""OCL108 for buffers over one host memory, OCL207: what CL_MEM_USE_HOST_PTR does not promise."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from kexec_lint.findings import Confidence
from kexec_lint.opencl import NATIVE
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import Evidence, check
from kexec_lint.opencl.checks.words import name, row, start

_NATIVE = tuple(NATIVE)


def _over_host(graph: g.EnqueueGraph) -> list[g.Memory]:
    return [m for m in graph.memories if m.kind != "host" and m.host_pointer is not None]


@check("OCL108")
def one_host_pointer(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield uses of a second buffer over the same host memory when a command writes one of the two.

    API specification, CL_MEM_USE_HOST_PTR: the result is undefined, whatever orders the commands.
    """
    buffers = _over_host(graph)
    for number, second in enumerate(buffers):
        for first in buffers[:number]:
            assert first.host_pointer is not None
            assert second.host_pointer is not None
            if first.host_pointer.root is not second.host_pointer.root or _same_place(first, second):
                continue
            found = _pair(graph, first, second)
            if found is not None:
                earlier, later, used, confidence = found
                other = second if used is first else first
                yield Evidence(
                    "OCL108",
                    later.site,
                    f"{start(later)} uses `{used.name}`, which shares its host memory with `{other.name}` of "
                    f"{name(earlier)} (line {row(earlier.site, later.site)}): each buffer may hold a copy of its "
                    "own on the device",
                    "make one buffer over the host memory, or let each have its own copy with COPY_HOST_PTR",
                    against=earlier.site,
                    confidence=Confidence.POSSIBLE if graph.threaded else confidence,
                    related=tuple(
                        (f"`{m.name}` is created over the host memory here", m.created) for m in (first, second)
                    ),
                    nodes=(earlier, later),
                )


def _same_place(a: g.Memory, b: g.Memory) -> bool:
    """Return whether two objects come from one line that runs more than once, each alive in its turn only."""
    return bool(a.created and b.created) and a.created[-1].span == b.created[-1].span


def _pair(
    graph: g.EnqueueGraph, first: g.Memory, second: g.Memory
) -> tuple[g.Command, g.Command, g.Memory, Confidence] | None:
    uses: list[tuple[g.Command, g.Access]] = [
        (command, access)
        for command in graph.commands
        for access in command.accesses
        if access.memory.root in (first, second)
    ]
    if any(
        one is other and a.memory.root is not b.memory.root and (a.role, a.position) == (b.role, b.position)
        for (one, a), (other, b) in combinations(uses, 2)
    ):
        return None  # one operand is either of them: two branches, of which one made it
    for at, (later, use) in enumerate(uses):
        for earlier, before in uses[:at]:
            if before.memory.root is use.memory.root or g.exclusive(earlier.guard, later.guard):
                continue
            if _released_between(graph, before.memory.root, earlier, later):
                continue
            if (before.writes and earlier.kind != "migrate") or (use.writes and later.kind != "migrate"):
                level = Confidence.CERTAIN if before.certain and use.certain else Confidence.LIKELY
                return earlier, later, use.memory.root, level
    return None


def _released_between(graph: g.EnqueueGraph, memory: g.Memory, earlier: g.Command, later: g.Command) -> bool:
    return any(
        isinstance(node, g.HostPoint) and node.kind == "release" and node.memory is memory
        for node in graph.nodes[earlier.index : later.index]
    )


@check("OCL207")
def host_pointer_without_map(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield host accesses to the memory behind a buffer after commands used the buffer, without a map.

    API specification, CL_MEM_USE_HOST_PTR: the implementation may cache the contents in device memory; the host
    sees them after a map, or a read into its memory.
    """
    if graph.threaded:
        return
    buffers = _over_host(graph)
    for point in graph.points:
        if point.kind != "access" or point.mapping is not None:
            continue
        for access in point.accesses:
            for buffer in buffers:
                if buffer.host_pointer is None or buffer.host_pointer.root is not access.memory.root:
                    continue
                earlier = _not_fetched(graph, buffer, point, access)
                if earlier is None:
                    continue
                command, confidence = earlier
                verb = "reads" if access.reads else "writes"
                yield Evidence(
                    "OCL207",
                    point.site,
                    f"The host {verb} `{access.memory.name}`, the memory behind `{buffer.name}`, without a map "
                    f"after {name(command)} (line {row(command.site, point.site)}) used the buffer",
                    f"map `{buffer.name}` around the access (enqueue_map_buffer, then release), or read it into "
                    "the array with enqueue_copy",
                    against=command.site,
                    confidence=confidence
                    if access.certain
                    else max(confidence, Confidence.LIKELY, key=lambda one: one.rank),
                    related=((f"`{buffer.name}` is created over the array here", buffer.created),),
                    nodes=(command, point),
                )


def _not_fetched(
    graph: g.EnqueueGraph, buffer: g.Memory, point: g.HostPoint, access: g.Access
) -> tuple[g.Command, Confidence] | None:
    """Return the last command that used the buffer with nothing after it that brings its contents to the host."""
    found: tuple[g.Command, Confidence] | None = None
    used_later = False
    for command in graph.commands:
        if g.exclusive(command.guard, point.guard):
            continue
        uses = [a for a in command.accesses if a.memory.root is buffer]
        if command.index > point.index:
            used_later |= bool(uses)
            continue
        if command.kind == "migrate" and not any(a.role == "behind" for a in command.accesses):
            continue  # the contents stay what they are
        fetched = any(a.memory.root is access.memory.root and a.writes for a in command.accesses)
        if fetched or (uses and command.kind in ("map", "unmap")):
            found = None
        elif any(a.writes for a in uses) or (uses and not access.reads):
            found = command, Confidence.CERTAIN
        elif any(a.writes is None for a in uses):
            seen = not command.site[-1].path.endswith(_NATIVE)
            found = command, Confidence.LIKELY if seen else Confidence.POSSIBLE
    return found if access.reads or used_later else None
