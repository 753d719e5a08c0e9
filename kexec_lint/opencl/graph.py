"""The enqueue graph: queues, memory objects, events, commands, what the host does, and what happens before what.

Nodes stand in the order in which the host executes them. An edge says that its source is *complete* before its
target *starts*. Edges E1 to E11 are those of the specification (OpenCL 3.1 architecture, "Execution Model" and
"Host-Side and Device-Side Commands"): program order, enqueue call, queue order, wait list, barrier, marker, host
synchronisation. `reaches` is the closure; a *may* edge exists on some path only, or through code that cannot be
seen, and can only make the analysis more silent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from kexec_lint.opencl.program import Span


class Place(NamedTuple):
    """A point in one activation of a function. `frame` numbers the activation."""

    frame: int
    path: str
    span: Span
    function: str = ""


Site = tuple[Place, ...]
"""A call chain, outermost activation first."""

Guard = frozenset[int]
"""The branch decisions under which a node executes: the number of a condition, negative if it does not hold."""


def exclusive(a: Guard, b: Guard) -> bool:
    """Return whether no execution takes both."""
    return not b.isdisjoint({-condition for condition in a})


class Order(Enum):
    """Whether a queue starts its commands in the order of their enqueueing (specification section 5.1)."""

    IN_ORDER = "in-order"
    OUT_OF_ORDER = "out-of-order"
    UNKNOWN = "unknown"


@dataclass(eq=False)
class Queue:
    """A command queue. `constructed` is False for one whose creation was not seen."""

    name: str
    order: Order
    constructed: bool
    created: Site = ()
    profiling: bool | None = None
    context: object = None
    maybe: bool = False
    """It is out-of-order on some paths of the program and in-order on the others."""
    parts: tuple[Queue, ...] = ()
    """The queues of which it is one, by the path taken."""


@dataclass(eq=False)
class Memory:
    """A memory object or a piece of host memory that commands read or write.

    `kind`: "buffer", "image", "svm", "svm-fine", "array" (the storage of a `pyopencl.array.Array`), "host".
    `parent` and `range` (bytes) for a sub-buffer or view; `storage` for memory that shares bytes with another
    object without being derived from it (two buffers over one host pointer).
    """

    name: str
    kind: str
    known: bool
    created: Site = ()
    parent: Memory | None = None
    range: tuple[int, int] | None = None
    partial: bool = False
    """It is a part of its parent, at a place that is not known."""
    host_pointer: Memory | None = None
    access: str | None = None
    """"read" or "write" if the object's flags allow a kernel only that."""
    initialised: bool = True
    """False if it was created without contents."""
    size: int | None = None
    pool: object = None
    born: int = 0
    """For a block of a pool: the number of nodes in the graph when it was handed out."""
    allocator: bool = False
    """It comes from an SVM allocator without a queue, which frees it at once when it dies."""
    queue: Queue | None = None
    released: Site = ()
    tracked: bool = False
    """Its accesses are recorded by the object itself (`Array.events`)."""

    @property
    def root(self) -> Memory:
        """The object from which this one was derived."""
        memory = self
        while memory.parent is not None:
            memory = memory.parent
        return memory

    @property
    def extent(self) -> tuple[int, int] | None:
        """Bytes within the root, or None if unknown."""
        if self.parent is None:
            return None
        outer = self.parent.extent
        if self.range is None:
            return outer
        base = outer[0] if outer else 0
        return (base + self.range[0], base + self.range[1]) if self.parent.parent is None or outer else None


@dataclass(frozen=True)
class Access:
    """A use of a memory object by a command or the host.

    `reads` and `writes` are None when the kernel could not be understood. `certain` is False if the object is one
    of several. `range` in bytes within the object; `partial` if only a part is used whose
    place is not known. `role` names the operand ("src", kernel parameter name).
    """

    memory: Memory
    reads: bool | None
    writes: bool | None
    certain: bool = True
    range: tuple[int, int] | None = None
    partial: bool = False
    role: str = ""
    position: int | None = None
    atomic: bool = False
    array: object = None
    """The Array of unknown origin whose storage (`x.data`) is the operand."""

    @property
    def extent(self) -> tuple[int, int] | None:
        """Bytes within the root object, None if all or unknown."""
        outer = self.memory.extent
        if self.range is None:
            return outer
        base = outer[0] if outer else 0
        return (base + self.range[0], base + self.range[1])


