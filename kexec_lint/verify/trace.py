"""From the records of a run to enqueue graphs, so that the checks of `kexec-lint check` judge what really ran."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from kexec_lint.opencl import graph as g
from kexec_lint.opencl.kernels import read_kernels
from kexec_lint.opencl.program import Span
from kexec_lint.verify import names
from kexec_lint.verify.recorder.recorder import Ordinal
from kexec_lint.verify.recorder.stream import read

SEGMENT = 1200
"""Nodes after which a graph is cut even if commands are still pending."""


UNKNOWN = g.Place(0, "<unknown>", Span(0, 0, 0, 0))


@dataclass(eq=False)
class Ran:
    """A command as it ran: its node, its number in the program's order, host and device times in nanoseconds."""

    command: g.Command
    ordinal: Ordinal
    number: int
    thread: int
    begin: int
    end: int
    device: tuple[int, int, int, int] | None = None


@dataclass
class Trace:
    """Everything that was recorded. `waits` are (point, begin, end, thread) of the host's waits.

    `by_time`: graphs in which some orders between threads are known from the clock only (edges of kind "time").
    """

    graphs: list[g.EnqueueGraph] = field(default_factory=list)
    commands: list[Ran] = field(default_factory=list)
    waits: list[tuple[g.HostPoint, int, int, int]] = field(default_factory=list)
    gates: list[tuple[Ordinal, Ordinal, str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    by_time: set[int] = field(default_factory=set)


def load(file: str) -> Trace:
    """Read the records of a run."""
    return _Builder().run(file)


class _Builder:
    """Builds the graphs: each thread has its chain of host points, and what one thread hands to another is an edge.

    So the closure over the edges is what vector clocks of queues and threads would say. That one thread acted later
    than another, with nothing handed over that was seen, is a *may* edge: it keeps the checks silent.
    """

    def __init__(self) -> None:
        self.trace = Trace()
        self.places: dict[int, g.Place] = {}
        self.queues: dict[int, g.Queue] = {}
        self.memories: dict[int, g.Memory] = {}
        self.events: dict[int, g.Event] = {}
        self.texts: dict[int, str] = {}
        self.by_number: dict[int, Ran] = {}
        self.sites: dict[int, g.Site] = {}
        self.heads_of_launches: dict[int, Any] = {}
        self.names: dict[int, list[Any]] = {}
        """Of threads: the name in ordinals, how many commands it enqueued, how many threads it started."""
        self.born: dict[int, str] = {}
        self.taken_back: set[int] = set()
        self.mapped: set[g.Mapping] = set()
        self.threads: set[int] = set()
        """Threads whose beginning was seen, as long as they run."""
        self.begin()

    def begin(self) -> None:
        """Start a graph: nothing of what came before is pending."""
        self.graph = g.EnqueueGraph("<run>")
        self.latest = g.HostPoint(0, (), frozenset(), kind="start")
        self.graph.nodes.append(self.latest)
        self.heads: dict[int, g.HostPoint] = dict.fromkeys(self.threads, self.latest)
        self.handed: dict[int, dict[int, g.HostPoint]] = {}
        self.lanes: dict[int, list[g.Command]] = {}
        self.open: set[int] = set()
        self.tried = 0
        self.trace.graphs.append(self.graph)

    # --- threads ------------------------------------------------------------------------------------------------

    def follow(self, node: g.Node, thread: int, kind: str = "host") -> None:
        """Let a node come after what its thread did, and after what others did earlier by the clock."""
        head = self.heads.get(thread)
        if head is None:
            # A stranger, a callback's thread for one: whoever started it had a reason that is not known.
            for other in {id(h): h for h in (self.latest, *self.heads.values())}.values():
                node.after(other, kind=kind)
        else:
            node.after(head, kind=kind)
            if head is not self.latest:
                node.after(self.latest, False, "time")
                self.trace.by_time.add(id(self.graph))

    def add(self, point: g.HostPoint, thread: int) -> None:
        """Append a point of the host, the head of its thread's chain from now on."""
        self.graph.nodes.append(point)
        if thread in self.heads:
            self.heads[thread] = point
        else:
            self.heads = dict.fromkeys(self.heads, point)
        self.latest = point

    def sync(self, kind: str, number: int, thread: int) -> None:
        """Hand over between threads."""
        if kind == "main":
            self.threads.add(thread)
            self.heads[thread] = self.latest
            self.names[thread] = ["0", 0, 0]
        elif kind in ("fork", "release", "end"):
            if thread in self.heads:
                self.handed.setdefault(number, {})[thread] = self.heads[thread]
            if kind == "fork":
                lane = self.names.setdefault(thread, ["?", 0, 0])
                lane[2] += 1
                self.born[number] = f"{lane[0]}.{lane[2]}"
            if kind == "end":
                self.names.pop(thread, None)
                self.threads.discard(thread)
                self.heads.pop(thread, None)
        else:
            given = self.handed.get(number, {})
            if kind == "begin":
                self.threads.add(thread)
                self.names[thread] = [self.born.get(number, "?"), 0, 0]
                self.heads[thread] = next(iter(given.values()), self.latest)
            elif any(point is not self.heads.get(thread) for point in given.values()):
                point = g.HostPoint(len(self.graph.nodes), (), frozenset(), kind="thread")
                self.follow(point, thread)
                for other in given.values():
                    point.after(other)
                self.add(point, thread)

    def run(self, file: str) -> Trace:
        """Read everything."""
        self.taken_back = {record[1] for record in read(file) if record[0] == "R"}
        for record in read(file):
            match record[0]:
                case "L":
                    _, number, path, function, *rest = record
                    self.places[number] = g.Place(0, path, names.span(path, *rest), function)
                case "Q":
                    _, number, out_of_order, profiling, context, device = record
                    order = g.Order.OUT_OF_ORDER if out_of_order else g.Order.IN_ORDER
                    queue = g.Queue("the queue", order, True, profiling=profiling, context=context)
                    self.queues[number] = queue
                    self.graph.queues.append(queue)
                    if device not in self.trace.devices:
                        self.trace.devices.append(device)
                case "M":
                    _, number, kind, size, access, parent, origin = record
                    memory = g.Memory("buffer" if kind == "pooled" else kind, kind, True, size=size)
                    memory.access = access or None
                    if kind == "pooled":
                        memory.pool = parent
                        memory.kind = "buffer"
                    if parent:
                        memory.parent, memory.range = self.memories[parent], (origin, origin + size)
                    self.memories[number] = memory
                case "S":
                    self.texts[record[1]] = record[2]
                    self.trace.texts.append(record[2])
                case "U":
                    self.events[record[1]] = g.Event("user")
                case "C":
                    self.command(*record[1:])
                case "B":
                    self.heads_of_launches[record[1]] = record[2:]
                case "K":
                    self.launch(*record[1:])
                case "Z":
                    self.sites[record[1]] = tuple(
                        self.places[place]._replace(frame=frame) for frame, place in record[2]
                    )
                case "H":
                    self.point(*record[1:])
                case "A":
                    if record[1] not in self.taken_back:
                        self.access_of_host(*record[2:])
                case "T":
                    self.sync(*record[1:])
                case "P":
                    ran = self.by_number.get(record[1])
                    if ran is not None:
                        ran.device = record[2:6]
                case "G":
                    self.trace.gates.append(record[1:5])
                case "X":
                    if record[1] not in self.trace.notes:
                        self.trace.notes.append(record[1])
        self.trace.graphs = [graph for graph in self.trace.graphs if graph.commands]
        return self.trace

    def site(self, number: int) -> g.Site:
        """Return a call chain as the graph has it; UNKNOWN where none of the user's code stood on the stack."""
        return self.sites.get(number, (UNKNOWN,))

    def launch(
        self, number: int, head: int, site: int, waits: tuple[int, ...] | None, thread: int, begin: int, end: int
    ) -> None:
        """Add a kernel."""
        name, queue, operands, through, launch = self.heads_of_launches[head]
        flags = False, False, through, None, 0
        self.command(number, "kernel", name, queue, site, waits, operands, flags, launch, thread, begin, end)

    def command(
        self,
        number: int,
        kind: str,
        what: str,
        queue_number: int,
        raw_site: int,
        listed: tuple[int, ...] | None,
        operands: tuple[Any, ...],
        flags: tuple[Any, ...],
        launch: Any,
        thread: int,
        begin: int,
        end: int,
    ) -> None:
        """Add a command with all its edges (E1 to E5 of the specification)."""
        blocking, nanny, through, mapping, of = flags
        waits = listed or ()
        queue, site = self.queues[queue_number], self.site(raw_site)
        if queue.name == "the queue":
            _name_queue(queue, site)
        array = through.startswith(("array.py", "elementwise.py", "reduction.py", "scan.py", "clrandom.py"))
        command = g.Command(len(self.graph.nodes), site, frozenset(), kind=kind, what=what, queue=queue)
        command.blocking, command.array = blocking, array
        if array:
            command.what = _array_word(through, what)
        kernel = None
        if launch is not None:
            source, shape = launch
            kernel = read_kernels(self.texts[source]).get(what) if source in self.texts else None
            command.kernel, command.kernel_object = kernel, (source, what) if source else None
            command.launch = g.Launch(global_size=shape or None)
        for operand in operands:
            command.accesses.append(self.access(command, kernel, *operand))
        event = g.Event("command", command, site, nanny=nanny, captured=True)
        command.event = self.events[number] = event
        self.follow(command, thread, "enqueue")
        lane = self.lanes.setdefault(queue_number, [])
        if queue.order is g.Order.IN_ORDER:
            if lane:
                command.after(lane[-1], kind="queue")
        else:
            for earlier in lane:
                if earlier.kind == "barrier":
                    command.after(earlier, kind="barrier")
        known = [self.events.get(wait) for wait in waits]
        command.wait_list = "none" if listed is None else "events" if waits else "empty"
        for waited in known:
            if waited is None:
                # Made by code that was not seen: it may stand for anything that is pending.
                for other in self.graph.commands:
                    command.after(other, False, "event")
                continue
            command.waits.append((waited, frozenset()))
            if waited.command is not None and self.graph.holds(waited.command):
                command.after(waited.command, kind="event")
        if kind in ("marker", "barrier") and not waits:
            for earlier in lane:
                command.after(earlier, kind=kind)
        if mapping is not None:
            target = command.accesses[0].memory
            view = g.Memory(f"the mapping of {target.name}", "host", True, created=site)
            command.mapping = g.Mapping(target, command, view, *mapping)
            command.accesses.append(g.Access(view, False, True, role="mapping"))
            self.graph.mappings.append(command.mapping)
            self.mapped.add(command.mapping)
        elif of and of in self.by_number:
            command.mapping = ended = self.by_number[of].command.mapping
            assert ended is not None
            command.accesses.append(g.Access(ended.host, True, False, role="mapping"))
            ended.unmap = command
            ended.unmapped.append((site, frozenset(), command.index))
            self.mapped.discard(ended)
        self.graph.nodes.append(command)
        lane.append(command)
        self.open.add(number)
        mine = self.names.setdefault(thread, ["?", 0, 0])
        mine[1] += 1
        ran = Ran(command, (mine[0], mine[1]), number, thread, begin, end)
        self.by_number[number] = ran
        self.trace.commands.append(ran)
        if len(self.graph.nodes) > SEGMENT:
            note = f"pairs of commands that lie more than {SEGMENT} apart without a wait between were not compared"
            if note not in self.trace.notes:
                self.trace.notes.append(note)
            self.begin()

    def access(
        self,
        command: g.Command,
        kernel: Any,
        number: int,
        low: int,
        high: int,
        reads: bool | None,
        writes: bool | None,
        position: int,
    ) -> g.Access:
        """Return an operand; a kernel's source says whether it reads or writes."""
        memory = self.memories[number]
        role, atomic = "", False
        if position >= 0:
            role = f"argument {position + 1}"
            if kernel is not None and kernel.signature_known and position < len(kernel.params):
                param = kernel.params[position]
                reads, writes, role, atomic = param.reads, param.writes, param.name, param.atomic_only
            if memory.access == "read" and writes is None:
                writes = False
        if command.array:
            memory.root.tracked = memory.root.kind != "host"
        if memory.name in (memory.kind, _NAMELESS):
            _name_memory(memory, command, position)
        whole = low == 0 and memory.size in (None, high)
        extent = None if whole or high <= low else (low, high)
        return g.Access(memory, reads, writes, True, extent, False, role, position if position >= 0 else None, atomic)

    def point(
        self,
        kind: str,
        queue_number: int,
        events: tuple[int, ...],
        raw_site: int,
        what: str,
        thread: int,
        begin: int,
        end: int,
    ) -> None:
        """Add a point of the host, with the edges from what it waited for (E6, E7)."""
        site = self.site(raw_site)
        point = g.HostPoint(len(self.graph.nodes), site, frozenset(), kind=kind, what=what)
        self.follow(point, thread)
        if kind in ("finish", "flush"):
            point.queue = self.queues[queue_number]
            if point.queue.name == "the queue":
                _name_queue(point.queue, site)
        if kind == "finish":
            for command in self.lanes.get(queue_number, []):
                point.after(command)
        elif kind != "flush":
            known = [self.events[number] for number in events if number in self.events]
            point.events = tuple(known)
            for event in known:
                event.waited.append(site)
                if kind == "wait" and event.command is not None and self.graph.holds(event.command):
                    point.after(event.command)
        self.add(point, thread)
        if kind in ("finish", "wait"):
            self.trace.waits.append((point, begin, end, thread))
            self.settle(point)

    def settle(self, point: g.HostPoint) -> None:
        """Strike out what is complete now; when nothing is pending any more, a new graph may begin."""
        pending = [source for source, _, _ in point.before if isinstance(source, g.Command)]
        done: set[int] = set()
        while pending:
            node = pending.pop()
            if node.index in done:
                continue
            done.add(node.index)
            pending.extend(s for s, sure, _ in node.before if sure and isinstance(s, g.Command))
        self.open = {n for n in self.open if self.by_number[n].command.index not in done}
        if not self.open and not self.mapped and len(self.graph.nodes) > 60 and self.all_know():
            self.begin()

    def all_know(self) -> bool:
        """Return whether every thread knows that all commands are complete, not only the one that waited."""
        heads = {id(head): head for head in self.heads.values()}
        if len(heads) < 2:
            return True
        if len(self.graph.nodes) < self.tried + 100:
            return False
        self.tried = len(self.graph.nodes)
        graph = g.EnqueueGraph(nodes=self.graph.nodes)
        commands = graph.commands
        return all(graph.reaches(c, head, certainly=True) for head in heads.values() for c in commands)

    def access_of_host(
        self,
        memory_number: int,
        low: int,
        high: int,
        reads: bool,
        writes: bool,
        mapping_number: int,
        what: str,
        raw_site: int,
        thread: int,
        now: int,
    ) -> None:
        """Add a line that reads or writes memory which commands use, or a mapped array."""
        point = g.HostPoint(len(self.graph.nodes), self.site(raw_site), frozenset(), kind="access", what=what)
        self.follow(point, thread)
        if mapping_number:
            ran = self.by_number.get(mapping_number)
            mapping = ran.command.mapping if ran is not None else None
            if mapping is None:
                return
            if mapping.unmapped and not self.graph.holds(mapping.command):
                # It ended in an earlier graph: what is left to say is that it did.
                ended = [(site, guard, -1) for site, guard, _ in mapping.unmapped]
                mapping = replace(mapping, host=replace(mapping.host), unmapped=ended)
                self.graph.mappings.append(mapping)
            point.mapping = mapping
            memory, extent = mapping.host, None
        else:
            memory = self.memories[memory_number]
            whole = low <= 0 and memory.size is not None and high >= memory.size
            extent = None if whole else (low, high)
        point.accesses.append(g.Access(memory, reads, writes, True, extent))
        self.add(point, thread)


_NAMELESS = "the buffer"
_WORDS = {"__isub__": "-= scalar", "__iadd__": "kernel +=", "get": "get", "get_async": "get", "set": "set"}


def _array_word(through: str, what: str) -> str:
    file, _, function = through.partition(":")
    if file == "elementwise.py" and function == "__call__":
        return "a generated kernel"
    return _WORDS.get(function, what)


def _name_queue(queue: g.Queue, site: g.Site) -> None:
    found = names.operand(site, "queue", 0)
    if found is not None:
        queue.name, queue.created = found[0].name, found[1]


def _name_memory(memory: g.Memory, command: g.Command, position: int) -> None:
    """Name a memory object after the author's word for it at the first command that uses it."""
    if position >= 0:
        found = names.operand(command.site, "argument", position)
    else:
        target = command.kind in ("write", "fill", "copy", "map") and memory.kind != "host"
        source_of_copy = command.kind == "copy" and not command.accesses
        what = "src" if source_of_copy or (memory.kind == "host") == (command.kind == "write") else "dest"
        found = names.operand(command.site, what if not target or source_of_copy else "dest", 0)
    if found is not None:
        memory.name = found[0].name
        memory.created = found[1]
    elif memory.kind == "host":
        memory.name = "an array"
    else:
        memory.name = _NAMELESS


def segments(trace: Trace) -> Iterator[g.EnqueueGraph]:
    """Yield the graphs that differ: a loop whose every turn is settled looks the same each time."""
    seen: set[object] = set()
    for graph in trace.graphs:
        key = _shape(graph)
        if key not in seen:
            seen.add(key)
            yield graph


def _shape(graph: g.EnqueueGraph) -> object:
    numbers: dict[int, int] = {}

    def number(thing: object) -> int:
        return numbers.setdefault(id(thing), len(numbers))

    rows: list[object] = []
    for node in graph.nodes:
        edges = tuple((source.index, sure) for source, sure, _ in node.before)
        touched = tuple((number(a.memory), a.extent, a.reads, a.writes) for a in node.accesses)
        at = tuple((place.path, place.span) for place in node.site)
        lane = number(node.queue) if isinstance(node, g.Command) else -1
        rows.append((type(node).__name__, at, lane, touched, edges))
    return tuple(rows)
