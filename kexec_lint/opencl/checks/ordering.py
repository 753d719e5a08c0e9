"""OCL101 to OCL106, OCL201, OCL202, OCL206, OCL208 to OCL210, OCL501 to OCL503, OCL508: pairs that nothing orders."""

from __future__ import annotations

from collections.abc import Iterator

from kexec_lint.findings import Confidence
from kexec_lint.opencl import graph as g
from kexec_lint.opencl.checks.evidence import Evidence, check

VERBS = {
    "read-after-write": ("reads", "writes"),
    "write-after-read": ("writes", "reads"),
    "write-after-write": ("writes", "writes"),
}


@check(
    "OCL101",
    "OCL102",
    "OCL103",
    "OCL104",
    "OCL105",
    "OCL106",
    "OCL107",
    "OCL108",
    "OCL201",
    "OCL202",
    "OCL206",
    "OCL208",
    "OCL209",
    "OCL210",
    "OCL501",
    "OCL502",
    "OCL503",
    "OCL506",
    "OCL508",
)
def unordered(graph: g.EnqueueGraph) -> Iterator[Evidence]:
    """Yield one finding for each later command or access that nothing orders after a conflicting command."""
    found: dict[int, list[tuple[Confidence, g.Conflict]]] = {}
    for conflict in graph.conflicts():
        confidence = judge(graph, conflict)
        if confidence is not None:
            found.setdefault(conflict.later.index, []).append((confidence, conflict))
    evidence: list[tuple[g.Conflict, Evidence]] = []
    for pairs in found.values():
        pairs.sort(key=lambda pair: (pair[0].rank, -pair[1].earlier.index))
        confidence, conflict = pairs[0]
        others = [c for _, c in pairs[1:] if c.earlier is not conflict.earlier]
        evidence.append((conflict, describe(graph, conflict, confidence, others)))
    yield from summarise(graph, evidence)


def judge(graph: g.EnqueueGraph, conflict: g.Conflict) -> Confidence | None:
    """Return how sure it is that the two accesses conflict, None if they do not."""
    first, second = conflict.first, conflict.second
    earlier, later = conflict.earlier, conflict.later
    if graph.threaded:
        return Confidence.POSSIBLE
    partial = first.partial or first.memory.partial, second.partial or second.memory.partial
    if all(partial) or (any(partial) and (first.extent is not None or second.extent is not None)):
        return Confidence.POSSIBLE
    if not first.certain and not second.certain:
        return Confidence.POSSIBLE
    level = Confidence.CERTAIN if first.certain and second.certain else Confidence.LIKELY
    if isinstance(earlier, g.Command) and isinstance(later, g.Command):
        kernels = _kernel_pair(earlier, later, first, second, conflict.hazard)
        if kernels is None:
            return None
        if kernels.rank > level.rank:
            level = kernels
    return level


def _kernel_pair(
    earlier: g.Command, later: g.Command, first: g.Access, second: g.Access, hazard: str
) -> Confidence | None:
    """Judge what is known of the kernels' accesses."""
    unknown = first.writes is None or first.reads is None, second.writes is None or second.reads is None
    alike = (
        earlier.kind == later.kind == "kernel"
        and first.position is not None
        and first.position == second.position
        and _same_kernel(earlier, later)
    )
    if alike:
        repeated = (
            earlier.launch is not None and later.launch is not None and _same_launch(earlier.launch, later.launch)
        )
        if any(unknown):
            return Confidence.POSSIBLE
        if first.reads and first.writes and second.reads and second.writes:
            return Confidence.CERTAIN if repeated else Confidence.LIKELY
        return Confidence.POSSIBLE
    if not any(unknown):
        return Confidence.CERTAIN
    if all(unknown):
        if _same_kernel(earlier, later):
            return Confidence.LIKELY
        memory = first.memory.root
        return Confidence.LIKELY if memory.known and not memory.initialised else Confidence.POSSIBLE
    sure = second if unknown[0] else first
    if sure.writes:
        return Confidence.LIKELY
    if sure.memory.access == "read":
        return None
    if later.kind == "read" and unknown[0]:
        return Confidence.LIKELY
    return Confidence.POSSIBLE


def _same_kernel(a: g.Command, b: g.Command) -> bool:
    if a.kernel is not None and a.kernel == b.kernel:
        return True
    return a.kernel_object is not None and (
        a.kernel_object is b.kernel_object or a.kernel_object == b.kernel_object
    )


def _same_launch(a: g.Launch, b: g.Launch) -> bool:
    if len(a.values) != len(b.values):
        return False
    return all(i == j and (v is w or v == w) for (i, v), (j, w) in zip(a.values, b.values, strict=True))


