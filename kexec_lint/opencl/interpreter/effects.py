"""Carries out the rows of the API tables: one function for each thing that a call can do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeGuard

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.api.model import CallModel
from kexec_lint.opencl.interpreter import (
    attributes,
    calls,
    commands,
    expressions,
    host,
    objects,
    queue_properties,
    wait_lists,
)
from kexec_lint.opencl.interpreter.machine import Machine
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

Bound = dict[str, AbstractValue]


def run(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue = NONE
) -> AbstractValue:
    """Do what a row says."""
    handler = EFFECTS.get(row.does)
    if handler is None:
        return m.fresh(row.does)
    return handler(m, row, arguments, span, receiver)


def blocking_of(m: Machine, row: CallModel, bound: Bound) -> bool | None:
    """Return whether a call blocks: its flag, or the default of the row."""
    if row.blocking is None:
        return False
    flag = bound.get(row.blocking)
    return row.blocking_default if flag is None else expressions.truth(m, flag)


# --- commands -------------------------------------------------------------------------------------------------


def _command(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    bound = arguments.bind(row.params)
    operands: list[g.Access] = []
    for name in row.operands:
        value = bound.get(name)
        if value is None:
            continue
        on_host = name in ("hostbuf",)
        operands.extend(
            commands.accesses(
                m,
                value,
                name,
                name in row.reads,
                name in row.writes,
                kind="host" if on_host else "buffer",
                **_extent(m, bound, name),
            )
        )
    waits = bound.get(row.wait)
    if arguments.open_keywords and waits is None:
        waits = Unknown(("param", 0, "kwargs"))
    return commands.enqueue(
        m,
        span,
        row.kind,
        bound.get(row.queue, NONE),
        waits,
        operands,
        blocking_of(m, row, bound),
        row.returns,
        what=row.kind,
    )


OFFSETS = {
    "dest": ("dest_offset", "dst_offset", "device_offset", "dest_origin", "dst_origin", "buffer_origin", "origin"),
    "dst": ("dst_offset", "dst_origin"),
    "src": ("src_offset", "device_offset", "src_origin", "buffer_origin", "origin"),
    "mem": ("device_offset", "offset", "buffer_origin", "origin"),
    "hostbuf": ("host_origin",),
}
"""Parameters that say where in an operand a transfer starts."""

SIZES = ("byte_count", "size", "region")


def _extent(m: Machine, bound: Bound, operand: str) -> dict[str, Any]:
    """Return the byte range of an operand, or that only a part of it is used."""
    offset = next((bound[name] for name in OFFSETS.get(operand, ()) if name in bound), None)
    size = next((bound[name] for name in SIZES if name in bound), None)
    if offset is None and size is None:
        return {}
    start = 0 if offset is None else commands.byte_count(m, offset)
    length = None if size is None else commands.byte_count(m, size)
    if start is not None and length is not None:
        return {"range": (start, start + length)}
    if offset is None or start == 0:
        return {}
    return {"partial": True}


def _copy(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    """`enqueue_copy`: the sides decide the kind; only a transfer with a host side can block."""
    bound = arguments.bind(row.params)
    dest, src = bound.get("dest", NONE), bound.get("src", NONE)
    sides = _side(m, dest), _side(m, src)
    if sides[0] is None and sides[1] is None:
        if "is_blocking" in bound or "device_offset" in bound:
            sides = ("either", "either")
    elif sides[0] is None:
        sides = ("device" if sides[1] == "host" else "either" if "is_blocking" in bound else None, sides[1])
        if sides[0] == "either":
            sides = ("host", sides[1])
    elif sides[1] is None:
        sides = (sides[0], "device" if sides[0] == "host" else "host" if "is_blocking" in bound else None)
    kind = {("host", "device"): "read", ("device", "host"): "write"}.get((sides[0] or "", sides[1] or ""), "copy")
    svm = any(_is_svm(side) for side in (dest, src))
    if kind == "copy" and sides == ("device", "device") and not svm:
        blocking: bool | None = False
        returns = "event"
    elif kind == "copy" and not svm:
        flag = bound.get("is_blocking")
        blocking = None if flag is None else expressions.truth(m, flag)
        returns = "nanny"
    else:
        blocking = blocking_of(m, row, bound)
        returns = "event" if svm else "nanny"
    operands = [
        *commands.accesses(
            m, src, "src", True, False, kind="host" if sides[1] == "host" else "buffer", **_extent(m, bound, "src")
        ),
        *commands.accesses(
            m,
            dest,
            "dest",
            False,
            True,
            kind="host" if sides[0] == "host" else "buffer",
            **_extent(m, bound, "dest"),
        ),
    ]
    event = commands.enqueue(
        m,
        span,
        kind,
        bound.get("queue", NONE),
        bound.get("wait_for"),
        operands,
        blocking,
        returns,
        what="svm copy" if svm else kind,
    )
    if svm and blocking is False and not m.scratch:
        m.pinned.extend((side, event.model.command) for side in (dest, src) if _plain_host_array(side))
    return event


def _plain_host_array(value: AbstractValue) -> TypeGuard[Object]:
    return isinstance(value, Object) and value.kind == "host" and value.model.kind == "host"


def _is_svm(value: AbstractValue) -> bool:
    return isinstance(value, Object) and isinstance(value.model, g.Memory) and value.model.kind.startswith("svm")


def _side(m: Machine, value: AbstractValue) -> str | None:
    """Return "host" or "device" for an operand of a copy, None if that cannot be told."""
    match value:
        case Phi():
            sides = {_side(m, option) for _, option in value.options if option != NONE}
            return sides.pop() if len(sides) == 1 else None
        case Object(kind="memory" | "array"):
            return "device"
        case Object(kind="host"):
            return "device" if _is_svm(value) and value.state.get("as_svm") else "host"
        case Object(kind="map" | "scalar"):
            return "host"
        case Unknown():
            owner = commands.canonical(value)
            if owner in m.unknown_memory:
                return "host" if m.unknown_memory[owner].kind == "host" else "device"
            if owner is not value:
                return "device"
    return None


def launch_call(m: Machine, kernel: AbstractValue, arguments: Arguments, span: p.Span) -> AbstractValue:
    """`kernel(queue, global_size, local_size, *args, wait_for=…)`."""
    positional = arguments.positional
    queue = positional[0] if positional else arguments.keywords.get("queue", NONE)
    size = positional[1] if len(positional) > 1 else NONE
    local = positional[2] if len(positional) > 2 else NONE
    given = dict(enumerate(positional[3:]))
    spans = dict(enumerate(arguments.spans[3:]))
    counted = not arguments.open and len(positional) >= 3
    return launch(
        m, kernel, queue, size, local, given if counted or given else {}, counted, arguments, span, spans
    )


def _launch_enqueue(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    """`enqueue_nd_range_kernel(queue, kernel, global, local)`: the arguments were set before."""
    bound = arguments.bind(row.params)
    kernel = bound.get("kernel", NONE)
    state = m.state_of(kernel)
    given: dict[int, AbstractValue] = {}
    complete = False
    if state is not None and isinstance(state.get("arguments"), dict):
        given = dict(state["arguments"])
        complete = bool(state.get("all_set"))
    keywords = calls.Arguments([], {k: v for k, v in bound.items() if k in ("wait_for", "g_times_l")})
    size, local = bound.get("global_work_size", NONE), bound.get("local_work_size", NONE)
    return launch(m, kernel, bound.get("queue", NONE), size, local, given, complete, keywords, span, {})


def launch(
    m: Machine,
    kernel: AbstractValue,
    queue: AbstractValue,
    size: AbstractValue,
    local: AbstractValue,
    given: dict[int, AbstractValue],
    counted: bool,
    arguments: Arguments,
    span: p.Span,
    spans: dict[int, p.Span],
) -> AbstractValue:
    """Enqueue a kernel with these arguments; `counted` says that they are all of them."""
    parsed = kernel.model if isinstance(kernel, Object) else None
    params = parsed.params if parsed is not None and parsed.signature_known else None
    operands: list[g.Access] = []
    described: list[g.Argument] = []
    for number, value in sorted(given.items()):
        param = params[number] if params is not None and number < len(params) else None
        described.append(_describe(m, value, spans.get(number)))
        if param is not None and param.kind not in ("global", "constant", "image", "pipe", "unknown"):
            continue
        if param is None and not _may_be_memory(m, value):
            continue
        reads, writes = (param.reads, param.writes) if param is not None else (None, None)
        operands.extend(
            commands.accesses(
                m,
                value,
                param.name if param is not None else f"argument {number + 1}",
                reads,
                _flagged(value, writes),
                position=number,
                atomic=bool(param is not None and param.atomic_only),
            )
        )
    launch = g.Launch(
        _sizes(m, size),
        _sizes(m, local),
        local != NONE,
        tuple(described) if counted and len(described) == len(given) else None,
        scales=arguments.keywords.get("g_times_l") == Known(True),
        dtypes_declared=bool((m.state_of(kernel) or {}).get("dtypes")),
        one_group=local != NONE and local == size and "g_times_l" not in arguments.keywords,
        uniform=_uniform(kernel),
        refusal_expected=bool(m.refusals),
        values=tuple(given.items()),
    )
    waits = arguments.keywords.get("wait_for")
    if arguments.open_keywords and waits is None:
        waits = Unknown(("param", 0, "kwargs"))
    return commands.enqueue(
        m,
        span,
        "kernel",
        queue,
        waits,
        operands,
        what=_kernel_name(kernel),
        kernel=parsed,
        kernel_object=kernel,
        launch=launch,
    )


def _uniform(kernel: AbstractValue) -> bool | None:
    """Without `-cl-std=CL2.0` or later a program may not be launched with a partial last work-group."""
    options = kernel.state.get("options") if isinstance(kernel, Object) else None
    return None if options is None else "-cl-std=CL2" not in options and "-cl-std=CL3" not in options


def _kernel_name(kernel: AbstractValue) -> str:
    match kernel:
        case Object(name=name):
            return name
        case Unknown(key=("attr" | "name" | "param", _, str(name)) | ("fresh", "attribute", str(name), _)):
            return name
    return "a kernel"


def _flagged(value: AbstractValue, writes: bool | None) -> bool | None:
    """A kernel may not write an object made with READ_ONLY, so an unknown access to it is a read."""
    if (
        writes is None
        and isinstance(value, Object)
        and isinstance(value.model, g.Memory)
        and value.model.access == "read"
    ):
        return False
    return writes


def _may_be_memory(m: Machine, value: AbstractValue) -> bool:
    """Return whether an argument of a kernel that cannot be read may be memory."""
    match value:
        case Phi():
            return any(_may_be_memory(m, option) for _, option in value.options)
        case Object(kind="memory" | "array"):
            return True
        case Object(kind="host"):
            return bool(value.state.get("as_svm"))
        case Unknown():
            if value.key[0] in ("fresh", "op", "len", "test"):
                return False
            return not (
                value.key[0] == "attr" and value.key[2] in ("shape", "size", "dtype", "nbytes", "itemsize")
            )
    return False


def _describe(m: Machine, value: AbstractValue, span: p.Span | None) -> g.Argument:
    match value:
        case Object(kind="memory"):
            return g.Argument("memory", memory=value.model, span=span)
        case Object(kind="array"):
            return g.Argument("array", memory=value.model, span=span)
        case Object(kind="local"):
            return g.Argument("local", span=span)
        case Object(kind="scalar"):
            return g.Argument("scalar", value.state["size"], value.state["type"], span=span)
        case Object(kind="host"):
            kind = "memory" if value.state.get("as_svm") else "host"
            return g.Argument(kind, memory=value.model, span=span)
        case Known(value=None):
            return g.Argument("none", span=span)
        case Known(value=bool() | int() | float()):
            return g.Argument("python", type=type(value.value).__name__, span=span)
    return g.Argument("unknown", span=span)


def _sizes(m: Machine, value: AbstractValue) -> tuple[int | None, ...] | None:
    elements = expressions.sequence(m, value) if value != NONE else None
    if elements is None:
        return None
    return tuple(e.value if isinstance(e, Known) and isinstance(e.value, int) else None for e in elements)


def _set_args(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    assert isinstance(receiver, Object)
    m.heap.write(receiver.state, "arguments", dict(enumerate(arguments.positional)))
    m.heap.write(receiver.state, "all_set", not arguments.open)
    if receiver.model is not None and not arguments.open and not m.refusals:
        described = tuple(_describe(m, v, s) for v, s in zip(arguments.positional, arguments.spans, strict=True))
        m.graph.set_args.append(
            g.SetArgs(m.site(span), m.guard, receiver.model, described, bool(receiver.state.get("dtypes")))
        )
    return NONE


def _set_arg(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    assert isinstance(receiver, Object)
    bound = arguments.bind(row.params)
    index = bound.get("index")
    if isinstance(index, Known) and isinstance(index.value, int):
        m.heap.write(
            receiver.state, "arguments", {**receiver.state["arguments"], index.value: bound.get("value", NONE)}
        )
    return NONE


def _set_dtypes(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    assert isinstance(receiver, Object)
    m.heap.write(receiver.state, "dtypes", True)
    return NONE


# --- maps -----------------------------------------------------------------------------------------------------


def _map(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    """`enqueue_map_buffer`: (array, event)."""
    bound = arguments.bind(row.params)
    return _mapped(m, row, bound, bound.get("buf", NONE), bound.get("flags", NONE), span)


def _mapped(
    m: Machine, row: CallModel, bound: Bound, memory: AbstractValue, flags: AbstractValue, span: p.Span
) -> AbstractValue:
    names = flags.value if isinstance(flags, Known) and isinstance(flags.value, frozenset) else None
    invalidates = names is not None and "WRITE_INVALIDATE_REGION" in names
    writes = None if names is None else any("WRITE" in name for name in names)
    operands = commands.accesses(m, memory, "mapped", not invalidates, False, **_extent(m, bound, "mem"))
    blocking = blocking_of(m, row, bound)
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


def _svm_map(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    bound = arguments.bind(row.params)
    assert isinstance(receiver, Object)
    result = _mapped(m, row, bound, receiver, bound.get("flags", NONE), span)
    assert isinstance(result, TupleValue)
    array, event = result.items
    assert isinstance(array, Object)
    array.state["event"] = event
    return array


def _array_map(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    bound = arguments.bind(row.params)
    assert isinstance(receiver, Object)
    queue = bound.get("queue", NONE)
    bound["queue"] = receiver.state.get("queue_value", NONE) if queue == NONE else queue
    own = objects.events_of(m, [receiver])
    bound["wait_for"] = own
    result = _mapped(m, row, bound, receiver, bound.get("flags", NONE), span)
    assert isinstance(result, TupleValue)
    result.items[0].model.command.array = True  # type: ignore[attr-defined]
    return result.items[0] if blocking_of(m, row, bound) else result


# --- the host waits -------------------------------------------------------------------------------------------


def _finish(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    target = receiver if receiver != NONE else arguments.bind(row.params).get(row.queue, NONE)
    commands.finish(m, target, span)
    return NONE


def _flush(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    m.point("flush", span, queue=commands.queue_model(m, receiver))
    return NONE


def _wait(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    events = arguments.bind(row.params).get(row.wait, NONE)
    wait_lists.examine(m, events, span)
    commands.wait_for(m, events, span)
    return NONE


def _wait_self(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    commands.wait_for(m, m.list_of([receiver]), span)
    return NONE


def _opaque(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    commands.everything_may_wait(m, span, "a call")
    return m.fresh("call")


def _set_status(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    """`UserEvent.set_status`: edge E7 from here to every command that waits for it, earlier ones too."""
    assert isinstance(receiver, Object)
    set_status(m, receiver, arguments.bind(row.params).get("status", NONE), span)
    return NONE


def set_status(m: Machine, receiver: Object, status: AbstractValue, span: p.Span) -> None:
    """The status of a user event is set: what waits for it may go on."""
    event: g.Event = receiver.model
    point = m.point("status", span, events=(event,), what=_status(status))
    for command in m.graph.commands:
        if any(waited is event for waited, _ in command.waits):
            command.after(point, True, "user event")


def _status(value: AbstractValue) -> str:
    """Return "complete", "failed" (negative), "invalid" (an intermediate status) or "unknown"."""
    match value:
        case Known(value=frozenset() as names):
            return "complete" if "COMPLETE" in names else "invalid"
        case Known(value=int() as number):
            return "complete" if number == 0 else "failed" if number < 0 else "invalid"
    return "unknown"


def _set_callback(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    assert isinstance(receiver, Object)
    receiver.model.escaped = True
    callback = arguments.bind(row.params).get("callback", NONE)
    if isinstance(callback, FunctionValue):
        m.graph.callbacks.append(g.Callback(m.site(span), callback, receiver.model))
    m.graph.threaded = True
    return NONE


def _profile(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    assert isinstance(receiver, Object)
    m.point("profile", span, events=(receiver.model,))
    return m.fresh("timestamp")


def _poll(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    assert isinstance(receiver, Object)
    param = arguments.bind(row.params).get("param", NONE)
    names = param.value if isinstance(param, Known) and isinstance(param.value, frozenset) else frozenset()
    if m.scratch or "COMMAND_EXECUTION_STATUS" not in names:
        return m.fresh("info")
    return attributes.status(m, receiver, span)


# --- objects --------------------------------------------------------------------------------------------------


def _queue(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    bound = arguments.bind(row.params)
    properties = bound.get("properties", NONE)
    order = commands.is_out_of_order(properties)
    if arguments.open or arguments.open_keywords:
        order = g.Order.UNKNOWN if "properties" not in bound else order
    queue = g.Queue(
        "the queue", order, constructed=True, created=m.site(span), profiling=commands.profiling(properties)
    )
    queue.context = bound.get("context")
    queue_properties.examine(m, span, bound.get("device", NONE), properties)
    if not m.scratch:
        m.graph.queues.append(queue)
    return m.object("queue", span, "queue", queue, context=bound.get("context", NONE))


def _context(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    return m.object("context", span)


def _program(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    from kexec_lint.opencl.kernels import read_kernels

    source = arguments.bind(row.params).get("src", NONE)
    made = m.object("program", span, "program")
    made.state["kernels"] = None
    if isinstance(source, Known) and isinstance(source.value, str):
        made.state["kernels"] = read_kernels(source.value)
        made.state["skeleton"] = source.skeleton
        m.kernel_texts.setdefault(source.value, m.site(span))
    return made


def _kernel(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    bound = arguments.bind(row.params)
    program, name = bound.get("program", NONE), bound.get("name", NONE)
    if isinstance(program, Object) and program.kind == "program" and isinstance(name, Known):
        found = objects.kernel_of(m, program, str(name.value))
        assert isinstance(found, Object)
        return Object("kernel", {"arguments": {}}, model=found.model, site=m.site(span), name=found.name)
    return Object("kernel", {"arguments": {}}, site=m.site(span), name="a kernel")


def _buffer(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    bound = arguments.bind(row.params)
    names: set[str] = set()
    for _, option in options(bound.get("flags", NONE)):
        if isinstance(option, Known) and isinstance(option.value, frozenset):
            names |= option.value
    hostbuf = bound.get("hostbuf", NONE)
    size = commands.byte_count(m, bound.get("size"))
    kind = "image" if row.does == "image" else "buffer"
    memory = g.Memory(kind, kind, known=True, created=m.site(span), initialised=hostbuf != NONE, size=size)
    exact = isinstance(bound.get("flags"), Known)
    if exact and "READ_ONLY" in names:
        memory.access = "read"
    elif exact and "WRITE_ONLY" in names:
        memory.access = "write"
    if hostbuf != NONE:
        if "USE_HOST_PTR" in names and not (isinstance(hostbuf, Object) and hostbuf.state.get("part")):
            behind = host.memory(m, hostbuf)
            if behind is None and isinstance(hostbuf, Unknown):
                behind = next(commands.memory_of(m, hostbuf, "host"))[0]
            memory.host_pointer = behind
            if behind is not None:
                behind.host_pointer = memory
        elif "COPY_HOST_PTR" in names:
            host.read(m, hostbuf, span, "the copy into the new buffer")
    return m.object("memory", span, kind, memory, context=bound.get("context", NONE))


def _image_from_array(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    memory = g.Memory("image", "image", known=True, created=m.site(span))
    memory.access = "read"
    return m.object("memory", span, "image", memory)


def _user_event(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    event = g.Event("user", created=m.site(span), context=arguments.bind(row.params).get("context"), guard=m.guard)
    if not m.scratch:
        m.graph.user_events.append(event)
    return m.object("event", span, "user event", event)


def _local(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    return m.object("local", span)


def _svm(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    """`SVM(array)`: the same memory, to be used as an operand."""
    inner = arguments.bind(row.params).get("mem", NONE)
    if isinstance(inner, Object) and inner.kind == "host":
        memory: g.Memory = inner.model
        if memory.kind == "host":
            memory.kind = "svm-fine"
        return Object("memory", {"array": inner}, model=memory, site=m.site(span), name=inner.name)
    if isinstance(inner, Unknown):
        known, *_ = next(commands.memory_of(m, inner, "svm"))
        return Object("memory", {}, model=known, site=m.site(span), name=inner.name)
    return inner


def _svm_array(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    bound = arguments.bind(row.params)
    made = host.make(m, span, "SVM array", initialised=False)
    flags = bound.get("flags")
    coarse = row.does == "svm_array"
    if flags is not None:
        names = flags.value if isinstance(flags, Known) and isinstance(flags.value, frozenset) else None
        coarse = names is not None and "SVM_FINE_GRAIN_BUFFER" not in names
    made.model.kind = "svm" if coarse else "svm-fine"
    made.state["as_svm"] = True
    queue = bound.get("queue", NONE)
    made.model.queue = commands.queue_model(m, queue) if queue != NONE else None
    return made


def _svm_allocation(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    queue = arguments.bind(row.params).get("queue", NONE)
    memory = g.Memory("SVM allocation", "svm", known=True, created=m.site(span), initialised=False)
    memory.queue = commands.queue_model(m, queue) if queue != NONE else None
    return m.object("memory", span, "svm", memory, svm_allocation=True)


def _sub_buffer(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    assert isinstance(receiver, Object)
    bound = arguments.bind(row.params)
    start = commands.byte_count(m, bound.get("origin", Known(0)))
    size = commands.byte_count(m, bound.get("size"))
    parent: g.Memory = receiver.model
    extent = (start, start + size) if start is not None and size is not None else None
    part = g.Memory(
        parent.name, parent.kind, parent.known, m.site(span), parent=parent, range=extent, partial=extent is None
    )
    return m.object("memory", span, "sub-buffer", part)


def _alias(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    return receiver


def _release_memory(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    """`memory.release()`: deferred by the runtime for memory objects, immediate for SVM."""
    assert isinstance(receiver, Object)
    memory: g.Memory = receiver.model
    point = m.point("release", span, what="release", memory=memory)
    if memory.pool is not None and not m.scratch:
        m.graph.freed.append((memory, point))
    if memory.kind.startswith("svm") and memory.queue is None:
        point.accesses.append(g.Access(memory, False, True, role="free"))
    return NONE


def _svm_release(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    bound = arguments.bind(row.params)
    assert isinstance(receiver, Object)
    operands = commands.accesses(m, receiver, "freed", False, True)
    return commands.enqueue(
        m, span, "free", bound.get("queue", NONE), bound.get("wait_for"), operands, what="free"
    )


def _bind_queue(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    assert isinstance(receiver, Object)
    queue = arguments.bind(row.params).get("queue", NONE)
    receiver.model.queue = commands.queue_model(m, queue) if queue != NONE else None
    return NONE


def _pool(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    """A pool hands a freed block out again without synchronisation, an SVMPool with a queue synchronises itself."""
    inner = arguments.bind(row.params).get("allocator", NONE)
    made = m.object("pool", span, allocator=inner)
    made.state["synchronises"] = isinstance(inner, Object) and bool(inner.state.get("svm_queue"))
    return made


def _allocator(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    bound = arguments.bind(row.params)
    made = m.object("allocator", span)
    made.state["svm"] = "alignment" in row.params
    made.state["svm_queue"] = made.state["svm"] and bound.get("queue", NONE) != NONE
    return made


def allocate(m: Machine, pool: Object, arguments: Arguments, span: p.Span) -> AbstractValue:
    """`pool.allocate(size)`, `allocator(size)`."""
    memory = g.Memory("pool block", "buffer", known=True, created=m.site(span), initialised=False)
    _come_from(m, memory, pool)
    size = arguments.positional[0] if arguments.positional else NONE
    memory.size = commands.byte_count(m, size)
    return m.object("memory", span, "pool block", memory, allocated_size=size, svm_allocation=memory.allocator)


def _come_from(m: Machine, memory: g.Memory, source: Object) -> None:
    """Say of a block which pool it goes back to, or that nothing waits when it is freed."""
    memory.born = len(m.graph.nodes)
    if source.kind == "pool" and not source.state.get("synchronises"):
        memory.pool = source
    if source.kind == "allocator" and source.state.get("svm") and not source.state.get("svm_queue"):
        memory.allocator = True


# --- pyopencl.array -------------------------------------------------------------------------------------------


def _array(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
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
        _come_from(m, made.model, allocator)
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


def _array_like(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    source = arguments.bind(row.params).get("ary", NONE)
    if isinstance(source, Object) and source.kind == "array":
        return objects.new_array(m, span, source.state.get("queue_value", NONE), initialised=False)
    if host.is_host(m, source):
        return host.make(m, span, "array")
    return m.fresh("array")


def _array_get(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    bound = arguments.bind(row.params)
    return _download(m, receiver, bound, span, expressions.truth(m, bound.get("async_", Known(False))))[0]


def _array_get_async(
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


def unknown_array_get(m: Machine, base: AbstractValue, arguments: Arguments, span: p.Span) -> AbstractValue:
    """`.get()` on something whose storage was used as memory: an Array of unknown origin."""
    operands = commands.accesses(m, base, "src", True, False)
    state = m.state_of(commands.canonical(base)) or {}
    waits = state.get("events", Unknown(("attr", commands.canonical(base), "events")))
    into = host.make(m, span, "array.get()", initialised=False)
    commands.enqueue(
        m, span, "read", Unknown(("attr", base, "queue")), waits, operands, True, "nanny", what="get", array=True
    )
    return into


def _array_set(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
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


def _array_copy(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    assert isinstance(receiver, Object)
    return objects.array_operation(m, [receiver], span, "copy")


def _array_finish(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    assert isinstance(receiver, Object)
    commands.wait_for(m, objects.events_of(m, [receiver]), span, "finish of the array")
    events = receiver.state.get("event_list")
    if isinstance(events, Object):
        m.heap.write(events.state, "items", ())
    return NONE


def _array_view(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    assert isinstance(receiver, Object)
    view = Object("array", dict(receiver.state), model=receiver.model, site=m.site(span), name=receiver.name)
    if "queue" in arguments.keywords:
        view.state["queue_value"] = arguments.keywords["queue"]
    elif arguments.positional and commands.is_queue(m, arguments.positional[0]):
        view.state["queue_value"] = arguments.positional[0]
    return view


def _array_write(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    assert isinstance(receiver, Object)
    objects.array_operation(m, [], span, "fill", output=receiver)
    return receiver


def _add_event(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    m.tracked_arrays.add(objects.token(receiver))
    objects.add_event(m, receiver, arguments.positional[0] if arguments.positional else NONE)
    return NONE


def _generated(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    made = m.object("generated", span, row.params[0] if row.params else "")
    made.state["arguments_text"] = arguments.bind(row.params).get("arguments", NONE)
    made.state["operation_text"] = arguments.bind(row.params).get("operation", NONE)
    made.state["elementwise"] = "operation" in row.params
    return made


def generated_call(m: Machine, kernel: Object, arguments: Arguments, span: p.Span) -> AbstractValue:
    """Call an ElementwiseKernel, ReductionKernel or ScanKernel: it waits for its Array arguments' events.

    An ElementwiseKernel does not add its own event to its outputs (PyOpenCL PR 611).
    """
    arrays = [v for v in arguments.values if isinstance(v, Object) and v.kind == "array"]
    if not arrays:
        calls.opaque(m, arguments.values, span, what="a generated kernel")
        return m.fresh("generated")
    written = _written_arguments(kernel, len(arguments.positional))
    operands: list[g.Access] = []
    for number, value in enumerate(arguments.positional):
        if isinstance(value, Object) and value.kind == "array":
            writes = True if written is not None and number in written else (None if written is None else False)
            operands.extend(commands.accesses(m, value, f"argument {number + 1}", True, writes))
    queue = arguments.keywords.get("queue", arrays[0].state.get("queue_value", NONE))
    queue = arrays[0].state.get("queue_value", NONE) if queue == NONE else queue
    own = objects.events_of(m, arrays)
    given = arguments.keywords.get("wait_for", NONE)
    waits = (
        expressions.binary(m, "+", own, given, span)
        if given != NONE and own != NONE
        else (given if own == NONE else own)
    )
    event = commands.enqueue(m, span, "kernel", queue, waits, operands, what="a generated kernel", array=True)
    if kernel.state.get("elementwise"):
        return event
    return objects.new_array(m, span, queue, name="result")


def _written_arguments(kernel: Object, count: int) -> set[int] | None:
    """Return which arguments an ElementwiseKernel's operation assigns, None if its texts are not known."""
    import re

    text, operation = kernel.state.get("arguments_text", NONE), kernel.state.get("operation_text", NONE)
    if not (isinstance(text, Known) and isinstance(operation, Known)):
        return None
    if not (isinstance(text.value, str) and isinstance(operation.value, str)):
        return None
    names = [part.replace("*", " ").split()[-1] for part in text.value.split(",") if part.split()]
    stored = set(re.findall(r"(\w+)\s*\[[^\]]*\]\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)", operation.value))
    return {number for number, name in enumerate(names) if name in stored}


