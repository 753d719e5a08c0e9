"""Puts commands and their edges into the enqueue graph: queues, wait lists, memory operands, blocking calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.api import pyopencl as api
from kexec_lint.opencl.interpreter import expressions, objects, wait_lists
from kexec_lint.opencl.interpreter.machine import COMMANDS, Exhausted, Machine
from kexec_lint.opencl.interpreter.values import (
    ABSENT,
    NONE,
    AbstractValue,
    External,
    Known,
    Object,
    Phi,
    TupleValue,
    Unknown,
    options,
)

STORAGE_ATTRIBUTES = frozenset({"data", "base_data", "buffer", "buf", "device_data", "cl_buffer", "int_ptr", "mem"})
"""Attributes of an unknown object that hand out the memory object behind it."""


# --- queues ---------------------------------------------------------------------------------------------------


def queue_model(m: Machine, value: AbstractValue) -> g.Queue:
    """Return the graph's queue behind a value. One that cannot be resolved is a queue of unknown origin."""
    if isinstance(value, Object):
        if value.kind == "queue":
            model: g.Queue = value.model
            return model
        if value.kind == "array":
            return queue_model(m, value.state.get("queue_value", NONE))
    if isinstance(value, Phi):
        found = {id(q): q for q in (queue_model(m, option) for _, option in value.options if option != NONE)}
        if len(found) == 1:
            return next(iter(found.values()))
        return _one_of(m, value, tuple(found.values()))
    if value not in m.unknown_queues:
        order = g.Order.OUT_OF_ORDER if m.options.assume_out_of_order else g.Order.UNKNOWN
        name = value.name if isinstance(value, Unknown) else "the queue"
        m.unknown_queues[value] = g.Queue(name, order, constructed=False)
    return m.unknown_queues[value]


def _one_of(m: Machine, value: Phi, parts: tuple[g.Queue, ...]) -> g.Queue:
    """Return the queue that is one of several: out-of-order if one that the program makes is, and none is unknown."""
    if value not in m.unknown_queues:
        orders = {part.order for part in parts}
        loose = [part for part in parts if part.order is g.Order.OUT_OF_ORDER]
        order = g.Order.OUT_OF_ORDER if loose and g.Order.UNKNOWN not in orders else g.Order.UNKNOWN
        named = loose[0] if loose else parts[0] if parts else None
        m.unknown_queues[value] = g.Queue(
            named.name if named is not None else "the queue",
            order,
            constructed=False,
            created=named.created if named is not None else (),
            maybe=g.Order.IN_ORDER in orders or any(part.maybe for part in loose),
            parts=parts,
        )
    return m.unknown_queues[value]


def is_queue(m: Machine, value: AbstractValue) -> bool:
    """Return whether a value is a queue, by construction, by earlier use, or by the author's name for it."""
    if isinstance(value, Phi):
        return any(is_queue(m, option) for _, option in value.options if option != NONE)
    if isinstance(value, Object):
        return value.kind == "queue"
    if isinstance(value, Unknown):
        if value in m.unknown_queues:
            return True
        last: Unknown = value
        name: object = ""
        while last.key[0] == "item" and isinstance(last.key[1], Unknown):
            index = last.key[2]
            if isinstance(index, Known) and isinstance(index.value, str):
                name = index.value
                break
            last = last.key[1]
        if not name and last.key[0] in ("attr", "param", "name") and len(last.key) > 2:
            name = last.key[2]
        return isinstance(name, str) and (
            name.lower().rstrip("s0123456789_").endswith(("queue", "cmdq", "cmd_q", "cqueue"))
            or name.lower().strip("_") in ("q", "cq", "cmdq")
        )
    return False


# --- memory ---------------------------------------------------------------------------------------------------


def canonical(value: AbstractValue) -> AbstractValue:
    """Return the value that owns the storage: `x.data` and `x` are the same memory."""
    while isinstance(value, Unknown) and value.key[0] == "attr" and value.key[2] in STORAGE_ATTRIBUTES:
        value = value.key[1]
    return value