@dataclass(eq=False)
class Event:
    """What a wait list holds. `kind`: "command", "user", "unknown". `nanny` waits when it is dropped."""

    kind: str
    command: Command | None = None
    created: Site = ()
    nanny: bool = False
    context: object = None
    name: str = ""
    captured: bool = False
    """Something holds it: a variable, a list, the caller."""
    escaped: bool = False
    """It was given to code that cannot be seen, which may wait for it."""
    waited: list[Site] = field(default_factory=list)
    guard: Guard = frozenset()


@dataclass(eq=False)
class Node:
    """Something that the host does, in order. `before` are its direct predecessors: (node, certain, kind)."""

    index: int
    site: Site
    guard: Guard
    before: list[tuple[Node, bool, str]] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)

    def after(self, node: Node, certain: bool = True, kind: str = "host") -> None:
        """Add the edge node → self."""
        self.before.append((node, certain, kind))


@dataclass(eq=False)
class HostPoint(Node):
    """A point of the host's own program order.

    `kind`: "start", "enqueue" (the call of a command), "meet" (two paths join), "finish", "wait", "flush",
    "access" (the host reads or writes memory), "opaque" (code that may wait), "unmap", "release", "timer",
    "status" (a user event is set; `what` is "complete", "failed", "invalid" or "unknown"), "poll", "profile",
    "unfinished" (it is asserted that an event is not complete), "exit" (the process ends), "rebuild" (a program),
    "call" (inside `try`: of code that cannot be seen, which may raise), "thread" (another thread handed over).
    """

    kind: str = "start"
    queue: Queue | None = None
    events: tuple[Event, ...] = ()
    what: str = ""
    mapping: Mapping | None = None
    arrays: frozenset[object] = frozenset()
    """Arrays of unknown origin whose events it waits for, or that code which cannot be seen was given."""
    covers: int = -1
    """Every command up to this index may be complete here, by way of this point."""
    memory: Memory | None = None
    """What a "release" gives back."""


@dataclass(eq=False)
class Command(Node):
    """An enqueued command. `kind`: "kernel", "read", "write", "copy", "fill", "map", "unmap", "migrate",
    "marker", "barrier", "acquire", "release", "memcpy", "free", "library" (one or more commands of a library).
    """

    kind: str = ""
    what: str = ""
    queue: Queue | None = None
    waits: list[tuple[Event, Guard]] = field(default_factory=list)
    wait_list: str = "none"
    """How the wait list was given: "none", "empty", "events", "unknown" (it may hold events not seen)."""
    blocking: bool | None = False
    event: Event | None = None
    call: HostPoint | None = None
    kernel: object = None
    """The parsed kernel (`kexec_lint.opencl.kernels.Kernel`), if its source is known."""
    kernel_object: object = None
    launch: Launch | None = None
    mapping: Mapping | None = None
    waits_for_arrays: frozenset[object] = frozenset()
    """Arrays of unknown origin whose `events` are in the wait list."""
    dropped: bool = False
    """Its event was thrown away at once."""
    locks: tuple[object, ...] = ()
    """What the host holds locked while it enqueues the command."""
    array: bool = False
    """Issued by `pyopencl.array` itself, which keeps its own events."""


@dataclass
class Launch:
    """Work sizes and arguments of a kernel launch, as far as known."""

    global_size: tuple[int | None, ...] | None = None
    local_size: tuple[int | None, ...] | None = None
    local_given: bool = False
    arguments: tuple[Argument, ...] | None = None
    """None if the argument list could not be counted."""
    scales: bool = False
    """The global size is given in work-groups (`g_times_l`)."""
    dtypes_declared: bool = False
    one_group: bool = False
    """The local size is surely the global size."""
    uniform: bool | None = None
    """Whether the program was built for a version that wants the local size to divide the global one."""
    refusal_expected: bool = False
    """The author catches PyOpenCL's errors here: a launch that it refuses is handled."""
    values: tuple[tuple[int, object], ...] = ()
    """The abstract values of the arguments by position, to tell whether two launches are alike."""