# --- words ----------------------------------------------------------------------------------------------------


def name(node: g.Node) -> str:
    """Name a command or host access in a sentence."""
    if isinstance(node, g.HostPoint):
        return {"access": "the host", "release": "freeing it"}.get(node.kind, "the host")
    assert isinstance(node, g.Command)
    nouns = {
        "read": "the download",
        "write": "the upload",
        "copy": "the copy",
        "fill": "the fill",
        "map": "the map",
        "unmap": "the unmap",
        "migrate": "the migration",
        "acquire": "the acquisition",
        "release": "the release",
        "free": "the free",
        "marker": "the marker",
        "barrier": "the barrier",
    }
    if node.kind == "kernel":
        return f"kernel {node.what}" if node.what and " " not in node.what else node.what or "the kernel"
    return nouns.get(node.kind, "the command")


def row(site: g.Site, against: g.Site | None = None) -> int:
    """Return the row of a site for a sentence."""
    from kexec_lint.opencl.checks.evidence import place

    return place(site, against).span.row


def queue_words(queue: g.Queue) -> str:
    """Name a queue with its order."""
    order = {g.Order.IN_ORDER: "in-order ", g.Order.OUT_OF_ORDER: "out-of-order "}.get(queue.order, "")
    return f"{order}queue `{queue.name}`" if queue.name != "the queue" else f"{order}queue"


def related(graph: g.EnqueueGraph, conflict: g.Conflict) -> tuple[tuple[str, g.Site], ...]:
    """Return the places that explain a pair: the earlier command, the queues, the memory object."""
    earlier = conflict.earlier
    assert isinstance(earlier, g.Command)
    places: list[tuple[str, g.Site]] = [
        (f"{name(earlier)} {VERBS[conflict.hazard][1]} `{conflict.first.memory.name}` here", earlier.site)
    ]
    queues = [earlier.queue, conflict.later.queue if isinstance(conflict.later, g.Command) else None]
    for queue in dict.fromkeys(q for q in queues if q is not None):
        if queue.created:
            places.append((f"{queue_words(queue)} is created here", queue.created))
    memory = conflict.first.memory.root
    if memory.created:
        places.append((f"`{memory.name}` is created here", memory.created))
    return tuple(places)


# --- one pair -------------------------------------------------------------------------------------------------


def describe(
    graph: g.EnqueueGraph, conflict: g.Conflict, confidence: Confidence, others: list[g.Conflict]
) -> Evidence:
    """Name the rule that fits a pair best, and say which edge is missing."""
    earlier, later = conflict.earlier, conflict.later
    assert isinstance(earlier, g.Command)
    if isinstance(later, g.HostPoint):
        code, message, help, extra = _host(graph, conflict)
    else:
        assert isinstance(later, g.Command)
        code, message, help, extra = _device(graph, conflict, later)
    more = tuple(
        (f"{name(o.earlier)} is not ordered before it either", o.earlier.site)
        for o in others[:3]
        if isinstance(o.earlier, g.Command)
    )
    return Evidence(
        code,
        later.site,
        message,
        help,
        against=earlier.site,
        hazard=conflict.hazard,
        confidence=confidence,
        related=related(graph, conflict) + extra + more,
        nodes=(earlier, later),
    )


Words = tuple[str, str, str, tuple[tuple[str, g.Site], ...]]


