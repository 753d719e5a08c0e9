"""Fixes for the host that touches memory in flight: a wait, a blocking transfer, finish instead of flush."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.fixes import calls, capture
from kexec_lint.opencl.fixes.candidate import Candidate, fixes
from kexec_lint.opencl.fixes.changes import Change
from kexec_lint.opencl.fixes.pairs import Case, queue_text

_IN_FLIGHT = ("OCL102", "OCL105", "OCL201", "OCL202", "OCL206", "OCL208", "OCL209", "OCL210", "OCL211")
_BLOCKING = {"is_blocking": "True", "async_": "False", "blocking": "True"}


@fixes("OCL210")
def finish_for_flush(case: Case) -> Iterator[Candidate]:
    """Make the flush between the two a finish."""
    first = case.evidence.nodes[0]
    for node in case.between:
        flushes = isinstance(node, g.HostPoint) and node.kind == "flush"
        if flushes and isinstance(first, g.Command) and node.queue is first.queue:  # type: ignore[attr-defined]
            call = case.call_of(node)
            if call is not None and isinstance(call.func, cst.Attribute) and calls.called(call) == "flush":
                change = Change(*case.tree.range(call.func.attr), "finish")
                yield Candidate("Use `finish`", (change,), first=True)


@fixes(*_IN_FLIGHT, "OCL312", "OCL508")
def wait_before(case: Case) -> Iterator[Candidate]:
    """Wait for the events of the earlier commands before the host touches the memory."""
    if not isinstance(case.later, g.HostPoint) or case.at is None or case.line is None:
        return
    waits: dict[str, None] = {}
    changes: list[Change] = []
    taken = set(case.taken)
    for command in case.earlier:
        producer = case.call_of(command)
        if producer is None or not case.tree.precedes(producer, case.line):
            return
        pair = command.kind == "map" or command.what == "get"
        found = capture.event_of(case.tree, producer, taken, mapped=pair)
        if found is None:
            return
        waits[f"{found.text}.wait()"] = None
        changes += found.changes
    changes += [case.tree.before(case.line, "; ".join(waits))]
    yield Candidate(f"Call {' and '.join(f'`{wait}`' for wait in waits)} before it", tuple(changes))


@fixes("OCL201", "OCL202", "OCL206", "OCL210", "OCL211", "OCL508")
def blocking(case: Case) -> Iterator[Candidate]:
    """Make the transfers blocking."""
    changes: list[Change] = []
    for command in case.earlier:
        producer = case.call_of(command)
        if producer is None:
            return
        present = [(name, arg) for name in _BLOCKING if (arg := calls.argument(producer, name)) is not None]
        for name, arg in present:
            if not isinstance(arg.value, cst.Name) or arg.value.value not in ("True", "False"):
                return
            changes.append(Change(*case.tree.whole(arg.value), _BLOCKING[name]))
        if not present:
            return
    if changes:
        yield Candidate("Make the transfer blocking", tuple(changes))


@fixes(*_IN_FLIGHT)
def finish_before(case: Case) -> Iterator[Candidate]:
    """Finish the queue of the earlier commands: waits for more than is needed, but knows no names."""
    if not isinstance(case.later, g.HostPoint) or case.at is None or case.line is None:
        return
    finishes: dict[str, None] = {}
    for command in case.earlier:
        producer = case.call_of(command)
        text = queue_text(case.tree, producer)
        if producer is None or text is None or case.tree.function(producer) is not case.tree.function(case.at):
            return
        finishes[f"{text}.finish()"] = None
    what = " and ".join(f"`{text}`" for text in finishes)
    yield Candidate(f"Call {what} before it", (case.tree.before(case.line, "; ".join(finishes)),), safe=False)


@fixes("OCL205")
def unmap_before(case: Case) -> Iterator[Candidate]:
    """End the mapping before the command, by the call that ends it too late if there is one."""
    mapping = getattr(case.evidence.nodes[0], "mapping", None)
    call, line = case.call_of(case.evidence.nodes[0]), case.line
    if not isinstance(mapping, g.Mapping) or call is None or line is None or not case.tree.precedes(call, line):
        return
    late = next((site for site, _, index in mapping.unmapped if index > case.later.index), None)
    if late is not None:
        ends = case.tree.call_at(late[-1].span) if late[-1].path == case.path else None
        taken = case.tree.taken_out(ends) if ends is not None else None
        if ends is not None and taken is not None and case.tree.function(ends) is case.tree.function(line):
            text = case.tree.source(ends)
            yield Candidate(f"Call `{text}` before it", (case.tree.before(line, text), *taken), safe=False)
        return
    array = capture.array_of(case.tree, call)
    if array is not None:
        text = f"{array}.base.release({queue_text(case.tree, call) or ''})"
        yield Candidate(f"Call `{text}` before it", (case.tree.before(line, text),), safe=False)