def array_of(value: AbstractValue) -> AbstractValue | None:
    """Return the array of unknown origin behind `x.data`, None for other operands."""
    if isinstance(value, Unknown) and value.key[0] == "attr" and value.key[2] in api.ARRAY_STORAGE:
        owner: AbstractValue = value.key[1]
        return owner
    if isinstance(value, Object) and value.kind == "memory" and value.model.kind == "array":
        return objects.token(value.state.get("array", value))
    return None


def arrays_waited_for(unseen: Iterable[AbstractValue]) -> frozenset[object]:
    """Return the arrays of unknown origin whose `events` are among the unseen parts of a wait list."""
    owners: set[object] = set()
    pending = list(unseen)
    while pending:
        match pending.pop():
            case Unknown(key=("spread", AbstractValue() as inner)):
                pending.append(inner)
            case Unknown(key=("attr", AbstractValue() as owner, "events")):
                owners.add(owner)
            case Unknown(key=("op", "+", *parts)):
                pending.extend(part for part in parts if isinstance(part, AbstractValue))
            case Phi(options=choices):
                pending.extend(option for _, option in choices)
            case Object(kind="list") as inner_list:
                pending.extend(inner_list.items())
    return frozenset(owners)


def _arrays_of_events(command: g.Command) -> frozenset[object]:
    """Return the Arrays made here whose storage a command uses and for all of whose events it waits."""
    waited = {id(event) for event, _ in command.waits}
    found: set[object] = set()
    for access in command.accesses:
        events = access.array.state["event_list"] if isinstance(access.array, Object) else None
        held = events.items() if isinstance(events, Object) else ()
        if held and all(isinstance(event, Object) and id(event.model) in waited for event in held):
            found.add(access.array)
    return frozenset(found)


def memory_of(
    m: Machine, value: AbstractValue, kind: str = "buffer", certain: bool = True
) -> Iterator[tuple[g.Memory, bool, tuple[int, int] | None, bool]]:
    """Yield (memory, certain, byte range, partial) for everything a value may stand for as an operand."""
    match value:
        case Phi():
            choices = [(guard, o) for guard, o in value.options if o not in (NONE, ABSENT)]
            for guard, option in choices:
                decided = len(choices) == 1 or guard <= m.guard
                yield from memory_of(m, option, kind, certain and decided)
        case Object(kind="memory" | "host" | "map"):
            view = bool(value.state.get("part"))
            yield value.model.host if value.kind == "map" else value.model, certain, None, view
        case Object(kind="array"):
            part = value.state.get("part")
            yield value.model, certain, part if isinstance(part, tuple) else None, part == "unknown"
        case TupleValue(items=items):
            for element in items:
                yield from memory_of(m, element, kind, certain)
        case Object(kind="list" | "set"):
            for element in value.items():
                yield from memory_of(m, element, kind, certain)
        case Unknown():
            owner = canonical(value)
            if not isinstance(owner, Unknown):
                yield from memory_of(m, owner, kind, certain)
                return
            if owner.key[0] == "item" and owner.key[2] != NONE and _is_slice(owner.key[2]):
                for memory, sure, _, _ in memory_of(m, owner.key[1], kind, certain):
                    yield memory, sure, None, True
                return
            if owner not in m.unknown_memory:
                m.unknown_memory[owner] = g.Memory(owner.name, kind, known=False)
            yield m.unknown_memory[owner], certain, None, False


def _is_slice(index: object) -> bool:
    if isinstance(index, TupleValue):
        return bool(index.items) and (index.items[0] == Known("slice") or any(_is_slice(i) for i in index.items))
    return False


def accesses(
    m: Machine, value: AbstractValue, role: str, reads: bool | None, writes: bool | None, **more: Any
) -> list[g.Access]:
    """Return the accesses of one operand."""
    kind = more.pop("kind", "buffer")
    extent = more.pop("range", None)
    part = more.pop("partial", False)
    more.setdefault("array", array_of(value))
    return [
        g.Access(memory, reads, writes, certain, extent or inner, part or partial, role, **more)
        for memory, certain, inner, partial in memory_of(m, value, kind)
    ]


