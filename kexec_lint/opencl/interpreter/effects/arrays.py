"""`pyopencl.array`: Arrays, their transfers and their events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kexec_lint.opencl import program as p
from kexec_lint.opencl.api.model import CallModel
from kexec_lint.opencl.interpreter import (
    attributes,
    commands,
    expressions,
    host,
    objects,
)
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.values import (
    NONE,
    AbstractValue,
    Known,
    Object,
    Phi,
    TupleValue,
    Unknown,
)

if TYPE_CHECKING:
    from kexec_lint.opencl.interpreter.calls import Arguments

from kexec_lint.opencl.interpreter.effects import making

Bound = dict[str, AbstractValue]


def array(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    """`to_device`, `zeros`, `empty`, …: a new Array on a queue."""
    bound = arguments.bind(row.params)
    queue = bound.get("queue", bound.get("cq", NONE))
    source, data = bound.get("ary", NONE), bound.get("data", NONE)
    filled = source != NONE
    made = objects.new_array(m, span, queue, initialised=filled)
    if isinstance(data, Object) and data.kind in ("memory", "array"):
        made.model = data.model
    allocator = bound.get("allocator", NONE)
    if isinstance(allocator, Object) and allocator.kind in ("pool", "allocator"):
        making.come_from(m, made.model, allocator)
        made.state["svm_allocation"] = made.model.allocator
    if filled:
        flag = bound.get("async_", Known(False))
        asynchronous = expressions.truth(m, flag)
        operands = [
            *commands.accesses(m, source, "src", True, False, kind="host"),
            *commands.accesses(m, made, "dest", False, True),
        ]
        blocking = None if asynchronous is None else not asynchronous
        event = commands.enqueue(
            m, span, "write", queue, NONE, operands, blocking, "nanny", what="to_device", array=True
        )
        objects.add_event(m, made, event)
    elif row.reads == ("fill",):
        objects.array_operation(m, [], span, "fill", output=made)
    return made


def array_like(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    """`empty_like`, `zeros_like`: a new Array on the queue of another, filled by a kernel whose event it keeps."""
    bound = arguments.bind(row.params)
    source, queue = bound.get("ary", NONE), bound.get("queue", NONE)
    if host.is_host(m, source):
        return host.make(m, span, "array")
    if isinstance(source, Object) and source.kind == "array":
        beside = source.state.get("queue_value", NONE)
    elif isinstance(source, Unknown):
        beside = Unknown(("attr", source, "queue"))
    else:
        return m.fresh("array")
    made = objects.new_array(m, span, beside if queue == NONE else queue, initialised=False)
    if row.reads == ("fill",):
        objects.array_operation(m, [], span, "fill", output=made)
    return made


def array_get(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    bound = arguments.bind(row.params)
    return _download(m, receiver, bound, span, expressions.truth(m, bound.get("async_", Known(False))))[0]


def array_get_async(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    array, event = _download(m, receiver, arguments.bind(row.params), span, True)
    return TupleValue((array, event))


def _download(
    m: Machine, array: AbstractValue, bound: Bound, span: p.Span, asynchronous: bool | None
) -> tuple[AbstractValue, AbstractValue]:
    assert isinstance(array, Object)
    target = bound.get("ary", NONE)
    into = host.make(m, span, "array.get()", initialised=False) if target == NONE else target
    queue = bound.get("queue", NONE)
    queue = array.state.get("queue_value", NONE) if queue == NONE else queue
    operands = [
        *commands.accesses(m, array, "src", True, False),
        *commands.accesses(m, into, "dest", False, True, kind="host"),
    ]
    blocking = None if asynchronous is None else not asynchronous
    event = commands.enqueue(
        m, span, "read", queue, objects.events_of(m, [array]), operands, blocking, "nanny", what="get", array=True
    )
    if not blocking:
        objects.add_event(m, array, event)
    return into, event


def use(m: Machine, value: AbstractValue, span: p.Span, what: str) -> None:
    """Host code needs the elements of a value, for text, a number or a test: an Array with a queue gets them then
    (`Array.__str__`, `__repr__`, `__bool__`), host memory is read."""
    match value:
        case Object(kind="array"):
            if value.state.get("queue_value", NONE) != NONE:
                _download(m, value, {}, span, False)
        case Object(kind="list" | "set"):
            for element in value.items():
                use(m, element, span, what)
        case TupleValue(items=items):
            for element in items:
                use(m, element, span, what)
        case Phi():
            if any(isinstance(option, Object) and option.kind == "array" for _, option in value.options):
                commands.everything_may_wait(m, span, what)
            host.read(m, value, span, what)
        case Unknown() if (known := m.unknown_memory.get(commands.canonical(value))) and known.kind != "host":
            commands.everything_may_wait(m, span, what)  # as an Array does, if it is one
        case _:
            host.read(m, value, span, what)


def unknown_array_get(m: Machine, base: AbstractValue, span: p.Span) -> AbstractValue:
    """`.get()` on something whose storage was used as memory: an Array of unknown origin."""
    operands = commands.accesses(m, base, "src", True, False)
    state = m.state_of(commands.canonical(base)) or {}
    waits = state.get("events", Unknown(("attr", commands.canonical(base), "events")))
    into = host.make(m, span, "array.get()", initialised=False)
    commands.enqueue(
        m, span, "read", Unknown(("attr", base, "queue")), waits, operands, True, "nanny", what="get", array=True
    )
    return into


def array_set(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    """`Array.set` does not wait for the array's events (PyOpenCL up to 2026.1.4, `array.py` L788)."""
    bound = arguments.bind(row.params)
    assert isinstance(receiver, Object)
    queue = bound.get("queue", NONE)
    queue = receiver.state.get("queue_value", NONE) if queue == NONE else queue
    operands = [
        *commands.accesses(m, bound.get("ary", NONE), "src", True, False, kind="host"),
        *commands.accesses(m, receiver, "dest", False, True),
    ]
    asynchronous = expressions.truth(m, bound.get("async_", Known(False)))
    blocking = None if asynchronous is None else not asynchronous
    event = commands.enqueue(m, span, "write", queue, NONE, operands, blocking, "nanny", what="set", array=True)
    objects.add_event(m, receiver, event)
    return NONE