def _device(graph: g.EnqueueGraph, conflict: g.Conflict, later: g.Command) -> Words:
    earlier = conflict.earlier
    assert isinstance(earlier, g.Command) and earlier.queue is not None and later.queue is not None
    memory = conflict.second.memory.name
    does, did = VERBS[conflict.hazard]
    where = (
        f"two queues, `{earlier.queue.name}` and `{later.queue.name}`, have no order between them"
        if earlier.queue is not later.queue
        else f"nothing orders them on the out-of-order queue `{later.queue.name}`"
        if later.queue.name != "the queue"
        else "nothing orders them on the out-of-order queue"
    )
    start = (
        f"{name(later)} {does} `{memory}` while {name(earlier)} (line {row(earlier.site, later.site)}) may still"
    )
    message = f"{start[0].upper()}{start[1:]} {did[:-1]} it: {where}"
    edge = (
        f"put the event of {name(earlier)} (line {row(earlier.site, later.site)}) into wait_for of {name(later)}"
    )
    arrays = _array_words(conflict, earlier, later)
    if arrays is not None:
        return arrays[0], message, arrays[1], ()
    between = [n for n in graph.nodes[earlier.index + 1 : later.index] if not g.exclusive(n.guard, later.guard)]
    overlapping = conflict.first.memory is not conflict.second.memory and conflict.first.memory.known
    if overlapping:
        return (
            "OCL108",
            message,
            f"{edge}: the two memory objects overlap, and a command that writes one may not run beside one that uses the other",
            (),
        )
    for node in between:
        if isinstance(node, g.Command) and node.queue is later.queue and node.queue is earlier.queue:
            if node.kind == "marker" and node.wait_list in ("none", "empty"):
                return (
                    "OCL103",
                    message,
                    f"the marker in line {row(node.site)} holds nothing back: use enqueue_barrier there, or {edge}",
                    (("the marker does not hold back later commands", node.site),),
                )
            if node.kind == "barrier" and node.wait_list == "events":
                return (
                    "OCL104",
                    message,
                    f"the barrier in line {row(node.site)} waits for its list only: add the event of {name(earlier)} "
                    f"(line {row(earlier.site, later.site)}) to it, or give it no list",
                    (("the barrier waits only for the events in its list", node.site),),
                )
    wrong = _wrong_queue(between, earlier, later)
    if wrong is not None:
        queue, node = wrong
        return (
            "OCL105",
            message,
            f"the {what_sync(node)} in line {row(node.site)} concerns `{queue.name}` only: {edge}, or synchronise "
            f"`{earlier.queue.name}`",
            ((f"this {what_sync(node)} says nothing of `{earlier.queue.name}`", node.site),),
        )
    if later.wait_list == "events":
        return "OCL102", message, f"{edge}: its wait list names other commands only", ()
    ends_with_barrier = bool(getattr(earlier.kernel, "ends_with_global_barrier", False))
    if ends_with_barrier and later.kind == "kernel":
        return (
            "OCL106",
            message,
            f"{edge}: the barrier at the end of {name(earlier)} orders the work-items of one work-group, not kernels",
            (),
        )
    return "OCL101", message, edge, ()


def what_sync(node: g.Node) -> str:
    """Name a synchronisation."""
    return node.kind if isinstance(node, g.Command) else "finish"


def _wrong_queue(between: list[g.Node], earlier: g.Command, later: g.Command) -> tuple[g.Queue, g.Node] | None:
    """Return a finish, barrier or marker between the two that concerns another queue than the earlier command's."""
    for node in reversed(between):
        if (
            isinstance(node, g.HostPoint)
            and node.kind == "finish"
            and node.queue is not None
            and node.what != "with"
        ):
            if node.queue is not earlier.queue:
                return node.queue, node
        if (
            isinstance(node, g.Command)
            and node.kind in ("barrier", "marker")
            and node.wait_list in ("none", "empty")
        ):
            if node.queue is not earlier.queue and node.queue is not None:
                return node.queue, node
    return None


def _array_words(conflict: g.Conflict, earlier: g.Command, later: g.Command) -> tuple[str, str] | None:
    """Pairs that involve the events of `pyopencl.array.Array`."""
    memory = conflict.first.memory.root
    if not memory.tracked:
        return None
    if later.array and earlier.array:
        generated = earlier.what == "a generated kernel"
        if generated:
            return "OCL502", f"call {memory.name}.add_event(…) with the event that {name(earlier)} returns"
        return "OCL503", (
            f"PyOpenCL does not track this order: call {memory.name}.finish(), or use an in-order queue"
        )
    if earlier.array and not later.array:
        return "OCL501", (
            f"`{memory.name}.data` hands out the memory without its events: pass wait_for={memory.name}.events"
        )
    if later.array and not earlier.array:
        if conflict.hazard == "write-after-read":
            return (
                "OCL503",
                f"PyOpenCL does not record readers of `{memory.name}`: wait for the kernel's event first",
            )
        return "OCL502", f"call {memory.name}.add_event(…) with the event of {name(earlier)}"
    return None