# --- events ---------------------------------------------------------------------------------------------------


def event_model(m: Machine, value: AbstractValue) -> g.Event:
    """Return the graph's event behind a value, an unknown one if it cannot be resolved."""
    if isinstance(value, Object) and value.kind == "event":
        model: g.Event = value.model
        return model
    if value not in m.unknown_events:
        name = value.name if isinstance(value, Unknown) else ""
        m.unknown_events[value] = g.Event("unknown", name=name)
    return m.unknown_events[value]


def wait_list(
    m: Machine, value: AbstractValue | None
) -> tuple[str, list[tuple[g.Event, g.Guard]], list[AbstractValue]]:
    """Return how a wait list was given ("none", "empty", "events", "unknown"), its events, what is not known."""
    if value is None or value == NONE:
        return "none", [], []
    events: list[tuple[g.Event, g.Guard]] = []
    unseen: list[AbstractValue] = []
    absent = False
    for guard, option in options(value):
        absent |= option in (NONE, ABSENT)
        _gather(m, option, guard, events, unseen)
    if unseen:
        return "unknown", events, unseen
    if events:
        return "events", events, []
    return ("empty" if not absent else "none"), [], []


def _gather(
    m: Machine,
    value: AbstractValue,
    guard: g.Guard,
    events: list[tuple[g.Event, g.Guard]],
    unseen: list[AbstractValue],
    depth: int = 6,
) -> None:
    """Collect the events that a wait list or an element of one holds, and what of it is not known."""
    match value:
        case Object(kind="event"):
            events.append((value.model, guard))
        case Phi():
            for inner, option in options(value, guard):
                _gather(m, option, inner, events, unseen, depth)
        case Unknown(key=("spread", Phi() | Object() | TupleValue() as inner_list)) if depth:
            _gather(m, inner_list, guard, events, unseen, depth - 1)
        case Unknown():
            unseen.append(value)
        case Known():
            return
        case _:
            elements = expressions.sequence(m, value)
            if elements is None:
                unseen.append(value)
                elements = value.items() if isinstance(value, Object) and value.kind == "list" else ()
            for element in elements:
                _gather(m, element, guard, events, unseen, depth)


def may_hold(m: Machine, value: AbstractValue) -> list[g.Command]:
    """Return the commands whose event a list that cannot be seen may hold.

    What the caller passed in was filled before this function ran; anything else may hold whatever was stored.
    """
    owner = value
    while isinstance(owner, Unknown) and owner.key[0] in ("attr", "item", "spread", "op"):
        owner = next((part for part in owner.key[1:] if isinstance(part, AbstractValue)), NONE)
    from_caller = isinstance(owner, Unknown) and owner.key[0] in ("param", "before")
    return [
        command
        for command in m.commands
        if command.event is not None and (command.event.escaped or (command.event.captured and not from_caller))
    ]


# --- commands -------------------------------------------------------------------------------------------------


