"""Fixes at a single call: a profiling queue, a wait list that is a list."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from kexec_lint.opencl.fixes import calls
from kexec_lint.opencl.fixes.candidate import Candidate, fixes
from kexec_lint.opencl.fixes.changes import Change
from kexec_lint.opencl.fixes.pairs import Case

_FLAG = "command_queue_properties.PROFILING_ENABLE"


@fixes("OCL311", nodes=0)
def profiling(case: Case) -> Iterator[Candidate]:
    """Create the queue with profiling."""
    created = case.evidence.against
    call = case.tree.call_at(created[-1].span) if created and created[-1].path == case.path else None
    if call is None or calls.called(call) != "CommandQueue":
        return
    if isinstance(call.func, cst.Attribute):
        flag = f"{case.tree.source(call.func.value)}.{_FLAG}"
    elif case.tree.pyopencl is not None:
        flag = f"{case.tree.pyopencl}.{_FLAG}"
    else:
        return
    present = calls.argument(call, "properties")
    changes: list[Change] | None
    if present is None:
        changes = calls.add_keyword(case.tree, call, f"properties={flag}")
    elif isinstance(present.value, cst.Integer) and present.value.evaluated_value == 0:
        changes = [Change(*case.tree.whole(present.value), flag)]
    elif isinstance(present.value, (cst.Name, cst.Attribute, cst.BinaryOperation)):
        if isinstance(present.value, cst.Name) and present.value.value == "None":
            changes = [Change(*case.tree.whole(present.value), flag)]
        else:
            end = case.tree.whole(present.value)[1]
            changes = [Change(end, end, f" | {flag}")]
    else:
        return
    if changes:
        yield Candidate("Create the queue with PROFILING_ENABLE", tuple(changes))


@fixes("OCL306", nodes=0)
def list_of_events(case: Case) -> Iterator[Candidate]:
    """Put brackets around a single event."""
    at = case.evidence.at[-1]
    call = case.tree.call_at(at.span) if at.path == case.path else None
    present = calls.argument(call, "wait_for") if call is not None else None
    if present is not None and isinstance(present.value, (cst.Name, cst.Attribute, cst.Subscript, cst.Call)):
        start, end = case.tree.whole(present.value)
        yield Candidate("Make it a list", (Change(start, start, "["), Change(end, end, "]")))
