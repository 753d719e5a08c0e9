"""Makes and gives back the objects of the API: queues, memory, programs, kernels, user events."""

from __future__ import annotations

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.api.model import CallModel
from kexec_lint.opencl.interpreter import commands, host, objects
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.native import events, operands, pointers, sources
from kexec_lint.opencl.interpreter.native.operands import Bound, hand_out, is_null, plain
from kexec_lint.opencl.interpreter.values import NONE, AbstractValue, Known, Object, Phi, Unknown, options

SUCCESS = Known(0)
"""Calls are taken to succeed: what a program does after a failure is no path of its order."""


def queue(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """Make a command queue; its properties say its order."""
    given = bound.get("properties", NONE)
    properties = plain(m, given)
    if isinstance(properties, Object) and properties.kind == "dict":
        properties = m.list_of(pointers.spread(properties))
    if isinstance(properties, Object) and properties.kind == "list" and not properties.items():
        properties = NONE
    context = plain(m, bound.get("context", NONE))
    if _is_properties(context):
        properties = context  # cl::CommandQueue(properties): of the default context
    elif _is_properties(plain(m, bound.get("device", NONE))):
        properties = plain(m, bound["device"])  # cl::CommandQueue(context, properties)
    order, maybe = (g.Order.IN_ORDER, False) if is_null(properties) else commands.order_of(properties)
    profiling = False if is_null(properties) else commands.profiling(properties)
    queue = g.Queue(
        "the queue",
        order,
        constructed=True,
        created=m.site(span),
        profiling=profiling,
        context=context,
        maybe=maybe,
    )
    if not m.scratch:
        m.graph.queues.append(queue)
    return m.object("queue", span, "queue", queue, context=context)


def _is_properties(value: AbstractValue) -> bool:
    return (
        isinstance(value, Known)
        and isinstance(value.value, frozenset)
        and bool(value.value & {"OUT_OF_ORDER_EXEC_MODE_ENABLE", "PROFILING_ENABLE", "OutOfOrder", "Profiling"})
    )


def set_queue_property(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """`clSetCommandQueueProperty` changes the order at run time: not followed."""
    queue = commands.queue_model(m, plain(m, bound.get("queue", NONE)))
    queue.order = g.Order.UNKNOWN
    return SUCCESS


def context(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """Make a context."""
    return m.object("context", span)


def buffer(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """Make a memory object."""
    kind = "image" if row.does == "image" else "buffer"
    if row.does == "shared":
        memory = g.Memory("buffer", "buffer", known=True, created=m.site(span))
        return m.object("memory", span, "buffer", memory)
    flags = bound.get("flags", NONE)
    if kind == "buffer" and not isinstance(flags, Known | Phi | Unknown):
        flags = NONE  # cl::Buffer(context, begin, end, readOnly)
    names = flag_names(flags)
    hostbuf = bound.get("hostbuf", NONE)
    if "EXT_PTR_XILINX" in names:
        hostbuf = _extension(m, hostbuf, span)
    size = commands.byte_count(m, bound.get("size"))
    memory = g.Memory(kind, kind, known=True, created=m.site(span), size=size)
    memory.initialised = not is_null(hostbuf) or "err" not in row.params
    exact = isinstance(flags, Known)
    if exact and "READ_ONLY" in names:
        memory.access = "read"
    elif exact and "WRITE_ONLY" in names:
        memory.access = "write"
    if "USE_HOST_PTR" in names and not is_null(hostbuf):
        behind = operands.operand(m, hostbuf, "ptr", span)
        if isinstance(behind, Object) and behind.kind == "host" and not behind.state.get("part"):
            before = behind.model.host_pointer
            if before is not None and before.released:
                before.host_pointer = None
            memory.host_pointer = behind.model
            behind.model.host_pointer = memory
    elif "COPY_HOST_PTR" in names and not is_null(hostbuf):
        host.read(m, hostbuf, span, "the copy into the new buffer")
    return m.object("memory", span, kind, memory, context=plain(m, bound.get("context", NONE)))


def _extension(m: Machine, given: AbstractValue, span: p.Span) -> AbstractValue:
    """Return the host pointer behind a `cl_mem_ext_ptr_t`, whose member `obj` holds it (Xilinx, `cl_ext_xilinx.h`)."""
    structure = plain(m, given)
    held = structure.state.get("obj") if isinstance(structure, Object) else (m.state_of(structure) or {}).get("obj")
    return held if isinstance(held, AbstractValue) else NONE


def flag_names(value: AbstractValue | None) -> set[str]:
    """Return the names of the flags that an argument may hold."""
    names: set[str] = set()
    for _, option in options(value) if value is not None else ():
        if isinstance(option, Known) and isinstance(option.value, frozenset):
            names |= option.value
    return names


def sub_buffer(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """Make a part of a memory object."""
    parent = plain(m, bound.get("mem", bound.get("self", NONE)))
    region = bound.get("region", NONE)
    extent = _region(m, region, span)
    if not (isinstance(parent, Object) and isinstance(parent.model, g.Memory)):
        found = next(commands.memory_of(m, parent), None)
        if found is None:
            return m.fresh("sub-buffer")
        outer = found[0]
    else:
        outer = parent.model
    part = g.Memory(
        outer.name, outer.kind, outer.known, m.site(span), parent=outer, range=extent, partial=extent is None
    )
    return m.object("memory", span, "sub-buffer", part)


def _region(m: Machine, region: AbstractValue, span: p.Span) -> tuple[int, int] | None:
    region = plain(m, region)
    if isinstance(region, Object):
        start = region.state.get("origin", region.state.get(("key", 0)))
        size = region.state.get("size", region.state.get(("key", 1)))
        if region.kind == "list" and len(region.items()) == 2:
            start, size = region.items()
        first, length = commands.byte_count(m, start), commands.byte_count(m, size)
        if first is not None and length is not None:
            return (first, first + length)
    return None


def release_memory(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """Releasing a memory object is deferred until the commands that use it are over (specification)."""
    memory = plain(m, bound.get("mem", NONE))
    if isinstance(memory, Object) and isinstance(memory.model, g.Memory) and not m.scratch:
        memory.model.released = m.site(span)
    return give_back(m, row, bound, span)


def give_back(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """An object of the runtime is released."""
    if m.graph.user_events and not m.scratch:
        m.point("give back", span, what="This call")
    return SUCCESS


def user_event(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """Make a user event."""
    context = plain(m, bound.get("context", NONE))
    event = g.Event("user", created=m.site(span), context=context, guard=m.guard)
    if not m.scratch:
        m.graph.user_events.append(event)
    return m.object("event", span, "user event", event)


def foreign_event(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """Make an event of another API."""
    return Unknown(("foreign", m.serial))


def release_event(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """Carry out `clReleaseEvent`."""
    events.release(m, plain(m, bound.get("event", NONE)), span)
    return SUCCESS


def retain_event(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """Carry out `clRetainEvent`."""
    events.retain(plain(m, bound.get("event", NONE)))
    return SUCCESS


def program(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """Make a program; its kernels are read from its text, or from the files that the host file names."""
    made = m.object("program", span, "program")
    made.state["kernels"] = None
    text = sources.text(m, bound.get("strings", bound.get("context", NONE)), span) if "strings" in row.params else None
    if text is None:
        text = sources.nearby(m)
    if text is not None:
        from kexec_lint.opencl.kernels import read_kernels

        made.state["kernels"] = read_kernels(text.value)
        made.state["skeleton"] = text.skeleton
        m.kernel_texts.setdefault(text.value, m.site(span))
    return made


def build(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """Build a program: nothing that the order depends on."""
    return SUCCESS


def kernel(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """Take a kernel from a program."""
    program, name = plain(m, bound.get("program", NONE)), bound.get("name", NONE)
    title = str(name.value) if isinstance(name, Known) and isinstance(name.value, str) else "a kernel"
    title = title.partition(":")[0]
    parsed = None
    read = isinstance(program, Object) and program.kind == "program" and program.state.get("kernels") is not None
    if read and isinstance(program, Object) and title != "a kernel":
        found = objects.kernel_of(m, program, title)
        parsed = found.model if isinstance(found, Object) else None
    return Object("kernel", {}, model=parsed, site=m.site(span), name=title)


def clone_kernel(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """Clone a kernel: another object with the same arguments."""
    kernel = plain(m, bound.get("kernel", NONE))
    if isinstance(kernel, Object) and kernel.kind == "kernel":
        return Object("kernel", dict(kernel.state), model=kernel.model, site=m.site(span), name=kernel.name)
    return m.fresh("kernel")


def query(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """A question whose answer is not followed: what it writes is not known."""
    for name in ("value", "platforms", "devices", "found", "size"):
        if name in bound and isinstance(bound[name], pointers.Address):
            hand_out(m, bound[name], m.fresh("answer"), span)
    return SUCCESS if row.params else m.fresh("answer")


def nothing(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """A call that orders nothing."""
    return SUCCESS


def sampler(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """Make a sampler."""
    return m.object("sampler", span)


def local(m: Machine, row: CallModel, bound: Bound, span: p.Span) -> AbstractValue:
    """Local memory as a kernel argument."""
    return m.object("local", span)
