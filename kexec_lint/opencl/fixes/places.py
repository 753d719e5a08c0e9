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


@fixes("OCL307", nodes=0)
def list_passed_on(case: Case) -> Iterator[Candidate]:
    """Pass the list that nothing reads to the next command that has no wait list; its author may have meant another."""
    at = case.evidence.at
    built = case.tree.node_at(at[-1].span) if at[-1].path == case.path else None
    if not isinstance(built, cst.Assign) or not isinstance(built.targets[0].target, cst.Name):
        return
    name = built.targets[0].target.value
    outer = next((at for at in case.tree.above(built) if isinstance(at, (cst.If, cst.FunctionDef))), None)
    if isinstance(outer, cst.If) and "callers" in case.evidence.message:
        first: cst.CSTNode = outer  # the default of a parameter: a list on both paths
    else:
        first = built
    following = (c for c in case.graph.commands if c.site[: len(at) - 1] == at[:-1] and len(c.site) >= len(at))
    for command in following:
        here = command.site[len(at) - 1]
        call = case.tree.call_at(here.span) if here.path == case.path and here.frame == at[-1].frame else None
        if call is None or here.span < at[-1].span or not case.tree.precedes(first, call):
            continue
        changes = calls.wait_for(
            case.tree, call, [f"*{name}"], len(command.site) == len(at) and command.kind == "kernel"
        )
        if changes:
            yield Candidate(f"Wait for `{name}`", tuple(changes), safe=False)
        return


@fixes("OCL308", nodes=0)
def only_events(case: Case) -> Iterator[Candidate]:
    """Leave None out of the list; let the host wait for an event of another context."""
    at = case.evidence.at[-1]
    call = case.tree.call_at(at.span) if at.path == case.path else None
    present = calls.wait_list(call) if call is not None else None
    if call is None or present is None or not isinstance(present.value, (cst.List, cst.Tuple)):
        return
    start, end = case.tree.whole(present.value)
    inner = [element.value for element in present.value.elements]
    if not all(isinstance(one, (cst.Name, cst.Attribute)) for one in inner):
        return
    names = [case.tree.source(one) for one in inner]
    if "None" in case.evidence.message:
        filtered = f"[event for event in [{', '.join(names)}] if event is not None]"
        single = [f"[{names[0]}] if {names[0]} is not None else None"] if len(names) == 1 else []
        for text in (*single, filtered):
            yield Candidate("Leave None out of the list", (Change(start, end, text),))
        return
    line, removed = case.tree.line(call), calls.remove_argument(case.tree, call, present)
    if line is not None and removed and len(names) == 1:
        waiting = case.tree.before(line, f"{names[0]}.wait()")
        yield Candidate(f"Call `{names[0]}.wait()` before it", (waiting, *removed))


@fixes("OCL110", nodes=0)
def not_needed(case: Case) -> Iterator[Candidate]:
    """Take the synchronisation out: it may be there to measure, or to see errors early."""
    at = case.evidence.at[-1]
    call = case.tree.call_at(at.span) if at.path == case.path else None
    if call is None:
        return
    listed = calls.wait_list(call)
    removed = calls.remove_argument(case.tree, call, listed) if listed is not None else case.tree.taken_out(call)
    if removed:
        yield Candidate("Leave it out", tuple(removed), safe=False)
