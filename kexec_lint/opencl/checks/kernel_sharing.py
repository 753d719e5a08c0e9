"""OCL509 kernel-arg-race: one kernel object launched by several threads."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import Evidence, check


@check("OCL509")
def shared_kernel(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield launches of a kernel object that two threads launch without a common lock.

    API specification, appendix A: clSetKernelArg is not thread-safe for one kernel object; PyOpenCL sets the
    arguments on the shared object and then enqueues, and another thread may come between.
    """
    started = [thread for thread in graph.threads if thread.body is not None]
    reported: set[object] = set()
    for number, second in enumerate(started):
        others = [(c, thread.site) for thread in started[:number] for c in _launches(thread.body)]
        others += [
            (c, c.site)
            for c in _launches(graph)
            if c.index >= second.index
            and not any(p.kind == "opaque" and second.index <= p.index < c.index for p in graph.points)
        ]
        for launch in _launches(second.body):
            place = launch.site[-1]
            site = next(
                (
                    site
                    for other, site in others
                    if other.kernel_object is launch.kernel_object and not set(other.locks) & set(launch.locks)
                ),
                None,
            )
            if site is None or (place.path, place.span) in reported:
                continue
            reported.add((place.path, place.span))
            yield Evidence(
                "OCL509",
                launch.site,
                f"The kernel object {launch.what} is launched by several threads without a common lock: one may "
                "set its arguments while another enqueues it",
                "make a kernel in each thread (cl.Kernel(program, name)), or hold one lock over the whole call",
                related=(("a thread is started here", second.site), ("and here", site)),
            )


def _launches(graph: g.EnqueueGraph | None) -> list[g.Command]:
    if graph is None:
        return []
    return [c for c in graph.commands if c.kind == "kernel" and c.kernel_object is not None and not c.array]