def _host(graph: g.EnqueueGraph, conflict: g.Conflict) -> Words:
    earlier, later = conflict.earlier, conflict.later
    assert isinstance(earlier, g.Command) and isinstance(later, g.HostPoint) and earlier.queue is not None
    memory = conflict.second.memory
    line = row(earlier.site, later.site)
    if later.kind == "release":
        svm = "OCL209"
        return (
            svm,
            f"`{memory.name}` is freed while {name(earlier)} (line {line}) may still use it: freeing SVM does not wait",
            f"wait for the event of {name(earlier)} or finish its queue first, or free with enqueue_release",
            (),
        )
    reads = conflict.hazard == "read-after-write"
    verb = "reads" if reads else "writes"
    how = f"the host {verb} `{memory.name}` while {name(earlier)} (line {line}) may still {'write' if reads else 'use'} it"
    message = how[0].upper() + how[1:]
    wait = "wait for its event first, or make it blocking"
    between = graph.nodes[earlier.index + 1 : later.index]
    flush = next(
        (n for n in between if isinstance(n, g.HostPoint) and n.kind == "flush" and n.queue is earlier.queue), None
    )
    if later.mapping is not None and later.mapping.command is earlier:
        return (
            "OCL206",
            f"The mapped array is used before the map (line {line}) is complete",
            "wait for the map's event first, or map with is_blocking=True",
            (),
        )
    if memory.root.kind.startswith("svm"):
        return (
            "OCL208",
            message,
            f"finish the queue or wait for the event of {name(earlier)} before the host touches shared memory",
            (),
        )
    if flush is not None:
        return (
            "OCL210",
            message,
            f"the flush in line {row(flush.site)} submits the commands, it does not wait for them: {wait}",
            (("flush does not wait", flush.site),),
        )
    wrong = _wrong_queue([n for n in between if isinstance(n, g.HostPoint)], earlier, earlier)
    if wrong is not None:
        queue, node = wrong
        return (
            "OCL105",
            message,
            f"the finish in line {row(node.site)} concerns `{queue.name}` only: finish `{earlier.queue.name}` or {wait}",
            ((f"this finish says nothing of `{earlier.queue.name}`", node.site),),
        )
    partial = _partial_host_wait(between, earlier)
    if partial is not None:
        return (
            "OCL102",
            message,
            f"the wait in line {row(partial.site)} is for other commands: add the event of {name(earlier)}",
            (("this wait does not cover it", partial.site),),
        )
    if reads and earlier.what == "get":
        return "OCL508", message, "wait for the event that get_async returned before using the array", ()
    return ("OCL201" if reads else "OCL202"), message, wait, ()


def _partial_host_wait(between: list[g.Node], earlier: g.Command) -> g.HostPoint | None:
    """Return a wait for another command of the same out-of-order queue that was thought to cover this one."""
    if earlier.queue is None or earlier.queue.order is not g.Order.OUT_OF_ORDER:
        return None
    for node in between:
        if isinstance(node, g.HostPoint) and node.kind == "wait" and node.what == "wait":
            for event in node.events:
                if (
                    event.command is not None
                    and event.command.queue is earlier.queue
                    and event.command is not earlier
                ):
                    return node
    return None


# --- a whole queue without events -----------------------------------------------------------------------------


def summarise(graph: g.EnqueueGraph, evidence: list[tuple[g.Conflict, Evidence]]) -> Iterator[Evidence]:
    """Say it once (OCL107) for an out-of-order queue none of whose commands takes part in any event order."""
    by_queue: dict[g.Queue, list[Evidence]] = {}
    for conflict, item in evidence:
        later = conflict.later
        if item.code == "OCL101" and isinstance(later, g.Command) and isinstance(conflict.earlier, g.Command):
            if later.queue is conflict.earlier.queue and later.queue is not None and later.queue.constructed:
                by_queue.setdefault(later.queue, []).append(item)
    summarised: set[int] = set()
    for queue, items in by_queue.items():
        sites = {item.at for item in items}
        if len(sites) >= 2 and _unmanaged(graph, queue):
            summarised |= {id(item) for item in items}
            first = min(items, key=lambda item: item.confidence.rank)
            yield Evidence(
                "OCL107",
                queue.created,
                f"The queue `{queue.name}` is out-of-order, but no event orders its commands: {len(sites)} of them may "
                f"start before a command that they depend on is complete",
                "drop OUT_OF_ORDER_EXEC_MODE_ENABLE (an in-order queue needs no events), or pass events through "
                "wait_for",
                hazard=first.hazard,
                confidence=first.confidence,
                related=tuple((item.message, item.at) for item in items[:4]),
                nodes=first.nodes,
            )
    for _, item in evidence:
        if id(item) not in summarised:
            yield item


def _unmanaged(graph: g.EnqueueGraph, queue: g.Queue) -> bool:
    for command in graph.commands:
        if command.queue is not queue:
            continue
        if command.waits or command.kind in ("marker", "barrier"):
            return False
        event = command.event
        if event is not None and event.waited:
            return False
    return not any(
        event.command is not None and event.command.queue is queue
        for command in graph.commands
        for event, _ in command.waits
    )
