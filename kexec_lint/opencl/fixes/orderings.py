"""Fixes for commands that nothing orders on the device: OCL101 to OCL107, OCL501 to OCL503."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.fixes import calls, capture
from kexec_lint.opencl.fixes.candidate import Candidate, fixes
from kexec_lint.opencl.fixes.changes import Change
from kexec_lint.opencl.fixes.pairs import Case, queue_text


@fixes("OCL101", "OCL102", "OCL103", "OCL104", "OCL105", "OCL106", "OCL108", "OCL109", "OCL501", "OCL502", "OCL503")
def wait_list(case: Case) -> Iterator[Candidate]:
    """Put the events of the earlier commands into the wait list of the later one."""
    call = case.at
    if not isinstance(call, cst.Call) or not isinstance(case.later, g.Command):
        return
    for named in _named(case, call):
        widened = calls.wait_for(case.tree, call, named.events, case.launches(call))
        if widened is None:
            continue
        changes = (*named.changes, *widened)
        yield Candidate(f"Wait for {named.words}", changes, covers=named.commands)
        flushes = _flushes(case, named)
        if flushes:
            what = f"Wait for {named.words}, and flush its queue"
            yield Candidate(what, (*changes, *flushes), covers=named.commands)


@dataclass(frozen=True)
class Named:
    """Expressions for events of earlier commands, the changes that give them names, and the calls."""

    events: list[str]
    changes: list[Change]
    calls: list[cst.Call]
    commands: tuple[g.Command, ...]

    @property
    def words(self) -> str:
        """The events for a sentence."""
        return ", ".join(f"`{event.lstrip('*')}`" for event in self.events)


def _named(case: Case, call: cst.Call) -> Iterator[Named]:
    """Yield ways to name the events of the earlier commands, of as many as can be named before the call."""
    for from_lists in (False, True):
        events: dict[str, None] = {}
        changes: list[Change] = []
        producers: list[cst.Call] = []
        commands: list[g.Command] = []
        taken = set(case.taken)
        for command in case.earlier:
            producer = case.call_of(command)
            if producer is None or case.tree.function(producer) is not case.tree.function(call):
                continue
            found = None
            if from_lists:
                found = capture.list_of(case.tree, producer)
            elif case.tree.precedes(producer, call):
                found = capture.event_of(case.tree, producer, taken, mapped=command.kind == "map")
            else:
                found = capture.kept_in(case.tree, producer, call)
            if found is not None:
                events[found.text] = None
                changes += found.changes
                producers.append(producer)
                commands.append(command)
        if case.evidence.nodes[0] in commands:
            yield Named(list(events), changes, producers, tuple(commands))


def _flushes(case: Case, named: Named) -> list[Change]:
    """Flush the queues of the earlier commands where it is another one than that of the later command."""
    later = case.later
    found: dict[str, Change] = {}
    for producer, command in zip(named.calls, named.commands, strict=True):
        line = case.tree.line(producer)
        queue = queue_text(case.tree, producer)
        another = isinstance(later, g.Command) and command.queue is not later.queue
        if another and queue is not None and isinstance(line, cst.SimpleStatementLine):
            found[queue] = case.tree.behind(line, f"{queue}.flush()")
    return list(found.values())


@fixes("OCL103")
def barrier_for_marker(case: Case) -> Iterator[Candidate]:
    """Make the marker between the two a barrier."""
    for node in case.between:
        if isinstance(node, g.Command) and node.kind == "marker" and node.wait_list in ("none", "empty"):
            call = case.call_of(node)
            if call is not None and isinstance(call.func, cst.Attribute) and "marker" in calls.called(call):
                name = call.func.attr
                changed = name.value.replace("marker", "barrier")
                yield Candidate(f"Use `{changed}`", (Change(*case.tree.range(name), changed),), first=True)


@fixes("OCL104")
def barrier_list(case: Case) -> Iterator[Candidate]:
    """Widen the list of the barrier between the two, or drop it: a barrier without a list waits for everything."""
    for node in case.between:
        if not isinstance(node, g.Command) or node.kind != "barrier" or node.wait_list != "events":
            continue
        call = case.call_of(node)
        present = calls.argument(call, "wait_for") if call is not None else None
        if call is None or present is None:
            continue
        for named in _named(case, call):
            widened = calls.widen(case.tree, present.value, named.events)
            if widened:
                what = f"Add {named.words} to the barrier"
                yield Candidate(what, (*named.changes, *widened), first=True, covers=named.commands)
        dropped = calls.remove_argument(case.tree, call, present)
        if dropped:
            yield Candidate("Drop the barrier's list, so that it waits for everything", tuple(dropped), safe=False)


@fixes("OCL101", "OCL102", "OCL103", "OCL105", "OCL106", "OCL108", "OCL503")
def barrier(case: Case) -> Iterator[Candidate]:
    """Hold the later command back by a barrier: orders more than is needed, but knows no names."""
    later = case.later
    call = case.at
    line = case.line
    if not isinstance(call, cst.Call) or not isinstance(later, g.Command) or line is None:
        return
    queues = {command.queue for command in case.earlier}
    queue = queue_text(case.tree, call)
    module = case.tree.pyopencl
    if queues == {later.queue} and queue is not None and module is not None:
        statement = f"{module}.enqueue_barrier({queue})"
        yield Candidate("Put a barrier before it", (case.tree.before(line, statement),), safe=False)
        return
    finishes: dict[str, None] = {}
    for command in case.earlier:
        producer = case.call_of(command)
        text = queue_text(case.tree, producer)
        if producer is None or text is None or case.tree.function(producer) is not case.tree.function(call):
            return
        finishes[f"{text}.finish()"] = None
    if finishes:
        what = " and ".join(f"`{text}`" for text in finishes)
        yield Candidate(f"Call {what} before it", (case.tree.before(line, "; ".join(finishes)),), safe=False)


@fixes("OCL107", nodes=0)
def in_order(case: Case) -> Iterator[Candidate]:
    """Make the queue in-order."""
    call = case.tree.call_at(case.evidence.at[-1].span) if case.evidence.at[-1].path == case.path else None
    properties = calls.argument(call, "properties") if call is not None else None
    if call is None or properties is None:
        return
    queue = next((q for q in case.graph.queues if q.created == case.evidence.at), None)
    value = properties.value
    if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.BitOr):
        for flag, other in ((value.left, value.right), (value.right, value.left)):
            if _out_of_order(flag):
                start, end = case.tree.whole(value)
                change = Change(start, end, case.tree.source(other))
                yield Candidate("Drop OUT_OF_ORDER_EXEC_MODE_ENABLE", (change,), safe=False)
    elif _out_of_order(value) or (isinstance(value, cst.Name) and queue is not None and not queue.profiling):
        removed = calls.remove_argument(case.tree, call, properties)
        if removed:
            yield Candidate("Drop OUT_OF_ORDER_EXEC_MODE_ENABLE", tuple(removed), safe=False)


def _out_of_order(value: cst.BaseExpression) -> bool:
    name = value.attr if isinstance(value, cst.Attribute) else value
    return isinstance(name, cst.Name) and name.value == "OUT_OF_ORDER_EXEC_MODE_ENABLE"


@fixes("OCL302", "OCL303")
def flushed(case: Case) -> Iterator[Candidate]:
    """Flush the queue whose event another one waits for, right after the command of that event."""
    source = case.evidence.nodes[0]
    producer = case.call_of(source)
    queue = queue_text(case.tree, producer)
    line = case.tree.line(producer) if producer is not None else None
    if queue is not None and isinstance(source, g.Command) and isinstance(line, cst.SimpleStatementLine):
        change = case.tree.behind(line, f"{queue}.flush()")
        yield Candidate(f"Call `{queue}.flush()`", (change,), covers=(source,))
