"""Carries out the rows of the C and C++ tables: what each call adds to the enqueue graph and writes back."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.api.model import CallModel
from kexec_lint.opencl.interpreter import attributes, calls, commands, expressions, host
from kexec_lint.opencl.interpreter import effects as shared
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.native import events, making, operands, pointers
from kexec_lint.opencl.interpreter.native.making import SUCCESS, flag_names
from kexec_lint.opencl.interpreter.native.operands import Bound, hand_out, is_null, plain
from kexec_lint.opencl.interpreter.values import (
    NONE,
    AbstractValue,
    FunctionValue,
    Known,
    Object,
    Phi,
    TupleValue,
    Unknown,
    options,
)

if TYPE_CHECKING:
    from kexec_lint.opencl.interpreter.calls import Arguments


def run(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue | None = None
) -> AbstractValue:
    """Do what a row says. `receiver` is the object of a method."""
    values = [_argument(m, value, span) for value in arguments.positional]
    if receiver is None:
        values = _spread_macro(values, len(row.params))
    bound: Bound = dict(zip(row.params, values, strict=False))
    if receiver is not None:
        bound["queue" if row.does in _ON_QUEUE else "self"] = receiver
    handler = EFFECTS.get(row.does)
    result = handler(m, row, bound, span) if handler is not None else m.fresh(row.does)
    status = Unknown(("status of", m.serial, span)) if row.does == "queue" else SUCCESS
    if "err" in row.params and "err" in bound:
        if row.does == "queue":
            m.serial += 1
        hand_out(m, bound["err"], status, span)
    return result


_ORDERING = re.compile(
    r"nqueue|SetUserEventStatus|setStatus|notify|signal|post|push_back|set_value|[Uu]nlock|=\s*true|=\s*1\b|\+\+|\.store\("
    r"|clFinish|\.finish|[Ww]ait|clFlush|\.flush\(\)"
)
_ON_QUEUE = frozenset(["command", "launch", "map", "unmap", "svm_map", "svm_free", "finish", "flush", "run"])


def _spread_macro(values: list[AbstractValue], wanted: int) -> list[AbstractValue]:
    """Let a macro that was not seen being defined stand for the arguments that are missing (`WAIT_LIST_ARGS`)."""
    macros = [n for n, value in enumerate(values) if _is_macro(value)]
    missing = wanted - len(values)
    if missing < 1 or len(macros) != 1:
        return values
    at = macros[0]
    return [*values[:at], *[values[at]] * (missing + 1), *values[at + 1 :]]


def _is_macro(value: AbstractValue) -> bool:
    return isinstance(value, Unknown) and value.key[0] == "name" and str(value.key[-1]).isupper()


def _argument(m: Machine, value: AbstractValue, span: p.Span) -> AbstractValue:
    return pointers.value_of(m, value, span) if pointers.is_cell(value) else value


def _done(m: Machine, row: CallModel, bound: Bound, event: Object, span: p.Span) -> AbstractValue:
    """Hand the event out as the API does, and return the status."""
    if row.returns == "value":
        return event
    if (row.params and row.params[0] == "queue" and row.does != "svm_map") or (
        row.params and row.params[0] in ("queue", "count")
    ):
        events.own(event)
    operands.give_event(m, bound, event, span)
    return SUCCESS


# --- commands -------------------------------------------------------------------------------------------------


def _command(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    accesses: list[g.Access] = []
    for name in row.operands:
        given = bound.get(name)
        if given is None or is_null(given):
            continue
        value = operands.operand(m, given, name, span)
        reads, writes = name in row.reads, name in row.writes
        if row.kind == "migrate":
            # to the device it renews the device's copy; the specification leaves any overlap undefined
            writes = "HOST" not in flag_names(bound.get("flags"))
            reads = True
        if row.kind == "memcpy":
            value = _svm_operand(m, value, span)
        kind = "host" if name == "ptr" else "svm" if row.kind == "memcpy" else "buffer"
        accesses.extend(commands.accesses(m, value, name, reads, writes, kind=kind, **_extent(m, bound, name, row)))
    if row.kind == "migrate" and "HOST" in flag_names(bound.get("flags")):
        accesses += [
            g.Access(one.memory.host_pointer, False, True, one.certain, role="behind")
            for one in accesses
            if one.memory.host_pointer is not None
        ]
    event = _enqueue(m, row, bound, span, row.kind, accesses, what=row.kind)
    return _done(m, row, bound, event, span)


def _enqueue(
    m: Machine, row: CallModel, bound: Bound, span: p.Span, kind: str, accesses: list[g.Access], **parts: Any
) -> Object:
    queue = plain(m, bound.get("queue", NONE))
    waits = operands.wait_list(m, row, bound, span)
    _self_wait(m, bound, span)
    _use_events(m, waits, span)
    blocking: bool | None = False
    if row.blocking is not None:
        flag = bound.get(row.blocking)
        blocking = row.blocking_default if flag is None else expressions.truth(m, flag)
    if kind in ("unmap", "free"):
        blocking = False
    return commands.enqueue(m, span, kind, queue, waits, accesses, blocking, **parts)


def _use_events(m: Machine, waits: AbstractValue, span: p.Span) -> None:
    """The events of a wait list are used: they have to be there."""
    for _, option in options(waits):
        for element in pointers.spread(option) if isinstance(option, Object) else ():
            events.use(m, element, span, "waited for")
            if operands.never_written(m, element):
                m.remark(
                    "OCL306",
                    span,
                    "The wait list holds an event variable that nothing has written: whatever lies there is taken for "
                    "an event",
                    "write the event of a command into it first, or count only those that were written",
                )
                return


def _self_wait(m: Machine, bound: Bound, span: p.Span) -> None:
    """OCL306: the event of the command may not stand in its own wait list (specification, each call)."""
    given, out = bound.get("events"), bound.get("event")
    if m.scratch or not isinstance(given, pointers.Address) or given != out or is_null(bound.get("num", Known(1))):
        return
    m.remark(
        "OCL306",
        span,
        "The event that the command hands out is also the wait list: its variable is written and read at once",
        "use a variable of its own for the new event",
    )


def _svm_operand(m: Machine, value: AbstractValue, span: p.Span) -> AbstractValue:
    return value


_OFFSETS = {"mem": "offset", "src": "src_offset", "dst": "dst_offset"}


def _extent(m: Machine, bound: Bound, operand: str, row: CallModel) -> dict[str, Any]:
    """Return the byte range of an operand of a linear transfer, or that only a part is used."""
    if "region" in row.params or operand not in _OFFSETS or "size" not in row.params or row.kind == "memcpy":
        return {"partial": True} if operand == "mem" and "region" in row.params and row.kind != "write" else {}
    offset, size = bound.get(_OFFSETS[operand]), bound.get("size")
    start = 0 if offset is None else commands.byte_count(m, offset)
    length = commands.byte_count(m, size)
    if start is not None and length is not None:
        return {"range": (start, start + length)}
    return {} if start == 0 else {"partial": True}


def _launch(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    kernel = plain(m, bound.get("kernel", NONE))
    state = m.state_of(kernel) or {}
    given: dict[int, AbstractValue] = {}
    for key, value in state.items():
        if isinstance(key, tuple) and key[0] == "arg" and isinstance(key[1], int) and value != NONE:
            given[key[1]] = value
    event = launch(m, row, bound, kernel, given, span)
    return _done(m, row, bound, event, span)


def launch(
    m: Machine, row: CallModel, bound: Bound, kernel: AbstractValue, given: dict[int, AbstractValue], span: p.Span
) -> Object:
    """Enqueue a kernel on arguments that were set before."""
    waits = operands.wait_list(m, row, bound, span)
    _self_wait(m, bound, span)
    _use_events(m, waits, span)
    keywords = calls.Arguments([], {"wait_for": waits})
    queue = plain(m, bound.get("queue", NONE))
    whole, local = _sizes(m, bound, "global", span), _sizes(m, bound, "local", span)
    event = shared.launch(
        m,
        kernel,
        queue,
        whole,
        _fitted(local, whole) if isinstance(bound.get("local"), Object) else local,
        given,
        False,
        keywords,
        span,
        {},
    )
    assert isinstance(event, Object)
    if _is_shifted(bound) and event.model.command is not None:
        command = event.model.command
        command.accesses[:] = [replace(access, partial=True) for access in command.accesses]
    return event


def _fitted(local: AbstractValue, whole: AbstractValue) -> AbstractValue:
    """Return a `cl::NDRange` of a work-group in the dimensions of the launch: opencl.hpp makes further sizes 1."""
    if not isinstance(local, TupleValue) or not isinstance(whole, TupleValue):
        return local
    return TupleValue((*local.items, *(Known(1),) * len(whole.items))[: len(whole.items)])


def _is_shifted(bound: Bound) -> bool:
    """Whether a launch begins at a work-item that the program computes: it is for one part of the data."""
    offset = bound.get("global_offset", NONE)
    if is_null(offset):
        return False
    zeros = isinstance(offset, Object) and offset.kind == "ranges" and all(i == Known(0) for i in offset.items())
    return not zeros


def _sizes(m: Machine, bound: Bound, name: str, span: p.Span) -> AbstractValue:
    """Return work sizes as a tuple, as far as they are known."""
    value = bound.get(name, NONE)
    if is_null(value):
        return NONE
    number = bound.get("dimensions")
    count = number.value if isinstance(number, Known) and isinstance(number.value, int) else None
    if isinstance(value, Object) and value.kind == "ranges":
        return NONE if value.state.get("null") else TupleValue(value.items())
    if count is None or not 0 < count <= 8:
        return m.fresh("size")
    if isinstance(value, pointers.Address | Object) and not (isinstance(value, Object) and value.kind == "host"):
        return TupleValue(tuple(pointers.element(m, value, Known(i), span) for i in range(count)))
    return m.fresh("size")


def _set_arg(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """`clSetKernelArg(kernel, index, size, &value)`, `kernel.setArg(index, value)`."""
    kernel = plain(m, bound.get("kernel", bound.get("self", NONE)))
    index, value = bound.get("index"), bound.get("value", NONE)
    if "size" in row.params and row.does == "set_arg":
        value = _pointed(m, value, bound.get("size", NONE), span)
    else:
        value = plain(m, value)
    for _, option in options(kernel):
        state = m.state_of(option)
        if state is None:
            continue
        if isinstance(index, Known) and isinstance(index.value, int):
            m.heap.write(state, ("arg", index.value), value)
        elif index is not None:
            m.heap.write(state, ("arg", 1000 + len(state)), value)
    return SUCCESS


def _pointed(m: Machine, value: AbstractValue, size: AbstractValue, span: p.Span) -> AbstractValue:
    """Return the argument that `clSetKernelArg` reads at a pointer: a handle, or a number that is no operand."""
    if is_null(value):
        return Object("local")
    found = pointers.deref(m, value, span) if not isinstance(value, Known) else m.fresh("argument")
    if isinstance(found, Object | Phi):
        return found if not pointers.is_cell(found) else m.fresh("argument")
    if size == Known(8) or isinstance(size, Unknown) or size == NONE:
        return found
    return m.fresh("argument")


def _set_args(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    return SUCCESS


def _run(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """`clEnqueueCommandBufferKHR`: what was recorded runs as one command."""
    buffer = plain(m, bound.get("buffer", NONE))
    queues = bound.get("queues", NONE)
    queue = plain(m, queues) if not is_null(queues) else NONE
    if isinstance(queue, Object) and queue.kind in ("dict", "list"):
        queue = next(iter(pointers.spread(queue)), NONE)
    if queue == NONE and isinstance(buffer, Object):
        queue = buffer.state.get("queue", NONE)
    accesses: list[g.Access] = []
    if isinstance(buffer, Object):
        for role, value, reads, writes in buffer.state.get("recorded", ()):
            accesses.extend(commands.accesses(m, value, role, reads, writes))
    event = _enqueue(m, row, {**bound, "queue": queue}, span, "library", accesses, what="the command buffer")
    command: g.Command | None = event.model.command
    if command is not None:
        command.kernel_object = buffer
    return _done(m, row, bound, event, span)


def _record(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    buffer = plain(m, bound.get("buffer", NONE))
    if isinstance(buffer, Object):
        recorded = list(buffer.state.get("recorded", ()))
        for name in row.operands:
            value = operands.operand(m, bound.get(name, NONE), name, span)
            recorded.append((name, value, name in row.reads, name in row.writes))
        buffer.state["recorded"] = tuple(recorded)
    return SUCCESS


def _record_kernel(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    buffer, kernel = plain(m, bound.get("buffer", NONE)), plain(m, bound.get("kernel", NONE))
    if isinstance(buffer, Object):
        state = m.state_of(kernel) or {}
        parsed = kernel.model if isinstance(kernel, Object) else None
        params = parsed.params if parsed is not None and parsed.signature_known else None
        recorded = list(buffer.state.get("recorded", ()))
        for key, value in state.items():
            if isinstance(key, tuple) and key[0] == "arg" and isinstance(value, Object) and value.kind == "memory":
                param = params[key[1]] if params is not None and key[1] < len(params) else None
                reads, writes = (param.reads, param.writes) if param is not None else (None, None)
                recorded.append((f"argument {key[1] + 1}", value, reads, writes))
        buffer.state["recorded"] = tuple(recorded)
    return SUCCESS


def _command_buffer(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    queues = plain(m, bound.get("queues", NONE))
    if isinstance(queues, Object) and queues.kind in ("dict", "list"):
        queues = next(iter(pointers.spread(queues)), NONE)
    simultaneous = _listflag_names(m, bound.get("properties", NONE))
    return m.object("command_buffer", span, "command buffer", queue=queues, simultaneous=simultaneous)


def _listflag_names(m: Machine, value: AbstractValue) -> bool | None:
    """Return whether the properties of a command buffer allow it to run beside itself, None if unknown."""
    if is_null(value):
        return False
    found = plain(m, value)
    if not isinstance(found, Object):
        return None
    keys = [e.key[-1] for e in pointers.spread(found) if isinstance(e, Unknown) and e.key[0] == "name"]
    return any("SIMULTANEOUS_USE" in str(key) for key in keys)


# --- maps -----------------------------------------------------------------------------------------------------


def _map(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    memory = operands.operand(m, bound.get("mem", NONE), "mem", span)
    return _mapped(m, row, bound, memory, span)


def _mapped(m: Machine, row: CallModel, bound: Bound, memory: AbstractValue, span: p.Span) -> AbstractValue:
    flags = bound.get("flags", NONE)
    names = flags.value if isinstance(flags, Known) and isinstance(flags.value, frozenset) else None
    invalidates = names is not None and "WRITE_INVALIDATE_REGION" in names
    writes = None if names is None else any("WRITE" in name for name in names)
    accesses = commands.accesses(m, memory, "mapped", not invalidates, False, **_extent(m, bound, "mem", row))
    event = _enqueue(m, row, bound, span, "map", accesses, what="map")
    command: g.Command = event.model.command
    target = accesses[0].memory if accesses else g.Memory("mapped memory", "buffer", known=False)
    view = g.Memory(f"the mapping of {target.name}", "host", known=True, created=m.site(span))
    mapping = g.Mapping(target, command, view, writes, invalidates)
    command.mapping = mapping
    command.accesses.append(g.Access(view, False, True, role="mapping"))
    if not m.scratch and accesses and accesses[0].certain:
        m.graph.mappings.append(mapping)
    _done(m, row, bound, event, span)
    array = m.object("map", span, "mapped memory", mapping)
    for _, option in options(memory):
        state = m.state_of(option)
        if state is not None:
            m.heap.write(state, "mapped", array)
    return array


def _unmap(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    pointer = plain(m, bound.get("ptr", NONE))
    memory = operands.operand(m, bound.get("mem", NONE), "mem", span)
    found = next((o for _, o in options(pointer) if isinstance(o, Object) and o.kind == "map"), None)
    if found is None:
        held = (m.state_of(memory) or {}).get("mapped") if not isinstance(memory, Phi) else None
        found = held if isinstance(held, Object) and held.kind == "map" else None
    accesses: list[g.Access] = []
    mapping: g.Mapping | None = found.model if found is not None else None
    if mapping is not None:
        accesses.append(g.Access(mapping.memory, False, mapping.writes is not False, role="unmapped"))
        accesses.append(g.Access(mapping.host, True, False, role="mapping"))
    else:
        accesses.extend(commands.accesses(m, memory, "unmapped", False, True))
    event = _enqueue(m, row, bound, span, "unmap", accesses, what="unmap")
    command: g.Command = event.model.command
    command.mapping = mapping
    if mapping is not None and not m.scratch:
        mapping.unmap = command
        mapping.unmapped.append((command.site, m.guard, command.index))
    return _done(m, row, bound, event, span)


def _svm_map(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """Mapping shared memory makes the pointer itself usable: the map is a command that the host waits for."""
    value = bound.get("svm", NONE)
    accesses = commands.accesses(m, operands.operand(m, value, "svm", span), "mapped", True, True, kind="svm")
    event = _enqueue(m, row, bound, span, "map", accesses, what="map")
    return _done(m, row, bound, event, span)


def _svm_free(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    value = operands.operand(m, bound.get("svms", NONE), "svms", span)
    accesses = commands.accesses(m, value, "freed", False, True, kind="svm")
    event = _enqueue(m, row, bound, span, "free", accesses, what="free")
    return _done(m, row, bound, event, span)


def _svm_alloc(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    made = host.make(m, span, "SVM allocation", initialised=False)
    # a map makes the pointer itself usable: only what is in flight is judged, not whether there is a map
    names, known = flag_names(bound.get("flags")), isinstance(bound.get("flags"), Known)
    coarse = row.does == "svm_alloc" and known and "SVM_FINE_GRAIN_BUFFER" not in names
    made.model.kind = "svm-fine" if coarse else "svm-shared"
    if row.does == "usm_device_alloc":
        made.model.kind = "buffer"
        made = Object("memory", made.state, model=made.model, site=made.site, name=made.name)
    made.state["as_svm"] = True
    return made


def _svm_free_now(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """`clSVMFree`, `clMemFreeINTEL`: nothing waits (API specification, clSVMFree)."""
    value = bound.get("svm", NONE)
    if row.does == "svm_free_blocking":
        commands.everything_may_wait(m, span, "a blocking free")
        return SUCCESS
    if isinstance(value, Object) and value.kind == "map":
        return SUCCESS  # the pointer of shared memory under a buffer
    for memory, certain, _, _ in commands.memory_of(m, operands.operand(m, value, "svm", span), "svm"):
        if not m.scratch and id(memory.root) in m.users:
            point = m.point("release", span, what="release", memory=memory)
            point.accesses.append(g.Access(memory, False, True, certain, role="free"))
    return SUCCESS


# --- the host waits -------------------------------------------------------------------------------------------


def _finish(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    commands.finish(m, plain(m, bound.get("queue", NONE)), span)
    return SUCCESS


def _finish_default(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    commands.everything_may_wait(m, span, "cl::finish")
    return SUCCESS


def _flush(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    m.point("flush", span, queue=commands.queue_model(m, plain(m, bound.get("queue", NONE))))
    return SUCCESS


def _wait(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    waits = operands.wait_list(m, row, bound, span)
    _use_events(m, waits, span)
    commands.wait_for(m, waits, span)
    return SUCCESS


def _wait_self(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    value = bound.get("self", NONE)
    commands.wait_for(m, value if isinstance(value, Object) and value.kind == "list" else m.list_of([value]), span)
    return SUCCESS


def _set_status(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    for _, option in options(plain(m, bound.get("event", bound.get("self", NONE)))):
        if isinstance(option, Object) and option.kind == "event":
            shared.set_status(m, option, bound.get("status", Known(0)), span)
        elif isinstance(option, Unknown):
            for event in m.graph.user_events:
                event.escaped = True
    return SUCCESS


def _set_callback(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    event = plain(m, bound.get("event", bound.get("self", NONE)))
    callback = bound.get("callback", NONE)
    known = isinstance(callback, FunctionValue)
    if isinstance(event, Object) and event.kind == "event":
        if isinstance(callback, FunctionValue):
            m.graph.callbacks.append(g.Callback(m.site(span), callback, event.model))
        event.model.escaped = event.model.escaped or not known or _orders(callback)
    m.graph.threaded = m.graph.threaded or not known or _orders(callback)
    return SUCCESS


def _orders(callback: AbstractValue) -> bool:
    """Return whether a callback may order commands: it enqueues, sets an event, or wakes another thread."""
    assert isinstance(callback, FunctionValue)
    rows = callback.scope.text.split("\n")[callback.node.span.row - 1 : callback.node.span.end_row]
    return _ORDERING.search("\n".join(rows)) is not None


def _profile(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    event = plain(m, bound.get("event", bound.get("self", NONE)))
    if isinstance(event, Object) and event.kind == "event":
        events.use(m, event, span, "asked for its times")
        m.point("profile", span, events=(event.model,))
    if "value" in bound:
        hand_out(m, bound["value"], m.fresh("timestamp"), span)
    return SUCCESS if "size" in row.params or "value" in bound else m.fresh("timestamp")


def _event_info(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    event = plain(m, bound.get("event", bound.get("self", NONE)))
    answer: AbstractValue = m.fresh("info")
    if (
        isinstance(event, Object)
        and event.kind == "event"
        and "COMMAND_EXECUTION_STATUS" in flag_names(bound.get("name"))
    ):
        events.use(m, event, span, "asked for its status")
        answer = attributes.status(m, event, span)
    if "value" in bound:
        hand_out(m, bound["value"], answer, span)
        return SUCCESS
    return answer


def _poll_self(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    event = bound.get("self", NONE)
    return attributes.status(m, event, span) if isinstance(event, Object) else m.fresh("status")


Effect = Callable[[Machine, CallModel, Bound, p.Span], AbstractValue]

EFFECTS: dict[str, Effect] = {
    "command": _command,
    "launch": _launch,
    "set_arg": _set_arg,
    "set_arg_pointer": _set_arg,
    "set_args": _set_args,
    "exec_info": making.nothing,
    "run": _run,
    "record": _record,
    "record_kernel": _record_kernel,
    "command_buffer": _command_buffer,
    "map": _map,
    "unmap": _unmap,
    "svm_map": _svm_map,
    "svm_free": _svm_free,
    "svm_alloc": _svm_alloc,
    "usm_alloc": _svm_alloc,
    "usm_device_alloc": _svm_alloc,
    "svm_free_now": _svm_free_now,
    "svm_free_blocking": _svm_free_now,
    "finish": _finish,
    "finish_default": _finish_default,
    "flush": _flush,
    "wait": _wait,
    "wait_self": _wait_self,
    "set_status": _set_status,
    "set_callback": _set_callback,
    "profile": _profile,
    "event_info": _event_info,
    "poll_self": _poll_self,
    "queue": making.queue,
    "set_queue_property": making.set_queue_property,
    "context": making.context,
    "buffer": making.buffer,
    "image": making.buffer,
    "shared": making.buffer,
    "sub_buffer": making.sub_buffer,
    "release_memory": making.release_memory,
    "give_back": making.give_back,
    "user_event": making.user_event,
    "foreign_event": making.foreign_event,
    "release_event": making.release_event,
    "retain_event": making.retain_event,
    "program": making.program,
    "build": making.build,
    "kernel": making.kernel,
    "clone_kernel": making.clone_kernel,
    "query": making.query,
    "sampler": making.sampler,
    "local": making.local,
    "nothing": making.nothing,
}
"""What a row's `does` means in C and C++."""
