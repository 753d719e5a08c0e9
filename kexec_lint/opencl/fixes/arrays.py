"""Fixes for `pyopencl.array`: `x.events` into the wait list, `x.add_event(…)` for what a kernel writes."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.api.pyopencl import ARRAY_STORAGE
from kexec_lint.opencl.fixes import calls, capture
from kexec_lint.opencl.fixes.candidate import Candidate, fixes
from kexec_lint.opencl.fixes.changes import Change
from kexec_lint.opencl.fixes.pairs import Case
from kexec_lint.opencl.fixes.tree import Tree


@fixes("OCL501", nodes=1)
def events_of_array(case: Case) -> Iterator[Candidate]:
    """Add the events of the Arrays whose memory a kernel gets: first of the one that is named, then of all."""
    later = case.later
    span = case.evidence.at[-1].span if len(case.evidence.nodes) < 2 else None
    call = case.tree.call_at(span) if span is not None and case.evidence.at[-1].path == case.path else case.at
    if not isinstance(call, cst.Call) or not isinstance(later, g.Command):
        return
    every = _arrays(case.tree, call)
    for arrays in (*([array] for array in every), every if len(every) > 1 else []):
        changes = arrays and calls.wait_for(
            case.tree, call, [f"*{array}.events" for array in arrays], case.launches(call)
        )
        if changes:
            names = " and ".join(f"`{array}.events`" for array in arrays)
            yield Candidate(f"Wait for {names}", tuple(changes), first=True)
            flushes = "; ".join(f"{array}.queue.flush()" for array in arrays)
            line = case.tree.line(call)
            if line is not None:
                flushed = (*changes, case.tree.before(line, flushes))
                yield Candidate(f"Wait for {names}, and flush its queue", flushed, first=True)


@fixes("OCL502")
def event_added(case: Case) -> Iterator[Candidate]:
    """Give the event of the kernel to the Arrays whose memory it gets."""
    for command in case.earlier:
        producer = case.call_of(command)
        if producer is None:
            continue
        arrays = _arrays(case.tree, producer) or _names(case.tree, producer)
        for array in arrays:
            changes = _add_event(case, producer, array)
            if changes:
                yield Candidate(f"Call `{array}.add_event`", tuple(changes), first=True)


@fixes("OCL503")
def finish_array(case: Case) -> Iterator[Candidate]:
    """Finish the queue of the Array before the operation: it takes no wait list, and `Array.finish` misses readers."""
    match case.at:
        case cst.Call(func=cst.Attribute(value=cst.Name(value=array))) | cst.AugAssign(target=cst.Name(value=array)):
            statement = f"{array}.queue.finish()"
        case _:
            return
    if case.line is not None:
        yield Candidate(f"Call `{statement}` before it", (case.tree.before(case.line, statement),), safe=False)


def _add_event(case: Case, producer: cst.Call, array: str) -> list[Change] | None:
    tree = case.tree
    if isinstance(tree.parent(producer), cst.Expr):
        start, end = tree.whole(producer)
        return [Change(start, start, f"{array}.add_event("), Change(end, end, ")")]
    line = tree.line(producer)
    found = capture.event_of(tree, producer, set(case.taken))
    if found is None or not isinstance(line, cst.SimpleStatementLine):
        return None
    return [*found.changes, tree.behind(line, f"{array}.add_event({found.text})")]


def _arrays(tree: Tree, call: cst.Call) -> list[str]:
    """Return the expressions whose `data` a call gets."""
    found = [
        tree.source(arg.value.value)
        for arg in call.args
        if isinstance(arg.value, cst.Attribute) and arg.value.attr.value in ARRAY_STORAGE
    ]
    return list(dict.fromkeys(found))


def _names(tree: Tree, call: cst.Call) -> list[str]:
    return [tree.source(arg.value) for arg in call.args if isinstance(arg.value, (cst.Name, cst.Attribute))]
