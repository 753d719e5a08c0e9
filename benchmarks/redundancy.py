"""Prove that one event edge of a Python file is redundant: that the program orders what matters without it.

A *probe* of the file says what the edge holds each time it is evaluated; the file without the edge says which commands
wait for fewer events. What the edge holds are events of commands in sight, user events, or *unseen* events: lists that
came from elsewhere and events of commands that ran before. The edge is redundant if each time it is evaluated one of
these holds:

- **empty**: it holds no event;
- **complete**: it holds events of commands in sight, and the host has waited for each of them on every path to the
  place. An event that is complete orders nothing;

or if, for every command that lost something by it, each event lost

- **repeated**: is in the command's wait list a second time, as PyOpenCL adds the events of an Array of itself;
- **order**: precedes the command on every path in the file without the edge. For unseen events: the command comes after
  another one, or after a wait of the host, that still waits for the same;
- **memory** (events of commands in sight and user events only): every two nodes that the edge could put in order on
  any path are in order on every path by what is left, or use no memory together, all of their operands being
  known; and the host has waited, where the function ends, for every command that lost a successor, so that no caller
  is told too early.

Nothing is proved where the two graphs differ node by node, are cut short or have other threads, where a host wait or
code that cannot be seen gets the edge, or where nothing in sight gets it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.analysis import analyse
from kexec_lint.opencl.interpreter import calls, commands, library, modules
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.values import NONE, AbstractValue, Unknown
from kexec_lint.source import Options, Project, Source

PROBE = "__kexec_edge__"
"""A function that gives back its argument and writes it down."""

_HARMLESS = frozenset({"start", "enqueue", "meet", "flush", "poll", "status", "wait", "finish"})
"""Kinds of host points at which the host touches no memory."""

Atom = Any
"""An event of the graph, or the value of a list that was not seen."""


@dataclass
class Evaluation:
    """One time that the edge was evaluated: in which graph, at which point of the host, and what it held."""

    machine: Machine
    graph: g.EnqueueGraph
    host: g.HostPoint
    held: Counter[Atom]


@dataclass
class Probe:
    """The graphs of a file, and what the edge held."""

    graphs: list[g.EnqueueGraph]
    evaluations: list[Evaluation] = field(default_factory=list)
    unseen: bool = False
    """Code that cannot be seen got some of it."""


def redundant(path: str, probed: str, without: list[g.EnqueueGraph], project: Project, options: Options) -> str | None:
    """Return by which criteria an edge is proved redundant, None if it is not.

    `probed` is the text with the edge in a call of `PROBE`, `without` are the graphs of the text without the edge.
    """
    probe = Probe([])
    with _recording(probe):
        probe.graphs = analyse(Source(path, probed, probed.encode()), project, options).graphs
    reasons: set[str] = set()
    left: list[Evaluation] = []
    for one in probe.evaluations:
        trivial = _trivial(one)
        if trivial is None:
            left.append(one)
        else:
            reasons.add(trivial)
    if left and (probe.unseen or len(probe.graphs) != len(without)):
        return None
    if not {id(one.graph) for one in left} <= {id(graph) for graph in probe.graphs}:
        return None
    for before, after in zip(probe.graphs, without, strict=False):
        here = [one for one in left if one.graph is before]
        found = _without(before, after, here) if here else set()
        if found is None:
            return None
        reasons |= found
    return ", ".join(sorted(reasons)) or None


def _trivial(one: Evaluation) -> str | None:
    """Return why an evaluation cannot matter, whatever gets the edge."""
    if not one.held:
        return "empty"
    for atom in one.held:
        command = atom.command if isinstance(atom, g.Event) and atom.kind == "command" else None
        if command is None or not one.graph.holds(command):
            return None
        if not one.graph.reaches(command, one.host, certainly=True):
            return None
    return "complete"


def _without(before: g.EnqueueGraph, after: g.EnqueueGraph, evaluations: list[Evaluation]) -> set[str] | None:
    """Return by which criteria a graph orders the same without the edge, None if that is not proved."""
    if before.truncated or before.threaded or [_key(n) for n in before.nodes] != [_key(n) for n in after.nodes]:
        return None
    values = {id(event): value for value, event in evaluations[0].machine.unknown_events.items()}
    reasons: set[str] = set()
    gone: dict[int, list[Atom]] = {}
    kept: dict[int, Counter[Atom]] = {}
    reached: list[Evaluation] = []
    lost: list[Evaluation] = []
    for node, twin in zip(before.nodes, after.nodes, strict=True):
        if not isinstance(node, g.Command) or not isinstance(twin, g.Command):
            if [kind for _, _, kind in node.before] != [kind for _, _, kind in twin.before]:
                return None
            continue
        held = Counter(_atom(values.get(id(event), event)) for event, _ in node.waits)
        fewer = held.total() - len(twin.waits)
        matching = [one for one in evaluations if (one.held & held).total() == (fewer or one.held.total())]
        reached += matching
        lost += matching if fewer else []
        kept[node.index] = held
        if fewer and not matching:
            return None
        for one in matching if fewer else ():
            kept[node.index] = kept[node.index] & (held - one.held)
        gone[node.index] = [atom for atom in held if not kept[node.index][atom]]
        if fewer and not gone[node.index]:
            reasons.add("repeated")
    if any(one not in reached for one in evaluations):
        return None
    if any(one not in lost for one in evaluations):
        reasons.add("repeated")
    for index, atoms in gone.items():
        command = before.nodes[index]
        assert isinstance(command, g.Command)
        for atom in atoms:
            reason = _covered(before, after, command, atom, kept)
            if reason is None:
                return None
            reasons.add(reason)
    return reasons


def _leads(source: g.Node, event: g.Event) -> bool:
    """Return whether a node is what completes an event."""
    if isinstance(source, g.HostPoint):
        return source.kind == "status" and event in source.events
    return event.command is source


def _covered(
    before: g.EnqueueGraph, after: g.EnqueueGraph, command: g.Command, atom: Atom, kept: dict[int, Counter[Atom]]
) -> str | None:
    """Return by which criterion the loss of one event by one command changes nothing, None if it may."""
    if isinstance(atom, g.Event) and atom.kind in ("command", "user"):
        sources = [node for node in before.nodes if _leads(node, atom)]
        if sources and before.holds(sources[0]):
            reasons = {_ordered(before, after, source, command) for source in sources}
            return None if None in reasons else ", ".join(sorted(filter(None, reasons)))
        return None
    for node in before.nodes:
        waits = kept[node.index][atom] if isinstance(node, g.Command) else _waited(node, atom)
        if waits and node is not command and after.reaches(after.nodes[node.index], after.nodes[command.index], True):
            return "order"
    return None


def _waited(node: g.Node, atom: Atom) -> bool:
    return isinstance(node, g.HostPoint) and node.kind == "wait" and atom in node.events


def _ordered(before: g.EnqueueGraph, after: g.EnqueueGraph, source: g.Node, command: g.Command) -> str | None:
    twin = after.nodes
    if after.reaches(twin[source.index], twin[command.index], certainly=True):
        return "order"
    if not before.points:
        return None
    end = before.points[-1]
    earlier = [n for n in before.nodes if n is source or before.reaches(n, source)]
    later = [n for n in before.nodes if n is command or before.reaches(command, n)]
    for first in earlier:
        for second in later:
            if first is second or after.reaches(twin[first.index], twin[second.index], certainly=True):
                continue
            if not _apart(first, second):
                return None
            if isinstance(first, g.Command) and not after.reaches(twin[first.index], twin[end.index], certainly=True):
                return None
    return "memory"


def _apart(first: g.Node, second: g.Node) -> bool:
    """Return whether all memory of two nodes is known, and they share none."""
    for node in (first, second):
        if isinstance(node, g.HostPoint) and node.kind not in (*_HARMLESS, "access"):
            return False
        if isinstance(node, g.Command) and not _operands_known(node):
            return False
    return all(_distinct(one.memory.root, other.memory.root) for one in first.accesses for other in second.accesses)


def _distinct(one: g.Memory, other: g.Memory) -> bool:
    """Return whether two memory objects are surely not the same, nor made over the same host memory."""
    for a, b in ((one, other), (other, one)):
        if a.kind == "host" and b.kind in ("buffer", "image", "array") and b.known and b.host_pointer is None:
            return True
    hosts = [{id(r), id(r.host_pointer.root if r.host_pointer is not None else r)} for r in (one, other)]
    return one.known and other.known and hosts[0].isdisjoint(hosts[1])


def _operands_known(command: g.Command) -> bool:
    """Return whether the operands of a command are all that it uses."""
    if command.kind != "kernel" or command.array:
        return command.kind != "library"
    arguments = command.launch.arguments if command.launch is not None else None
    return arguments is not None and (
        command.kernel is not None or all(argument.kind != "unknown" for argument in arguments)
    )


def _key(node: g.Node) -> tuple[object, ...]:
    return type(node).__name__, getattr(node, "kind", ""), tuple(place.span.row for place in node.site)


def _atom(value: Atom) -> Atom:
    while isinstance(value, Unknown) and value.key[0] == "spread":
        value = value.key[1]
    return value


def _held(m: Machine, value: AbstractValue) -> Counter[Atom]:
    _, events, unseen = commands.wait_list(m, m.list_of((Unknown(("spread", value)),)))
    return Counter([*(event for event, _ in events), *(_atom(one) for one in unseen)])


@contextmanager
def _recording(probe: Probe) -> Iterator[None]:
    """Let `PROBE` write down what it gets, and code that cannot be seen whether it gets any of that."""
    opaque, names = calls.opaque, modules.BUILTINS

    def record(m: Machine, arguments: calls.Arguments, span: Any) -> AbstractValue:
        value = arguments.positional[0] if arguments.positional else NONE
        if not m.scratch:
            probe.evaluations.append(Evaluation(m, m.graph, m.host, _held(m, value)))
        return value

    def watched(m: Machine, values: list[AbstractValue], *more: Any, **named: Any) -> None:
        given = {_atom(leaf) for value in values for leaf in calls.leaves(m, value) if not m.scratch}
        given |= {leaf.model for leaf in given if getattr(leaf, "kind", "") == "event"}
        probe.unseen |= any(not given.isdisjoint(one.held) for one in probe.evaluations if one.graph is m.graph)
        opaque(m, values, *more, **named)

    library.BUILTINS[PROBE] = record
    modules.BUILTINS = names | {PROBE}
    calls.opaque = watched
    try:
        yield
    finally:
        del library.BUILTINS[PROBE]
        modules.BUILTINS = names
        calls.opaque = opaque