@dataclass(frozen=True)
class SetArgs:
    """A call of `kernel.set_args(…)` with all its arguments."""

    site: Site
    guard: Guard
    kernel: object
    arguments: tuple[Argument, ...]
    dtypes_declared: bool


@dataclass(frozen=True)
class Callback:
    """A function that the runtime calls when an event reaches a status."""

    site: Site
    function: object
    event: Event
    body: EnqueueGraph | None = None
    """What it does, in a graph of its own."""


@dataclass(frozen=True)
class ThreadStart:
    """A function that runs in a thread of its own from here on. `index` counts the nodes before it."""

    site: Site
    guard: Guard
    index: int
    function: object
    arguments: tuple[object, ...]
    body: EnqueueGraph | None = None
    """What it does, in a graph of its own."""


@dataclass(frozen=True)
class Argument:
    """One kernel argument: `kind` is "memory", "array" (an Array object itself), "local", "scalar" (a sized one),
    "python" (an int or float), "host" (a host array), "sampler", "none", "unknown". `size` in bytes for a scalar;
    `several`: it may be an array of them, as `numpy.float32(x)` is where `x` is one.
    """

    kind: str
    size: int | None = None
    type: str = ""
    memory: Memory | None = None
    span: Span | None = None
    several: bool = False


@dataclass(eq=False)
class Mapping:
    """A mapped region: the host pointer is valid from the map's completion to the enqueueing of the unmap."""

    memory: Memory
    command: Command
    host: Memory
    writes: bool | None = None
    invalidates: bool = False
    unmap: Command | None = None
    unmapped: list[tuple[Site, Guard, int]] = field(default_factory=list)
    """Where it ends: site, guard and index of each unmap command."""
    escaped: bool = False
    """It was given to code that cannot be seen, which may unmap it."""


class Conflict(NamedTuple):
    """Two accesses to overlapping bytes of which one writes. `hazard` as in "read-after-write"."""

    earlier: Node
    later: Node
    first: Access
    second: Access
    hazard: str
    certain: bool


