"""From a pair in an enqueue graph to a plan: only what the pair's order can hang on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import place
from kexec_lint.opencl.checks.words import name
from kexec_lint.opencl.kernels import Kernel, read_kernels
from kexec_lint.verify.plan import KernelSpec, MemorySpec, Operand, Plan, QueueSpec, Step

BYTES = 4096
"""Size of a memory object of unknown size."""

LARGEST = 64 * 1024 * 1024
ITEMS = 64
"""Global size of a launch whose size is unknown."""

_DTYPES = {
    "float": "float32",
    "double": "float64",
    "int": "int32",
    "uint": "uint32",
    "unsigned int": "uint32",
    "long": "int64",
    "uchar": "uint8",
    "char": "int8",
    "short": "int16",
    "ushort": "uint16",
    "ulong": "uint64",
    "size_t": "uint64",
    "unsigned": "uint32",
}


class Unshowable(Exception):
    """No device can show this pair; the text says why."""


@dataclass
class _Builder:
    graph: g.EnqueueGraph
    texts: Iterable[str]
    same: dict[int, g.Memory]
    queues: list[g.Queue] = field(default_factory=list)
    memories: list[MemorySpec] = field(default_factory=list)
    numbers: dict[object, int] = field(default_factory=dict)
    users: list[g.Event] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    step_of: dict[int, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    dtypes: dict[int, str] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)


def reduce(
    graph: g.EnqueueGraph, earlier: g.Node, later: g.Node, texts: Iterable[str] = (), merge: bool = False
) -> Plan:
    """Return the smallest plan that holds the pair. `texts` are kernel sources in which its kernels may stand.

    `merge`: the objects that the two use are one block of a pool. Raises Unshowable.
    """
    if not isinstance(earlier, g.Command):
        raise Unshowable("the earlier of the two is no command, so nothing can hold it")
    same: dict[int, g.Memory] = {}
    if merge:
        same = _merged(earlier, later)
    elif not _shared(earlier, later):
        raise Unshowable("the two use different memory objects, which no order of commands brings together")
    builder = _Builder(graph, list(texts), same)
    chosen = _relevant(graph, earlier, later)
    for node in chosen:
        for access in node.accesses:
            _measure(builder, node, access)
    for node in chosen:
        _add(builder, node, later if node is earlier else earlier)
    return Plan(
        tuple(QueueSpec(q.name, q.order is g.Order.OUT_OF_ORDER, bool(q.profiling)) for q in builder.queues),
        tuple(builder.memories),
        tuple(builder.steps),
        builder.step_of[earlier.index],
        builder.step_of[later.index],
        len(builder.users),
        tuple(dict.fromkeys(builder.notes)),
    )


def _shared(earlier: g.Node, later: g.Node) -> bool:
    roots = {id(access.memory.root) for access in earlier.accesses}
    return any(id(access.memory.root) in roots for access in later.accesses)


def _merged(earlier: g.Node, later: g.Node) -> dict[int, g.Memory]:
    """Return which memory object stands for which: blocks of one pool."""
    for access in later.accesses:
        for other in earlier.accesses:
            one, two = access.memory.root, other.memory.root
            if one.pool is not None and one.pool is two.pool:
                return {id(one): two}
    raise Unshowable("the blocks of the pool are not known")


def _relevant(graph: g.EnqueueGraph, earlier: g.Command, later: g.Node) -> list[g.Node]:
    """Return the pair, what stands between them on their queues or on the host, and all that these wait for."""
    guard = earlier.guard | later.guard
    lanes = {id(node.queue) for node in (earlier, later) if isinstance(node, g.Command)}
    wanted: dict[int, g.Node] = {earlier.index: earlier, later.index: later}
    for node in graph.nodes[earlier.index + 1 : later.index]:
        if not node.guard <= guard:
            continue
        if isinstance(node, g.Command):
            if id(node.queue) in lanes:
                wanted[node.index] = node
        elif isinstance(node, g.HostPoint) and node.kind in ("wait", "finish", "status", "access"):
            wanted[node.index] = node
    pending = list(wanted.values())
    while pending:
        node = pending.pop()
        for needed in _needs(node):
            if graph.holds(needed) and needed.index not in wanted and needed.index < later.index:
                wanted[needed.index] = needed
                pending.append(needed)
    for mapping in graph.mappings:
        if mapping.command.index in wanted:
            for node in graph.nodes[mapping.command.index : earlier.index]:
                if isinstance(node, g.HostPoint) and node.mapping is mapping and node.guard <= guard:
                    wanted[node.index] = node
    return [wanted[index] for index in sorted(wanted)]


def _needs(node: g.Node) -> Iterable[g.Node]:
    """Yield the commands whose events or mappings a node uses."""
    if isinstance(node, g.Command):
        for event, _ in node.waits:
            if event.command is not None:
                yield event.command
    elif isinstance(node, g.HostPoint) and node.kind == "wait":
        for event in node.events:
            if event.command is not None:
                yield event.command
    mapping = getattr(node, "mapping", None)
    if mapping is not None and mapping.command is not node:
        yield mapping.command


def _root(builder: _Builder, memory: g.Memory) -> g.Memory:
    return builder.same.get(id(memory.root), memory.root)


def _measure(builder: _Builder, node: g.Node, access: g.Access) -> None:
    """Note how large a memory object has to be, and the type of its elements where a kernel tells."""
    root = _root(builder, access.memory)
    needed = max(root.size or 0, (access.extent or (0, 0))[1])
    if needed > LARGEST:
        raise Unshowable(f"`{root.name}` is larger than {LARGEST >> 20} MiB")
    builder.sizes[id(root)] = max(builder.sizes.get(id(root), 0), needed)
    kernel = getattr(node, "kernel", None)
    if isinstance(kernel, Kernel) and access.position is not None and access.position < len(kernel.params):
        param = kernel.params[access.position]
        if param.kind in ("global", "constant") and param.type in _DTYPES:
            builder.dtypes.setdefault(id(root), _DTYPES[param.type])


def _memory(builder: _Builder, memory: g.Memory) -> int:
    """Return the number of a memory object in the plan, adding it and its parents."""
    root = _root(builder, memory)
    mapping = next((m for m in builder.graph.mappings if m.host is root), None)
    part = memory.extent if memory.parent is not None else None
    key: object = (id(root), part)
    if key in builder.numbers:
        return builder.numbers[key]
    dtype = builder.dtypes.get(id(root), "float32")
    size = _size(builder, root)
    if part is not None:
        parent = _memory(builder, root)
        spec = MemorySpec(memory.name, "buffer", part[1] - part[0], dtype, parent, part[0])
        if root.kind == "host":
            return parent
    elif mapping is not None:
        size = _size(builder, _root(builder, mapping.memory))
        dtype = builder.dtypes.get(id(_root(builder, mapping.memory)), "float32")
        step = builder.step_of.get(mapping.command.index)
        spec = MemorySpec(root.name, "mapped", size, dtype, map_step=step)
    else:
        kind = "host" if root.kind == "host" else "buffer"
        if root.kind == "image" or root.kind.startswith("svm"):
            builder.notes.append(f"a buffer stands in for `{root.name}` ({root.kind})")
        spec = MemorySpec(root.name, kind, size, dtype)
    builder.numbers[key] = len(builder.memories)
    builder.memories.append(spec)
    return builder.numbers[key]


def _size(builder: _Builder, root: g.Memory) -> int:
    return (max(builder.sizes.get(id(root), 0), 8) + 7) // 8 * 8 if builder.sizes.get(id(root)) else BYTES


def _operand(builder: _Builder, access: g.Access) -> Operand:
    number = _memory(builder, access.memory)
    spec = builder.memories[number]
    low, high = access.range or (0, spec.bytes)
    if spec.parent is None and access.memory.parent is not None and access.extent is not None:
        low, high = access.extent
    high = min(high, spec.bytes)
    return Operand(number, min(low, high), max(high - low, 0), access.reads is not False, access.writes is not False)


def _queue(builder: _Builder, queue: g.Queue | None) -> int:
    assert queue is not None
    if queue not in builder.queues:
        builder.queues.append(queue)
    return builder.queues.index(queue)


def _add(builder: _Builder, node: g.Node, against: g.Node) -> None:
    line = place(node.site, against.site).span.row if node.site else 0
    if isinstance(node, g.HostPoint):
        step = _host_step(builder, node, line)
    else:
        assert isinstance(node, g.Command)
        step = _command_step(builder, node, line)
    if step is not None:
        builder.step_of[node.index] = len(builder.steps)
        builder.steps.append(step)


def _host_step(builder: _Builder, node: g.HostPoint, line: int) -> Step | None:
    match node.kind:
        case "wait":
            numbers = tuple(
                builder.step_of[e.command.index]
                for e in node.events
                if e.command is not None and builder.graph.holds(e.command) and e.command.index in builder.step_of
            )
            return Step("wait", node.what, line, steps=numbers) if numbers else None
        case "finish":
            if node.queue not in builder.queues:
                return None
            return Step("finish", "finish", line, queue=_queue(builder, node.queue))
        case "status":
            users = [builder.users.index(event) for event in node.events if event in builder.users]
            return Step("status", "set_status", line, user=users[0]) if users else None
        case "access" | "release":
            operands = tuple(
                operand
                for access in node.accesses
                if builder.memories[(operand := _operand(builder, access)).memory].kind != "buffer"
            )
            if operands or node.kind == "release":
                return Step("access", "the host", line, operands=operands)
            # Shared memory that the host touches: that it gets there is what can be shown.
            return Step("access", "the host", line)
    return None


def _command_step(builder: _Builder, node: g.Command, line: int) -> Step:
    if node.kind in ("acquire", "release"):
        raise Unshowable("objects shared with OpenGL cannot be made up")
    waits: list[int] = []
    users: list[int] = []
    for event, _ in node.waits:
        if event.kind == "user":
            if event not in builder.users:
                builder.users.append(event)
            users.append(builder.users.index(event))
        elif event.command is not None and builder.graph.holds(event.command):
            waits += [builder.step_of[n] for n in (event.command.index,) if n in builder.step_of]
    operands = [_operand(builder, access) for access in node.accesses if access.role != "mapping"]
    op, operands = _shape(builder, node, operands)
    spec = _author_kernel(builder, node) if op == "kernel" else None
    if op == "kernel" and spec is None:
        builder.notes.append(f"a stand-in kernel with the same access pattern runs for {name(node)}")
    map_step = None
    if node.mapping is not None and op == "unmap":
        map_step = builder.step_of.get(node.mapping.command.index)
        if map_step is None:
            raise Unshowable("the map that this unmap ends is not known")
    return Step(
        op,
        name(node),
        line,
        _queue(builder, node.queue),
        tuple(operands),
        None if node.wait_list == "none" else tuple(waits),
        tuple(users),
        kernel=spec,
        map_step=map_step,
        invalidates=bool(node.mapping is not None and op == "map" and node.mapping.invalidates),
    )


def _shape(builder: _Builder, node: g.Command, operands: list[Operand]) -> tuple[str, list[Operand]]:
    """Return the command with which a plan does what a command of the graph does, and its operands in order."""
    if node.kind in ("marker", "barrier", "map", "unmap", "migrate"):
        return node.kind, operands[:1] if node.kind in ("map", "unmap") else operands
    host = [o for o in operands if builder.memories[o.memory].kind != "buffer"]
    device = [o for o in operands if builder.memories[o.memory].kind == "buffer"]
    if node.kind == "fill" and len(device) == 1 and not host:
        return "fill", device
    if node.kind in ("read", "write", "copy", "memcpy") and len(operands) == 2:
        if len(device) == 1:
            return ("read", [device[0], host[0]]) if device[0].reads else ("write", [host[0], device[0]])
        if len(device) == 2 and device[0].memory != device[1].memory:
            source = next((o for o in device if o.reads), device[0])
            return "copy", [source, next(o for o in device if o is not source)]
    return "kernel", device


def _author_kernel(builder: _Builder, node: g.Command) -> KernelSpec | None:
    """Return the author's kernel with made-up arguments, None if its source or an argument is not known."""
    kernel, launch = node.kernel, node.launch
    if not isinstance(kernel, Kernel) or not kernel.signature_known:
        return None
    text = next((text for text in builder.texts if read_kernels(text).get(kernel.name) == kernel), None)
    if text is None:
        return None
    by_position = {a.position: a for a in node.accesses if a.position is not None and a.certain}
    arguments: list[tuple[object, ...]] = []
    for position, param in enumerate(kernel.params):
        access = by_position.get(position)
        if param.kind in ("global", "constant") and access is not None:
            arguments.append(("memory", _memory(builder, access.memory)))
        elif param.kind == "local":
            arguments.append(("local", 1024))
        elif param.kind == "scalar" and param.type in _DTYPES:
            arguments.append(("scalar", _DTYPES[param.type], 4))
        else:
            return None
    size = launch.global_size if launch is not None else None
    shape = tuple(n for n in size if n is not None) if size is not None and None not in size else ()
    if not shape or any(n < 1 for n in shape) or _product(shape) > 1 << 20:
        shape = (ITEMS,)
    smallest = min(
        [o.bytes for a in by_position.values() if (o := _operand(builder, a)).bytes] or [BYTES],
    )
    if _product(shape) * 8 > smallest:
        shape = (max(min(ITEMS, smallest // 8), 1),)
    return KernelSpec(text, kernel.name, tuple(arguments), shape)


def _product(shape: tuple[int, ...]) -> int:
    product = 1
    for n in shape:
        product *= n
    return product
