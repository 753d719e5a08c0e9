"""OCL204 use-after-unmap and OCL205 mapped-during-device-access: the time in which a mapping is alive."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.findings import Confidence
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import Evidence, check
from kexec_lint.opencl.checks.words import row, start


def unmapped_before(mapping: g.Mapping, node: g.Node) -> bool | None:
    """Return whether the mapping has ended when the host reaches a node, None if on some path only."""
    ends = [guard for _, guard, index in mapping.unmapped if index < node.index]
    if any(guard <= node.guard for guard in ends):
        return True
    return None if any(not g.exclusive(guard, node.guard) for guard in ends) else False


def alive(mapping: g.Mapping, node: g.Node) -> bool:
    """Return whether a region is mapped when the host reaches a node, on some path at least."""
    begun = mapping.command.index < node.index and not g.exclusive(mapping.command.guard, node.guard)
    return begun and unmapped_before(mapping, node) is not True


@check("OCL204")
def use_after_unmap(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield uses of a mapped array after the unmap was enqueued (API specification, clEnqueueUnmapMemObject)."""
    for mapping in graph.mappings:
        if not mapping.unmapped or graph.threaded:
            continue
        for node in graph.nodes:
            uses = [a for a in node.accesses if a.memory.root is mapping.host]
            if not uses or (isinstance(node, g.Command) and node.kind in ("map", "unmap")):
                continue
            end = next((u for u in mapping.unmapped if u[2] < node.index and u[1] <= node.guard), None)
            if end is None:
                continue
            verb = "writes" if any(a.writes for a in uses) else "reads"
            yield Evidence(
                "OCL204",
                node.site,
                f"{start(node)} {verb} the mapped array of `{mapping.memory.name}` after it was unmapped (line "
                f"{row(end[0], node.site)})",
                "move the unmap behind the last use, or copy what is still needed before it: numpy.array(view)",
                against=end[0],
                confidence=Confidence.CERTAIN if all(a.certain for a in uses) else Confidence.LIKELY,
                related=(("the region is unmapped here", end[0]), ("it is mapped here", mapping.command.site)),
            )
            break


@check("OCL205")
def mapped_during_access(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield commands that use an object between its map and its unmap (API specification, clEnqueueMapBuffer).

    Mapped for writing, no command may use it; mapped for reading, none may write it.
    """
    for command in graph.commands:
        if command.kind in ("map", "unmap", "marker", "barrier", "free"):
            continue
        for mapping in graph.mappings:
            found = _conflict(graph, mapping, command)
            if found is None:
                continue
            access, confidence = found
            end = next((u for u in mapping.unmapped if u[2] > command.index), None)
            does = "writes" if access.writes else "uses"
            later = f"it is unmapped in line {row(end[0], command.site)} only" if end else "it is never unmapped"
            yield Evidence(
                "OCL205",
                command.site,
                f"{start(command)} {does} `{access.memory.name}` while it is mapped (line "
                f"{row(mapping.command.site, command.site)}): {later}",
                "release the mapping first (view.base.release(queue), or leave its `with` block); on another or "
                "an out-of-order queue pass the unmap's event on",
                against=mapping.command.site,
                confidence=Confidence.POSSIBLE if graph.threaded else confidence,
                related=(("it is mapped here", mapping.command.site),)
                + ((("it is unmapped here", end[0]),) if end else ()),
                nodes=(mapping.command, command),
            )
            break


@check("OCL205")
def released_while_mapped(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield releases of a memory object of which a region is still mapped."""
    for point in graph.points:
        if point.kind != "release" or point.memory is None or graph.threaded:
            continue
        for mapping in graph.mappings:
            if mapping.memory.root is not point.memory.root or mapping.escaped or not alive(mapping, point):
                continue
            if unmapped_before(mapping, point) is not None:
                yield Evidence(
                    "OCL205",
                    point.site,
                    f"`{point.memory.name}` is released while it is mapped (line "
                    f"{row(mapping.command.site, point.site)})",
                    "release the mapping first: view.base.release(queue)",
                    against=mapping.command.site,
                    related=(("it is mapped here", mapping.command.site),),
                )
                break


def _conflict(graph: g.EnqueueGraph, mapping: g.Mapping, command: g.Command) -> tuple[g.Access, Confidence] | None:
    if mapping.memory.kind == "svm-fine" or not alive(mapping, command):
        return None
    region = next((a for a in mapping.command.accesses if a.memory.root is mapping.memory.root), None)
    for access in command.accesses:
        if region is None or access.memory.root is not mapping.memory.root or not g.overlap(region, access):
            continue
        if any(
            isinstance(node, g.Command)
            and node.kind == "unmap"
            and node.mapping is mapping
            and graph.reaches(node, command)
            for node in graph.nodes
        ):
            continue
        surely = access.writes is True if mapping.writes is False else mapping.writes is True or access.writes is True
        if mapping.writes is False and access.writes is False:
            continue
        sure = surely and not (region.partial or access.partial)
        if not sure or mapping.escaped or unmapped_before(mapping, command) is None:
            return access, Confidence.POSSIBLE
        return access, Confidence.CERTAIN if access.certain else Confidence.LIKELY
    return None
