"""Objects that calls make: queues, programs, kernels, memory, pools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kexec_lint.opencl import graph as g
from kexec_lint.opencl import program as p
from kexec_lint.opencl.api.model import CallModel
from kexec_lint.opencl.interpreter import (
    commands,
    expressions,
    host,
    objects,
    queue_properties,
)
from kexec_lint.opencl.interpreter.machine import Machine
from kexec_lint.opencl.interpreter.values import (
    NONE,
    AbstractValue,
    Known,
    Object,
    Unknown,
    options,
)

if TYPE_CHECKING:
    from kexec_lint.opencl.interpreter.calls import Arguments


Bound = dict[str, AbstractValue]


def queue(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    bound = arguments.bind(row.params)
    properties = bound.get("properties", NONE)
    order, maybe = commands.order_of(properties)
    if (arguments.open or arguments.open_keywords) and "properties" not in bound:
        order = g.Order.UNKNOWN
    queue = g.Queue(
        "the queue",
        order,
        constructed=True,
        created=m.site(span),
        profiling=commands.profiling(properties),
        context=bound.get("context"),
        maybe=maybe,
    )
    queue_properties.examine(m, span, bound.get("device", NONE), properties)
    if not m.scratch:
        m.graph.queues.append(queue)
    return m.object("queue", span, "queue", queue, context=bound.get("context", NONE))


def context(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    return m.object("context", span)


def program(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    from kexec_lint.opencl.kernels import read_kernels

    source = arguments.bind(row.params).get("src", NONE)
    made = m.object("program", span, "program")
    made.state["kernels"] = None
    if isinstance(source, Known) and isinstance(source.value, str):
        made.state["kernels"] = read_kernels(source.value)
        made.state["skeleton"] = source.skeleton
        m.kernel_texts.setdefault(source.value, m.site(span))
    return made


def kernel(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    bound = arguments.bind(row.params)
    program, name = bound.get("program", NONE), bound.get("name", NONE)
    if isinstance(program, Object) and program.kind == "program" and isinstance(name, Known):
        found = objects.kernel_of(m, program, str(name.value))
        assert isinstance(found, Object)
        return Object("kernel", {"arguments": {}}, model=found.model, site=m.site(span), name=found.name)
    return Object("kernel", {"arguments": {}}, site=m.site(span), name="a kernel")


def buffer(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
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


def image_from_array(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    """`image_from_array(ctx, ary, …, mode)`: for reading, or for writing with mode "w"; a copy of the array (L1536)."""
    bound = arguments.bind(row.params)
    mode = bound.get("mode", Known("r"))
    memory = g.Memory("image", "image", known=True, created=m.site(span))
    if isinstance(mode, Known) and not arguments.open_keywords:
        memory.access = {"r": "read", "w": "write"}.get(str(mode.value))
    host.read(m, bound.get("ary", NONE), span, "the copy into the new image")
    return m.object("memory", span, "image", memory, context=bound.get("ctx", NONE))


def user_event(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    event = g.Event("user", created=m.site(span), context=arguments.bind(row.params).get("context"), guard=m.guard)
    if not m.scratch:
        m.graph.user_events.append(event)
    return m.object("event", span, "user event", event)


def local(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    return m.object("local", span)


def svm(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
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


def svm_array(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
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


def svm_allocation(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    queue = arguments.bind(row.params).get("queue", NONE)
    memory = g.Memory("SVM allocation", "svm", known=True, created=m.site(span), initialised=False)
    memory.queue = commands.queue_model(m, queue) if queue != NONE else None
    return m.object("memory", span, "svm", memory, svm_allocation=True)


def sub_buffer(
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


def alias(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    return receiver


def release_memory(
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


def svm_release(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    bound = arguments.bind(row.params)
    assert isinstance(receiver, Object)
    operands = commands.accesses(m, receiver, "freed", False, True)
    return commands.enqueue(m, span, "free", bound.get("queue", NONE), bound.get("wait_for"), operands, what="free")


def bind_queue(
    m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue
) -> AbstractValue:
    assert isinstance(receiver, Object)
    queue = arguments.bind(row.params).get("queue", NONE)
    receiver.model.queue = commands.queue_model(m, queue) if queue != NONE else None
    return NONE


def pool(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    """A pool hands a freed block out again without synchronisation, an SVMPool with a queue synchronises itself."""
    inner = arguments.bind(row.params).get("allocator", NONE)
    made = m.object("pool", span, allocator=inner)
    made.state["synchronises"] = isinstance(inner, Object) and bool(inner.state.get("svm_queue"))
    return made


def allocator(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    bound = arguments.bind(row.params)
    made = m.object("allocator", span)
    made.state["svm"] = "alignment" in row.params
    made.state["svm_queue"] = made.state["svm"] and bound.get("queue", NONE) != NONE
    return made


def allocate(m: Machine, pool: Object, arguments: Arguments, span: p.Span) -> AbstractValue:
    """`pool.allocate(size)`, `allocator(size)`."""
    memory = g.Memory("pool block", "buffer", known=True, created=m.site(span), initialised=False)
    come_from(m, memory, pool)
    size = arguments.positional[0] if arguments.positional else NONE
    memory.size = commands.byte_count(m, size)
    return m.object("memory", span, "pool block", memory, allocated_size=size, svm_allocation=memory.allocator)


def come_from(m: Machine, memory: g.Memory, source: Object) -> None:
    """Say of a block which pool it goes back to, or that nothing waits when it is freed."""
    memory.born = len(m.graph.nodes)
    if source.kind == "pool" and not source.state.get("synchronises"):
        memory.pool = source
    if source.kind == "allocator" and source.state.get("svm") and not source.state.get("svm_queue"):
        memory.allocator = True


def nothing(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    return m.fresh("call")


def build(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
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


def itself(m: Machine, row: CallModel, arguments: Arguments, span: p.Span, receiver: AbstractValue) -> AbstractValue:
    return receiver