def enqueue(
    m: Machine,
    span: p.Span,
    kind: str,
    queue: AbstractValue,
    waits: AbstractValue | None = None,
    operands: Iterable[g.Access] = (),
    blocking: bool | None = False,
    returns: str = "event",
    **parts: Any,
) -> Object:
    """Add a command with all its edges; returns its event as a value."""
    model = queue_model(m, queue)
    command = g.Command(
        0,
        m.site(span),
        m.guard,
        accesses=list(operands),
        kind=kind,
        queue=model,
        blocking=blocking,
        locks=m.locks,
        **parts,
    )
    event = g.Event("command", command, command.site, nanny=returns == "nanny", guard=m.guard, captured=True)
    command.event = event
    value = m.object("event", span, model=event)
    m.allow()
    if m.scratch:
        event.kind = "past"
        return value
    _still_open(m, queue, model, span)
    if model not in m.graph.queues:
        m.graph.queues.append(model)
    command.after(m.host, kind="enqueue")
    _queue_edges(m, command, model)
    wait_lists.examine(m, waits, span, model.context)
    how, events, unseen = wait_list(m, waits)
    command.wait_list = how
    command.waits_for_arrays = arrays_waited_for(unseen)
    command.waits = events
    if events:
        command.waits_for_arrays |= _arrays_of_events(command)
    for event_waited, guard in events:
        source = event_waited.command
        if source is not None and m.owns(source):
            command.after(source, guard <= source.guard | m.guard, "event")
    for value_unseen in unseen:
        command.waits.append((event_model(m, value_unseen), frozenset()))
        for source in may_hold(m, value_unseen):
            command.after(source, False, "event")
    if kind in ("marker", "barrier") and how in ("none", "empty", "unknown"):
        for earlier in m.lanes.get(model, []):
            command.after(earlier, how != "unknown", kind)
    command.index = len(m.graph.nodes)
    m.graph.nodes.append(command)
    m.commands.append(command)
    if len(m.commands) > COMMANDS:
        raise Exhausted
    m.lanes.setdefault(model, []).append(command)
    for root in {id(access.memory.root): access.memory.root for access in command.accesses}.values():
        if id(root) not in m.users:
            m.graph.memories.append(root)
        m.users.setdefault(id(root), []).append(command)
    if blocking is not False:
        point = m.point("wait", span, events=(event,), what="blocking")
        point.after(command, blocking is True, "host")
    if returns == "nanny" and not blocking:
        m.nannies.append(event)
    return value


def close(m: Machine, queue: AbstractValue, span: p.Span) -> None:
    """A queue's `with` block ends: PyOpenCL finishes and closes it (`_monkeypatch.py`, `command_queue_exit`)."""
    state = m.state_of(queue)
    if state is not None and not m.scratch:
        m.heap.write(state, "closed", TupleValue((Known(m.site(span)), Known(m.guard))))


def _still_open(m: Machine, queue: AbstractValue, model: g.Queue, span: p.Span) -> None:
    closed = (m.state_of(queue) or {}).get("closed")
    if not isinstance(closed, TupleValue):
        return
    site, guard = (item.value for item in closed.items if isinstance(item, Known))
    if guard <= m.guard:
        m.remark(
            "OCL507",
            span,
            f"`{model.name}` is used after its `with` block, which finished and closed it",
            "move the command into the block, or make the queue without `with` and finish it yourself",
            related=(("the block ends here", site),),
        )


def _queue_edges(m: Machine, command: g.Command, queue: g.Queue) -> None:
    """Edges E3 and E5 from earlier commands of the queue, and may-edges from queues that may be the same one."""
    for lane, earlier in m.lanes.items():
        if lane is queue:
            if queue.order is g.Order.OUT_OF_ORDER:
                for previous in earlier:
                    if previous.kind == "barrier":
                        command.after(previous, kind="barrier")
                continue
            certain = queue.order is g.Order.IN_ORDER
            for previous in reversed(earlier):
                command.after(previous, certain, "queue")
                if previous.guard <= command.guard:
                    break
        elif _may_be_same(m, lane, queue):
            for previous in reversed(earlier):
                command.after(previous, False, "queue")
                if previous.guard <= command.guard:
                    break


def _may_be_same(m: Machine, a: g.Queue, b: g.Queue) -> bool:
    """Return whether two queues of which one was not seen being made may be one in-order queue."""
    if a in b.parts or b in a.parts or not set(a.parts).isdisjoint(b.parts):
        return True
    if a.constructed and b.constructed:
        return False
    return not m.options.assume_out_of_order


# --- the host waits -------------------------------------------------------------------------------------------