def array_copy(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    assert isinstance(receiver, Object)
    return objects.array_operation(m, [receiver], span, "copy")


def array_finish(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    assert isinstance(receiver, Object)
    commands.wait_for(m, objects.events_of(m, [receiver]), span, "finish of the array")
    events = receiver.state.get("event_list")
    if isinstance(events, Object):
        m.heap.write(events.state, "items", ())
    return NONE


def array_view(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    assert isinstance(receiver, Object)
    view = Object("array", dict(receiver.state), model=receiver.model, site=m.site(span), name=receiver.name)
    if "queue" in arguments.keywords:
        view.state["queue_value"] = arguments.keywords["queue"]
    elif arguments.positional and commands.is_queue(m, arguments.positional[0]):
        view.state["queue_value"] = arguments.positional[0]
    return view


def array_write(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    """`fill`, `setitem`: wait for the Array's events and those given, and leave an event with the Array."""
    bound = arguments.bind(row.params)
    queue = bound.get("queue", NONE)
    if queue == NONE:
        queue = attributes.get(m, receiver, "queue", span)
    value = bound.get("value", NONE)
    arrays = [receiver, *([value] if isinstance(value, Object) and value.kind == "array" else [])]
    operands = [*commands.accesses(m, receiver, "output", False, True)]
    for source in arrays[1:]:
        operands.extend(commands.accesses(m, source, "input", True, False))
    waits = objects.events_of(m, arrays, bound.get("wait_for", NONE))
    event = commands.enqueue(m, span, "kernel", queue, waits, operands, what=row.kind, array=True)
    objects.add_event(m, receiver, event)
    return receiver if row.kind == "fill" else NONE


def add_event(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    m.tracked_arrays.add(objects.token(receiver))
    objects.add_event(m, receiver, arguments.positional[0] if arguments.positional else NONE)
    return NONE
