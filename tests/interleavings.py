"""A brute-force model of OpenCL execution: every legal interleaving of host and device, explored state by state.

Knows nothing of the analyser. A program is a tuple of host operations; the model returns the pairs of commands of
which the later one can start while the earlier one is not complete.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Enqueue:
    """A command. `waits` name earlier commands (by number) or user events ("u0"); None means no list at all."""

    queue: int
    kind: str = "write"  # "write", "marker", "barrier"
    waits: tuple[int | str, ...] | None = None
    blocking: bool = False


@dataclass(frozen=True)
class Finish:
    queue: int


@dataclass(frozen=True)
class Wait:
    events: tuple[int, ...]


@dataclass(frozen=True)
class SetStatus:
    event: str


Operation = Enqueue | Finish | Wait | SetStatus


def unordered_pairs(program: tuple[Operation, ...], in_order: tuple[bool, ...]) -> set[tuple[int, int]]:
    """Return (earlier, later) command numbers, in order of enqueueing, that can run in either order."""
    commands = [op for op in program if isinstance(op, Enqueue)]
    found: set[tuple[int, int]] = set()
    start = (0, frozenset(), frozenset(), frozenset())
    seen = {start}
    pending = [start]
    while pending:
        position, started, done, set_events = pending.pop()
        enqueued = sum(1 for op in program[:position] if isinstance(op, Enqueue))
        following = []
        for number in range(enqueued):
            if number in done:
                continue
            if number in started:
                following.append((position, started, done | {number}, set_events))
            elif _may_start(commands, number, done, set_events, in_order):
                for earlier in range(number):
                    if earlier not in done:
                        found.add((earlier, number))
                following.append((position, started | {number}, done, set_events))
        if position < len(program) and _host_may_go(program, commands, position, enqueued, done):
            op = program[position]
            events = set_events | {op.event} if isinstance(op, SetStatus) else set_events
            following.append((position + 1, started, done, events))
        for state in following:
            if state not in seen:
                seen.add(state)
                pending.append(state)
    return found


def _host_may_go(program, commands, position, enqueued, done) -> bool:
    """The host waits inside a blocking call until it returns, that is, before its next operation."""
    last = program[position - 1] if position else None
    if isinstance(last, Enqueue) and last.blocking and enqueued - 1 not in done:
        return False
    op = program[position]
    if isinstance(op, Finish):
        return all(n in done for n in range(enqueued) if commands[n].queue == op.queue)
    if isinstance(op, Wait):
        return all(n in done for n in op.events)
    return True


def _may_start(commands, number, done, set_events, in_order) -> bool:
    command = commands[number]
    for event in command.waits or ():
        if event not in set_events and event not in done:
            return False
    earlier = [n for n in range(number) if commands[n].queue == command.queue]
    if in_order[command.queue]:
        return all(n in done for n in earlier)
    if any(commands[n].kind == "barrier" and n not in done for n in earlier):
        return False
    if command.kind in ("barrier", "marker") and not command.waits:
        return all(n in done for n in earlier)
    return True
