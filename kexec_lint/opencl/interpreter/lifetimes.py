"""What happens when a reference goes away: a NannyEvent waits, a mapping ends, memory is freed (CPython)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.interpreter import calls, effects
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.values import (
    AbstractValue,
    External,
    Frame,
    FunctionValue,
    Known,
    Object,
    Phi,
    TupleValue,
    Unknown,
)


def drop_result(m: Machine, value: AbstractValue, span: p.Span) -> None:
    """The result of an expression statement dies at once: a NannyEvent waits as it does."""
    for _, option in [(None, value)] if not isinstance(value, Phi) else list(value.options):
        if isinstance(option, Object) and option.kind == "event" and option.model.command is not None:
            event: g.Event = option.model
            if m.owns(event.command) and not held(m, option):  # type: ignore[arg-type]
                event.captured = False
                event.command.dropped = True  # type: ignore[union-attr]
                if event.nanny and event.command.blocking is not True:  # type: ignore[union-attr]
                    _nanny_waits(m, event, span, "dropped")
        elif isinstance(option, TupleValue | Object):
            released(m, option, span)


def drop_temporaries(m: Machine, span: p.Span) -> None:
    """A statement is over: a host array that only its expression held is gone."""
    for value, _ in list(m.pinned):
        released(m, value, span)


_HOLDS_NOTHING = frozenset({Known, Unknown, External, FunctionValue})


def released(m: Machine, value: AbstractValue, span: p.Span) -> None:
    """A reference went away: a NannyEvent that nothing else holds waits for its command (CPython)."""
    if value.__class__ in _HOLDS_NOTHING:
        return
    match value:
        case Object(kind="event"):
            event: g.Event = value.model
            if event.nanny and event in m.nannies and not held(m, value):
                _nanny_waits(m, event, span, "rebound")
        case Object(kind="memory" | "array") if value.model.pool is not None or value.state.get("svm_allocation"):
            if not held(m, value):
                _memory_dies(m, value, span)
        case Object(kind="host"):
            for pair in [pair for pair in m.pinned if pair[0].model is value.model]:
                if not held(m, value):
                    m.pinned.remove(pair)
                    m.graph.host_deaths.append((value.model, pair[1], m.host))
        case Object(kind="map" | "mapping"):
            mapping: g.Mapping = value.model
            if mapping in m.graph.mappings and not mapping.unmapped and not held(m, value):
                effects.unmap(m, value, calls.Arguments(), span)
        case Object(kind="list" | "set" | "dict"):
            if m.nannies and not held(m, value):
                for element in list(calls.leaves(m, value)):
                    if isinstance(element, Object) and element.kind == "event":
                        released(m, element, span)
        case TupleValue(items=items):
            for item in items:
                released(m, item, span)
        case Phi():
            for _, option in value.options:
                released(m, option, span)


def _memory_dies(m: Machine, value: Object, span: p.Span) -> None:
    """The last reference to a pool block or an SVM allocation goes: the block may be handed out, or is freed."""
    if m.scratch:
        return
    memory: g.Memory = value.model
    what = "freed to its pool" if memory.pool is not None else "freed"
    point = m.point("release", span, what=what, memory=memory)
    if memory.pool is None and memory.queue is None:
        memory.released = point.site
        point.accesses.append(g.Access(memory, False, True, role="free"))
    else:
        m.graph.freed.append((memory, point))


def _nanny_waits(m: Machine, event: g.Event, span: p.Span, why: str) -> None:
    assert event.command is not None
    if event in m.nannies:
        m.nannies.remove(event)
    if m.scratch or not m.owns(event.command):
        return
    point = m.point("wait", span, events=(event,), what=f"NannyEvent {why}")
    point.after(event.command, True, "host")


def held(m: Machine, wanted: Object) -> bool:
    """Return whether some variable, field or container that is still alive leads to an object."""
    if wanted.kind == "event" and wanted.model.escaped:
        return True
    seen: set[int] = set()
    pending: list[Any] = []
    for frame in m.frames:
        current: Frame | None = frame
        while current is not None and id(current) not in seen:
            seen.add(id(current))
            pending.extend(current.variables.values())
            pending.extend(value for _, value in current.returns)
            pending.extend(current.temporaries)
            current = current.parent
        if id(frame.scope) not in seen:
            seen.add(id(frame.scope))
            pending.extend(frame.scope.frame.variables.values())
    return leads_to(m, pending, wanted)


_ATOMS = frozenset({Known, Unknown, External, str, int, bool, type(None)})
"""Values that lead to nothing; the state of unknown ones is kept aside."""


def leads_to(m: Machine, roots: Iterable[Any], wanted: Object) -> bool:
    """Return whether some of these values, or the state of an unknown object, leads to an object."""
    pending = list(roots)
    seen: set[int] = set()
    for state in m.unknown_state.values():
        pending.extend(state.values())
    while pending:
        value = pending.pop()
        if value.__class__ in _ATOMS:
            continue
        if value is wanted or (isinstance(value, Object) and value.model is not None and value.model is wanted.model):
            return True
        if id(value) in seen:
            continue
        seen.add(id(value))
        match value:
            case Object():
                pending.extend(value.state.values())
            case TupleValue(items=items):
                pending.extend(items)
            case tuple():
                pending.extend(value)
            case dict():
                pending.extend(value.values())
            case Phi():
                pending.extend(option for _, option in value.options)
            case AbstractValue() if isinstance(inner := getattr(value, "held", None), AbstractValue):
                pending.append(inner)  # what stands at an address in C
            case FunctionValue(bound=bound, closure=closure):
                pending.append(bound)
                if closure is not None:
                    pending.extend(closure.variables.values())
    return False


def release_locals(m: Machine, frame: Frame, result: AbstractValue, span: p.Span) -> None:
    """The activation is over: what only its variables held dies, unless the result leads to it."""
    dying = [
        v
        for v in frame.variables.values()
        if isinstance(v, Object | TupleValue | Phi) and (m.nannies or m.pinned or _mortal(v))
    ]
    if not dying:
        return
    variables, frame.variables = frame.variables, {}
    m.frames.pop()
    if m.frames:
        m.frame.temporaries.append(result)
    try:
        if m.frames:
            for value in dying:
                released(m, value, span)
    finally:
        if m.frames:
            m.frame.temporaries.pop()
        m.frames.append(frame)
        frame.variables = variables


def _mortal(value: AbstractValue) -> bool:
    if isinstance(value, TupleValue):
        return any(_mortal(item) for item in value.items)
    if isinstance(value, Object) and value.kind == "map":
        return not value.model.unmapped
    return (
        isinstance(value, Object)
        and isinstance(value.model, g.Memory)
        and (value.model.pool is not None or bool(value.state.get("svm_allocation")))
    )