@dataclass(eq=False)
class EnqueueGraph:
    """Everything one analysed entry point does, in host order."""

    name: str = ""
    nodes: list[Node] = field(default_factory=list)
    queues: list[Queue] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)
    user_events: list[Event] = field(default_factory=list)
    mappings: list[Mapping] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    set_args: list[SetArgs] = field(default_factory=list)
    callbacks: list[Callback] = field(default_factory=list)
    threads: list[ThreadStart] = field(default_factory=list)
    host_deaths: list[tuple[Memory, Command, HostPoint]] = field(default_factory=list)
    """Host memory of asynchronous SVM copies whose last reference goes, the copy, and where."""
    freed: list[tuple[Memory, HostPoint]] = field(default_factory=list)
    """Pool blocks that their last reference gave back, and where."""
    decisions: dict[int, Guard] = field(default_factory=dict)
    """For the number that says that the first arm of a branch is taken: the conditions of that arm."""
    raised: list[Guard] = field(default_factory=list)
    """Paths on which an exception is caught and raised again."""
    tracked_arrays: set[Any] = field(default_factory=set)
    """Arrays whose events some part of the file keeps (`add_event`); grows until the whole file is read."""
    threaded: bool = False
    truncated: bool = False
    _may: list[int] | None = None
    _must: list[int] | None = None

    @property
    def commands(self) -> list[Command]:
        """The commands in order of their enqueueing."""
        return [node for node in self.nodes if isinstance(node, Command)]

    @property
    def points(self) -> list[HostPoint]:
        """The host's own points in program order."""
        return [node for node in self.nodes if isinstance(node, HostPoint)]

    @property
    def worth_judging(self) -> bool:
        """Whether there is anything that a check may have something to say about."""
        return bool(self.remarks or self.user_events or self.queues or self.threads or self.commands)

    def holds(self, node: Node) -> bool:
        """Return whether a node belongs to this graph (events may come from another one)."""
        return node.index < len(self.nodes) and self.nodes[node.index] is node

    def reaches(self, earlier: Node, later: Node, certainly: bool = False) -> bool:
        """Return whether `earlier` is complete before `later` starts: on some path, or `certainly` on all."""
        if self._may is None or self._must is None:
            self._close()
        table = self._must if certainly else self._may
        assert table is not None
        return bool(table[later.index] >> earlier.index & 1)

    def forget(self) -> None:
        """Compute the closure again when it is asked for next: edges have changed."""
        self._may = self._must = None

    def _close(self) -> None:
        """Compute both closures as bit sets, in topological order (a user event makes edges point backwards)."""
        count = len(self.nodes)
        may, must = [0] * count, [0] * count
        for node in self._topological():
            some = every = 0
            meets: list[int] = []
            for source, certain, _ in node.before:
                bit = 1 << source.index
                some |= bit | may[source.index]
                if not certain:
                    continue
                sure = isinstance(source, HostPoint) or self._implied(source.guard, node.guard)
                through = must[source.index] if sure else 0
                if isinstance(node, HostPoint) and node.kind == "meet":
                    meets.append(bit | must[source.index])
                else:
                    every |= bit | through
            if meets:
                common = meets[0]
                for other in meets[1:]:
                    common &= other
                every |= common
            may[node.index], must[node.index] = some, every
        self._may, self._must = may, must

    def _implied(self, guard: Guard, given: Guard) -> bool:
        """Return whether what executes under `given` says that all of a guard holds: a decision, or its condition."""
        for number in guard - given:
            condition = self.decisions.get(abs(number))
            if not condition or not (condition <= given if number > 0 else exclusive(condition, given)):
                return False
        return True

    def _topological(self) -> Iterator[Node]:
        """Yield nodes so that sources come before targets; an edge that would close a cycle is not followed."""
        done: set[int] = set()
        for start in self.nodes:
            stack = [start]
            entered: set[int] = set()
            while stack:
                node = stack[-1]
                if node.index in done:
                    stack.pop()
                    continue
                pending = [s for s, _, _ in node.before if s.index not in done and s.index not in entered]
                if pending and node.index not in entered:
                    entered.add(node.index)
                    stack.extend(pending)
                    continue
                done.add(node.index)
                stack.pop()
                yield node

    def conflicts(self) -> Iterator[Conflict]:
        """Yield every pair of nodes whose accesses conflict and that nothing orders on any path, earlier first.

        For one later access the nearest earlier ones come first.
        """
        seen: dict[int, list[tuple[Node, Access]]] = {}
        for node in self.nodes:
            for access in node.accesses:
                key = id(access.memory.root)
                for earlier, first in reversed(seen.get(key, [])):
                    if earlier is node or isinstance(earlier, HostPoint):
                        continue
                    hazard = _hazard(first, access)
                    if hazard is None or exclusive(earlier.guard, node.guard):
                        continue
                    if isinstance(node, HostPoint) and self.reaches(node, earlier):
                        continue  # a user event holds the command back until the host is done here
                    if not self.reaches(earlier, node):
                        certain = first.certain and access.certain
                        yield Conflict(earlier, node, first, access, hazard, certain)
            for access in node.accesses:
                seen.setdefault(id(access.memory.root), []).append((node, access))


@dataclass(frozen=True)
class Remark:
    """A misuse that the interpreter sees at one call and that needs no graph: rule code and its evidence."""

    code: str
    site: Site
    message: str
    help: str
    related: tuple[tuple[str, Site], ...] = ()
    confidence: str = "certain"
    guard: Guard = frozenset()


def overlap(first: Access, second: Access) -> bool:
    """Return whether two accesses of one root object may touch the same bytes."""
    a, b = first.extent, second.extent
    return a is None or b is None or (a[0] < b[1] and b[0] < a[1])


def _hazard(first: Access, second: Access) -> str | None:
    """Name the hazard between two accesses of one root object, or None if they cannot conflict."""
    if not overlap(first, second):
        return None
    if first.atomic and second.atomic:
        return None
    writes, then_writes = first.writes is not False, second.writes is not False
    if not writes and not then_writes:
        return None
    if writes and second.reads is not False and first.writes is not None:
        return "read-after-write"
    if writes and second.writes is not False and second.reads is False:
        return "write-after-write"
    if writes and second.reads is not False:
        return "read-after-write"
    return "write-after-read"