def _nothing(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    return m.fresh("call")


def _build(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    """`program.build(options)`: kernels taken from the program know the options; None for unknown ones."""
    given = arguments.bind(row.params).get("options", NONE)
    options = [given] if isinstance(given, Known) else expressions.sequence(m, given) or (Unknown(("options",)),)
    if isinstance(receiver, Object) and not arguments.open and all(isinstance(o, Known) for o in options):
        receiver.state["options"] = " ".join(str(o.value or "") for o in options if isinstance(o, Known))
    if isinstance(receiver, Object):
        _built_again(m, receiver, span)
    return receiver


def _built_again(m: Machine, program: Object, span: p.Span) -> None:
    """Building the same program again replaces what its kernels run."""
    if program.state.get("built") and not m.scratch:
        states = [v.state for k, v in program.state.items() if isinstance(k, tuple) and k[0] == "kernel"]
        using = [c for c in m.commands if any(getattr(c.kernel_object, "state", None) is s for s in states)]
        if using:
            m.point("rebuild", span, events=tuple(c.event for c in using if c.event is not None))
    m.heap.write(program.state, "built", Known(True))


def _self(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    return receiver


Effect = Callable[[Machine, CallModel, "Arguments", p.Span, AbstractValue], AbstractValue]

EFFECTS: dict[str, Effect] = {
    "command": _command,
    "copy": _copy,
    "launch": _launch_enqueue,
    "map": _map,
    "svm_map": _svm_map,
    "map_method": _svm_map,
    "set_args": _set_args,
    "set_arg": _set_arg,
    "set_dtypes": _set_dtypes,
    "finish": _finish,
    "flush": _flush,
    "wait": _wait,
    "wait_self": _wait_self,
    "opaque": _opaque,
    "set_status": _set_status,
    "set_callback": _set_callback,
    "profile": _profile,
    "poll": _poll,
    "queue": _queue,
    "context": _context,
    "program": _program,
    "kernel": _kernel,
    "buffer": _buffer,
    "image": _buffer,
    "image_from_array": _image_from_array,
    "user_event": _user_event,
    "local": _local,
    "svm": _svm,
    "svm_array": _svm_array,
    "svm_array_fine": _svm_array,
    "svm_allocation": _svm_allocation,
    "sub_buffer": _sub_buffer,
    "alias": _alias,
    "release_memory": _release_memory,
    "svm_release": _svm_release,
    "bind_queue": _bind_queue,
    "pool": _pool,
    "allocator": _allocator,
    "allocate": lambda m, row, arguments, span, receiver: (
        allocate(m, receiver, arguments, span) if isinstance(receiver, Object) else m.fresh("block")
    ),
    "array": _array,
    "array_like": _array_like,
    "array_get": _array_get,
    "array_get_async": _array_get_async,
    "array_set": _array_set,
    "array_copy": _array_copy,
    "array_finish": _array_finish,
    "array_view": _array_view,
    "array_write": _array_write,
    "array_map": _array_map,
    "add_event": _add_event,
    "generated": _generated,
    "nothing": _nothing,
    "self": _self,
    "build": _build,
}
"""What a row's `does` means."""
