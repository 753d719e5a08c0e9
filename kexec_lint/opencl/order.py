"""The order that holds at a command, in words: what is complete before it starts and by what, and what need not be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.analysis import analyse
from kexec_lint.opencl.checks.evidence import place
from kexec_lint.opencl.checks.words import name, queue_words, row
from kexec_lint.opencl.frontend import SyntaxProblem
from kexec_lint.source import ModelError, Options, Project, Source

_MANY = 12
"""Earlier commands that are told one by one."""


def order_at(source: Source, project: Project, options: Options, at: tuple[int, int]) -> str | None:
    """Return Markdown about the command at a row and column of a file's text, None if there is none."""
    try:
        graphs = analyse(source, project, options).graphs
    except (SyntaxProblem, ModelError, RecursionError):
        return None
    found = _command(graphs, source.path, at)
    return None if found is None else "\n".join(_told(*found))


def _command(
    graphs: Iterable[g.EnqueueGraph], path: str, at: tuple[int, int]
) -> tuple[g.EnqueueGraph, g.Command] | None:
    """Return the command of the smallest call around a place, seen from the function that enqueues it."""
    best: tuple[tuple[int, int, int], g.EnqueueGraph, g.Command] | None = None
    for graph in graphs:
        for command in graph.commands:
            for depth, here in enumerate(reversed(command.site)):
                span = here.span
                if here.path == path and span[:2] <= at < span[2:]:
                    size = span.end_row - span.row, depth, len(command.site)
                    if best is None or size < best[0]:
                        best = size, graph, command
    return None if best is None else best[1:]


def _told(graph: g.EnqueueGraph, command: g.Command) -> Iterator[str]:
    queue = f" on {queue_words(command.queue)}" if command.queue is not None else ""
    yield f"**Order** of {name(command)} (line {row(command.site)}){queue}\n"
    earlier = [c for c in graph.commands if c.index < command.index and not g.exclusive(c.guard, command.guard)]
    sharing = [c for c in earlier if _shared(c, command)]
    if not sharing:
        yield "- no earlier command in sight uses its memory"
    for one in sharing[-_MANY:]:
        line = f"{name(one)} (line {row(one.site, command.site)})"
        if graph.reaches(one, command, certainly=True):
            yield f"- after {line}: {_how(one, command)}"
        elif graph.reaches(one, command):
            yield f"- perhaps after {line}: on some paths, or by code that cannot be seen"
        elif any(conflict.later is command and conflict.earlier is one for conflict in graph.conflicts()):
            yield f"- **not** after {line}, though both use `{_shared(one, command)}`"
        else:
            yield f"- not after {line}; both only read `{_shared(one, command)}`, or other parts of it"
    others = len(earlier) - len(sharing[-_MANY:])
    if others and sharing:
        yield f"- {others} more before it, {'on other memory' if len(sharing) <= _MANY else 'not told here'}"


def _shared(one: g.Command, other: g.Command) -> str | None:
    """Name memory that both use."""
    roots = {id(access.memory.root) for access in one.accesses}
    return next((access.memory.name for access in other.accesses if id(access.memory.root) in roots), None)


def _how(earlier: g.Command, later: g.Command) -> str:
    """Say what puts one command before another: the first step of the shortest way."""
    behind: dict[int, tuple[g.Node, str]] = {}
    pending: list[g.Node] = [later]
    while pending and earlier.index not in behind:
        node = pending.pop(0)
        for source, certain, kind in node.before:
            if certain and source.index not in behind:
                behind[source.index] = node, kind
                pending.append(source)
    if earlier.index not in behind:
        return "by the order of the host"
    target, kind = behind[earlier.index]
    line = place(target.site, later.site).span.row if target.site else 0
    if isinstance(target, g.HostPoint):
        return f"the host waits for it in line {line}" if line else "the host waits for it"
    if target is later:
        direct = {"queue": "the queue is in-order", "event": "its event is in the wait list", "host": "the host waits"}
        return direct.get(kind, f"by its {kind}")
    return f"by way of {name(target)} in line {line}"