def finish(m: Machine, queue: AbstractValue, span: p.Span, what: str = "finish") -> None:
    """`queue.finish()`: all earlier commands of this queue are complete when it returns (E6)."""
    model = queue_model(m, queue)
    point = m.point("finish", span, queue=model, what=what)
    for lane, earlier in m.lanes.items():
        if lane is model:
            for command in earlier:
                point.after(command, True, "host")
        elif not (lane.constructed and model.constructed):
            for command in earlier:
                point.after(command, False, "host")


def wait_for(m: Machine, value: AbstractValue, span: p.Span, what: str = "wait") -> None:
    """The host waits for one event or a list of them (E6)."""
    _, events, unseen = wait_list(m, value)
    point = m.point(
        "wait", span, events=tuple(event for event, _ in events), what=what, arrays=arrays_waited_for(unseen)
    )
    for event, guard in events:
        event.waited.append(point.site)
        if event.command is not None and m.owns(event.command):
            point.after(event.command, guard <= event.command.guard | m.guard, "host")
    for value_unseen in unseen:
        event_model(m, value_unseen).waited.append(point.site)
        for command in may_hold(m, value_unseen):
            point.after(command, False, "host")


def everything_may_wait(m: Machine, span: p.Span, what: str) -> None:
    """Code that cannot be seen runs: it may wait for anything."""
    covered = m.host.covers
    last = m.commands[-1].index if m.commands else 0
    if m.scratch or last <= covered:
        return
    point = m.point("opaque", span, what=what)
    for command in m.commands:
        if command.index > covered:
            point.after(command, False, "host")
    point.covers = point.index


def byte_count(m: Machine, value: AbstractValue | None) -> int | None:
    """Return a known non-negative integer."""
    if isinstance(value, Known) and isinstance(value.value, int) and value.value >= 0:
        return value.value
    return None


def order_of(flags: AbstractValue) -> tuple[g.Order, bool]:
    """Return the order that a `properties` argument asks for, and whether it does so on some paths only."""
    orders = {_order(option) for _, option in options(flags)}
    if orders == {g.Order.IN_ORDER, g.Order.OUT_OF_ORDER}:
        return g.Order.OUT_OF_ORDER, True
    return (orders.pop() if len(orders) == 1 else g.Order.UNKNOWN), False


def _order(flags: AbstractValue) -> g.Order:
    match flags:
        case Known(value=None) | Known(value=0):
            return g.Order.IN_ORDER
        case Known(value=frozenset() as names):
            return g.Order.OUT_OF_ORDER if api.OUT_OF_ORDER in names else g.Order.IN_ORDER
        case Known(value=int() as bits):
            return g.Order.OUT_OF_ORDER if bits & 1 else g.Order.IN_ORDER
        case Object(kind="list") | TupleValue():
            items = flags.items if isinstance(flags, TupleValue) else flags.items()
            order = g.Order.IN_ORDER
            for key, value in zip(items[::2], items[1::2], strict=False):
                if key == Known(frozenset({"PROPERTIES"})) or key == Known(0x1093):
                    order = _order(value)
            return order if len(items) % 2 == 0 or items[-1] == Known(0) else g.Order.UNKNOWN
        case External():
            return g.Order.UNKNOWN
    return g.Order.UNKNOWN


def profiling(flags: AbstractValue) -> bool | None:
    """Return whether a `properties` argument asks for profiling, None if unknown."""
    answers: set[bool | None] = set()
    for _, option in options(flags):
        match option:
            case Known(value=None) | Known(value=0):
                answers.add(False)
            case Known(value=frozenset() as names):
                answers.add(api.PROFILING in names)
            case Known(value=int() as bits):
                answers.add(bool(bits & 2))
            case Object(kind="list") | TupleValue():
                items = option.items if isinstance(option, TupleValue) else option.items()
                pairs = dict(zip(map(str, items[::2]), items[1::2], strict=False))
                inner = pairs.get(str(Known(frozenset({"PROPERTIES"}))))
                answers.add(profiling(inner) if inner is not None else (False if not items else None))
            case _:
                answers.add(None)
    return answers.pop() if len(answers) == 1 else None
