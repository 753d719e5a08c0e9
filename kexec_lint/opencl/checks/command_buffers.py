"""OCL111 cmdbuf-simultaneous-use: a command buffer is enqueued again while it may still run."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.findings import Confidence
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import Evidence, check
from kexec_lint.opencl.checks.words import row


def recorded(command: g.Command) -> object | None:
    """Return the command buffer that a command runs, None for any other command."""
    made = command.kernel_object
    return made if getattr(made, "kind", "") == "command_buffer" else None


@check("OCL111")
def simultaneous_use(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield runs of a command buffer that nothing orders after an earlier run of the same one.

    Extension specification, cl_khr_command_buffer: without CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR a command buffer
    must not be enqueued while a previous run is pending, unless the new run waits for it.
    """
    runs = [c for c in graph.commands if recorded(c) is not None]
    for number, later in enumerate(runs):
        buffer = recorded(later)
        if getattr(buffer, "state", {}).get("simultaneous") is not False:
            continue
        for earlier in reversed(runs[:number]):
            if recorded(earlier) is not buffer or g.exclusive(earlier.guard, later.guard):
                continue
            if not graph.reaches(earlier, later):
                yield Evidence(
                    "OCL111",
                    later.site,
                    f"The command buffer is enqueued again while its run of line {row(earlier.site, later.site)} may "
                    "still be pending",
                    "put the event of the earlier run into the wait list, finish the queue in between, or create the "
                    "command buffer with CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR",
                    against=earlier.site,
                    confidence=Confidence.POSSIBLE if graph.threaded else Confidence.CERTAIN,
                    related=(("the earlier run is enqueued here", earlier.site),),
                    nodes=(earlier, later),
                )
            break
