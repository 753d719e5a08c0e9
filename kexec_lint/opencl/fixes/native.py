"""Fixes for C and C++ host code: events kept and passed on, blocking transfers, barriers, flushes, profiling queues.

An event that a fix asks for in C is released behind the command that waits for it: the runtime keeps what it needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.fixes.candidate import NATIVE, Candidate
from kexec_lint.opencl.fixes.changes import Change
from kexec_lint.opencl.fixes.native_tree import NativeTree
from kexec_lint.opencl.fixes.pairs import Pair

_NONE = ("NULL", "nullptr", "0")
_DEVICE = ("OCL101", "OCL102", "OCL103", "OCL105", "OCL106", "OCL108", "OCL109")
_HOST = ("OCL201", "OCL202", "OCL206", "OCL208", "OCL210", "OCL211")


@dataclass(kw_only=True)
class Case(Pair):
    """A finding in C or C++, with the tree of the file."""

    tree: NativeTree

    def call_of(self, node: g.Node) -> Any:
        """Return the call that enqueues a node, None if it stands elsewhere."""
        span = self.span_of(node)
        return self.tree.call_at(span) if span is not None else None

    @cached_property
    def at(self) -> Any:
        """The syntax of the later node, in the activation that it shares with the earlier one."""
        here = self.here
        return None if here is None else self.tree.call_at(here) or self.tree.node_at(here)

    @cached_property
    def statement(self) -> Any:
        """The statement before which the later node can be held back."""
        return self.tree.statement(self.at)

    def fresh(self, base: str, taken: set[str]) -> str:
        """Make up a name that the file does not have, and take it."""
        name, number = base, 1
        while name in self.tree.names or name in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name)
        return name


class Captured(NamedTuple):
    """An event as an expression, the changes that make it so, and whether it is a new one."""

    text: str
    changes: tuple[Change, ...] = ()
    new: bool = False


def _event_of(case: Case, command: g.Command, call: Any, taken: set[str]) -> Captured | None:
    """Return how the event that a call hands out can be named behind it, None if it cannot."""
    tree = case.tree
    present = tree.argument(call, "event")
    if present is not None and tree.source(present) not in _NONE:
        text = tree.source(present)
        if present.type in ("pointer_expression", "unary_expression") and text.startswith("&"):
            return Captured(text[1:].strip())
        return None
    statement, model = tree.statement(call), tree.model(call)
    if statement is None or model is None or "event" not in model.params:
        return None
    name = case.fresh(f"{command.kind}_done", taken)
    method = tree.is_method(call)
    declared = tree.before(statement, f"{'cl::Event' if method else 'cl_event'} {name};")
    if present is not None:
        return Captured(name, (declared, Change(*tree.range(present), f"&{name}")), True)
    filled = _filled(case, call, "event", f"&{name}")
    return Captured(name, (declared, filled), True) if filled is not None else None


def _filled(case: Case, call: Any, name: str, value: str) -> Change | None:
    """Give a parameter at the end of a C++ call a value, and those before it their defaults."""
    tree, model = case.tree, case.tree.model(call)
    given = tree.arguments(call)
    if model is None or not tree.is_method(call) or not given:
        return None
    missing = model.params[len(given) : model.params.index(name)]
    defaults = {"local": "cl::NullRange", "events": "nullptr"}
    if any(one not in defaults for one in missing):
        return None
    end = tree.range(given[-1])[1]
    return Change(end, end, "".join(f", {text}" for text in [*(defaults[one] for one in missing), value]))


def _wait_list(case: Case, call: Any, events: list[str], taken: set[str]) -> list[Change] | None:
    """Put events into the wait list of a call; None if it takes none, or has one that is not written there."""
    tree, statement = case.tree, case.tree.statement(call)
    present = tree.argument(call, "events")
    if statement is None:
        return None
    if tree.is_method(call):
        name = case.fresh("waits", taken)
        if present is None or tree.source(present) in _NONE:
            made = tree.before(statement, f"std::vector<cl::Event> {name}{{{', '.join(events)}}};")
            passed = Change(*tree.range(present), f"&{name}") if present else _filled(case, call, "events", f"&{name}")
            return [made, passed] if passed is not None else None
        text = tree.source(present)
        if not text.startswith("&"):
            return None
        more = " ".join(f"{name}.push_back({event});" for event in events)
        made = tree.before(statement, f"std::vector<cl::Event> {name}({text[1:]}); {more}")
        return [made, Change(*tree.range(present), f"&{name}")]
    count = tree.argument(call, "num")
    if present is None or count is None:
        return None
    span = tree.range(count)[0], tree.range(present)[1]
    known = tree.source(present)
    if known in _NONE:
        whole = events
    elif tree.source(count) == "1" and known.startswith("&"):
        whole = [known[1:].strip(), *events]
    else:
        return None
    if len(whole) == 1:
        return [Change(*span, f"1, &{whole[0]}")]
    name = case.fresh("waits", taken)
    made = tree.before(statement, f"cl_event {name}[] = {{{', '.join(whole)}}};")
    return [made, Change(*span, f"{len(whole)}, {name}")]


class Named(NamedTuple):
    """Events of earlier commands: expressions, changes that give them names, calls, commands, those to release."""

    events: list[str]
    changes: list[Change]
    calls: list[Any]
    commands: tuple[g.Command, ...]
    new: list[str]

    @property
    def words(self) -> str:
        """The events for a sentence."""
        return ", ".join(f"`{event}`" for event in self.events)


def _named(case: Case, before: Any, taken: set[str]) -> Named | None:
    """Name the events of the earlier commands, of as many as can be named before a call or statement."""
    found = Named([], [], [], (), [])
    commands: list[g.Command] = []
    for command in case.earlier:
        call = case.call_of(command)
        if call is None or not case.tree.precedes(call, before):
            continue
        captured = _event_of(case, command, call, taken)
        if captured is None:
            continue
        if captured.new and case.tree.statement(call).parent != case.tree.statement(before).parent:
            return None  # it would be released more than once, or not at all
        found.events.append(captured.text)
        found.changes.extend(captured.changes)
        found.calls.append(call)
        commands.append(command)
        if captured.new and not case.tree.is_method(call):
            found.new.append(captured.text)
    return found._replace(commands=tuple(commands)) if case.evidence.nodes[0] in commands else None


def _released(case: Case, statement: Any, named: Named) -> list[Change] | None:
    """Release new events behind a statement."""
    if not named.new:
        return []
    if statement.type == "return_statement":
        return None
    return [case.tree.behind(statement, " ".join(f"clReleaseEvent({event});" for event in named.new))]


@NATIVE.fixes(*_DEVICE)
def wait_list(case: Case) -> Iterator[Candidate]:
    """Put the events of the earlier commands into the wait list of the later one."""
    later, statement = case.later, case.statement
    if not isinstance(later, g.Command) or statement is None or case.at.type != "call_expression":
        return
    taken = set(case.taken)
    named = _named(case, case.at, taken)
    widened = _wait_list(case, case.at, named.events, taken) if named is not None else None
    released = _released(case, statement, named) if named is not None else None
    if named is None or widened is None or released is None:
        return
    changes = (*named.changes, *widened, *released)
    yield Candidate(f"Wait for {named.words}", _joined(changes), covers=named.commands)
    flushes = [
        case.tree.behind(case.tree.statement(call), _of_queue(case, call, "flush"))
        for call, command in zip(named.calls, named.commands, strict=True)
        if command.queue is not later.queue and case.tree.queue(call) is not None
    ]
    if flushes:
        what = f"Wait for {named.words}, and flush its queue"
        yield Candidate(what, _joined((*changes, *dict.fromkeys(flushes))), covers=named.commands)


def _joined(changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """Make one of several insertions at one place."""
    found: dict[tuple[int, int], str] = {}
    for start, end, content in changes:
        before = found.get((start, end), "")
        found[start, end] = before if start != end and before else before + content
    return tuple(Change(*at, content) for at, content in found.items())


def _of_queue(case: Case, call: Any, verb: str) -> str:
    """Return the statement that flushes or finishes the queue of a call."""
    queue = case.tree.queue(call)
    return f"{queue}.{verb}();" if case.tree.is_method(call) else f"cl{verb.capitalize()}({queue});"


@NATIVE.fixes("OCL103")
def barrier_for_marker(case: Case) -> Iterator[Candidate]:
    """Make the marker between the two a barrier."""
    for node in case.between:
        call = case.call_of(node) if isinstance(node, g.Command) and node.kind == "marker" else None
        if call is None or not case.tree.called(call).endswith("MarkerWithWaitList"):
            continue
        function = call.child_by_field_name("function")
        name = function.child_by_field_name("field") or function
        changed = case.tree.source(name).replace("Marker", "Barrier")
        yield Candidate(f"Use `{changed}`", (Change(*case.tree.range(name), changed),), first=True)


@NATIVE.fixes("OCL104")
def barrier_list(case: Case) -> Iterator[Candidate]:
    """Widen the list of the barrier between the two, or drop it: a barrier without a list waits for everything."""
    for node in case.between:
        call = case.call_of(node) if isinstance(node, g.Command) and node.kind == "barrier" else None
        present = case.tree.argument(call, "events") if call is not None else None
        statement = case.tree.statement(call) if call is not None else None
        if present is None or statement is None or case.tree.source(present) in _NONE:
            continue
        taken = set(case.taken)
        named = _named(case, call, taken)
        widened = _wait_list(case, call, named.events, taken) if named is not None else None
        released = _released(case, statement, named) if named is not None else None
        if named is not None and widened is not None and released is not None:
            changes = _joined((*named.changes, *widened, *released))
            yield Candidate(f"Add {named.words} to the barrier", changes, first=True, covers=named.commands)
        count = case.tree.argument(call, "num")
        start = case.tree.range(count if count is not None else present)[0]
        change = Change(start, case.tree.range(present)[1], "0, NULL" if count is not None else "nullptr")
        yield Candidate("Drop the barrier's list, so that it waits for everything", (change,), safe=False)


@NATIVE.fixes(*_DEVICE)
def barrier(case: Case) -> Iterator[Candidate]:
    """Hold the later command back by a barrier, or finish the other queue: orders more than is needed."""
    later, statement = case.later, case.statement
    if not isinstance(later, g.Command) or statement is None or case.at.type != "call_expression":
        return
    calls = [case.call_of(command) for command in case.earlier]
    queue = case.tree.queue(case.at)
    if {command.queue for command in case.earlier} == {later.queue} and queue is not None:
        method = case.tree.is_method(case.at)
        text = (
            f"{queue}.enqueueBarrierWithWaitList();"
            if method
            else f"clEnqueueBarrierWithWaitList({queue}, 0, NULL, NULL);"
        )
        yield Candidate("Put a barrier before it", (case.tree.before(statement, text),), safe=False)
    elif all(call is not None and case.tree.queue(call) is not None for call in calls):
        yield from _finishes(case, calls)


@NATIVE.fixes(*_HOST)
def blocking(case: Case) -> Iterator[Candidate]:
    """Make the transfers and maps blocking."""
    changes = []
    for command in case.earlier:
        call = case.call_of(command)
        flag = case.tree.argument(call, "blocking") if call is not None else None
        if flag is None or case.tree.source(flag) not in ("CL_FALSE", "false", "0"):
            return
        changes.append(Change(*case.tree.range(flag), "CL_TRUE"))
    yield Candidate("Make the transfer blocking", tuple(changes))


@NATIVE.fixes(*_HOST, "OCL102", "OCL105", "OCL312")
def wait_before(case: Case) -> Iterator[Candidate]:
    """Wait for the events of the earlier commands before the host goes on."""
    if not isinstance(case.later, g.HostPoint) or case.statement is None:
        return
    named = _named(case, case.statement, set(case.taken))
    if named is None or len(named.commands) < len(case.earlier):
        return
    waits = []
    for event, call in zip(named.events, named.calls, strict=True):
        waits.append(f"{event}.wait();" if case.tree.is_method(call) else f"clWaitForEvents(1, &{event});")
    waits += [f"clReleaseEvent({event});" for event in named.new]
    changes = (*named.changes, case.tree.before(case.statement, " ".join(dict.fromkeys(waits))))
    yield Candidate(f"Wait for {named.words} before it", _joined(changes), covers=named.commands)


@NATIVE.fixes("OCL210")
def finish_for_flush(case: Case) -> Iterator[Candidate]:
    """Make the flush between the two a finish."""
    for node in case.between:
        call = case.call_of(node) if isinstance(node, g.HostPoint) and node.kind == "flush" else None
        if call is not None and case.tree.called(call) in ("clFlush", "flush"):
            function = call.child_by_field_name("function")
            name = function.child_by_field_name("field") or function
            changed = case.tree.source(name).replace("Flush", "Finish").replace("flush", "finish")
            yield Candidate(f"Use `{changed}`", (Change(*case.tree.range(name), changed),), first=True)


@NATIVE.fixes(*_HOST, "OCL102", "OCL105")
def finish_before(case: Case) -> Iterator[Candidate]:
    """Finish the queue of the earlier commands: waits for more than is needed, but knows no names."""
    calls = [case.call_of(command) for command in case.earlier]
    if isinstance(case.later, g.HostPoint) and case.statement is not None:
        yield from _finishes(case, calls)


def _finishes(case: Case, calls: list[Any]) -> Iterator[Candidate]:
    function = case.tree.function(case.statement)
    if any(call is None or case.tree.queue(call) is None or case.tree.function(call) != function for call in calls):
        return
    text = " ".join(dict.fromkeys(_of_queue(case, call, "finish") for call in calls))
    yield Candidate(f"Call `{text}` before it", (case.tree.before(case.statement, text),), safe=False)


@NATIVE.fixes("OCL302", "OCL303")
def flushed(case: Case) -> Iterator[Candidate]:
    """Flush the queue whose event another one waits for, right after the command of that event."""
    source = case.evidence.nodes[0]
    call = case.call_of(source)
    statement = case.tree.statement(call) if call is not None else None
    if isinstance(source, g.Command) and statement is not None and case.tree.queue(call) is not None:
        text = _of_queue(case, call, "flush")
        yield Candidate(f"Call `{text}`", (case.tree.behind(statement, text),), covers=(source,))


@NATIVE.fixes("OCL311", nodes=0)
def profiling(case: Case) -> Iterator[Candidate]:
    """Create the queue with profiling."""
    created = case.evidence.against
    call = case.tree.call_at(created[-1].span) if created and created[-1].path == case.path else None
    if call is None or case.tree.called(call) != "clCreateCommandQueue":
        return
    properties = case.tree.argument(call, "properties")
    if properties is not None:
        text = case.tree.source(properties)
        flag = "CL_QUEUE_PROFILING_ENABLE"
        change = Change(*case.tree.range(properties), flag if text in _NONE else f"{text} | {flag}")
        yield Candidate("Create the queue with CL_QUEUE_PROFILING_ENABLE", (change,))
