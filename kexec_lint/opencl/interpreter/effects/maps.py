"""Mapped memory: map, unmap, and the array in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.api.model import CallModel
from kexec_lint.opencl.interpreter import (
    commands,
    objects,
)
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.values import (
    NONE,
    AbstractValue,
    Known,
    Object,
    TupleValue,
)

if TYPE_CHECKING:
    from kexec_lint.opencl.interpreter.calls import Arguments

from kexec_lint.opencl.interpreter.effects import transfers

Bound = dict[str, AbstractValue]


def map_buffer(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    """`enqueue_map_buffer`: (array, event)."""
    bound = arguments.bind(row.params)
    return _mapped(m, row, bound, bound.get("buf", NONE), bound.get("flags", NONE), span)


def _mapped(
    m: Machine, row: CallModel, bound: Bound, memory: AbstractValue, flags: AbstractValue, span: p.Span
) -> AbstractValue:
    names = flags.value if isinstance(flags, Known) and isinstance(flags.value, frozenset) else None
    invalidates = names is not None and "WRITE_INVALIDATE_REGION" in names
    writes = None if names is None else any("WRITE" in name for name in names)
    operands = commands.accesses(m, memory, "mapped", not invalidates, False, **transfers.extent(m, bound, "mem"))
    blocking = transfers.blocking_of(m, row, bound)
    event = commands.enqueue(
        m, span, "map", bound.get("queue", NONE), bound.get(row.wait), operands, blocking, what="map"
    )
    command = event.model.command
    target = operands[0].memory if operands else g.Memory("mapped memory", "buffer", known=False)
    view = g.Memory(f"the mapping of {target.name}", "host", known=True, created=m.site(span))
    mapping = g.Mapping(target, command, view, writes, invalidates)
    command.mapping = mapping
    command.accesses.append(g.Access(view, False, True, role="mapping"))
    if not m.scratch and operands and operands[0].certain:
        m.graph.mappings.append(mapping)
    array = m.object("map", span, "mapped array", mapping)
    return TupleValue((array, event))


def unmap(m: Machine, receiver: Object, arguments: Arguments, span: p.Span) -> AbstractValue:
    """`array.base.release(queue=None, wait_for=None)`, and the end of `with array.base`."""
    mapping: g.Mapping = receiver.model
    bound = arguments.bind(("queue", "wait_for"))
    queue = bound.get("queue", NONE)
    if queue == NONE:
        queue = _queue_value(m, mapping.command.queue)
    operands = [
        g.Access(mapping.memory, False, mapping.writes is not False, role="unmapped"),
        g.Access(mapping.host, True, False, role="mapping"),
    ]
    event = commands.enqueue(m, span, "unmap", queue, bound.get("wait_for"), operands, what="unmap")
    command: g.Command = event.model.command
    command.mapping = mapping
    if not m.scratch:
        mapping.unmap = command
        mapping.unmapped.append((command.site, m.guard, command.index))
    return event


def _queue_value(m: Machine, queue: g.Queue | None) -> AbstractValue:
    return Object("queue", model=queue) if queue is not None else NONE


def svm_map(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    bound = arguments.bind(row.params)
    assert isinstance(receiver, Object)
    result = _mapped(m, row, bound, receiver, bound.get("flags", NONE), span)
    assert isinstance(result, TupleValue)
    array, event = result.items
    assert isinstance(array, Object)
    array.state["event"] = event
    return array


def array_map(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    bound = arguments.bind(row.params)
    assert isinstance(receiver, Object)
    queue = bound.get("queue", NONE)
    bound["queue"] = receiver.state.get("queue_value", NONE) if queue == NONE else queue
    bound["wait_for"] = objects.events_of(m, [receiver], bound.get("wait_for", NONE))
    result = _mapped(m, row, bound, receiver, bound.get("flags", NONE), span)
    assert isinstance(result, TupleValue)
    result.items[0].model.command.array = True  # type: ignore[attr-defined]
    return result.items[0] if transfers.blocking_of(m, row, bound) else result
