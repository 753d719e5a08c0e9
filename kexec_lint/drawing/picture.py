"""What is drawn: lanes, steps, links and missing links, without a place on the paper yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kexec_lint.findings import Finding
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import Evidence
from kexec_lint.opencl.checks.words import name

Judged = Sequence[tuple[Finding, Evidence, g.EnqueueGraph]]

_HOST_STEPS = ("access", "finish", "wait", "flush", "release", "status", "exit", "opaque")
_WAITS = ("finish", "wait", "opaque")


@dataclass(frozen=True)
class Lane:
    """A queue, or the host (the first lane). `about` is its order: "in-order", "out-of-order", "order unknown"."""

    title: str
    about: str


@dataclass(frozen=True)
class Use:
    """What a step does with a memory object: `how` is "reads", "writes", "reads and writes" or "uses"."""

    memory: int
    how: str


@dataclass(frozen=True)
class Step:
    """A command, or something that the host does. Steps stand in the order in which the host comes to them."""

    lane: int
    title: str
    kind: str
    path: str
    row: int
    column: int
    uses: tuple[Use, ...] = ()
    notes: tuple[str, ...] = ()
    waits: bool = False
    """The host goes on only when something is complete."""
    codes: tuple[str, ...] = ()
    """Rules that have something to say about this step alone."""


@dataclass(frozen=True)
class Link:
    """`source` is complete before `target` starts. `kind`: "queue" order, "event", "barrier", "host" (the host waits
    for it), "resume" (the host enqueues it after such a wait). Not `certain`: on some paths only.
    """

    source: int
    target: int
    kind: str
    certain: bool = True


@dataclass(frozen=True)
class Missing:
    """Two steps that nothing orders although they use the same memory."""

    source: int
    target: int
    hazard: str
    memory: str
    code: str
    message: str


@dataclass(frozen=True)
class Picture:
    """One entry point of a file: a function, a method, or the module itself."""

    title: str
    path: str
    lanes: tuple[Lane, ...]
    steps: tuple[Step, ...]
    links: tuple[Link, ...]
    missing: tuple[Missing, ...]
    memories: tuple[str, ...]
    truncated: bool = False


def pictures(graphs: Iterable[g.EnqueueGraph], judged: Judged, path: str) -> list[Picture]:
    """Return a picture of every graph that enqueues something."""
    return [_picture(graph, judged, path) for graph in graphs if graph.commands]


def _picture(graph: g.EnqueueGraph, judged: Judged, path: str) -> Picture:
    here = [(finding, evidence) for finding, evidence, of in judged if of is graph]
    forced = {id(node) for _, evidence in here for node in evidence.nodes}
    nodes = [node for node in graph.nodes if id(node) in forced or _is_step(node)]
    place = {id(node): number for number, node in enumerate(nodes)}
    queues = list(dict.fromkeys(node.queue for node in nodes if isinstance(node, g.Command)))
    lanes = (Lane("host", ""), *(_lane(queue) for queue in queues))
    memories: dict[int, tuple[int, str]] = {}
    missing = []
    alone: dict[int, list[str]] = {}
    for finding, evidence in here:
        at = [place[id(node)] for node in evidence.nodes if id(node) in place]
        if len(at) == 2 and evidence.hazard:
            memory = _shared(evidence.nodes[0], evidence.nodes[1])
            missing.append(Missing(at[0], at[1], evidence.hazard, memory, finding.code, finding.message))
        else:
            row = finding.location.row
            on_row = [n for n, node in enumerate(nodes) if any((s.path, s.span.row) == (path, row) for s in node.site)]
            at = [number for number in at if number in on_row] or on_row[:1] or at
            if at:
                alone.setdefault(at[-1], []).append(finding.code)
    seen: dict[tuple[object, ...], int] = {}
    steps = []
    for number, node in enumerate(nodes):
        lane = 1 + queues.index(node.queue) if isinstance(node, g.Command) else 0
        key = (type(node), *((at.path, at.span) for at in node.site))
        seen[key] = seen.get(key, 0) + 1
        again = ("next turn of the loop",) if seen[key] > 1 else ()
        steps.append(_step(node, lane, nodes[-1].guard, memories, again, tuple(alone.get(number, ()))))
    return Picture(
        graph.name,
        path,
        lanes,
        tuple(steps),
        tuple(_links(graph, nodes)),
        tuple(dict.fromkeys(missing)),
        tuple(_told_apart([title for _, title in memories.values()])),
        graph.truncated,
    )


def _is_step(node: g.Node) -> bool:
    if isinstance(node, g.Command):
        return True
    if not isinstance(node, g.HostPoint) or node.kind not in _HOST_STEPS:
        return False
    if node.kind in ("opaque", "access"):
        return bool(node.accesses) or any(isinstance(source, g.Command) for source, _, _ in node.before)
    return True


def _lane(queue: g.Queue | None) -> Lane:
    if queue is None:
        return Lane("?", "order unknown")
    about = "order unknown" if queue.order is g.Order.UNKNOWN else queue.order.value
    return Lane(queue.name, f"{about}, profiling" if queue.profiling else about)


def _step(
    node: g.Node,
    lane: int,
    usual: g.Guard,
    memories: dict[int, tuple[int, str]],
    notes: tuple[str, ...],
    codes: tuple[str, ...],
) -> Step:
    """Return the step of a node; what is under a condition that its last step is not under runs on some paths only."""
    uses: dict[int, str] = {}
    for access in node.accesses:
        root = access.memory.root
        number = memories.setdefault(id(root), (len(memories), root.name))[0]
        words = _how(access)
        uses[number] = words if uses.get(number, words) == words else "reads and writes"
    kind = getattr(node, "kind", "")
    if isinstance(node, g.Command):
        title = _command_title(node)
        if node.blocking:
            notes = ("blocking", *notes)
    else:
        assert isinstance(node, g.HostPoint)
        title = _host_title(node)
    if not node.guard <= usual:
        notes = (*notes, "on some paths")
    at = node.site[-1]
    if len(node.site) > 1:
        notes = (f"called in line {node.site[-2].span.row}", *notes)
    waits = isinstance(node, g.HostPoint) and kind in _WAITS
    used = tuple(Use(number, how) for number, how in uses.items())
    return Step(lane, title, kind, at.path, at.span.row, at.span.column, used, notes, waits, codes)


def _command_title(node: g.Command) -> str:
    """Name a command together with the memory objects that a transfer moves."""
    title = name(node).removeprefix("the ")
    reads = [a.memory.name for a in node.accesses if a.reads and not a.writes]
    writes = [a.memory.name for a in node.accesses if a.writes]
    match node.kind:
        case "copy" | "memcpy" if reads and writes:
            return f"{title} {reads[0]} → {writes[0]}"
        case "write" | "fill" if writes:
            return f"{title} {writes[0]}"
        case "read" if reads:
            return f"{title} {reads[0]}"
        case "map" | "unmap" if node.accesses:
            return f"{title} {node.accesses[0].memory.name}"
    return title


def _host_title(node: g.HostPoint) -> str:
    match node.kind:
        case "access":
            how = {_how(access) for access in node.accesses}
            return f"{how.pop() if len(how) == 1 else 'reads and writes'} memory"
        case "finish":
            return f"{node.queue.name}.finish()" if node.queue is not None else "finish()"
        case "wait":
            return "blocks until it is done" if node.what == "blocking" else "waits for events"
        case "flush":
            return f"{node.queue.name}.flush()" if node.queue is not None else "flush()"
        case "opaque":
            return f"{node.what or 'a call'} (may wait)"
        case "status":
            return f"sets a user event {node.what}".rstrip()
        case "release":
            return "frees memory"
        case "exit":
            return "the process ends"
    return node.kind


def _how(access: g.Access) -> str:
    if access.reads is None or access.writes is None:
        return "uses"
    return "reads and writes" if access.reads and access.writes else "writes" if access.writes else "reads"


def _shared(first: g.Node, second: g.Node) -> str:
    """Name the memory over which two nodes conflict."""
    roots = {id(access.memory.root) for access in first.accesses}
    both = [access for access in second.accesses if id(access.memory.root) in roots]
    writes = {id(a.memory.root) for a in (*first.accesses, *both) if a.writes is not False}
    names = [access.memory.name for access in both if id(access.memory.root) in writes]
    return names[0] if names else ""


def _told_apart(titles: list[str]) -> Iterator[str]:
    """Number objects of the same name."""
    for number, title in enumerate(titles):
        before = titles[:number].count(title)
        yield f"{title} ({before + 1})" if before else title


def _links(graph: g.EnqueueGraph, nodes: list[g.Node]) -> Iterator[Link]:
    """Yield the edges between steps, without those that follow from others."""
    orders = [isinstance(n, g.Command) or (isinstance(n, g.HostPoint) and n.kind in _WAITS) for n in nodes]
    before = [0] * len(nodes)
    behind = [0] * len(nodes)
    for a, earlier in enumerate(nodes):
        for b, later in enumerate(nodes):
            if a != b and graph.reaches(earlier, later):
                before[b] |= 1 << a if orders[a] else 0
                behind[a] |= 1 << b if orders[b] else 0
    place = {id(node): number for number, node in enumerate(nodes)}
    for target, node in enumerate(nodes):
        best: dict[int, Link] = {}
        for source_node, certain, how in node.before:
            source = place.get(id(source_node))
            if source is None or not isinstance(source_node, g.Command) or before[target] & behind[source]:
                continue
            kind = "barrier" if how in ("barrier", "marker") else "event" if how == "user event" else how
            link = Link(source, target, kind, certain)
            known = best.get(source)
            if known is None or (kind == "queue", certain) > (known.kind == "queue", known.certain):
                best[source] = link
        yield from best.values()
        if isinstance(node, g.Command):
            waits = [n for n in range(len(nodes)) if before[target] >> n & 1 and isinstance(nodes[n], g.HostPoint)]
            if waits and not before[target] & behind[max(waits)]:
                yield Link(max(waits), target, "resume")
