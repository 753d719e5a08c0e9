"""OCL501 in library code: a raw command does not wait for events that an Array may bring along from the caller."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.findings import Confidence
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import Evidence, check
from kexec_lint.opencl.checks.words import start
from kexec_lint.opencl.interpreter.values import Unknown


@check("OCL501")
def forgotten_array(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield commands on a queue that may be out-of-order whose wait list lacks the events of one of their Arrays.

    Pending events are to be expected of an Array on which the program keeps events or for which another of its
    commands waits, and of a parameter when the same wait list holds the events of the kernel's other Arrays. Silent
    once something has waited for the Array.
    """
    waited_for = frozenset[object]().union(
        # PyOpenCL's own downloads wait for whatever there is
        *(c.waits_for_arrays for c in graph.commands if not (c.array and c.kind in ("read", "map")))
    )
    for command in graph.commands:
        if command.array:
            continue
        if command.queue is None or command.queue.order is not g.Order.OUT_OF_ORDER:
            continue
        for access in command.accesses:
            array = access.array
            if array is None or array in command.waits_for_arrays or access.reads is False is access.writes:
                continue
            expected = array in graph.tracked_arrays or array in waited_for
            expected |= bool(command.waits_for_arrays) and _from_caller(array)
            if not expected or not _from_before(array) or _waited(graph, command, array):
                continue
            words = array.name if isinstance(array, Unknown) and array.key[0] != "before" else access.memory.name
            yield Evidence(
                "OCL501",
                command.site,
                f"{start(command)} uses `{words}.data` without waiting for the events that `{words}` may hold",
                f"add {words}.events to wait_for: `data` hands out the memory without its events",
                confidence=Confidence.LIKELY,
                nodes=(command,),
            )
            break


def _from_caller(array: object) -> bool:
    while isinstance(array, Unknown) and array.key[0] in ("attr", "item"):
        array = array.key[1]
    return isinstance(array, Unknown) and array.key[0] == "param"


def _from_before(array: object) -> bool:
    """Return whether the Array existed before the entry point was called."""
    return _from_caller(array) or (isinstance(array, Unknown) and array.key[0] in ("before", "attr", "item"))


def _waited(graph: g.EnqueueGraph, command: g.Command, array: object) -> bool:
    """Return whether the host, or an earlier command that is ordered before, waited for the Array."""
    for node in graph.nodes[: command.index]:
        if isinstance(node, g.HostPoint) and (
            node.kind == "finish" or node.covers == node.index or array in node.arrays
        ):
            return True
        if isinstance(node, g.Command) and array in node.waits_for_arrays and graph.reaches(node, command):
            return True
    return False
